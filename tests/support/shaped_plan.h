/* Random plans as people write them: a stack, a mode it has and a path it runs. */
#ifndef MOEPLAN_TESTS_SUPPORT_SHAPED_PLAN_H
#define MOEPLAN_TESTS_SUPPORT_SHAPED_PLAN_H

#include "plan/plan.h"

/* A small random plan of this stack that obeys all rules and that the stack does not refuse;
 * false when many draws gave none. Few samples, so that it is predicted in milliseconds. */
bool plan_shaped(struct plan *plan, enum stack_kind stack, uint64_t seed);

#endif
