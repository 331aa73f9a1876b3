/* vLLM launches: what their flags (vllm_flags.c) say together. Underscores are dashes, JSON may
 * be dotted, --config names a YAML file below the command line. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/unit.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/serving/engine_script.h"
#include "plan/serving/serving.h"
#include "plan/serving/vllm.h"
#include "plan/schema/schema.h"

/* All ranks of the engine, and how many of them are on a node. */
static enum status set_size(struct job *job)
{
    uint64_t tp = 1, pp = 1, dp = 1, cp = 1, local = 0, nodes = 0;
    static const char *const positive[] = {"max-num-seqs",  "max-num-batched-tokens",
                                           "block-size",    "max-loras",
                                           "max-lora-rank", NULL};
    TRY(serving_positive(job, positive));
    TRY(serving_degree(job, "tensor-parallel-size", &tp));
    TRY(serving_degree(job, "pipeline-parallel-size", &pp));
    TRY(serving_degree(job, "data-parallel-size", &dp));
    TRY(serving_degree(job, "prefill-context-parallel-size", &cp));
    TRY(job_count(job, "data-parallel-size-local", &local));
    TRY(job_count(job, "nnodes", &nodes));
    job->size = (struct job_size){.nodes = nodes, .world = tp * pp * cp * dp};
    if (local && local <= dp)
        job->size.per_node = tp * pp * cp * local;
    return STATUS_OK;
}

static enum status vllm_prepare(struct job *job)
{
    TRY(job_flag_file(job, "config", JOB_FILE));
    return set_size(job);
}

/* A step without chunks holds the longest prompt (config/scheduler.py). */
static enum status set_whole_prompts(struct job *job, uint64_t *batched)
{
    bool chunks = true;
    TRY(job_switch(job, "enable-chunked-prefill", &chunks));
    uint64_t longest = job_drafted(job, "workload.context_length", 0);
    if (chunks || longest <= *batched)
        return STATUS_OK;
    if (job_given(job, "max-num-batched-tokens"))
        return job_fail(job, "max-num-batched-tokens",
                        "fewer tokens than the context has, %" PRIu64
                        ", which vLLM refuses without chunked prefill",
                        longest);
    *batched = longest;
    job_set_count(job, "workload.max_num_batched_tokens", longest, "enable-chunked-prefill");
    return STATUS_OK;
}

/* Behind low-latency kernels every rank has slots for a whole step of all others
 * (config/parallel.py, use_batched_dp_moe). */
static enum status has_slots(struct job *job, bool *slots)
{
    const struct shell_word *word = job_environment_word(job, "VLLM_ALL2ALL_BACKEND");
    const char *backend = word ? word->text : "";
    uint64_t dp = 1;
    bool whole = false;
    TRY(job_word(job, "all2all-backend", &backend));
    TRY(job_count(job, "data-parallel-size", &dp));
    TRY(job_switch(job, "enable-expert-parallel", &whole));
    bool low = text_equal(backend, "deepep_low_latency") || text_equal(backend, "nixl_ep");
    *slots = low && whole && dp > 1;
    return STATUS_OK;
}

/* What a step holds unless the job says it: by the device and the release, by the class that
 * starts the engine (a script's LLM takes more) and by the mode (vllm/engine/arg_utils.py). */
static enum status default_batch(struct job *job, uint64_t *sequences, uint64_t *batched)
{
    const struct engine_release *release;
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool llm = false, slots, known; /* else a device without memory */
    const char *mode = "balanced";
    TRY(vllm_release(job, &release));
    TRY(job_part(job, "cluster", plan, &known));
    TRY(job_switch(job, ENGINE_SCRIPT_CLASS, &llm));
    TRY(job_word(job, "performance-mode", &mode));
    TRY(has_slots(job, &slots));
    bool large = engine_is_large(plan, release), most = text_equal(mode, "throughput");
    bool doubled =
        llm || (release->doubles_batch && plan->cluster.device.memory_bytes >= 160 * GIB);
    *sequences = large ? 1024 : 256;
    *batched = large ? (doubled ? 16384 : 8192) : llm ? 8192 : 2048;
    if (slots && release->doubles_batch)
        *batched = 256;
    if (most) {
        *sequences *= 2;
        *batched *= 2;
    }
    return STATUS_OK;
}

/* And no more than all sequences can have, which an engine's plan says of itself: but of a
 * script's class and of the mode. */
static enum status limit_batch(struct job *job, uint64_t sequences, uint64_t *batched)
{
    static const char origin[] = ENGINE_SCRIPT_CLASS " performance-mode";
    uint64_t longest = job_drafted(job, "workload.context_length", 0);
    bool llm = false, overflow = false;
    const char *mode = "balanced";
    const struct engine_release *release;
    TRY(vllm_release(job, &release));
    TRY(job_switch(job, ENGINE_SCRIPT_CLASS, &llm));
    TRY(job_word(job, "performance-mode", &mode));
    if (longest && release->limits_batch)
        *batched = lesser(*batched, checked_mul(sequences, longest, &overflow));
    if (llm || text_equal(mode, "throughput"))
        job_set_count(job, "workload.max_num_batched_tokens", *batched, origin);
    return STATUS_OK;
}

static enum status set_batch(struct job *job)
{
    uint64_t sequences, batched, tokens = 0;
    const char *role = "kv_both";
    TRY(default_batch(job, &sequences, &batched));
    TRY(job_word(job, "kv-transfer-config.kv_role", &role));
    TRY(job_count(job, "max-num-seqs", &sequences));
    if (!job_given(job, "max-num-batched-tokens"))
        TRY(limit_batch(job, sequences, &batched));
    TRY(job_count(job, "max-num-batched-tokens", &batched));
    TRY(vllm_draft_tokens(job, &tokens));
    TRY(set_whole_prompts(job, &batched));
    if (job_given(job, "max-num-seqs") && sequences > batched)
        return job_fail(job, "max-num-seqs",
                        "more sequences than a step has tokens (--max-num-batched-tokens, "
                        "%" PRIu64 "), which vLLM refuses",
                        batched);
    sequences = lesser(sequences, batched);
    TRY(vllm_set_draft(job, tokens));
    bool prefill = false;
    TRY(job_switch(job, "is-prefill-worker", &prefill));
    prefill = prefill || text_equal(role, "kv_producer");
    job_set(job, "workload.mode", prefill ? "prefill" : "decode",
            "kv-transfer-config.kv_role is-prefill-worker");
    uint64_t longest = job_drafted(job, "workload.context_length", batched);
    uint64_t each = longest && longest < batched ? longest : batched;
    if (prefill) { /* a step of whole prompts, or a part of one, fills the batch */
        job_set_count(job, "workload.sequence_length", each,
                      "max-num-batched-tokens max-model-len");
        if (each && batched / each > 1)
            job_set_count(job, "workload.micro_batch", batched / each,
                          "max-num-batched-tokens max-model-len");
        job_set_count(job, "workload.max_num_seqs", sequences, "max-num-seqs");
        job_set(job, "workload.queue", "true", "");
        return STATUS_OK;
    }
    TRY(serving_set_batch(job, sequences, "max-num-seqs"));
    if (tokens)
        job_set_count(job, "workload.tokens_per_sequence", tokens + 1,
                      VLLM_DRAFT_TOKENS " " VLLM_DRAFT_METHOD);
    return STATUS_OK;
}

static enum status set_path(struct job *job)
{
    static const char paths[] = "allgather_reducescatter=allgather naive=allgather "
                                "deepep_high_throughput=deepep deepep_low_latency=deepep_ll "
                                "deepep_v2=deepep";
    const char *backend = "allgather_reducescatter";
    struct mark mark = job->mark;
    const char *origin = "default of --all2all-backend";
    const struct shell_word *word = job_environment_word(job, "VLLM_ALL2ALL_BACKEND");
    if (word) {
        backend = word->text;
        mark = word->mark;
        origin = "VLLM_ALL2ALL_BACKEND";
    }
    const struct setting *s = job_setting(job, "all2all-backend");
    TRY(job_word(job, "all2all-backend", &backend));
    const char *path = job_convert(job, paths, backend);
    if (!path)
        job_warn(job, s ? s->mark : mark,
                 "all-to-all backend '%s' matters to memory and is not modelled: allgather "
                 "stands in",
                 backend);
    uint64_t dp = 1, cp = 1;
    bool whole = false;
    TRY(job_count(job, "data-parallel-size", &dp));
    TRY(job_switch(job, "enable-expert-parallel", &whole));
    TRY(job_count(job, "prefill-context-parallel-size", &cp));
    if (dp * cp == 1 ||
        !whole) /* the tokens are on every rank, or joined, whatever the backend */
        path = "auto";
    draft_set(&job->draft, "moe.path", path ? path : "allgather", s ? s->mark : mark,
              s ? s->said : origin);
    if (text_equal(backend, "deepep_v2"))
        draft_set(&job->draft, "moe.library", "deepep_v2", s ? s->mark : mark, origin);
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    bool fp8 = path && text_starts(path, "deepep") && weights &&
               text_equal(weights->words[0], "fp8_block");
    const struct draft_item *activations = draft_find(&job->draft, "precision.activations");
    draft_set(&job->draft, "precision.dispatch", fp8 ? "fp8_block" : activations->words[0],
              (struct mark){0}, fp8 ? "DeepEP sends what fp8 experts take" : "as activations");
    return vllm_set_chunks(job, path ? path : "allgather");
}

static enum status set_graphs(struct job *job)
{
    static const char levels[] = "0=none O0=none 1=partial O1=partial";
    static const char modes[] = "NONE=none PIECEWISE=partial FULL=full FULL_DECODE_ONLY=full "
                                "FULL_AND_PIECEWISE=full none=none";
    const char *mode = NULL, *level = NULL;
    bool eager = false;
    TRY(job_switch(job, "enforce-eager", &eager));
    TRY(job_word(job, "optimization-level", &level));
    const char *by_level = level ? job_convert(job, levels, level) : NULL;
    if (by_level)
        job_set(job, "stack.graphs", by_level, "optimization-level");
    TRY(job_word(job, "compilation-config.cudagraph_mode", &mode));
    const char *graphs = mode ? job_convert(job, modes, mode) : NULL;
    if (mode && !graphs)
        return job_fail(job, "compilation-config.cudagraph_mode",
                        "'%s' is no mode of CUDA graphs", mode);
    if (graphs)
        job_set(job, "stack.graphs", graphs, "compilation-config.cudagraph_mode");
    if (eager)
        job_set(job, "stack.graphs", "none", "enforce-eager");
    else if (graphs && text_equal(graphs, "none"))
        job_warn(job, job_setting(job, "compilation-config.cudagraph_mode")->mark,
                 "a model that is compiled and has no graphs matters to memory and time and is "
                 "not modelled: it is taken as with --enforce-eager, launched by Python");
    return STATUS_OK;
}

static enum status set_layout(struct job *job)
{
    bool experts = false;
    uint64_t tp = job_drafted(job, "parallel.tp", 1), dp = 1, cp = 1, redundant = 0;
    TRY(job_count(job, "data-parallel-size", &dp));
    TRY(job_count(job, "prefill-context-parallel-size", &cp));
    job_set_count(job, "parallel.dp", dp, "data-parallel-size");
    TRY(job_switch(job, "enable-expert-parallel", &experts));
    TRY(set_graphs(job));
    TRY(job_count(job, "eplb-config.num_redundant_experts", &redundant));
    uint64_t ranks =
        tp * dp * cp; /* layers/fused_moe/config.py, flatten_tp_across_dp_and_pcp */
    job_set_count(job, "parallel.ep", experts ? ranks : 1, "enable-expert-parallel");
    job_set_count(job, "parallel.etp", experts ? 1 : ranks,
                  "enable-expert-parallel tensor-parallel-size");
    if (tp > 1) /* nothing to say on one rank */
        job_set(job, "parallel.sp", experts && dp * cp > 1 ? "true" : "false",
                "enable-expert-parallel");
    if (redundant)
        job_set_count(job, "moe.redundant_experts", redundant,
                      "eplb-config.num_redundant_experts");
    return STATUS_OK;
}

/* "20G", "25.6k": thousands of small letters, powers of two of large ones
 * (utils/argparse_utils, human_readable_int). It is optional: an empty word, as of
 * "${BYTES-}", is as if the flag were not there (engine/arg_utils.py, optional_type). */
static enum status set_pool(struct job *job)
{
    static const char flag[] = "kv-cache-memory-bytes";
    static const char small[] = "kmgt", large[] = "KMGT";
    const char *text = NULL, *at;
    char *end;
    TRY(job_word(job, flag, &text));
    if (!text || !text[0] || text_equal(text, "None"))
        return STATUS_OK;
    double bytes = strtod(text, &end);
    if (*end && (at = strchr(small, *end)) != NULL)
        bytes *= pow(1000, (double)(at - small + 1));
    else if (*end && (at = strchr(large, *end)) != NULL)
        bytes *= pow(1024, (double)(at - large + 1));
    if (end == text || (*end && end[1]) || !(bytes >= 0 && bytes < 1e18) ||
        (*end && !isalpha((unsigned char)*end)))
        return job_fail(job, flag, "takes bytes, such as 20G, not '%s'", text);
    job_set(job, "memory.cache_bytes", arena_printf(job->arena, "%.0f B", bytes), flag);
    return STATUS_OK;
}

/* Sizes are tokens of a step. */
static enum status set_captured(struct job *job)
{
    static const char flag[] = "compilation-config.cudagraph_capture_sizes",
                      most_flag[] = "max-cudagraph-capture-size";
    uint64_t tokens = 0, most = 0, limit = 0;
    TRY(vllm_draft_tokens(job, &tokens));
    TRY(serving_largest(job, flag, &most));
    TRY(job_count(job, most_flag, &limit));
    if (most == 0)
        most = limit;
    if (most > tokens)
        job_set_count(job, "stack.graph_batch", most / (tokens + 1),
                      job_given(job, flag) ? flag : most_flag);
    return STATUS_OK;
}

/* Adapters have room only where they are enabled. */
static enum status set_adapters(struct job *job)
{
    bool sharded = false;
    struct serving_adapters adapters = {"max-loras", "enable-lora", .slots = 1, .rank = 16};
    TRY(serving_set_adapters(job, &adapters));
    TRY(job_switch(job, "fully-sharded-loras", &sharded));
    if (adapters.enabled && sharded)
        job_set(job, "lora.sharded", "true", "fully-sharded-loras");
    const struct setting *s =
        job_given(job, "lora-target-modules") ? job_setting(job, "lora-target-modules") : NULL;
    if (adapters.enabled && s && s->n)
        job_set_list(job, "lora.targets", s->values, s->n, "lora-target-modules");
    return STATUS_OK;
}

/* Of images and videos the one that is allowed more often; only both at 0 leave the encoder
 * out. */
static enum status set_images(struct job *job)
{
    static const char image[] = "limit-mm-per-prompt.image";
    static const char video[] = "limit-mm-per-prompt.video";
    uint64_t images = 999, videos = 999;
    bool text = false;
    TRY(job_count(job, image, &images));
    TRY(job_count(job, video, &videos));
    TRY(job_switch(job, "language-model-only", &text));
    if (text)
        job_set_count(job, "workload.encoder.limit", 0, "language-model-only");
    else if (job_given(job, image) || job_given(job, video))
        job_set_count(job, "workload.encoder.limit", images > videos ? images : videos,
                      job_given(job, image) ? image : video);
    return STATUS_OK;
}

/* What the front end decodes images into is taken off the cache (v1/worker/gpu_worker.py,
 * _reserve_mm_ipc_gpu_memory), as what a plan reserves is. */
static enum status set_encoder(struct job *job)
{
    static const char flag[] = "enable-multimodal-encoder-data-parallel",
                      memory_flag[] = "mm-ipc-gpu-memory-gb";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool apart = false, known;
    double gib = 0;
    TRY(job_switch(job, flag, &apart));
    TRY(job_real(job, memory_flag, &gib));
    TRY(job_part(job, "model", plan, &known));
    if (gib > 0 && (!known || plan->model.encoder.layers))
        job_set(job, "memory.reserve", arena_printf(job->arena, "%g GiB", gib), memory_flag);
    if (apart)
        job_set(job, "parallel.encoder_apart", "true", flag);
    return STATUS_OK;
}

/* Without the hybrid manager layers that slide keep what full ones do. */
static enum status set_windows(struct job *job)
{
    bool alike = false;
    TRY(job_switch(job, "disable-hybrid-kv-cache-manager", &alike));
    if (alike)
        job_set(job, "memory.window_ratio", "1", "disable-hybrid-kv-cache-manager");
    return STATUS_OK;
}

/* -1 and auto: the model's own, or as long as one sequence finds room in the pool
 * (config/model.py, 0.14 on). */
static enum status set_context(struct job *job)
{
    static const char flag[] = "max-model-len";
    const char *said = "auto";
    uint64_t tokens = 0;
    TRY(job_word(job, flag, &said));
    bool fitted = text_equal(said, "auto") || text_equal(said, "-1");
    if (!fitted)
        TRY(job_count(job, flag, &tokens));
    if (!fitted) {
        job_set_count(job, "workload.context_length", tokens, flag);
        return serving_limit_context(job, flag, "hf-overrides",
                                     "VLLM_ALLOW_LONG_MAX_MODEL_LEN");
    }
    return serving_own_context(job, flag);
}

/* Of an image's tag: a release before pull request 29431, which 0.14 has first. */
static bool is_before_auto(const struct job *job)
{
    enum { FIRST = 14 };
    const struct draft_item *version = draft_find(&job->draft, "stack.version");
    const char *text = version && version->n == 1 ? version->words[0] : "";
    return text_starts(text, "0.") && strtoul(text + 2, NULL, 10) < FIRST;
}

/* And where its pool is shorter than that, so long. */
static enum status fit_context(struct job *job)
{
    static const char flag[] = "max-model-len";
    const char *said = "";
    TRY(job_word(job, flag, &said));
    bool fitted = text_equal(said, "auto") || text_equal(said, "-1");
    if (fitted && is_before_auto(job))
        job_warn(job, job_setting(job, flag)->mark,
                 "'--max-model-len %s' is of vLLM 0.14 and later, not of this release", said);
    return fitted ? serving_fit_context(job, flag) : STATUS_OK;
}

/* Scales that a checkpoint in fp8 may have are of the other fp8 (layers/attention/attention.py;
 * compressed-tensors', a scale a channel here, may say that there are none). */
static enum status check_cache(struct job *job)
{
    static const char flag[] = "kv-cache-dtype";
    const struct draft_item *weights = draft_find(&job->draft, "precision.weights");
    const char *word = "auto", *format = weights ? weights->words[0] : "";
    TRY(job_word(job, flag, &word));
    if (!text_equal(word, "fp8_e5m2") ||
        (!text_equal(format, "fp8") && !text_equal(format, "fp8_block")))
        return STATUS_OK;
    job_fail(job, flag, "vLLM keeps no cache in fp8_e5m2 of a checkpoint in fp8");
    return err_hint(job->err, "--kv-cache-dtype fp8 is as large");
}

/* Without its window a model reads no more than it (config/model.py, _get_and_verify_max_len),
 * and layers that slid keep all of that. */
static enum status limit_window(struct job *job)
{
    static const char flag[] = "disable-sliding-window";
    struct plan *plan = arena_alloc(job->arena, 1, sizeof *plan);
    bool off = false, known;
    TRY(job_switch(job, flag, &off));
    TRY(job_part(job, "model", plan, &known));
    uint64_t window = known ? plan->model.attention.window : 0;
    uint64_t longest = job_drafted(job, "workload.context_length", window);
    if (!off || !window || longest <= window)
        return STATUS_OK;
    if (!job_given(job, "max-model-len")) {
        job_set_count(job, "workload.context_length", window, flag);
        return STATUS_OK;
    }
    return job_fail(job, "max-model-len",
                    "a context of %" PRIu64 " tokens is more than the window of %" PRIu64
                    ", to which --disable-sliding-window limits it",
                    longest, window);
}

/* Replicas of attention make up dummy inputs, random ones if the environment says so (envs.py:
 * bool(int(..))). */
static void set_dummies(struct job *job)
{
    static const char name[] = "VLLM_RANDOMIZE_DP_DUMMY_INPUTS";
    const struct shell_word *word = job_environment_word(job, name);
    if (word && !word->trouble && strtol(word->text, NULL, 10) != 0)
        draft_set(&job->draft, "stack.random_dummies", "true", word->mark, name);
}

static enum status vllm_finish(struct job *job)
{
    bool quantized;
    serving_warn_environment(job);
    set_dummies(job);
    serving_set_stages(job);
    TRY(serving_refuse_encoder(job, "mm-encoder-only"));
    vllm_set_release(job);
    TRY(set_pool(job));
    TRY(set_adapters(job));
    TRY(set_images(job));
    TRY(serving_set_offload(job, "cpu-offload-gb"));
    TRY(vllm_set_tables(job));
    TRY(serving_set_overrides(job, "hf-overrides"));
    TRY(set_windows(job));
    TRY(serving_set_model(job, "model"));
    TRY(set_captured(job));
    TRY(set_encoder(job));
    TRY(set_layout(job));
    TRY(set_context(job));
    TRY(limit_window(job));
    TRY(set_batch(job));
    TRY(fit_context(job));
    TRY(vllm_set_quantized(job, &quantized));
    TRY(serving_set_formats(job, quantized));
    TRY(vllm_check_parts(job));
    TRY(vllm_set_skipped(job));
    TRY(check_cache(job));
    TRY(vllm_set_experts(job));
    TRY(vllm_set_states(job));
    TRY(vllm_set_host_cache(job));
    return set_path(job);
}

static void write_adapters(struct job_writer *writer)
{
    uint64_t limit = writer->plan->workload.encoder.limit;
    if (serving_write_adapters(writer, "max-loras") && writer->plan->lora.sharded)
        writer_flag(writer, "fully-sharded-loras", NULL);
    if (!limit)
        writer_flag(writer, "language-model-only", NULL);
    else if (limit != 999) {
        writer_count(writer, "limit-mm-per-prompt.image", limit);
        writer_count(writer, "limit-mm-per-prompt.video", limit);
    }
}

/* A role without a connector transfers nothing (config/kv_transfer.py, is_kv_producer). */
static void write_role(struct job_writer *writer)
{
    const struct workload *w = &writer->plan->workload;
    bool prefill = w->mode == MODE_PREFILL || w->role == DUTY_PROMPTS;
    if (prefill || w->role == DUTY_ANSWERS)
        writer_flag(writer, "kv-transfer-config",
                    arena_printf(writer->arena,
                                 "'{\"kv_connector\": \"NixlConnector\", "
                                 "\"kv_role\": \"kv_%s\"}'",
                                 prefill ? "producer" : "consumer"));
}

static enum status vllm_write(struct job_writer *writer)
{
    TRY(serving_write_begin(writer));
    const struct plan *plan = writer->plan;
    const char *model = model_name_to(NAMES_HUB, plan->model_name);
    text_printf(writer->out, "vllm serve %s", model ? model : plan->model_name);
    if (plan_dp(plan) > 1)
        writer_count(writer, "data-parallel-size", plan_dp(plan));
    writer_direct(writer);
    if (plan->workload.fit_context && plan->workload.context_length == plan->model.max_position)
        writer_flag(writer, "max-model-len", "auto");
    else
        writer_count(writer, "max-model-len", plan->workload.context_length);
    if (plan->parallel.ep > 1)
        writer_flag(writer, "enable-expert-parallel", NULL);
    bool prefill = plan->workload.mode == MODE_PREFILL;
    write_role(writer);
    uint64_t sequences = prefill ? plan->workload.max_num_seqs : serving_sequences(plan);
    if (sequences)
        writer_count(writer, "max-num-seqs", sequences);
    if (prefill && !plan->workload.max_num_batched_tokens)
        writer_count(writer, "max-num-batched-tokens", plan->workload.sequence_length);
    if (plan->moe.path == PATH_DEEPEP)
        writer_flag(writer, "all2all-backend",
                    plan->moe.library == LIBRARY_DEEPEP_V2 ? "deepep_v2"
                                                           : "deepep_high_throughput");
    if (plan->moe.path == PATH_DEEPEP_LL)
        writer_flag(writer, "all2all-backend", "deepep_low_latency");
    if (plan->moe.redundant_experts) { /* config/parallel.py refuses copies without it */
        writer_flag(writer, "enable-eplb", NULL);
        writer_count(writer, "eplb-config.num_redundant_experts", plan->moe.redundant_experts);
    }
    vllm_write_experts(writer);
    vllm_write_draft(writer);
    if (plan->memory.cache_bytes)
        writer_count(writer, "kv-cache-memory-bytes", plan->memory.cache_bytes);
    write_adapters(writer);
    vllm_write_states(writer);
    vllm_write_host_cache(writer);
    vllm_write_tables(writer);
    vllm_write_skipped(writer);
    serving_write_offload(writer);
    if (plan->memory.window_ratio == 1)
        writer_flag(writer, "disable-hybrid-kv-cache-manager", NULL);
    if (plan->stack.graphs == GRAPHS_NONE)
        writer_flag(writer, "enforce-eager", NULL);
    serving_write_formats(writer);
    return STATUS_OK;
}

const struct job_framework job_vllm = {
    .name = "vllm",
    .title = "a vLLM launch",
    .stack = "vllm",
    .source = "vllm-project/vllm",
    .syntax = JOB_DASHES,
    .abbreviates = true,
    .flags = vllm_flags,
    .n_flags = &vllm_n_flags,
    .files = true, /* of --config alone */
    .telling = "max-model-len max_model_len max-num-seqs max_num_seqs gpu-memory-utilization "
               "gpu_memory_utilization",
    .python = engine_script_read,
    .python_is = engine_script_is_vllm,
    .prepare = vllm_prepare,
    .finish = vllm_finish,
    .write = vllm_write,
    .names = NAMES_HUB,
    .serves = true,
};
