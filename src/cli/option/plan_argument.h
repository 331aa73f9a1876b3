/* The plan that a command line names: its file, --set and --seed. */
#ifndef MOEPLAN_CLI_OPTION_PLAN_ARGUMENT_H
#define MOEPLAN_CLI_OPTION_PLAN_ARGUMENT_H

#include "cli/command/command.h"
#include "plan/job/job.h"
#include "plan/load.h"
#include "report/provenance.h"

/* Loads the plan of the call's operand `i` with every --set and --seed applied. Memory from the
 * call's arena. STATUS_USAGE for a --set that is not KEY=VALUE, STATUS_INPUT for the rest. */
enum status plan_argument_load(const struct invocation *call, size_t i, struct plan *plan,
                               struct origins *origins, struct err *err);

/* The overrides alone, for commands that load plans themselves. */
enum status plan_argument_overrides(const struct invocation *call, struct override **overrides,
                                    size_t *n, struct err *err);

/* The tree of operand `i`, which may be a framework's job file: what it was taken for and what
 * it says that is not modelled go to standard error. Overrides that the job has taken in are
 * left out. */
enum status plan_argument_tree(const struct invocation *call, size_t i,
                               struct override *overrides, size_t *n, struct node **root,
                               struct err *err);

/* What a job was taken for and its warnings, on standard error; all: what was not read too. */
void plan_argument_notes(const struct job_result *job, const char *file, bool all);

/* Where an error of a loaded plan belongs: where the key that its text names was set, in the
 * file or by an option, else where the key `otherwise` was, else the file. */
struct mark plan_argument_place(const struct invocation *call, size_t i,
                                const struct origins *origins, const char *text,
                                const char *otherwise);

/* The names that the outputs of a plan carry; they point into the plan. */
struct provenance plan_argument_provenance(const struct plan *plan);

#endif
