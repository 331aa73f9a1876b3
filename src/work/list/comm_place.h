/* Where the ranks of a group stand: in which nodes, and under which switches of the network. */
#ifndef MOEPLAN_WORK_LIST_COMM_PLACE_H
#define MOEPLAN_WORK_LIST_COMM_PLACE_H

#include "plan/plan.h"
#include "work/list/work.h"

/* A group of ranks on a tier of the network: those that its switches join (0: the tier joins
 * all), the bandwidth that a device has below over its part of that above (tiers multiply), and
 * what a message beyond adds. */
struct comm_tier {
    double ranks, over, latency_s;
};

/* A group by parallel.order: ranks in all, how many of them share a node, and each tier. */
struct comm_place {
    double ranks, inside;
    struct comm_tier tier[NETWORK_TIERS];
};

bool comm_place_equal(const struct comm_place *x, const struct comm_place *y);

/* Axes of the dense part (tp, cp, dp, pp) and of the experts (etp, ep, edp, pp), innermost
 * first as parallel.order says, ep where it is named, or after cp. */
struct comm_place comm_place(const struct plan *plan, enum process_group group);
/* Of every group. */
void comm_places(const struct plan *plan, struct comm_place place[GROUP_COUNT]);

/* So many deployments laid out as the plan says, each with nodes of its own, next to each other
 * on the network; each stands for a rank in a node of its own. */
struct comm_place comm_place_deployments(const struct plan *plan, double deployments);

#endif
