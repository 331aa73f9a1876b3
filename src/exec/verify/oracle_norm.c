/* See oracle_norm.h. */
#include "exec/verify/oracle_norm.h"

#include <math.h>

#include "exec/kernels/format.h"
#include "exec/verify/oracle_matrix.h"

void oracle_norm_init(struct oracle_norm *norm, const struct oracle_setup *setup,
                      enum fill fill, uint64_t n, bool root, struct arena *arena)
{
    *norm = (struct oracle_norm){
        .setup = setup, .n = n, .root = root, .weight = arena_alloc(arena, n, sizeof(double))};
    for (uint64_t i = 0; i < n; i++) {
        float value;
        setup->inputs->row(setup->inputs, fill, 0, 0, i, 1, &value);
        norm->weight[i] = (double)value;
    }
}

/* By what a row of these squares is multiplied; whole numbers by nothing. */
static double factor_of(const struct oracle_norm *norm, double squares)
{
    double n = (double)norm->n;
    if (norm->setup->inputs->linear)
        return 1;
    return pow(squares / n + NORM_EPSILON, -0.5) * (norm->root ? pow(n, -0.5) : 1);
}

static void store(const struct oracle_norm *norm, double *row)
{
    for (uint64_t i = 0; i < norm->n; i++)
        row[i] = (double)format_round(norm->setup->activation, (float)row[i]);
}

void oracle_norm_row(const struct oracle_norm *norm, const double *x, double *y,
                     const double *x2, double *y2)
{
    double factor = factor_of(norm, oracle_dot(x, x, norm->n));
    for (uint64_t i = 0; y2 && i < norm->n; i++)
        y2[i] = x2[i] * factor * factor * norm->weight[i] * norm->weight[i];
    for (uint64_t i = 0; i < norm->n; i++)
        y[i] = x[i] * factor * norm->weight[i];
    store(norm, y);
    if (y2)
        oracle_squares_least(y2, y, norm->n, norm->setup->least);
}

/* The sum of dy y is that of dy w x, times the factor: both as functions of one element of x.
 */
static double slope_at(const struct oracle_norm *norm, const double *x, const double *dy,
                       uint64_t i, double sum, double squares)
{
    double step = 1e-4 * sqrt(squares / (double)norm->n + NORM_EPSILON);
    double rise = step * dy[i] * norm->weight[i], square = step * step, cross = 2 * step * x[i];
    double above = (sum + rise) * factor_of(norm, squares + cross + square),
           below = (sum - rise) * factor_of(norm, squares - cross + square);
    return (above - below) / (2 * step);
}

/* What is taken off along x is a sum over the row of products, whose squares it has; it is off,
 * too, as far as x is. */
static void back_squares(const struct oracle_norm *norm, const double *x, const double *x2,
                         const double *dy, double sum, double squares, double *dy2)
{
    double factor = factor_of(norm, squares), sums = 0;
    double along = factor / (squares + (double)norm->n * NORM_EPSILON);
    for (uint64_t i = 0; i < norm->n; i++)
        sums +=
            norm->weight[i] * norm->weight[i] * (dy2[i] * x[i] * x[i] + dy[i] * dy[i] * x2[i]);
    for (uint64_t i = 0; i < norm->n; i++) {
        double own = factor * norm->weight[i];
        dy2[i] = own * own * dy2[i] + along * along * (x[i] * x[i] * sums + x2[i] * sum * sum);
    }
}

void oracle_norm_back(const struct oracle_norm *norm, const double *x, const double *x2,
                      double *dy, double *dy2)
{
    bool linear = norm->setup->inputs->linear;
    double sum = 0, squares = linear ? 0 : oracle_dot(x, x, norm->n);
    for (uint64_t i = 0; !linear && i < norm->n; i++)
        sum += dy[i] * norm->weight[i] * x[i];
    if (dy2 && !linear)
        back_squares(norm, x, x2, dy, sum, squares, dy2);
    for (uint64_t i = 0; i < norm->n; i++)
        dy[i] = linear ? dy[i] * norm->weight[i] : slope_at(norm, x, dy, i, sum, squares);
    store(norm, dy);
    if (dy2)
        oracle_squares_least(dy2, dy, norm->n, norm->setup->least);
}

void oracle_norm_weights(const struct oracle_norm *norm, const double *x, const double *x2,
                         const double *dy, const double *dy2, double *sum, double *sum2)
{
    double factor = factor_of(norm, oracle_dot(x, x, norm->n));
    for (uint64_t i = 0; i < norm->n; i++)
        sum[i] += factor * x[i] * dy[i];
    for (uint64_t i = 0; sum2 && i < norm->n; i++)
        sum2[i] += factor * factor * (x2[i] * dy[i] * dy[i] + x[i] * x[i] * dy2[i]);
}
