/* Order statistics of normals; see load.h. */
#include <math.h>

#include "base/stat.h"
#include "sim/moe/load.h"

static double mixture(const double *mean, const double *sd, uint64_t n, double x)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        double z = sd[i] > 0 ? (x - mean[i]) / sd[i] : (x >= mean[i] ? 40 : -40);
        sum += z > 8 ? 1 : z < -8 ? 0 : stat_normal_cdf(z);
    }
    return sum / (double)n;
}

static void bounds(const double *mean, const double *sd, uint64_t n, double *low, double *high)
{
    *low = HUGE_VAL;
    *high = -HUGE_VAL;
    for (uint64_t i = 0; i < n; i++) {
        *low = fmin(*low, mean[i] - 8 * sd[i]);
        *high = fmax(*high, mean[i] + 8 * sd[i]);
    }
}

/* The i-th smallest of n, i from 0. */
static double order_statistic(const double *mean, const double *sd, uint64_t n, uint64_t i)
{
    enum { HALVINGS = 40 };
    double low, high, place = ((double)i + 1 - 0.375) / ((double)n + 0.25);
    bounds(mean, sd, n, &low, &high);
    for (int k = 0; k < HALVINGS; k++) {
        double middle = (low + high) / 2;
        if (mixture(mean, sd, n, middle) < place)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double load_normal_percentile(const double *mean, const double *sd, uint64_t n, double q)
{
    double place = q * (double)(n - 1);
    uint64_t below = (uint64_t)place;
    double part = place - (double)below, value = order_statistic(mean, sd, n, below);
    if (part > 0 && below + 1 < n)
        value += part * (order_statistic(mean, sd, n, below + 1) - value);
    return value;
}

/* Chance that all n stay below x; spread widens the deviations. */
static double all_below(const double *mean, const double *sd, uint64_t n, double spread,
                        double x)
{
    double product = 1;
    for (uint64_t i = 0; i < n; i++) {
        double z = sd[i] > 0 ? (x - mean[i]) / (spread * sd[i]) : (x >= mean[i] ? 40 : -40);
        if (z < 8)
            product *= stat_normal_cdf(z);
    }
    return product;
}

double load_normal_maximum(const double *mean, const double *sd, uint64_t n, double *p99)
{
    enum { GRID = 64 };
    /* A fixed sum correlates the parts by -1 / (n - 1): the mean of their maximum is that of
     * independent ones whose deviation is wider by sqrt(n / (n - 1)). Far out the maximum is
     * one part alone, and the correlation does not matter. */
    double spread = n > 1 ? sqrt((double)n / (double)(n - 1)) : 1;
    double low = -HUGE_VAL, high = -HUGE_VAL, last = 0, sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        low = fmax(low, mean[i] - 4 * spread * sd[i]);
        high = fmax(high, mean[i] + 6 * spread * sd[i]);
    }
    if (p99)
        *p99 = n > 1 ? high : mean[0];
    double h = (high - low) / GRID;
    for (int i = 0; n > 1 && h > 0 && i <= GRID; i++) {
        double x = low + i * h;
        sum += (i == 0 || i == GRID ? 0.5 : 1) * all_below(mean, sd, n, spread, x);
        double below = p99 ? all_below(mean, sd, n, 1, x) : 0;
        if (last < 0.99 && below >= 0.99)
            *p99 = x - h * (below - 0.99) / (below - last);
        last = below;
    }
    return n > 1 ? high - h * sum : mean[0];
}
