/* A sweep's CSV read back; see sweep_table.h. */
#include "cli/frontier/sweep_table.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/number.h"
#include "base/unit.h"

static const char *cell(const struct csv *csv, size_t row, size_t column)
{
    return csv->cells[row * csv->n_columns + column];
}

/* The values seen so far, by hash: numbers of values from 1, 0 is free. A column may hold a
 * value of its own in every row. */
struct seen {
    size_t *slots, size; /* a power of two, twice the rows at least */
};

/* The slot of a value, or the free one it goes to. */
static size_t *seen_find(const struct seen *seen, const char *const *values, const char *value)
{
    uint64_t hash = hash_text(HASH_START, value);
    size_t i = (size_t)(hash ^ hash >> 32) & (seen->size - 1);
    while (seen->slots[i] && !text_equal(values[seen->slots[i] - 1], value))
        i = (i + 1) & (seen->size - 1);
    return &seen->slots[i];
}

/* Values in order of appearance. */
static void read_axis(const struct csv *csv, size_t column, struct arena *arena,
                      struct sweep_column *axis)
{
    struct seen seen = {.size = 16};
    while (seen.size < 2 * csv->n_rows)
        seen.size *= 2;
    seen.slots = arena_alloc(arena, seen.size, sizeof *seen.slots);
    *axis = (struct sweep_column){.name = csv->columns[column], .numeric = true};
    axis->values = arena_alloc(arena, csv->n_rows + 1, sizeof *axis->values);
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *value = cell(csv, row, column);
        size_t *slot = seen_find(&seen, axis->values, value);
        double number;
        if (*slot)
            continue;
        axis->values[axis->n_values++] = value;
        *slot = axis->n_values;
        axis->numeric = axis->numeric && number_real(value, &number);
    }
}

/* Columns of bytes hold numbers or nothing. */
static enum status check_bytes(const struct csv *csv, struct err *err)
{
    for (size_t column = 0; column < csv->n_columns; column++)
        for (size_t row = 0; text_ends(csv->columns[column], "_bytes") && row < csv->n_rows;
             row++) {
            double value;
            const char *text = cell(csv, row, column);
            if (!*text || number_real(text, &value))
                continue;
            struct mark mark = {csv->file, csv->lines[row], 1};
            return err_at(err, mark, "'%.64s' is no number of bytes, for '%s'", text,
                          csv->columns[column]);
        }
    return STATUS_OK;
}

enum status sweep_table_parse(const char *name, const char *text, size_t length,
                              struct arena *arena, struct sweep_table *table, struct err *err)
{
    struct sweep_table read = {0};
    TRY(csv_parse(name, text, length, arena, &read.csv, err));
    read.n_axes = csv_column(&read.csv, "verdict");
    bool sweep = read.n_axes >= 1 && read.n_axes <= SWEEP_TABLE_AXES &&
                 csv_column(&read.csv, "total_bytes") != SIZE_MAX && read.csv.n_rows > 0;
    if (!sweep) {
        err_at(err, (struct mark){name, 1, 1}, "these are no rows of a sweep");
        return err_hint(err, "`moeplan frontier -o FILE.csv` writes one: swept keys, verdict, "
                             "total_bytes, limit_bytes, ...");
    }
    TRY(check_bytes(&read.csv, err));
    for (size_t i = 0; i < read.n_axes; i++)
        read_axis(&read.csv, i, arena, &read.axes[i]);
    *table = read;
    return STATUS_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t sweep_table_gib(const struct sweep_table *table, const char *name, size_t room,
                       double *values, bool *more)
{
    size_t column = csv_column(&table->csv, name), n = 0;
    *more = false;
    for (size_t row = 0; column != SIZE_MAX && row < table->csv.n_rows; row++) {
        double value;
        if (!number_real(cell(&table->csv, row, column), &value))
            continue;
        value /= GIB;
        size_t i = 0;
        while (i < n && values[i] != value)
            i++;
        if (i == n && n == room)
            *more = true;
        else if (i == n)
            values[n++] = value;
    }
    qsort(values, n, sizeof *values, by_value);
    return n;
}
