/* Moments and percentiles. Percentiles interpolate linearly between order statistics (the rule
 * of numpy's default), everywhere in moeplan. */
#ifndef MOEPLAN_BASE_STAT_H
#define MOEPLAN_BASE_STAT_H

#include <stddef.h>
#include <stdint.h>

/* Mean, variance, extremes of a stream of numbers (Welford). {0} is empty. */
struct stat {
    uint64_t n;
    double mean, m2; /* m2: sum of squared deviations */
    double min, max;
};

void stat_add(struct stat *stat, double value);

double stat_variance(const struct stat *stat); /* divided by n; 0 when empty */
double stat_sd(const struct stat *stat);
double stat_cv(const struct stat *stat); /* sd / mean; 0 when the mean is 0 */

/* Sorts upward. */
void stat_sort(double *values, size_t n);

/* Percentile of sorted values, 0 <= q <= 1; n > 0. */
double stat_percentile(const double *sorted, size_t n, double q);

/* Two standard errors of that percentile of a sample: how far the percentiles are that stand
 * 2 sqrt(q (1 - q) / n) above and below it, the further one. */
double stat_percentile_error(const double *sorted, size_t n, double q);

double stat_normal_cdf(double z);

/* Standard deviations of a normal from its mean to either end of a 90 % interval. */
#define STAT_NINETY 1.645

/* 3/n rule: with n trials and `hits` of them bad, the chance per trial that is reported:
 * hits/n, or the 95 % upper bound 3/n when there were none. */
double stat_chance_bound(uint64_t hits, uint64_t n);

#endif
