/* Exchanges under way while other ops run; for execute.c and execute_op.c.
 *
 * In a loop, ops that are ahead run one iteration further than their neighbours. An
 * exchange among them, or one outside loops that is, is started when its turn comes and
 * finished before the first op that would see or disturb it: one that reads or writes the copy
 * of a buffer it arrives in, or writes the copy it leaves from. Which op that is follows from
 * the operands; the list keeps what is under way alive until then. */
#ifndef MOEPLAN_EXEC_EXECUTE_FLIGHT_H
#define MOEPLAN_EXEC_EXECUTE_FLIGHT_H

#include "exec/execute.h"

/* Starts what the parcels of a free flight say; it is under way then. */
enum status flight_start(struct execution *x, struct flight *flight, size_t op,
                         uint64_t iteration, struct err *err);

/* A free flight; there is one after flights_settle. */
struct flight *flight_free(struct execution *x);

/* Before an op of an iteration: finishes what it would see or disturb, and, when it is an
 * exchange that needs a flight and none is free, everything. Waiting counts to the exchange:
 * `seconds` as in execution_step. */
enum status flights_settle(struct execution *x, size_t op, uint64_t iteration, double *seconds,
                           struct err *err);

enum status flights_finish(struct execution *x, double *seconds, struct err *err);

/* Whether one leaves from a buffer or arrives in it. */
bool flights_use(const struct execution *x, uint16_t buffer);

/* Whether the op is an exchange that others may run beside. */
bool flight_is_ahead(const struct op *op);

#endif
