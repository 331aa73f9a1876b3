/* What a step costs per token by FLOPs over peak and bytes over bandwidth: no calibration, no
 * overlap, balanced routing. It ranks plans; it is not a prediction of time. */
#ifndef MOEPLAN_SIM_COST_H
#define MOEPLAN_SIM_COST_H

#include "plan/plan.h"

struct cost {
    double flop_per_token;           /* executed: recompute, padding and masks included */
    double exchange_bytes_per_token; /* expert dispatch and combine, sent by a rank */
    double shard_bytes_per_token;    /* FSDP gathers and reduce-scatters, received by a rank */
    double seconds_per_token;        /* per rank: the three over peak and bandwidths, summed */
};

void cost_of(const struct plan *plan, struct cost *cost);

#endif
