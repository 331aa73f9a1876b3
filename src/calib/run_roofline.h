/* Time of an op by the cluster's figures alone: FLOP over peak, bytes over bandwidth, exchanged
 * bytes over the link, and its latency. A floor, not a model: nothing overlaps or queues. */
#ifndef MOEPLAN_CALIB_RUN_ROOFLINE_H
#define MOEPLAN_CALIB_RUN_ROOFLINE_H

#include "plan/plan.h"
#include "work/list/work.h"

/* Seconds of one rank, on a device of its own. */
double run_roofline_s(const struct plan *plan, const struct work *work, const struct op *op,
                      const uint64_t *values);

#endif
