/* Tables of published runs (models/README.md): each row's plan, from its cells alone. */
#ifndef MOEPLAN_PLAN_DATA_PUBLISHED_H
#define MOEPLAN_PLAN_DATA_PUBLISHED_H

#include "base/csv.h"
#include "plan/read/load.h"

/* Whether a table has the columns of runs. */
bool published_is_runs(const struct csv *csv);

/* The row's cell `set`, "a=b c=d", as overrides in the arena. STATUS_INPUT at file:line. */
enum status published_sets(const struct csv *csv, size_t row, struct arena *arena,
                           struct override **sets, size_t *n, struct err *err);

/* Keys that count beside the rows' own, after them. */
struct published_sets {
    const struct override *items;
    size_t n;
};

/* The seed that they ask for; 1: none. */
uint64_t published_seed(const struct published_sets *sets);

/* STATUS_USAGE: what is said of such keys where a table is none of runs. */
enum status published_no_sets(const struct csv *csv, struct err *err);

/* The plan of a row: the file of its cell `plan`, below the folder that holds the table's
 * models/ (or, when the cell is empty, everything from `set`), with `set`. */
enum status published_plan(const struct csv *csv, size_t row, struct arena *arena,
                           struct plan *plan, struct err *err);

/* The same with keys of the caller's (NULL: none). */
enum status published_plan_with(const struct csv *csv, size_t row,
                                const struct published_sets *more, struct arena *arena,
                                struct plan *plan, struct err *err);

#endif
