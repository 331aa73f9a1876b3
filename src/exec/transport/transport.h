/* Transports: how rows get from rank to rank. One exchange plan, many transports: `local`
 * copies between the logical ranks of this process, `share` performs one rank alone, `mpi`
 * sends between processes of one rank each.
 *
 * All calls are collective: every rank of the group makes them in the same order.
 *
 * Exchanges that run beside computation: `start` in a slot, compute, `finish` the slot. Until
 * then the parcels, their arrays, and the rows sent must stay as they are, and the places they
 * go to must not be looked at. Slots are independent of each other and of `exchange`, which may
 * run while others are under way. Computing threads call `progress` now and then. */
#ifndef MOEPLAN_EXEC_TRANSPORT_TRANSPORT_H
#define MOEPLAN_EXEC_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"

enum { TRANSPORT_SLOTS = 4 }; /* exchanges under way at once, `exchange` not counted */

/* One rank's part of an exchange; arrays have an element per peer, in bytes. */
struct parcel {
    const char *send;
    char *receive;
    const uint64_t *send_bytes, *send_at;
    const uint64_t *receive_bytes, *receive_at;
    uint64_t op, iteration; /* which exchange of the list it is */
};

struct transport;

struct transport_ops {
    const char *name;
    /* Parcels of the ranks of this process, in order of rank. Fails on every rank when two
     * ranks disagree about the bytes between them. */
    enum status (*exchange)(struct transport *t, const struct parcel *parcels, struct err *err);
    /* Begins an exchange in a slot that is free (0 .. TRANSPORT_SLOTS - 1, the same on every
     * rank), without waiting for other ranks. */
    enum status (*start)(struct transport *t, unsigned slot, const struct parcel *parcels,
                         struct err *err);
    /* Waits until the slot's exchange is done; the slot is free again. */
    enum status (*finish)(struct transport *t, unsigned slot, struct err *err);
    /* Moves on what is under way, for a short time; errors wait for `finish`. Called by any
     * worker of the session's pool between two pieces of work, from several at once, never
     * beside another call. Not collective. */
    void (*progress)(struct transport *t, unsigned worker);
    /* The worst status of all ranks, with its text, on every rank. A failure gives up what is
     * under way: its rows and parcels may then be freed. */
    enum status (*agree)(struct transport *t, enum status mine, struct err *err);
    /* Element-wise over all ranks, in place. */
    enum status (*sum)(struct transport *t, uint64_t *values, size_t n, struct err *err);
    enum status (*max)(struct transport *t, double *values, size_t n, struct err *err);
    /* From now on it takes memory of devices as it lies, by `address`; NULL: it never does.
     * STATUS_ABSENT when the library does not, of this driver's devices ("cuda", "hip"). */
    enum status (*direct)(struct transport *t, const char *driver, struct err *err);
    void (*close)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    const char *mode;    /* "in-process", "process per rank, one node", "... , across nodes" */
    uint64_t n_ranks;    /* of the group */
    uint64_t first;      /* rank of this process's first part */
    uint64_t n_local;    /* ranks in this process */
    uint64_t node_ranks; /* processes of the group on this machine: they share its memory */
    uint64_t node_rank;  /* which of them this is */
    double timeout_s;    /* longest wait for another process */
    bool alone;          /* the other ranks are absent: what they send is made up */
    bool ready;          /* set-up is done: exchanges may run */
    bool moves;          /* memory that is not the host's, by `move` */
    /* How bytes are copied when they are not the host's; NULL: they are. One at a time. */
    void (*move)(void *mover, const void *from, void *to, uint64_t bytes);
    void (*settle)(void *mover); /* until all that was moved has arrived; NULL: it has */
    /* Where other libraries find memory that is not the host's; NULL: nowhere. */
    void *(*address)(void *mover, const void *memory);
    void *mover;
};

/* Logical ranks first .. first + n_local - 1 of n_ranks in this process. The pool does the
 * copies; it must outlive the transport. */
enum status transport_local_open(uint64_t n_ranks, struct pool *pool, struct transport **out,
                                 struct err *err);

/* One rank of n_ranks in this process and no others: they are absent, and what they send is
 * made up (absent.h). The pool must outlive the transport. */
enum status transport_share_open(uint64_t rank, uint64_t n_ranks, struct pool *pool,
                                 struct transport **out, struct err *err);
/* Where it comes from, from now on; NULL: exchanges are errors. Not owned. */
struct absent;
void transport_share_bind(struct transport *transport, struct absent *absent);

/* One rank per process, from MPI's module; STATUS_ABSENT when there is none. A wait for another
 * process longer than the timeout ends this one: with a message, in MPI_Init too. */
enum status transport_mpi_open(double timeout_s, struct transport **out, struct err *err);

/* Rows go from device to device by NCCL or RCCL from now on, what ranks agree on over the
 * transport as before: *transport takes it over. A device for each rank of this process;
 * collective. STATUS_ABSENT when there is no such library, STATUS_USAGE when devices and ranks
 * do not match. The devices must outlive it. */
struct gpu_group;
enum status transport_nccl_wrap(struct transport **transport, struct gpu_group *gpus,
                                struct err *err);

void transport_close(struct transport *transport); /* NULL is fine */

/* sum and max where this process is all there is of the group. */
enum status transport_own_sum(struct transport *transport, uint64_t *values, size_t n,
                              struct err *err);
enum status transport_own_max(struct transport *transport, double *values, size_t n,
                              struct err *err);

/* Of all ranks in one process: STATUS_MISMATCH where two disagree about the bytes between them.
 */
enum status transport_check_pairs(const struct transport *transport,
                                  const struct parcel *parcels, struct err *err);

/* STATUS_INPUT before set-up: an exchange would not know its group and sizes. */
enum status transport_check_ready(const struct transport *transport, struct err *err);

#endif
