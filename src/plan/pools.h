/* Prefill and decode on servers of their own, in one plan: the plan is what decodes, its part
 * `prefill` says what those that prefill have otherwise. Pure. */
#ifndef MOEPLAN_PLAN_POOLS_H
#define MOEPLAN_PLAN_POOLS_H

#include "plan/plan.h"

/* Before the keys of servers that prefill, outside their part. */
#define POOL_PREFIX "prefill."

/* Whether prefill and decode are apart: a part `prefill`, or the same layout for both
 * (workload.disaggregated). */
bool plan_is_apart(const struct plan *plan);

/* Deployments of a pool as the plan says them; 0: it does not. */
uint64_t plan_deployments(const struct plan *plan, enum duty duty);

/* One deployment of a pool as a plan by itself, of `deployments` (0: one) that share out the
 * requests in flight, rounded up, or those that arrive. What requests are is the plan's. The
 * plan has a part `prefill`. */
void plan_pool(const struct plan *plan, enum duty duty, uint64_t deployments, struct plan *out);

#endif
