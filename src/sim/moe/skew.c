/* See skew.h. */
#include "sim/moe/skew.h"

#include <math.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "sim/moe/chunks.h"
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/piece/block_loop.h"

/* Chance that a token has an expert on a rank that holds e of E: 1 - C(E - e, K) / C(E, K). */
static double touched(double experts, double local, uint64_t top_k)
{
    double none = 1;
    for (uint64_t i = 0; i < top_k; i++)
        none *= fmax(0, experts - local - (double)i) / (experts - (double)i);
    return 1 - none;
}

uint64_t skew_share(uint64_t whole, uint64_t n, uint64_t ranks)
{
    return ranks ? (uint64_t)llround((double)whole * (double)n / (double)ranks) : 0;
}

/* Local experts that some of the group's rows choose, rows falling on them evenly. */
static uint64_t hit(uint64_t rows, uint64_t local)
{
    double e = (double)local, n = -e * expm1(-(double)rows / e);
    uint64_t most = rows < local ? rows : local;
    uint64_t hits = (uint64_t)ceil(n);
    return hits < most ? hits : most;
}

/* What crosses links: what a rank receives from the others, and what it sends to them. */
static void fill_links(uint64_t *v)
{
    uint64_t R = v[SLOT_EP], TK = v[SLOT_TOKENS] * v[SLOT_TOP_K];
    double q = touched((double)v[SLOT_EXPERTS], (double)v[SLOT_LOCAL_EXPERTS], v[SLOT_TOP_K]);
    uint64_t out = (uint64_t)llround((double)v[SLOT_TOKENS] * q * (double)R);
    v[SLOT_ROWS_FROM] = skew_share(v[SLOT_ROWS], R - 1, R);
    v[SLOT_TOKENS_FROM] = skew_share(v[SLOT_RECEIVED], R - 1, R);
    v[SLOT_ROWS_SENT] = skew_share(TK, R - 1, R);
    v[SLOT_TOKENS_OUT] = out;
    v[SLOT_TOKENS_SENT] = skew_share(out, R - 1, R);
}

/* Blocks of one expert each: a last, partial one for every expert that is hit. */
static void fill_blocks(const struct plan *plan, uint64_t *v)
{
    uint64_t B = v[SLOT_BLOCK], rows = v[SLOT_ROWS], hits = v[SLOT_HIT_EXPERTS];
    if (!B || !rows)
        return;
    double each = (double)rows / (double)hits / (double)B;
    double blocks =
        each < 1 ? (double)hits
                 : (double)rows / (double)B + (double)hits * ((double)B - 1) / 2 / (double)B;
    uint64_t all = v[SLOT_EP] * v[SLOT_TOKENS] * v[SLOT_TOP_K], local = v[SLOT_LOCAL_EXPERTS];
    uint64_t N = blocks_tight(all, local, B), valid = (uint64_t)ceil(blocks);
    valid = valid < N ? valid : N;
    v[SLOT_BLOCKS] = valid;
    uint64_t fixed = block_loop_fixed(plan, all, local, N), step = block_loop_step(plan);
    uint64_t executed = plan->moe.skip_dynamic ? blocks_executed(fixed, valid, N, step) : N;
    uint64_t turns = block_loop_order(plan) == BLOCKS_PING_PONG ? 2 : 1;
    uint64_t skipped = block_loop_order(plan) == BLOCKS_HI_LO ? hits + 1 : turns * hits;
    bool skips = plan->moe.skip_weight != WEIGHT_SKIP_NONE;
    v[SLOT_WEIGHT_LOADS] = skips && skipped < executed ? skipped : executed;
}

static void fill_rest(const struct plan *plan, uint64_t *v)
{
    uint64_t R = v[SLOT_EP], C = v[SLOT_CHUNK];
    v[SLOT_HIT_EXPERTS] = hit(v[SLOT_ROWS], v[SLOT_LOCAL_EXPERTS]);
    fill_links(v);
    if (path_system_of(plan->moe.path)->blocks)
        fill_blocks(plan, v);
    if (path_system_of(plan->moe.path)->exchange != EXCHANGE_CHUNKS || !C)
        return;
    const struct chunks_ask ask = {.tokens = v[SLOT_TOKENS],
                                   .top_k = v[SLOT_TOP_K],
                                   .experts = v[SLOT_EXPERTS],
                                   .devices = R,
                                   .chunk = C};
    uint64_t even = (uint64_t)llround(chunks_expected_rounds(&ask));
    uint64_t full = ceil_div(ceil_div(v[SLOT_HOT_EXPERT], R), C);
    v[SLOT_ROUNDS] = even > full ? even : full;
}

void skew_even(const struct plan *plan, struct slots *slots)
{
    uint64_t *v = slots->value, e = v[SLOT_LOCAL_EXPERTS];
    if (!plan_is_routed(plan) || !e)
        return;
    double q = touched((double)v[SLOT_EXPERTS], (double)e, v[SLOT_TOP_K]);
    v[SLOT_ALIGNMENT] = layer_alignment(plan);
    v[SLOT_RECEIVED] = (uint64_t)((double)(plan_joined_tokens(plan) * v[SLOT_EP]) * q);
    v[SLOT_PADDED_ROWS] = round_up(v[SLOT_ROWS], v[SLOT_ALIGNMENT]);
    v[SLOT_PADDED_ROWS] = layer_computed_rows(plan->moe.path, plan, v);
    fill_rest(plan, v);
}

/* A rank with experts of one group is reached where that is chosen and one of them is among the
 * K of the open ones; one with several groups at least so, of any of these. */
void skew_least(const struct plan *plan, struct slots *slots)
{
    uint64_t *v = slots->value;
    double groups = (double)plan->model.moe.router.groups,
           chosen = (double)plan->model.moe.router.top_groups, ranks = (double)v[SLOT_EP],
           all = (double)v[SLOT_EXPERTS], local = (double)v[SLOT_LOCAL_EXPERTS];
    skew_even(plan, slots);
    if (!plan_is_routed(plan) || !(local > 0) || !(chosen > 0 && chosen < groups))
        return;
    double open = all * chosen / groups,
           q = chosen / groups * touched(open, local, v[SLOT_TOP_K]);
    if (ranks < groups)
        q = touched(groups, groups / ranks, (uint64_t)chosen) *
            touched(open, all / groups, v[SLOT_TOP_K]);
    double received = (double)plan_joined_tokens(plan) * ranks * q;
    if (received < (double)v[SLOT_RECEIVED])
        v[SLOT_RECEIVED] = (uint64_t)received;
    fill_rest(plan, v);
}

double skew_carried(const struct plan *plan, const struct demand *demand,
                    const struct slots *slots)
{
    const uint64_t *v = slots->value;
    enum path_exchange exchange = path_system_of(plan->moe.path)->exchange;
    bool rows = exchange == EXCHANGE_ROWS || exchange == EXCHANGE_MESSAGES;
    double R = (double)v[SLOT_EP], K = (double)v[SLOT_TOP_K];
    uint64_t sent = v[rows ? SLOT_ROWS_SENT : SLOT_TOKENS_SENT],
             from = v[rows ? SLOT_ROWS_FROM : SLOT_TOKENS_FROM], counted = greater(sent, from);
    if (!plan_is_routed(plan) || !counted)
        return 1;
    double E = (double)v[SLOT_EXPERTS], e = (double)v[SLOT_LOCAL_EXPERTS];
    double each = rows ? K : R * touched(E, e, v[SLOT_TOP_K]);
    double whole = each * (double)greater(v[SLOT_TOKENS], plan_joined_tokens(plan));
    if (demand)
        whole = fmax(whole, (double)(rows ? demand->rows : demand->received));
    return whole * (R - 1) / R / (double)counted;
}

void skew_full(const struct plan *plan, const struct demand *demand, struct slots *slots)
{
    if (!plan_is_routed(plan) || !slots->value[SLOT_LOCAL_EXPERTS])
        return;
    slots->value[SLOT_ALIGNMENT] = layer_alignment(plan);
    demand_to_slots(demand, slots);
    fill_rest(plan, slots->value);
}
