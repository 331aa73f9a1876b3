/* Dividing a plan so that a small machine can perform it. */
#ifndef MOEPLAN_CALIB_RUN_RUN_SHRINK_H
#define MOEPLAN_CALIB_RUN_RUN_SHRINK_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

/* Divides a plan by n: the expert-parallel group becomes gcd(ep, n) times smaller and keeps the
 * experts of the ranks that stay, so a rank's weights are what they were; the tokens of each
 * rank are divided by n (sequences shortened, in decode fewer of them), rounded up. top_k and
 * router groups follow where there are too few experts. A collective matmul
 * keeps its ranks and matrices. *how says what changed, in words.
 * STATUS_INPUT when a rule refuses the result; memory from the arena. */
enum status run_shrink(struct plan *plan, uint64_t n, struct arena *arena, const char **how,
                       struct err *err);

#endif
