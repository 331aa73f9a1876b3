/* Norms in f64, by their definition, and their gradients by central differences of it; for
 * oracle.c. Squares beside values are those of oracle.h. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_NORM_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_NORM_H

#include "exec/verify/oracle.h"

struct oracle_norm {
    const struct oracle_setup *setup;
    uint64_t n;
    bool root;      /* over the root of n, too */
    double *weight; /* [n] */
};

/* Loads its weights. */
void oracle_norm_init(struct oracle_norm *norm, const struct oracle_setup *setup,
                      enum fill fill, uint64_t n, bool root, struct arena *arena);

/* y of x, as it is stored; and squares of y from those of x, or NULL, which may be those of x
 * themselves. */
void oracle_norm_row(const struct oracle_norm *norm, const double *x, double *y,
                     const double *x2, double *y2);

/* In place of dy [n] the gradient of x, as it is stored; of dy2 likewise, or NULL. Of whole
 * numbers x is not looked at: their factors are of size 1. */
void oracle_norm_back(const struct oracle_norm *norm, const double *x, const double *x2,
                      double *dy, double *dy2);

/* Adds the weights' gradient, and its squares, or NULL. */
void oracle_norm_weights(const struct oracle_norm *norm, const double *x, const double *x2,
                         const double *dy, const double *dy2, double *sum, double *sum2);

#endif
