/* Whole steps through the predictor; see calibrate_runs.h. */
#include "calib/fit/calibrate_runs.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"
#include "base/text.h"
#include "calib/fit/left_out.h"
#include "calib/fit/runs_fit.h"
#include "calib/fit/runs_table.h"
#include "plan/schema/schema.h"
#include "sim/step/interval.h"

enum { NESTED = 6 }; /* folds of many configurations */

bool calibrate_is_runs(const struct csv *csv)
{
    if (!published_is_runs(csv))
        return false;
    for (size_t row = 0; row < csv->n_rows; row++)
        if (runs_table_has_time(csv, row))
            return true;
    return false;
}

/* ---- reading runs ---- */

static bool is_chosen(const struct plan *plan, const struct run_choice *choice)
{
    char name[PLAN_NAME];
    profile_device(plan, name);
    return (!choice->stack || text_equal(words_stack[plan->stack.kind], choice->stack)) &&
           (!choice->device || text_equal(name, choice->device)) &&
           (!choice->model || text_equal(plan->model.name, choice->model));
}

static uint32_t number_of(const char **seen, uint32_t *n, const char *text)
{
    for (uint32_t i = 0; i < *n; i++)
        if (text_equal(seen[i], text))
            return i;
    seen[*n] = text;
    return (*n)++;
}

struct reading {
    struct fitter *f;
    struct profiles profiles;
    const char **configurations, **models;
    uint32_t n_configurations, n_models;
    size_t n_repeats;
};

/* Plans alike but for what they are called. */
static bool is_same(const struct plan *one, const struct plan *other)
{
    const size_t from = offsetof(struct plan, model);
    return memcmp((const char *)one + from, (const char *)other + from, sizeof *one - from) ==
           0;
}

/* Runs alike have one layout: one plan and settings, or others that come to the same. */
static uint32_t configuration_of(struct reading *r, const struct csv *csv, size_t row)
{
    struct fitter *f = r->f;
    const char *plan = csv_cell(csv, row, "plan"), *set = csv_cell(csv, row, "set");
    for (size_t i = 0; i < f->n; i++)
        if (is_same(&f->runs[i].plan, &f->runs[f->n].plan))
            return f->runs[i].configuration;
    return number_of(r->configurations, &r->n_configurations,
                     arena_printf(f->arena, "%s %s", plan ? plan : "", set));
}

/* What says nothing new of a layout: the same number once more, a line that was copied, and a
 * run of the same name as another quantity, its time beside its rate. */
static bool is_repeat(const struct fitter *f, const struct run_value *value,
                      uint32_t configuration)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct run_value *other = &f->values[i];
        bool copied = !(fabs(other->measured - value->measured) > 0);
        bool again =
            text_equal(other->row, value->row) && !text_equal(other->quantity, value->quantity);
        if (f->runs[i].configuration == configuration && (copied || again))
            return true;
    }
    return false;
}

static enum status open_run(struct reading *r, struct step_run *run, struct err *err)
{
    struct fitter *f = r->f;
    TRY(stepper_build(&run->stepper, &run->plan, f->base, f->arena, err));
    return time_demand(&run->stepper.plan, &run->stepper.pricing.rates, NULL, f->arena,
                       &run->demand, &run->any, err);
}

static enum status read_run(struct reading *r, const struct csv *csv, size_t row,
                            const struct run_choice *choice, struct err *err)
{
    struct fitter *f = r->f;
    struct step_run *run = &f->runs[f->n];
    struct run_value *value = &f->values[f->n];
    const struct profile *profile;
    TRY(published_plan_with(csv, row, choice->sets, f->arena, &run->plan, err));
    if (!is_chosen(&run->plan, choice))
        return STATUS_OK;
    TRY(profiles_get(&r->profiles, &run->plan, &profile, err));
    if (f->base && profile != f->base) {
        err_at(err, (struct mark){csv->file, csv->lines[row], 1},
               "this run has the profile '%s', those before it '%s'", profile->name,
               f->base->name);
        return err_hint(err, "choose with --stack and --device, or set stack.profile");
    }
    f->base = profile;
    TRY(runs_table_seconds(csv, row, &run->plan, &value->measured, err));
    value->row = csv_cell(csv, row, "row");
    value->quantity = csv_cell(csv, row, "quantity");
    value->configuration = csv_cell(csv, row, "set");
    run->configuration = configuration_of(r, csv, row);
    if (is_repeat(f, value, run->configuration)) {
        r->n_repeats++;
        return STATUS_OK;
    }
    TRY(open_run(r, run, err));
    value->model = run->plan.model_name;
    run->model = number_of(r->models, &r->n_models, value->model);
    f->n++;
    return STATUS_OK;
}

static enum status read_runs(struct reading *r, const struct csv *csv,
                             const struct run_choice *choice, struct err *err)
{
    struct fitter *f = r->f;
    size_t most = csv->n_rows + 1;
    f->runs = arena_alloc(f->arena, most, sizeof *f->runs);
    f->values = arena_alloc(f->arena, most, sizeof *f->values);
    r->configurations = arena_alloc(f->arena, most, sizeof *r->configurations);
    r->models = arena_alloc(f->arena, most, sizeof *r->models);
    TRY(runs_table_names(csv, err));
    for (size_t row = 0; row < csv->n_rows; row++)
        if (runs_table_has_time(csv, row))
            TRY(read_run(r, csv, row, choice, err));
    if (f->n)
        return STATUS_OK;
    return err_set(err, STATUS_INPUT, "no run of this table is of %s%s%s%s%s",
                   choice->stack ? choice->stack : "any stack", choice->device ? " on " : "",
                   choice->device ? choice->device : "", choice->model ? " with " : "",
                   choice->model ? choice->model : "");
}

/* Predicts what was left out by fits without it; their constants for the jackknife. */
static void leave_out(struct fitter *f, enum leave leave, uint32_t n, struct fit_result *fits)
{
    for (uint32_t which = 0; which < n; which++) {
        const struct left left = {.leave = leave, .which = which};
        fitter_fit(f, &left, &fits[which]);
        fitter_move(f, fits[which].constants);
        for (size_t i = 0; i < f->n; i++)
            if (fitter_is_left(&f->runs[i], &left))
                *(leave == LEAVE_MODEL ? &f->values[i].model_out : &f->values[i].left_out) =
                    fitter_seconds(f, i);
    }
}

static void list_constants(struct fitter *f, const struct fit_result *all,
                           const struct fit_result *fits, uint32_t g,
                           struct run_calibration *out)
{
    out->constants = arena_alloc(f->arena, f->n_moved + 1, sizeof *out->constants);
    out->factors = arena_alloc(f->arena, f->n_moved + 1, sizeof *out->factors);
    out->n_constants = f->n_moved;
    out->moved = f->moved;
    for (size_t k = 0; k < f->n_moved; k++) {
        struct stat logs = {0};
        for (uint32_t i = 0; i < g; i++)
            stat_add(&logs, log(fitter_factor(f, fits[i].constants, k)));
        /* a normal's, as a fit that begins at what is written takes it for (runs_fit) */
        double sd = g > 1 ? sqrt((g - 1) * stat_variance(&logs)) : f->spread[k];
        double reach = STAT_NINETY * sd;
        double before = f->moved[k]->y[0], factor = fitter_factor(f, all->constants, k);
        struct fit_bound bound = fitter_bound(f->moved[k]);
        out->factors[k] = factor;
        out->constants[k] =
            (struct run_constant){.name = profile_constant_name(f->moved[k], f->arena),
                                  .before = before,
                                  .value = before * factor,
                                  .low = before * fmax(factor * exp(-reach), bound.low),
                                  .high = before * fmin(factor * exp(reach), bound.high),
                                  .note = all->at_bound[k] ? "at its bound" : NULL};
    }
}

static struct score score(const struct fitter *f, size_t offset)
{
    double *value = arena_alloc(f->arena, f->n + 1, sizeof *value);
    for (size_t i = 0; i < f->n; i++)
        memcpy(&value[i], (const char *)&f->values[i] + offset, sizeof *value);
    return score_of(f->measured, value, f->n, f->arena);
}

/* How far off the profile said that plans like these are told, whatever a run of another site
 * shows: the widest of them. */
static double known_error(const struct fitter *f)
{
    double known = 0;
    for (size_t i = 0; i < f->n; i++)
        known = fmax(known, time_error(f->base, &f->runs[i].stepper.plan, NULL));
    return known;
}

/* Errors of every pair of groups by fits without both. */
static void fit_pairs(struct fitter *f, const uint32_t *group, uint32_t folds,
                      struct left_out_pairs *pairs)
{
    struct fit_result fit;
    left_out_open(pairs, group, f->n, folds, f->arena);
    for (uint32_t a = 0; a < folds && folds > 2; a++)
        for (uint32_t b = a + 1; b < folds; b++) {
            const struct left left = {LEAVE_FOLDS, a, b, folds};
            fitter_fit(f, &left, &fit);
            fitter_move(f, fit.constants);
            for (size_t i = 0; i < f->n; i++)
                if (group[i] == a || group[i] == b)
                    pairs->error[group[i] == a ? b : a][i] =
                        left_out_error(fitter_seconds(f, i), f->values[i].measured);
        }
}

/* Configurations err alike or not, each counted by itself where they are few; folds of many
 * keep it short. Of one nobody knows how far off another is told: what was said before holds.
 */
static void judge_error(struct fitter *f, uint32_t n, bool pairwise,
                        struct run_calibration *out)
{
    uint32_t folds = n < LEFT_OUT_FEW ? n : NESTED;
    struct left_out_pairs pairs;
    uint32_t *group = arena_alloc(f->arena, f->n + 1, sizeof *group);
    double *error = arena_alloc(f->arena, f->n + 1, sizeof *error);
    out->known = known_error(f);
    const struct left_out_rule rule = left_out_rule_of(n, out->known);
    for (size_t i = 0; i < f->n; i++) {
        group[i] = f->runs[i].configuration % folds;
        error[i] = left_out_error(f->values[i].left_out, f->values[i].measured);
    }
    out->error = left_out_width(error, group, f->n, UINT32_MAX, rule, f->arena);
    out->held = (double)NAN;
    if (!pairwise)
        return;
    fit_pairs(f, group, folds, &pairs);
    out->held = left_out_held(&pairs, error, rule, f->arena);
}

static void run_fits(struct fitter *f, struct reading *r, enum run_depth depth,
                     struct run_calibration *out)
{
    struct fit_result all;
    struct fit_result *fits = arena_alloc(f->arena, r->n_configurations + 1, sizeof *fits);
    struct fit_result *models = arena_alloc(f->arena, r->n_models + 1, sizeof *models);
    uint32_t n = depth <= RUN_LEFT_OUT ? r->n_configurations : 1;
    fitter_fit(f, &(struct left){.leave = LEAVE_NOTHING}, &all);
    fitter_move(f, all.constants);
    for (size_t i = 0; i < f->n; i++)
        f->values[i].after = fitter_seconds(f, i);
    if (n > 1)
        leave_out(f, LEAVE_CONFIGURATION, n, fits);
    if (n > 1 && r->n_models > 1)
        leave_out(f, LEAVE_MODEL, r->n_models, models);
    list_constants(f, &all, fits, n, out);
    judge_error(f, n, depth == RUN_JUDGED, out);
}

enum status calibrate_runs(const struct csv *csv, const struct run_choice *choice,
                           struct arena *arena, struct run_calibration *out, struct err *err)
{
    struct fitter f = {.arena = arena};
    struct reading r = {.f = &f, .profiles = {.arena = arena}};
    *out = (struct run_calibration){0};
    TRY(read_runs(&r, csv, choice, err));
    fitter_own(&f);
    f.told = arena_alloc(arena, f.n + 1, sizeof *f.told);
    f.measured = arena_alloc(arena, f.n + MOST_MOVED + 2, sizeof *f.measured);
    f.kept = arena_alloc(arena, f.n + MOST_MOVED + 2, sizeof *f.kept);
    for (size_t i = 0; i < f.n; i++) {
        struct run_value *value = &f.values[i];
        value->before = fitter_seconds(&f, i);
        value->after = value->left_out = value->model_out = (double)NAN;
        f.measured[i] = value->measured;
    }
    for (size_t k = 0; k <= MOST_MOVED; k++)
        f.measured[f.n + k] = 1;
    if (choice->depth != RUN_TOLD) {
        fitter_choose(&f);
        run_fits(&f, &r, choice->depth, out);
    }
    out->profile = f.base;
    out->values = f.values;
    out->n = f.n;
    out->n_configurations = r.n_configurations;
    out->n_repeats = r.n_repeats;
    out->before = score(&f, offsetof(struct run_value, before));
    out->after = score(&f, offsetof(struct run_value, after));
    out->left_out = score(&f, offsetof(struct run_value, left_out));
    out->model_out = score(&f, offsetof(struct run_value, model_out));
    const double unknown = (double)NAN, width = 100 * out->error;
    out->scores[0] = (struct run_score){"the profile as it was", out->before, unknown, unknown};
    out->scores[1] = (struct run_score){"nothing", out->after, unknown, unknown};
    out->scores[2] = (struct run_score){"configuration", out->left_out, 100 * out->held, width};
    out->scores[3] = (struct run_score){"model", out->model_out, unknown, unknown};
    runs_had_init(&out->had, arena);
    for (size_t i = 0; i < f.n; i++) {
        runs_had_add(&out->had, &f.runs[i].plan);
        stepper_release(&f.runs[i].stepper);
    }
    return STATUS_OK;
}

/* ---- as a profile ---- */

static void write_number(FILE *out, const struct constant *c, double value)
{
    fprintf(out, "%.6g%s", fitter_is_time(c->is) ? value * 1e6 : value,
            fitter_is_time(c->is) ? " us" : "");
}

static void write_row(FILE *out, const struct constant *c, double factor, double low,
                      double high)
{
    fprintf(out, "- {of: %s, is: %s", profile_item_name(c->of), profile_quantity_name(c->is));
    if (c->path != PROFILE_ANY)
        fprintf(out, ", path: %s", words_path[c->path]);
    if (c->compute != PROFILE_ANY)
        fprintf(out, ", dtype: %s", words_compute[c->compute]);
    if (c->level != PROFILE_ANY)
        fprintf(out, ", level: %s", profile_level_name((enum profile_level)c->level));
    if (c->by == PROFILE_BY_NONE) {
        fputs(", value: ", out);
        write_number(out, c, c->y[0] * factor);
        fputs(", interval: [", out);
        write_number(out, c, c->y[0] * low);
        fputs(", ", out);
        write_number(out, c, c->y[0] * high);
        fputs("]}\n", out);
        return;
    }
    fprintf(out, ", by: %s, points: [", profile_axis_name(c->by));
    for (size_t i = 0; i < c->n; i++) {
        fprintf(out, "%s[%g, ", i ? ", " : "", c->x[i]);
        write_number(out, c, c->y[i] * factor);
        fputc(']', out);
    }
    fprintf(out, "], interval: [%.4g, %.4g]}\n", low / factor, high / factor);
}

static bool is_moved(const struct run_calibration *c, const struct constant *constant)
{
    for (size_t k = 0; k < c->n_constants; k++)
        if (c->moved[k] == constant)
            return true;
    return false;
}

/* Whether a row of the profile holds in place of another where both do: a nearer one of the
 * same file or of one that goes before it. */
static bool goes_before(const struct constant *nearer, const struct constant *other)
{
    return nearer->is == other->is && nearer->depth <= other->depth &&
           (nearer->of == other->of || profile_item_class(nearer->of) == other->of) &&
           (other->path == PROFILE_ANY || nearer->path == other->path) &&
           (other->compute == PROFILE_ANY || nearer->compute == other->compute) &&
           (other->level == PROFILE_ANY || nearer->level == other->level);
}

/* A row that another of the same place hides: a profile's own goes before its base's. */
static bool is_hidden(const struct profile *profile, const struct constant *row)
{
    const struct constant *first =
        profile_find(profile, row->of, row->is, row->path, row->compute, row->level);
    return first != row && first->of == row->of && first->path == row->path &&
           first->compute == row->compute && first->level == row->level;
}

/* Rows of a file go before all of its base: what held in place of one that moved is said again.
 */
static void write_nearer(FILE *out, const struct run_calibration *c)
{
    for (size_t i = 0; i < c->profile->n; i++) {
        const struct constant *nearer = &c->profile->constants[i];
        bool hidden = false;
        for (size_t k = 0; k < c->n_constants && !hidden; k++)
            hidden = goes_before(nearer, c->moved[k]);
        if (hidden && !is_moved(c, nearer) && !is_hidden(c->profile, nearer))
            write_row(out, nearer, 1, nearer->low, nearer->high);
    }
}

/* Of plans that none of these runs is like, what the profile said before, where it says nothing
 * of such plans itself. */
static void write_outside(FILE *out, const struct run_calibration *c)
{
    const struct constant *rows[2];
    static const enum profile_quantity is[] = {PROFILE_OUTSIDE, PROFILE_ERROR};
    for (size_t i = 0; i < 2; i++)
        rows[i] = profile_find(c->profile, PROFILE_STEP, is[i], PROFILE_ANY, PROFILE_ANY,
                               PROFILE_ANY);
    if (rows[0] || !rows[1])
        return;
    struct constant outside = *rows[1];
    outside.is = PROFILE_OUTSIDE;
    write_row(out, &outside, 1, outside.low, outside.high);
}

void calibrate_runs_write(FILE *out, const struct run_calibration *c, const char *table,
                          const char *date)
{
    fprintf(out, "# %s, moved towards %zu runs of %s by moeplan calibrate\n", c->profile->name,
            c->n, table);
    runs_had_write(out, &c->had);
    fprintf(out, "calibration: \"%s: %zu runs\"\nbase: %s\n", table, c->n, c->profile->name);
    fprintf(out, "source: moeplan calibrate %s\ndate: %s\nrange: the runs of the table\n",
            table, date);
    fprintf(out, "set: %s\nconstants:\n", table);
    for (size_t k = 0; k < c->n_constants; k++)
        write_row(out, c->moved[k], c->factors[k], c->constants[k].low / c->constants[k].before,
                  c->constants[k].high / c->constants[k].before);
    write_nearer(out, c);
    if (!isnan(c->error)) /* neither runs nor the profile say one */
        fprintf(out, "- {of: step, is: error, value: %.3g, interval: [%.3g, %.3g]}\n", c->error,
                c->error, c->error);
    write_outside(out, c);
}
