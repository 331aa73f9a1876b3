/* Whole steps through the predictor; see calibrate_runs.h. */
#include "calib/calibrate_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fit.h"
#include "base/number.h"
#include "base/stat.h"
#include "base/text.h"
#include "calib/claim_value.h"
#include "plan/data/published.h"
#include "plan/schema/schema.h"
#include "sim/step/time.h"

enum { MOST_MOVED = 12 };

static const double SCALE = 0.1;    /* of the robust cost */
static const double NINETY = 1.645; /* normal quantile of a 90 % interval */
static const double MOVES = 1e-3; /* a constant matters when its interval moves a step so far */

/* One run: its list, built once, and what was measured. */
struct step_run {
    struct stepper stepper;
    struct plan plan;
    struct demand_spread demand;
    bool any; /* experts */
    uint32_t configuration, model;
};

struct fitter {
    struct step_run *runs;
    struct run_value *values;
    size_t n;
    const struct constant **moved; /* [n_moved] of the profile */
    size_t n_moved;
    double spread[MOST_MOVED]; /* sd of the logarithm before */
    struct profile profile;    /* with its own constants */
    struct constant *own;      /* profile.constants */
    const struct profile *base;
    double *measured; /* [n + n_moved]; the last are 1 */
    double *told; /* [n] seconds of a configuration at these factors, by its first run; 0: not
                   * yet */
    uint32_t *kept;
    struct arena *arena;
};

static const char *const quantities[] = {"time.step_s", "time.tokens_per_s_per_device",
                                         "time.tokens_per_s"};

enum { N_QUANTITIES = sizeof quantities / sizeof *quantities };

static size_t quantity_of(const struct csv *csv, size_t row)
{
    size_t i = 0;
    while (i < N_QUANTITIES && !text_equal(csv_cell(csv, row, "quantity"), quantities[i]))
        i++;
    return i;
}

bool calibrate_is_runs(const struct csv *csv)
{
    if (csv_column(csv, "set") == SIZE_MAX || csv_column(csv, "quantity") == SIZE_MAX ||
        csv_column(csv, "published") == SIZE_MAX || csv_column(csv, "row") == SIZE_MAX)
        return false;
    for (size_t row = 0; row < csv->n_rows; row++)
        if (quantity_of(csv, row) < N_QUANTITIES)
            return true;
    return false;
}

/* ---- reading runs ---- */

/* Seconds of a step that a cell says. */
static enum status measured_s(const struct csv *csv, size_t row, const struct plan *plan,
                              double *seconds, struct err *err)
{
    const char *text = csv_cell(csv, row, "published"), *unit = csv_cell(csv, row, "unit");
    double value, scale = claim_unit(unit ? unit : "");
    if (!number_real(text, &value) || !(scale > 0) || !(value > 0))
        return err_at(err, STATUS_INPUT, (struct mark){csv->file, csv->lines[row], 1},
                      "'%s %s' is no time or rate", text, unit ? unit : "");
    struct step_time one = {.step_s = 1,
                            .tokens = step_tokens(plan) * (double)step_micro_batches(plan)};
    *seconds = value * scale;
    if (quantity_of(csv, row) == 1)
        *seconds = time_tokens_per_s_per_device(plan, &one) / *seconds;
    else if (quantity_of(csv, row) == 2)
        *seconds = time_tokens_per_s(plan, &one) / *seconds;
    return STATUS_OK;
}

static bool is_chosen(const struct plan *plan, const char *stack, const char *device)
{
    char name[PLAN_NAME];
    profile_device(plan, name);
    return (!stack || text_equal(words_stack[plan->stack.kind], stack)) &&
           (!device || text_equal(name, device));
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
};

static enum status read_run(struct reading *r, const struct csv *csv, size_t row,
                            const char *stack, const char *device, struct err *err)
{
    struct fitter *f = r->f;
    struct step_run *run = &f->runs[f->n];
    const struct profile *profile;
    TRY(published_plan(csv, row, f->arena, &run->plan, err));
    if (!is_chosen(&run->plan, stack, device))
        return STATUS_OK;
    TRY(profiles_get(&r->profiles, &run->plan, &profile, err));
    if (f->base && profile != f->base) {
        err_at(err, STATUS_INPUT, (struct mark){csv->file, csv->lines[row], 1},
               "this run has the profile '%s', those before it '%s'", profile->name,
               f->base->name);
        return err_hint(err, "choose with --stack and --device, or set stack.profile");
    }
    f->base = profile;
    struct run_value *value = &f->values[f->n];
    TRY(measured_s(csv, row, &run->plan, &value->measured, err));
    TRY(stepper_build(&run->stepper, &run->plan, profile, f->arena, err));
    TRY(time_demand(&run->stepper.plan, &run->stepper.pricing.rates, NULL, f->arena,
                    &run->demand, &run->any, err));
    value->row = csv_cell(csv, row, "row");
    value->configuration = csv_cell(csv, row, "set");
    value->model = run->plan.model_name;
    const char *plan = csv_cell(csv, row, "plan"); /* runs alike have one plan and settings */
    run->configuration =
        number_of(r->configurations, &r->n_configurations,
                  arena_printf(f->arena, "%s %s", plan ? plan : "", value->configuration));
    run->model = number_of(r->models, &r->n_models, value->model);
    f->n++;
    return STATUS_OK;
}

static enum status read_runs(struct reading *r, const struct csv *csv, const char *stack,
                             const char *device, struct err *err)
{
    struct fitter *f = r->f;
    size_t most = csv->n_rows + 1;
    f->runs = arena_alloc(f->arena, most, sizeof *f->runs);
    f->values = arena_alloc(f->arena, most, sizeof *f->values);
    r->configurations = arena_alloc(f->arena, most, sizeof *r->configurations);
    r->models = arena_alloc(f->arena, most, sizeof *r->models);
    for (size_t row = 0; row < csv->n_rows; row++)
        if (quantity_of(csv, row) < N_QUANTITIES)
            TRY(read_run(r, csv, row, stack, device, err));
    if (f->n)
        return STATUS_OK;
    return err_set(err, STATUS_INPUT, "no run of this table is of %s%s%s",
                   stack ? stack : "any stack", device ? " on " : "", device ? device : "");
}

/* ---- a step with constants moved ---- */

static double play(struct fitter *f, struct step_run *r)
{
    struct step_time step;
    stepper_price(&r->stepper, &f->profile, NULL);
    if (!stepper_time(&r->stepper, r->any ? &r->demand.expected : NULL, &step))
        return 1e30;
    return fmax(step.step_s, 1e-12);
}

static double seconds_of(struct fitter *f, size_t run)
{
    double *told = &f->told[f->runs[run].configuration];
    if (*told <= 0)
        *told = play(f, &f->runs[run]);
    return *told;
}

/* Puts factors on the constants that move. */
static void move(struct fitter *f, const double *factors)
{
    bool changed = false;
    for (size_t k = 0; k < f->n_moved; k++) {
        const struct constant *from = f->moved[k];
        struct constant *to = &f->own[from - f->base->constants];
        for (size_t i = 0; i < from->n; i++) {
            union {
                const double *given;
                double *own;
            } at = {to->y};
            changed = changed || at.own[i] != from->y[i] * factors[k];
            at.own[i] = from->y[i] * factors[k];
        }
    }
    for (size_t i = 0; changed && i < f->n; i++)
        f->told[i] = 0;
}

/* Rows from n on are what was known before: log of the factor over its spread, in units of the
 * scale in which a run counts. */
static double predict_row(const void *context, const double *factors, size_t row)
{
    union {
        const void *given;
        struct fitter *own;
    } f = {context};
    if (row >= f.own->n) {
        size_t k = row - f.own->n;
        return exp(SCALE * log(factors[k]) / f.own->spread[k]);
    }
    move(f.own, factors);
    return seconds_of(f.own, row);
}

/* ---- which constants move ---- */

/* A copy of the profile whose values can be changed. */
static void own_profile(struct fitter *f)
{
    f->profile = *f->base;
    f->own = arena_alloc(f->arena, f->base->n, sizeof *f->own);
    for (size_t i = 0; i < f->base->n; i++) {
        const struct constant *from = &f->base->constants[i];
        double *y = arena_alloc(f->arena, from->n, sizeof *y);
        memcpy(y, from->y, from->n * sizeof *y);
        f->own[i] = *from;
        f->own[i].y = y;
    }
    f->profile.constants = f->own;
}

struct candidate {
    const struct constant *constant;
    double spread, weight; /* weight: how far its interval moves a step, on average */
};

static int by_weight(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->weight > y->weight ? -1 : x->weight < y->weight;
}

static double spread_of(const struct constant *c)
{
    double low = fmax(c->low, 0.05), high = fmin(fmax(c->high, 1), 20);
    return log(high / low) / (2 * NINETY);
}

static double weight_of(struct fitter *f, const struct constant *c, double spread)
{
    double factor = exp(-spread), sum = 0;
    f->moved[0] = c;
    f->n_moved = 1;
    move(f, &factor);
    for (size_t i = 0; i < f->n; i++)
        sum += fabs(log(seconds_of(f, i) / f->values[i].before)) / (double)f->n;
    move(f, (const double[]){1});
    f->n_moved = 0;
    return sum;
}

static bool can_move(const struct constant *c)
{
    return c->is != PROFILE_ERROR && c->is != PROFILE_OUTSIDE && c->is != PROFILE_FOLDED &&
           c->is != PROFILE_TILE_ROWS && c->is != PROFILE_TILE_COLUMNS && c->y[0] > 0 &&
           c->high / fmax(c->low, 0.05) > 1.001;
}

static void choose(struct fitter *f)
{
    size_t n = 0;
    struct candidate *list = arena_alloc(f->arena, f->base->n, sizeof *list);
    f->moved = arena_alloc(f->arena, f->base->n, sizeof *f->moved);
    for (size_t i = 0; i < f->base->n; i++) {
        const struct constant *c = &f->base->constants[i];
        if (!can_move(c))
            continue;
        double spread = spread_of(c), weight = weight_of(f, c, spread);
        if (weight > MOVES)
            list[n++] = (struct candidate){c, spread, weight};
    }
    qsort(list, n, sizeof *list, by_weight);
    f->n_moved = n < MOST_MOVED ? n : MOST_MOVED;
    for (size_t k = 0; k < f->n_moved; k++) {
        f->moved[k] = list[k].constant;
        f->spread[k] = list[k].spread;
    }
}

/* ---- fits ---- */

/* No share above one at any point of a curve. */
static struct fit_bound bound_of(const struct constant *c)
{
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        most = fmax(most, c->y[i]);
    bool share = c->is == PROFILE_EFFICIENCY || c->is == PROFILE_BANDWIDTH ||
                 c->is == PROFILE_SHARE || c->is == PROFILE_WAVE;
    double high = share ? 1 / most : c->is == PROFILE_NORM ? 64 / most : 50;
    double low = c->is == PROFILE_NORM || c->is == PROFILE_LOAD ? 1 / c->y[0] : 0.02;
    return (struct fit_bound){1, fmin(low, 1), fmax(high, 1)};
}

enum leave { LEAVE_NOTHING, LEAVE_CONFIGURATION, LEAVE_MODEL };

static bool is_left(const struct step_run *run, enum leave leave, uint32_t which)
{
    return (leave == LEAVE_CONFIGURATION && run->configuration == which) ||
           (leave == LEAVE_MODEL && run->model == which);
}

static void fit(struct fitter *f, enum leave leave, uint32_t which, const double *warm,
                struct fit_result *result)
{
    struct fit_bound bounds[MOST_MOVED];
    struct arena scratch = {0};
    struct fit_problem problem = {.n_constants = f->n_moved,
                                  .bounds = bounds,
                                  .predict = predict_row,
                                  .context = f,
                                  .measured = f->measured,
                                  .rows = f->kept,
                                  .scale = SCALE};
    for (size_t k = 0; k < f->n_moved; k++)
        bounds[k] = bound_of(f->moved[k]);
    for (size_t i = 0; i < f->n; i++)
        if (!is_left(&f->runs[i], leave, which))
            f->kept[problem.n_rows++] = (uint32_t)i;
    for (size_t k = 0; k < f->n_moved; k++)
        f->kept[problem.n_rows++] = (uint32_t)(f->n + k);
    fit_run(&problem, warm, &scratch, result);
    arena_release(&scratch);
}

/* Predicts what was left out by fits without it; their constants for the jackknife. */
static void leave_out(struct fitter *f, enum leave leave, uint32_t n,
                      const struct fit_result *all, struct fit_result *fits)
{
    for (uint32_t which = 0; which < n; which++) {
        fit(f, leave, which, all->constants, &fits[which]);
        move(f, fits[which].constants);
        for (size_t i = 0; i < f->n; i++)
            if (is_left(&f->runs[i], leave, which))
                *(leave == LEAVE_MODEL ? &f->values[i].model_out : &f->values[i].left_out) =
                    seconds_of(f, i);
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
            stat_add(&logs, log(fits[i].constants[k]));
        double sd = g > 1 ? sqrt((g - 1) * stat_variance(&logs)) : f->spread[k];
        double before = f->moved[k]->y[0], factor = all->constants[k];
        struct fit_bound bound = bound_of(f->moved[k]);
        out->factors[k] = factor;
        out->constants[k] =
            (struct run_constant){.name = profile_constant_name(f->moved[k], f->arena),
                                  .before = before,
                                  .value = before * factor,
                                  .low = before * fmax(factor * exp(-NINETY * sd), bound.low),
                                  .high = before * fmin(factor * exp(NINETY * sd), bound.high),
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

static void run_fits(struct fitter *f, struct reading *r, struct run_calibration *out)
{
    struct fit_result all;
    struct fit_result *fits = arena_alloc(f->arena, r->n_configurations + 1, sizeof *fits);
    struct fit_result *models = arena_alloc(f->arena, r->n_models + 1, sizeof *models);
    fit(f, LEAVE_NOTHING, 0, NULL, &all);
    move(f, all.constants);
    for (size_t i = 0; i < f->n; i++) {
        f->values[i].after = seconds_of(f, i);
        f->values[i].left_out = f->values[i].model_out = (double)NAN;
    }
    if (r->n_configurations > 1)
        leave_out(f, LEAVE_CONFIGURATION, r->n_configurations, &all, fits);
    if (r->n_models > 1)
        leave_out(f, LEAVE_MODEL, r->n_models, &all, models);
    list_constants(f, &all, fits, r->n_configurations, out);
}

enum status calibrate_runs(const struct csv *csv, const char *stack, const char *device,
                           struct arena *arena, struct run_calibration *out, struct err *err)
{
    struct fitter f = {.arena = arena};
    struct reading r = {.f = &f, .profiles = {.arena = arena}};
    *out = (struct run_calibration){0};
    TRY(read_runs(&r, csv, stack, device, err));
    own_profile(&f);
    f.told = arena_alloc(arena, f.n + 1, sizeof *f.told);
    f.measured = arena_alloc(arena, f.n + MOST_MOVED + 1, sizeof *f.measured);
    f.kept = arena_alloc(arena, f.n + MOST_MOVED + 1, sizeof *f.kept);
    for (size_t i = 0; i < f.n; i++) {
        f.values[i].before = seconds_of(&f, i);
        f.measured[i] = f.values[i].measured;
    }
    for (size_t k = 0; k < MOST_MOVED; k++)
        f.measured[f.n + k] = 1;
    choose(&f);
    run_fits(&f, &r, out);
    out->profile = f.base;
    out->values = f.values;
    out->n = f.n;
    out->before = score(&f, offsetof(struct run_value, before));
    out->after = score(&f, offsetof(struct run_value, after));
    out->left_out = score(&f, offsetof(struct run_value, left_out));
    out->model_out = score(&f, offsetof(struct run_value, model_out));
    out->scores[0] = (struct run_score){"the profile as it was", out->before};
    out->scores[1] = (struct run_score){"nothing", out->after};
    out->scores[2] = (struct run_score){"configuration", out->left_out};
    out->scores[3] = (struct run_score){"model", out->model_out};
    for (size_t i = 0; i < f.n; i++)
        stepper_release(&f.runs[i].stepper);
    return STATUS_OK;
}

/* ---- as a profile ---- */

static bool is_time(enum profile_quantity is)
{
    return is == PROFILE_OVERHEAD || is == PROFILE_LATENCY || is == PROFILE_LAUNCH ||
           is == PROFILE_SYNC || is == PROFILE_GRAPH || is == PROFILE_DATA ||
           is == PROFILE_FIXED;
}

static void write_number(FILE *out, const struct constant *c, double value)
{
    fprintf(out, "%.6g%s", is_time(c->is) ? value * 1e6 : value, is_time(c->is) ? " us" : "");
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

void calibrate_runs_write(FILE *out, const struct run_calibration *c, const char *table,
                          const char *date)
{
    fprintf(out, "# %s, moved towards %zu runs of %s by moeplan calibrate\n", c->profile->name,
            c->n, table);
    if (c->profile->device[0])
        fprintf(out, "device: \"%s\"\n", c->profile->device);
    fprintf(out, "calibration: \"%s: %zu runs\"\nbase: %s\n", table, c->n, c->profile->name);
    fprintf(out, "source: moeplan calibrate %s\ndate: %s\nrange: the runs of the table\n",
            table, date);
    fprintf(out, "set: %s\nconstants:\n", table);
    for (size_t k = 0; k < c->n_constants; k++)
        write_row(out, c->moved[k], c->factors[k], c->constants[k].low / c->constants[k].before,
                  c->constants[k].high / c->constants[k].before);
    const struct score *left = c->left_out.n ? &c->left_out : &c->after;
    fprintf(out, "- {of: step, is: error, value: %.3g, interval: [%.3g, %.3g]}\n",
            left->p90 / 100, left->p90 / 100, left->p90 / 100);
}
