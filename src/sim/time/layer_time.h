/* Seconds of one MoE layer's routed part alone, as benchmarks of dispatchers time it: from the
 * experts that the router chose to the weighted sum of their rows; attention, router, shared
 * experts and what shards weights are left out. */
#ifndef MOEPLAN_SIM_TIME_LAYER_TIME_H
#define MOEPLAN_SIM_TIME_LAYER_TIME_H

#include "sim/time/step_time.h"

struct layer_time {
    double forward_s, forward_backward_s; /* backward: recomputation too */
    double forward_serial_s;              /* all of its ops one after the other */
    double grouped_gemm_s;                /* the experts' products, forward */
    /* of them, padding left out, on the rank they are of; the same as a share of its peak */
    double useful_flop_per_s, mfu_useful;
    double forward_tokens_per_s, forward_backward_tokens_per_s; /* of all ranks */
};

/* Of the demand that the stepper was last timed with: `rows` on its rank. Zeros where the plan
 * has no experts. */
void layer_time_of(const struct stepper *stepper, double rows, struct layer_time *out);

#endif
