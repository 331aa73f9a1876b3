/* How far predictions are from measurements: the summary under every table of both. */
#ifndef MOEPLAN_CALIB_TABLE_SCORE_H
#define MOEPLAN_CALIB_TABLE_SCORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Errors in percent of what was measured; {0} with n = 0 holds nothing. */
struct score {
    uint64_t n;
    double mean, median, p90, max; /* of the absolute error; the mean is known as MAPE */
    double bias;                   /* median of the signed one: above 0, predicted too high */
    double rank; /* Spearman's correlation of predicted and measured; NaN below 3 values */
};

/* Of n pairs; those with a NaN prediction are left out. Scratch memory from the arena. */
struct score score_of(const double *measured, const double *predicted, size_t n,
                      struct arena *arena);

/* Verdicts of plans: predicted against what happened. "marginal" counts as wrong. */
struct confusion {
    uint64_t fits_as_fits, fits_as_marginal, fits_as_oom;
    uint64_t oom_as_fits, oom_as_marginal, oom_as_oom;
};

void confusion_add(struct confusion *confusion, const char *published, const char *predicted);

/* Mean of the shares of fits and of ooms that were told; NaN unless there are both. */
double confusion_balanced_accuracy(const struct confusion *confusion);

#endif
