/* What routing does: load under skew, rows dropped at a capacity, padding and intensity of
 * blocks. Load and drops are sweeps with columns of predict's JSON. */
#include <inttypes.h>

#include "cli/chart/sweep.h"
#include "cli/frontier/published.h"
#include "cli/frontier/rows.h"
#include "cli/option/plan_argument.h"
#include "sim/answer/predict.h"

/* A sweep over `over` with these columns, under this setting unless the user sweeps himself. */
struct routing_sweep {
    const char *over, *set;
    const char *const *columns; /* NULL-terminated */
    const char *published;      /* quantity to put beside it, or NULL */
};

static enum status make_sweep(const struct routing_sweep *sweep,
                              const struct chart_request *request, struct chart_names *names,
                              struct picture *p, struct err *err)
{
    struct invocation call = *request->call;
    struct chart_request inner = *request;
    const char *const defaults[] = {sweep->over, NULL};
    struct option_list columns = {0};
    struct frontier f;
    inner.call = &call;
    if (request->overs.n + request->cases.n == 0)
        option_list_add(&call.general.set, sweep->set, p->arena);
    for (size_t i = 0; sweep->columns[i]; i++)
        option_list_add(&columns, sweep->columns[i], p->arena);
    TRY(chart_frontier(&inner, defaults, &f, err));
    TRY(frontier_rows_few(sweep_points(&f.sweep), err));
    struct frontier_sink sink = {.kept = &p->data, .points = sweep_points(&f.sweep)};
    TRY(frontier_rows(&f, &columns, 0, &sink, err));
    if (sweep->published)
        TRY(frontier_published_value(&f, sweep->published, &p->published, err));
    *names = chart_names_of(&f.base, p->arena);
    names->source = arena_printf(p->arena,
                                 "moeplan " MOEPLAN_VERSION
                                 ": modelled routing of one layer and step; plan %s",
                                 f.base.name);
    return STATUS_OK;
}

/* One number along the bottom, and a value in some row of a column; `none` is the hint where
 * there is not one. */
static enum status read_sweep(const char *file, const char *column, const char *needs,
                              const char *none, struct picture *p, struct sweep_table *table,
                              struct err *err)
{
    const char *const columns[] = {column, NULL};
    struct csv csv;
    TRY(chart_table(file, columns, needs, p, &csv, err));
    TRY(sweep_table_parse(file, text_string(&p->data), p->data.length, p->arena, table, err));
    if (table->n_axes != 1 || !table->axes[0].numeric) {
        err_at(err, (struct mark){file, 1, 1}, "the chart runs over one number");
        return err_hint(err, "give one --over KEY=VALUES");
    }
    for (size_t row = 0; row < table->csv.n_rows; row++)
        if (csv_cell(&table->csv, row, column)[0])
            return STATUS_OK;
    err_at(err, (struct mark){file, 1, 1}, "no row has a value of %s", column);
    return err_hint(err, "%s", none);
}

static void add_sweep(const struct sweep_table *table, const struct chart_names *names,
                      const char *kind, const char *title, struct picture *p)
{
    p->chart.kind = kind;
    chart_titles(p, names, title);
    picture_text(p, "x_key", table->axes[0].name);
}

/* ---- load ---- */

static enum status make_load(const struct chart_request *request, struct chart_names *names,
                             struct picture *p, struct err *err)
{
    static const char *const columns[] = {
        "routing.rows_per_expert_p10", "routing.rows_per_expert_mean",
        "routing.rows_per_expert_max", "routing.rank_imbalance", NULL};
    static const struct routing_sweep sweep = {"moe.routing.alpha=0..2+0.25",
                                               "moe.routing.distribution=zipf", columns,
                                               "routing.rows_per_expert_p10"};
    return make_sweep(&sweep, request, names, p, err);
}

static enum status fill_load(const char *file, const struct chart_names *names,
                             struct picture *p, struct err *err)
{
    struct sweep_table table;
    TRY(read_sweep(file, "routing.rows_per_expert_max", chart_load.needs,
                   "it is for models with experts", p, &table, err));
    add_sweep(&table, names, "load", "rows per expert under skew", p);
    return STATUS_OK;
}

const struct chart_kind chart_load = {
    .name = "load",
    .summary = "rows per expert and the fullest rank under skew",
    .needs = "what `moeplan plot load -o FILE.csv` writes",
    .make = make_load,
    .fill = fill_load,
    .sweeps = true,
};

/* ---- drops ---- */

static enum status make_drops(const struct chart_request *request, struct chart_names *names,
                              struct picture *p, struct err *err)
{
    static const char *const columns[] = {"routing.drop_fraction", "routing.drop_fraction_p99",
                                          NULL};
    static const struct routing_sweep sweep = {"moe.capacity_factor=0.75..2+0.0625",
                                               "moe.path=capacity", columns, NULL};
    return make_sweep(&sweep, request, names, p, err);
}

static enum status fill_drops(const char *file, const struct chart_names *names,
                              struct picture *p, struct err *err)
{
    struct sweep_table table;
    TRY(read_sweep(file, "routing.drop_fraction", chart_drops.needs,
                   "it is for paths that drop: --set moe.path=capacity", p, &table, err));
    add_sweep(&table, names, "drops", "rows dropped for want of capacity", p);
    return STATUS_OK;
}

const struct chart_kind chart_drops = {
    .name = "drops",
    .summary = "share of rows dropped against the capacity factor",
    .needs = "what `moeplan plot drops -o FILE.csv` writes",
    .make = make_drops,
    .fill = fill_drops,
    .sweeps = true,
};

/* ---- padding ---- */

static enum status make_padding(const struct chart_request *request, struct chart_names *names,
                                struct picture *p, struct err *err)
{
    struct plan *plan = arena_alloc(p->arena, 1, sizeof *plan);
    struct prediction *prediction = arena_alloc(p->arena, 1, sizeof *prediction);
    const struct predict_options options = {0};
    struct origins origins;
    TRY(plan_argument_load(request->call, 0, plan, &origins, err));
    TRY(predict(plan, &options, p->arena, prediction, err));
    const struct intensity_report *r = &prediction->moe.intensity;
    *names = chart_names_of(plan, p->arena);
    names->source =
        arena_printf(p->arena,
                     "moeplan " MOEPLAN_VERSION ": expected padding, FLOP per byte of weights; "
                     "plan %s",
                     plan->name);
    text_append(&p->data, "block_size,blocks,padding,aif,ridge_flop_per_byte\n");
    if (!prediction->moe.has_intensity || !r->blocks[0].block) {
        err_set(err, STATUS_INPUT, "the experts of this plan are not computed in blocks");
        return err_hint(err, "this chart is for path blockwise: --set moe.path=blockwise");
    }
    for (size_t i = 0; i < BLOCK_CHOICES; i++) {
        const struct block_choice *b = &r->blocks[i];
        text_printf(&p->data, "%" PRIu64 ",%" PRIu64 ",%.6g,%.6g,%.6g\n", b->block, b->blocks,
                    b->padding, b->aif, r->ridge_flop_per_byte);
    }
    return STATUS_OK;
}

static enum status fill_padding(const char *file, const struct chart_names *names,
                                struct picture *p, struct err *err)
{
    static const char *const columns[] = {"block_size", "padding", "aif", "ridge_flop_per_byte",
                                          NULL};
    struct csv csv;
    TRY(chart_table(file, columns, chart_padding.needs, p, &csv, err));
    p->chart.kind = "padding";
    chart_titles(p, names, "padding and intensity of expert blocks");
    picture_number(p, "ridge", chart_number(&csv, 0, "ridge_flop_per_byte"));
    return STATUS_OK;
}

const struct chart_kind chart_padding = {
    .name = "padding",
    .summary = "padding and FLOP per byte of weights against the block size",
    .needs = "what `moeplan plot padding -o FILE.csv` writes",
    .make = make_padding,
    .fill = fill_padding,
};
