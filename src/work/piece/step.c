/* State and segments that every training stack shares; see work/stack/stack.h. */
#include "work/list/dtype.h"
#include "work/stack/stack.h"

/* Ranks that hold a copy: all of the stage's ranks for dense parameters, edp for experts. A
 * shard is the ceiling of the even part. */
struct shards step_shards(const struct plan *plan, struct work *work, unsigned from_zero)
{
    struct sizes *z = &work->sizes;
    struct shards shards = {size_slot(z, SLOT_DENSE_PARAMETERS),
                            size_slot(z, SLOT_EXPERT_PARAMETERS)};
    if (plan->parallel.zero < from_zero)
        return shards;
    struct size copies = size_mul(z, size_slot(z, SLOT_DP), size_slot(z, SLOT_CP));
    shards.dense = size_ceil_div(z, shards.dense, copies);
    shards.experts = size_ceil_div(z, shards.experts, size_slot(z, SLOT_EXPERT_DP));
    return shards;
}

static void state_pair(const struct plan *plan, struct work *work, const char *const names[2],
                       enum category category, enum dtype dtype, unsigned from_zero,
                       uint64_t count)
{
    if (dtype == DTYPE_NONE)
        return;
    struct shards shards = step_shards(plan, work, from_zero);
    struct size sizes[2] = {shards.dense, shards.experts};
    for (unsigned i = 0; i < 2; i++)
        work_buffer(work, (struct buffer){.name = names[i],
                                          .category = category,
                                          .segment = SEGMENT_STEP,
                                          .dtype = dtype,
                                          .n_dims = 1,
                                          .dims = {sizes[i]},
                                          .count = size_const(&work->sizes, count),
                                          .life = LIFE_PERSISTENT,
                                          .state = true});
}

void step_state(const struct plan *plan, struct work *work, bool gradients_persist)
{
    static const char *const weights[] = {"weights", "expert_weights"};
    static const char *const gradients[] = {"gradients", "expert_gradients"};
    static const char *const master[] = {"master_weights", "expert_master_weights"};
    static const char *const moments[] = {"adam_moments", "expert_adam_moments"};
    const struct precision *p = &plan->precision;
    bool training = plan->workload.mode == MODE_TRAIN;
    state_pair(plan, work, weights, CATEGORY_WEIGHTS, p->weights, 3, 1);
    if (!training)
        return;
    if (gradients_persist)
        state_pair(plan, work, gradients, CATEGORY_GRADIENTS, p->gradients, 2, 1);
    state_pair(plan, work, master, CATEGORY_MASTER, p->master, 1, 1);
    state_pair(plan, work, moments, CATEGORY_OPTIMIZER, p->moments, 1, 2);
}

void step_segments(struct work *work)
{
    static const struct {
        enum segment segment;
        enum slot repeat, in_flight;
    } uses[] = {
        {SEGMENT_DENSE, SLOT_STAGE_DENSE_LAYERS, SLOT_DENSE_IN_FLIGHT},
        {SEGMENT_MOE, SLOT_STAGE_MOE_LAYERS, SLOT_MOE_IN_FLIGHT},
        {SEGMENT_HEAD, SLOT_STAGE_HEAD, SLOT_HEAD_IN_FLIGHT},
    };
    struct sizes *z = &work->sizes;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        work->use[uses[i].segment] =
            (struct segment_use){size_slot(z, uses[i].repeat), size_slot(z, uses[i].in_flight)};
    work->use[SEGMENT_EMBED].repeat = size_slot(z, SLOT_STAGE_EMBEDDING);
}
