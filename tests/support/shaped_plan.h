/* Random plans as people write them: a stack, a mode it has and a path it runs. */
#ifndef MOEPLAN_TESTS_SUPPORT_SHAPED_PLAN_H
#define MOEPLAN_TESTS_SUPPORT_SHAPED_PLAN_H

#include "plan/plan.h"

/* A small random plan of this stack that obeys all rules and that the stack does not refuse;
 * false when many draws gave none. Few samples, so that it is predicted in milliseconds. */
bool plan_shaped(struct plan *plan, enum stack_kind stack, uint64_t seed);

/* Such a plan of an engine that serves requests: of how many, and how long, by the seed. */
bool plan_served(struct plan *plan, uint64_t seed);

/* Tries a law on a drawn plan; *tried counts those it could be tried on. */
typedef void (*plan_law)(const struct plan *plan, uint64_t seed, unsigned *tried);

/* Tries a law on the plans of seeds 1, 1 + step, ... up to n, the stacks in turn, or of such
 * engines, each by five samples of its routing: how many it could be tried on. */
unsigned plans_shaped_try(unsigned n, unsigned step, plan_law law);
unsigned plans_served_try(unsigned n, unsigned step, plan_law law);

/* Such a plan of a mode, with most keys away from their defaults: each change is kept where all
 * rules hold and the stack still builds the list, so that a law is never tried on a refusal.
 * plan_random obeys the rules alone, and a stack builds one of four of its plans. False where
 * the stack has no such mode. */
bool plan_built(struct plan *plan, enum stack_kind stack, enum mode mode, uint64_t seed);

#endif
