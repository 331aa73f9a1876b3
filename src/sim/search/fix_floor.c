/* What no layout goes below: the state of a training step, shared out evenly over all ranks. A
 * plan whose state is too large even so is not tried in a thousand layouts; see fix_parts.h. */
#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "sim/memory/verdict.h"
#include "sim/search/fix_parts.h"

/* Bytes that the shares of a rank's dozen buffers are rounded up by. */
enum { ROUNDING = 4096 };

/* Every parameter once over all ranks: tensors, experts, stages and replicas can share it out
 * over so many at most, and the fullest of them has no less than the mean. */
static uint64_t spread_bytes(struct fix_search *search, const struct plan *plan)
{
    struct plan even = *plan;
    struct parallel *p = &even.parallel;
    p->tp = p->pp = p->vpp = p->cp = p->ep = p->etp = 1;
    p->zero = 3;
    p->dp = p->dp_shard = p->outer_zero = p->hpz_shard = p->stages.n = 0;
    p->layout[0] = '\0';
    even.precision.keep_transpose = false; /* of what stage 3 gathers, on top */
    return fix_state_bytes(search, &even);
}

/* Where the state is that of one stage, beside it are models with layouts of their own, or its
 * optimizer has no shares, nothing is known; engines, whose replicas share networks out, do not
 * train. */
static bool has_floor(const struct plan *plan)
{
    const struct colocated *c = &plan->workload.colocated;
    bool beside = c->engine != ENGINE_NONE || c->reference || c->critic ||
                  c->critic_parameters || c->average || c->parameters || c->sequences;
    return plan->workload.mode == MODE_TRAIN && !plan_is_engine(plan) &&
           !plan->parallel.stage && !beside && !plan_steps_whole(plan);
}

/* The moves that are none of the layout are all made that leave less: each is of another part
 * of the state. */
bool fix_is_hopeless(struct fix_search *search, const struct plan *plan,
                     const struct fix_moves *moves, bool numerics)
{
    struct plan best = *plan, changed;
    uint64_t least = has_floor(plan) ? spread_bytes(search, plan) : 0;
    uint64_t limit = verdict_limit(plan);
    for (size_t i = 0; i < moves->n && least > limit + ROUNDING; i++) {
        const struct fix_move *move = &moves->list[i];
        if (text_starts(move->key, "parallel.") || (!numerics && move->kind == FIX_NUMERICS) ||
            !fix_apply(&best, move, 1, &changed))
            continue;
        uint64_t bytes = spread_bytes(search, &changed), room = verdict_limit(&changed);
        limit = room > limit ? room : limit;
        if (bytes >= least)
            continue;
        least = bytes;
        best = changed;
    }
    return least > limit + ROUNDING;
}
