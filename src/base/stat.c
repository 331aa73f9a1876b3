/* Moments and percentiles; see stat.h. */
#include "base/stat.h"

#include <assert.h>
#include <math.h>

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

static inline void exchange(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

static void insert_sort(double *values, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double value = values[i];
        size_t at = i;
        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

/* The median of first, middle and last goes to the front; returns where it ends up after the
 * smaller values. */
static size_t divide(double *values, size_t n)
{
    double *middle = values + n / 2, *last = values + n - 1;
    if (*middle < *values)
        exchange(middle, values);
    if (*last < *values)
        exchange(last, values);
    if (*last < *middle)
        exchange(last, middle);
    exchange(values, middle);
    double pivot = *values;
    size_t low = 0, high = n;
    for (;;) {
        while (values[++low] < pivot)
            ;
        while (values[--high] > pivot)
            ;
        if (low >= high)
            break;
        exchange(values + low, values + high);
    }
    exchange(values, values + high);
    return high;
}

/* Quicksort without a callback: predictions sort loads many times. The shorter side first, so
 * that the stack stays logarithmic. */
void stat_sort(double *values, size_t n)
{
    enum { FEW = 16 };
    while (n > FEW) {
        size_t at = divide(values, n), rest = n - at - 1;
        if (at < rest) {
            stat_sort(values, at);
            values += at + 1;
            n = rest;
        } else {
            stat_sort(values + at + 1, rest);
            n = at;
        }
    }
    insert_sort(values, n);
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

double stat_percentile_error(const double *sorted, size_t n, double q)
{
    double reach = 2 * sqrt(q * (1 - q) / (double)n), at = stat_percentile(sorted, n, q);
    double below = at - stat_percentile(sorted, n, fmax(0, q - reach));
    double above = stat_percentile(sorted, n, fmin(1, q + reach)) - at;
    return fmax(below, above);
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
