/* A user's table of runs with times or rates: what its cells say, and what it lacks. */
#ifndef MOEPLAN_CALIB_FIT_RUNS_TABLE_H
#define MOEPLAN_CALIB_FIT_RUNS_TABLE_H

#include <stdbool.h>

#include "base/csv.h"
#include "plan/plan.h"

/* Whether the line has a step time or a rate. */
bool runs_table_has_time(const struct csv *csv, size_t row);

/* Seconds of a step that the line's cells say of its plan. STATUS_INPUT, at file:line: no
 * positive number, or no unit of its quantity. */
enum status runs_table_seconds(const struct csv *csv, size_t row, const struct plan *plan,
                               double *seconds, struct err *err);

/* STATUS_INPUT, at file:line: a quantity that is one of these but for a letter or two. */
enum status runs_table_names(const struct csv *csv, struct err *err);

/* STATUS_INPUT, always: what a file lacks that is no table of runs, nor any other. */
enum status runs_table_lacks(const struct csv *csv, struct err *err);

#endif
