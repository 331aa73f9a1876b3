/* The manual, generated from the tables: commands, options, exit statuses, keys. */
#ifndef MOEPLAN_CLI_HELP_MANUAL_H
#define MOEPLAN_CLI_HELP_MANUAL_H

#include "cli/command/command.h"

/* A few lines for `moeplan` alone. */
void manual_usage(FILE *out);

/* `moeplan help`; as JSON or CSV the table of commands. */
void manual_overview(const struct invocation *call);

/* `moeplan help <command>` and `moeplan <command> -h`; as JSON or CSV its options. */
void manual_command(const struct invocation *call, const struct command *command);

#endif
