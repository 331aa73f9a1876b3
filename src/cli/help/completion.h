/* Shell completion scripts generated from the tables. */
#ifndef MOEPLAN_CLI_HELP_COMPLETION_H
#define MOEPLAN_CLI_HELP_COMPLETION_H

#include <stdio.h>

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELL_NONE };

extern const char *const shell_names[]; /* NULL-terminated */

void completion_write(enum shell shell, FILE *out);

#endif
