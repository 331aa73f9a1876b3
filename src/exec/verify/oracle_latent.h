/* The way to latent rows and back in f64; for oracle.c. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_LATENT_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_LATENT_H

#include "exec/verify/oracle_matrix.h"

struct oracle_latent {
    const struct oracle_setup *setup;
    struct oracle_matrix down, up; /* [H, W], [W, H] */
    double *token, *squares;       /* [H], of a token or of its sizes */
};

/* Loads the matrices. A model without them needs none of this. */
void oracle_latent_init(struct oracle_latent *latent, const struct oracle_setup *setup,
                        struct arena *arena);

/* A token [H] as experts see it, or the gradient [H] of the output as that of the sum of its
 * rows, [W], as it is stored; and its squares, or NULL. */
void oracle_latent_row(struct oracle_latent *latent, enum fill fill, const double *token,
                       double *row, double *squares);

/* After all experts: adds to out and dx of token n (of the local rank `local`) what its sums
 * o->routed and o->drouted make of it, and to the matrices' gradients. */
void oracle_latent_token(struct oracle_latent *latent, struct oracle *o, uint64_t local,
                         uint64_t n, const double *x, const double *dout);

#endif
