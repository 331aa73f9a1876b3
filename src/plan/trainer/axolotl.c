/* axolotl: a YAML file of settings around HuggingFace's Trainer, on FSDP, DeepSpeed or neither.
 * Read at axolotl-ai-cloud/axolotl 002a637c86864 (utils/schemas, loaders/model.py). */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "plan/framework/colocated.h"
#include "plan/framework/frozen_names.h"
#include "plan/trainer/axolotl.h"

#define CONFIG "axolotl src/axolotl/utils/schemas/config.py"
#define TRAINING "axolotl src/axolotl/utils/schemas/training.py"
#define ADAPTERS "axolotl src/axolotl/utils/schemas/peft.py"
#define LOADER "axolotl src/axolotl/loaders/model.py"
#define OFFLOAD "axolotl src/axolotl/monkeypatch/gradient_checkpointing/offload_cpu.py"
#define PLUGINS "axolotl src/axolotl/integrations"
#define TILES "axolotl src/axolotl/monkeypatch/tiled_mlp/patch.py"
#define TRAINER_BASE "axolotl src/axolotl/core/trainers/base.py"
#define EXPERTS "axolotl src/axolotl/integrations/expert_parallel"
#define LAYERS "axolotl src/axolotl/core/trainers/mixins/layer_offloading.py"
#define KERNELS "axolotl src/axolotl/kernels/lora.py"
#define QAT "axolotl src/axolotl/utils/quantization.py"
#define LISA "axolotl src/axolotl/utils/callbacks/lisa.py"
#define RELORA "axolotl src/axolotl/monkeypatch/relora.py"

static const struct job_flag flags[] = {
    RULE("base_model model_name_or_path", JOB_VALUE, "model", "by its name on the hub", CONFIG),
    DIRECT("sequence_len max_seq_length", JOB_VALUE, "workload.sequence_length", NULL, "512",
           CONFIG),
    RULE("micro_batch_size per_device_train_batch_size", JOB_VALUE, "workload.micro_batch",
         "1 unless given", TRAINING),
    RULE("batch_size", JOB_VALUE, "workload.global_batch",
         "sequences of a rank: micro x accumulation", TRAINING),
    RULE("optimizer optim", JOB_VALUE, "optimizer.kind", "adamw_torch_fused unless given",
         TRAINING),
    RULE("adapter", JOB_VALUE, "lora.rank", "lora, qlora: with lora_r; none: all is trained",
         ADAPTERS),
    RULE("bnb_config_kwargs.bnb_4bit_use_double_quant", JOB_VALUE, "precision.weights",
         "of qlora, on unless turned off: nf4_double", LOADER),
    RULE("lora_target_linear", JOB_VALUE, "lora.targets", "all-linear, beside those listed",
         ADAPTERS),
    RULE("lora_modules_to_save", JOB_LIST, "lora.modules_to_save",
         "embed_tokens, lm_head; others warn", ADAPTERS),
    RULE("peft_use_dora use_dora", JOB_VALUE, "lora.dora", "with adapters", ADAPTERS),
    IDLE("relora", JOB_VALUE,
         "restarts merge one matrix after the other and prune states where they are", RELORA),
    NEITHER("relora_prune_ratio", JOB_VALUE, ADAPTERS),
    NEITHER("relora_prune_method", JOB_VALUE, ADAPTERS),
    NEITHER("relora_cpu_offload", JOB_VALUE, ADAPTERS),
    RULE("gptq", JOB_VALUE, "precision.weights", "int4, or by the base's name", LOADER),
    RULE("model_quantization_config", JOB_VALUE, "precision.weights",
         "Mxfp4Config without dequantize, beside adapters: mxfp4; other formats warn", LOADER),
    RULE("model_quantization_config_kwargs.dequantize", JOB_VALUE, NULL,
         "see model_quantization_config", LOADER),
    RULE("tiled_mlp", JOB_VALUE, "recompute.mlp_tiles",
         "sequence of a rank / hidden size, rounded up; of experts a warning", TILES),
    RULE("tiled_mlp_num_shards", JOB_VALUE, "recompute.mlp_tiles", "with tiled_mlp", TILES),
    MEMORY("ple_cpu_offload", JOB_VALUE, "false", "embeddings of layers are on the device here",
           CONFIG),
    MEMORY("selective_checkpointing", JOB_VALUE, NULL, "layers run again whole here", CONFIG),
    MEMORY("recompute_layer_types", JOB_LIST, NULL, "all layers run again here", TRAINING),
    RULE("freeze_mm_modules", JOB_VALUE, "workload.encoder.train",
         "none, where the model has an encoder", CONFIG),
    RULE("layer_offloading", JOB_VALUE, "lora.host",
         "layers, of a base in 16 bits that nobody shares; else a warning", LAYERS),
    RULE("peft_autocast_adapter_dtype", JOB_VALUE, "lora.format",
         "false: bf16, as a base in 16 bits is", ADAPTERS),
    RULE("llama4_linearized_experts", JOB_VALUE, "lora.experts", "linear, with adapters",
         "axolotl src/axolotl/monkeypatch/models/llama4/modeling.py"),
    IDLE("embeddings_skip_upcast", JOB_VALUE,
         "embeddings and norms are in the computing format again before training, either way",
         LOADER),
    RULE("process_reward_model", JOB_VALUE, "model.labels", "num_labels, 2 unless given",
         CONFIG),
    RULE(
        "lora_mlp_kernel", JOB_VALUE, "lora.inputs",
        "shared with lora_qkv_kernel and lora_o_kernel, all on unless one is given; not of rl, "
        "8 bits, FSDP1, trust_remote_code",
        KERNELS),
    RULE("lora_qkv_kernel", JOB_VALUE, "lora.inputs", "see lora_mlp_kernel", KERNELS),
    RULE("lora_o_kernel", JOB_VALUE, "lora.inputs", "see lora_mlp_kernel", KERNELS),
    NEITHER("lora_embedding_kernel", JOB_VALUE, KERNELS),
    RULE("trust_remote_code", JOB_VALUE, "lora.inputs", "see lora_mlp_kernel", CONFIG),
    RULE("peft.backend", JOB_VALUE, "precision.weights", "with peft.weight_dtype", ADAPTERS),
    RULE("peft.weight_dtype", JOB_VALUE, "precision.weights",
         "bnb nf4, int8: as load_in_4bit, load_in_8bit; torchao int4: int4, nf4: nf4_double, "
         "int8: fp8_channel",
         ADAPTERS),
    NEITHER("peft.group_size", JOB_VALUE, ADAPTERS),
    RULE("lisa_n_layers", JOB_VALUE, "optimizer.active_layers",
         "on one device; elsewhere a warning", LISA),
    NEITHER("lisa_step_interval", JOB_VALUE, LISA),
    NEITHER("lisa_layers_attribute", JOB_VALUE, LISA),
    RULE("qat", JOB_JSON, NULL, "its entries", QAT),
    RULE("qat.weight_dtype", JOB_VALUE, "precision.fake_weights",
         "int4, beside fp8 inputs fp8_int4; float8_e4m3fn: fp8; others warn", QAT),
    RULE("qat.activation_dtype", JOB_VALUE, "precision.fake_inputs", "int8, float8_e4m3fn: fp8",
         QAT),
    RULE("qat.quantize_embedding", JOB_VALUE, NULL, "a warning", QAT),
    NEITHER("qat.group_size", JOB_VALUE, QAT),
    NEITHER("qat.fake_quant_after_n_steps", JOB_VALUE, QAT),
    RULE("model_config.output_router_logits overrides_of_model_config.output_router_logits",
         JOB_VALUE, "stack.balance_loss",
         "masked; joint with sample_packing on a kernel that packs", TRAINER_BASE),
    NEITHER("model_config.router_aux_loss_coef overrides_of_model_config.router_aux_loss_coef",
            JOB_VALUE, CONFIG),
    RULE("unfrozen_parameters", JOB_LIST, "frozen.modules",
         "parts and layers none of whose names match; of a range of rows all have states",
         CONFIG),
    RULE("quantize_moe_experts", JOB_VALUE, "lora.experts",
         "quantised; else stacked experts are passed by", LOADER),
    RULE("use_scattermoe use_sonicmoe", JOB_VALUE, "lora.fused_experts",
         "with lora_target_parameters", PLUGINS),
    RULE("gradient_checkpointing", JOB_VALUE, "recompute.kind",
         "true: full; offload, unsloth: full, its inputs in host memory", OFFLOAD),
    RULE("activation_offloading", JOB_VALUE, "recompute.offload",
         "layer_input with gradient_checkpointing", OFFLOAD),
    RULE("bf16", JOB_VALUE, "precision.activations", "auto, which holds unless given: on",
         CONFIG),
    RULE("bfloat16", JOB_VALUE, "precision.weights", "without mixed precision", CONFIG),
    RULE("float16", JOB_VALUE, "precision.weights", "without mixed precision", CONFIG),
    TIME("fp8", JOB_VALUE, "false", NULL, CONFIG),
    TIME("sample_packing packing", JOB_VALUE, "false",
         "how long sequences are is the data's: workload.packing.length", CONFIG),
    RULE("plugins", JOB_LIST, "stack.cross_entropy",
         "CutCrossEntropyPlugin: fused; others by their own keys", PLUGINS),
    RULE("cut_cross_entropy", JOB_VALUE, "stack.cross_entropy", "fused, with its plugin",
         PLUGINS),
    RULE("liger_fused_linear_cross_entropy use_liger_kernel", JOB_VALUE, "stack.cross_entropy",
         "fused", PLUGINS),
    RULE("chunked_cross_entropy", JOB_VALUE, "stack.cross_entropy",
         "f32: the logits stay whole, their f32 copy in parts is made again in backward",
         "axolotl src/axolotl/monkeypatch/loss/chunked.py"),
    IDLE("chunked_cross_entropy_num_chunks", JOB_VALUE, "one f32 copy is planned whole",
         CONFIG),
    RULE("rl", JOB_VALUE, "workload.micro_batch",
         "dpo, ipo: both answers, and a reference; others warn", CONFIG),
    RULE("reward_model", JOB_VALUE, "model.labels",
         "num_labels, 1 unless given, and both answers", CONFIG),
    RULE("deepspeed", JOB_VALUE, NULL, "its file, or one that axolotl brings along", CONFIG),
    RULE("dp_replicate_size parallelism_config_dp_replicate_size", JOB_VALUE,
         "parallel.dp_shard", "dp / copies", CONFIG),
    RULE("dp_shard_size parallelism_config_dp_shard_size", JOB_VALUE, "parallel.dp_shard",
         "where there are copies", CONFIG),
    DIRECT("tensor_parallel_size parallelism_config_tp_size", JOB_VALUE, "parallel.tp", NULL,
           "1", CONFIG),
    DIRECT("context_parallel_size sequence_parallel_degree parallelism_config_cp_size",
           JOB_VALUE, "parallel.cp", NULL, "1", CONFIG),
    RULE("expert_parallel_size", JOB_VALUE, "parallel.ep",
         "a token goes once to every rank that has experts of it", EXPERTS),
    RULE("expert_parallel_backend", JOB_VALUE, "moe.library",
         "deep_ep; auto is planned as torch's exchange", EXPERTS),
    MEMORY("expert_parallel_num_nvl_bytes", JOB_VALUE, "268435456",
           "DeepEP's queues take 256 MiB here", EXPERTS),
    MEMORY("expert_parallel_save_dispatch", JOB_VALUE, "false",
           "received rows are sent again in backward here", EXPERTS),
    TIME("expert_parallel_dispatch_chunks", JOB_VALUE, "1", NULL, EXPERTS),
    IDLE("expert_parallel_token_capacity", JOB_VALUE,
         "slots beyond it keep their rows, with weights of zero", EXPERTS),
    RULE("experts_implementation", JOB_VALUE, "moe.buffer",
         "with expert_parallel_size all but eager: room for all slots of received tokens",
         EXPERTS),
    TIME("torch_compile", JOB_VALUE, "false", NULL, CONFIG),
    NEITHER("flash_attention", JOB_VALUE, CONFIG),
    NEITHER("sdp_attention", JOB_VALUE, CONFIG),
    NEITHER("flex_attention", JOB_VALUE, CONFIG),
    NEITHER("xformers_attention", JOB_VALUE, CONFIG),
    RULE("eager_attention", JOB_VALUE, "stack.attention", "unfused", CONFIG),
    RULE("attention", JOB_VALUE, "stack.attention", "eager: unfused", CONFIG),
    IDLE("pad_to_sequence_len", JOB_VALUE, "the longest batch is planned either way", CONFIG),
    NEITHER("gradient_checkpointing_kwargs.use_reentrant", JOB_VALUE, CONFIG),
    NEITHER("tf32", JOB_VALUE, CONFIG),
    NEITHER("strict", JOB_VALUE, CONFIG),
    NEITHER("datasets", JOB_LIST, CONFIG),
    NEITHER("pretraining_dataset", JOB_LIST, CONFIG),
    NEITHER("dataset_prepared_path", JOB_VALUE, CONFIG),
    NEITHER("chat_template", JOB_VALUE, CONFIG),
    NEITHER("val_set_size", JOB_VALUE, CONFIG),
    NEITHER("eval_sample_packing", JOB_VALUE, CONFIG),
    NEITHER("num_epochs", JOB_VALUE, TRAINING),
    NEITHER("lr_scheduler", JOB_VALUE, TRAINING),
    NEITHER("model_type", JOB_VALUE, CONFIG),
    NEITHER("tokenizer_type", JOB_VALUE, CONFIG),
    NEITHER("special_tokens", JOB_VALUE, CONFIG),
    NEITHER("fsdp_final_state_dict_type", JOB_VALUE, CONFIG),
    NEITHER("experimental_skip_move_to_device", JOB_VALUE, LOADER),
    NEITHER("cpu_ram_efficient_loading", JOB_VALUE, CONFIG),
    NEITHER("launcher", JOB_VALUE, CONFIG),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

/* Those of its folder deepspeed_configs that matter. */
#define OVERLAPS "overlap_comm: true"
#define STAGE3 "stage: 3, overlap_comm: true, sub_group_size: 0, max_live_parameters: 0"
#define BUCKETS "reduce_bucket_size: auto, stage3_prefetch_bucket_size: auto"
#define TO_HOST "{device: cpu}"
static const struct trainer_file files[] = {
    {"zero1.json", "{zero_optimization: {stage: 1, " OVERLAPS "}}"},
    {"zero1_torch_compile.json", "{zero_optimization: {stage: 1, " OVERLAPS "}}"},
    {"zero2.json",
     "{zero_optimization: {stage: 2, " OVERLAPS ", offload_optimizer: " TO_HOST "}}"},
    {"zero2_torch_compile.json",
     "{zero_optimization: {stage: 2, " OVERLAPS ", offload_optimizer: " TO_HOST "}}"},
    {"zero3.json", "{zero_optimization: {" STAGE3 ", " BUCKETS "}}"},
    {"zero3_bf16.json",
     "{zero_optimization: {" STAGE3 ", " BUCKETS "}, bf16: {enabled: true}}"},
    {"zero3_bf16_cpuoffload_params.json",
     "{zero_optimization: {" STAGE3 ", " BUCKETS ", offload_param: " TO_HOST
     "}, bf16: {enabled: true}}"},
    {"zero3_bf16_cpuoffload_all.json",
     "{zero_optimization: {" STAGE3 ", " BUCKETS ", offload_param: " TO_HOST
     ", offload_optimizer: " TO_HOST "}, bf16: {enabled: true}}"},
    {NULL, NULL}};

/* ---- in the trainer's words ---- */

static bool is_off(const char *word)
{
    return word[0] == '\0' || text_equal(word, "false") || text_equal(word, "False");
}

/* "auto", which holds unless given, is on; "full" is without mixed precision. The base is
 * loaded in the format of either (utils/config, normalize_config). */
static enum status tell_formats(struct job *job)
{
    const char *mixed, *half;
    bool plain = false, plain_half = false;
    TRY(axolotl_word(job, "bf16", &mixed));
    TRY(axolotl_word(job, "fp16", &half));
    TRY(job_switch(job, "bfloat16", &plain));
    TRY(job_switch(job, "float16", &plain_half));
    bool full = text_equal(mixed, "full"), bf16 = mixed[0] == '\0' || !is_off(mixed);
    job_assume(job, "bf16", "true", "bf16: auto, config.py");
    if (full || text_equal(mixed, "auto"))
        job_retell(job, "bf16", "bf16", full ? "false" : "true");
    if (bf16 && !full && !is_off(half))
        job_retell(job, "fp16", "fp16", "false");
    bool fp16 = !bf16 && !plain && (plain_half || !is_off(half));
    job_assume(job, "torch_dtype",
               bf16 || plain ? "bfloat16"
               : fp16        ? "float16"
                             : "float32",
               "the base's format, normalize_config");
    return job->err->status;
}

/* Sequences of a rank are those of one pass times the passes. */
static enum status tell_batch(struct job *job)
{
    uint64_t all = 0, micro = 1;
    TRY(job_count(job, "batch_size", &all));
    TRY(job_count(job, "micro_batch_size", &micro));
    if (all && micro && all % micro == 0 && !job_given(job, "gradient_accumulation_steps"))
        job_retell(job, "batch_size", "gradient_accumulation_steps",
                   arena_printf(job->arena, "%" PRIu64, all / micro));
    job_assume(job, "per_device_train_batch_size", "1", "micro_batch_size: 1, training.py");
    return job->err->status;
}

/* Whether inputs of layers that are run again wait in host memory. */
static enum status tell_recompute(struct job *job, bool *offloads)
{
    static const char again_flag[] = "gradient_checkpointing";
    const char *again, *moved;
    TRY(axolotl_word(job, again_flag, &again));
    TRY(axolotl_word(job, "activation_offloading", &moved));
    *offloads = text_starts(again, "offload") || text_equal(again, "unsloth");
    if (*offloads)
        job_retell(job, again_flag, again_flag, "true");
    if (!is_off(moved) && is_off(again))
        job_warn(job, job_setting(job, "activation_offloading")->mark,
                 "activations in host memory without gradient_checkpointing matter to memory "
                 "and are not modelled: they stay on the device here");
    *offloads = *offloads || (!is_off(moved) && !is_off(again));
    return job->err->status;
}

static enum status set_attention(struct job *job)
{
    static const char *const others[] = {"flash_attention", "sdp_attention", "flex_attention"};
    const char *kind;
    bool eager = false, asked = false;
    TRY(axolotl_word(job, "attention", &kind));
    TRY(job_switch(job, "eager_attention", &eager));
    if (eager || text_equal(kind, "eager"))
        job_set(job, "stack.attention", "unfused", "eager_attention attention");
    for (size_t i = 0; i < sizeof others / sizeof *others && !asked; i++)
        TRY(job_switch(job, others[i], &asked));
    return asked || kind[0] || job_given(job, "attn_implementation")
               ? STATUS_OK
               : trainer_assume_eager(job);
}

/* Experts over ranks beside those that share the rest out. Both backends send a token once to
 * each rank with experts of it (torch_dispatch.py has DeepEP's layout); transformers' grouped
 * products then take a row for each of its K slots, those of other ranks' experts too, at
 * weights of zero (experts_fn.py, _grouped_mm_local), which is as many as can come: the kernels
 * that pass such slots by have the rows that do. */
static enum status set_experts(struct job *job)
{
    static const char flag[] = "expert_parallel_size", impl[] = "experts_implementation";
    uint64_t ranks = 1;
    const char *backend, *kernel;
    bool scatters = false;
    TRY(job_count(job, flag, &ranks));
    TRY(axolotl_word(job, "expert_parallel_backend", &backend));
    TRY(axolotl_word(job, impl, &kernel));
    TRY(job_switch(job, "use_scattermoe", &scatters));
    if (ranks <= 1) {
        if (kernel[0] && !text_equal(kernel, "grouped_mm"))
            job_warn(job, job_setting(job, impl)->mark,
                     "'%s' matters to time and is not modelled: products are grouped here",
                     impl);
        return STATUS_OK;
    }
    bool passes = scatters || text_equal(kernel, "eager") || text_ends(kernel, "scattermoe") ||
                  text_equal(kernel, "deep_ep");
    job_set_count(job, "parallel.ep", ranks, flag);
    job_set(job, "moe.path", "deepep", flag);
    job_set(job, "moe.buffer", passes ? "exact" : "worst",
            "experts_implementation use_scattermoe expert_parallel_size");
    if (text_equal(backend, "deep_ep"))
        job_set(job, "moe.library", "deepep", "expert_parallel_backend");
    return STATUS_OK;
}

static enum status axolotl_prepare(struct job *job)
{
    return trainer_read_files(job, files);
}

/* ---- loss and preferences ---- */

static bool has_plugin(struct job *job, const char *name)
{
    const struct setting *s = job_setting(job, "plugins");
    for (size_t i = 0; s && i < s->n; i++)
        if (s->values[i] && text_ends(s->values[i], name))
            return true;
    return false;
}

static enum status set_loss(struct job *job)
{
    bool cut = has_plugin(job, "CutCrossEntropyPlugin"), chunked = false;
    TRY(job_switch(job, "cut_cross_entropy", &cut));
    TRY(job_switch(job, "chunked_cross_entropy", &chunked));
    if (cut)
        job_set(job, "stack.cross_entropy", "fused", "cut_cross_entropy plugins");
    else if (chunked)
        job_set(job, "stack.cross_entropy", "f32", "chunked_cross_entropy");
    return STATUS_OK;
}

/* The loss is computed whatever its coefficient; packed sequences lose their mask where the
 * kernel knows them by their positions. */
static enum status set_balance(struct job *job)
{
    static const char flag[] = "model_config.output_router_logits";
    static const char *const kernels[] = {"flash_attention", "xformers_attention",
                                          "flex_attention"};
    const char *kernel;
    bool on = false, packs = false;
    TRY(job_switch(job, flag, &on));
    if (!on)
        return STATUS_OK;
    TRY(job_switch(job, "sample_packing", &packs));
    TRY(axolotl_word(job, "attn_implementation", &kernel));
    bool knows = kernel[0] && !text_equal(kernel, "sdpa") && !text_equal(kernel, "eager");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && !knows; i++)
        TRY(job_switch(job, kernels[i], &knows));
    job_set(job, "stack.balance_loss", packs && knows ? "joint" : "masked", flag);
    return STATUS_OK;
}

/* core/builders/causal.py: TRL's RewardTrainer and PRMTrainer, of a model that scores. */
static enum status set_labels(struct job *job)
{
    static const char flag[] = "reward_model", steps_flag[] = "process_reward_model";
    bool rewards = false, steps = false;
    TRY(job_switch(job, flag, &rewards));
    TRY(job_switch(job, steps_flag, &steps));
    if (rewards)
        colocated_set_pairs(job, flag, false);
    if (!rewards && !steps)
        return STATUS_OK;
    return trainer_set_labels(job, rewards ? flag : steps_flag, rewards ? 1 : 2);
}

/* utils/schemas/model.py: parameters of encoders of images and sounds are not trained. */
static enum status set_encoder(struct job *job)
{
    static const char flag[] = "freeze_mm_modules";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool frozen = false, known;
    TRY(job_switch(job, flag, &frozen));
    TRY(job_part(job, "model", plan, &known));
    if (frozen && known && plan->model.encoder.layers)
        job_set(job, "workload.encoder.train", "none", flag);
    return STATUS_OK;
}

static enum status set_preference(struct job *job)
{
    const char *rl;
    TRY(set_labels(job));
    TRY(axolotl_word(job, "rl", &rl));
    if (rl[0] == '\0')
        return STATUS_OK;
    if (text_equal(rl, "dpo") || text_equal(rl, "ipo"))
        colocated_set_pairs(job, "rl", true);
    else
        job_warn(job, job_setting(job, "rl")->mark,
                 "what '%s' holds beside the model matters to memory and is not modelled: "
                 "supervised training is planned",
                 rl);
    return STATUS_OK;
}

/* ---- what is trained ---- */

/* A dot is one, unless + follows; rows behind the name are cut off the gradient of a whole
 * weight (utils/freeze.py, LayerNamePattern). */
static const char *as_expression(struct job *job, const char *pattern)
{
    const char *rows = strrchr(pattern, '[');
    bool range = rows && rows > pattern && strspn(rows + 1, "0123456789:") > 0 &&
                 text_equal(rows + 1 + strspn(rows + 1, "0123456789:"), "]");
    size_t length = range ? (size_t)(rows - pattern) : strlen(pattern);
    struct text text = {.arena = job->arena};
    for (size_t i = 0; i < length; i++) {
        if (pattern[i] == '.' && pattern[i + 1] != '+' && (i == 0 || pattern[i - 1] != '\\'))
            text_append(&text, "\\");
        text_append_n(&text, &pattern[i], 1);
    }
    return text_string(&text);
}

static bool trains(const void *with, const struct frozen_name *name)
{
    return frozen_meets(with, name);
}

static enum status set_frozen(struct job *job)
{
    static const char flag[] = "unfrozen_parameters";
    const struct frozen_words given = frozen_words_of(job, flag, MEET_MATCHES);
    const char **words = arena_alloc(job->arena, given.n + 1, sizeof *words);
    const struct frozen_words all = {words, given.n, MEET_MATCHES};
    for (size_t i = 0; i < given.n; i++)
        words[i] = given.words[i] ? as_expression(job, given.words[i]) : NULL;
    if (!given.n)
        return STATUS_OK;
    if (draft_find(&job->draft, "lora.rank")) {
        job_warn(job, job_setting(job, flag)->mark,
                 "unfrozen_parameters beside adapters matters to memory and is not modelled: "
                 "the adapters alone are planned as trained");
        return STATUS_OK;
    }
    return frozen_set(job, FROZEN_TRANSFORMERS, trains, &all, flag, trainer_loaded(job));
}

static enum status axolotl_finish(struct job *job)
{
    bool offloads;
    TRY(tell_formats(job));
    TRY(axolotl_tell_adapter(job));
    TRY(tell_batch(job));
    TRY(tell_recompute(job, &offloads));
    job_assume(job, "optim", "adamw_torch_fused", "optimizer: adamw_torch_fused, training.py");
    TRY(trainer_share(job));
    TRY(axolotl_set_adapters(job));
    TRY(trainer_set_drawn(job, "lisa_n_layers"));
    if (offloads)
        trainer_offload(job, "gradient_checkpointing activation_offloading");
    TRY(set_frozen(job));
    TRY(set_experts(job));
    TRY(trainer_set_tiles(job, "tiled_mlp", "tiled_mlp_num_shards", 1));
    TRY(set_attention(job));
    TRY(set_loss(job));
    TRY(set_balance(job));
    TRY(set_encoder(job));
    return set_preference(job);
}

const struct job_framework job_axolotl = {
    .name = "axolotl",
    .title = "an axolotl job",
    .stack = "fsdp",
    .source = "axolotl-ai-cloud/axolotl 002a637c86864",
    .syntax = JOB_DASHES,
    .sections = "fsdp_config. deepspeed.",
    .flags = flags,
    .n_flags = &n_flags,
    .shares = trainer_shares,
    .wrapped = true,
    .prepare = axolotl_prepare,
    .finish = axolotl_finish,
    .names = NAMES_HUB,
    .files = true,
    .own = "axolotl",
    .telling = "base_model",
    .trains = true,
};
