/* Absent ranks: what they send when one rank of a group is performed alone.
 *
 * Metadata - counts, row records, experts of tokens - is what it would be: made by the ordinary
 * kernels from the routing sample, one absent rank after the other, before anything is timed
 * and outside the meter. Rows of numbers are made up: all rows that an absent rank sends in one
 * role are alike (inputs_absent), encoded as the exchange carries them. So every byte, row and
 * FLOP of the one rank is that of the full run, and the oracle can know every result. */
#ifndef MOEPLAN_EXEC_ABSENT_ABSENT_H
#define MOEPLAN_EXEC_ABSENT_ABSENT_H

#include "exec/execute.h"

/* Rows that the one rank sent in a role, added up by receiver. */
struct absent_sent {
    uint64_t width;
    double *sum; /* [R, width]; NULL: no exchange in this role */
};

/* Makes all they will send on the inputs of x->task, and binds the transport to it. On failure
 * absent_end frees what there is. */
enum status absent_begin(struct execution *x, struct err *err);
void absent_end(struct execution *x); /* nothing begun is fine */

/* From now on what is sent is added up. */
void absent_audit(struct execution *x);
const struct absent_sent *absent_sent(const struct execution *x, enum absent_row which);

/* ---- for the transport ---- */

/* STATUS_MISMATCH when an absent rank would send other bytes than the parcel expects. */
enum status absent_check(const struct absent *absent, const struct parcel *parcel,
                         struct err *err);
/* Writes what absent rank `from` sends. */
void absent_fill(const struct absent *absent, const struct parcel *parcel, uint64_t from);
/* Adds up what is sent to absent rank `to`, when that was asked for. */
void absent_take(const struct absent *absent, const struct parcel *parcel, uint64_t to);

#endif
