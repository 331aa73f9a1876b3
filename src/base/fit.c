/* Levenberg and Marquardt with soft-L1 weights; see fit.h. */
#include "base/fit.h"

#include <math.h>
#include <string.h>

enum { STEPS = 60 };

static const double SHIFT = 1e-5; /* of a logarithm, for derivatives */
/* The same to both sides, where predictions have kinks. By slopes at a point alone a fit ends
 * where a kink meets its path, and one that is begun there does not leave it. */
static const double WIDE[] = {0.1, 0.03, 0.01, 0.003};
static const double ENOUGH = 1e-7; /* relative gain below which a fit has ended */
static const double ENOUGH_WIDE = 1e-4;
static const double AT_BOUND = 1e-6; /* of a logarithm */

struct solver {
    const struct fit_problem *p;
    double *residual;         /* [n_rows] log(predicted / measured) */
    double *derivative;       /* [n_constants][n_rows] */
    double at[FIT_CONSTANTS]; /* logarithms of the constants */
    double normal[FIT_CONSTANTS][FIT_CONSTANTS];
    double gradient[FIT_CONSTANTS];
    double *trial;      /* [n_rows] */
    double shift, back; /* of a logarithm, for derivatives: up and down */
};

double fit_rho(double residual, double scale)
{
    double s2 = scale * scale;
    return 2 * s2 * (sqrt(1 + residual * residual / s2) - 1);
}

static double cost_of(const struct fit_problem *p, const double *residual)
{
    double sum = 0;
    for (size_t i = 0; i < p->n_rows; i++)
        sum += fit_rho(residual[i], p->scale);
    return p->n_rows ? sum / (double)p->n_rows : 0;
}

static void residuals(const struct fit_problem *p, const double *at, double *out)
{
    double constants[FIT_CONSTANTS];
    for (size_t k = 0; k < p->n_constants; k++)
        constants[k] = exp(at[k]);
    for (size_t i = 0; i < p->n_rows; i++)
        out[i] = log(p->predict(p->context, constants, p->rows[i]) / p->measured[p->rows[i]]);
}

static double clamp(const struct fit_bound *bound, double at)
{
    return fmin(fmax(at, log(bound->low)), log(bound->high));
}

/* Residuals where constant k is moved. */
static double shifted(struct solver *w, size_t k, double by, double *out)
{
    double kept = w->at[k];
    w->at[k] = clamp(&w->p->bounds[k], kept + by);
    residuals(w->p, w->at, out);
    double moved = w->at[k] - kept;
    w->at[k] = kept;
    return moved;
}

/* What may not move needs no derivative: its column stays zero. */
static void differentiate(struct solver *w)
{
    const struct fit_problem *p = w->p;
    for (size_t k = 0; k < p->n_constants; k++) {
        double *out = w->derivative + k * p->n_rows, low = 0;
        const double *below = w->residual;
        if (p->bounds[k].low >= p->bounds[k].high)
            continue;
        bool down = w->at[k] + w->shift > log(p->bounds[k].high);
        double high = shifted(w, k, down && !(w->back > 0) ? -w->shift : w->shift, out);
        if (w->back > 0) {
            low = shifted(w, k, -w->back, w->trial);
            below = w->trial;
        }
        for (size_t i = 0; i < p->n_rows; i++)
            out[i] = (out[i] - below[i]) / (high - low);
    }
}

/* Normal equations with each row's weight 1 / sqrt(1 + (r/s)^2). */
static void assemble(struct solver *w)
{
    const struct fit_problem *p = w->p;
    memset(w->normal, 0, sizeof w->normal);
    memset(w->gradient, 0, sizeof w->gradient);
    for (size_t i = 0; i < p->n_rows; i++) {
        double r = w->residual[i], weight = 1 / sqrt(1 + r * r / (p->scale * p->scale));
        for (size_t a = 0; a < p->n_constants; a++) {
            double da = w->derivative[a * p->n_rows + i] * weight;
            w->gradient[a] += da * r;
            for (size_t b = 0; b <= a; b++)
                w->normal[a][b] += da * w->derivative[b * p->n_rows + i];
        }
    }
    for (size_t a = 0; a < p->n_constants; a++)
        for (size_t b = a + 1; b < p->n_constants; b++)
            w->normal[a][b] = w->normal[b][a];
}

/* Solves m x = v in place (Cholesky); false when m is not positive definite. */
static bool solve(double m[FIT_CONSTANTS][FIT_CONSTANTS], double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = m[i][j];
            for (size_t k = 0; k < j; k++)
                sum -= m[i][k] * m[j][k];
            if (i == j && !(sum > 0))
                return false;
            m[i][j] = i == j ? sqrt(sum) : sum / m[j][j];
        }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            v[i] -= m[i][k] * v[k];
        v[i] /= m[i][i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            v[i] -= m[k][i] * v[k];
        v[i] /= m[i][i];
    }
    return true;
}

/* A constant that its gradient pushes against its bound does not move in this step. */
static bool is_held(const struct solver *w, size_t k)
{
    const struct fit_bound *b = &w->p->bounds[k];
    return (w->at[k] >= log(b->high) - AT_BOUND && w->gradient[k] < 0) ||
           (w->at[k] <= log(b->low) + AT_BOUND && w->gradient[k] > 0);
}

/* The step with damping into `next`; false when the equations have no solution. */
static bool propose(const struct solver *w, double damping, double *next)
{
    size_t n = w->p->n_constants;
    double m[FIT_CONSTANTS][FIT_CONSTANTS], step[FIT_CONSTANTS];
    memcpy(m, w->normal, sizeof m);
    for (size_t k = 0; k < n; k++) {
        bool held = is_held(w, k);
        step[k] = held ? 0 : -w->gradient[k];
        for (size_t j = 0; held && j < n; j++)
            m[k][j] = m[j][k] = 0;
        m[k][k] = held ? 1 : m[k][k] * (1 + damping) + 1e-12;
    }
    if (!solve(m, step, n))
        return false;
    for (size_t k = 0; k < n; k++)
        next[k] = clamp(&w->p->bounds[k], w->at[k] + fmin(fmax(step[k], -2), 2));
    return true;
}

/* Inverse of the normal matrix over the constants that are free: their correlations. */
static void correlate(const struct solver *w, struct fit_result *result)
{
    size_t n = w->p->n_constants;
    double inverse[FIT_CONSTANTS][FIT_CONSTANTS] = {{0}};
    for (size_t k = 0; k < n; k++) {
        double m[FIT_CONSTANTS][FIT_CONSTANTS], unit[FIT_CONSTANTS] = {0};
        memcpy(m, w->normal, sizeof m);
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; result->at_bound[j] && i < n; i++)
                m[j][i] = m[i][j] = i == j ? 1 : 0;
        for (size_t j = 0; j < n; j++)
            m[j][j] = m[j][j] * (1 + 1e-12) + 1e-300;
        unit[k] = 1;
        if (!solve(m, unit, n))
            return;
        memcpy(inverse[k], unit, sizeof inverse[k]);
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            bool bound = result->at_bound[a] || result->at_bound[b];
            double scale = sqrt(inverse[a][a] * inverse[b][b]);
            result->correlation[a][b] = bound || !(scale > 0) ? 0 : inverse[a][b] / scale;
        }
}

static void finish(struct solver *w, struct fit_result *result)
{
    const struct fit_problem *p = w->p;
    for (size_t k = 0; k < p->n_constants; k++) {
        const struct fit_bound *b = &p->bounds[k];
        result->constants[k] = fmin(fmax(exp(w->at[k]), b->low), b->high);
        result->at_bound[k] =
            w->at[k] <= log(b->low) + AT_BOUND || w->at[k] >= log(b->high) - AT_BOUND;
    }
    if (p->n_rows) {
        differentiate(w);
        assemble(w);
        correlate(w, result);
    }
}

/* One accepted step; false when none makes the cost smaller. */
static bool advance(struct solver *w, double *damping, struct fit_result *result)
{
    double next[FIT_CONSTANTS];
    for (unsigned tries = 0; tries < 12; tries++, *damping *= 4) {
        if (!propose(w, *damping, next))
            continue;
        residuals(w->p, next, w->trial);
        double cost = cost_of(w->p, w->trial);
        if (!(cost < result->cost))
            continue;
        bool more = result->cost - cost > (w->p->kinked ? ENOUGH_WIDE : ENOUGH) * result->cost;
        memcpy(w->at, next, sizeof next);
        memcpy(w->residual, w->trial, w->p->n_rows * sizeof *w->trial);
        result->cost = cost;
        *damping = fmax(*damping / 8, 1e-9);
        return more;
    }
    return false;
}

/* Steps until none makes the cost smaller, by slopes over so wide a shift. */
static void descend(struct solver *w, double shift, double back, struct fit_result *result)
{
    double damping = 1e-3;
    bool more = w->p->n_rows > 0;
    w->shift = shift;
    w->back = back;
    for (unsigned steps = 0; more && steps < STEPS; steps++, result->steps++) {
        differentiate(w);
        assemble(w);
        more = advance(w, &damping, result);
    }
}

void fit_run(const struct fit_problem *p, const double *warm, struct arena *arena,
             struct fit_result *result)
{
    struct solver w = {.p = p};
    w.trial = arena_alloc(arena, p->n_rows + 1, sizeof *w.trial);
    w.residual = arena_alloc(arena, p->n_rows + 1, sizeof *w.residual);
    w.derivative = arena_alloc(arena, p->n_constants * p->n_rows + 1, sizeof *w.derivative);
    *result = (struct fit_result){0};
    for (size_t k = 0; k < p->n_constants; k++)
        w.at[k] = clamp(&p->bounds[k], log(warm ? warm[k] : p->bounds[k].start));
    residuals(p, w.at, w.residual);
    result->cost = cost_of(p, w.residual);
    for (size_t i = 0; p->kinked && i < sizeof WIDE / sizeof *WIDE; i++)
        descend(&w, WIDE[i], WIDE[i], result);
    descend(&w, SHIFT, 0, result);
    finish(&w, result);
}
