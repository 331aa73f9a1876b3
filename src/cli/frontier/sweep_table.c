/* A sweep's CSV read back; see sweep_table.h. */
#include "cli/frontier/sweep_table.h"

#include <stdlib.h>

bool sweep_table_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0';
}

static const char *cell(const struct csv *csv, size_t row, size_t column)
{
    return csv->cells[row * csv->n_columns + column];
}

/* Values in order of appearance; neighbours repeat, so the last one seen is tried first. */
static void read_axis(const struct csv *csv, size_t column, struct arena *arena,
                      struct sweep_column *axis)
{
    size_t capacity = 0, last = 0;
    *axis = (struct sweep_column){.name = csv->columns[column], .numeric = true};
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *value = cell(csv, row, column);
        double number;
        if (axis->n_values && text_equal(axis->values[last], value))
            continue;
        for (last = 0; last < axis->n_values; last++)
            if (text_equal(axis->values[last], value))
                break;
        if (last < axis->n_values)
            continue;
        size_t used = axis->n_values ? axis->n_values + 1 : 0; /* with the NULL behind them */
        axis->values = arena_grow(arena, axis->values, used, &capacity, sizeof value);
        axis->values[axis->n_values++] = value;
        axis->values[axis->n_values] = NULL;
        axis->numeric = axis->numeric && sweep_table_number(value, &number);
    }
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
        err_at(err, STATUS_INPUT, (struct mark){name, 1, 1}, "these are no rows of a sweep");
        return err_hint(err, "`moeplan frontier -o FILE.csv` writes one: swept keys, verdict, "
                             "total_bytes, limit_bytes, ...");
    }
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
        if (!sweep_table_number(cell(&table->csv, row, column), &value))
            continue;
        value /= 1024.0 * 1024 * 1024;
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
