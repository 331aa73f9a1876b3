/* Predictions against measurements; see scatter.h. */
#include "cli/chart/scatter.h"

#include <math.h>

#include "base/column.h"
#include "base/text.h"
#include "cli/chart/chart.h"

/* The unit that a quantity's name ends in. */
static const struct unit_name {
    const char *ending, *unit;
} units[] = {
    {"flop_per_s", "FLOP/s"},
    {"bytes_per_s", "bytes/s"},
    {"tokens_per_s_per_device", "tokens/s per device"},
    {"tokens_per_s", "tokens/s"},
    {"_bytes", "bytes"},
    {"_s", "s"},
    {"", "as named"},
};

enum { N_UNITS = sizeof units / sizeof *units };

static size_t unit_of(const struct validated *row)
{
    size_t i = 0;
    while (!text_ends(row->quantity, units[i].ending))
        i++;
    return i;
}

static bool has_pair(const struct validated *row)
{
    return row->has_error && row->measured > 0 && row->value > 0;
}

static size_t most_common(const struct validation *v)
{
    size_t count[N_UNITS] = {0}, best = 0;
    for (size_t i = 0; i < v->n; i++)
        count[unit_of(&v->rows[i])] += has_pair(&v->rows[i]);
    for (size_t i = 1; i < N_UNITS; i++)
        best = count[i] > count[best] ? i : best;
    return count[best] ? best : N_UNITS;
}

/* Families in order of appearance, NULL-terminated. */
static void add_family(const char **families, size_t *n, size_t room, const char *family)
{
    for (size_t i = 0; i < *n; i++)
        if (text_equal(families[i], family))
            return;
    if (*n < room)
        families[(*n)++] = family;
}

enum status chart_scatter(const struct validation *v, struct picture *p, struct err *err)
{
    enum { FAMILIES = 64 };
    const char **families = arena_alloc(p->arena, FAMILIES + 1, sizeof *families);
    size_t unit = most_common(v), n = 0, shown = 0;
    double low = HUGE_VAL, high = 0;
    if (unit == N_UNITS)
        return err_set(err, STATUS_INPUT, "no number here has a prediction to draw");
    text_append(&p->data, "table,family,row,published,predicted\n");
    for (size_t i = 0; i < v->n; i++) {
        const struct validated *row = &v->rows[i];
        if (!has_pair(row) || unit_of(row) != unit)
            continue;
        add_family(families, &n, FAMILIES, row->family);
        text_printf(&p->data, "%s,%s,%s,%.6g,%.6g\n", row->table, row->family, row->row,
                    row->measured, row->value);
        low = fmin(low, fmin(row->measured, row->value));
        high = fmax(high, fmax(row->measured, row->value));
        shown++;
    }
    const struct chart_names names = {
        .subject = arena_printf(p->arena, "%zu values", shown),
        .source = "moeplan validate: constants of the profiles that the rows name"};
    p->chart.kind = "scatter";
    chart_titles(p, &names, "predicted against measured");
    picture_list(p, "families", families);
    picture_text(p, "unit", units[unit].unit);
    picture_number(p, "low", low / 1.5);
    picture_number(p, "high", high * 1.5);
    return STATUS_OK;
}
