/* What an op takes, resource by resource: FLOPs over peak, bytes over bandwidth, bytes over
 * links. The only place where an op becomes seconds: predict, run's roofline and the charts ask
 * here. Nothing is measured; rates are the cluster file's. */
#ifndef MOEPLAN_SIM_PRICE_H
#define MOEPLAN_SIM_PRICE_H

#include "plan/plan.h"
#include "work/list/work.h"

struct price {
    double compute_s, memory_s, link_s;
    double s; /* the longest: what binds */
};

/* Rates of one rank: FLOP/s at precision.compute, and memory bytes/s. */
double price_peak(const struct plan *plan);
double price_bandwidth(const struct plan *plan);

/* An op of the list with these values of its sizes. */
struct price price_of(const struct plan *plan, const struct work *work, const struct op *op,
                      const uint64_t *values);

#endif
