/* See validate_curves.h. */
#include "calib/validate/validate_curves.h"

#include <math.h>

#include "plan/read/catalog.h"

static const char control[] = "70 % roofline";

static enum status read_profile(const struct curve_family *family, struct arena *arena,
                                struct profile *profile, struct err *err)
{
    char *path;
    TRY(catalog_find(CATALOG_PROFILE, family->profile, NULL, arena, &path, err));
    return profile_read(path, arena, profile, err);
}

/* The error that the profile states for a family; 0 when it states none. */
static double stated_error(const struct curve_family *family, const struct profile *profile)
{
    const struct constant *c = profile_find(profile, family->of, PROFILE_ERROR, family->path,
                                            family->compute, PROFILE_ANY);
    return c ? profile_value(c, 0, NULL) : 0;
}

static void add_value(const struct curve_table *table, const struct curve_family *family,
                      const struct curve_value *value, const double *constants, double stated,
                      struct arena *arena, struct validation *out)
{
    double s = family->form->seconds(constants, &value->point);
    double control_s = family->form->roofline(&value->point), amount = value->amount;
    struct validated row = {.table = table->name,
                            .row = value->row,
                            .quantity = value->quantity,
                            .family = family->name,
                            .has_error = true,
                            .measured = amount > 0 ? amount / value->seconds : value->seconds,
                            .value = amount > 0 ? amount / s : s,
                            .control = amount > 0 ? amount / control_s : control_s};
    row.published = validation_number(row.measured, arena);
    row.predicted = validation_number(row.value, arena);
    row.error_percent = 100 * (row.value / row.measured - 1);
    row.low = row.value / (1 + stated);
    row.high = stated < 1 ? row.value / (1 - stated) : HUGE_VAL;
    row.verdict = fabs(row.error_percent) <= 100 * stated ? VALIDATE_AGREES : VALIDATE_DIFFERS;
    validation_add(out, &row, arena);
}

static enum status add_family(const struct curve_table *table,
                              const struct curve_family *family, struct arena *arena,
                              struct validation *out, struct err *err)
{
    struct profile profile;
    double constants[CURVE_CONSTANTS];
    size_t first = out->n;
    TRY(read_profile(family, arena, &profile, err));
    TRY(curve_constants(family, &profile, constants, err));
    double stated = stated_error(family, &profile);
    for (size_t i = 0; i < family->n; i++)
        add_value(table, family, &table->values[family->values[i]], constants, stated, arena,
                  out);
    struct validated_summary *summary = validation_summarise(out, first, family->name, arena);
    summary->constants = family->form->n_constants;
    summary->control_name = control;
    return STATUS_OK;
}

enum status validate_curves(const struct csv *csv, struct arena *arena, struct validation *out,
                            struct err *err)
{
    struct curve_table table;
    size_t first = out->n, n_constants = 0;
    TRY(curve_read(csv, arena, &table, err));
    for (size_t f = 0; f < table.n_families; f++) {
        TRY(add_family(&table, &table.families[f], arena, out, err));
        n_constants += table.families[f].form->n_constants;
    }
    if (table.n_families > 1) {
        struct validated_summary *all = validation_summarise(out, first, NULL, arena);
        all->constants = n_constants;
        all->control_name = control;
    }
    return STATUS_OK;
}
