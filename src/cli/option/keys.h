/* The keys of the plan file as rows of text, for help, list and completion. */
#ifndef MOEPLAN_CLI_OPTION_KEYS_H
#define MOEPLAN_CLI_OPTION_KEYS_H

#include "base/column.h"
#include "plan/schema/schema.h"

struct key_row {
    const char *key, *group;
    const char *type;     /* "whole number" */
    const char *unit;     /* "bytes", or NULL */
    const char *fallback; /* NULL: required */
    const char *shown;    /* the default for people: "(required)", "(empty)" */
    const char *limits;   /* "1 to 64", "at least 0", or NULL */
    const char *choices;  /* "a, b, c", or NULL */
    const char *read;     /* "when moe.path is capacity", or NULL: always */
    const char *help;
    const struct field *field;
};

/* All keys, in the order of the field table; memory from the arena. */
struct key_row *key_rows(struct arena *arena, size_t *n);

const struct column *key_columns(size_t *n); /* every member: JSON and CSV */
const struct column *key_table(size_t *n);   /* what fits a line of text */

/* The row a user means: the key itself, or the only key that ends in ".<name>". NULL when there
 * is none, or several (then *ambiguous names them: "parallel.ep, x.ep"). */
const struct key_row *key_find(const struct key_row *rows, size_t n, const char *name,
                               struct text *ambiguous);

/* Rows of a group ("moe", "moe.routing", "model"), which are neighbours; 0 when there is no
 * such group. */
size_t key_group(const struct key_row *rows, size_t n, const char *group, size_t *first);

/* Appends the keys that contain the name: "moe.capacity_factor, moe.capacity_scope". */
void key_mentions(const struct key_row *rows, size_t n, const char *name, struct text *out);

/* The nearest key or group, or NULL. */
const char *key_nearest(const struct key_row *rows, size_t n, const char *name);

#endif
