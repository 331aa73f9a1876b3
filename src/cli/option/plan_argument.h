/* The plan that a command line names: its file, --set and --seed. */
#ifndef MOEPLAN_CLI_OPTION_PLAN_ARGUMENT_H
#define MOEPLAN_CLI_OPTION_PLAN_ARGUMENT_H

#include "cli/command/command.h"
#include "lib/request.h"
#include "plan/data/published.h"

/* Loads the plan of the call's operand `i` with every --set and --seed applied. Memory from the
 * call's arena. STATUS_USAGE for a --set that is not KEY=VALUE, STATUS_INPUT for the rest. */
enum status plan_argument_load(const struct invocation *call, size_t i, struct plan *plan,
                               struct origins *origins, struct err *err);

/* The same of a plan that layouts are searched for (request_load_searched). */
enum status plan_argument_load_searched(const struct invocation *call, size_t i,
                                        struct plan *plan, struct origins *origins,
                                        struct err *err);

/* The overrides alone, for commands that load plans themselves. */
enum status plan_argument_overrides(const struct invocation *call, struct override **overrides,
                                    size_t *n, struct err *err);

/* The same for the runs of a table. */
enum status plan_argument_sets(const struct invocation *call, struct published_sets *sets,
                               struct err *err);

/* Operand `i` read, which may be a framework's job file: what it was taken for and what it
 * says that is not modelled go to standard error. */
enum status plan_argument_request(const struct invocation *call, size_t i,
                                  struct request *request, struct err *err);

/* What a job was taken for and its warnings, on standard error. */
void plan_argument_notes(const struct job_result *job, const char *file);

#endif
