/* Published runs beside predictions of their plans: each row a plan with one value (a memory
 * verdict, bytes, a rate). */
#ifndef MOEPLAN_CALIB_VALIDATE_VALIDATE_RUNS_H
#define MOEPLAN_CALIB_VALIDATE_VALIDATE_RUNS_H

#include "base/csv.h"
#include "calib/validate/validation.h"

/* Appends the table's rows and summaries; errors as validate_table. */
enum status validate_runs(const struct csv *csv, struct arena *arena, struct validation *out,
                          struct err *err);

#endif
