/* The sweep that a command line asks for. */
#ifndef MOEPLAN_CLI_FRONTIER_CALL_H
#define MOEPLAN_CLI_FRONTIER_CALL_H

#include "cli/command/command.h"
#include "lib/frontier.h"

/* The plan of the call's first operand, swept over these; see lib/frontier.h. */
enum status frontier_of_call(struct frontier *frontier, const struct invocation *call,
                             const struct option_list *cases, const struct option_list *overs,
                             struct err *err);

#endif
