/* A sweep's rows for people, and what stands beside its CSV. */
#ifndef MOEPLAN_CLI_FRONTIER_TABLE_H
#define MOEPLAN_CLI_FRONTIER_TABLE_H

#include "cli/command/command.h"
#include "lib/frontier.h"

enum { FRONTIER_TABLE_POINTS = 20000 }; /* of a table, a chart or JSON */

/* Whether what is written is for people. */
bool frontier_is_table(const struct invocation *call);

/* Prints rows, given as CSV text, as an aligned table (GiB, verdicts coloured) or as JSON. */
enum status frontier_table(const struct text *rows, const struct invocation *call,
                           struct err *err);

/* FILE.json beside -o FILE.csv: version, plan, command's sweep and overrides. Nothing without a
 * regular output file. */
enum status frontier_provenance(const struct frontier *frontier, const struct invocation *call,
                                struct err *err);

#endif
