/* SGLang launches. Read at sgl-project/sglang python/sglang/srt/server_args.py 001067fffe33 and
 * model_executor/model_runner_kv_cache_mixin.py 001ccef0072a. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/serving/engine_script.h"
#include "plan/serving/serving.h"
#include "plan/serving/sglang.h"
#include "plan/schema/schema.h"

struct degrees {
    uint64_t tp, pp, dp;
    bool inside; /* dp attention: dp is part of tp */
};

static enum status read_degrees(struct job *job, struct degrees *d)
{
    *d = (struct degrees){1, 1, 1, false};
    static const char *const positive[] = {"max-running-requests", "page-size", NULL};
    TRY(serving_positive(job, positive));
    TRY(serving_degree(job, "tp-size", &d->tp));
    TRY(serving_degree(job, "pp-size", &d->pp));
    TRY(serving_degree(job, "dp-size", &d->dp));
    TRY(job_switch(job, "enable-dp-attention", &d->inside));
    if (job_given(job, "attn-dp-size")) { /* 0.5.23: --dp-size counts engines alone */
        TRY(serving_degree(job, "attn-dp-size", &d->dp));
        d->inside = d->dp > 1;
    }
    if (d->inside && d->tp % d->dp != 0)
        return job_fail(job, job_given(job, "attn-dp-size") ? "attn-dp-size" : "dp-size",
                        "dp attention: dp %" PRIu64 " does not divide tp %" PRIu64, d->dp,
                        d->tp);
    return STATUS_OK;
}

static enum status sglang_prepare(struct job *job)
{
    struct degrees d;
    uint64_t nodes = 0;
    TRY(job_flag_file(job, "config", JOB_FILE));
    TRY(read_degrees(job, &d));
    TRY(job_count(job, "nnodes", &nodes));
    if (nodes > 1 && d.tp * d.pp % nodes != 0) /* server_args.py, check_server_args */
        return job_fail(job, "nnodes",
                        "tp %" PRIu64 " x pp %" PRIu64 " is no multiple of %" PRIu64
                        " nodes, which SGLang refuses",
                        d.tp, d.pp, nodes);
    job->size = (struct job_size){.nodes = nodes, .world = d.tp * d.pp * (d.inside ? 1 : d.dp)};
    return STATUS_OK;
}

static enum status set_layout(struct job *job, const struct degrees *d, const char *backend)
{
    uint64_t tp = d->inside ? d->tp / d->dp : d->tp, ep = 1;
    TRY(job_count(job, "ep-size", &ep));
    bool all = false;
    TRY(job_switch(job, "enable-ep-moe", &all));
    if (!text_equal(backend, "none") || all)
        ep = d->tp;
    if (!ep || d->tp % ep != 0)
        return job_fail(job, "ep-size", "ep %" PRIu64 " does not divide tp %" PRIu64, ep,
                        d->tp);
    job_set_count(job, "parallel.tp", tp, "tp-size enable-dp-attention attn-dp-size");
    job_set_count(job, "parallel.dp", d->dp, "dp-size attn-dp-size");
    job_set_count(job, "parallel.ep", ep,
                  "ep-size moe-a2a-backend enable-deepep-moe enable-ep-moe");
    job_set_count(job, "parallel.etp", d->tp / ep, "ep-size tp-size");
    bool apart = ep > 1 && (d->inside || !text_equal(backend, "none"));
    if (tp > 1) /* nothing to say on one rank; without either the tokens are on every rank */
        job_set(job, "parallel.sp", apart ? "true" : "false",
                "moe-a2a-backend enable-deepep-moe enable-dp-attention");
    return STATUS_OK;
}

/* Whole experts behind replicas of attention whose tokens are gathered: elsewhere these are on
 * every rank, or joined before experts that are split over all of them. */
static bool is_gathered(const struct job *job)
{
    return job_drafted(job, "parallel.ep", 1) > 1 &&
           job_drafted(job, "parallel.ep", 1) * job_drafted(job, "parallel.etp", 1) >
               job_drafted(job, "parallel.tp", 1);
}

/* Behind an all-to-all they are whole (models/deepseek_v2.py), as where the environment wants
 * them so (0.5.23 there, _shared_expert_use_tp1); else over all ranks, or, where SGLang appends
 * them to the routed ones, on each. */
static enum status set_shared(struct job *job, const char *backend)
{
    static const char whole[] = "SGLANG_SHARED_EXPERT_TP1";
    const struct shell_word *word = job_environment_word(job, whole);
    bool plain = false,
         asked = word && (text_equal(word->text, "1") || text_equal(word->text, "true"));
    TRY(job_switch(job, "disable-shared-experts-fusion", &plain));
    if (asked && job_drafted(job, "parallel.dp", 1) > 1)
        job_warn(job, word->mark,
                 "'%s' matters to memory and is not modelled beside replicas of attention: "
                 "shared experts are over their ranks here",
                 whole);
    bool none = text_equal(backend, "none");
    if (!none && !text_equal(backend, "deepep"))
        job_set(job, "moe.shared", "sp", "moe-a2a-backend");
    else if (none && asked && job_drafted(job, "parallel.dp", 1) == 1)
        draft_set(&job->draft, "moe.shared", "sp", word->mark, whole);
    else if (none && plain)
        job_set(job, "moe.shared", "tp", "disable-shared-experts-fusion");
    return STATUS_OK;
}

static const char dispatch_tokens[] = "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK";

/* What low-latency buffers are made for, where the launch's environment says it. */
static void set_dispatch_tokens(struct job *job, const char *path)
{
    const struct shell_word *tokens = job_environment_word(job, dispatch_tokens);
    if (text_equal(path, "deepep_ll") && tokens)
        draft_set(&job->draft, "moe.dispatch_tokens", tokens->text, tokens->mark,
                  dispatch_tokens);
}

/* Its dispatcher asserts that a decode step fits into them: 128 tokens unless told. */
static void write_dispatch_tokens(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    uint64_t tokens = plan->workload.mode == MODE_DECODE ? plan_tokens(plan) : 0;
    uint64_t most = plan->moe.dispatch_tokens > tokens ? plan->moe.dispatch_tokens : tokens;
    if (plan->moe.path == PATH_DEEPEP_LL && most > 128)
        text_printf(writer->out, "%s=%" PRIu64 " ", dispatch_tokens, most);
}

/* Formats of what DeepEP sends (--deepep-dispatcher-output-dtype). */
static const struct {
    enum dtype format;
    const char *word;
} dispatched[] = {{DTYPE_BF16, "bf16"},
                  {DTYPE_FP8_BLOCK, "fp8"},
                  {DTYPE_INT8, "int8"},
                  {DTYPE_NVFP4, "nvfp4"}};

/* What DeepEP sends: as the launch says, else what experts take (layers/moe/token_dispatcher/
 * deepep.py, get_deepep_output_dtype). */
static enum status set_dispatch(struct job *job, const char *path)
{
    static const char flag[] = "deepep-dispatcher-output-dtype",
                      name[] = "SGLANG_DEEPEP_BF16_DISPATCH";
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights"),
                            *activations = draft_find(&job->draft, "precision.activations");
    const struct shell_word *bf16 = job_environment_word(job, name);
    bool deepep = text_starts(path, "deepep");
    bool fp8 = deepep && weights && text_equal(weights->words[0], "fp8_block");
    const char *told = "auto";
    TRY(job_word(job, flag, &told));
    for (size_t i = 0; deepep && i < sizeof dispatched / sizeof *dispatched; i++)
        if (text_equal(told, dispatched[i].word)) {
            job_set(job, "precision.dispatch", words_dtype[dispatched[i].format], flag);
            return STATUS_OK;
        }
    if (fp8 && bf16 && (text_equal(bf16->text, "1") || text_equal(bf16->text, "true"))) {
        draft_set(&job->draft, "precision.dispatch", "bf16", bf16->mark, name);
        return STATUS_OK;
    }
    draft_set(&job->draft, "precision.dispatch", fp8 ? "fp8_block" : activations->words[0],
              (struct mark){0}, fp8 ? "DeepEP sends what fp8 experts take" : "as activations");
    return STATUS_OK;
}

static enum status set_path(struct job *job, const char *backend, bool decode)
{
    bool none = text_equal(backend, "none");
    const char *mode = "auto", *path = none && !is_gathered(job) ? "auto" : "allgather";
    TRY(set_shared(job, backend));
    TRY(job_word(job, "deepep-mode", &mode));
    if (text_equal(backend, "deepep"))
        path = text_equal(mode, "normal")                  ? "deepep"
               : text_equal(mode, "low_latency") || decode ? "deepep_ll"
                                                           : "deepep";
    else if (!none)
        job_warn(job, job_setting(job, "moe-a2a-backend")->mark,
                 "all-to-all backend '%s' matters to memory and is not modelled: allgather "
                 "stands in",
                 backend);
    job_set(job, "moe.path", path, "moe-a2a-backend enable-deepep-moe");
    set_dispatch_tokens(job, path);
    return set_dispatch(job, path);
}

static enum status set_role(struct job *job)
{
    static const char flag[] = "disaggregation-mode";
    const char *word = "null";
    TRY(job_word(job, flag, &word));
    const char *role = job_convert(job, "null=whole prefill=prompts decode=answers", word);
    if (!role)
        return job_fail(job, flag, "takes null, prefill or decode, not '%s'", word);
    if (job_given(job, flag))
        job_set(job, "workload.role", role, flag);
    return STATUS_OK;
}

/* What runs at once unless the job says it: engine_sglang_requests. */
static enum status default_requests(struct job *job, uint64_t *requests)
{
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    const char *algorithm = "";
    bool known;
    TRY(job_word(job, "speculative-algorithm", &algorithm));
    TRY(job_part(job, "model", plan, &known));
    plan->workload.speculation.tokens = algorithm[0] != '\0';
    *requests = engine_sglang_requests(plan);
    return STATUS_OK;
}

static enum status set_batch(struct job *job, const struct degrees *d, bool prefill)
{
    static const struct {
        double below;
        uint64_t chunk;
    } chunks[] = {{20, 2048}, {60, 4096}, {160, 8192}};
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    double given = 0;
    bool known; /* else a device without memory */
    uint64_t tokens = 16384, chunk = 16384, requests;
    TRY(default_requests(job, &requests));
    TRY(job_part(job, "cluster", plan, &known));
    const double gib = (double)plan->cluster.device.memory_bytes / GIB;
    for (size_t i = 3; i > 0; i--)
        chunk = gib < chunks[i - 1].below ? chunks[i - 1].chunk : chunk;
    TRY(job_count(job, "max-prefill-tokens", &tokens));
    TRY(job_real(job, "chunked-prefill-size", &given));
    TRY(job_count(job, "max-running-requests", &requests));
    bool whole = given <= 0 && job_given(job, "chunked-prefill-size");
    chunk = whole ? tokens : given >= 1 && given < 1e9 ? (uint64_t)given : chunk;
    if (d->inside && !whole && chunk >= d->dp)
        chunk /= d->dp;
    job_set(job, "workload.mode", prefill ? "prefill" : "decode", "disaggregation-mode");
    TRY(set_role(job));
    uint64_t longest = chunk;
    TRY(job_count(job, "context-length", &longest));
    uint64_t each = longest && longest < chunk ? longest : chunk;
    if (prefill) /* a step of whole prompts where they are shorter than a chunk */
        job_set_count(job, "workload.sequence_length", each,
                      "chunked-prefill-size max-prefill-tokens context-length");
    else if (job_given(job, "chunked-prefill-size"))
        job_set_count(job, "workload.max_num_batched_tokens", chunk,
                      "chunked-prefill-size max-prefill-tokens");
    if (prefill) {
        job_set_count(job, "workload.micro_batch", each ? chunk / each : 1,
                      "chunked-prefill-size context-length max-running-requests");
        job_set(job, "workload.queue", "true", "");
        return STATUS_OK;
    }
    if (d->inside && requests >= d->dp)
        requests /= d->dp;
    return serving_set_batch(job, requests, "max-running-requests");
}

/* Dense networks lie over all ranks, or are whole on each (the only size that it takes); the
 * head over all, or over those of a replica of attention. */
static enum status set_ends(struct job *job, const struct degrees *d,
                            const struct sglang_prompts *prompts)
{
    uint64_t dense = 0, ranks = (d->inside ? d->tp / d->dp : d->tp) / prompts->ranks;
    bool head = false, replicas = d->inside && d->dp > 1;
    TRY(job_count(job, "moe-dense-tp-size", &dense));
    TRY(job_switch(job, "enable-dp-lm-head", &head));
    dense = prompts->dense_whole ? 1 : dense;
    if ((replicas || prompts->ranks > 1) && dense)
        job_set(job, "parallel.dense_apart", dense < d->tp ? "true" : "false",
                "moe-dense-tp-size");
    if (replicas && head)
        job_set(job, "parallel.head_apart", "true", "enable-dp-lm-head");
    if (dense && dense < d->tp && dense != ranks && job_given(job, "moe-dense-tp-size"))
        job_warn(job, job_setting(job, "moe-dense-tp-size")->mark,
                 "dense networks over %" PRIu64
                 " ranks matter to memory and are not modelled: they are over the %" PRIu64
                 " of attention",
                 dense, ranks);
    return STATUS_OK;
}

/* A pool of max-loras-per-batch adapters (8) of the highest rank, A and B of every target in
 * the model's format (lora/mem_pool.py). Ranks and targets are in the adapters' own files. */
static enum status set_adapters(struct job *job)
{
    bool named = job_given(job, "lora-paths");
    struct serving_adapters adapters = {"max-loras-per-batch", "enable-lora lora-paths", named,
                                        .slots = 8};
    TRY(serving_set_adapters(job, &adapters));
    if (!adapters.enabled)
        return STATUS_OK;
    if (!adapters.rank) {
        job_warn(job, job_setting(job, named ? "lora-paths" : "enable-lora")->mark,
                 "the adapters' rank matters to memory and stands in their files: "
                 "--max-lora-rank or lora.rank says it");
        return STATUS_OK;
    }
    const struct setting *s =
        job_given(job, "lora-target-modules") ? job_setting(job, "lora-target-modules") : NULL;
    if (s && s->n && !text_equal(s->values[0], "all"))
        job_set_list(job, "lora.targets", s->values, s->n, "lora-target-modules");
    else if (!s)
        job_warn(job, job_setting(job, named ? "lora-paths" : "enable-lora")->mark,
                 "which matrices the adapters stand beside matters to memory and is in their "
                 "files: all are counted, --lora-target-modules or lora.targets says it");
    return STATUS_OK;
}

static enum status sglang_finish(struct job *job)
{
    serving_warn_environment(job);
    serving_set_stages(job);
    struct degrees d;
    struct sglang_prompts prompts;
    const char *backend = "none", *mode = "null";
    bool deepep = false;
    TRY(serving_refuse_encoder(job, "encoder-only"));
    TRY(read_degrees(job, &d));
    TRY(sglang_set_host_cache(job));
    TRY(serving_set_offload(job, "cpu-offload-gb"));
    TRY(serving_set_overrides(job, "json-model-override-args"));
    TRY(sglang_set_graphs(job));
    TRY(sglang_set_experts(job));
    TRY(job_word(job, "moe-a2a-backend", &backend));
    TRY(job_switch(job, "enable-deepep-moe", &deepep));
    TRY(job_word(job, "disaggregation-mode", &mode));
    if (deepep)
        backend = "deepep";
    TRY(serving_set_model(job, "model-path"));
    TRY(sglang_set_away(job));
    TRY(sglang_set_prompts(job, d.inside ? d.tp / d.dp : d.tp, &prompts));
    if (prompts.ranks > 1 && d.dp > 1 && !d.inside)
        return job_fail(job, "dp-size",
                        "beside prompts that ranks share out it counts replicas of attention "
                        "for DeepSeek's models alone: --attn-dp-size says so");
    backend = prompts.spreads ? "deepep" : backend;
    TRY(set_layout(job, &d, backend));
    TRY(set_ends(job, &d, &prompts));
    TRY(set_adapters(job));
    TRY(set_batch(job, &d, text_equal(mode, "prefill")));
    TRY(serving_set_formats(job, false));
    TRY(sglang_set_sparse_cache(job));
    TRY(sglang_set_draft(job));
    TRY(sglang_set_encoder(job));
    TRY(serving_set_context(job, "context-length"));
    TRY(serving_limit_context(job, "context-length", "json-model-override-args",
                              "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"));
    TRY(sglang_set_states(job));
    TRY(set_path(job, backend, !text_equal(mode, "prefill")));
    bool replicas = d.inside && d.dp > 1;
    return sglang_set_kimi(job, d.tp / (replicas ? d.dp : 1) / prompts.ranks, replicas,
                           !text_equal(backend, "none"));
}

/* Where it is not what experts take. */
static void write_dispatch(struct job_writer *writer)
{
    const struct precision *p = &writer->plan->precision;
    enum dtype taken = p->weights == DTYPE_FP8_BLOCK ? DTYPE_FP8_BLOCK : p->activations;
    for (size_t i = 0; p->dispatch != taken && i < sizeof dispatched / sizeof *dispatched; i++)
        if (dispatched[i].format == p->dispatch)
            writer_flag(writer, "deepep-dispatcher-output-dtype", dispatched[i].word);
}

static void write_exchange(struct job_writer *writer)
{
    const struct plan *plan = writer->plan;
    bool deepep = plan->moe.path == PATH_DEEPEP || plan->moe.path == PATH_DEEPEP_LL;
    if (deepep) {
        writer_flag(writer, "moe-a2a-backend", "deepep");
        writer_flag(writer, "deepep-mode",
                    plan->moe.path == PATH_DEEPEP_LL ? "low_latency" : "normal");
        write_dispatch(writer);
    } else if (plan->parallel.ep > 1) {
        writer_count(writer, "ep-size", plan->parallel.ep);
    }
    if (!deepep && plan->moe.shared == SHARED_TP)
        writer_flag(writer, "disable-shared-experts-fusion", NULL);
}

/* Attention's dp lies inside tp wherever experts are spread over it. */
static enum status sglang_write(struct job_writer *writer)
{
    TRY(serving_write_begin(writer));
    const struct plan *plan = writer->plan;
    const struct parallel *p = &plan->parallel;
    uint64_t dp = plan_dp(plan);
    bool inside = dp > 1 && p->ep * p->etp == p->tp * dp;
    bool prefill = plan->workload.mode == MODE_PREFILL;
    const char *model = model_name_to(NAMES_HUB, plan->model_name);
    write_dispatch_tokens(writer);
    text_printf(writer->out, "python -m sglang.launch_server --model-path %s",
                model ? model : plan->model_name);
    writer_count(writer, "tp-size", inside ? p->tp * dp : p->tp);
    if (dp > 1)
        writer_count(writer, "dp-size", dp);
    if (inside)
        writer_flag(writer, "enable-dp-attention", NULL);
    if (p->dense_apart && engine_attention_ranks(plan) == 1)
        writer_count(writer, "moe-dense-tp-size", 1);
    if (inside && p->head_apart)
        writer_flag(writer, "enable-dp-lm-head", NULL);
    serving_write_adapters(writer, "max-loras-per-batch");
    writer_direct(writer);
    sglang_write_prompts(writer);
    sglang_write_experts(writer);
    write_exchange(writer);
    if (prefill || plan->workload.role != DUTY_ALL)
        writer_flag(writer, "disaggregation-mode",
                    plan->workload.role == DUTY_ANSWERS ? "decode" : "prefill");
    if (!prefill && serving_sequences(plan))
        writer_count(writer, "max-running-requests",
                     serving_sequences(plan) * (inside ? dp : 1));
    uint64_t chunk =
        prefill ? plan->workload.sequence_length : plan->workload.max_num_batched_tokens;
    if (chunk)
        writer_count(writer, "chunked-prefill-size", chunk * (inside ? dp : 1));
    sglang_write_graphs(writer);
    sglang_write_draft(writer);
    sglang_write_host_cache(writer);
    sglang_write_states(writer);
    serving_write_offload(writer);
    sglang_write_away(writer);
    sglang_write_encoder(writer);
    serving_write_formats(writer);
    return STATUS_OK;
}

const struct job_framework job_sglang = {
    .name = "sglang",
    .title = "an SGLang launch",
    .stack = "sglang",
    .source = "sgl-project/sglang 001067fffe33",
    .syntax = JOB_DASHES,
    .abbreviates = true,
    .flags = sglang_flags,
    .n_flags = &sglang_n_flags,
    .files = true, /* of --config alone */
    .telling = "mem-fraction-static mem_fraction_static chunked-prefill-size "
               "max-running-requests cuda-graph-max-bs",
    .python = engine_script_read,
    .python_is = engine_script_is_sglang,
    .prepare = sglang_prepare,
    .finish = sglang_finish,
    .write = sglang_write,
    .names = NAMES_HUB,
    .serves = true,
};
