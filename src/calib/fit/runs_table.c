/* See runs_table.h. */
#include "calib/fit/runs_table.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "calib/table/printed_unit.h"
#include "calib/table/quantity.h"
#include "plan/data/published.h"
#include "plan/derive.h"
#include "sim/step/time.h"

static const struct known {
    const char *name;
    double (*rate)(const struct plan *plan, const struct step_time *step); /* NULL: a time */
} quantities[] = {
    {"time.step_s", NULL},
    {"time.tokens_per_s_per_device", time_tokens_per_s_per_device},
    {"time.tokens_per_s", time_tokens_per_s},
};

enum { N_QUANTITIES = sizeof quantities / sizeof *quantities };

static const char *const times[] = {"s", "ms", "us", NULL}, *const rates[] = {
                                                                "tokens/s", "Mtokens/s", NULL};

static const struct known *quantity_at(const struct csv *csv, size_t row)
{
    const char *name = csv_cell(csv, row, "quantity");
    for (size_t i = 0; name && i < N_QUANTITIES; i++)
        if (text_equal(name, quantities[i].name))
            return &quantities[i];
    return NULL;
}

bool runs_table_has_time(const struct csv *csv, size_t row)
{
    return quantity_at(csv, row) != NULL;
}

static struct mark line_of(const struct csv *csv, size_t row)
{
    return (struct mark){csv->file, csv->lines[row], 1};
}

static const char *cell(const struct csv *csv, size_t row, const char *column)
{
    const char *text = csv_cell(csv, row, column);
    return text ? text : "";
}

static bool is_one_of(const char *unit, const char *const *units)
{
    for (; *units; units++)
        if (text_equal(unit, *units))
            return true;
    return false;
}

enum status runs_table_seconds(const struct csv *csv, size_t row, const struct plan *plan,
                               double *seconds, struct err *err)
{
    const struct known *known = quantity_at(csv, row);
    const char *text = cell(csv, row, "published"), *unit = cell(csv, row, "unit");
    double value;
    if (!text[0]) {
        err_at(err, line_of(csv, row), "run '%s' has no value in 'published'",
               cell(csv, row, "row"));
        return err_hint(err, "leave out the lines of runs that were not measured");
    }
    if (!number_real(text, &value) || !(value > 0))
        return err_at(err, line_of(csv, row), "'%s' is no time or rate above 0", text);
    if (!is_one_of(unit, known->rate ? rates : times)) {
        err_at(err, line_of(csv, row), "%s '%s' has %s%s%s", known->name, text,
               unit[0] ? "the unit '" : "no unit", unit, unit[0] ? "'" : "");
        return err_hint(err, known->rate ? "tokens/s or Mtokens/s: whether of one device or of "
                                           "all the quantity says"
                                         : "s, ms or us");
    }
    const struct step_time one = {
        .step_s = 1, .tokens = step_tokens(plan) * (double)plan_micro_batches(plan)};
    *seconds = value * printed_unit(unit);
    if (known->rate)
        *seconds = known->rate(plan, &one) / *seconds;
    return STATUS_OK;
}

/* ---- what a table lacks ---- */

enum status runs_table_names(const struct csv *csv, struct err *err)
{
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *name = cell(csv, row, "quantity"), *near = quantity_near(name);
        if (quantity_find(name) || !near)
            continue;
        err_at(err, line_of(csv, row), "unknown quantity '%s'", name);
        return err_hint(err, "did you mean '%s'?", near);
    }
    return STATUS_OK;
}

enum status runs_table_lacks(const struct csv *csv, struct err *err)
{
    static const char *const columns[] = {"row", "set", "quantity", "published"};
    static const char described[] =
        "of runs: row,plan,set,quantity,published,unit; of kernels and collectives: "
        "models/README.md";
    const struct mark head = {csv->file, 1, 1};
    const char *missing = NULL;
    size_t had = csv_column(csv, "plan") != SIZE_MAX;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        bool has = csv_column(csv, columns[i]) != SIZE_MAX;
        had += has;
        missing = has || missing ? missing : columns[i];
    }
    if (csv->n_columns == 1 && strpbrk(csv->columns[0], ";\t")) {
        err_at(err, head, "the columns are not separated by commas");
        return err_hint(err, "write the table as CSV, numbers with a decimal point");
    }
    if (had < 2) {
        err_at(err, head,
               "these are not the columns of a table of runs, kernels or collectives");
        return err_hint(err, "%s", described);
    }
    if (missing) {
        err_at(err, head, "the table of runs has no column '%s'", missing);
        return err_hint(err, "its columns are row,plan,set,quantity,published,unit");
    }
    TRY(runs_table_names(csv, err));
    if (!csv->n_rows)
        return err_at(err, head, "the table has no rows");
    err_at(err, head, "no line of the table has a time, a rate or a peak");
    return err_hint(err, "quantity is time.step_s, time.tokens_per_s_per_device, "
                         "time.tokens_per_s or memory.allocated_bytes");
}
