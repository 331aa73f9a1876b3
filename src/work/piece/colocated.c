/* Models beside the one that is trained; see work/stack/stack.h. Sources: verl (b178a3cd) and
 * vLLM's sleep mode, training-stacks.md 7: reference and reward models are plain 16-bit
 * weights; an engine that sleeps discards weights and cache, and takes both before it
 * generates, while the trainer keeps its state on the device. A critic's states stay there
 * while the actor steps, as the actor's do while it steps. */
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

/* Of a model that waits for its turn: FSDP and DeepSpeed free gradients behind a step, Megatron
 * keeps its buffers of them. */
static void add_critic(const struct plan *plan, struct work *work)
{
    const struct precision *p = &plan->precision;
    const struct shards weights = step_shards(plan, work, 3);
    const struct shards gradients = step_shards(plan, work, 2);
    const struct shards states = step_shards(plan, work, 1);
    uint64_t n = plan->workload.colocated.critic;
    const struct {
        const char *dense, *experts;
        struct shards of;
        enum category category;
        enum dtype dtype;
        uint64_t count;
    } rows[] = {
        {"critic_weights", "expert_critic_weights", weights, CATEGORY_WEIGHTS, p->weights, 1},
        {"critic_gradients", "expert_critic_gradients", gradients, CATEGORY_GRADIENTS,
         plan_is_megatron(plan) ? p->gradients : DTYPE_NONE, 1},
        {"critic_master", "expert_critic_master", states, CATEGORY_MASTER, p->master, 1},
        {"critic_moments", "expert_critic_moments", states, CATEGORY_OPTIMIZER, p->moments, 2},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows && n > 0; i++) {
        bool experts = i % 2 != 0;
        if (rows[i / 2].dtype != DTYPE_NONE)
            add(work, (struct buffer){
                          .name = experts ? rows[i / 2].experts : rows[i / 2].dense,
                          .category = rows[i / 2].category,
                          .dtype = rows[i / 2].dtype,
                          .dims = {experts ? rows[i / 2].of.experts : rows[i / 2].of.dense},
                          .count = size_const(&work->sizes, rows[i / 2].count * n),
                          .life = LIFE_PERSISTENT,
                          .state = true});
    }
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
    add_critic(plan, work);
    if (c->engine != ENGINE_NONE)
        add_engine(plan, work);
}
