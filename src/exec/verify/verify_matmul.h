/* Verification of a collective matmul, as verify.h does for a layer: integers to the bit and
 * random numbers within a tolerance, for every rank's part of the result. */
#ifndef MOEPLAN_EXEC_VERIFY_VERIFY_MATMUL_H
#define MOEPLAN_EXEC_VERIFY_VERIFY_MATMUL_H

#include "exec/verify/verify.h"

/* A rank's part of the result among what the last op of the list reads: rows of tokens, columns
 * first .. first + view.width - 1 of the whole. False when there is no such part. */
struct matmul_part {
    struct tensor view;
    uint64_t first;
};
bool matmul_part_of(const struct plan *plan, const struct rank_state *rank,
                    const struct op *result, uint64_t number, struct matmul_part *part);

/* As verify_run, for an execution of a list of matmul_build. */
enum status verify_matmul(struct execution *x, const struct verify_options *options,
                          struct arena *arena, struct checks *checks, struct err *err);

#endif
