/* Schedulers played at costs whose answers are known by hand. */
#ifndef MOEPLAN_TESTS_SUPPORT_PLAYED_H
#define MOEPLAN_TESTS_SUPPORT_PLAYED_H

#include "sim/serve/scheduler.h"

/* 10 ms a decode step, 1 ms a prompt token in any step. */
extern const struct step_costs played_costs;

/* All requests that are asked for, sorted; memory from the arena. */
struct scheduler_result played(const struct scheduler_ask *ask, struct arena *arena);

void assert_close(double found, double expected, double off);

#endif
