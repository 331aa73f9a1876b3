/* Runs, constants and errors of a calibration on whole steps; see runs.h. */
#include "report/calibrate/runs.h"

#include <math.h>

#include "base/column.h"
#include "calib/fit/left_out.h"
#include "report/provenance.h"

#define MEMBER(record, name, member, kind, heading)                                            \
    {                                                                                          \
        .key = name, .type = kind, .offset = offsetof(struct record, member), .title = heading \
    }

static const struct column run_columns[] = {
    MEMBER(run_value, "row", row, COLUMN_TEXT, "run"),
    MEMBER(run_value, "measured_s", measured, COLUMN_SECONDS, "measured"),
    MEMBER(run_value, "before_s", before, COLUMN_SECONDS, "before"),
    MEMBER(run_value, "fitted_s", after, COLUMN_SECONDS, "fitted"),
    MEMBER(run_value, "configuration_out_s", left_out, COLUMN_SECONDS, "configuration out"),
    MEMBER(run_value, "model_out_s", model_out, COLUMN_SECONDS, "model out"),
};

static const struct column constant_columns[] = {
    MEMBER(run_constant, "name", name, COLUMN_TEXT, "constant"),
    MEMBER(run_constant, "before", before, COLUMN_REAL, NULL),
    MEMBER(run_constant, "value", value, COLUMN_REAL, NULL),
    MEMBER(run_constant, "low", low, COLUMN_REAL, NULL),
    MEMBER(run_constant, "high", high, COLUMN_REAL, NULL),
    MEMBER(run_constant, "note", note, COLUMN_TEXT, ""),
};

static bool has_held(const void *record)
{
    return !isnan(((const struct run_score *)record)->held_percent);
}

static bool has_width(const void *record)
{
    return !isnan(((const struct run_score *)record)->width_percent);
}

static const struct column score_columns[] = {
    MEMBER(run_score, "left_out", what, COLUMN_TEXT, "left out"),
    MEMBER(run_score, "values", score.n, COLUMN_COUNT, NULL),
    MEMBER(run_score, "median_percent", score.median, COLUMN_REAL, "median %"),
    MEMBER(run_score, "p90_percent", score.p90, COLUMN_REAL, "p90 %"),
    MEMBER(run_score, "mean_percent", score.mean, COLUMN_REAL, "mean %"),
    MEMBER(run_score, "max_percent", score.max, COLUMN_REAL, "max %"),
    MEMBER(run_score, "bias_percent", score.bias, COLUMN_REAL, "bias %"),
    MEMBER(run_score, "rank_correlation", score.rank, COLUMN_REAL, "rank"),
    {.key = "held_percent",
     .type = COLUMN_REAL,
     .offset = offsetof(struct run_score, held_percent),
     .present = has_held,
     .title = "held %"},
    {.key = "width_percent",
     .type = COLUMN_REAL,
     .offset = offsetof(struct run_score, width_percent),
     .present = has_width,
     .title = "half width %"},
};

/* Splits that had something to leave out: the last ones may not. */
static size_t n_scores(const struct run_calibration *c)
{
    size_t n = sizeof c->scores / sizeof *c->scores;
    while (n && !c->scores[n - 1].score.n)
        n--;
    return n;
}

/* A run that the profile misses by more than this is more likely of another unit: two of our
 * own tables' runs of one layout differ by 2.8 at most (models/README.md). */
static const double ASTRAY = 4;

/* The first run that is told so far off; NULL: none. */
static const struct run_value *astray(const struct run_calibration *c)
{
    for (size_t i = 0; i < c->n; i++) {
        double ratio = c->values[i].measured / c->values[i].before;
        if (fmax(ratio, 1 / ratio) > ASTRAY)
            return &c->values[i];
    }
    return NULL;
}

/* What to do about runs that say little, or less of one another than the profile did; NULL:
 * nothing. */
static const char *advice(const struct runs_view *view)
{
    const struct run_calibration *c = view->calibration;
    const struct run_value *run = astray(c);
    if (run)
        return arena_printf(view->arena,
                            "run %s took %.3g times what the profile tells: check its unit, "
                            "whether a rate is of one device or of all, and its plan",
                            run->row, run->measured / run->before);
    if (c->n_configurations < 2)
        return "one layout does not say how far off another is told: that stays what the "
               "profile said; take five or more";
    if (c->n_configurations < 3)
        return "two layouts do not say how far a profile is to be moved: take five or more";
    if (c->left_out.median >= c->before.median)
        return "the profile as it was predicts these runs no worse than they predict each "
               "other: keep it, or take more layouts, of one release";
    return NULL;
}

/* Of which lines nothing was taken; NULL: of none. */
static const char *repeats(const struct runs_view *view)
{
    size_t n = view->calibration->n_repeats;
    if (!n)
        return NULL;
    return arena_printf(view->arena,
                        "%zu %s a run of another line again (the same number of the same "
                        "layout, or the run as another quantity): counted once",
                        n, n > 1 ? "lines say" : "line says");
}

/* How wide a layout like these will be told, and by what; NULL: nobody says. */
static const char *width(const struct runs_view *view)
{
    const struct run_calibration *c = view->calibration;
    bool few = c->n_configurations < LEFT_OUT_FEW && c->known > 0;
    if (isnan(c->error))
        return NULL;
    if (c->n_configurations < 2)
        return arena_printf(view->arena,
                            "+-%.3g %% around a layout like this one (nominal 90 %%), as the "
                            "profile said before",
                            100 * c->error);
    return arena_printf(
        view->arena, "+-%.3g %% around a layout like these (nominal 90 %%), by %zu left out%s",
        100 * c->error, c->n_configurations,
        few ? arena_printf(view->arena,
                           " and the +-%.3g %% that the profile said before, "
                           "which counts as %d more",
                           100 * c->known, LEFT_OUT_KNOWN)
            : "");
}

static void print_line(const struct runs_view *view, const char *name, const char *text)
{
    if (text)
        fprintf(view->out, "\n%s: %s\n", name, text);
}

void runs_print_text(const struct runs_view *view)
{
    const struct run_calibration *c = view->calibration;
    const struct table values = TABLE_OF(run_columns, c->values, c->n),
                       constants = TABLE_OF(constant_columns, c->constants, c->n_constants),
                       scores = TABLE_OF(score_columns, c->scores, n_scores(c));
    fprintf(view->out, "seconds of a step, profile %s\n\n", c->profile->name);
    column_table(view->out, view->term, &values, view->arena);
    fprintf(view->out, "\nconstants that these runs move, interval nominal 90 %%\n\n");
    column_table(view->out, view->term, &constants, view->arena);
    fprintf(view->out, "\nerror on what was left out of the fit\n\n");
    column_table(view->out, view->term, &scores, view->arena);
    print_line(view, "interval", width(view));
    print_line(view, "repeated", repeats(view));
    print_line(view, "advice", advice(view));
    fputc('\n', view->out);
    provenance_text(view->out, view->term,
                    &(struct provenance){.seed = view->seed, .profile = c->profile->name});
}

void runs_print_json(const struct runs_view *view)
{
    const struct run_calibration *c = view->calibration;
    struct json json;
    const struct table lists[] = {TABLE_OF(constant_columns, c->constants, c->n_constants),
                                  TABLE_OF(score_columns, c->scores, n_scores(c)),
                                  TABLE_OF(run_columns, c->values, c->n)};
    static const char *const keys[] = {"constants", "errors", "runs"};
    json_init(&json, view->out);
    json_object(&json, NULL);
    provenance_json(&json,
                    &(struct provenance){.seed = view->seed, .profile = c->profile->name});
    json_string(&json, "table", view->table);
    if (advice(view))
        json_string(&json, "advice", advice(view));
    json_count(&json, "layouts", c->n_configurations);
    json_count(&json, "repeated_lines", c->n_repeats);
    json_real(&json, "error", c->error);
    if (c->known > 0)
        json_real(&json, "error_before", c->known);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        column_json_array(&json, keys[i], lists[i].columns, lists[i].n, lists[i].records,
                          lists[i].n_records, lists[i].record_size);
    json_close(&json);
}

void runs_print_csv(const struct runs_view *view)
{
    const struct run_calibration *c = view->calibration;
    const struct table values = TABLE_OF(run_columns, c->values, c->n);
    column_table_csv(view->out, &values);
}
