/* Rows behind the last group must be zero after fan-out and before combine: garbage there would
 * fold back into gradients. Looked at while the buffers are alive. */
#ifndef MOEPLAN_EXEC_VERIFY_VERIFY_TAIL_H
#define MOEPLAN_EXEC_VERIFY_VERIFY_TAIL_H

#include "exec/execute.h"

/* True when the op just performed leaves such a buffer; *dirty counts the rows behind the last
 * group that are not zero. */
bool verify_tail(const struct execution *x, const struct rank_state *rank, const struct op *op,
                 uint64_t *dirty);

#endif
