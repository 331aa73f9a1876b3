/* Plans for tests. */
#ifndef MOEPLAN_TESTS_SUPPORT_RANDOM_PLAN_H
#define MOEPLAN_TESTS_SUPPORT_RANDOM_PLAN_H

#include "base/rng.h"
#include "plan/plan.h"

/* A small plan that obeys all rules: 8 layers (2 dense) of hidden 64, 16 experts, top 2, on 2
 * nodes of 4 devices. */
void plan_tiny(struct plan *plan);

/* A random plan that obeys all rules, with most keys away from their defaults, and as complete
 * as a loaded one. Traces and placement tables are not drawn: they need files. */
void plan_random(struct plan *plan, uint64_t seed);

/* Gives one key drawn by chance any value, unless a rule forbids it. */
void plan_vary(struct plan *plan, struct rng *rng);

/* Another legal value for a field, near its present one for numbers, or any; false when a few
 * draws gave none. */
struct field;
bool plan_alter(struct rng *rng, const struct field *field, struct plan *plan);

/* What a loaded plan always has, and no file that a test would have to bring. */
bool plan_is_complete(const struct plan *plan);

#endif
