/* One expert in f64; for oracle.c. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_EXPERT_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_EXPERT_H

#include "exec/verify/oracle_matrix.h"

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

/* The values of one row, of widths GI, I and the expert's own, which is that of x. */
struct oracle_row {
    double *x, *h, *a, *y;
    double *dy, *da, *dh, *dx;
    struct oracle_row *squares; /* of each; NULL: not wanted */
};
void oracle_row_init(struct oracle_row *row, const struct oracle_expert *expert,
                     struct arena *arena);
void oracle_row_forward(const struct oracle_expert *expert, struct oracle_row *row);
void oracle_row_backward(const struct oracle_expert *expert, struct oracle_row *row);

/* The tanh form, of numbers in f64. */
double oracle_gelu(double x);

/* Adds n rows alike, forward and backward, to the gradients of local expert `number`. */
void oracle_add_weight_gradients(struct oracle *o, uint64_t number,
                                 const struct oracle_row *row, double n);

#endif
