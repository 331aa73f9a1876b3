/* NeMo 1: a configuration of megatron_gpt_pretraining.py, trainer and model beside each other,
 * whose names are mostly Megatron's. Defaults are those of the code. Read at nemo_toolkit 2.0.0
 * (collections/nlp/models/language_modeling/megatron_gpt_model.py, megatron_base_model.py). */
#include <inttypes.h>
#include <string.h>

#include "plan/framework/megatron.h"
#include "plan/job/rows.h"

#define GPT "nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py"
#define BASE "nemo/collections/nlp/models/language_modeling/megatron_base_model.py"
#define LAUNCH "examples/nlp/language_modeling/megatron_gpt_pretraining.py"

static const struct job_flag flags[] = {
    RULE("config-name", JOB_VALUE, NULL, "the configuration, beside the job", LAUNCH),
    RULE("config-path", JOB_VALUE, NULL, "its folder", LAUNCH),
    RULE("trainer.devices", JOB_VALUE, "cluster", "ranks of a node", BASE),
    RULE("trainer.num_nodes", JOB_VALUE, "cluster", "nodes", BASE),
    RULE("trainer.precision precision", JOB_VALUE, "precision.weights",
         "bf16, 16 or 32; weights are in 16 bits with megatron_amp_O2 alone", BASE),
    RULE("megatron_amp_O2", JOB_SWITCH, "precision.weights",
         "16 bits with a master copy; without it f32, cast where it is multiplied", GPT),
    RULE("encoder_seq_length", JOB_VALUE, "workload.sequence_length", "as it stands", GPT),
    RULE("activations_checkpoint_granularity", JOB_VALUE, "recompute.kind", "as it stands",
         BASE),
    RULE("activations_checkpoint_method", JOB_VALUE, "recompute.layers",
         "full only: block; uniform: recompute.every", BASE),
    RULE("activations_checkpoint_num_layers", JOB_VALUE, "recompute.every",
         "with uniform; with block recompute.layers", BASE),
    MEMORY("activations_checkpoint_layers_per_pipeline", JOB_VALUE, "0",
           "every stage runs as many layers again", GPT),
    MEMORY("num_micro_batches_with_partial_activation_checkpoints", JOB_VALUE, "0",
           "every micro-batch is run again alike", GPT),
    RULE("activation", JOB_VALUE, "model.moe.activation",
         "swiglu, geglu and reglu are gated, fast- or not; gelu unless given", BASE),
    RULE("bias", JOB_SWITCH, "model.attention.bias", "on unless off", BASE),
    RULE("qkv_bias", JOB_SWITCH, "model.attention.bias", "query, key and value only", BASE),
    RULE("normalization", JOB_VALUE, "model.norm_bias",
         "rmsnorm none; layernorm and layernorm1p, which is the default", GPT),
    RULE("fp8", JOB_SWITCH, "precision.recipe", "fp8_delayed", GPT),
    RULE("fp8_e4m3", JOB_SWITCH, "precision.recipe", "with fp8", GPT),
    RULE("fp8_hybrid", JOB_SWITCH, "precision.recipe", "with fp8", GPT),
    RULE("fp8_params", JOB_SWITCH, "precision.quantized_params", "with fp8", GPT),
    RULE("ub_tp_comm_overlap", JOB_SWITCH, "stack.overlap.tp", "with sequence_parallel", BASE),
    RULE("optim.name", JOB_VALUE, "parallel.zero",
         "mcore_distributed_optim, distributed_fused_adam: 1; others: 0", BASE),
    RULE("optim.grad_sync_dtype", JOB_VALUE, "precision.gradients", "fp32 unless given", GPT),
    RULE("optim.overlap_grad_sync", JOB_SWITCH, "stack.overlap.dp", "off unless given", GPT),
    RULE("override_vocab_size", JOB_VALUE, "model.vocab", "filled up no more", GPT),
    RULE("tokenizer.library", JOB_VALUE, "model.vocab", "megatron, huggingface", BASE),
    RULE("tokenizer.type", JOB_VALUE, "model.vocab", "of it, or a model's name", BASE),
    MEMORY("fsdp", JOB_SWITCH, "false", "states are shared out by optim.name alone here", GPT),
    MEMORY("peft.peft_scheme", JOB_VALUE, "null", "all of the model is trained here",
           "nemo/collections/nlp/parts/peft_config.py"),
    NEITHER("trainer.max_steps", JOB_VALUE, BASE),
    NEITHER("trainer.gradient_clip_val", JOB_VALUE, BASE),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

static const struct job_framework *const shares[] = {&job_bridge, NULL};

/* A trainer and a model that says how long its sequences are; NeMo's successors for Neuron have
 * the same beside a strategy of their own. */
static bool is_nemo(const struct node *root)
{
    const struct node *trainer = node_get(root, "trainer"), *model = node_get(root, "model");
    return trainer && trainer->kind == NODE_MAPPING && node_get(trainer, "devices") && model &&
           model->kind == NODE_MAPPING && node_get(model, "encoder_seq_length") &&
           !node_get(root, "distributed_strategy");
}

/* ---- settings as Megatron's ---- */

/* One that is called otherwise, as it stands. */
static enum status rename_settings(struct job *job)
{
    static const char *const names[][2] = {
        {"encoder_seq_length", "seq-length"},
        {"activations_checkpoint_granularity", "recompute-granularity"},
        {"activations_checkpoint_method", "recompute-method"},
        {"activations_checkpoint_num_layers", "recompute-num-layers"},
        {"bias", "add-bias-linear"},
        {"qkv_bias", "add-qkv-bias"},
        {"optim.overlap_grad_sync", "overlap-grad-reduce"},
        {"override_vocab_size", "padded-vocab-size"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = NULL;
        TRY(job_word(job, names[i][0], &value));
        if (value)
            job_retell(job, names[i][0], names[i][1], value);
    }
    return STATUS_OK;
}

static enum status set_activation(struct job *job)
{
    static const char flag[] = "activation", fast[] = "fast-";
    static const char functions[] =
        "swiglu=silu geglu=gelu reglu=relu gelu=gelu approx-gelu=gelu squared-relu=relu";
    const char *name = NULL;
    TRY(job_word(job, flag, &name));
    if (!name)
        return STATUS_OK;
    const char *plain = text_starts(name, fast) ? name + sizeof fast - 1 : name;
    const char *function = job_convert(job, functions, plain);
    if (!function)
        return job_fail(job, flag, "activation '%s' is none a plan has", name);
    job_retell(job, flag, "activation_func", function);
    job_retell(job, flag, "gated_linear_unit", text_ends(plain, "glu") ? "true" : "false");
    return STATUS_OK;
}

static enum status set_tokenizer(struct job *job)
{
    static const char type_flag[] = "tokenizer.type";
    const char *library = "megatron", *type = NULL;
    TRY(job_word(job, "tokenizer.library", &library));
    TRY(job_word(job, type_flag, &type));
    if (!type)
        return STATUS_OK;
    if (text_equal(library, "huggingface")) {
        job_retell(job, type_flag, "tokenizer-type", "HuggingFaceTokenizer");
        job_retell(job, type_flag, "tokenizer-model", type);
    } else if (text_equal(library, "megatron")) {
        job_retell(job, type_flag, "tokenizer-type", type);
    }
    return STATUS_OK;
}

static enum status set_products(struct job *job)
{
    bool fp8, e4m3, params, overlap, sequence;
    TRY(megatron_is_on(job, "fp8", &fp8));
    TRY(megatron_is_on(job, "fp8_e4m3", &e4m3));
    TRY(megatron_is_on(job, "fp8_params", &params));
    TRY(megatron_is_on(job, "ub_tp_comm_overlap", &overlap));
    TRY(megatron_is_on(job, "sequence-parallel", &sequence));
    if (fp8)
        job_retell(job, "fp8", "fp8-format", e4m3 ? "e4m3" : "hybrid");
    if (fp8 && params)
        job_retell(job, "fp8_params", "fp8-param-gather", "true");
    if (overlap && sequence)
        job_retell(job, "ub_tp_comm_overlap", "tp-comm-overlap", "true");
    return STATUS_OK;
}

/* "bf16-mixed", "16": the format, "" for f32; *kept: weights are, beside a master copy. */
static enum status read_format(struct job *job, const char **format, bool *kept)
{
    const char *precision = "32";
    TRY(job_word(job, "trainer.precision", &precision));
    TRY(megatron_is_on(job, "megatron_amp_O2", kept));
    *format = text_starts(precision, "bf16") ? "bf16"
              : text_starts(precision, "16") ? "fp16"
                                             : "";
    *kept = *kept && **format;
    return STATUS_OK;
}

/* Who shares the states out, and in what gradients are summed. */
static enum status set_optimizer(struct job *job)
{
    static const char flag[] = "optim.name", sum_flag[] = "optim.grad_sync_dtype";
    const char *name = "fused_adam", *sum = "fp32", *format;
    bool kept;
    TRY(job_word(job, flag, &name));
    TRY(job_word(job, sum_flag, &sum));
    TRY(read_format(job, &format, &kept));
    if (text_equal(name, "mcore_distributed_optim") ||
        text_equal(name, "distributed_fused_adam"))
        job_retell(job, flag, "use-distributed-optimizer", "true");
    if (kept)
        job_retell(job, "trainer.precision", format, "true");
    if (kept && !text_starts(sum, "fp32"))
        job_retell(job, sum_flag, "grad_reduce_in_fp32", "false");
    return STATUS_OK;
}

static enum status read_config(struct job *job)
{
    static const char flag[] = "config-name";
    const char *name = NULL, *folder = NULL;
    TRY(job_word(job, flag, &name));
    TRY(job_word(job, "config-path", &folder));
    if (!name)
        return STATUS_OK;
    const char *ending = text_ends(name, ".yaml") ? "" : ".yaml";
    return job_need_file(job, flag,
                         folder && !text_equal(folder, ".")
                             ? arena_printf(job->arena, "%s/%s%s", folder, name, ending)
                             : arena_printf(job->arena, "%s%s", name, ending),
                         JOB_FILE);
}

static enum status nemo1_prepare(struct job *job)
{
    uint64_t nodes = 0, devices = 0;
    TRY(read_config(job));
    TRY(job_count(job, "trainer.num_nodes", &nodes));
    TRY(job_count(job, "trainer.devices", &devices));
    if (nodes) /* devices alone are not the ranks of the job */
        job->size =
            (struct job_size){.nodes = nodes, .per_node = devices, .world = nodes * devices};
    TRY(rename_settings(job));
    TRY(set_activation(job));
    TRY(set_tokenizer(job));
    TRY(set_products(job));
    TRY(set_optimizer(job));
    job_assume(job, "moe-token-dispatcher-type", "allgather", "default of Megatron-Core");
    job_assume(job, "cross-entropy-loss-fusion", "false", "default of NeMo 1");
    return job->err->status;
}

/* ---- what the names cannot say ---- */

static enum status set_norm(struct job *job)
{
    const char *norm = "layernorm";
    TRY(job_word(job, "normalization", &norm));
    bool root = strspn(norm, "rR") > 0;
    job_set(job, "model.norm_bias", root ? "false" : "true", "normalization");
    return STATUS_OK;
}

/* Without O2 weights stay in f32, and torch casts them where they are multiplied; with it,
 * apex's optimizer keeps the other halves of bf16 weights in place of a master copy. */
static enum status set_formats(struct job *job)
{
    static const char flags_of[] = "megatron_amp_O2 trainer.precision";
    const char *format, *name = "fused_adam";
    bool kept, params;
    TRY(read_format(job, &format, &kept));
    TRY(job_word(job, "optim.name", &name));
    TRY(megatron_is_on(job, "fp8_params", &params));
    if (*format && !kept) {
        job_set(job, "precision.compute", "bf16", flags_of);
        job_set_rows(job, text_equal(format, "fp16") ? "f16" : "bf16", flags_of);
    }
    if (kept && !params && text_equal(format, "bf16") &&
        text_equal(name, "distributed_fused_adam"))
        job_set(job, "optimizer.precision_aware", "native", "optim.name");
    return STATUS_OK;
}

static enum status nemo1_finish(struct job *job)
{
    bool grouped;
    TRY(megatron_finish(job));
    TRY(set_norm(job));
    TRY(megatron_is_on(job, "moe-grouped-gemm", &grouped));
    if (!grouped && job_given(job, "num-experts"))
        job_warn(
            job, job_setting(job, "num-experts")->mark,
            "without moe_grouped_gemm experts run one by one, which matters to time and is "
            "not modelled for this stack");
    return set_formats(job);
}

const struct job_framework job_nemo1 = {
    .name = "nemo1",
    .title = "a NeMo 1 configuration",
    .stack = "megatron",
    .source = "NVIDIA/NeMo, nemo_toolkit 2.0.0",
    .syntax = JOB_OVERRIDES,
    .sections = "model.",
    .flags = flags,
    .n_flags = &n_flags,
    .shares = shares,
    .claims = is_nemo,
    .prepare = nemo1_prepare,
    .finish = nemo1_finish,
    .names = NAMES_NONE,
    .trains = true,
};
