/* How long data alone needs the operands of a step's list: what a stack without libraries or
 * habits holds. */
#ifndef MOEPLAN_WORK_PASS_LIVES_H
#define MOEPLAN_WORK_PASS_LIVES_H

#include "work/list/work.h"

/* Gives every operand that work_ops added (from work->n_held on) its life, one tick an op:
 * saved when a segment's backward reads what its forward made and nothing makes it again, else
 * alive from the first op that touches it to the last. Weights, their gradients and what the
 * optimizer touches are the state's and hold nothing of their own. */
void lives_from_use(struct work *work);

/* The ops of the loop an op is in, or that op alone. */
void work_loop_range(const struct work *work, uint16_t op, uint16_t *first, uint16_t *last);

#endif
