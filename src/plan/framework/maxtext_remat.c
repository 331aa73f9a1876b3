/* MaxText's rematerialisation policies as the lists they stand for, and a plan as a MaxText
 * configuration. */
#include <inttypes.h>
#include <string.h>

#include "plan/derive.h"
#include "plan/framework/maxtext.h"
#include "plan/schema/schema.h"

/* What a policy keeps on the device, or in host memory, in a plan's names. Source:
 * layers/decoders.py; nnx_decoders.py of maxtext 0.2.5. */
#define QKV "query_proj key_proj value_proj"
static const struct policy {
    const char *name, *kept;
    bool host;
    bool scaled; /* what products take in 8 bits, too */
} policies[] = {
    {"save_qkv_proj", QKV, false, false},
    {"save_out_proj", "out_proj", false, false},
    {"save_dot_except_mlp", QKV " out_proj", false, false},
    {"save_dot_except_mlpwi", QKV " out_proj mlpwo", false, false},
    {"save_dot_with_context_except_mlp", QKV " context out_proj", false, false},
    {"minimal", QKV " out_proj mlpwi mlpwo", false, false},
    {"minimal_with_context", QKV " context out_proj mlpwi mlpwo", false, false},
    {"minimal_with_quantization", QKV " out_proj mlpwi mlpwo", false, true},
    {"minimal_with_context_and_quantization", QKV " context out_proj mlpwi mlpwo", false, true},
    {"minimal_flash", QKV " context out_proj mlpwi mlpwo", false, false},
    {"qkv_proj_offloaded", QKV, true, false},
    {"minimal_offloaded", QKV " out_proj mlpwi mlpwo", true, false},
};

/* Names of policy custom that a plan has. */
static const char *const tensors[] = {"query_proj",  "key_proj", "value_proj", "qkv_proj",
                                      "context",     "out_proj", "mlpwi",      "mlpwi_0",
                                      "mlpwi_1",     "mlpwo",    "moe_mlpwi",  "moe_mlpwi_0",
                                      "moe_mlpwi_1", "moe_mlpwo"};
static const char *const not_kept[] = {"kv_proj",
                                       "mla_q",
                                       "mla_kv",
                                       "query_wa_proj",
                                       "kv_wa_proj",
                                       "attention_out",
                                       "moe_x_sorted",
                                       "moe_routing_maps",
                                       "indexer_cutoff_threshold",
                                       "engram"};

static const char residual[] = "decoder_layer_input";

enum {
    TENSORS = sizeof tensors / sizeof *tensors,
    NOT_KEPT = sizeof not_kept / sizeof *not_kept
};

static void set_away(struct job *job, const char *const *words, size_t n, const char *flag)
{
    if (n)
        job_set_list(job, "recompute.offload", words, n > PLAN_NAMES ? PLAN_NAMES : n, flag);
}

static void set_kept(struct job *job, const char *const *words, size_t n)
{
    static const char flag[] = "remat_policy";
    if (n == 0) {
        job_set(job, "recompute.kind", "full", flag);
        return;
    }
    n = n > PLAN_NAMES ? PLAN_NAMES : n;
    job_set(job, "recompute.kind", "save", flag);
    job_set_list(job, "recompute.save", words, n, flag);
}

static enum status set_custom(struct job *job)
{
    const char *kept[TENSORS], *away[TENSORS + 1], *input = "device";
    size_t n = 0, n_away = 0;
    TRY(job_word(job, residual, &input));
    if (text_equal(input, "offload"))
        away[n_away++] = residual;
    else if (!text_equal(input, "device"))
        job_warn(job, job_setting(job, residual)->mark,
                 "'%s: %s' matters to memory and is not modelled", residual, input);
    for (size_t i = 0; i < TENSORS + NOT_KEPT; i++) {
        const char *name = i < TENSORS ? tensors[i] : not_kept[i - TENSORS], *where = "remat";
        TRY(job_word(job, name, &where));
        if (text_equal(where, "remat"))
            continue;
        if (text_equal(where, "device") && i < TENSORS)
            kept[n++] = name;
        else if (text_equal(where, "offload") && i < TENSORS)
            away[n_away++] = name;
        else
            job_warn(job, job_setting(job, name)->mark,
                     "'%s: %s' matters to memory and is not modelled", name, where);
    }
    set_kept(job, kept, n);
    set_away(job, away, n_away, "remat_policy decoder_layer_input");
    return STATUS_OK;
}

static void set_policy(struct job *job, const struct policy *policy)
{
    const char *kept[TENSORS];
    size_t n = 0;
    for (const char *at = policy->kept; *at && n < TENSORS;) {
        size_t length = strcspn(at, " ");
        kept[n++] = arena_strndup(job->arena, at, length);
        at += length + (at[length] == ' ');
    }
    set_kept(job, kept, policy->host ? 0 : n);
    if (policy->host)
        set_away(job, kept, n, "remat_policy");
}

enum status maxtext_set_remat(struct job *job)
{
    const char *name = "full";
    TRY(job_word(job, "remat_policy", &name));
    if (text_equal(name, "full") || text_equal(name, "none")) {
        job_set(job, "recompute.kind", name, "remat_policy");
        return STATUS_OK;
    }
    if (text_equal(name, "custom"))
        return set_custom(job);
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (!text_equal(policies[i].name, name))
            continue;
        set_policy(job, &policies[i]);
        if (policies[i].scaled)
            job_warn(job, job_setting(job, "remat_policy")->mark,
                     "remat_policy '%s' keeps what products take in 8 bits, which matters to "
                     "memory and is not modelled",
                     name);
        return STATUS_OK;
    }
    return job_fail(job, "remat_policy", "remat_policy '%s' is not known", name);
}

/* ---- a plan as a configuration ---- */

static void write_remat(struct job_writer *writer)
{
    const struct recompute_plan *recompute = &writer->plan->recompute;
    bool away = recompute->kind == RECOMPUTE_FULL && recompute->offload.n > 0;
    if (recompute->kind != RECOMPUTE_SAVE && !away) {
        if (recompute->kind == RECOMPUTE_NONE)
            writer_flag(writer, "remat_policy", "none");
        return;
    }
    writer_flag(writer, "remat_policy", "custom");
    for (uint64_t i = 0; i < recompute->offload.n; i++)
        if (text_equal(recompute->offload.word[i], residual))
            writer_flag(writer, residual, "offload");
    for (uint64_t i = 0; i < recompute->save.n; i++)
        for (size_t j = 0; j < TENSORS; j++)
            if (text_equal(recompute->save.word[i], tensors[j]))
                writer_flag(writer, tensors[j], "device");
    for (uint64_t i = 0; i < recompute->offload.n; i++)
        for (size_t j = 0; j < TENSORS; j++)
            if (text_equal(recompute->offload.word[i], tensors[j]))
                writer_flag(writer, tensors[j], "offload");
}

static void write_loss(struct job_writer *writer)
{
    const struct stack *stack = &writer->plan->stack;
    if (stack->cross_entropy == LOSS_CHUNKED && stack->loss_chunks > 1)
        writer_count(writer, "num_vocab_tiling", stack->loss_chunks);
}

static void write_offload(struct job_writer *writer)
{
    const struct optimizer *o = &writer->plan->optimizer;
    if (writer->plan->stack.unrolled)
        writer_flag(writer, "scan_layers", "false");
    if (!writer->plan->workload.async_checkpoint)
        writer_flag(writer, "async_checkpointing", "false");
    if (o->offload != 1)
        return;
    writer_flag(writer, "optimizer_memory_host_offload", "true");
    if (o->offload_params)
        writer_flag(writer, "parameter_memory_host_offload", "true");
}

static void write_path(struct job_writer *writer)
{
    const struct moe *moe = &writer->plan->moe;
    bool dense = moe->path == PATH_CAPACITY || moe->path == PATH_MASKED;
    char text[32];
    if (dense)
        writer_flag(writer, "sparse_matmul", "false");
    if (moe->path == PATH_CAPACITY) {
        text_double(text, moe->capacity_factor);
        writer_flag(writer, "capacity_factor", text);
    }
    if (moe->path == PATH_ALLGATHER)
        writer_flag(writer, "use_ring_of_experts", "true");
    if (moe->path == PATH_DEEPEP)
        writer_flag(writer, "use_turbo_deepep_dispatch", "true");
    if (!dense && moe->matmul == MATMUL_GROUPED)
        writer_flag(writer, "use_turbo_grouped_gemm", "true");
    if (!dense)
        writer_flag(writer, "megablox", moe->matmul == MATMUL_MEGABLOX ? "true" : "false");
    if (moe->buffer == SIZING_FACTOR && moe->buffer_factor > 0) {
        text_double(text, moe->buffer_factor);
        writer_flag(writer, "ragged_buffer_factor", text);
    }
}

/* Experts lie inside a node, what shares weights over them outside, as in MaxText's own files.
 */
static void write_mesh(struct job_writer *writer)
{
    const struct parallel *p = &writer->plan->parallel;
    uint64_t world = plan_world(writer->plan);
    const struct {
        const char *flag;
        uint64_t degree;
    } axes[] = {{p->sp ? "ici_tensor_sequence_parallelism" : "ici_tensor_parallelism", p->tp},
                {"ici_context_parallelism", p->cp},
                {"ici_expert_parallelism", p->ep},
                {"ici_pipeline_parallelism", p->pp}};
    uint64_t model = 1;
    writer_flag(writer, "num_slices", "1");
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) {
        if (axes[i].degree > 1)
            writer_count(writer, axes[i].flag, axes[i].degree);
        model *= axes[i].degree;
    }
    uint64_t rest = model && world % model == 0 ? world / model : 1;
    writer_count(writer, p->zero == 3 ? "ici_fsdp_parallelism" : "ici_data_parallelism", rest);
    if (p->zero < 3)
        writer_flag(writer, "ici_fsdp_parallelism", "1");
    writer_flag(writer, "dcn_data_parallelism", "1");
    if (p->zero == 1)
        writer_flag(writer, "shard_optimizer_over_data", "true");
}

/* A switch has its value in a file of settings. */
void maxtext_write_flag(struct job_writer *writer, const char *name, const char *value)
{
    text_printf(writer->out, "%s: %s\n", name, value ? value : "true");
}

enum status maxtext_write(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    const struct parallel *p = &plan->parallel;
    const char *model = model_name_to(NAMES_MAXTEXT, plan->model_name);
    char text[32];
    if (plan->workload.mode != MODE_TRAIN)
        return err_set(writer->err, STATUS_INPUT, "MaxText's jobs train: workload.mode is %s",
                       words_mode[plan->workload.mode]);
    text_append(writer->out, "base_config: base.yml\n");
    if (model)
        writer_flag(writer, "model_name", model);
    text_double(text, (double)plan->workload.micro_batch / (double)(p->tp * p->cp));
    writer_flag(writer, "per_device_batch_size", text);
    write_mesh(writer);
    write_path(writer);
    writer_direct(writer);
    static const char *const dtypes[] = {
        [DTYPE_F32] = "float32", [DTYPE_BF16] = "bfloat16", [DTYPE_F16] = "float16"};
    const enum dtype activations = plan->precision.activations;
    const enum dtype moments = plan->precision.moments;
    if (activations >= DTYPE_F32 && activations <= DTYPE_F16)
        writer_flag(writer, "dtype", dtypes[activations]);
    if (moments >= DTYPE_F32 && moments <= DTYPE_F16 && moments != plan->precision.weights)
        writer_flag(writer, "mu_dtype", dtypes[moments]);
    write_remat(writer);
    write_loss(writer);
    write_offload(writer);
    return STATUS_OK;
}
