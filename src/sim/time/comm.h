/* Where groups of ranks stand, and what a message to them takes at the rates of their links. */
#ifndef MOEPLAN_SIM_TIME_COMM_H
#define MOEPLAN_SIM_TIME_COMM_H

#include "sim/time/rates.h"
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

/* How much longer the network's part takes than where every device keeps its bandwidth on every
 * tier; at least 1. To every other rank alike, (ranks - joined) of (ranks - inside) leave a
 * tier from all devices at once, at 1 / over of the bandwidth. Around rings one node of those
 * that are joined sends on, inside / joined of the bytes; groups beside it do so at other
 * nodes, or the same, so that of the links up each has its mean. The tier that binds counts:
 * all carry at once. */
double comm_crowding(const struct comm_place *place, bool to_all);

/* Seconds at the rates of the links. A rate that the cluster does not state costs nothing. */
double comm_s(const struct rates *rates, const struct comm_place *place,
              const struct comm_ask *ask);

/* To one neighbour of the group: over the network when the group leaves the node, over a tier's
 * links up when it leaves that, which those of its ranks share that do not. */
double comm_send_s(const struct rates *rates, const struct comm_place *place,
                   const struct comm_ask *ask);

#endif
