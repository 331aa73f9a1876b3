/* What an update makes beside the state; see state.h. Sources: training-stacks.md 1 and 2, with
 * the files named there. */
#include "plan/derive.h"
#include "plan/frozen.h"
#include "work/piece/state_parts.h"

enum { DEEPSPEED_SUB_GROUP = 1000000000 }; /* elements; sub_group_size, unless it is given */

/* Graphs of a whole step keep the memory of forward and backward for good, so that the update
 * cannot take it. */
static void make_in(struct state *s, struct state_names names, struct shards shards,
                    enum category category, enum dtype dtype, uint64_t count,
                    const char *source)
{
    bool apart = s->plan->stack.graphs == GRAPHS_FULL && plan_is_megatron(s->plan);
    if (count)
        state_add_pair(s, names, shards,
                       (struct buffer){.category = category,
                                       .dtype = dtype,
                                       .count = size_const(s->z, count),
                                       .life = apart ? LIFE_PERSISTENT : LIFE_TRANSIENT,
                                       .first = s->tick,
                                       .last = s->tick,
                                       .source = source});
}

static void make(struct state *s, struct state_names names, struct shards shards,
                 enum category category, uint64_t count, const char *source)
{
    make_in(s, names, shards, category, DTYPE_F32, count, source);
}

/* TransformerEngine's FusedAdam casts every state that is not f32, unless both moments are
 * bf16: those its kernel reads as they are. */
static uint64_t cast_states(const struct plan *plan)
{
    enum dtype first = plan->precision.moments, second = state_moment2(plan);
    bool megatron = plan_is_megatron(plan);
    if (!megatron || state_offloads(plan) || plan->optimizer.kind != OPTIMIZER_ADAM ||
        (first == DTYPE_BF16 && second == DTYPE_BF16))
        return 0;
    uint64_t n = first != DTYPE_F32;
    n += second != DTYPE_F32;
    return n + (plan->precision.master == DTYPE_F16);
}

/* Megatron casts 16-bit gradients before it clips them, dense and experts together, and drops
 * the copy with the next step's zero_grad (distrib_optimizer.py,
 * _copy_model_grads_to_main_grads). DeepSpeed casts the partition of a group, and frees the
 * 16-bit one afterwards (stage_1_and_2.py); under stage 3 at most 1e9 elements at a time. */
static bool casts_gradients(const struct plan *plan)
{
    bool megatron = plan_is_megatron(plan);
    bool deepspeed = plan->stack.kind == STACK_DEEPSPEED && !state_offloads(plan);
    bool copies = plan_trains_one_layer(plan); /* badam/block_optim.py, _grad_to_hp */
    return (megatron || deepspeed || copies) && !state_is_native(plan) &&
           plan->precision.master != DTYPE_NONE && plan->precision.gradients != DTYPE_F32;
}

/* sqrt(v) is made in v's format, and added to and divided in place (torch dc80ccded538
 * optim/adam.py, _multi_tensor_adam; 2.0 made a second list for the sum). */
static enum dtype format_of_lists(const struct plan *plan)
{
    enum dtype second = state_moment2(plan);
    return second == DTYPE_BF16 || second == DTYPE_F16 ? second : DTYPE_F32;
}

void step_optimizer(const struct plan *plan, struct work *work)
{
    struct state s = {.plan = plan, .work = work, .z = &work->sizes};
    bool lists = !plan_is_megatron(plan) && plan->optimizer.step == STEP_FOREACH &&
                 !plan_steps_in_backward(plan); /* an optimizer for each parameter */
    uint64_t cast = cast_states(plan);
    if (!cast && !lists && !casts_gradients(plan))
        return;
    s.tick = work_tick(work, (struct tick){.name = "optimizer",
                                           .kind = OP_UPDATE,
                                           .segment = SEGMENT_STEP,
                                           .phase = PHASE_UPDATE});
    struct shards shards = state_with_gradients(plan, work, 1);
    if (plan->stack.kind == STACK_DEEPSPEED && plan->parallel.zero >= 3) {
        uint64_t most = plan->optimizer.sub_group;
        struct size group = size_const(s.z, most ? most : DEEPSPEED_SUB_GROUP);
        shards.dense = size_min(s.z, shards.dense, group);
        shards.experts = size_min(s.z, shards.experts, size_sub(s.z, group, shards.dense));
    }
    make(&s, STATE_NAMES("f32_gradients"), shards, CATEGORY_GRADIENTS, casts_gradients(plan),
         "training-stacks.md 2");
    make(&s, STATE_NAMES("f32_moments"), shards, CATEGORY_OPTIMIZER, cast,
         "TransformerEngine FusedAdam");
    make_in(&s, STATE_NAMES("foreach_lists"), shards, CATEGORY_OPTIMIZER, format_of_lists(plan),
            lists, "torch.optim foreach: sqrt(v), which becomes the denominator");
}
