/* What must hold of a text before libyaml sees it: UTF-8 without control characters; and the
 * one thing JSON has that libyaml does not read, pairs of \u surrogates. */
#ifndef MOEPLAN_PLAN_ENCODING_H
#define MOEPLAN_PLAN_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

/* STATUS_INPUT at the first byte that is not UTF-8 or is a control character; line and column
 * count characters. With `option` the place is the name alone. */
enum status encoding_check(const char *name, bool option, const char *text, size_t length,
                           struct err *err);

/* Printable UTF-8 on one line (no tab, no Unicode line break): what names and paths must be, so
 * that they stand in YAML, CSV and messages as they are. */
bool encoding_is_line(const char *text);

/* The first character that is not space is '{'. */
bool encoding_looks_json(const char *text, size_t length);

/* Copy of JSON text with every pair of surrogate escapes as one \UXXXXXXXX escape (so columns
 * after it on the same line are smaller by two); *length is updated. */
const char *encoding_join_surrogates(struct arena *arena, const char *text, size_t *length);

#endif
