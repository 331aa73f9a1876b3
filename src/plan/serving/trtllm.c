/* TensorRT-LLM launches: trtllm-serve, and the YAML of --extra_llm_api_options below it. Read
 * at NVIDIA/TensorRT-LLM (files and commits beside the rows); underscores are dashes. */
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/serving/engine_script.h"
#include "plan/serving/serving.h"
#include "plan/serving/trtllm.h"
#include "plan/schema/schema.h"

struct degrees {
    uint64_t tp, pp, ep, cp; /* cp: ranks that share out a cache, which tp counts, too */
    bool attention_dp;
};

static const char contexts[] = "context-parallel-size", context_type[] = "cp-config.cp-type";

/* Helix: ranks that have parts of a sequence's keys and values in attention are further ranks
 * of tp in networks (mapping.py, repurpose_helix_cp_to_tp; docs/source/features/helix.md).
 * Other kinds share out prompts. */
static enum status read_contexts(struct job *job, struct degrees *d)
{
    const char *kind = "";
    TRY(serving_degree(job, contexts, &d->cp));
    TRY(job_word(job, context_type, &kind));
    if (d->cp == 1)
        return STATUS_OK;
    bool helix = text_equal(kind, "HELIX") || text_equal(kind, "helix");
    d->tp *= d->cp;
    if (!helix || d->attention_dp)
        d->cp = 1;
    return STATUS_OK;
}

static enum status warn_of_contexts(struct job *job, const struct degrees *d)
{
    if (!job_given(job, contexts))
        return STATUS_OK;
    uint64_t given = 1;
    TRY(job_count(job, contexts, &given));
    const char *why = d->cp > 1
                          ? "matrices in front of attention are whole on ranks that share "
                            "a cache: they are split over all here"
                          : "prompts are whole on every rank here";
    if (given > 1)
        job_warn(job, job_setting(job, contexts)->mark,
                 "what %" PRIu64
                 " ranks share of contexts matters to memory and is not modelled "
                 "whole: %s",
                 given, why);
    return STATUS_OK;
}

static enum status read_degrees(struct job *job, struct degrees *d)
{
    *d = (struct degrees){1, 1, 1, 1, false};
    static const char *const positive[] = {"max-batch-size", "max-num-tokens", NULL};
    TRY(serving_positive(job, positive));
    TRY(serving_degree(job, "tp-size", &d->tp));
    TRY(serving_degree(job, "pp-size", &d->pp));
    TRY(serving_degree(job, "ep-size", &d->ep));
    TRY(job_switch(job, "enable-attention-dp", &d->attention_dp));
    TRY(read_contexts(job, d));
    if (d->tp % d->ep != 0)
        return job_fail(job, "ep-size", "ep %" PRIu64 " does not divide tp %" PRIu64, d->ep,
                        d->tp);
    return STATUS_OK;
}

/* A file of its own, or entries where they stand (llmapi/llm_args.py, MoeConfig). */
static enum status read_balancer(struct job *job)
{
    static const char flag[] = "moe-config.load-balancer";
    const char *name = NULL;
    bool found = false;
    TRY(job_word(job, flag, &name));
    if (!name)
        return STATUS_OK;
    TRY(job_add_file(job, name, JOB_FILE, &found));
    if (!found)
        job_warn(job, job_setting(job, flag)->mark,
                 "'%s' is not here: num_slots beyond the model's experts matter to memory, "
                 "moe.redundant_experts says them",
                 name);
    return STATUS_OK;
}

static enum status trtllm_prepare(struct job *job)
{
    struct degrees d;
    TRY(job_flag_file(job, "extra-llm-api-options", JOB_FILE));
    TRY(job_flag_file(job, "extra-engine-args", JOB_ENVIRONMENT));
    if (job_given(job, "override-engine-args"))
        TRY(job_flag_text(job, "override-engine-args", JOB_ENVIRONMENT));
    TRY(read_balancer(job));
    TRY(read_degrees(job, &d));
    job->size = (struct job_size){.world = d.tp * d.pp};
    return STATUS_OK;
}

static void set_layout(struct job *job, const struct degrees *d)
{
    uint64_t tp = d->attention_dp ? 1 : d->tp;
    job_set_count(job, "parallel.tp", tp, "tp-size enable-attention-dp");
    if (d->cp > 1)
        job_set_count(job, "parallel.dcp", d->cp, contexts);
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
    job_set(job, "workload.queue", "true", "");
    return STATUS_OK;
}

static enum status set_batch(struct job *job)
{
    uint64_t sequences = 2048, beams = 1;
    const char *mode = "", *role = "";
    TRY(job_word(job, "disaggregation-mode", &mode));
    TRY(job_word(job, "server-role", &role));
    TRY(job_count(job, "max-batch-size", &sequences));
    TRY(job_count(job, "max-beam-width", &beams));
    if (!beams || beams > 1024)
        return job_fail(job, "max-beam-width", "takes 1 to 1024 beams");
    sequences *= beams;
    if (text_equal(mode, "prefill") || text_equal(role, "context") ||
        text_equal(role, "CONTEXT"))
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

/* What is written of CuteDSL and wide EP are CUTLASS's kernels with other exchanges; DENSEGEMM,
 * VANILLA and the mega kernels are not modelled. */
static const char backends[] = "AUTO=auto CUTLASS=cutlass TRTLLM=trtllm_gen DEEPGEMM=deepgemm "
                               "TRITON=triton_oai MARLIN=marlin WIDEEP=cutlass CUTEDSL=cutlass";

static enum status set_experts(struct job *job)
{
    static const char flag[] = "moe-config.backend";
    const char *word = "AUTO";
    TRY(job_word(job, flag, &word));
    const char *experts = job_convert(job, backends, word);
    if (!experts)
        job_warn(job, job_setting(job, flag)->mark,
                 "experts' kernels '%s' matter to memory and are not modelled: TensorRT-LLM's "
                 "own choice stands in",
                 word);
    job_set(job, "stack.experts", experts ? experts : "auto", flag);
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
    serving_warn_environment(job);
    TRY(serving_refuse_encoder(job, "mm-encoder-only"));
    TRY(read_degrees(job, &d));
    TRY(read_windows(job));
    TRY(serving_set_model(job, "model"));
    set_layout(job, &d);
    TRY(warn_of_contexts(job, &d));
    TRY(set_experts(job));
    TRY(set_slots(job));
    TRY(set_batch(job));
    TRY(set_scheduler(job, &d));
    TRY(set_draft(job));
    TRY(trtllm_set_parts(job));
    TRY(trtllm_set_adapters(job));
    TRY(serving_set_context(job, "max-seq-len"));
    TRY(serving_cut_context(job, "max-seq-len", "TLLM_ALLOW_LONG_MAX_MODEL_LEN"));
    return serving_set_formats(job, false);
}

/* ---- a plan as a launch ---- */

static bool is_context(const struct job_writer *writer)
{
    return text_equal(writer->pool, "prefill");
}

/* In the file that describes servers of both kinds an option has its name of
 * llmapi/llm_args.py, where commands/serve.py shortens it; a server's role is its place. */
static void write_described(struct job_writer *writer, const char *name, const char *value)
{
    static const char *const names[][2] = {
        {"tp_size", "tensor_parallel_size"},
        {"pp_size", "pipeline_parallel_size"},
        {"ep_size", "moe_expert_parallel_size"},
        {"kv_cache_free_gpu_memory_fraction", "kv_cache_config.free_gpu_memory_fraction"},
    };
    if (text_equal(name, "server_role"))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        name = text_equal(name, names[i][0]) ? names[i][1] : name;
    writer_setting(writer,
                   arena_printf(writer->arena, "%s_servers.%s",
                                is_context(writer) ? "context" : "generation", name),
                   value);
}

/* "a.b" and switches stand in the option file. */
static void write_option(struct job_writer *writer, const char *name, const char *value)
{
    char *own = arena_strdup(writer->arena, name);
    for (char *at = own; *at; at++)
        *at = *at == '-' ? '_' : *at;
    if (writer->pool)
        write_described(writer, own, value);
    else if (value && !strchr(own, '.'))
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
    static const char *const kinds[] = {"NGram", "MTP", "Draft_Target", "DSpark"};
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
    if (writer->pool && writer->servers)
        writer_count(writer, "num-instances", writer->servers);
    struct text *whole = writer->out, given = {.arena = writer->arena};
    writer->out = &given;
    writer_count(writer, "tp-size", p->tp / (p->dcp ? p->dcp : 1) * dp);
    if (p->dcp > 1) {
        writer_count(writer, contexts, p->dcp);
        writer_flag(writer, context_type, "HELIX");
    }
    if (dp > 1)
        writer_flag(writer, "enable-attention-dp", NULL);
    if (p->ep > 1)
        writer_count(writer, "ep-size", p->ep);
    writer_direct(writer);
    if (writer_word(writer, backends, words_experts[plan->stack.experts]))
        writer_flag(writer, "moe-config.backend",
                    writer_word(writer, backends, words_experts[plan->stack.experts]));
    bool serves = plan->workload.mode == MODE_SERVE;
    bool said = serves || (plan->workload.mode == MODE_PREFILL && plan->workload.max_num_seqs);
    uint64_t batch = said ? serving_sequences(plan) : plan->workload.micro_batch;
    if (batch)
        writer_count(writer, "max-batch-size", batch);
    if (plan->precision.kv_cache == DTYPE_FP8)
        writer_flag(writer, "kv-cache-config.dtype", "fp8");
    if (plan->memory.cache_window)
        writer_flag(writer, "kv-cache-config.max-attention-window",
                    arena_printf(writer->arena, "[%" PRIu64 "]", plan->memory.cache_window));
    write_scheduler(writer);
    trtllm_write_parts(writer);
    trtllm_write_adapters(writer);
    write_draft(writer);
    writer->out = whole;
    if (writer->pool) {
        text_append(whole, model ? model : plan->model_name);
        return STATUS_OK;
    }
    struct text options = {.arena = writer->arena};
    bool file = writer_settings(writer, false, &options);
    if (file)
        text_printf(whole, "cat > options.yaml <<'EOF'\n%sEOF\n", text_string(&options));
    text_printf(whole, "trtllm-serve %s%s%s", model ? model : plan->model_name,
                text_string(&given), file ? " \\\n  --extra_llm_api_options options.yaml" : "");
    return STATUS_OK;
}

/* tensorrt_llm/llmapi/disagg_utils.py, extract_disagg_cfg: what starts the servers gives their
 * urls. */
static void trtllm_write_pools(const struct job_writer *prefill,
                               const struct job_writer *decode, struct text *out)
{
    struct job_writer both = *decode;
    both.settings = (struct text){.arena = decode->arena};
    text_append(&both.settings, text_string(&prefill->settings));
    text_append(&both.settings, text_string(&decode->settings));
    text_printf(out, "model: %s\n", text_string(decode->out));
    writer_settings(&both, false, out);
}

const struct job_framework job_trtllm = {
    .name = "trtllm",
    .title = "a TensorRT-LLM launch",
    .stack = "trtllm",
    .source = "NVIDIA/TensorRT-LLM",
    .syntax = JOB_DASHES,
    .sections = "pytorch_backend_config.",
    .flags = trtllm_flags,
    .n_flags = &trtllm_n_flags,
    .files = true,      /* of --extra_llm_api_options alone */
    .loose_json = true, /* by yaml.safe_load (commands/serve.py) */
    .telling = "kv_cache_config cuda_graph_config moe_config enable_attention_dp",
    .python = engine_script_read,
    .python_is = engine_script_is_trtllm,
    .prepare = trtllm_prepare,
    .finish = trtllm_finish,
    .write = trtllm_write,
    .write_flag = write_option,
    .write_pools = trtllm_write_pools,
    .pools = "disaggregated.yaml",
    .names = NAMES_HUB,
    .serves = true,
};
