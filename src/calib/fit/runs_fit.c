/* See runs_fit.h. */
#include "calib/fit/runs_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stat.h"

enum { FOLDS = 8 }; /* of configurations, when strengths are chosen */

static const double SCALE = 0.1; /* of the robust cost */
static const double STEP = 0.02; /* of a logarithm, for slopes */
/* Releases move one layout's rate by up to 1.8 (the spread of megatron_train_throughput):
 * log(1.8) / (2 STAT_NINETY). */
static const double SHARED = 0.18;
static const double MOVES = 1e-3; /* a constant matters when its interval moves a step so far */

bool fitter_is_time(enum profile_quantity is)
{
    return is == PROFILE_OVERHEAD || is == PROFILE_LATENCY || is == PROFILE_LAUNCH ||
           is == PROFILE_EAGER || is == PROFILE_SYNC || is == PROFILE_GRAPH ||
           is == PROFILE_DATA || is == PROFILE_FIXED;
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

double fitter_seconds(struct fitter *f, size_t run)
{
    double *told = &f->told[f->runs[run].configuration];
    if (*told <= 0)
        *told = play(f, &f->runs[run]);
    return *told;
}

struct fit_bound fitter_bound(const struct constant *c)
{
    double most = 0;
    for (size_t i = 0; i < c->n; i++)
        most = fmax(most, c->y[i]);
    bool share = c->is == PROFILE_EFFICIENCY || c->is == PROFILE_BANDWIDTH ||
                 c->is == PROFILE_FEW_BANDWIDTH || c->is == PROFILE_SHARE ||
                 c->is == PROFILE_WAVE;
    double high = share ? 1 / most : c->is == PROFILE_NORM ? 64 / most : 50;
    double low = c->is == PROFILE_NORM || c->is == PROFILE_LOAD ? 1 / c->y[0] : 0.02;
    return (struct fit_bound){1, fmin(low, 1), fmax(high, 1)};
}

/* Which way a constant goes when everything is faster. */
static int direction_of(const struct constant *c)
{
    if (c->is == PROFILE_EFFICIENCY || c->is == PROFILE_BANDWIDTH ||
        c->is == PROFILE_FEW_BANDWIDTH)
        return 1;
    return fitter_is_time(c->is) ? -1 : 0;
}

double fitter_factor(const struct fitter *f, const double *factors, size_t k)
{
    struct fit_bound bound = fitter_bound(f->moved[k]);
    double factor = factors[k] * pow(factors[f->n_moved], direction_of(f->moved[k]));
    return fmin(fmax(factor, bound.low), bound.high);
}

void fitter_move(struct fitter *f, const double *factors)
{
    bool changed = false;
    for (size_t k = 0; k < f->n_moved; k++) {
        const struct constant *from = f->moved[k];
        struct constant *to = &f->own[from - f->base->constants];
        double factor = fitter_factor(f, factors, k);
        for (size_t i = 0; i < from->n; i++) {
            union {
                const double *given;
                double *own;
            } at = {to->y};
            changed = changed || at.own[i] != from->y[i] * factor;
            at.own[i] = from->y[i] * factor;
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
        bool shared = k == f.own->n_moved;
        double strength = shared ? f.own->shared_strength : f.own->own_strength;
        return exp(SCALE * log(factors[k]) / (strength * f.own->spread[k]));
    }
    fitter_move(f.own, factors);
    return fitter_seconds(f.own, row);
}

/* ---- which constants move ---- */

void fitter_own(struct fitter *f)
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
    return log(high / low) / (2 * STAT_NINETY);
}

static double weight_of(struct fitter *f, const struct constant *c, double spread)
{
    double factor[] = {exp(-spread), 1}, sum = 0;
    f->moved[0] = c;
    f->n_moved = 1;
    fitter_move(f, factor);
    for (size_t i = 0; i < f->n; i++)
        sum += fabs(log(fitter_seconds(f, i) / f->values[i].before)) / (double)f->n;
    fitter_move(f, (const double[]){1, 1});
    f->n_moved = 0;
    return sum;
}

static bool can_move(const struct constant *c)
{
    return c->is != PROFILE_ERROR && c->is != PROFILE_OUTSIDE && c->is != PROFILE_FOLDED &&
           c->is != PROFILE_TILE_ROWS && c->is != PROFILE_TILE_COLUMNS &&
           c->is != PROFILE_LAUNCHES && c->is != PROFILE_FEW_TILE && c->y[0] > 0 &&
           c->high / fmax(c->low, 0.05) > 1.001;
}

/* Seconds of every configuration by the logarithm of each factor, where the profile stands. */
static void slopes(struct fitter *f)
{
    double factors[MOST_MOVED + 1];
    size_t n = f->n_moved + 1;
    f->slope = arena_alloc(f->arena, f->n * n, sizeof *f->slope);
    for (size_t k = 0; k < n; k++)
        factors[k] = 1;
    for (size_t k = 0; k < n; k++) {
        double step = k + 1 < n && fitter_bound(f->moved[k]).high < 1 + STEP ? -STEP : STEP;
        factors[k] = exp(step);
        fitter_move(f, factors);
        for (size_t i = 0; i < f->n; i++)
            f->slope[i * n + k] = log(fitter_seconds(f, i) / f->values[i].before) / step;
        factors[k] = 1;
    }
    fitter_move(f, factors);
}

void fitter_choose(struct fitter *f)
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
    f->spread[f->n_moved] = SHARED;
    slopes(f);
}

/* ---- fits ---- */

static const uint32_t NO_FOLD = UINT32_MAX;

bool fitter_is_left(const struct step_run *run, const struct left *left)
{
    return (left->leave == LEAVE_CONFIGURATION && run->configuration == left->which) ||
           (left->leave == LEAVE_MODEL && run->model == left->which) ||
           (left->leave == LEAVE_FOLDS && (run->configuration % left->folds == left->which ||
                                           run->configuration % left->folds == left->other));
}

static uint32_t fold_of(const struct step_run *run)
{
    return run->configuration % FOLDS;
}

/* To the runs that are neither left nor of this fold. */
static void fit_with(struct fitter *f, const struct left *left, uint32_t fold,
                     fit_predict predict, struct fit_result *result)
{
    struct fit_bound bounds[MOST_MOVED + 1];
    struct arena scratch = {0};
    struct fit_problem problem = {.n_constants = f->n_moved + 1,
                                  .bounds = bounds,
                                  .predict = predict,
                                  .context = f,
                                  .measured = f->measured,
                                  .rows = f->kept,
                                  .scale = SCALE,
                                  .kinked = predict == predict_row};
    for (size_t k = 0; k < f->n_moved; k++)
        bounds[k] = fitter_bound(f->moved[k]);
    bounds[f->n_moved] = (struct fit_bound){1, 1. / 5, 5};
    for (size_t i = 0; i < f->n; i++)
        if (!fitter_is_left(&f->runs[i], left) && fold_of(&f->runs[i]) != fold)
            f->kept[problem.n_rows++] = (uint32_t)i;
    for (size_t k = 0; k <= f->n_moved; k++)
        f->kept[problem.n_rows++] = (uint32_t)(f->n + k);
    fit_run(&problem, NULL, &scratch, result);
    arena_release(&scratch);
}

/* ---- how strongly the profile holds its constants ---- */

static double predict_linear(const void *context, const double *factors, size_t row)
{
    const struct fitter *f = context;
    size_t n = f->n_moved + 1;
    if (row >= f->n)
        return predict_row(context, factors, row);
    double sum = log(f->values[row].before);
    for (size_t k = 0; k < n; k++)
        sum += f->slope[row * n + k] * log(factors[k]);
    return exp(sum);
}

/* Robust error of one fold of the runs that are not left, predicted from the others; NaN when
 * it has none. */
static double fold_cost(struct fitter *f, const struct left *left, uint32_t fold)
{
    struct fit_result result = {.steps = 0};
    double cost = 0, runs = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (fold_of(&f->runs[i]) != fold || fitter_is_left(&f->runs[i], left))
            continue;
        if (runs++ < 1)
            fit_with(f, left, fold, predict_linear, &result);
        cost += fit_rho(log(predict_linear(f, result.constants, i) / f->measured[i]), SCALE);
    }
    return cost / runs;
}

static double left_out_cost(struct fitter *f, const struct left *left)
{
    struct stat costs = {0};
    for (uint32_t fold = 0; fold < FOLDS; fold++) {
        double cost = fold_cost(f, left, fold);
        if (isfinite(cost))
            stat_add(&costs, cost);
    }
    return costs.n > 1 ? costs.mean : (double)NAN;
}

/* What predicts each of these runs' configurations best from the others, by a model that is
 * linear in logarithms; runs that are left have no part in it. Without two configurations all
 * move as far as their intervals say. */
static void choose_strengths(struct fitter *f, const struct left *left)
{
    static const double own[] = {1. / 16, 1. / 8, 1. / 4, 1. / 2, 1},
                        shared[] = {1. / 16, 1. / 4, 1};
    double best = HUGE_VAL, chosen[] = {1, 1};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        for (size_t j = 0; j < sizeof shared / sizeof *shared; j++) {
            f->own_strength = own[i];
            f->shared_strength = shared[j];
            double cost = left_out_cost(f, left);
            if (cost < best) {
                best = cost;
                chosen[0] = own[i];
                chosen[1] = shared[j];
            }
        }
    f->own_strength = chosen[0];
    f->shared_strength = chosen[1];
}

void fitter_fit(struct fitter *f, const struct left *left, struct fit_result *result)
{
    choose_strengths(f, left);
    fit_with(f, left, NO_FOLD, predict_row, result);
}
