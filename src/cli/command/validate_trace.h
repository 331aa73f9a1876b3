/* validate --trace: a plan's step beside a trace of torch.profiler. */
#ifndef MOEPLAN_CLI_COMMAND_VALIDATE_TRACE_H
#define MOEPLAN_CLI_COMMAND_VALIDATE_TRACE_H

#include "cli/command/command.h"
#include "report/schema_json.h"

/* The call's one operand is the plan. steps 0: as the trace marks them. */
enum status validate_trace(const struct invocation *call, const char *file, uint64_t steps,
                           struct err *err);

extern const struct schema_part validate_trace_parts[]; /* of its JSON */

#endif
