/* Random plans of every stack and mode for laws of their lists of ops. */
#ifndef MOEPLAN_TESTS_SUPPORT_DRAWN_PLAN_H
#define MOEPLAN_TESTS_SUPPORT_DRAWN_PLAN_H

#include "plan/plan.h"

/* A small plan that routes quickly, in most draws one that the stack builds; the same for the
 * same seed, stacks and modes in turn. Of seeds 1 to n_seeds. */
void drawn_plan(uint64_t seed, uint64_t n_seeds, struct plan *plan);

/* Whether its routing takes no seconds. */
bool drawn_is_quick(const struct plan *plan);

/* The modes a stack has, by what it is made for. */
bool drawn_has_mode(enum stack_kind stack, enum mode mode);

#endif
