/* What a message to a group of ranks takes at the rates of the links between them. */
#ifndef MOEPLAN_SIM_TIME_COMM_H
#define MOEPLAN_SIM_TIME_COMM_H

#include "sim/time/rates.h"
#include "work/list/comm_place.h"
#include "work/rows/crossing.h"

/* What a rank sends or receives, the larger, in so many messages. */
struct comm_ask {
    enum profile_item item;
    bool to_all; /* to every other rank alike, not around a ring */
    double bytes, messages;
    double once; /* to_all: share of what is for other nodes that crosses the network, the rest
                  * copied from there inside the node; 0: all of it crosses */
    const double *part; /* [CROSSING_LEVELS] to_all: what crosses each level as parts of what a
                         * rank gets, itself included; NULL: to every other rank alike */
    bool uncrowded;     /* whatever leaves the network's tiers */
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

/* What the tiers that a message leaves add to the network's latency. */
double comm_beyond_s(const struct comm_place *place);

/* Seconds at the rates of the links. A rate that the cluster does not state costs nothing. */
double comm_s(const struct rates *rates, const struct comm_place *place,
              const struct comm_ask *ask);

/* The same, and how long of it the links of each level carry something: both where it goes
 * through the rank's one port. */
double comm_levels_s(const struct rates *rates, const struct comm_place *place,
                     const struct comm_ask *ask, double level_s[PROFILE_LEVELS]);

/* To one neighbour of the group: over the network when the group leaves the node, over a tier's
 * links up when it leaves that, which those of its ranks share that do not. */
double comm_send_s(const struct rates *rates, const struct comm_place *place,
                   const struct comm_ask *ask);

#endif
