/* Models beside the one that is trained; see work/stack/stack.h. Sources: verl (b178a3cd) and
 * vLLM's sleep mode, training-stacks.md 7: reference and reward models are plain 16-bit
 * weights; an engine that sleeps discards weights and cache, and takes both before it
 * generates, while the trainer keeps its state on the device. */
#include "base/checked.h"
#include "plan/derive.h"
#include "work/list/params.h"
#include "work/stack/stack.h"

enum { BYTES = 2 }; /* of a weight, frozen or the engine's */

static void add(struct work *work, struct buffer like)
{
    like.segment = SEGMENT_STEP;
    like.n_dims = 1;
    like.source = "training-stacks.md 7";
    work_buffer(work, like);
}

static void add_frozen(const struct plan *plan, struct work *work)
{
    const struct colocated *c = &plan->workload.colocated;
    struct sizes *z = &work->sizes;
    const struct shards own = step_shards(plan, work, 3);
    struct size others = size_const(z, c->parameters);
    if (plan->parallel.zero >= 3)
        others = size_ceil_div(z, others, step_sharers(plan, z).dense);
    const struct {
        const char *name;
        struct size elements;
        uint64_t count;
    } rows[] = {{"reference_weights", own.dense, c->reference},
                {"expert_reference_weights", own.experts, c->reference},
                {"frozen_weights", others, c->parameters > 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].count)
            add(work, (struct buffer){.name = rows[i].name,
                                      .category = CATEGORY_WEIGHTS,
                                      .dtype = DTYPE_BF16,
                                      .dims = {rows[i].elements},
                                      .count = size_const(z, rows[i].count),
                                      .life = LIFE_PERSISTENT,
                                      .state = true});
}

/* gpu_memory_utilization bounds weights and cache together. */
static void add_engine(const struct plan *plan, struct work *work)
{
    const struct colocated *c = &plan->workload.colocated;
    struct sizes *z = &work->sizes;
    struct params params;
    bool awake = c->engine == ENGINE_AWAKE;
    params_count(&plan->model, &params);
    uint64_t elements = ceil_div(params.parameters, c->tp);
    uint64_t takes = (uint64_t)(c->fraction * (double)plan_rank_memory(plan));
    bool overflow = false;
    uint64_t weights = checked_mul(elements, BYTES, &overflow);
    uint64_t cache = takes > weights ? takes - weights : 0;
    struct buffer like = {.life = awake ? LIFE_PERSISTENT : LIFE_TRANSIENT, .outside = true};
    if (!awake)
        like.first = like.last = work_tick(work, (struct tick){.name = "rollout",
                                                               .kind = OP_UPDATE,
                                                               .segment = SEGMENT_STEP,
                                                               .phase = PHASE_UPDATE});
    like.name = "engine_weights";
    like.category = CATEGORY_WEIGHTS;
    like.dtype = DTYPE_BF16;
    like.dims[0] = size_const(z, elements);
    add(work, like);
    like.name = "engine_cache";
    like.category = CATEGORY_KV_CACHE;
    like.dtype = DTYPE_INT8;
    like.dims[0] = size_const(z, cache);
    add(work, like);
}

void step_colocated(const struct plan *plan, struct work *work)
{
    const struct colocated *c = &plan->workload.colocated;
    if (plan->workload.mode != MODE_TRAIN || plan->stack.kind == STACK_HOST)
        return;
    add_frozen(plan, work);
    if (c->engine != ENGINE_NONE)
        add_engine(plan, work);
}
