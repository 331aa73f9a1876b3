/* A sweep's CSV read back: which columns are axes, their values, the limits that occur.
 *
 * Charts are drawn from this, so that a sweep just made and one saved earlier look the same. */
#ifndef MOEPLAN_CLI_FRONTIER_SWEEP_TABLE_H
#define MOEPLAN_CLI_FRONTIER_SWEEP_TABLE_H

#include "base/csv.h"
#include "base/text.h"

enum { SWEEP_TABLE_AXES = 4 };

struct sweep_column {
    const char *name; /* the swept key, or "case" */
    size_t n_values;
    const char **values; /* in order of appearance; NULL-terminated */
    bool numeric;        /* all of them are numbers */
};

struct sweep_table {
    struct csv csv;
    size_t n_axes;
    struct sweep_column axes[SWEEP_TABLE_AXES]; /* the columns before "verdict" */
};

/* Reads rows; `name` stands for the file in messages. STATUS_INPUT when they are no sweep's. */
enum status sweep_table_parse(const char *name, const char *text, size_t length,
                              struct arena *arena, struct sweep_table *table, struct err *err);

/* The distinct values of a column of bytes, in GiB, upward; of at most `room`, with *more set
 * when there are others. Empty cells do not count. */
size_t sweep_table_gib(const struct sweep_table *table, const char *column, size_t room,
                       double *values, bool *more);

#endif
