/* Inputs of collective matmuls: x[T, K] and matrices in the roles FILL_X, FILL_W13 (into the
 * block) and FILL_W2 (out of it), by place in the whole matrix, whichever rank holds it. */
#ifndef MOEPLAN_EXEC_VERIFY_INPUTS_MATMUL_H
#define MOEPLAN_EXEC_VERIFY_INPUTS_MATMUL_H

#include "exec/kernels/inputs.h"
#include "plan/plan.h"

struct inputs_matmul {
    struct inputs_shape shape; /* of a part */
};

/* The layer's integers: x of -2, -1, 1, 2, and matrices of so many of its matrices below each
 * other. Every column has one element of +-1 in every part, so that every rank adds to every
 * sum, and few enough parts that all sums are exact in bf16 (at most 256) in any order. The
 * context is filled and must live as long as the inputs. Matrices are not read by columns. */
void inputs_matmul_integers(struct inputs *inputs, struct inputs_matmul *context,
                            const struct plan *plan, uint64_t seed);

/* As the layer's: uniform, scaled so that results stay near 1. */
void inputs_matmul_random(struct inputs *inputs, struct inputs_matmul *context,
                          const struct plan *plan, uint64_t seed);

#endif
