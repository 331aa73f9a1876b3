/* predict of mode serve: the decode step of all sequences, with the memory of the worse of
 * decode and prefill, and the time that the scheduler plays. */
#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/pools.h"
#include "plan/speculation.h"
#include "sim/answer/notes.h"
#include "sim/answer/predict.h"
#include "sim/serve/serve.h"

/* Bytes over the limit; less than nothing where it fits. */
static int64_t over_limit(const struct prediction *p)
{
    return -p->memory.margin_bytes;
}

/* What keeps requests waiting. */
static const char *cap_text(const struct plan *plan, const struct serve_load *load,
                            struct arena *arena)
{
    unsigned long long held = load->sequences, all = load->requests;
    bool evicts = load->cache_tokens && plan->stack.kind != STACK_TRTLLM;
    if (plan_arrives(plan))
        return arena_printf(arena, "%s holds %llu of a replica's %llu sequences at most%s",
                            load->capped, held, all,
                            evicts ? " at their whole length; they are let in by what is held "
                                     "at the moment, and some taken out where a step finds "
                                     "no room, in tokens, not in blocks"
                                   : "");
    return arena_printf(
        arena, "%llu of %llu requests a replica wait: %s%s", all - held, all, load->capped,
        evicts ? ", at input + output tokens each; the engine lets more in, by the blocks that "
                 "are held at the moment, and takes some out again where they run out"
               : "");
}

/* An engine that cuts no prompt (TensorRT-LLM without chunked prefill) refuses one longer than
 * a step (llmapi/llm.py, _check_arguments), and lets one wait that a step's answers leave no
 * room for (microBatchScheduler.cpp). NULL: neither. */
static const char *whole_text(const struct plan *plan, const struct serve_load *load,
                              struct arena *arena)
{
    uint64_t tokens = engine_tokens(plan), prompt = serve_prompt(plan);
    uint64_t answers = (serve_batch(plan, load->sequences) - 1) * (1 + plan_drafted(plan));
    if (engine_batching(plan) != BATCHING_WHOLE || prompt + answers <= tokens)
        return NULL;
    if (prompt > tokens)
        return arena_printf(arena,
                            "the engine refuses prompts above a step's %llu tokens unless "
                            "workload.chunked_prefill; times are as if it cut them",
                            (unsigned long long)tokens);
    return arena_printf(arena,
                        "prompts of %llu tokens wait until answers end: a step has %llu, with "
                        "all other answers it takes %llu; or workload.chunked_prefill",
                        (unsigned long long)prompt, (unsigned long long)tokens,
                        (unsigned long long)(prompt + answers));
}

/* SGLang shares its chunk out to the replicas of attention (managers/scheduler.py), so that of
 * many a prompt takes many steps. NULL: it does not. */
static const char *chunk_text(const struct plan *plan, struct arena *arena)
{
    uint64_t tokens = engine_tokens(plan), prompt = serve_prompt(plan),
             replicas = plan_engine_replicas(plan);
    bool shares = plan->stack.kind == STACK_SGLANG && !plan->workload.max_num_batched_tokens;
    if (!shares || replicas < 2 || prompt <= tokens)
        return NULL;
    return arena_printf(arena,
                        "a prompt takes %llu steps of %llu tokens: %llu replicas of attention "
                        "share --chunked-prefill-size; a larger one, or this key, of a replica",
                        (unsigned long long)ceil_div(prompt, tokens),
                        (unsigned long long)tokens, (unsigned long long)replicas);
}

/* NULL: every replica has a request. */
static const char *idle_text(const struct plan *plan, const struct serve_load *load,
                             struct arena *arena)
{
    uint64_t n = plan->workload.concurrency;
    if (plan_arrives(plan) || n >= load->replicas || serve_group(plan) < 2)
        return NULL;
    return arena_printf(arena,
                        "%llu of %llu replicas of attention have no request, and take part in "
                        "every step; memory is as if each had one",
                        (unsigned long long)(load->replicas - n),
                        (unsigned long long)load->replicas);
}

/* Notes of its own before those of any plan. */
static void prepend_notes(const struct note *own, size_t n_own, struct arena *arena,
                          struct prediction *out)
{
    struct note *notes = arena_alloc(arena, n_own + out->n_notes, sizeof *notes);
    for (size_t i = 0; i < n_own + out->n_notes; i++)
        notes[i] = i < n_own ? own[i] : out->notes[i - n_own];
    out->notes = notes;
    out->n_notes += n_own;
}

/* An engine that takes no such request: its cache is the wall. The screen of a server says it
 * beside the times that there are not, and in the first line where the sum would fit. */
static void judge_pool(const struct plan *plan, const char *key, struct arena *arena,
                       struct prediction *out)
{
    struct memory_report *m = &out->memory;
    if (serve_takes(plan, &out->serving))
        return;
    bool said = plan->workload.mode == MODE_SERVE ||
                (m->total_bytes <= m->limit_bytes && !serve_cuts(plan, &out->serving));
    m->verdict = VERDICT_OOM;
    for (size_t i = 0; i < m->n_buffers && !m->wall; i++)
        if (m->buffers[i].category == CATEGORY_KV_CACHE)
            m->wall = &m->buffers[i];
    const char *text = serve_refusal_text(plan, &out->serving, arena);
    const struct note note = said ? note_of(key, text) : note_loud(key, text);
    prepend_notes(&note, 1, arena, out);
}

/* What the times of requests rest on. */
static void add_notes(const struct plan *plan, const struct predict_options *options,
                      const struct serve_load *load, struct arena *arena,
                      struct prediction *out)
{
    bool arrives = plan_arrives(plan);
    struct note own[6];
    size_t n = 0;
    const char *whole = whole_text(plan, load, arena), *chunk = chunk_text(plan, arena),
               *idle = idle_text(plan, load, arena);
    const char *graphs = notes_graphs(plan, serve_batch(plan, load->sequences), arena);
    out->notes = notes_of(plan, options->origins, arena, &out->n_notes);
    if (load->takes && load->capped && (arrives || load->sequences < load->requests))
        own[n++] = note_of(arrives ? "workload.request_rate" : "workload.concurrency",
                           cap_text(plan, load, arena));
    if (arrives)
        own[n++] = note_of("workload.request_rate",
                           "unvalidated: the profile's runs are closed loops, no data "
                           "judge the queue of an open one");
    if (whole)
        own[n++] = note_loud("workload.max_num_batched_tokens", whole);
    if (chunk)
        own[n++] = note_of("workload.max_num_batched_tokens", chunk);
    if (idle)
        own[n++] = note_of("workload.concurrency", idle);
    if (graphs)
        own[n++] = note_loud("stack.graph_padding", graphs);
    prepend_notes(own, n, arena, out);
}

static enum status predict_serve(const struct plan *plan, const struct predict_options *options,
                                 struct arena *arena, struct prediction *out, struct err *err)
{
    struct plan *steps = arena_alloc(arena, 3, sizeof *steps);
    struct predict_options decode = *options, prefill = *options;
    struct prediction other;
    struct serve_load load;
    struct time_ask time = options->time ? *options->time : (struct time_ask){.profile = NULL};
    decode.time = prefill.time = NULL;
    decode.origins = prefill.origins = NULL;
    prefill.ops = NULL;
    prefill.memory_only = true;
    TRY(serve_load_of(plan, arena, &load, err));
    serve_step_plan(plan, MODE_DECODE, load.sequences, &steps[0]);
    serve_step_plan(plan, MODE_PREFILL, load.sequences, &steps[1]);
    serve_timed_plan(plan, load.sequences, &steps[2]);
    decode.ops_plan = &steps[2];
    TRY(predict_rows(&steps[0], options, arena, &decode.rows, err));
    prefill.rows = decode.rows; /* laws are of neither tokens nor mode */
    time.rows = time.routing == options->routing ? decode.rows : NULL;
    TRY(predict_step(&steps[0], &decode, arena, out, err));
    TRY(predict_step(&steps[1], &prefill, arena, &other, err));
    uint64_t decode_bytes = out->memory.total_bytes;
    if (over_limit(&other) > over_limit(out))
        out->memory = other.memory;
    add_notes(plan, options, &load, arena, out);
    judge_pool(plan, "workload.output_length", arena, out);
    if (options->time)
        TRY(predict_time(plan, &time, arena, &out->time, err));
    out->time.serving.apart.prefill_memory_bytes = other.memory.total_bytes;
    out->time.serving.apart.decode_memory_bytes = decode_bytes;
    return STATUS_OK;
}

/* A step that is asked for alone is judged by its own sum and the stack's reserves, a server by
 * its engine's rule, whose pool may hold fewer sequences. NULL: both say the same. */
static const char *server_text(const struct plan *plan, const struct prediction *out,
                               struct arena *arena)
{
    const struct serving_report *pool = &out->serving;
    bool fits = out->memory.verdict != VERDICT_OOM, takes = serve_takes(plan, pool);
    uint64_t asked = plan->workload.micro_batch * engine_batches(plan);
    bool holds = pool->present && pool->running >= asked;
    if (fits && !takes)
        return serve_refusal_text(plan, pool, arena);
    bool decodes = plan->workload.mode == MODE_DECODE;
    if (fits && pool->present && !holds && decodes)
        return arena_printf(arena, "its cache holds %llu of the %llu sequences at once",
                            (unsigned long long)pool->running, (unsigned long long)asked);
    if (fits || !takes || !holds || !decodes)
        return NULL;
    return arena_printf(arena,
                        "the engine's own pool holds all %llu sequences: workload.queue=true "
                        "judges by its rule",
                        (unsigned long long)asked);
}

static void compare_server(const struct plan *plan, struct arena *arena, struct prediction *out)
{
    const char *text = plan->workload.queue ? NULL : server_text(plan, out, arena);
    if (!text)
        return;
    const struct note note = note_loud(
        "workload.queue",
        arena_printf(arena, "the verdict is of this step alone; as a server %s", text));
    prepend_notes(&note, 1, arena, out);
}

/* Of those that run, some hold less than while they read their prompts. */
static const char *waiting_text(const struct plan *plan, const struct prediction *out,
                                uint64_t waiting, struct arena *arena)
{
    const struct serving_report *pool = &out->serving;
    return arena_printf(
        arena, "%llu of %llu sequences a batch wait: the cache holds %llu of %llu tokens%s",
        (unsigned long long)waiting, (unsigned long long)plan->workload.micro_batch,
        (unsigned long long)pool->running, (unsigned long long)pool->context_tokens,
        pool->running > pool->sequences ? " past their prompts" : "");
}

/* A step, of fewer sequences where the others wait for the cache. */
static enum status predict_held(const struct plan *plan, const struct predict_options *options,
                                struct arena *arena, struct prediction *out, struct err *err)
{
    const struct plan *held = serve_held(plan, arena_alloc(arena, 1, sizeof *held), NULL);
    TRY(predict_step(held, options, arena, out, err));
    out->batch = held->workload.micro_batch;
    if (engine_queues(plan))
        judge_pool(held, "workload.queue", arena, out);
    const char *fitted = serve_fitted_text(plan, &out->serving, arena);
    if (fitted) {
        const struct note note = note_loud("workload.context_length", fitted);
        prepend_notes(&note, 1, arena, out);
    }
    compare_server(plan, arena, out);
    uint64_t waiting = plan->workload.micro_batch - out->batch;
    if (!waiting || !out->serving.sequences)
        return STATUS_OK;
    const struct note note = note_of("workload.queue", waiting_text(plan, out, waiting, arena));
    prepend_notes(&note, 1, arena, out);
    return STATUS_OK;
}

/* ---- prefill apart ---- */

/* One server of a pool; what is in flight is shared out over the deployments that are said. */
static enum status predict_pool(const struct plan *plan, enum duty duty,
                                const struct predict_options *options, struct arena *arena,
                                struct prediction *out, struct pool_report *report,
                                struct err *err)
{
    struct plan *pool = arena_alloc(arena, 1, sizeof *pool);
    plan_pool(plan, duty, plan_deployments(plan, duty), pool);
    bool serves = pool->workload.mode == MODE_SERVE;
    TRY((serves ? predict_serve : predict_held)(pool, options, arena, out, err));
    *report = (struct pool_report){.name = duty == DUTY_PROMPTS ? "prefill" : "decode",
                                   .deployments = plan_deployments(plan, duty),
                                   .devices = plan_devices(pool),
                                   .memory = out->memory,
                                   .serving = out->serving};
    return STATUS_OK;
}

/* Of one server's notes those that hold of the plan: how many servers there are is read, and of
 * who prefills what weighs. */
static void join_notes(const struct prediction *prefill, struct arena *arena,
                       struct prediction *out)
{
    struct note *notes = arena_alloc(arena, out->n_notes + prefill->n_notes + 1, sizeof *notes);
    size_t n = 0;
    for (size_t i = 0; i < out->n_notes; i++)
        if (!text_starts(out->notes[i].key, "workload.deployments."))
            notes[n++] = out->notes[i];
    for (size_t i = 0; i < prefill->n_notes; i++)
        if (prefill->notes[i].weighs)
            notes[n++] = note_loud(arena_printf(arena, POOL_PREFIX "%s", prefill->notes[i].key),
                                   prefill->notes[i].text);
    out->notes = notes;
    out->n_notes = n;
}

/* Of two servers: one that does not start does not fit, however little it holds. */
static bool server_is_worse(const struct prediction *a, const struct prediction *b)
{
    enum verdict own = a->memory.verdict, other = b->memory.verdict;
    return own != other ? own > other : over_limit(a) > over_limit(b);
}

/* Both pools; the answer is that of a server that decodes, its memory that of the pool that has
 * less to spare. */
static enum status predict_apart(const struct plan *plan, const struct predict_options *options,
                                 struct arena *arena, struct prediction *out, struct err *err)
{
    struct predict_options prefill = *options, decode = *options;
    bool serves = plan->workload.mode == MODE_SERVE;
    struct prediction other;
    struct pool_report *pools = arena_alloc(arena, 2, sizeof *pools);
    prefill.time = NULL;
    prefill.ops = NULL;
    prefill.rows = NULL;
    prefill.memory_only = true;
    prefill.origins = options->origins ? options->origins->prefill : NULL;
    decode.time = serves ? NULL : options->time;
    TRY(predict_pool(plan, DUTY_ANSWERS, &decode, arena, out, &pools[1], err));
    TRY(predict_pool(plan, DUTY_PROMPTS, &prefill, arena, &other, &pools[0], err));
    out->pools = pools;
    out->n_pools = 2;
    join_notes(&other, arena, out);
    if (server_is_worse(&other, out))
        out->memory = other.memory;
    const struct note ask = note_of(
        "workload.mode", "what requests see, and which pool limits: --set workload.mode=serve "
                         "--set workload.input_length= --set workload.output_length=, and "
                         "workload.concurrency or workload.request_rate");
    if (!serves)
        prepend_notes(&ask, 1, arena, out);
    if (!serves || !options->time)
        return STATUS_OK;
    const struct profile *prompts = options->time->profile->prefill;
    const struct note by =
        note_of(POOL_PREFIX "stack.profile",
                arena_printf(arena, "prompts by profile %s", prompts ? prompts->name : ""));
    if (prompts)
        prepend_notes(&by, 1, arena, out);
    TRY(predict_time(plan, options->time, arena, &out->time, err));
    out->time.serving.apart.prefill_memory_bytes = out->pools[0].memory.total_bytes;
    out->time.serving.apart.decode_memory_bytes = out->pools[1].memory.total_bytes;
    return STATUS_OK;
}

bool predict_lacks_memory(const struct memory_report *memory)
{
    return verdict_lacks(memory->verdict, memory->total_bytes, memory->limit_bytes);
}

bool predict_lacks_host(const struct memory_report *memory)
{
    return memory->host_limit_bytes && memory->host_bytes > memory->host_limit_bytes;
}

/* Why an engine takes no such request; NULL: it does. */
static const char *refusal(const struct plan *plan, const struct serving_report *pool,
                           struct arena *arena)
{
    if (!pool->present)
        return NULL;
    if (serve_cuts(plan, pool))
        return arena_printf(arena, "its cache holds no request of %llu tokens, %llu at most",
                            (unsigned long long)pool->context_tokens,
                            (unsigned long long)serve_longest(plan, pool));
    if (!pool->cache_bytes)
        return "the engine does not start: nothing is left to its cache";
    if (!pool->sequences)
        return "the engine does not start: its cache holds no sequence";
    return serve_refusal(plan, pool);
}

const char *predict_beside_sum(const struct plan *plan, const struct prediction *prediction,
                               struct arena *arena)
{
    const struct memory_report *memory = &prediction->memory;
    if (memory->verdict != VERDICT_OOM || memory->total_bytes > memory->limit_bytes)
        return NULL;
    if (memory->address_wall)
        return arena_printf(arena, "its library cannot address %s", memory->address_wall->name);
    return predict_lacks_host(memory) ? "host memory is too small"
                                      : refusal(plan, &prediction->serving, arena);
}

/* Of what does not fit, and of limits that requests miss. */
static void find_fixes(const struct plan *plan, const struct predict_options *options,
                       struct arena *arena, struct prediction *out)
{
    const struct profile *profile = options->time ? options->time->profile : NULL;
    if (predict_lacks_memory(&out->memory))
        out->memory.fixes = fix_find(plan, options->routing, profile, options->known, arena,
                                     &out->memory.n_fixes);
    if (options->time && plan->prefill)
        out->limit_fixes = fix_limits(plan, options->routing, profile, &out->time.serving,
                                      arena, &out->n_limit_fixes);
}

static enum status predict_known(const struct plan *plan, const struct predict_options *options,
                                 struct arena *arena, struct prediction *out, struct err *err)
{
    bool serves = plan->workload.mode == MODE_SERVE;
    const struct note untimed = note_loud(
        "workload.micro_batch", "a size of the step's ops is past 64 bits: no time, no ops");
    TRY((plan->prefill ? predict_apart
         : serves      ? predict_serve
                       : predict_held)(plan, options, arena, out, err));
    if (out->time.overflows)
        prepend_notes(&untimed, 1, arena, out);
    if (options->fixes)
        find_fixes(plan, options, arena, out);
    return STATUS_OK;
}

enum status predict(const struct plan *plan, const struct predict_options *options,
                    struct arena *arena, struct prediction *out, struct err *err)
{
    struct rows_known known = {0};
    struct predict_options joined = *options;
    joined.known = &known;
    enum status status = predict_known(plan, &joined, arena, out, err);
    rows_known_release(&known);
    return status;
}
