/* See run_shrink.h. */
#include "calib/run/run_shrink.h"

#include <inttypes.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/derive.h"
#include "plan/rule/rule.h"

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void set(uint64_t *value, uint64_t to, const char *name, struct text *how)
{
    if (*value == to)
        return;
    text_printf(how, "%s%s %" PRIu64 " -> %" PRIu64, how->length ? ", " : "", name, *value, to);
    *value = to;
}

static void shrink_ranks(struct plan *plan, uint64_t n, struct text *how)
{
    struct model_moe *moe = &plan->model.moe;
    struct router *router = &moe->router;
    uint64_t by = gcd(plan->parallel.ep, n);
    if (moe->experts % by)
        by = 1;
    set(&plan->parallel.ep, plan->parallel.ep / by, "ep", how);
    set(&moe->experts, moe->experts / by, "experts", how);
    uint64_t redundant = plan->moe.redundant_experts;
    set(&plan->moe.redundant_experts, redundant % by ? 0 : redundant / by, "redundant experts",
        how);
    bool grouped = router->groups > 1 && moe->experts % router->groups == 0 &&
                   moe->experts / router->groups * router->top_groups >= moe->top_k;
    if (router->groups > 1 && !grouped) {
        set(&router->groups, 1, "router groups", how);
        router->top_groups = 1;
    }
    if (moe->top_k > moe->experts)
        set(&moe->top_k, moe->experts, "top_k", how);
}

static void shrink_tokens(struct plan *plan, uint64_t n, struct text *how)
{
    struct workload *w = &plan->workload;
    if (w->mode == MODE_DECODE)
        set(&w->micro_batch, ceil_div(w->micro_batch, n), "sequences", how);
    else
        set(&w->sequence_length,
            round_up(ceil_div(w->sequence_length, n), plan_sequence_ranks(plan)),
            "sequence_length", how);
    w->tokens_per_step = w->global_batch = 0;
}

enum status run_shrink(struct plan *plan, uint64_t n, struct arena *arena, const char **how,
                       struct err *err)
{
    struct text changes = {.arena = arena};
    char text[RULE_TEXT] = "", hint[RULE_TEXT] = "";
    if (n == 0)
        return err_set(err, STATUS_USAGE, "option '--shrink' takes a number from 1");
    if (plan->block.kind == BLOCK_MOE)
        shrink_ranks(plan, n, &changes);
    shrink_tokens(plan, n, &changes);
    *how = text_string(&changes);
    if (!rule_check(plan, text, hint))
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "the plan divided by %" PRIu64 " breaks a rule: %s", n, text);
    return err_hint(err, "%s", hint);
}
