/* The pool of an engine's cache; see serving.h. Source: engines.md 1.2 to 1.4 (vLLM
 * v1/worker/gpu_worker.py, v1/core/kv_cache_utils.py). */
#include "sim/serving.h"

#include <math.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "sim/memory.h"
#include "sim/verdict.h"
#include "work/list/dtype.h"
#include "work/list/work.h"

/* A stage's profile run, and the list it is one of. */
struct run {
    const struct plan *plan; /* of the profile run */
    struct work work;
    struct slots slots;
    uint64_t *values;
};

/* The plan whose step is the engine's dummy run: one batch of all tokens a step may have. */
static struct plan profile_of(const struct plan *plan)
{
    struct plan profile = *plan;
    struct workload *w = &profile.workload;
    w->max_num_seqs = engine_sequences(plan);
    w->context_length = engine_context(plan);
    w->sequence_length = engine_tokens(plan);
    w->max_num_batched_tokens = w->sequence_length;
    w->micro_batch = 1;
    w->mode = MODE_PREFILL;
    w->scenario = SCENARIO_PROFILE_RUN;
    return profile;
}

/* ---- the cache ---- */

/* Keys and values of one token in one layer of a tensor-parallel rank. */
static uint64_t token_bytes(const struct plan *plan)
{
    const struct attention *a = &plan->model.attention;
    uint64_t heads = ceil_div(a->kv_heads, plan->parallel.tp);
    uint64_t width = a->kind == ATTENTION_MLA ? a->kv_lora_rank + a->qk_rope_head_dim
                                              : 2 * heads * a->head_dim;
    return width * dtype_bits(plan->precision.kv_cache) / 8;
}

/* Blocks of one sequence; whole blocks of the common prefix are there once. */
static void count_sequences(const struct plan *plan, struct serving_report *r)
{
    uint64_t each = ceil_div(r->context_tokens, r->block_tokens);
    uint64_t shared = plan->workload.shared_prefix / r->block_tokens;
    shared = shared < each ? shared : each;
    uint64_t usable = r->cache_blocks ? r->cache_blocks - 1 : 0; /* one is the null block */
    usable = usable > shared ? usable - shared : 0;
    r->sequences = usable / (each > shared ? each - shared : 1);
}

/* ---- the pool ---- */

static uint64_t requested(const struct plan *plan)
{
    const struct engine_release *release = engine_release(plan);
    double fraction = plan->memory.fraction > 0 ? plan->memory.fraction : plan->stack.fraction;
    double bytes = fraction * (double)verdict_capacity(plan);
    uint64_t reserve = plan->memory.reserve_bytes;
    uint64_t all = (uint64_t)(release->charges_graphs ? ceil(bytes) : bytes);
    return all > reserve ? all - reserve : 0;
}

/* The graphs' own estimate cannot be derived: the reserve that the stack's file measured. */
static uint64_t graphs(const struct plan *plan)
{
    bool charged = engine_release(plan)->charges_graphs && plan->stack.graphs != GRAPHS_NONE;
    return charged ? plan->stack.reserve_bytes : 0;
}

static void take_pool(const struct run *run, const struct memory_peak *peak,
                      struct serving_report *r)
{
    const struct engine_release *release = engine_release(run->plan);
    uint64_t layers =
        run->slots.value[SLOT_STAGE_DENSE_LAYERS] + run->slots.value[SLOT_STAGE_MOE_LAYERS];
    r->requested_bytes = requested(run->plan);
    r->weights_bytes = peak->state_bytes;
    r->activation_bytes = peak->temp_bytes - peak->outside_bytes;
    r->outside_bytes = peak->outside_bytes + release->outside_bytes[run->plan->parallel.tp > 1];
    r->graphs_bytes = graphs(run->plan);
    uint64_t held = r->weights_bytes + r->activation_bytes + r->outside_bytes + r->graphs_bytes;
    r->cache_bytes = r->requested_bytes > held ? r->requested_bytes - held : 0;
    uint64_t block = token_bytes(run->plan) * r->block_tokens * layers;
    r->cache_blocks = block ? r->cache_bytes / block : 0;
    r->cache_tokens = r->cache_blocks * r->block_tokens;
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
    if (plan->workload.mode == MODE_TRAIN || plan->stack.kind != STACK_VLLM)
        return STATUS_OK;
    struct plan profile = profile_of(plan);
    struct run run = {.plan = &profile};
    if (work_build(&profile, arena, &run.work, &refused) != STATUS_OK)
        return STATUS_OK;
    slots_from_plan(&profile, &run.slots);
    run.values = arena_alloc(arena, run.work.sizes.n, sizeof *run.values);
    uint64_t first = plan->parallel.stage ? plan->parallel.stage - 1 : 0;
    for (uint64_t i = 0; i < verdict_n_stages(plan); i++) {
        struct serving_report one = {.present = true,
                                     .block_tokens = engine_cache_block(plan),
                                     .context_tokens = engine_context(plan),
                                     .batched_tokens = engine_tokens(plan),
                                     .max_sequences = engine_sequences(plan)};
        if (!take_stage(&run, first + i, &one))
            return err_set(err, STATUS_INPUT, "a size of the profile run overflows 64 bits");
        if (!out->present || one.cache_blocks < out->cache_blocks)
            *out = one;
    }
    count_sequences(plan, out);
    return STATUS_OK;
}
