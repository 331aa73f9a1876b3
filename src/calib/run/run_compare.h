/* What was counted while a step ran, against the work list: each difference is a failed check.
 */
#ifndef MOEPLAN_CALIB_RUN_RUN_COMPARE_H
#define MOEPLAN_CALIB_RUN_RUN_COMPARE_H

#include "exec/execute.h"
#include "exec/verify/verify.h"
#include "sim/memory/memory.h"

/* FLOP, bytes sent and received, drops: op by op and rank by rank, of the last step. */
void run_compare_counts(const struct execution *x, struct checks *checks);

/* One count of an op on a rank. */
void run_compare_count(struct checks *checks, const char *name, const struct op *op,
                       uint64_t rank, uint64_t counted, uint64_t predicted);

/* Metered against predicted: the peak, and the categories at its op. */
void run_compare_memory(const struct execution *x, const struct memory_peak *peak,
                        struct checks *checks);

/* The checks of all processes as one: failed where any failed, the largest error. */
enum status run_compare_everywhere(struct transport *transport, struct checks *checks,
                                   struct err *err);

#endif
