/* What would fit: smaller runs of a plan that this machine cannot hold, each predicted. */
#ifndef MOEPLAN_CALIB_RUN_RUN_FIX_H
#define MOEPLAN_CALIB_RUN_RUN_FIX_H

#include "calib/run/run.h"
#include "sim/step/slice.h"

/* Fills the report's fixes with those that fit limit_bytes: another buffer, one rank
 * alone, a divided plan.
 * ranks: those of the process that do not fit. */
void run_find_fixes(const struct plan *plan, const struct run_options *options,
                    uint64_t limit_bytes, struct slice_ranks ranks, struct arena *arena,
                    struct run_report *report);

#endif
