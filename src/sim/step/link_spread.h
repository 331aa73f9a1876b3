/* How far links that do not always take as long spread a step and a layer: a jitter that the
 * cluster states (cluster.node.link_jitter, cluster.network.jitter), nothing that routing does.
 *
 * An exchange or collective of t seconds has a standard deviation of jitter x t, that of the
 * widest level it crosses. They are independent of each other, so variances add up: over the
 * exchanges of a layer, over the layers and micro-batches of a step; of collectives beside
 * other work the share counts that is exposed. Where a profile folds an exchange into other
 * rates, its seconds here are those of the link itself. Sends between pipeline stages are not
 * counted. */
#ifndef MOEPLAN_SIM_STEP_LINK_SPREAD_H
#define MOEPLAN_SIM_STEP_LINK_SPREAD_H

#include "sim/time/step_time.h"

/* Standard deviations in seconds; all 0 without a stated jitter. */
struct link_spread {
    double step_s, forward_s, forward_backward_s; /* the last two of one MoE layer */
};

/* Of the step that `stepper` timed last. */
void link_spread_of(const struct stepper *stepper, const struct step_time *step,
                    struct link_spread *out);

/* The percentile q of a draw of `sorted` (n > 0, each as likely) plus a normal of that standard
 * deviation. */
double link_spread_percentile(const double *sorted, size_t n, double sd, double q);

#endif
