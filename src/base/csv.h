/* CSV tables with a header line: published measurements, traces, own results read back.
 *
 * Commas, double quotes around cells that need them ("" is a quote), LF or CRLF. Every row has
 * as many cells as the header; an empty cell is "". Everything lives in the arena. At most 4096
 * columns and 16 Mi cells. */
#ifndef MOEPLAN_BASE_CSV_H
#define MOEPLAN_BASE_CSV_H

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct csv {
    const char *file; /* as given, for messages */
    size_t n_columns;
    const char **columns; /* [n_columns] names of the header */
    size_t n_rows;
    const char **cells; /* [n_rows][n_columns] */
    uint32_t *lines;    /* [n_rows] line of the file each row starts at, from 1 */
};

/* Reads a file. STATUS_INPUT with file:line for what is not such a table, and when the file
 * cannot be opened or is larger than 64 MiB. */
enum status csv_read(const char *file, struct arena *arena, struct csv *csv, struct err *err);

/* The same from text in memory; `file` is the name in messages. */
enum status csv_parse(const char *file, const char *text, size_t length, struct arena *arena,
                      struct csv *csv, struct err *err);

/* Column with this name, or SIZE_MAX. */
size_t csv_column(const struct csv *csv, const char *name);

/* Cell of a row by column name; NULL when there is no such column. */
const char *csv_cell(const struct csv *csv, size_t row, const char *name);

#endif
