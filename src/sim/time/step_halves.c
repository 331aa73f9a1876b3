/* See step_halves.h. */
#include "sim/time/step_halves.h"

#include <math.h>
#include <string.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/halves.h"
#include "sim/time/halves.h"
#include "work/stack/stack.h"

bool step_halves_run(const struct stepper *s, enum segment segment)
{
    bool layer = segment_is_layer(segment) || segment == SEGMENT_EMBED;
    return s->halves && layer && plan_halves_layer(&s->plan, segment_has_experts(segment));
}

void step_halves_take(struct stepper *s)
{
    size_t n = s->work.n_ops + 1;
    s->half_values = NULL;
    if (!plan_may_halve(&s->plan) && !plan_overlaps_single(&s->plan))
        return;
    s->half_s[0] = arena_take(s->arena, 2 * n, sizeof *s->half_s[0]);
    s->half_s[1] = s->half_s[0] + n;
    s->half_link_s = arena_take(s->arena, n, sizeof *s->half_link_s);
    s->half_values = arena_take(s->arena, s->work.sizes.n, sizeof *s->half_values);
    s->half_item = arena_take(s->arena, n, sizeof *s->half_item);
}

/* ---- prices ---- */

static uint64_t share_of(uint64_t whole, double share)
{
    return (uint64_t)ceil((double)whole * share);
}

/* Rows that fill up an expert's last tile are as many of fewer rows. */
static struct demand demand_of(const struct demand *whole, double share)
{
    struct demand half = *whole;
    half.rows = share_of(whole->rows, share);
    half.received = share_of(whole->received, share);
    half.padded = half.rows + (whole->padded - whole->rows);
    half.hot = share_of(whole->hot, share);
    return half;
}

/* One half as a stepper of its own, on the same list. */
static bool price_half(struct stepper *s, unsigned i, const struct demand *demand, bool least)
{
    struct stepper half = *s;
    plan_half(&s->plan, i, &half.plan);
    slots_set_numbers(&half.plan, &half.slots);
    half.slots.value[SLOT_ATTENDED] = s->slots.value[SLOT_ATTENDED]; /* halves of a prompt */
    half.halves = false;
    half.bound = least;
    half.op_s = s->half_s[i];
    half.op_link_s = s->half_link_s;
    half.values = s->half_values;
    half.item = s->half_item;
    pricing_follow(&half.pricing, &half.plan, s->plan.moe.path);
    half.pricing.kept_units = (double)plan_half_sms(&s->plan);
    if (!demand)
        return stepper_ops(&half, NULL);
    double share = (double)plan_tokens(&half.plan) / (double)plan_tokens(&s->plan);
    const struct demand own = demand_of(demand, share);
    return stepper_ops(&half, &own);
}

static void add_half(struct stepper *s, unsigned half)
{
    for (size_t i = 0; i < s->work.n_ops; i++) {
        if (!step_halves_run(s, (enum segment)s->work.ops[i].segment))
            continue;
        s->op_s[i] = s->half_s[half][i] + (half ? s->op_s[i] : 0);
        for (unsigned level = 0; level < PROFILE_LEVELS; level++)
            s->op_link_s[i][level] =
                s->half_link_s[i][level] + (half ? s->op_link_s[i][level] : 0);
    }
}

bool step_halves_price(struct stepper *s, const struct demand *demand, bool least)
{
    s->halves = s->half_values && plan_is_halved(&s->plan);
    s->single = s->half_values && !s->halves && plan_overlaps_single(&s->plan);
    if (s->single) {
        memcpy(s->half_s[0], s->op_s, s->work.n_ops * sizeof *s->op_s);
        memset(s->half_s[1], 0, s->work.n_ops * sizeof *s->op_s);
    }
    for (unsigned half = 0; s->halves && half < 2; half++) {
        if (!price_half(s, half, demand, least))
            return false;
        add_half(s, half);
    }
    return true;
}

/* ---- what they hide ---- */

/* Rows of experts on their way, and what is told of them before: there or back. */
static bool is_exchange(const struct stepper *s, size_t i)
{
    return s->work.ops[i].group == GROUP_EP &&
           profile_item_class((enum profile_item)s->item[i]) == PROFILE_COLLECTIVE;
}

/* `behind`: the node of what is neither: what comes before the exchange, between both, after.
 */
static enum half_node node_of(const struct stepper *s, size_t i, enum half_node behind)
{
    const struct op *op = &s->work.ops[i];
    if (is_exchange(s, i))
        return op->module < MODULE_COMBINE ? HALF_DISPATCH : HALF_COMBINE;
    if (op->module == MODULE_SHARED)
        return HALF_SHARED;
    if (op->module == MODULE_EXPERT_DOWN && s->single)
        return HALF_DOWN;
    return behind == HALF_ATTENTION && op->module <= MODULE_ROPE ? HALF_BEFORE : behind;
}

static void layers_of(const struct stepper *s, enum segment segment, struct half_layer half[2])
{
    enum half_node behind = HALF_ATTENTION;
    memset(half, 0, 2 * sizeof *half);
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        if (op->segment != segment || op->phase != PHASE_FORWARD || op->group == GROUP_PP)
            continue;
        enum half_node node = node_of(s, i, behind);
        if (is_exchange(s, i) && op->module >= MODULE_DISPATCH)
            behind = node == HALF_DISPATCH ? HALF_EXPERTS : HALF_OUTPUT;
        for (unsigned k = 0; k < 2 && s->op_s[i] > 0; k++) /* 0: it is left out of both */
            half[k].node_s[node] += stretch_share(s, op) * s->half_s[k][i];
    }
}

/* SGLang's DeepGEMM tells the combine on Hopper alone which experts' rows are done. */
static enum halves_order single_order(const struct plan *plan)
{
    bool signals = stack_experts(plan, NULL) == EXPERTS_MASKED;
    if (plan_generation(plan) == GENERATION_SM100)
        return HALVES_SINGLE_BLACKWELL;
    return signals ? HALVES_SINGLE_DOWN : HALVES_SINGLE_HOPPER;
}

static enum halves_order order_of(const struct stepper *s, const struct half_layer *half)
{
    const struct plan *plan = &s->plan;
    if (s->single)
        return single_order(plan);
    if (plan->stack.kind == STACK_VLLM)
        return engine_sends_slots(plan) ? HALVES_VLLM_SLOTS : HALVES_VLLM_NORMAL;
    if (plan->workload.mode == MODE_PREFILL)
        return HALVES_SGLANG_PROMPTS;
    return half->node_s[HALF_SHARED] > 0 ? HALVES_SGLANG_SHARED : HALVES_SGLANG_PLAIN;
}

double step_halves_hidden_s(const struct stepper *s, enum segment segment, double layers)
{
    struct half_layer half[2];
    if (!(s->halves || s->single) || !segment_has_experts(segment) || !(layers > 0))
        return 0;
    layers_of(s, segment, half);
    double took = halves_layers_s(half, order_of(s, &half[1]), layers);
    double most = s->pricing.rates.share * layers * halves_links_s(half);
    return fmin(fmax(layers * halves_turn_s(half) - took, 0), most);
}

void step_halves_hide(const struct stepper *s, struct chunk_time *chunk)
{
    for (unsigned i = 0; i < SEGMENT_COUNT; i++)
        chunk->pass[PASS_FORWARD].part_s[TIME_EXCHANGE] -=
            step_halves_hidden_s(s, (enum segment)i, chunk->layers[PASS_FORWARD][i]);
}
