/* The oracle: what the layer's results must be, computed token by token in f64 from the inputs'
 * definition, with no code and no data of the executor but number formats.
 *
 * Operands are rounded to the formats they are stored in; sums are f64. Large plans are checked
 * on every stride-th token. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "exec/verify/inputs.h"
#include "plan/plan.h"
#include "work/piece/layer_sample.h"

struct oracle_setup {
    const struct plan *plan;
    const struct layer_sample *sample;
    const struct inputs *inputs;
    enum dtype activation, weight;
    enum dtype wire;                     /* experts see x after a trip through it */
    bool scaled_first;                   /* scale pre: gates apply before that trip, or after */
    uint64_t first_rank, n_ranks;        /* of this process */
    uint64_t stride;                     /* tokens 0, stride, ... of each of them; 1: all */
    bool backward;                       /* weight gradients only with stride 1 */
    uint64_t drop_groups, drop_capacity; /* capacity 0: nothing is dropped */
    bool alone;                          /* all other ranks are absent (absent.h) */
    uint64_t peer_stride; /* what every peer_stride-th absent rank gets back is checked */
    uint64_t pair_slots;  /* rows an expert gets of a rank, empty ones included; 0: as routed */
};

/* What a rank that is alone sends to the absent ones in one role: sums over rows. */
struct oracle_sent {
    uint64_t width, stride; /* complete for every stride-th rank behind this one */
    double *sum;            /* [R, width]; NULL: nothing is sent in this role */
    uint64_t *rows;         /* [R] in a sum */
    double scale;           /* of one element before its own terms cancel; 0: none do */
};

/* Sums of squares of the products that a rank's weight gradients are sums of: how large the
 * gradients would be if nothing cancelled, which is what their rounding errors follow. */
struct oracle_terms {
    double dw13, dw2, drouter, dlinear_bias, dlatent_down, dlatent_up;
    struct oracle_beside_terms {
        double d13, d2, dgate;
    } shared, residual;
};

/* Tokens are numbered n = rank in this process * n_tokens + t / stride. Experts of a gradient
 * are local to its rank, and get the rows of all ranks. */
struct oracle {
    struct oracle_setup setup;
    uint64_t n_tokens;            /* checked tokens of a rank */
    uint64_t H, W, I, GI, K, E;   /* W: width of the rows that experts work on */
    double *out;                  /* [n, H] */
    double *dx;                   /* [n, H] */
    double *routed, *drouted;     /* [n, W] the experts' part: of out and dx, or what latent_up
                                     reads and the gradient of what latent_down wrote */
    double *dgates;               /* [n, K], in the order of the sample's ids */
    double *dw13;                 /* [n_ranks, e, W, GI]; NULL with a stride, as all below */
    double *dw2;                  /* [n_ranks, e, I, W] */
    double *db13, *db2;           /* [n_ranks, e, GI], [n_ranks, e, W] */
    double *drouter;              /* [n_ranks, H, E] */
    double *dshared13, *dshared2; /* [n_ranks, H, GI_s], [n_ranks, I_s, H] */
    double *dlinear_bias;         /* [n_ranks, E] */
    double *dshared_gate;         /* [n_ranks, H] */
    double *dlatent_down;         /* [n_ranks, H, W]; NULL without latent rows */
    double *dlatent_up;           /* [n_ranks, W, H] */
    double *dresidual13, *dresidual2;     /* [n_ranks, H, GI_r], [n_ranks, I_r, H] */
    struct oracle_terms *terms;           /* [n_ranks] */
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
