/* The pool of an engine's cache; see serving.h. Source: engines.md 1.2 to 1.4 (vLLM
 * v1/worker/gpu_worker.py, v1/core/kv_cache_utils.py), 2.2 (SGLang
 * mem_cache/kv_cache_configurator.py), 3 (TensorRT-LLM _torch/pyexecutor/_util.py). */
#include "sim/serve/serving.h"

#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "sim/memory/memory.h"
#include "sim/serve/serving_cache.h"
#include "sim/memory/verdict.h"
#include "work/list/work.h"

/* A stage's profile run, and the list it is one of. */
struct run {
    const struct plan *plan; /* of the profile run */
    double fraction;         /* of the plan that it is for */
    struct work work;
    struct slots slots;
    uint64_t *values;
};

/* Tokens of a rank that low-latency buffers are made for: what the engine sets, more when a
 * decode step has more, of which ranks that split a batch's tokens send their share. */
static uint64_t dispatch_tokens(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    uint64_t step =
        ceil_div(w->micro_batch * w->tokens_per_sequence, plan_sequence_ranks(plan));
    uint64_t least = plan->moe.dispatch_tokens ? plan->moe.dispatch_tokens
                                               : engine_release(plan)->low_latency_tokens;
    return least && least < step ? step : least;
}

/* The plan whose step sizes the pool: all tokens a step may have in one batch, which vLLM runs
 * as a dummy before its cache is there; TensorRT-LLM serves dummy prompts, and SGLang's formula
 * stands for a prefill chunk. */
static struct plan profile_of(const struct plan *plan)
{
    struct plan profile = *plan;
    struct workload *w = &profile.workload;
    w->max_num_seqs = engine_sequences(plan);
    w->context_length = engine_longest(plan);
    w->sequence_length = engine_tokens(plan);
    w->max_num_batched_tokens = w->sequence_length;
    if (plan->stack.kind == STACK_VLLM) /* each of its own: v1/worker/gpu/model_runner.py 0.33,
                                           _dummy_run of max_num_tokens */
        w->sequence_length *= engine_prompt_ranks(plan);
    w->micro_batch = 1;
    w->mode = MODE_PREFILL;
    if (plan->workload.mode == MODE_DECODE)
        profile.moe.dispatch_tokens = dispatch_tokens(plan);
    if (engine_release(plan)->pool == POOL_OF_DEVICE)
        w->scenario = SCENARIO_PROFILE_RUN;
    return profile;
}

/* ---- the cache ---- */

/* Tokens that steps under way may hold beside a window: a step's, and since releases that plan
 * one ahead of it those of all batches in flight (vLLM config/vllm.py, max_concurrent_batches:
 * of the first runner stages, or two batches of one). */
static uint64_t in_flight(const struct plan *plan, uint64_t step)
{
    const struct engine_release *release = engine_release(plan);
    uint64_t stages = greater(plan->parallel.pp, 1);
    bool ahead = release->plans_ahead && (release->second_runner || stages == 1);
    return step * (ahead ? stages + 1 : release->plans_ahead ? stages : 1);
}

/* As the engine's log counts them: of one group, or by the longest sequence, as do all releases
 * that have DeepSeek-V4. */
static uint64_t count_tokens(const struct plan *plan, const struct cache_groups *groups,
                             const struct serving_report *r, uint64_t each)
{
    if ((!engine_release(plan)->counts_longest && !groups->n_slides) || !each)
        return groups->n ? r->cache_blocks / groups->n * cache_groups_span(plan, groups) : 0;
    return (uint64_t)((double)r->cache_blocks / (double)each * (double)r->context_tokens);
}

/* How many sequences of so many blocks, those of a common prefix there once. */
static uint64_t holds(const struct plan *plan, const struct serving_report *r, uint64_t blocks,
                      uint64_t each, uint64_t shared)
{
    uint64_t n = blocks / (each > shared ? each - shared : 1);
    return r->state_slots ? lesser(n, r->state_slots / engine_state_copies(plan)) : n;
}

/* Those that run at once. A layer with a window frees what has left it (v1/core/
 * single_type_kv_cache_manager.py, remove_skipped_blocks): past its prompt a sequence holds a
 * window there and its own steps under way. What the log counts of every sequence, room for a
 * chunk of a prompt (max_admission_blocks_per_request), only the one that is let in next needs.
 */
static void count_running(const struct plan *plan, const struct cache_groups *groups,
                          uint64_t usable, uint64_t admitted, uint64_t shared,
                          struct serving_report *r)
{
    uint64_t step = in_flight(plan, 1 + plan->workload.speculation.tokens);
    uint64_t each = cache_groups_blocks(plan, groups, r->context_tokens, step);
    uint64_t own = remaining(r->context_tokens, plan->workload.shared_prefix);
    r->running = r->sequences;
    r->running_tokens = r->cache_tokens;
    if (each >= admitted || !r->sequences)
        return;
    usable = remaining(usable, admitted - each);
    r->running = holds(plan, r, usable, each, shared);
    r->running_tokens = plan->workload.shared_prefix + r->running * own;
}

/* The longest sequence that so many blocks hold, of less than the context, none of which they
 * do: by halves, as vLLM looks for it (v1/core/kv_cache_utils.py,
 * _estimate_max_model_len_from_groups). */
static uint64_t longest_held(const struct plan *plan, const struct cache_groups *groups,
                             const struct serving_report *r, uint64_t usable, uint64_t flight)
{
    uint64_t least = 0, most = r->context_tokens;
    while (most > least + 1) {
        uint64_t tried = least + (most - least) / 2;
        bool held = cache_groups_blocks(plan, groups, tried, flight) <= usable;
        *(held ? &least : &most) = tried;
    }
    return least;
}

/* Sequences of the context that the blocks hold. */
static void count_sequences(const struct plan *plan, const struct cache_groups *groups,
                            struct serving_report *r)
{
    uint64_t flight = in_flight(plan, engine_tokens(plan));
    uint64_t each = cache_groups_blocks(plan, groups, r->context_tokens, flight);
    uint64_t span = cache_groups_span(plan, groups) * groups->times[MIXER_FULL];
    uint64_t shared = plan->workload.shared_prefix / span * groups->groups[MIXER_FULL];
    shared = shared < each ? shared : each;
    bool null = engine_release(plan)->pool == POOL_OF_DEVICE; /* vLLM: a block for no token */
    uint64_t usable = r->cache_blocks > null ? r->cache_blocks - null : 0;
    bool overflow = false;
    r->beyond_bytes = checked_mul(remaining(usable, each), groups->block_bytes, &overflow);
    r->longest_tokens =
        each > usable ? longest_held(plan, groups, r, usable, flight) : r->context_tokens;
    usable = remaining(usable, shared);
    r->sequences = holds(plan, r, usable, each, shared);
    r->cache_tokens = count_tokens(plan, groups, r, each);
    count_running(plan, groups, usable, each, shared, r);
}

/* vLLM's num_gpu_blocks_override stands in place of what fits (v1/core/kv_cache_utils.py,
 * may_override_num_blocks); SGLang's max_total_tokens and TensorRT-LLM's max_tokens are what
 * the pool holds at most (mem_cache/kv_cache_configurator.py; _torch/pyexecutor/_util.py). */
static void limit_blocks(const struct plan *plan, const struct cache_groups *groups,
                         struct serving_report *r)
{
    uint64_t blocks = r->cache_blocks, most = plan->memory.cache_tokens;
    bool overflow = false;
    if (plan->memory.cache_blocks)
        blocks = plan->memory.cache_blocks;
    if (most && r->block_tokens)
        blocks = lesser(
            blocks, checked_mul(most / cache_groups_span(plan, groups), groups->n, &overflow));
    if (blocks == r->cache_blocks)
        return;
    r->given = true;
    r->cache_blocks = blocks;
    r->cache_bytes = checked_mul(blocks, groups->block_bytes, &overflow);
}

void serving_count(const struct plan *plan, const struct slots *slots, struct serving_report *r)
{
    struct cache_groups groups;
    cache_groups_of(plan, slots, &groups);
    r->block_tokens = groups.block_tokens;
    r->cache_blocks = groups.block_bytes ? r->cache_bytes / groups.block_bytes : 0;
    limit_blocks(plan, &groups, r);
    count_sequences(plan, &groups, r);
}

/* ---- the pool ---- */

/* SGLang shares its pool out between the states of recurrent layers and the KV cache
 * (mem_cache/kv_cache_configurator.py, _handle_max_mamba_cache): a slot that pads beside those
 * that it counts, and for each sequence that may run those that a draft's tokens pass through,
 * out of the same share. Without a radix cache as many as run where that is said. */
static uint64_t share_states(const struct plan *plan, uint64_t each, struct serving_report *r)
{
    const struct workload *w = &plan->workload;
    uint64_t copies = engine_state_copies(plan), said = engine_state_slots(plan);
    bool drafts = w->speculation.tokens && w->role != DUTY_PROMPTS, overflow = false;
    uint64_t drafted = drafts ? 1 + w->speculation.tokens : 0;
    double slots = engine_state_share(plan) * (double)r->cache_bytes / (double)each;
    double fit = (slots - (double)(1 + drafted)) / (1 + (double)drafted / (double)copies);
    uint64_t own = fit > 0 ? (uint64_t)fit : 0;
    if (plan->memory.state_copies == 1 && w->max_num_seqs)
        own = engine_sequences(plan);
    r->state_slots = said ? said : own;
    uint64_t running = lesser(engine_sequences(plan), r->state_slots / copies);
    uint64_t held = checked_add(r->state_slots + 1,
                                checked_mul(drafted, running + 1, &overflow), &overflow);
    return checked_mul(held, each, &overflow);
}

/* TensorRT-LLM takes those of a whole batch off first; so many sequences run as find their
 * states there. */
static void split_states(const struct plan *plan, const struct slots *slots,
                         struct serving_report *r)
{
    uint64_t each = cache_states_bytes(plan, slots), bytes;
    bool overflow = false;
    if (engine_release(plan)->pool == POOL_OF_DEVICE || !each)
        return;
    if (plan->stack.kind == STACK_SGLANG) {
        bytes = share_states(plan, each, r);
    } else {
        r->state_slots = engine_state_slots(plan);
        bytes = checked_mul(r->state_slots, each, &overflow);
    }
    r->state_bytes = lesser(bytes, r->cache_bytes);
    r->cache_bytes -= r->state_bytes;
}

/* SGLang's pool has no part of what open entries of those that run at once are kept in. */
static void split_open(const struct plan *plan, const struct slots *slots,
                       struct serving_report *r)
{
    uint64_t n = 0, bytes = cache_open_pool(plan, slots, &n);
    if (!bytes)
        return;
    r->state_slots = n;
    r->state_bytes = lesser(bytes, r->cache_bytes);
    r->cache_bytes -= r->state_bytes;
}

/* SGLang builds a module that drafts with an embedding and a head of its own, which make room
 * for the model's when the pool has its size (speculative/eagle_worker_v2.py of 0.5.23,
 * alloc_memory_pool and init_lm_head; issue 36452). */
static uint64_t dropped_bytes(const struct run *run)
{
    const struct speculation *s = &run->plan->workload.speculation;
    bool overflow = false;
    uint64_t sum = 0;
    if (!s->tokens || s->method != DRAFT_MTP)
        return 0;
    for (size_t i = 0; i < run->work.n_buffers; i++) {
        const struct buffer *b = &run->work.buffers[i];
        if (text_equal(b->name, "embedding_weights") || text_equal(b->name, "head_weights"))
            sum = checked_add(sum, run->values[b->all.node], &overflow);
    }
    return sum;
}

/* What the rule leaves to the cache of what is on the device; vLLM's kv_cache_memory_bytes
 * stands in place of it (v1/worker/gpu_worker.py, determine_available_memory). */
static void take_bytes(const struct run *run, struct serving_report *r)
{
    const struct plan *plan = run->plan;
    double fraction = run->fraction;
    uint64_t device = remaining(plan_rank_memory(plan), plan->memory.reserve_bytes);
    uint64_t held = r->weights_bytes + r->activation_bytes + r->outside_bytes, beside;
    switch (engine_release(plan)->pool) {
    case POOL_OF_DEVICE:
        r->requested_bytes = engine_requested(plan);
        r->cache_bytes = remaining(r->requested_bytes, held + r->graphs_bytes);
        return;
    case POOL_OF_FREE:
        r->requested_bytes = (uint64_t)(fraction * (double)remaining(device, r->outside_bytes));
        beside = dropped_bytes(run) + engine_sglang_image_bytes(plan);
        r->cache_bytes = remaining(r->requested_bytes, r->weights_bytes + beside);
        return;
    case POOL_OF_REST:
        r->requested_bytes = (uint64_t)(fraction * (double)device);
        r->cache_bytes = (uint64_t)(fraction * (double)remaining(device, held));
        return;
    }
}

/* In place of that, or of TensorRT-LLM the most of it (max_gpu_total_bytes). */
static void take_given(const struct plan *plan, struct serving_report *r)
{
    uint64_t given = plan->memory.cache_bytes;
    bool limits = engine_release(plan)->pool == POOL_OF_REST;
    r->given = given > 0 && !(limits && given >= r->cache_bytes);
    if (r->given)
        r->cache_bytes = given;
}

/* DeepEP's buffers come with the model (vLLM, TensorRT-LLM), or with the first step that
 * exchanges, behind the pool and out of what it leaves (SGLang's token_dispatcher/deepep.py,
 * _get_buffer, and its reserve for them: engines.md 2.1). */
static bool buffers_before_pool(const struct plan *plan)
{
    return engine_release(plan)->pool != POOL_OF_FREE;
}

static void take_pool(const struct run *run, const struct memory_peak *peak,
                      struct serving_report *r)
{
    r->weights_bytes = peak->state_bytes - peak->category[CATEGORY_KV_CACHE];
    uint64_t exchange = buffers_before_pool(run->plan) ? peak->outside_bytes : 0;
    r->activation_bytes = peak->temp_bytes - exchange;
    r->outside_bytes = exchange + engine_outside(run->plan);
    r->graphs_bytes = engine_graphs(run->plan);
    take_bytes(run, r);
    split_states(run->plan, &run->slots, r);
    split_open(run->plan, &run->slots, r);
    take_given(run->plan, r);
    serving_count(run->plan, &run->slots, r);
}

int64_t serving_spare(const struct plan *plan, const struct serving_report *r)
{
    if (engine_release(plan)->pool != POOL_OF_FREE)
        return 0;
    uint64_t held = r->weights_bytes + r->cache_bytes + r->state_bytes + r->outside_bytes +
                    r->activation_bytes;
    return (int64_t)plan_rank_memory(plan) - (int64_t)held;
}

uint64_t serving_host_bytes(const struct plan *plan, const struct serving_report *r)
{
    const struct memory *m = &plan->memory;
    bool ratio = plan->stack.kind == STACK_SGLANG;
    if (!r->present)
        return 0;
    double bytes = ratio ? m->host_cache_ratio * (double)r->cache_bytes : 0;
    return m->host_cache_bytes ? m->host_cache_bytes : (uint64_t)bytes;
}

/* One stage at the heaviest moment of its schedule; false when a size overflows. */
static bool take_stage(struct run *run, uint64_t stage, struct serving_report *r)
{
    struct memory_peak peak;
    slots_set_stage(run->plan, stage, 0, &run->slots);
    if (!sizes_eval(&run->work.sizes, &run->slots, run->values))
        return false;
    memory_fold(&run->work, run->values, 0, &peak);
    memory_explain(&run->work, run->values, 0, &peak);
    r->stage = stage + 1;
    take_pool(run, &peak, r);
    return true;
}

enum status serving_of(const struct plan *plan, struct arena *arena, struct serving_report *out,
                       struct err *err)
{
    struct err refused = {0};
    *out = (struct serving_report){0};
    if (plan->workload.mode == MODE_TRAIN || !plan_is_engine(plan))
        return STATUS_OK;
    struct plan profile = profile_of(plan);
    struct run run = {.plan = &profile, .fraction = engine_fraction(plan)};
    if (work_build(&profile, arena, &run.work, &refused) != STATUS_OK)
        return STATUS_OK;
    slots_from_plan(&profile, &run.slots);
    run.values = arena_alloc(arena, run.work.sizes.n, sizeof *run.values);
    uint64_t first = plan->parallel.stage ? plan->parallel.stage - 1 : 0;
    for (uint64_t i = 0; i < verdict_n_stages(plan); i++) {
        struct serving_report one = {.present = true,
                                     .context_tokens = engine_context(plan),
                                     .batched_tokens = engine_tokens(plan),
                                     .max_sequences = engine_sequences(plan)};
        if (!take_stage(&run, first + i, &one))
            return err_set(err, STATUS_INPUT, "a size of the profile run overflows 64 bits");
        if (!out->present || one.cache_blocks < out->cache_blocks)
            *out = one;
    }
    return STATUS_OK;
}
