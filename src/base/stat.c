/* Moments and percentiles; see stat.h. */
#include "base/stat.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void stat_add(struct stat *stat, double value)
{
    if (stat->n == 0 || value < stat->min)
        stat->min = value;
    if (stat->n == 0 || value > stat->max)
        stat->max = value;
    stat->n++;
    double delta = value - stat->mean;
    stat->mean += delta / (double)stat->n;
    stat->m2 += delta * (value - stat->mean);
}

double stat_variance(const struct stat *stat)
{
    return stat->n ? stat->m2 / (double)stat->n : 0;
}

double stat_sd(const struct stat *stat)
{
    return sqrt(stat_variance(stat));
}

double stat_cv(const struct stat *stat)
{
    return stat->mean > 0 || stat->mean < 0 ? stat_sd(stat) / stat->mean : 0;
}

double stat_mean_error(const struct stat *stat)
{
    return stat->n < 2 ? 0 : sqrt(stat->m2 / (double)(stat->n - 1) / (double)stat->n);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void stat_sort(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare);
}

double stat_percentile(const double *sorted, size_t n, double q)
{
    assert(n > 0 && q >= 0 && q <= 1);
    double place = q * (double)(n - 1);
    size_t below = (size_t)place;
    if (below + 1 >= n)
        return sorted[n - 1];
    double part = place - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

double stat_normal_cdf(double z)
{
    return 0.5 * erfc(-z * 0.70710678118654752440);
}

double stat_chance_bound(uint64_t hits, uint64_t n)
{
    if (n == 0)
        return 1;
    return hits ? (double)hits / (double)n : fmin(1, 3.0 / (double)n);
}
