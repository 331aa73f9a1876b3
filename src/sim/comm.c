/* See comm.h. */
#include "sim/comm.h"

#include "base/text.h"
#include "plan/derive.h"

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

struct comm_place comm_place(const struct plan *plan, enum process_group group)
{
    double ranks, stride = stride_of(plan, group, &ranks);
    double node = (double)(plan->cluster.node.devices * plan->cluster.device.logical_cores);
    double most = node / stride;
    if (group == GROUP_DP) /* all copies of the dense parameters: dp x cp */
        ranks *= (double)plan->parallel.cp;
    double inside = most <= 1 ? 1 : most < ranks ? most : ranks;
    return (struct comm_place){ranks, inside};
}

/* ---- seconds ---- */

static double over(double bytes, double rate)
{
    return rate > 0 ? bytes / rate : 0;
}

double comm_s(const struct plan *plan, enum process_group group, bool to_all, double bytes,
              double messages)
{
    if (bytes <= 0)
        return 0;
    const struct cluster *c = &plan->cluster;
    struct comm_place place = comm_place(plan, group);
    double cores = (double)c->device.logical_cores, nodes = place.ranks / place.inside;
    double link = c->node.link_bandwidth / cores, network = c->network.bandwidth / cores;
    double latency = nodes > 1 ? c->network.latency : c->node.link_latency;
    if (nodes <= 1)
        return messages * latency + over(bytes, link);
    double others = place.ranks - 1;
    double outside = (place.ranks - place.inside) / others; /* of what every rank gets alike */
    if (!to_all) /* a ring over nodes of rings: each rank carries its share between nodes */
        outside = (nodes - 1) / nodes / place.inside * place.ranks / others;
    return messages * latency + over(bytes * outside, network) +
           over(bytes * (place.inside - 1) / others, link);
}
