/* Exchanges of what does not lie in the host's memory, through copies in it; for execute.c.
 *
 * Transports between processes, and what stands in for absent ranks, follow addresses. Before
 * such an exchange what a rank sends is copied out of its backend, afterwards what arrived is
 * copied in. Logical ranks of one process need none of it: their transport moves memory through
 * the backend. The copies are the host's, the meter's are the device's. */
#ifndef MOEPLAN_EXEC_EXECUTE_STAGE_H
#define MOEPLAN_EXEC_EXECUTE_STAGE_H

#include "exec/execute.h"

/* Tells a transport of logical ranks how memory is moved; when the execution begins. */
void stage_bind(struct execution *x);

/* Copies out, and leaves the flight's parcels on the copies. No-op where none is needed. */
enum status stage_out(struct execution *x, struct flight *flight, struct err *err);

/* Copies in what has arrived, and frees the copies. */
enum status stage_in(struct execution *x, struct flight *flight, struct err *err);

/* Frees what an exchange that was given up has left. */
void stage_drop(struct flight *flight, uint64_t n_ranks);

#endif
