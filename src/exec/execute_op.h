/* Performing one op on all ranks of the process; for execute.c and tests. */
#ifndef MOEPLAN_EXEC_EXECUTE_OP_H
#define MOEPLAN_EXEC_EXECUTE_OP_H

#include "exec/execute.h"

/* A rank's buffer, the copy of an iteration. */
struct tensor execute_tensor(const struct rank_state *rank, uint16_t buffer,
                             uint64_t iteration);

/* An op's call on a rank's tensors. */
void execute_prepare(const struct task *task, const struct op *op,
                     const struct rank_state *rank, uint64_t iteration, struct call *call);

/* Iteration: of the op's loop, 0 outside one. Adds to the ranks' counts. */
enum status execute_op(struct execution *x, size_t op, uint64_t iteration, struct err *err);

#endif
