/* Help on the keys of the plan file. */
#ifndef MOEPLAN_CLI_HELP_MANUAL_KEY_H
#define MOEPLAN_CLI_HELP_MANUAL_KEY_H

#include "base/term.h"
#include "cli/command/command.h"
#include "cli/option/keys.h"

/* One key: what it means, type, unit, default, limits, choices, where it stands. */
void manual_key(const struct key_row *row, FILE *out, const struct term *term,
                struct arena *arena);

/* A table of keys, all of them or a group's, in the call's format. */
void manual_keys(const struct invocation *call, const struct key_row *rows, size_t n);

#endif
