/* Robust fits of few constants to many measurements.
 *
 * What is made small is the sum over rows of rho(log(predicted / measured)): relative errors
 * count alike at microseconds and at seconds. rho is quadratic up to `scale` and grows linearly
 * above it (soft L1), so single outliers do not rule. Levenberg and Marquardt's method in the
 * logarithm of each constant, inside its bounds. Deterministic; no memory outside the arena. */
#ifndef MOEPLAN_BASE_FIT_H
#define MOEPLAN_BASE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum { FIT_CONSTANTS = 16 };

/* Soft L1: 2 s^2 (sqrt(1 + (r/s)^2) - 1), which is r^2 near 0. */
double fit_rho(double residual, double scale);

struct fit_bound {
    double start, low, high; /* 0 < low <= start <= high */
};

/* Predicted value, positive, of a row with these constants. */
typedef double (*fit_predict)(const void *context, const double *constants, size_t row);

struct fit_problem {
    size_t n_constants; /* at most FIT_CONSTANTS */
    const struct fit_bound *bounds;
    fit_predict predict;
    const void *context;
    const double *measured; /* [all rows], positive */
    const uint32_t *rows;   /* [n_rows] those that count */
    size_t n_rows;
    double scale; /* of rho; 0.1: a tenth */
    bool kinked;  /* predictions have kinks, the larger of two things: slopes are first taken
                   * over wide steps to both sides, then over narrower ones */
};

struct fit_result {
    double constants[FIT_CONSTANTS];
    double cost;                                      /* mean rho */
    double correlation[FIT_CONSTANTS][FIT_CONSTANTS]; /* of the logarithms; 0 at a bound */
    bool at_bound[FIT_CONSTANTS];
    unsigned steps;
};

/* From the bounds' starts, or from `warm` when it is not NULL. A problem without rows keeps its
 * start. */
void fit_run(const struct fit_problem *problem, const double *warm, struct arena *arena,
             struct fit_result *result);

#endif
