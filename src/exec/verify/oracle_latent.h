/* The way to latent rows and back in f64; for oracle.c. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_LATENT_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_LATENT_H

#include "exec/verify/oracle_matrix.h"
#include "exec/verify/oracle_norm.h"

struct oracle_latent {
    const struct oracle_setup *setup;
    struct oracle_matrix down, up; /* [H, W], [W, H] */
    double *token, *squares;       /* [H], of a token or of its sizes */
    bool normed;                   /* a token's sum is, before it goes up */
    struct oracle_norm norm;
    double *row, *row2;   /* [W] what goes up, and its squares */
    double *back, *back2; /* [W] the gradient of that */
    double *sums, *sums2; /* [n, W] sums that the gradient of their norm needs, by places; NULL:
                             it needs none */
};

/* Loads the matrices. A model without them needs none of this. */
void oracle_latent_init(struct oracle_latent *latent, const struct oracle_setup *setup,
                        struct arena *arena);

/* A token [H] as experts see it, or the gradient [H] of the output as that of the sum of its
 * rows, [W], as it is stored; and its squares, or NULL. */
void oracle_latent_row(struct oracle_latent *latent, enum fill fill, const double *token,
                       double *row, double *squares);

/* In place of the gradient of what goes up, that of the sum at a place; squares likewise, or
 * NULL. */
void oracle_latent_back(const struct oracle_latent *latent, uint64_t place, double *row,
                        double *squares);

/* Room for n sums; and all of them, complete, as they are stored. */
void oracle_latent_sums(struct oracle_latent *latent, const struct oracle *o, uint64_t n,
                        struct arena *arena);
void oracle_latent_store(struct oracle_latent *latent, uint64_t n);

/* After all experts: adds to out and dx of token n (of the local rank `local`) what its sums
 * o->routed and o->drouted make of it, and to the matrices' gradients. */
void oracle_latent_token(struct oracle_latent *latent, struct oracle *o, uint64_t local,
                         uint64_t n, const double *x, const double *dout);

#endif
