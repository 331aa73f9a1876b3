/* See comm.h. */
#include "sim/time/comm.h"

#include <math.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"

/* ---- places ---- */

/* An axis of parallel.order: its ranks in the dense part and among the experts. */
struct axis_ranks {
    const char *name;
    double dense, experts;
    enum process_group of_dense, of_experts;
};

static double stride_of(const struct plan *plan, enum process_group group, double *ranks)
{
    const struct parallel *p = &plan->parallel;
    const struct axis_ranks axes[] = {
        {"tp", (double)p->tp, (double)p->etp, GROUP_TP, GROUP_ETP},
        {"cp", (double)p->cp, 1, GROUP_CP, GROUP_NONE},
        {"ep", 1, (double)p->ep, GROUP_NONE, GROUP_EP},
        {"dp", (double)plan_dp(plan), (double)plan_expert_dp(plan), GROUP_DP, GROUP_EDP},
        {"pp", (double)p->pp, (double)p->pp, GROUP_PP, GROUP_PP},
    };
    double dense = 1, experts = 1;
    for (uint64_t i = 0; i < p->order.n; i++)
        for (size_t a = 0; a < sizeof axes / sizeof *axes; a++) {
            if (!text_equal(axes[a].name, p->order.word[i]))
                continue;
            bool of_experts = axes[a].of_experts == group && axes[a].of_dense != group;
            *ranks = of_experts ? axes[a].experts : axes[a].dense;
            if (axes[a].of_dense == group || of_experts)
                return of_experts ? experts : dense;
            dense *= axes[a].dense;
            experts *= axes[a].experts;
        }
    *ranks = 1;
    return 1;
}

/* Those that share a cache out lie next to each other in tp (vLLM parallel_state.py). */
static double ranks_apart(const struct plan *plan, enum process_group group, double *ranks)
{
    bool part = group == GROUP_DCP, replicas = group == GROUP_REPLICAS;
    double stride = stride_of(plan, part ? GROUP_TP : replicas ? GROUP_DP : group, ranks);
    if (part)
        *ranks = (double)engine_cache_ranks(plan);
    return stride;
}

/* Of so many ranks so far apart, those that stand in so many nodes. */
static double joined(const struct plan *plan, uint64_t nodes, double ranks, double stride)
{
    double node = (double)(plan->cluster.node.devices * plan->cluster.device.logical_cores);
    double most = node * (double)nodes / stride;
    return most <= 1 ? 1 : most < ranks ? most : ranks;
}

static struct comm_place one_rank(const struct plan *plan)
{
    struct comm_place place = {.ranks = 1, .inside = 1};
    double over = 1;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        const struct network_tier *tier = &plan->cluster.network.tier[t];
        over *= tier->nodes ? tier->oversubscription : 1;
        place.tier[t] = (struct comm_tier){tier->nodes ? 1 : 0, over, tier->latency};
    }
    return place;
}

/* As many such places, so far apart. */
static void repeat(const struct plan *plan, double ranks, double stride,
                   struct comm_place *place)
{
    place->ranks *= ranks;
    place->inside *= joined(plan, 1, ranks, stride);
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        place->tier[t].ranks *=
            joined(plan, plan->cluster.network.tier[t].nodes, ranks, stride);
}

/* Shards, and those of a second copy, lie next to each other along dp, copies of them a group
 * apart: the order of torch's (replicate, shard) meshes, Megatron's instances of the optimizer
 * and MiCS. */
static void part_of_dp(const struct plan *plan, enum process_group group,
                       struct comm_place *place)
{
    struct sharers shard = plan_sharers(plan), copies = plan_replicas(plan);
    bool second = group == GROUP_DP_SECOND || group == GROUP_EDP_SECOND;
    bool experts =
        group == GROUP_EDP_SHARD || group == GROUP_EDP_REPLICA || group == GROUP_EDP_SECOND;
    shard = second ? plan_second_sharers(plan) : shard;
    bool replica = group == GROUP_DP_REPLICA || group == GROUP_EDP_REPLICA;
    double all, stride = stride_of(plan, experts ? GROUP_EDP : GROUP_DP, &all);
    double part =
        experts ? (double)shard.experts : (double)shard.dense / (double)plan->parallel.cp;
    if (replica)
        repeat(plan, (double)(experts ? copies.experts : copies.dense), stride * part, place);
    else
        repeat(plan, part, stride, place);
}

struct comm_place comm_place(const struct plan *plan, enum process_group group)
{
    struct comm_place place = one_rank(plan);
    double ranks;
    if (group >= GROUP_DP_SHARD) {
        part_of_dp(plan, group, &place);
    } else {
        double stride = ranks_apart(plan, group, &ranks);
        repeat(plan, ranks, stride, &place);
    }
    if (group == GROUP_DP || group == GROUP_DP_SHARD ||
        group == GROUP_DP_SECOND) { /* with those that share sequences */
        double stride = stride_of(plan, GROUP_CP, &ranks);
        repeat(plan, ranks, stride, &place);
    }
    return place;
}

static bool same(double x, double y)
{
    return !(x < y || x > y);
}

bool comm_place_equal(const struct comm_place *x, const struct comm_place *y)
{
    bool equal = same(x->ranks, y->ranks) && same(x->inside, y->inside);
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        equal = equal && same(x->tier[t].ranks, y->tier[t].ranks) &&
                same(x->tier[t].over, y->tier[t].over) &&
                same(x->tier[t].latency_s, y->tier[t].latency_s);
    return equal;
}

/* ---- seconds ---- */

static double over(double bytes, double rate)
{
    return rate > 0 ? bytes / rate : 0;
}

void comm_levels(const struct comm_place *place, const struct comm_ask *ask,
                 double bytes[PROFILE_LEVELS])
{
    double ranks = place->ranks, inside = place->inside, nodes = ranks / inside;
    double others = ranks - 1;
    bytes[PROFILE_SCALE_UP] = ask->bytes;
    bytes[PROFILE_SCALE_OUT] = 0;
    if (nodes <= 1)
        return;
    double outside = (ranks - inside) / others; /* of what every rank gets alike */
    double within = (inside - 1) / others;
    if (!ask->to_all) { /* one of `inside` rings leaves the node at each of its ranks */
        outside = 1 / inside;
        within = (inside - 1) / inside;
    }
    bytes[PROFILE_SCALE_OUT] = ask->bytes * outside;
    bytes[PROFILE_SCALE_UP] = ask->bytes * within;
    if (!ask->to_all || ask->once <= 0)
        return;
    bytes[PROFILE_SCALE_OUT] *= ask->once;
    bytes[PROFILE_SCALE_UP] *= nodes; /* forwarded to one of as many ranks in every node */
}

static bool leaves(const struct comm_place *place, unsigned tier)
{
    return place->tier[tier].ranks > 0 && place->tier[tier].ranks < place->ranks;
}

double comm_crowding(const struct comm_place *place, bool to_all)
{
    double most = 1, ranks = place->ranks, inside = place->inside;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        const struct comm_tier *tier = &place->tier[t];
        if (!leaves(place, t))
            continue;
        double part = to_all ? (ranks - tier->ranks) / (ranks - inside) : inside / tier->ranks;
        most = fmax(most, part * tier->over);
    }
    return most;
}

/* What tiers add to the network's latency, over all nodes - 1 steps between nodes: as many of
 * them leave a tier as its groups are passed, or hold others to send to. */
static double tiers_s(const struct comm_place *place, bool to_all)
{
    double s = 0;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        const struct comm_tier *tier = &place->tier[t];
        if (!leaves(place, t))
            continue;
        double steps = to_all ? (place->ranks - tier->ranks) / place->inside
                              : place->ranks / tier->ranks - 1;
        s += steps * tier->latency_s;
    }
    return s;
}

/* Where on a curve of the links an op lies. */
static double at(const struct rate *rate, double ranks, double bytes)
{
    bool by_ranks = rate->curve && rate->curve->by == PROFILE_BY_RANKS;
    return rate_at(rate, by_ranks ? ranks : bytes);
}

/* Seconds before anything flows: of a message; or of a ring's steps inside the nodes, and then
 * between them. */
static double start_s(const struct link_rates *levels, const struct comm_place *place,
                      const struct comm_ask *ask)
{
    double nodes = place->ranks / place->inside,
           rounds = ask->item == PROFILE_ALL_REDUCE ? 2 : 1;
    const struct link_rates *inner = &levels[PROFILE_SCALE_UP],
                            *outer = &levels[nodes > 1 ? PROFILE_SCALE_OUT : PROFILE_SCALE_UP];
    double overhead = at(&outer->overhead, place->ranks, ask->bytes),
           latency = at(&outer->latency, place->ranks, ask->bytes);
    latency += nodes > 1 ? tiers_s(place, ask->to_all) / (nodes - 1) : 0;
    if (inner->hop_s <= 0)
        return ask->messages * (latency + overhead);
    return ask->messages * (overhead + rounds * ((place->inside - 1) * inner->hop_s +
                                                 (nodes > 1 ? (nodes - 1) * latency : 0)));
}

static double wire_s(const struct link_rates *levels, const struct comm_place *place,
                     const struct comm_ask *ask)
{
    double bytes[PROFILE_LEVELS], s[PROFILE_LEVELS];
    comm_levels(place, ask, bytes);
    for (unsigned i = 0; i < PROFILE_LEVELS; i++)
        s[i] = over(bytes[i],
                    levels[i].bytes_per_s * at(&levels[i].efficiency, place->ranks, bytes[i]));
    s[PROFILE_SCALE_OUT] *= comm_crowding(place, ask->to_all);
    /* forwarding is a pipeline (form_exchange_staged_s), and a ring's links all carry at once;
     * otherwise one level after the other */
    return ask->once > 0 || !ask->to_all ? fmax(s[0], s[1]) : s[0] + s[1];
}

double comm_s(const struct rates *rates, const struct comm_place *place,
              const struct comm_ask *ask)
{
    const struct link_rates *levels = rates->link[ask->item];
    bool out = place->ranks > place->inside;
    const struct link_rates *outer = &levels[out ? PROFILE_SCALE_OUT : PROFILE_SCALE_UP];
    if (ask->bytes <= 0 || outer->folded)
        return 0;
    double start = start_s(levels, place, ask), wire = wire_s(levels, place, ask);
    if (out || ask->item != PROFILE_ALL_TO_ALL)
        return form_pipelined(start, wire, outer->chunking);
    struct form_protocols protocols = outer->protocols;
    protocols.large_s *= ask->messages;
    return form_protocols_s(&protocols, start,
                            over(ask->bytes / fmax(1, place->ranks - 1), outer->bytes_per_s),
                            wire, outer->chunking);
}

double comm_send_s(const struct rates *rates, const struct comm_place *place,
                   const struct comm_ask *ask)
{
    struct comm_place pair = {.ranks = 2, .inside = place->ranks > place->inside ? 1 : 2};
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        if (leaves(place, t))
            pair.tier[t] = (struct comm_tier){
                1, place->tier[t].over * place->inside / place->tier[t].ranks,
                place->tier[t].latency_s};
    return comm_s(rates, &pair, ask);
}
