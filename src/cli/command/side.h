/* Files written beside the one that the user named: FILE.csv, FILE.gp, FILE.json.
 *
 * Nobody typed their names, so such a file replaces only what moeplan wrote there and nobody
 * changed since, and never what the call reads. --force lifts both. A script tells by its last
 * lines what was written with it, a table by the script beside it, a provenance file by its
 * members. */
#ifndef MOEPLAN_CLI_COMMAND_SIDE_H
#define MOEPLAN_CLI_COMMAND_SIDE_H

#include "base/json.h"
#include "base/text.h"
#include "cli/command/command.h"

/* A file that the user named, `option` how: STATUS_INPUT when the call reads it. */
enum status side_check_named(const struct invocation *call, const char *option,
                             const char *path, struct err *err);

/* Refuses -o FILE.yaml of a command that prints a report there, and writes YAML by `option`. */
enum status side_refuse_yaml(const struct invocation *call, const char *option,
                             struct err *err);

/* May this file be written? `script` is the chart's script, which speaks for its tables and for
 * itself; NULL for provenance. STATUS_INPUT with the reason. */
enum status side_check(const struct invocation *call, const char *path, const char *script,
                       struct err *err);

/* Checks and writes. A file that holds this text already is left as it is, also where it could
 * not be replaced. */
enum status side_write(const struct invocation *call, const char *path, const char *script,
                       const struct text *text, struct err *err);

/* FILE.json beside -o FILE.csv, which has no room for comments, and of an answer that is a list
 * of rows FILE.provenance.json beside -o FILE.json; nothing for other outputs. `write` adds the
 * members of its object, "command" among them. */
enum status side_provenance(const struct invocation *call, bool rows,
                            void (*write)(struct json *json, const void *context),
                            const void *context, struct err *err);

/* Whether that file may be written, before the work is done. */
enum status side_provenance_check(const struct invocation *call, bool rows, struct err *err);

/* Appends to a script that this table is written with it. */
void side_sign_table(struct text *script, const char *path, const struct text *table);

/* Appends the script's last line, by which a later call knows that nobody changed it. */
void side_sign(struct text *script);

/* Do two names stand for one file, whether it exists or not? */
bool side_same(const char *a, const char *b);

#endif
