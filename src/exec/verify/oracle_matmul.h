/* What a collective matmul must give, in f64 from the inputs' definition: no rank, no chunk. */
#ifndef MOEPLAN_EXEC_VERIFY_ORACLE_MATMUL_H
#define MOEPLAN_EXEC_VERIFY_ORACLE_MATMUL_H

#include "base/arena.h"
#include "exec/kernels/inputs.h"
#include "plan/plan.h"

struct oracle_matmul {
    const struct plan *plan;
    const struct inputs *inputs;
    uint64_t stride;       /* rows 0, stride, ... of the tokens */
    uint64_t first, width; /* columns of the result, first .. first + width - 1 */
    double least;          /* as in oracle_setup */
};

/* Columns of the whole result: F, or H where the block reduces to it. */
uint64_t oracle_matmul_columns(const struct plan *plan);

/* FLOP to compute all rows. */
double oracle_matmul_flop(const struct oracle_matmul *oracle);

/* The rows, [ceil(T / stride), width], and the squares of their sizes (oracle.h). Operands are
 * rounded to the formats they are stored in, sums are f64. Memory from the arena. */
double *oracle_matmul_compute(const struct oracle_matmul *oracle, struct arena *arena,
                              double **squares);

#endif
