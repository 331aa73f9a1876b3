/* All commands, in the order in which help lists them. */
#ifndef MOEPLAN_CLI_COMMAND_COMMANDS_H
#define MOEPLAN_CLI_COMMAND_COMMANDS_H

#include "cli/command/command.h"

extern const struct command command_calibrate;
extern const struct command command_check;
extern const struct command command_claims;
extern const struct command command_compare;
extern const struct command command_explain;
extern const struct command command_export;
extern const struct command command_frontier;
extern const struct command command_help;
extern const struct command command_import;
extern const struct command command_list;
extern const struct command command_plot;
extern const struct command command_predict;
extern const struct command command_probe;
extern const struct command command_report;
extern const struct command command_run;
extern const struct command command_schema;
extern const struct command command_search;
extern const struct command command_show;
extern const struct command command_validate;

const struct command *const *commands_all(size_t *n);

/* The command of this name, or NULL. */
const struct command *commands_find(const char *name);

/* The nearest name, or NULL. */
const char *commands_nearest(const char *name);

#endif
