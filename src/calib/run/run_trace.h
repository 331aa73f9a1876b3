/* Steps of a run along time, as they were performed: a track for each process, on which all of
 * its ranks perform an op together. */
#ifndef MOEPLAN_CALIB_RUN_RUN_TRACE_H
#define MOEPLAN_CALIB_RUN_RUN_TRACE_H

#include "base/span.h"
#include "exec/execute.h"

enum { RUN_TRACE_STEPS = 3 };

/* Performs a few steps more of an execution that has begun, and appends what ran when, from the
 * first one's beginning on by each process's own clock. Every process of a group gets the spans
 * of all. Memory from the list's arena. */
enum status run_trace(struct execution *x, struct span_list *out, struct err *err);

#endif
