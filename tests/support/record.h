/* A plan's prediction as text, to compare two of them. */
#ifndef MOEPLAN_TESTS_SUPPORT_RECORD_H
#define MOEPLAN_TESTS_SUPPORT_RECORD_H

#include "base/arena.h"
#include "plan/plan.h"

/* Everything `predict` says about the plan, on the screen and in JSON, but for fixes (other
 * plans), notes and the plan itself. The reason when it is refused. Memory from the arena. */
const char *plan_record(const struct plan *plan, struct arena *arena);

#endif
