/* See halves.h. */
#include "plan/halves.h"

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"

bool plan_asks_halves(const struct plan *plan)
{
    bool engine = plan->stack.kind == STACK_SGLANG || plan->stack.kind == STACK_VLLM;
    return engine && plan->moe.overlap && plan->workload.mode != MODE_TRAIN &&
           plan->parallel.ep > 1 && plan_has_moe(plan);
}

bool plan_may_halve(const struct plan *plan)
{
    enum mode mode = plan->workload.mode;
    bool slots = engine_sends_slots(plan), sends = engine_sends_tokens(plan) || slots;
    if (!plan_asks_halves(plan) || !sends || (mode != MODE_DECODE && mode != MODE_PREFILL))
        return false;
    if (plan->stack.kind == STACK_SGLANG) /* prompts by low latency are not split */
        return !slots || mode == MODE_DECODE;
    return plan_engine_replicas(plan) > 1; /* ranks agree by data parallelism's group */
}

/* Prompts of the first half where as many whole ones are near enough to half of the tokens; 0:
 * tokens are cut in the middle. */
static uint64_t whole_prompts(const struct plan *plan)
{
    uint64_t all = plan->workload.micro_batch, left = (all + 1) / 2;
    double threshold = plan->moe.overlap_balance, share = (double)left / (double)all;
    if (all % 2 == 0)
        return all / 2;
    bool cut = plan->stack.kind == STACK_VLLM || all < 2 || share > 1 - threshold;
    return cut ? 0 : left;
}

bool plan_is_halved(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    bool overflow = false, decodes = w->mode == MODE_DECODE;
    uint64_t tokens = checked_mul(w->micro_batch, plan_sequence_tokens(plan), &overflow);
    if (!plan_may_halve(plan) || overflow)
        return false;
    if (plan->stack.kind == STACK_VLLM)
        return tokens >= 2 && w->micro_batch >= (decodes ? 2 : 1) &&
               tokens >= (decodes ? plan->moe.overlap_decode : plan->moe.overlap_prefill);
    if (decodes) /* an empty half hides nothing */
        return w->micro_batch >= 2;
    return tokens >= 2 && (w->micro_batch > 1 || plan->moe.overlap_balance > 0);
}

bool plan_overlaps_single(const struct plan *plan)
{
    return plan->stack.kind == STACK_SGLANG && plan->moe.overlap_single && !plan->moe.overlap &&
           plan->workload.mode == MODE_DECODE && plan_has_moe(plan) && engine_sends_slots(plan);
}

bool plan_halves_layer(const struct plan *plan, bool experts)
{
    return experts || plan->stack.kind == STACK_VLLM;
}

void plan_half(const struct plan *plan, unsigned half, struct plan *out)
{
    struct workload *w = &out->workload;
    *out = *plan;
    out->moe.overlap = false;
    if (w->mode == MODE_DECODE) {
        w->micro_batch = half ? w->micro_batch - w->micro_batch / 2 : w->micro_batch / 2;
        return;
    }
    uint64_t left = whole_prompts(plan);
    if (left)
        w->micro_batch = half ? w->micro_batch - left : left;
    else
        w->sequence_length =
            round_up(ceil_div(w->sequence_length, 2), plan_sequence_ranks(plan));
}

uint64_t plan_half_sms(const struct plan *plan)
{
    bool sglang = plan->stack.kind == STACK_SGLANG;
    bool limits = sglang ? plan->workload.mode == MODE_PREFILL : engine_sends_tokens(plan);
    bool cuda = plan_generation(plan) != GENERATION_GFX942;
    return limits && cuda ? plan->moe.dispatch_sms : 0;
}
