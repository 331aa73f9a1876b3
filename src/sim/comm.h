/* Where groups of ranks stand, and what a message to them takes at the rates of their links. */
#ifndef MOEPLAN_SIM_COMM_H
#define MOEPLAN_SIM_COMM_H

#include "plan/plan.h"
#include "work/list/work.h"

/* A group by parallel.order: ranks in all, and how many of them share a node. */
struct comm_place {
    double ranks, inside;
};

/* Axes of the dense part (tp, cp, dp, pp) and of the experts (etp, ep, edp, pp), innermost
 * first as parallel.order says, ep where it is named, or after cp. */
struct comm_place comm_place(const struct plan *plan, enum process_group group);

/* Seconds of an op that sends and receives so many bytes in so many messages: to every other
 * rank alike (exchanges), or around a ring first between nodes, then inside (collectives:
 * training-model.md section 3, C). A rate that the cluster does not state costs nothing. */
double comm_s(const struct plan *plan, enum process_group group, bool to_all, double bytes,
              double messages);

#endif
