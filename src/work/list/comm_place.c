/* See comm_place.h. */
#include "work/list/comm_place.h"

#include <math.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"

/* An axis of parallel.order: its ranks in the dense part and among the experts. */
struct axis_ranks {
    const char *name;
    double dense, experts;
    enum process_group of_dense, of_experts;
};

enum { AXES = 5 };

/* Those that the order names, innermost first. */
struct axes {
    struct axis_ranks axis[AXES];
    unsigned n;
};

static struct axes axes_of(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    const struct axis_ranks all[AXES] = {
        {"tp", (double)p->tp, (double)p->etp, GROUP_TP, GROUP_ETP},
        {"cp", (double)p->cp, 1, GROUP_CP, GROUP_NONE},
        {"ep", 1, (double)p->ep, GROUP_NONE, GROUP_EP},
        {"dp", (double)plan_dp(plan), (double)plan_expert_dp(plan), GROUP_DP, GROUP_EDP},
        {"pp", (double)p->pp, (double)p->pp, GROUP_PP, GROUP_PP},
    };
    struct axes axes = {.n = 0};
    for (uint64_t i = 0; i < p->order.n; i++)
        for (unsigned a = 0; a < AXES && axes.n < AXES; a++)
            if (text_equal(all[a].name, p->order.word[i]))
                axes.axis[axes.n++] = all[a];
    return axes;
}

static double stride_of(const struct axes *axes, enum process_group group, double *ranks)
{
    double dense = 1, experts = 1;
    for (unsigned i = 0; i < axes->n; i++) {
        const struct axis_ranks *axis = &axes->axis[i];
        bool of_experts = axis->of_experts == group && axis->of_dense != group;
        *ranks = of_experts ? axis->experts : axis->dense;
        if (axis->of_dense == group || of_experts)
            return of_experts ? experts : dense;
        dense *= axis->dense;
        experts *= axis->experts;
    }
    *ranks = 1;
    return 1;
}

/* Those that share a cache out lie next to each other in tp (vLLM parallel_state.py), so do
 * those that split heads; SGLang's that share a prompt out lie as far apart as these are many
 * (runtime_context.py, derive_attention_ranks). */
static double ranks_apart(const struct plan *plan, const struct axes *axes,
                          enum process_group group, double *ranks)
{
    bool sglang = plan->stack.kind == STACK_SGLANG;
    enum process_group whole = group == GROUP_DCP || group == GROUP_HEADS ? GROUP_TP
                               : group == GROUP_PROMPT   ? (sglang ? GROUP_TP : GROUP_CP)
                               : group == GROUP_REPLICAS ? GROUP_DP
                                                         : group;
    double stride = stride_of(axes, whole, ranks);
    if (group == GROUP_DCP)
        *ranks = (double)engine_cache_ranks(plan);
    if (group == GROUP_HEADS)
        *ranks = (double)engine_attention_ranks(plan);
    if (group == GROUP_PROMPT) {
        *ranks = (double)engine_prompt_ranks(plan);
        stride *= sglang ? (double)engine_attention_ranks(plan) : 1;
    }
    return stride;
}

/* Of so many ranks so far apart, those that stand on so many devices. */
static double joined(const struct plan *plan, uint64_t devices, double ranks, double stride)
{
    double most = (double)devices * (double)plan->cluster.device.logical_cores / stride;
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
    const struct cluster *c = &plan->cluster;
    place->ranks *= ranks;
    place->inside *= joined(plan, plan_linked_devices(plan), ranks, stride);
    for (unsigned t = 0; t < NETWORK_TIERS; t++)
        place->tier[t].ranks *=
            joined(plan, c->network.tier[t].nodes * c->node.devices, ranks, stride);
}

/* Shards, and those of a second copy, lie next to each other along dp, copies of them a group
 * apart: the order of torch's (replicate, shard) meshes, Megatron's instances of the optimizer
 * and MiCS. */
static void part_of_dp(const struct plan *plan, const struct axes *axes,
                       enum process_group group, struct comm_place *place)
{
    struct sharers shard = plan_sharers(plan), copies = plan_replicas(plan);
    bool second = group == GROUP_DP_SECOND || group == GROUP_EDP_SECOND;
    bool experts =
        group == GROUP_EDP_SHARD || group == GROUP_EDP_REPLICA || group == GROUP_EDP_SECOND;
    shard = second ? plan_second_sharers(plan) : shard;
    bool replica = group == GROUP_DP_REPLICA || group == GROUP_EDP_REPLICA;
    double all, stride = stride_of(axes, experts ? GROUP_EDP : GROUP_DP, &all);
    double part =
        experts ? (double)shard.experts : (double)shard.dense / (double)plan->parallel.cp;
    if (replica)
        repeat(plan, (double)(experts ? copies.experts : copies.dense), stride * part, place);
    else
        repeat(plan, part, stride, place);
}

static struct comm_place place_of(const struct plan *plan, const struct axes *axes,
                                  enum process_group group)
{
    struct comm_place place = one_rank(plan);
    double ranks;
    if (group >= GROUP_DP_SHARD) {
        part_of_dp(plan, axes, group, &place);
    } else {
        double stride = ranks_apart(plan, axes, group, &ranks);
        repeat(plan, ranks, stride, &place);
    }
    bool joined_too = group == GROUP_REPLICAS && plan_is_engine(plan);
    if (group == GROUP_DP || joined_too || group == GROUP_DP_SHARD ||
        group == GROUP_DP_SECOND) { /* with those that share sequences */
        double stride = stride_of(axes, GROUP_CP, &ranks);
        repeat(plan, ranks, stride, &place);
    }
    return place;
}

struct comm_place comm_place(const struct plan *plan, enum process_group group)
{
    const struct axes axes = axes_of(plan);
    return place_of(plan, &axes, group);
}

void comm_places(const struct plan *plan, struct comm_place place[GROUP_COUNT])
{
    const struct axes axes = axes_of(plan);
    for (unsigned g = 0; g < GROUP_COUNT; g++)
        place[g] = place_of(plan, &axes, (enum process_group)g);
}

struct comm_place comm_place_deployments(const struct plan *plan, double deployments)
{
    struct comm_place place = one_rank(plan);
    double nodes = (double)plan->cluster.nodes;
    place.ranks = deployments;
    for (unsigned t = 0; t < NETWORK_TIERS; t++) {
        double whole = floor((double)plan->cluster.network.tier[t].nodes / nodes);
        place.tier[t].ranks *= fmin(fmax(1, whole), deployments);
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
