/* What a prediction rests on besides the plan's own lines: limit, stack, defaults. */
#ifndef MOEPLAN_REPORT_PREDICT_ASSUMED_H
#define MOEPLAN_REPORT_PREDICT_ASSUMED_H

#include "plan/load.h"
#include "sim/predict.h"

const char *predict_assumed_limit(const struct plan *plan, struct arena *arena);
const char *predict_assumed_stack(const struct plan *plan, const struct memory_report *memory,
                                  struct arena *arena);
/* The measurements the stack's constants come from. */
const char *predict_assumed_profile(const struct plan *plan);

/* That kernels index the buffer with 64 bits. */
const char *predict_assumed_indices(const struct buffer_report *buffer, struct arena *arena);

/* What moe.path: auto stands for, with the stack's reason. */
const char *predict_assumed_path(const struct plan *plan, struct arena *arena);

/* Appends the keys that matter to this plan and were left at their default, "key value, ...".
 * Nothing when origins is NULL. */
void predict_assumed_defaults(const struct plan *plan, const struct origins *origins,
                              struct text *out);

#endif
