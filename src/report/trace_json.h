/* Spans as a Chrome trace (JSON), which Perfetto and chrome://tracing open: a process for each
 * rank, a thread for each of its streams, times in microseconds to the nanosecond. The same
 * list gives the same bytes. */
#ifndef MOEPLAN_REPORT_TRACE_JSON_H
#define MOEPLAN_REPORT_TRACE_JSON_H

#include <stdio.h>

#include "base/span.h"
#include "report/provenance.h"

struct trace_view {
    const struct span_list *spans; /* sorted */
    const char *what;              /* "simulated", "measured" */
    const struct provenance *provenance;
};

void trace_print_json(const struct trace_view *view, FILE *out);

#endif
