/* --trace FILE: spans as a Chrome trace, written beside its target and renamed. */
#ifndef MOEPLAN_CLI_COMMAND_TRACE_H
#define MOEPLAN_CLI_COMMAND_TRACE_H

#include "cli/command/command.h"
#include "report/trace_json.h"

/* Before the work is done: STATUS_INPUT when the call reads that file, STATUS_USAGE when it is
 * what -o writes. */
enum status trace_check(const struct invocation *call, const char *file, struct err *err);

/* STATUS_USAGE when a trace that is read is what -o writes. */
enum status trace_not_output(const struct invocation *call, const char *file, struct err *err);

enum status trace_write(const struct trace_view *view, const char *file, struct err *err);

#endif
