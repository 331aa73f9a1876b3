/* Performing one op on all ranks of the process; for execute.c and tests. */
#ifndef MOEPLAN_EXEC_EXECUTE_OP_H
#define MOEPLAN_EXEC_EXECUTE_OP_H

#include "exec/execute.h"

/* Iteration: of the op's loop, 0 outside one. Adds to the ranks' counts. */
enum status execute_op(struct execution *x, size_t op, uint64_t iteration, struct err *err);

#endif
