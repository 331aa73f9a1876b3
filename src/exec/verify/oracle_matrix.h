/* Matrices and sums in f64, and the squares of sizes beside them (oracle.h). */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_MATRIX_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_MATRIX_H

#include "exec/verify/oracle.h"

/* A matrix as its format holds it or, of picked inputs, the one element of each column. */
struct oracle_matrix {
    uint64_t rows, columns;
    uint64_t *pick; /* [columns] row of the element; NULL: dense */
    float *value;   /* [columns], or [rows, columns] */
};

/* Room for one, and what stands in it. */
struct oracle_matrix oracle_matrix_make(uint64_t rows, uint64_t columns, bool picked,
                                        struct arena *arena);
void oracle_matrix_load(struct oracle_matrix *m, const struct oracle_setup *setup,
                        enum fill fill, uint64_t number);

/* A matrix that there is one of, [rows, columns], loaded; y = x M; x = M y. */
struct oracle_matrix oracle_matrix_of(const struct oracle_setup *setup, enum fill fill,
                                      uint64_t rows, uint64_t columns, struct arena *arena);
void oracle_times(const struct oracle_matrix *m, const double *x, double *y);
void oracle_times_column(const struct oracle_matrix *m, const double *y, double *x);
/* Their squares (oracle.h), from those of what was multiplied; `y` and `x` are the products. */
void oracle_times_squares(const struct oracle_matrix *m, double least, const double *x2,
                          const double *y, double *y2);
void oracle_times_column_squares(const struct oracle_matrix *m, double least, const double *y2,
                                 const double *x, double *x2);

/* sum[n] += factor values[n] */
void oracle_add(double *sum, const double *values, uint64_t n, double factor);
double oracle_dot(const double *a, const double *b, uint64_t n);
/* Rows of a sum of products that are kept: number 0, stride, ... of all that stand behind each
 * other, the product's own from `first` on; [kept, m]. */
struct oracle_kept {
    uint64_t first, stride;
    double *sum;
};
/* How many of a rank's `rows` are kept; and of what of all ranks, `width` wide, the local
 * rank's begin. */
uint64_t oracle_kept_rows(const struct oracle *o, uint64_t rows);
struct oracle_kept oracle_kept(const struct oracle *o, double *all, uint64_t rows,
                               uint64_t width, uint64_t local);
/* kept[n, m] += factor a[n] b[m] */
void oracle_outer(const double *a, uint64_t n, const double *b, uint64_t m, double factor,
                  struct oracle_kept kept);
/* Squares of the columns of such a sum, from squares of what it is made of, which are alike
 * along the rows: sum[m] += factor^2 b2[m] times the mean of a2[n]. */
void oracle_outer_squares(const double *a2, uint64_t n, const double *b2, uint64_t m,
                          double factor, double *sum);
/* Squares are no less than the values' own, and than `least`. */
void oracle_squares_least(double *squares, const double *values, uint64_t n, double least);
/* squares[n] of values that are known to the bit. */
void oracle_squares_of(const double *values, uint64_t n, double *squares);

#endif
