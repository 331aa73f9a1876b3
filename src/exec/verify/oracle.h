/* The oracle: what the layer's results must be, computed token by token in f64 from the inputs'
 * definition, with no code and no data of the executor but number formats.
 *
 * Operands are rounded to the formats they are stored in; sums are f64. Large plans are checked
 * on every stride-th token.
 *
 * Beside what is held to a tolerance stand squares: of the size that its rounding errors
 * follow. A sum's errors are those of its terms, whatever is left of them when they cancel, and
 * a value that is such a rest carries them on: squares of terms are added up, sizes multiply,
 * and nothing is smaller than the value itself (running error analysis, Higham, Accuracy and
 * Stability of Numerical Algorithms, 3.3, of errors that are independent). */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "exec/kernels/inputs.h"
#include "plan/plan.h"
#include "work/layer/layer_sample.h"

struct oracle_setup {
    const struct plan *plan;
    const struct layer_sample *sample;
    const struct inputs *inputs;
    enum dtype activation, weight;
    enum dtype wire;              /* experts see x after a trip through it */
    bool scaled_first;            /* scale pre: gates apply before that trip, or after */
    uint64_t first_rank, n_ranks; /* of this process */
    uint64_t stride;              /* tokens 0, stride, ... of each of them; 1: all */
    bool backward;                /* weight gradients only with stride 1 */
    uint64_t gradient_stride; /* rows 0, stride, ... of a rank's gradients of matrices of one
                                 name, one matrix behind the other; above 1: exact results */
    uint64_t drop_groups, drop_capacity; /* capacity 0: nothing is dropped */
    bool alone;                          /* all other ranks are absent (absent.h) */
    uint64_t peer_stride; /* what every peer_stride-th absent rank gets back is checked */
    uint64_t pair_slots;  /* rows an expert gets of a rank, empty ones included; 0: as routed */
    bool exact;           /* the results are known to the bit: no squares */
    double tolerance;     /* of activations: a slope that jumps so near is either */
    double least;         /* square of the smallest size that is stored with all its bits */
};

/* What a rank that is alone sends to the absent ones in one role: sums over rows. */
struct oracle_sent {
    uint64_t width, stride; /* complete for every stride-th rank behind this one */
    double *sum;            /* [R, width]; NULL: nothing is sent in this role */
    double *sizes;          /* [R, width] that errors of the sum follow; NULL: exact */
    uint64_t *rows;         /* [R] in a sum */
};

/* Squares of results; of a matrix those of its columns or of its rows, which are alike along
 * the other side: a sum of products of a token's x and the gradients of what it became. */
struct oracle_squares {
    double *out, *dx, *routed, *drouted, *dgates; /* as the values */
    double *dw13, *dw2;                           /* [n_ranks, e, GI], [n_ranks, e, I] */
    double *db13, *db2, *dlinear_bias;            /* as the values */
    double *drouter;                              /* [n_ranks, E] */
    double *dshared13, *dshared2;                 /* [n_ranks, GI_s], [n_ranks, I_s] */
    double *dshared_gate;                         /* [n_ranks] */
    double *dlatent_down, *dlatent_up;            /* [n_ranks, W] both */
    double *dlatent_norm, *drouter_norm;          /* as the values */
    double *dgate_scale;                          /* as the values */
    double *dresidual13, *dresidual2;             /* [n_ranks, GI_r], [n_ranks, I_r] */
};

/* Tokens are numbered n = rank in this process * n_tokens + t / stride. Experts of a gradient
 * are local to its rank, and get the rows of all ranks. */
struct oracle {
    struct oracle_setup setup;
    uint64_t n_tokens;            /* checked tokens of a rank */
    uint64_t H, W, I, GI, K, E;   /* W: width of the rows that experts work on; E: choices */
    double *out;                  /* [n, H] */
    double *dx;                   /* [n, H] */
    double *routed, *drouted;     /* [n, W] the experts' part: of out and dx, or what latent_up
                                     reads and the gradient of what latent_down wrote */
    double *dgates;               /* [n, K], in the order of the sample's ids */
    double *dw13;                 /* [n_ranks, e, W, GI]; NULL with a stride, as all below;
                                     of matrices the rows of gradient_stride */
    double *dw2;                  /* [n_ranks, e, I, W] */
    double *db13, *db2;           /* [n_ranks, e, GI], [n_ranks, e, W] */
    double *drouter;              /* [n_ranks, H, E] */
    double *dshared13, *dshared2; /* [n_ranks, H, GI_s], [n_ranks, I_s, H] */
    double *dlinear_bias;         /* [n_ranks, E] */
    double *dshared_gate;         /* [n_ranks, H] */
    double *dlatent_down;         /* [n_ranks, H, W]; NULL without latent rows */
    double *dlatent_up;           /* [n_ranks, W, H] */
    double *dlatent_norm;         /* [n_ranks, W] */
    double *drouter_norm;         /* [n_ranks, H] */
    double *dgate_scale;          /* [n_ranks, E] */
    double *dresidual13, *dresidual2;     /* [n_ranks, H, GI_r], [n_ranks, I_r, H] */
    struct oracle_squares squares;        /* all NULL where results are exact */
    struct oracle_sent sent[ABSENT_ROWS]; /* when alone */
};

/* FLOP of the routed experts, forward, for all tokens of n_ranks: to be held against a budget.
 */
double oracle_flop(const struct plan *plan, const struct layer_sample *sample,
                   uint64_t n_ranks);

/* Computes everything; memory from the arena. */
void oracle_compute(struct oracle *oracle, const struct oracle_setup *setup,
                    struct arena *arena);

#endif
