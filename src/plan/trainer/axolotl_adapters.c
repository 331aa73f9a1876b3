/* axolotl's adapters and the frozen base beside them; see axolotl.h. Read at axolotl 0.19
 * (loaders/model.py, utils/schemas, kernels/lora.py) and 002a637c86864. */
#include "plan/trainer/axolotl.h"

enum status axolotl_word(struct job *job, const char *flag, const char **word)
{
    *word = "";
    return job_word(job, flag, word);
}

/* A base that peft.weight_dtype names, as its other flags would (schemas/peft.py,
 * auto_detect_qlora). */
static enum status tell_named_bits(struct job *job, const char **adapter)
{
    static const char flag[] = "peft.weight_dtype";
    const char *backend, *type;
    TRY(axolotl_word(job, "peft.backend", &backend));
    TRY(axolotl_word(job, flag, &type));
    if (!text_equal(backend, "bnb") || (*adapter)[0] == '\0')
        return STATUS_OK;
    if (text_equal(type, "nf4")) {
        *adapter = "qlora";
        job_retell(job, flag, "load_in_4bit", "true");
    } else if (text_equal(type, "int8")) {
        job_retell(job, flag, "load_in_8bit", "true");
    }
    return job->err->status;
}

enum status axolotl_tell_adapter(struct job *job)
{
    const char *adapter;
    bool linear = false, experts = false, apart = false, scatters = false, sonic = false,
         twice = true, raised = true;
    TRY(axolotl_word(job, "adapter", &adapter));
    TRY(tell_named_bits(job, &adapter));
    TRY(job_switch(job, "bnb_config_kwargs.bnb_4bit_use_double_quant", &twice));
    TRY(job_switch(job, "quantize_moe_experts", &experts));
    TRY(job_switch(job, "llama4_linearized_experts", &apart));
    TRY(job_switch(job, "use_scattermoe", &scatters));
    TRY(job_switch(job, "use_sonicmoe", &sonic));
    TRY(job_switch(job, "lora_target_linear", &linear));
    if (adapter[0] == '\0')
        return STATUS_OK;
    if (!text_equal(adapter, "lora") && !text_equal(adapter, "qlora"))
        job_warn(job, job_setting(job, "adapter")->mark,
                 "adapter '%s' matters to memory and is not modelled: lora stands in", adapter);
    job_retell(job, "adapter", "use_peft", "true");
    TRY(job_switch(job, "peft_autocast_adapter_dtype", &raised));
    if (!raised)
        job_set(job, "lora.format", "bf16", "peft_autocast_adapter_dtype");
    if (text_equal(adapter, "qlora") && twice) /* _set_quantization_config */
        job_retell(job, "adapter", "use_bnb_nested_quant", "true");
    if (apart)
        job_set(job, "lora.experts", "linear", "llama4_linearized_experts");
    if (experts) { /* what is left whole is not prepared then (loaders/model.py) */
        job_set(job, "lora.experts", "quantised", "quantize_moe_experts");
        job_set(job, "lora.plain_format", "bf16", "quantize_moe_experts");
    }
    if ((scatters || sonic) && job_given(job, "lora_target_parameters"))
        job_set(job, "lora.fused_experts", "true", "use_scattermoe use_sonicmoe");
    if (linear && !job_given(job, "lora_target_modules"))
        job_retell(job, "lora_target_linear", "lora_target_modules", "all-linear");
    return job->err->status;
}

/* torchao's base: 4 bits with a scale per 128, nf4 whose scales are quantised, 8 bits with a
 * scale an output (utils/quantization.py, get_quantization_config); and GPTQ's of a name that
 * does not say it. None of them is prepared (loaders/model.py). */
static enum status set_other_base(struct job *job)
{
    static const char type_flag[] = "peft.weight_dtype", gptq_flag[] = "gptq";
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    const char *backend, *type, *format = NULL;
    bool gptq = false;
    TRY(axolotl_word(job, "peft.backend", &backend));
    TRY(axolotl_word(job, type_flag, &type));
    TRY(job_switch(job, gptq_flag, &gptq));
    bool few = weights && (text_equal(weights->words[0], "int4") ||
                           text_equal(weights->words[0], "fp8_channel"));
    if (text_equal(backend, "torchao"))
        format =
            job_convert(job, "int4=int4 nf4=nf4_double int8=fp8_channel fp8=fp8_channel", type);
    else if (gptq && !few)
        format = "int4";
    if (!format || !draft_find(&job->draft, "lora.rank"))
        return STATUS_OK;
    job_set(job, "precision.weights", format, gptq ? gptq_flag : type_flag);
    job_set(job, "lora.plain_format", "bf16", gptq ? gptq_flag : type_flag);
    return STATUS_OK;
}

/* A checkpoint that stays as few bits as it has (transformers, Mxfp4Config: dequantize is false
 * unless given). */
static enum status set_base(struct job *job)
{
    static const char flag[] = "model_quantization_config";
    const char *config;
    bool dequantized = false;
    TRY(axolotl_word(job, flag, &config));
    TRY(job_switch(job, "model_quantization_config_kwargs.dequantize", &dequantized));
    bool adapters = draft_find(&job->draft, "lora.rank") != NULL;
    if (text_equal(config, "Mxfp4Config") && !dequantized && adapters)
        job_set(job, "precision.weights", "mxfp4", flag);
    else if (config[0] && !dequantized)
        job_warn(job, job_setting(job, flag)->mark,
                 "a base that %s leaves quantised matters to memory and is not modelled: it is "
                 "planned in the format it computes in",
                 config);
    return STATUS_OK;
}

/* Its kernels keep the one input of q, k and v, of gate and up, in 16 bits, and are on unless
 * one of them is spoken of (schemas/config.py, check_auto_enable_lora_kernels). Behind a
 * dropout they keep the input and what it left, which is planned as PEFT's. */
static enum status set_kernels(struct job *job)
{
    static const char *const kernels[] = {"lora_mlp_kernel", "lora_qkv_kernel",
                                          "lora_o_kernel"};
    const struct draft_item *inputs = draft_find(&job->draft, "lora.inputs");
    const char *adapter, *rl, *version;
    bool eight = false, remote = false, spoken = false, all = true;
    TRY(axolotl_word(job, "adapter", &adapter));
    TRY(axolotl_word(job, "rl", &rl));
    TRY(axolotl_word(job, "fsdp_version", &version));
    TRY(job_switch(job, "load_in_8bit", &eight));
    TRY(job_switch(job, "trust_remote_code", &remote));
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        bool on = false;
        TRY(job_switch(job, kernels[i], &on));
        spoken = spoken || job_given(job, kernels[i]);
        all = all && on;
    }
    bool first = trainer_sharer(job) == TRAINER_FSDP && !text_equal(version, "2");
    bool usual =
        !spoken && !rl[0] && !remote && !first && !(eight && text_equal(adapter, "lora"));
    if (inputs && text_equal(inputs->words[0], "copied") && (all || usual))
        job_set(job, "lora.inputs", "shared", "lora_mlp_kernel lora_qkv_kernel lora_o_kernel");
    return STATUS_OK;
}

/* Frozen parameters of decoder layers alone, which are all of them with adapters. */
static enum status set_waiting(struct job *job)
{
    static const char flag[] = "layer_offloading";
    static const char *const layers = "layers";
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    bool on = false;
    TRY(job_switch(job, flag, &on));
    bool plain = !weights || text_equal(weights->words[0], "bf16") ||
                 text_equal(weights->words[0], "f16") || text_equal(weights->words[0], "f32");
    if (on && plain && draft_find(&job->draft, "lora.rank") &&
        trainer_sharer(job) == TRAINER_WHOLE)
        job_set_list(job, "lora.host", &layers, 1, flag);
    else if (on && draft_find(&job->draft, "lora.rank"))
        job_warn(job, job_setting(job, flag)->mark,
                 "layers that wait in host memory, of a base in few bits or one that is shared "
                 "out, matter to memory and are not modelled: they are on the device here");
    return STATUS_OK;
}

/* Norms and embeddings, which preparing raises to f32, are in the computing format again where
 * adapters are trained (loaders/model.py, _configure_embedding_dtypes); stacked experts that
 * nobody quantises stay raised. */
static enum status set_plain(struct job *job)
{
    static const char flag[] = "adapter";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool known, four = false, eight = false;
    TRY(job_part(job, "model", plan, &known));
    TRY(job_switch(job, "load_in_4bit", &four));
    TRY(job_switch(job, "load_in_8bit", &eight));
    bool few = (four || eight) && draft_find(&job->draft, "lora.rank");
    if (few && known && !plan->model.moe.experts)
        job_set(job, "lora.plain_format", "bf16", flag);
    return STATUS_OK;
}

/* The fake quantizers of both formats (utils/quantization.py, _make_qat_config). */
static enum status set_rounding(struct job *job)
{
    static const char flags[] = "qat.weight_dtype qat.activation_dtype",
                      weight_flag[] = "qat.weight_dtype",
                      table_flag[] = "qat.quantize_embedding";
    static const char weights[] = "int4=int4 int4:int8=int4 int4:float8_e4m3fn=fp8_int4 "
                                  "int4:fp8=fp8_int4 float8_e4m3fn:float8_e4m3fn=fp8 "
                                  "fp8:fp8=fp8";
    static const char inputs[] = "int8=int8 float8_e4m3fn=fp8 fp8=fp8";
    const char *weight, *input;
    bool table = false;
    TRY(axolotl_word(job, weight_flag, &weight));
    TRY(axolotl_word(job, "qat.activation_dtype", &input));
    TRY(job_switch(job, table_flag, &table));
    if (!weight[0])
        return STATUS_OK;
    const char *both = arena_printf(job->arena, "%s%s%s", weight, input[0] ? ":" : "", input);
    const char *word = job_convert(job, weights, both);
    if (word)
        job_set(job, "precision.fake_weights", word, flags);
    if (word && input[0])
        job_set(job, "precision.fake_inputs", job_convert(job, inputs, input), flags);
    if (!word)
        job_warn(job, job_setting(job, weight_flag)->mark,
                 "rounding of weights to '%s'%s%s matters to memory and is not modelled",
                 weight, input[0] ? " beside inputs in " : "", input);
    if (table)
        job_warn(job, job_setting(job, table_flag)->mark,
                 "'%s' matters to memory and is not modelled: the embedding is read as it is",
                 table_flag);
    return STATUS_OK;
}

enum status axolotl_set_adapters(struct job *job)
{
    TRY(set_rounding(job));
    TRY(set_plain(job));
    TRY(set_base(job));
    TRY(set_other_base(job));
    TRY(set_waiting(job));
    return set_kernels(job);
}
