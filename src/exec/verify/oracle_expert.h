/* One expert in f64; for oracle.c. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_EXPERT_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_EXPERT_H

#include "exec/verify/oracle.h"

/* A matrix as its format holds it or, of picked inputs, the one element of each column. */
struct oracle_matrix {
    uint64_t rows, columns;
    uint64_t *pick; /* [columns] row of the element; NULL: dense */
    float *value;   /* [columns], or [rows, columns] */
};

struct oracle_expert {
    const struct oracle_setup *setup;
    struct oracle_matrix w13, w2;
    float *b13, *b2; /* NULL: none */
};

/* Room for experts of width `inter` on rows of `width`. */
void oracle_expert_init(struct oracle_expert *expert, const struct oracle_setup *setup,
                        uint64_t width, uint64_t inter, struct arena *arena);
/* Loads the matrices and biases of a logical expert; those of a network that all tokens pass.
 */
void oracle_expert_load(struct oracle_expert *expert, uint64_t number);
void oracle_expert_load_beside(struct oracle_expert *expert, enum fill fill13, enum fill fill2);

/* A matrix that there is one of, [rows, columns], loaded; y = x M; x = M y. */
struct oracle_matrix oracle_matrix_of(const struct oracle_setup *setup, enum fill fill,
                                      uint64_t rows, uint64_t columns, struct arena *arena);
void oracle_times(const struct oracle_matrix *m, const double *x, double *y);
void oracle_times_column(const struct oracle_matrix *m, const double *y, double *x);

/* The values of one row, of widths GI, I and the expert's own, which is that of x. */
struct oracle_row {
    double *x, *h, *a, *y;
    double *dy, *da, *dh, *dx;
};
void oracle_row_init(struct oracle_row *row, const struct oracle_expert *expert,
                     struct arena *arena);
void oracle_row_forward(const struct oracle_expert *expert, struct oracle_row *row);
void oracle_row_backward(const struct oracle_expert *expert, struct oracle_row *row);

/* The tanh form, of numbers in f64. */
double oracle_gelu(double x);

/* sum[n] += factor values[n] */
void oracle_add(double *sum, const double *values, uint64_t n, double factor);
double oracle_dot(const double *a, const double *b, uint64_t n);
/* sum[n, m] += a[n] b[m]; returns the sum of squares of what was added. */
double oracle_outer(const double *a, uint64_t n, const double *b, uint64_t m, double *sum);

#endif
