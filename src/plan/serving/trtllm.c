/* TensorRT-LLM launches: trtllm-serve, and the YAML of --extra_llm_api_options below it. Read
 * at NVIDIA/TensorRT-LLM (files and commits beside the rows); underscores are dashes. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/job/rows.h"
#include "plan/serving/engine_script.h"
#include "plan/serving/serving.h"
#include "plan/schema/schema.h"

#define ARGUMENTS "tensorrt_llm/llmapi/llm_args.py 00043967"
#define OLDER                                                                                  \
    "tensorrt_llm/_torch/pyexecutor/config.py" /* until 0.20: pytorch_backend_config */
#define SERVE "tensorrt_llm/commands/serve.py"
#define DYNAMO                                                                                 \
    "ai-dynamo/dynamo components/src/dynamo/trtllm 0a6a115c6cd1" /* backend_args.py */

static const struct job_flag flags[] = {
    RULE("model model-path", JOB_VALUE, "model", "or the word behind trtllm-serve", SERVE),
    RULE("extra-llm-api-options config", JOB_VALUE, NULL, "a YAML file below the command line",
         SERVE),
    RULE("extra-engine-args", JOB_VALUE, NULL,
         "of dynamo.trtllm: a YAML file above the command line", DYNAMO),
    RULE("override-engine-args", JOB_VALUE, NULL,
         "of dynamo.trtllm: its entries, above the command line", DYNAMO),
    RULE("disaggregation-mode", JOB_VALUE, "workload.mode", "of dynamo.trtllm: prefill; decode",
         DYNAMO),
    RULE("tp-size tensor-parallel-size", JOB_VALUE, "parallel.tp",
         "with attention DP: 1, and dp as many", ARGUMENTS),
    DIRECT("pp-size pipeline-parallel-size", JOB_VALUE, "parallel.pp", NULL, "1", ARGUMENTS),
    RULE("ep-size moe-expert-parallel-size expert-parallel-size", JOB_VALUE, "parallel.ep",
         "etp: tp / ep", ARGUMENTS),
    RULE("enable-attention-dp", JOB_SWITCH, "parallel.dp", "the tensor-parallel ranks",
         ARGUMENTS),
    RULE("max-batch-size", JOB_VALUE, "workload.max_num_seqs", "and micro_batch; 2048",
         ARGUMENTS),
    DIRECT("max-num-tokens", JOB_VALUE, "workload.max_num_batched_tokens", NULL, NULL,
           ARGUMENTS),
    NEEDED("max-seq-len", JOB_VALUE, "workload.context_length", NULL, NULL, ARGUMENTS),
    DIRECT("kv-cache-free-gpu-memory-fraction kv-cache-config.free-gpu-memory-fraction "
           "free-gpu-memory-fraction",
           JOB_VALUE, "memory.fraction", NULL, NULL, ARGUMENTS),
    DIRECT("kv-cache-config.tokens-per-block", JOB_VALUE, "memory.cache_block", NULL, NULL,
           ARGUMENTS),
    RULE("kv-cache-dtype kv-cache-config.dtype", JOB_VALUE, "precision.kv_cache", "fp8: fp8",
         ARGUMENTS),
    DIRECT("moe-config.backend moe-backend", JOB_VALUE, "stack.experts",
           "AUTO=auto CUTLASS=cutlass TRTLLM=trtllm_gen DEEPGEMM=deepgemm TRITON=triton_oai "
           "WIDEEP=cutlass CUTEDSL=cutlass",
           "AUTO", ARGUMENTS),
    DIRECT("moe-config.max-num-tokens moe-max-num-tokens", JOB_VALUE, "moe.expert_tokens", NULL,
           NULL, ARGUMENTS),
    RULE("moe-config.load-balancer.num-slots", JOB_VALUE, "moe.redundant_experts",
         "beyond the model's experts", ARGUMENTS),
    MEMORY(
        "moe-config.load-balancer moe-load-balancer", JOB_VALUE, NULL,
        "its file is not read: num_slots beyond the model's experts are moe.redundant_experts",
        ARGUMENTS),
    TIME("moe-config.load-balancer.layer-updates-per-iter", JOB_VALUE, NULL,
         "placement is as the plan says", ARGUMENTS),
    DIRECT("cuda-graph-config.max-batch-size cuda-graph-max-batch-size", JOB_VALUE,
           "stack.graph_batch", NULL, NULL, ARGUMENTS),
    DIRECT("kv-cache-config.max-tokens", JOB_VALUE, "memory.cache_tokens", NULL, NULL,
           ARGUMENTS),
    RULE("kv-cache-config.max-attention-window", JOB_LIST, "memory.cache_window",
         "of one size (caches; attention stays the model's); of several: pools by layers, as "
         "many tokens as whole sequences",
         ARGUMENTS),
    RULE("max-beam-width", JOB_VALUE, "workload.max_num_seqs",
         "each beam a sequence with a cache of its own: what they share of it is not modelled",
         ARGUMENTS),
    RULE("enable-chunked-prefill", JOB_SWITCH, "workload.chunked_prefill", "read in mode serve",
         ARGUMENTS),
    RULE("attention-dp-config.enable-balance", JOB_SWITCH, "workload.balance",
         "with enable-attention-dp", ARGUMENTS),
    RULE("attention-dp-config.timeout-iters", JOB_VALUE, "workload.balance.timeout", "50",
         ARGUMENTS),
    RULE("attention-dp-config.batching-wait-iters", JOB_VALUE, "workload.balance.wait", "10",
         ARGUMENTS),
    TIME("kv-cache-config.enable-block-reuse", JOB_SWITCH, NULL, NULL, ARGUMENTS),
    RULE("cuda-graph-config.batch-sizes cuda-graph-batch-sizes", JOB_LIST, "stack.graph_batch",
         "the largest", ARGUMENTS),
    RULE("cuda-graph-config.enable-padding cuda-graph-padding-enabled", JOB_SWITCH,
         "stack.graph_padding", NULL, ARGUMENTS),
    RULE("speculative-config.decoding-type", JOB_VALUE, "workload.speculation.method",
         "MTP, NGram; Draft_Target, Eagle and Eagle3 are models", ARGUMENTS),
    RULE("speculative-config.num-nextn-predict-layers", JOB_VALUE,
         "workload.speculation.tokens", "of MTP; 1", ARGUMENTS),
    RULE("speculative-config.max-draft-len", JOB_VALUE, "workload.speculation.tokens", NULL,
         ARGUMENTS),
    RULE("speculative-config.speculative-model-dir speculative-config.speculative-model",
         JOB_VALUE, "workload.speculation.model", NULL, ARGUMENTS),
    RULE("use-cuda-graph", JOB_SWITCH, "stack.graphs", "false: none", OLDER),
    TIME("enable-overlap-scheduler", JOB_SWITCH, "true", NULL, OLDER),
    TIME("disable-overlap-scheduler", JOB_SWITCH, NULL, NULL, ARGUMENTS),
    TIME("max-input-len", JOB_VALUE, NULL, NULL, ARGUMENTS),
    MEMORY("cache-transceiver-config.max-tokens-in-buffer", JOB_VALUE, NULL,
           "what caches are sent from", ARGUMENTS),
    TIME("moe-config.use-low-precision-moe-combine", JOB_SWITCH, NULL, NULL, ARGUMENTS),
    TIME("allreduce-strategy", JOB_VALUE, "AUTO", NULL, ARGUMENTS),
    TIME("stream-interval", JOB_VALUE, "1", NULL, ARGUMENTS),
    NEITHER("moe-tensor-parallel-size", JOB_VALUE, ARGUMENTS), /* tp / ep */
    NEITHER("cache-transceiver-config.backend", JOB_VALUE, ARGUMENTS),
    NEITHER("print-iter-log", JOB_SWITCH, ARGUMENTS),
    NEITHER("served-model-name", JOB_VALUE, DYNAMO),
    NEITHER("publish-events-and-metrics publish-kv-events", JOB_SWITCH, DYNAMO),
    NEITHER("kv-block-size", JOB_VALUE, DYNAMO), /* of its events */
    NEITHER("request-plane", JOB_VALUE, DYNAMO),
    NEITHER("modality", JOB_VALUE, DYNAMO),
    NEITHER("backend", JOB_VALUE, SERVE),
    NEITHER("host", JOB_VALUE, SERVE),
    NEITHER("port", JOB_VALUE, SERVE),
    NEITHER("tokenizer", JOB_VALUE, SERVE),
    NEITHER("trust-remote-code", JOB_SWITCH, SERVE),
    NEITHER("log-level", JOB_VALUE, SERVE),
    NEITHER("num-postprocess-workers", JOB_VALUE, SERVE),
    NEITHER("gpus-per-node", JOB_VALUE, SERVE),
};

static const size_t n_flags = sizeof flags / sizeof *flags;

struct degrees {
    uint64_t tp, pp, ep;
    bool attention_dp;
};

static enum status read_degrees(struct job *job, struct degrees *d)
{
    *d = (struct degrees){1, 1, 1, false};
    static const char *const positive[] = {"max-batch-size", "max-num-tokens", NULL};
    TRY(serving_positive(job, positive));
    TRY(serving_degree(job, "tp-size", &d->tp));
    TRY(serving_degree(job, "pp-size", &d->pp));
    TRY(serving_degree(job, "ep-size", &d->ep));
    TRY(job_switch(job, "enable-attention-dp", &d->attention_dp));
    if (d->tp % d->ep != 0)
        return job_fail(job, "ep-size", "ep %" PRIu64 " does not divide tp %" PRIu64, d->ep,
                        d->tp);
    return STATUS_OK;
}

static enum status trtllm_prepare(struct job *job)
{
    struct degrees d;
    TRY(job_flag_file(job, "extra-llm-api-options", JOB_FILE));
    TRY(job_flag_file(job, "extra-engine-args", JOB_ENVIRONMENT));
    if (job_given(job, "override-engine-args"))
        TRY(job_flag_text(job, "override-engine-args", JOB_ENVIRONMENT));
    TRY(read_degrees(job, &d));
    job->size = (struct job_size){.world = d.tp * d.pp};
    return STATUS_OK;
}

static void set_layout(struct job *job, const struct degrees *d)
{
    uint64_t tp = d->attention_dp ? 1 : d->tp;
    job_set_count(job, "parallel.tp", tp, "tp-size enable-attention-dp");
    job_set_count(job, "parallel.dp", d->tp / tp, "tp-size enable-attention-dp");
    job_set_count(job, "parallel.ep", d->ep, "ep-size");
    job_set_count(job, "parallel.etp", d->tp / d->ep, "ep-size tp-size");
    job_set(job, "moe.path", d->attention_dp && d->ep > 1 ? "allgather" : "auto",
            "enable-attention-dp ep-size");
}

/* A worker for prompts alone: a step of whole ones, or of a part of one. */
static enum status set_prompts(struct job *job, uint64_t sequences)
{
    static const char flags_of[] = "max-num-tokens max-seq-len";
    uint64_t tokens = 8192, longest = 0;
    TRY(job_count(job, "max-num-tokens", &tokens));
    TRY(job_count(job, "max-seq-len", &longest));
    uint64_t each = longest && longest < tokens ? longest : tokens;
    job_set(job, "workload.mode", "prefill", "disaggregation-mode");
    job_set_count(job, "workload.sequence_length", each, flags_of);
    job_set_count(job, "workload.micro_batch", lesser(sequences, each ? tokens / each : 1),
                  flags_of);
    job_set_count(job, "workload.max_num_seqs", sequences, "max-batch-size");
    return STATUS_OK;
}

static enum status set_batch(struct job *job)
{
    uint64_t sequences = 2048, beams = 1;
    const char *mode = "";
    TRY(job_word(job, "disaggregation-mode", &mode));
    TRY(job_count(job, "max-batch-size", &sequences));
    TRY(job_count(job, "max-beam-width", &beams));
    if (!beams || beams > 1024)
        return job_fail(job, "max-beam-width", "takes 1 to 1024 beams");
    sequences *= beams;
    if (text_equal(mode, "prefill"))
        return set_prompts(job, sequences);
    job_set(job, "workload.mode", "decode", "");
    job_set_count(job, "workload.micro_batch", sequences, "max-batch-size"); /* of a stage */
    job_set(job, "workload.queue", "true", "");
    if (job_given(job, "max-batch-size") || beams > 1)
        job_set_count(job, "workload.max_num_seqs", sequences, "max-batch-size max-beam-width");
    return STATUS_OK;
}

/* "cuda_graph_config: null" in its file turns them off, as use_cuda_graph did. */
static enum status set_graphs(struct job *job)
{
    bool graphs = true;
    TRY(job_switch(job, "use-cuda-graph", &graphs));
    if (!graphs)
        job_set(job, "stack.graphs", "none", "use-cuda-graph");
    for (size_t i = 0; i < job->n_settings; i++) {
        const struct setting *s = &job->settings[i];
        if (s->null && text_equal(s->name, "cuda_graph_config"))
            draft_set(&job->draft, "stack.graphs", "none", s->mark, s->said);
    }
    return STATUS_OK;
}

/* What its scheduler makes prompts wait for (_torch/pyexecutor/py_executor.py). */
static enum status set_scheduler(struct job *job, const struct degrees *d)
{
    uint64_t timeout = 50, wait = 10, graphs = 0;
    bool chunked = false, balance = false, pads = false;
    TRY(set_graphs(job));
    TRY(serving_largest(job, "cuda-graph-config.batch-sizes", &graphs));
    TRY(job_switch(job, "cuda-graph-config.enable-padding", &pads));
    if (graphs)
        job_set_count(job, "stack.graph_batch", graphs, "cuda-graph-config.batch-sizes");
    if (pads)
        job_set(job, "stack.graph_padding", "true", "cuda-graph-config.enable-padding");
    TRY(job_switch(job, "enable-chunked-prefill", &chunked));
    TRY(job_switch(job, "attention-dp-config.enable-balance", &balance));
    TRY(job_count(job, "attention-dp-config.timeout-iters", &timeout));
    TRY(job_count(job, "attention-dp-config.batching-wait-iters", &wait));
    if (chunked)
        job_set(job, "workload.chunked_prefill", "true", "enable-chunked-prefill");
    if (!balance || !d->attention_dp || d->tp == 1 || !timeout)
        return STATUS_OK;
    job_set_count(job, "workload.balance.timeout", timeout,
                  "attention-dp-config.enable-balance attention-dp-config.timeout-iters");
    job_set_count(job, "workload.balance.wait", wait,
                  "attention-dp-config.enable-balance attention-dp-config.batching-wait-iters");
    return STATUS_OK;
}

/* Slots beyond the model's experts hold copies; what WIDEEP changes beside its kernels, which
 * are CUTLASS's (_torch/modules/fused_moe/fused_moe_wide_ep.py), is not modelled. */
static enum status set_slots(struct job *job)
{
    const char *flag = "moe-config.load-balancer.num-slots", *backend = "";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    uint64_t slots = 0;
    bool known;
    TRY(job_count(job, flag, &slots));
    TRY(job_word(job, "moe-config.backend", &backend));
    TRY(job_part(job, "model", plan, &known));
    if (slots && known && slots < plan->model.moe.experts)
        return job_fail(job, flag, "%" PRIu64 " slots do not hold %" PRIu64 " experts", slots,
                        plan->model.moe.experts);
    if (slots && known)
        job_set_count(job, "moe.redundant_experts", slots - plan->model.moe.experts, flag);
    if (text_equal(backend, "WIDEEP"))
        job_warn(
            job, job_setting(job, "moe-config.backend")->mark,
            "backend WIDEEP exchanges rows by kernels of its own, which matter to memory and "
            "time and are not modelled: tokens are gathered, by CUTLASS's experts");
    return STATUS_OK;
}

/* A module's draft is as long as it is run again; other kinds say how long theirs is. */
static enum status set_draft(struct job *job)
{
    static const char type[] = "speculative-config.decoding-type",
                      layers[] = "speculative-config.num-nextn-predict-layers",
                      length[] = "speculative-config.max-draft-len";
    const char *kind = "";
    TRY(job_word(job, type, &kind));
    bool module = text_equal(kind, "MTP");
    struct serving_draft draft = {.method = module                      ? DRAFT_MTP
                                            : text_equal(kind, "NGram") ? DRAFT_NGRAM
                                                                        : DRAFT_MODEL,
                                  .model_flag = "speculative-config.speculative-model-dir",
                                  .tokens_flag = module && job_given(job, layers) ? layers
                                                 : job_given(job, length)         ? length
                                                                                  : type};
    if (!kind[0])
        return STATUS_OK;
    if (draft.tokens_flag == type)
        draft.tokens = module;
    else
        TRY(job_count(job, draft.tokens_flag, &draft.tokens));
    if (draft.tokens)
        return serving_set_draft(job, &draft);
    job_warn(job, job_setting(job, type)->mark,
             "a draft without max_draft_len matters to memory and is not modelled");
    return STATUS_OK;
}

/* Windows of several sizes share the pool out by the bytes of their layers, so that as many
 * tokens fit as if all kept whole sequences; those of one size keep no more of a sequence than
 * it (cpp/.../kvCacheManager.cpp, calculateWindowSizeToShare and calculateMaxNumBlocks;
 * _torch/pyexecutor/resource_manager.py, where longer ones are cut to max_seq_len). */
static enum status read_windows(struct job *job)
{
    const char *flag = "kv-cache-config.max-attention-window";
    uint64_t most = 0, least = UINT64_MAX, longest = 0;
    TRY(serving_range(job, flag, &least, &most));
    TRY(job_count(job, "max-seq-len", &longest));
    if (!least)
        return job_fail(job, flag, "takes sizes from 1, not 0");
    if (most && least == most && (!longest || most < longest))
        job_set_count(job, "memory.cache_window", most, flag);
    return STATUS_OK;
}

static enum status trtllm_finish(struct job *job)
{
    struct degrees d;
    TRY(read_degrees(job, &d));
    TRY(read_windows(job));
    TRY(serving_set_model(job, "model"));
    set_layout(job, &d);
    TRY(set_slots(job));
    TRY(set_batch(job));
    TRY(set_scheduler(job, &d));
    TRY(set_draft(job));
    TRY(serving_set_context(job, "max-seq-len"));
    return serving_set_formats(job);
}

/* ---- a plan as a launch ---- */

/* "a.b" and switches stand in the option file. */
static void write_option(struct job_writer *writer, const char *name, const char *value)
{
    char *own = arena_strdup(writer->arena, name);
    for (char *at = own; *at; at++)
        *at = *at == '-' ? '_' : *at;
    if (value && !strchr(own, '.'))
        text_printf(writer->out, " \\\n  --%s %s", own, value);
    else
        writer_setting(writer, own, value);
}

static void write_scheduler(struct job_writer *writer)
{
    const struct workload *w = &writer->plan->workload;
    if (writer->plan->stack.graph_padding)
        writer_flag(writer, "cuda-graph-config.enable-padding", "true");
    if (w->chunked_prefill)
        writer_flag(writer, "enable-chunked-prefill", NULL);
    if (!w->balance.timeout || plan_dp(writer->plan) == 1)
        return;
    writer_flag(writer, "attention-dp-config.enable-balance", "true");
    writer_count(writer, "attention-dp-config.timeout-iters", w->balance.timeout);
    writer_count(writer, "attention-dp-config.batching-wait-iters", w->balance.wait);
}

static void write_draft(struct job_writer *writer)
{
    static const char *const kinds[] = {"NGram", "MTP", "Draft_Target"};
    const struct speculation *s = &writer->plan->workload.speculation;
    const char *path = serving_draft_path(writer->plan);
    if (!s->tokens || (s->method == DRAFT_MODEL && !path[0]))
        return;
    writer_flag(writer, "speculative-config.decoding-type", kinds[s->method]);
    writer_count(writer,
                 s->method == DRAFT_MTP ? "speculative-config.num-nextn-predict-layers"
                                        : "speculative-config.max-draft-len",
                 s->tokens);
    if (s->method == DRAFT_MODEL)
        writer_flag(writer, "speculative-config.speculative-model-dir", path);
}

static enum status trtllm_write(struct job_writer *writer)
{
    TRY(serving_write_begin(writer));
    const struct plan *plan = writer->plan;
    const struct parallel *p = &plan->parallel;
    uint64_t dp = plan_dp(plan);
    const char *model = model_name_to(NAMES_HUB, plan->model_name);
    struct text *whole = writer->out, given = {.arena = writer->arena};
    writer->out = &given;
    writer_count(writer, "tp-size", p->tp * dp);
    if (dp > 1)
        writer_flag(writer, "enable-attention-dp", NULL);
    if (p->ep > 1)
        writer_count(writer, "ep-size", p->ep);
    writer_direct(writer);
    bool serves = plan->workload.mode == MODE_SERVE;
    uint64_t batch = serves ? serving_sequences(plan) : plan->workload.micro_batch;
    if (batch)
        writer_count(writer, "max-batch-size", batch);
    if (plan->precision.kv_cache == DTYPE_FP8)
        writer_flag(writer, "kv-cache-config.dtype", "fp8");
    if (plan->memory.cache_window)
        writer_flag(writer, "kv-cache-config.max-attention-window",
                    arena_printf(writer->arena, "[%" PRIu64 "]", plan->memory.cache_window));
    write_scheduler(writer);
    write_draft(writer);
    writer->out = whole;
    struct text options = {.arena = writer->arena};
    bool file = writer_settings(writer, false, &options);
    if (file)
        text_printf(whole, "cat > options.yaml <<'EOF'\n%sEOF\n", text_string(&options));
    text_printf(whole, "trtllm-serve %s%s%s", model ? model : plan->model_name,
                text_string(&given), file ? " \\\n  --extra_llm_api_options options.yaml" : "");
    return STATUS_OK;
}

const struct job_framework job_trtllm = {
    .name = "trtllm",
    .title = "a TensorRT-LLM launch",
    .stack = "trtllm",
    .source = "NVIDIA/TensorRT-LLM",
    .syntax = JOB_DASHES,
    .sections = "pytorch_backend_config.",
    .flags = flags,
    .n_flags = &n_flags,
    .files = true, /* of --extra_llm_api_options alone */
    .telling = "kv_cache_config cuda_graph_config moe_config enable_attention_dp",
    .python = engine_script_read,
    .python_is = engine_script_is_trtllm,
    .prepare = trtllm_prepare,
    .finish = trtllm_finish,
    .write = trtllm_write,
    .write_flag = write_option,
    .names = NAMES_HUB,
    .serves = true,
};
