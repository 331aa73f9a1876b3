/* Extra columns of a sweep: any number that predict's JSON holds once per plan. */
#ifndef MOEPLAN_CLI_FRONTIER_COLUMNS_H
#define MOEPLAN_CLI_FRONTIER_COLUMNS_H

#include "base/column.h"
#include "cli/frontier/csv.h"
#include "sim/answer/predict.h"

enum { FRONTIER_COLUMNS = 16, FRONTIER_COLUMN_ROOM = 96 };

struct frontier_columns {
    const struct frontier_csv *csv;
    size_t n;
    const char *keys[FRONTIER_COLUMNS]; /* "padding.allocated_factor" */
    const struct column *columns[FRONTIER_COLUMNS];
    size_t offsets[FRONTIER_COLUMNS]; /* of the column's record in struct prediction */
    bool (*present[FRONTIER_COLUMNS])(const struct prediction *prediction); /* NULL: always */
    bool pointed[FRONTIER_COLUMNS]; /* the record is pointed to there; NULL: absent */
    bool time, spread;              /* any is of time; is a percentile over routing */
};

/* Finds the keys in the tables that print predict's JSON. STATUS_USAGE with the nearest key. */
enum status frontier_columns_init(struct frontier_columns *extra,
                                  const struct frontier_csv *csv, const char *const *keys,
                                  size_t n, struct err *err);

/* Appends the keys to a header line that ends in a newline. */
void frontier_columns_header(const struct frontier_columns *extra, struct text *header);

/* Bytes that the extra fields of a row take at most. */
size_t frontier_columns_room(const struct frontier_columns *extra);

/* A sweep_row: the plain row, then the extra fields from a whole prediction of the plan (empty
 * where it does not apply). Context: a struct frontier_columns. */
size_t frontier_columns_row(const void *context, const size_t indices[SWEEP_AXES],
                            const struct plan *plan, const struct evaluation *result, char *out,
                            size_t room);

#endif
