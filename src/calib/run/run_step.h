/* The step of an engine that is performed. */
#ifndef MOEPLAN_CALIB_RUN_RUN_STEP_H
#define MOEPLAN_CALIB_RUN_RUN_STEP_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

/* Makes of an engine's plan the step that predict prices: of a server, and of a decode step
 * whose sequences wait, that of as many as its cache holds; of servers apart, that of one that
 * decodes. *how says so in words where the plan says other numbers, or is NULL. Before
 * run_host_plan. STATUS_INPUT when a size overflows; memory from the arena. */
enum status run_take_step(struct plan *plan, struct arena *arena, const char **how,
                          struct err *err);

#endif
