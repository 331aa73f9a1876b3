/* Where groups of ranks stand, and what a message to them takes at the rates of their links. */
#ifndef MOEPLAN_SIM_TIME_COMM_H
#define MOEPLAN_SIM_TIME_COMM_H

#include "sim/time/rates.h"
#include "work/list/work.h"

/* A group by parallel.order: ranks in all, and how many of them share a node. */
struct comm_place {
    double ranks, inside;
};

/* Axes of the dense part (tp, cp, dp, pp) and of the experts (etp, ep, edp, pp), innermost
 * first as parallel.order says, ep where it is named, or after cp. */
struct comm_place comm_place(const struct plan *plan, enum process_group group);

/* What a rank sends or receives, the larger, in so many messages. */
struct comm_ask {
    enum profile_item item;
    bool to_all; /* to every other rank alike, not around a ring */
    double bytes, messages;
    double once; /* to_all: share of what is for other nodes that crosses the network, the rest
                  * copied from there inside the node; 0: all of it crosses */
};

/* Bytes of it that cross each level, of a rank: to every other rank alike (exchanges), or
 * around rings of all ranks (collectives). As many rings as ranks share a node, each of them
 * leaving it at another rank, use every link: a rank sends 1 / inside of its bytes to the next
 * node and the rest to its neighbours (NCCL's and RCCL's channels). Over many nodes the
 * network's part is that of training-model.md section 3, C. */
void comm_levels(const struct comm_place *place, const struct comm_ask *ask,
                 double bytes[PROFILE_LEVELS]);

/* Seconds at the rates of the links. A rate that the cluster does not state costs nothing. */
double comm_s(const struct rates *rates, const struct comm_place *place,
              const struct comm_ask *ask);

/* To one neighbour of the group: over the network when the group leaves the node. */
double comm_send_s(const struct rates *rates, const struct comm_place *place,
                   const struct comm_ask *ask);

#endif
