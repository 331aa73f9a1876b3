/* Where the experts lie when the plan does not say: as the launch of its stack would lay them.
 */
#ifndef MOEPLAN_PLAN_LAY_EXPERTS_H
#define MOEPLAN_PLAN_LAY_EXPERTS_H

#include "plan/plan.h"

/* Degrees that a plan need not give. */
enum expert_degree { EXPERTS_EP = 1, EXPERTS_ETP = 2, EXPERTS_SP = 4 };

/* Whether degrees follow from the layout under the plan's stack: from tp and, of engines, from
 * all ranks. */
bool experts_follow(const struct plan *plan);

/* Tensor-parallel ranks of an expert where they follow from the layout, engines aside. */
uint64_t experts_split(const struct plan *plan);

/* Lays them. Engines: over all ranks, whole where the plan gives ep, or has data-parallel ranks
 * that can share them out (both engines' guides for such deployments turn expert parallelism
 * on), else each of them split like a dense network. Training, and NxD: each split over the
 * tensor-parallel ranks where its software does that, and sequence parallelism where it trains
 * in no other way beside tensor parallelism. `given`: degrees that stay as they are, a
 * wrong layout too, for the rules to name. Returns those that follow. */
unsigned experts_lay(struct plan *plan, unsigned given);

#endif
