/* The constants of the profiles of mode serve, fitted to models/published/serving_latency.csv
 * through the same code that predicts: `fit_served PROFILE...` moves every constant of those
 * files but errors and assumed ones, says what is left on layouts (engine, device, model,
 * precision, tp, ep, etp, attention_dp), devices and models that were left out, how many of
 * their rows an interval holds that neither its fit nor its width has seen, and writes the rows
 * of a profile. Ends with 1 where tests/data/widths.csv says otherwise (MOEPLAN_REWRITE=1 takes
 * it over). Minutes on one CPU. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/fit.h"
#include "base/number.h"
#include "base/stat.h"
#include "base/text.h"
#include "calib/fit/left_out.h"
#include "plan/data/published.h"
#include "plan/derive.h"
#include "plan/read/catalog.h"
#include "plan/schema/schema.h"
#include "plan/speculation.h"
#include "sim/step/serve_time.h"
#include "support/widths.h"

enum { MOST_RUNS = 400, MOST_GROUPS = 40, MOST_TTFT = 64, WORST = 12 };
enum cut { BY_LAYOUT, BY_DEVICE, BY_MODEL, CUTS }; /* what is left out as a whole */
static const char *const cut_names[CUTS] = {"layout", "device", "model"};
static const double SCALE = 0.1;

struct run {
    struct plan plan;
    struct serve_model model;
    struct serve_times told;
    bool fresh; /* told is of the constants at hand */
    unsigned of[CUTS];
};

/* What a line of widths.csv says of each quantity. */
static const char *const kinds[] = {"ttft", "tpot"};

struct fit {
    struct arena arena;
    const char *name;
    struct profile base, own;
    struct constant *rows;
    struct group { /* of rows that move as one */
        size_t row[4], n;
        double low, high; /* of the value */
    } groups[FIT_CONSTANTS];
    size_t n_groups;
    struct run *runs;
    size_t n_runs;
    struct names { /* of what a cut leaves out */
        const char *name[MOST_GROUPS];
        unsigned n;
    } names[CUTS];
    double
        measured[2 * MOST_RUNS]; /* seconds: [2 run] to the first token, [2 run + 1] a token */
    double last[FIT_CONSTANTS];
    double shipped[2 * MOST_RUNS]; /* seconds told with the constants of the file */
    bool drafts;                   /* the runs that count are those that draft */
    struct widths *widths;
    bool good; /* what widths.csv says was found */
};

/* ---- the constants ---- */

static bool is_seconds(const struct constant *c)
{
    return c->is == PROFILE_OVERHEAD || c->is == PROFILE_TOKEN || c->is == PROFILE_FIXED ||
           c->is == PROFILE_LAUNCH || c->is == PROFILE_EAGER;
}

/* What NCCL takes for the smallest all-reduce on 8 ranks of B200, the slowest of
 * models/published/collectives.csv: engines' own kernels are there because they are quicker. */
static const double SLOWEST_COLLECTIVE_S = 26e-6;

/* Shares of a peak, rows, steps, seconds of a launch, seconds of a step or request. */
static struct fit_bound bound_of(const struct constant *c)
{
    if (c->is == PROFILE_EFFICIENCY || c->is == PROFILE_BANDWIDTH ||
        c->is == PROFILE_BLOCK_SHARE)
        return (struct fit_bound){1, 0.05, 1};
    if (!is_seconds(c))
        return (struct fit_bound){1, 1, 64};
    if (profile_item_class(c->of) == PROFILE_COLLECTIVE)
        return (struct fit_bound){1, 0.5e-6, SLOWEST_COLLECTIVE_S};
    bool once = c->of == PROFILE_REQUEST || c->of == PROFILE_STEP;
    return (struct fit_bound){1, 0.5e-6, once || c->is == PROFILE_EAGER ? 1 : 100e-6};
}

static bool is_kernel(const struct constant *c)
{
    return c->is == PROFILE_OVERHEAD && c->of != PROFILE_REQUEST &&
           profile_item_class(c->of) != PROFILE_COLLECTIVE;
}

static void take_groups(struct fit *f)
{
    f->rows = arena_alloc(&f->arena, f->base.n, sizeof *f->rows);
    for (size_t i = 0; i < f->base.n; i++) {
        const struct constant *c = &f->base.constants[i];
        double *y = arena_alloc(&f->arena, 1, sizeof *y);
        f->rows[i] = *c;
        *y = c->y[0];
        if (c->by == PROFILE_BY_NONE)
            f->rows[i].y = y;
        if (c->depth || c->is == PROFILE_ERROR || c->is == PROFILE_OUTSIDE ||
            strncmp(c->source, "assumed", 7) == 0)
            continue;
        size_t g = 0; /* a launch costs products and other kernels the same */
        while (g < f->n_groups && !(is_kernel(c) && is_kernel(&f->rows[f->groups[g].row[0]])))
            g++;
        struct fit_bound bound = bound_of(c);
        if (g == f->n_groups)
            f->groups[f->n_groups++] = (struct group){.low = bound.low, .high = bound.high};
        f->groups[g].row[f->groups[g].n++] = i;
    }
    f->own = f->base;
    f->own.constants = f->rows;
}

static double start_of(const struct fit *f, size_t g)
{
    const struct group *group = &f->groups[g];
    double y = f->base.constants[group->row[0]].y[0];
    return fmin(fmax(y, group->low), group->high);
}

static void move(struct fit *f, const double *values)
{
    if (memcmp(f->last, values, f->n_groups * sizeof *values) == 0)
        return;
    memcpy(f->last, values, f->n_groups * sizeof *values);
    for (size_t g = 0; g < f->n_groups; g++)
        for (size_t i = 0; i < f->groups[g].n; i++) {
            union {
                const double *given;
                double *own;
            } y = {f->rows[f->groups[g].row[i]].y};
            *y.own = values[g];
        }
    for (size_t i = 0; i < f->n_runs; i++)
        f->runs[i].fresh = false;
}

/* ---- runs ---- */

static const char *layout_of(struct fit *f, const struct plan *plan)
{
    char device[PLAN_NAME];
    const struct parallel *p = &plan->parallel;
    profile_device(plan, device);
    return arena_printf(&f->arena, "%s %s %s w%d tp%d ep%d etp%d dp%d",
                        words_stack[plan->stack.kind], device, plan->model_name,
                        (int)plan->precision.weights, (int)p->tp, (int)p->ep, (int)p->etp,
                        (int)p->attention_dp);
}

static unsigned number_of(struct names *names, const char *name)
{
    unsigned i = 0;
    while (i < names->n && strcmp(names->name[i], name) != 0)
        i++;
    if (i == names->n)
        names->name[names->n++] = name;
    return i;
}

static void number_run(struct fit *f, struct run *run)
{
    char *device = arena_alloc(&f->arena, PLAN_NAME, 1);
    profile_device(&run->plan, device);
    const char *const name[CUTS] = {layout_of(f, &run->plan), device, run->plan.model_name};
    for (unsigned cut = 0; cut < CUTS; cut++)
        run->of[cut] = number_of(&f->names[cut], name[cut]);
}

/* The quantities of a run stand in rows of one name. */
static void read_runs(struct fit *f, const struct csv *csv, const char *name)
{
    for (size_t row = 0; row < csv->n_rows; row++) {
        struct run *run = &f->runs[f->n_runs];
        struct err err = {0};
        struct profile profile;
        const char *quantity = csv_cell(csv, row, "quantity");
        bool token = text_equal(quantity, "time.serving.tpot_s");
        double value;
        if (token && row &&
            text_equal(csv_cell(csv, row, "row"), csv_cell(csv, row - 1, "row")) && f->n_runs &&
            f->measured[2 * (f->n_runs - 1) + 1] < 0) {
            if (number_real(csv_cell(csv, row, "published"), &value))
                f->measured[2 * (f->n_runs - 1) + 1] = value * 1e-3;
            continue;
        }
        if (token || published_plan(csv, row, &f->arena, &run->plan, &err) ||
            profile_load(&run->plan, &f->arena, &profile, &err) ||
            !text_equal(profile.name, name))
            continue;
        const struct serve_ask ask = {.profile = &f->own};
        if (serve_open(&run->model, &run->plan, &ask, &f->arena, &err) ||
            !number_real(csv_cell(csv, row, "published"), &value))
            continue;
        number_run(f, run);
        f->measured[2 * f->n_runs] = value * 1e-3;
        f->measured[2 * f->n_runs + 1] = -1;
        f->n_runs++;
    }
}

static double predict(const void *context, const double *values, size_t row)
{
    union {
        const void *given;
        struct fit *own;
    } f = {context};
    struct run *run = &f.own->runs[row / 2];
    move(f.own, values);
    if (!run->fresh && !serve_time(&run->model, &f.own->own, &run->told, NULL))
        exit(1);
    run->fresh = true;
    return row % 2 ? run->told.tpot_s : run->told.ttft_s;
}

/* Runs that draft are no part of a fit: their acceptance is nowhere stated. */
static bool counts(const struct fit *f, size_t row)
{
    const struct run *run = &f->runs[row / 2];
    return f->measured[row] > 0 && plan_speculates(&run->plan) == f->drafts &&
           (row % 2 || run->plan.workload.concurrency <= MOST_TTFT);
}

/* ---- fits ---- */

/* Without the rows of two groups (UINT_MAX: of none). */
static void fit(struct fit *f, enum cut cut, const unsigned without[2], const double *warm,
                struct fit_result *out)
{
    uint32_t rows[2 * MOST_RUNS];
    struct fit_bound bounds[FIT_CONSTANTS];
    struct arena scratch = {0};
    struct fit_problem problem = {.n_constants = f->n_groups,
                                  .bounds = bounds,
                                  .predict = predict,
                                  .context = f,
                                  .measured = f->measured,
                                  .rows = rows,
                                  .scale = SCALE};
    for (size_t g = 0; g < f->n_groups; g++)
        bounds[g] = (struct fit_bound){start_of(f, g), f->groups[g].low, f->groups[g].high};
    for (size_t row = 0; row < 2 * f->n_runs; row++)
        if (counts(f, row) && f->runs[row / 2].of[cut] != without[0] &&
            f->runs[row / 2].of[cut] != without[1])
            rows[problem.n_rows++] = (uint32_t)row;
    fit_run(&problem, warm, &scratch, out);
    arena_release(&scratch);
}

/* What was told of all that was measured, of one quantity. */
struct judged {
    double told[MOST_RUNS], measured[MOST_RUNS];
    size_t n;
};

static void judge(const struct fit *f, const double *told, struct judged out[2])
{
    for (size_t row = 0; row < 2 * f->n_runs; row++) {
        struct judged *j = &out[row % 2];
        if (!counts(f, row))
            continue;
        j->told[j->n] = told[row];
        j->measured[j->n++] = f->measured[row];
    }
}

static void say_judged(const char *what, const struct judged judged[2])
{
    for (unsigned token = 0; token < 2; token++) {
        const struct judged *j = &judged[token];
        double errors[MOST_RUNS], factors[MOST_RUNS]; /* factors: that intervals must have */
        for (size_t i = 0; i < j->n; i++) {
            double ratio = j->told[i] / j->measured[i];
            errors[i] = 100 * fabs(ratio - 1);
            factors[i] = fmax(ratio, 1 / ratio);
        }
        stat_sort(errors, j->n);
        stat_sort(factors, j->n);
        if (!j->n)
            continue;
        printf("%s, %s: %zu runs, median %.1f %%, p90 %.1f %%; nine of ten within a factor "
               "%.3f\n",
               what, token ? "a token" : "first token", j->n,
               stat_percentile(errors, j->n, 0.5), stat_percentile(errors, j->n, 0.9),
               stat_percentile(factors, j->n, 0.9));
    }
    fflush(stdout);
}

static void say(const struct fit *f, const char *what, const double *told)
{
    struct judged judged[2] = {{.n = 0}, {.n = 0}};
    judge(f, told, judged);
    say_judged(what, judged);
}

static void tell(struct fit *f, const double *values, double *told, enum cut cut, unsigned of)
{
    for (size_t row = 0; row < 2 * f->n_runs; row++)
        if (of == UINT_MAX || f->runs[row / 2].of[cut] == of)
            told[row] = predict(f, values, row);
}

/* ---- intervals, judged by what they have not seen ---- */

/* Distances from 1 of a quantity's factors, by run; NaN: it does not count. */
static void errors_of(const struct fit *f, const double *told, unsigned token, double *error)
{
    for (size_t run = 0; run < f->n_runs; run++) {
        size_t row = 2 * run + token;
        error[run] = counts(f, row) ? left_out_error(told[row], f->measured[row]) : (double)NAN;
    }
}

struct held {
    double share, width;
};

static void say_held(struct fit *f, enum cut cut, const struct fit_result *all,
                     const double *told, struct held held[2])
{
    unsigned n = f->names[cut].n;
    uint32_t group[MOST_RUNS];
    struct left_out_pairs pairs[2];
    double pair[2 * MOST_RUNS], error[MOST_RUNS];
    struct fit_result fitted;
    for (size_t run = 0; run < f->n_runs; run++)
        group[run] = f->runs[run].of[cut];
    for (unsigned token = 0; token < 2; token++)
        left_out_open(&pairs[token], group, f->n_runs, n, &f->arena);
    for (unsigned a = 0; a < n && n > 2; a++)
        for (unsigned b = a + 1; b < n; b++) {
            fit(f, cut, (const unsigned[]){a, b}, all->constants, &fitted);
            tell(f, fitted.constants, pair, cut, UINT_MAX);
            for (unsigned token = 0; token < 2; token++) {
                errors_of(f, pair, token, error);
                for (size_t run = 0; run < f->n_runs; run++)
                    if (group[run] == a || group[run] == b)
                        pairs[token].error[group[run] == a ? b : a][run] = error[run];
            }
        }
    for (unsigned token = 0; token < 2; token++) {
        errors_of(f, told, token, error);
        held[token] = (struct held){
            left_out_held(&pairs[token], error, left_out_rule_of(n, 0), &f->arena),
            left_out_width(error, group, f->n_runs, UINT32_MAX, left_out_rule_of(n, 0),
                           &f->arena)};
        printf("%s left out, %s: %.0f %% held; error %.3f\n", cut_names[cut],
               token ? "a token" : "first token", 100 * held[token].share, held[token].width);
    }
    fflush(stdout);
}

static void say_width(struct fit *f, enum cut cut, const double *told,
                      const struct held held[2])
{
    struct judged judged[2] = {{.n = 0}, {.n = 0}}, shipped[2] = {{.n = 0}, {.n = 0}};
    judge(f, told, judged);
    judge(f, f->shipped, shipped);
    for (unsigned token = 0; token < 2; token++) {
        struct width width = {.profile = f->name,
                              .kind = kinds[token],
                              .cut = cut_names[cut],
                              .groups = f->names[cut].n,
                              .width = held[token].width,
                              .held = held[token].share};
        const struct judged *j = &judged[token], *s = &shipped[token];
        widths_errors(&width, j->told, j->measured, j->n, &f->arena);
        widths_told(&width, s->told, s->measured, s->n);
        f->good = widths_say(f->widths, &width, &f->arena) && f->good;
    }
}

static void say_worst(const struct fit *f, const double *told)
{
    double before = HUGE_VAL, error[2 * MOST_RUNS];
    for (size_t row = 0; row < 2 * f->n_runs; row++)
        error[row] = left_out_error(told[row], f->measured[row]);
    for (unsigned i = 0; i < 2 * WORST; i++) {
        size_t worst = SIZE_MAX;
        for (size_t row = 0; row < 2 * f->n_runs; row++)
            if (counts(f, row) && error[row] < before &&
                (worst == SIZE_MAX || error[row] > error[worst]))
                worst = row;
        if (worst == SIZE_MAX)
            return;
        before = error[worst];
        const struct run *run = &f->runs[worst / 2];
        const struct workload *w = &run->plan.workload;
        printf("  %s %s, %d at once, %d in, %d out: %.4g s, measured %.4g\n",
               worst % 2 ? "token" : "first", f->names[BY_LAYOUT].name[run->of[BY_LAYOUT]],
               (int)w->concurrency, (int)w->input_length, (int)w->output_length, told[worst],
               f->measured[worst]);
    }
}

static void write_rows(const struct fit *f, const struct fit_result *all,
                       const struct fit_result *fits)
{
    for (size_t g = 0; g < f->n_groups; g++) {
        struct stat logs = {0};
        unsigned n = fits ? f->names[BY_LAYOUT].n : 0;
        for (unsigned i = 0; i < n; i++)
            stat_add(&logs, log(fits[i].constants[g]));
        double sd = n ? sqrt((n - 1) * stat_variance(&logs)) : 0, y = all->constants[g];
        double low = fmax(y * exp(-STAT_NINETY * sd), f->groups[g].low),
               high = fmin(y * exp(STAT_NINETY * sd), f->groups[g].high);
        for (size_t i = 0; i < f->groups[g].n; i++) {
            const struct constant *c = &f->rows[f->groups[g].row[i]];
            bool seconds = is_seconds(c);
            double unit = seconds ? 1e6 : 1;
            const char *name = seconds ? " us" : "";
            printf("- {of: %s, is: %s, value: %.5g%s, interval: [%.5g%s, %.5g%s]}\n",
                   profile_item_name(c->of), profile_quantity_name(c->is), unit * y, name,
                   unit * low, name, unit * high, name);
        }
    }
}

static bool open_fit(struct fit *f, const char *name)
{
    struct err err = {0};
    struct csv csv;
    char *path, *table;
    if (!catalog_has(CATALOG_PROFILE, name, &f->arena, &path) ||
        profile_read(path, &f->arena, &f->base, &err) ||
        catalog_find(CATALOG_PUBLISHED, "serving_latency", NULL, &f->arena, &table, &err) ||
        csv_read(table, &f->arena, &csv, &err)) {
        fprintf(stderr, "fit_served: %s: %s %s\n", name, err.where, err.text);
        return false;
    }
    f->name = name;
    f->runs = arena_alloc(&f->arena, MOST_RUNS, sizeof *f->runs);
    take_groups(f);
    read_runs(f, &csv, name);
    printf("%s: %zu runs, %u layouts, %zu constants\n", name, f->n_runs, f->names[BY_LAYOUT].n,
           f->n_groups);
    return true;
}

static void leave_out(struct fit *f, enum cut cut, const struct fit_result *all,
                      struct fit_result *fits, double *told)
{
    struct held held[2];
    for (unsigned i = 0; i < f->names[cut].n; i++) {
        fit(f, cut, (const unsigned[]){i, UINT_MAX}, all->constants, &fits[i]);
        tell(f, fits[i].constants, told, cut, i);
    }
    say(f, arena_printf(&f->arena, "%s left out", cut_names[cut]), told);
    say_held(f, cut, all, told, held);
    say_width(f, cut, told, held);
}

/* Whether every fit without a group has two values or more for a constant: three runs of one
 * device say nothing of another. */
static bool has_enough(const struct fit *f, enum cut cut)
{
    for (unsigned i = 0; i < f->names[cut].n; i++) {
        size_t kept = 0;
        for (size_t row = 0; row < 2 * f->n_runs; row++)
            kept += counts(f, row) && f->runs[row / 2].of[cut] != i;
        if (kept < 2 * f->n_groups)
            return false;
    }
    return f->names[cut].n > 1;
}

static void fit_profile(struct fit *f, bool whole, struct judged all_left_out[2])
{
    double told[2 * MOST_RUNS], start[FIT_CONSTANTS];
    struct fit_result all, *fits = arena_alloc(&f->arena, MOST_GROUPS, sizeof *fits);
    for (size_t g = 0; g < f->n_groups; g++)
        start[g] = start_of(f, g);
    tell(f, start, f->shipped, BY_LAYOUT, UINT_MAX);
    say(f, "as shipped", f->shipped);
    fit(f, BY_LAYOUT, (const unsigned[]){UINT_MAX, UINT_MAX}, NULL, &all);
    tell(f, all.constants, told, BY_LAYOUT, UINT_MAX);
    say(f, "fitted", told);
    f->drafts = true;
    say(f, "drafts, fitted without them", told);
    f->drafts = false;
    if (!whole) {
        write_rows(f, &all, NULL);
        return;
    }
    for (unsigned cut = BY_DEVICE; cut < CUTS; cut++)
        if (has_enough(f, (enum cut)cut))
            leave_out(f, (enum cut)cut, &all, fits, told);
    leave_out(f, BY_LAYOUT, &all, fits, told);
    say_worst(f, told);
    judge(f, told, all_left_out);
    write_rows(f, &all, fits);
}

int main(int argc, char **argv)
{
    struct judged left_out[2] = {{.n = 0}, {.n = 0}};
    struct arena arena = {0};
    struct widths widths;
    bool whole = argc < 2 || strcmp(argv[1], "fit") != 0, good = argc > 1;
    widths_read(&widths, &arena);
    for (int i = whole ? 1 : 2; i < argc; i++) {
        struct fit *f = calloc(1, sizeof *f);
        if (!f || !open_fit(f, argv[i]))
            return 1;
        f->widths = &widths;
        f->good = true;
        fit_profile(f, whole, left_out);
        good = good && f->good;
        for (size_t k = 0; k < f->n_runs; k++)
            serve_close(&f->runs[k].model);
        arena_release(&f->arena);
        free(f);
    }
    if (whole && argc > 2)
        say_judged("layouts of all left out", left_out);
    arena_release(&arena);
    return !good;
}
