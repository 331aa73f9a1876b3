/* See drawn_plan.h. */
#include "support/drawn_plan.h"

#include <assert.h>

#include "base/rng.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/rule/rule.h"
#include "support/draws.h"
#include "support/shaped_plan.h"

bool drawn_is_quick(const struct plan *plan)
{
    return plan_experts_total(plan) <= 512 && plan->parallel.ep <= 64;
}

/* Zero over some of the data-parallel ranks: what dp and a power of two have in common. */
static void draw_shards(uint64_t seed, struct plan *plan)
{
    struct rng rng;
    uint64_t dp = plan_dp(plan), part = 1;
    rng_init(&rng, draws_seed(seed), 92, 0, 0, 0);
    plan->parallel.zero = 1 + rng_below(&rng, 3);
    for (uint64_t n = rng_below(&rng, 5); n > 0 && dp % (2 * part) == 0; n--)
        part *= 2;
    plan->parallel.dp_shard = part;
}

bool drawn_has_mode(enum stack_kind stack, enum mode mode)
{
    const struct plan plan = {.stack.kind = stack};
    bool trains_only = stack == STACK_MAXTEXT || stack == STACK_MEGATRON ||
                       stack == STACK_PRIMUS || stack == STACK_TORCHTITAN ||
                       stack == STACK_FSDP || stack == STACK_DEEPSPEED;
    return mode == MODE_TRAIN ? !plan_is_engine(&plan) : !trains_only;
}

/* All stacks, 9 seeds each, in the modes that they have: what follows goes by the seed's rest
 * of 3 and of 5. */
static void draw_built(uint64_t seed, uint64_t number, struct plan *plan)
{
    enum stack_kind stack = (enum stack_kind)(seed / 9 % STACK_COUNT);
    enum mode mode = (enum mode)(seed / 3 % 3);
    if (!drawn_has_mode(stack, mode))
        mode = mode == MODE_TRAIN ? (seed % 2 ? MODE_PREFILL : MODE_DECODE) : MODE_TRAIN;
    bool built = plan_built(plan, stack, mode, number);
    assert(built);
    (void)built;
}

static void draw_once(uint64_t seed, uint64_t number, struct plan *plan)
{
    draw_built(seed, number, plan);
    if (plan->workload.sequence_length > 64)
        plan->workload.sequence_length = 64;
    if (plan->workload.micro_batch > 4)
        plan->workload.micro_batch = 4;
    plan->moe.routing.distribution = DISTRIBUTION_UNIFORM; /* others take seconds to prepare */
    plan->workload.scenario = SCENARIO_STEADY;
    if (plan->moe.routing.placement == PLACEMENT_EPLB)
        plan->moe.routing.placement = PLACEMENT_STRIDED;
    plan->block.kind = BLOCK_MOE;
    if (seed % 3 == 0)
        draw_shards(seed, plan);
    if (seed % 5 == 0 && plan->workload.mode == MODE_TRAIN) {
        plan->lora.rank = 8;
        plan->precision.weights = seed % 10 ? DTYPE_BF16 : DTYPE_NF4;
    }
}

/* Again where what is fixed above breaks a rule, or routing takes seconds. */
void drawn_plan(uint64_t seed, uint64_t n_seeds, struct plan *plan)
{
    enum { TRIES = 8 };
    char text[RULE_TEXT], hint[RULE_TEXT];
    uint64_t tries = 0;
    do
        draw_once(seed, seed + tries++ * n_seeds, plan);
    while (tries < TRIES && (!drawn_is_quick(plan) || rule_check(plan, text, hint)));
}
