/* What a run computes on: weights, tokens and gradients as pure functions of where they stand,
 * so that any rank can compute any rank's data and a reference needs no copy of it. Tokens are
 * numbered through the group, rank * T + t: how many ranks share them changes nothing. */
#ifndef MOEPLAN_EXEC_KERNELS_INPUTS_H
#define MOEPLAN_EXEC_KERNELS_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "work/list/kernel.h"

struct inputs {
    const char *name; /* "integers", "random" */
    uint64_t seed;
    const void *context;
    /* Elements [c, c + n) of a row of what is filled, before they are rounded to the buffer's
     * format. (a, row) is FILL_X, FILL_DOUT (0, token of the group); FILL_W13, FILL_W2 (logical
     * expert, row); FILL_B13, FILL_B2 (logical expert, 0); FILL_ROUTER (0, h), columns being
     * experts; FILL_BIAS (0, 0); FILL_SHARED_*, FILL_RESIDUAL_*, FILL_LATENT_* (0, row);
     * FILL_SHARED_GATE (0, h), one column; FILL_LINEAR_BIAS, FILL_LATENT_NORM,
     * FILL_ROUTER_NORM, FILL_GATE_SCALE (0, 0). */
    void (*row)(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t row,
                uint64_t c, uint64_t n, float *out);
    /* The same elements down a column: rows [r, r + n). */
    void (*column)(const struct inputs *inputs, enum fill fill, uint64_t a, uint64_t column,
                   uint64_t r, uint64_t n, float *out);
    /* Gate of a slot of a token of the group; NULL: the router's own scores. */
    float (*gate)(const struct inputs *inputs, uint64_t token, uint64_t k);
    bool linear; /* the activation is relu (times up): integers stay integers */
    bool picked; /* a matrix has one non-zero element per column, where inputs_pick says */
};

/* Small integers, one per column in every expert matrix, so that every product, sum and
 * gradient is exact in bf16 and f32 in any order: results are compared bit by bit. The shape
 * must live as long as the inputs. */
struct inputs_shape {
    uint64_t hidden, routed; /* of tokens; of the rows that experts read */
    uint64_t inter, shared_inter, residual_inter;
};
struct inputs_shape inputs_shape_of(const struct plan *plan);
void inputs_integers(struct inputs *inputs, const struct inputs_shape *shape, uint64_t seed);

/* Uniform random numbers scaled so that every layer's values stay near 1. */
void inputs_random(struct inputs *inputs, const struct inputs_shape *shape, uint64_t seed);

/* What absent ranks send when one rank of a group is performed alone (absent.h): rows that are
 * all alike, one for each rank and purpose. */
enum absent_row {
    ABSENT_TOKENS,         /* x of its tokens */
    ABSENT_OUTPUTS,        /* what its experts return to the tokens of others */
    ABSENT_GRADIENTS,      /* of what was returned to it */
    ABSENT_X_GRADIENTS,    /* what its experts return in the backward */
    ABSENT_GATES,          /* of its tokens, and those it returns: one number */
    ABSENT_GATE_GRADIENTS, /* one number */
    ABSENT_ROWS
};
/* n elements of such a row. Each is a number of bf16 and of f16, so that it does not matter
 * where it is rounded on its way. */
void inputs_absent(const struct inputs *inputs, enum absent_row which, uint64_t rank,
                   uint64_t n, float *out);

/* Whether it is a weight matrix, of which picked inputs have one element per column. */
bool inputs_is_matrix(enum fill fill);

/* For picked inputs: the row of the non-zero element of a column of a matrix of `rows` rows. */
uint64_t inputs_pick(enum fill fill, uint64_t expert, uint64_t column, uint64_t rows);

#endif
