/* The manual, generated from the tables: commands, options, exit statuses, keys. */
#ifndef MOEPLAN_CLI_MANUAL_H
#define MOEPLAN_CLI_MANUAL_H

#include "cli/command.h"

/* A few lines for `moeplan` alone. */
void manual_usage(FILE *out);

/* `moeplan help`. */
void manual_overview(FILE *out, const struct term *term, struct arena *arena);

/* `moeplan help <command>` and `moeplan <command> -h`. */
void manual_command(const struct command *command, FILE *out, const struct term *term,
                    struct arena *arena);

#endif
