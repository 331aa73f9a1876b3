/* What a prediction rests on besides the plan's own lines: limit, stack, defaults. */
#ifndef MOEPLAN_REPORT_PREDICT_ASSUMED_H
#define MOEPLAN_REPORT_PREDICT_ASSUMED_H

#include "plan/read/load.h"
#include "sim/answer/predict.h"

const char *predict_assumed_limit(const struct plan *plan, struct arena *arena);
/* The measurements the stack's constants come from, and its stated error. */
const char *predict_assumed_stack(const struct plan *plan, struct arena *arena);

/* That kernels index the buffer with 64 bits. */
const char *predict_assumed_indices(const struct buffer_report *buffer, struct arena *arena);

/* Appends the keys that matter to this plan and were left at their default, "key value, ...",
 * or (counted) only their number; returns it. Nothing when origins is NULL. */
size_t predict_assumed_defaults(const struct plan *plan, const struct origins *origins,
                                bool counted, struct text *out);

#endif
