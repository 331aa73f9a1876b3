/* The ops of a layer under the device's roofs: what they reach by the profile, and their share
 * of the layer's time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/chart/ops.h"

/* An op of the forward with its recomputation and its backward. */
struct share {
    const char *op;
    double seconds;
};

static int by_seconds(const void *a, const void *b)
{
    const struct share *x = a, *y = b;
    return x->seconds < y->seconds ? 1 : x->seconds > y->seconds ? -1 : strcmp(x->op, y->op);
}

/* Ops with FLOPs and bytes, the longest first, in *n; *other: seconds of all else, which has no
 * place under a roof of FLOP/s. */
static struct share *shares_of(const struct csv *csv, struct arena *arena, size_t *n,
                               double *other)
{
    struct share *list = arena_alloc(arena, csv->n_rows + 1, sizeof *list);
    *n = 0;
    *other = 0;
    for (size_t row = 0; row < csv->n_rows; row++) {
        const char *op = csv_cell(csv, row, "forward_op");
        double seconds = chart_number(csv, row, "duration_s");
        size_t i = 0;
        if (chart_number(csv, row, "flop_per_byte") <= 0) {
            *other += seconds;
            continue;
        }
        while (i < *n && !text_equal(list[i].op, op))
            i++;
        *n += i == *n;
        list[i].op = op;
        list[i].seconds += seconds;
    }
    if (*n)
        qsort(list, *n, sizeof *list, by_seconds);
    return list;
}

static void add_ops(const struct share *shares, size_t n, double whole, struct picture *p)
{
    const char **ops = arena_alloc(p->arena, n + 1, sizeof *ops);
    const char **titles = arena_alloc(p->arena, n + 1, sizeof *titles);
    for (size_t i = 0; i < n; i++) {
        ops[i] = shares[i].op;
        titles[i] = arena_printf(p->arena, "%zu %s %.1f %%", i + 1, shares[i].op,
                                 whole > 0 ? 100 * shares[i].seconds / whole : 0);
    }
    picture_list(p, "ops", ops);
    picture_list(p, "op_titles", titles);
}

/* Where an op's forward stands; both axes are logarithmic and span some decades. */
static struct chart_place place_of(const struct csv *csv, const char *op)
{
    const double decades_x = 3.5, decades_y = 2.2;
    struct chart_place place = {-1, -1};
    for (size_t row = 0; row < csv->n_rows; row++)
        if (text_equal(csv_cell(csv, row, "forward_op"), op) &&
            text_equal(csv_cell(csv, row, "phase"), "forward"))
            place =
                (struct chart_place){log10(chart_number(csv, row, "flop_per_byte")) / decades_x,
                                     log10(chart_number(csv, row, "flop_per_s")) / decades_y};
    return place;
}

static void add_numbers(const struct csv *csv, const struct share *shares, size_t n,
                        struct picture *p)
{
    struct chart_place *places = arena_alloc(p->arena, n, sizeof *places);
    for (size_t i = 0; i < n; i++)
        places[i] = place_of(csv, shares[i].op);
    picture_list(p, "op_words", chart_numbered(places, n, p->arena));
}

/* Ops run beside one another: their shares are more than the whole. */
static bool is_more(const struct share *shares, size_t n, double other, double whole)
{
    for (size_t i = 0; i < n; i++)
        other += shares[i].seconds;
    return other > 1.001 * whole;
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {
        "forward_op",         "phase",      "flop_per_byte", "flop_per_s", "peak_flop_per_s",
        "memory_bytes_per_s", "duration_s", "layer_s",       "layer",      NULL};
    struct csv csv;
    size_t n;
    double other;
    TRY(chart_table(file, columns, chart_roofline.needs, p, &csv, err));
    const struct share *shares = shares_of(&csv, p->arena, &n, &other);
    double whole = chart_number(&csv, 0, "layer_s");
    if (!n)
        return err_at(err, (struct mark){file, 1, 1}, "no op of this layer computes anything");
    p->chart.kind = "roofline";
    chart_titles(p, names,
                 arena_printf(p->arena, "ops of one %s, rate and share of time",
                              csv_cell(&csv, 0, "layer")));
    add_ops(shares, n, whole, p);
    add_numbers(&csv, shares, n, p);
    picture_text(p, "other_title",
                 arena_printf(p->arena, "without FLOPs %.1f %%%s",
                              whole > 0 ? 100 * other / whole : 0,
                              is_more(shares, n, other, whole) ? ", some beside" : ""));
    picture_number(p, "layer_s", whole);
    picture_number(p, "peak", chart_number(&csv, 0, "peak_flop_per_s"));
    picture_number(p, "bandwidth", chart_number(&csv, 0, "memory_bytes_per_s"));
    return STATUS_OK;
}

const struct chart_kind chart_roofline = {
    .name = "roofline",
    .summary = "the layer's ops under the device's roofs: what they reach, share of time",
    .needs = "what `moeplan plot roofline -o FILE.csv` writes",
    .make = chart_ops_sums,
    .fill = fill,
};
