/* The executor: performs a layer's work list on the ranks of this process.
 *
 * Op by op, all ranks in step: the buffers that begin with an op are allocated through the
 * meter, the op is performed, the buffers that end with it are given back. So the bytes alive
 * at every op are those of the list's lifetimes, to the byte. */
#ifndef MOEPLAN_EXEC_EXECUTE_H
#define MOEPLAN_EXEC_EXECUTE_H

#include "base/arena.h"
#include "base/err.h"
#include "exec/backend/backend.h"
#include "exec/meter.h"
#include "exec/session.h"
#include "work/list/work.h"

/* What one rank did in one op of one step. */
struct op_counts {
    uint64_t flop, rows, dropped;
    uint64_t blocks, loads, fetched, crossed; /* as in struct counts */
    uint64_t sent, received;                  /* bytes to and from other ranks */
};

struct rank_state {
    const struct work *work;
    uint64_t rank;
    const uint64_t *values;   /* of the list's sizes, with this rank's slots */
    struct tensor *tensors;   /* by buffer */
    struct op_counts *counts; /* by op, of the last step */
    uint64_t trips;           /* of the loop at hand, 1 outside loops */
};

/* Looks at the tensors of an op when it has been performed; not timed. */
struct observer {
    void *context;
    enum status (*after)(void *context, const struct rank_state *rank, const struct op *op,
                         struct err *err);
};

/* Told when an op of an iteration began and ended, by the process's clock; with a loop as often
 * as it runs. Kept in memory until the step is over. */
struct recorder {
    void *context;
    void (*ran)(void *context, size_t op, uint64_t iteration, double begin_s, double end_s);
};

struct stage; /* execute_stage.h */

/* An exchange: of one op, of all ranks of the process; see execute_flight.h. */
struct flight {
    struct parcel *parcels; /* [n_ranks] */
    uint64_t *bytes;        /* [n_ranks][4][R], of the parcels */
    size_t op;
    uint64_t iteration;
    bool under_way;
    struct stage *stages; /* [n_ranks] copies in the host's memory; NULL: none */
};
struct absent;

struct execution {
    const struct work *work;
    const struct backend *backend;
    void *device;                   /* the backend's */
    const struct backend *performs; /* the ops: the backend, or one that is idle */
    void *performer;                /* its device */
    struct session *session;
    struct task task;
    struct meter meter;
    struct absent *absent; /* what absent ranks send, while begun; NULL: there are none */
    uint64_t n_ranks;      /* in this process */
    unsigned n_places;     /* memories; rank i of the process in i n_places / n_ranks */
    struct rank_state *ranks;
    void **scratch;    /* by worker */
    void **space;      /* [n_ranks] the same memory where a rank is */
    uint64_t *profile; /* [n_ops][CATEGORY_COUNT] bytes alive while an op ran, last step */
    struct flight flights[TRANSPORT_SLOTS + 1]; /* by slot; the last for one that blocks */
    unsigned n_under_way;
    struct call *calls;              /* [n_ranks] */
    const struct recorder *recorder; /* set by the caller for a step, or NULL */
};

struct execution_setup {
    const struct work *work;
    const struct plan *plan;
    const struct layer_sample *sample; /* NULL for a list without routing */
    const struct slots *slots;         /* one per rank of this process, in order */
    const struct kernels *kernels;     /* of the CPU; NULL: all as they are */
    struct session *session;
    enum backend_kind backend;
};

/* Evaluates the list for every rank of this process. Nothing is allocated but bookkeeping, in
 * the arena. */
enum status execution_init(struct execution *x, const struct execution_setup *setup,
                           struct arena *arena, struct err *err);

/* Evaluates the list for a rank: sizes and tensors, without data. */
enum status execution_rank_init(const struct work *work, const struct slots *slots,
                                uint64_t number, struct arena *arena, struct rank_state *rank,
                                struct err *err);

/* The op behind the loop of op `first`, or behind the op when it is in none. */
size_t execution_loop_end(const struct work *work, size_t first);

/* From now on ops are called and do nothing, or are performed again: what is measured in
 * between is the harness. */
enum status execution_idle(struct execution *x, bool idle, struct arena *arena,
                           struct err *err);

/* A copy, in the host's memory, of what lies in the backend's. */
void execution_copy(const struct execution *x, const void *memory, uint64_t bytes, void *to);
/* Numbers of a buffer of counts. */
void execution_counts(const struct execution *x, const struct tensor *tensor, uint64_t first,
                      uint64_t n, int64_t *to);

/* Allocates what is persistent and fills weights from the inputs. */
enum status execution_begin(struct execution *x, const struct inputs *inputs, struct err *err);

/* One step. `seconds` [n_ops], or NULL, gets the time of each op, its loops summed; of an
 * exchange that runs ahead it is what starting it took, and the wait that computation left.
 * After a failure only execution_end may follow. */
enum status execution_step(struct execution *x, const struct observer *observer,
                           double *seconds, struct err *err);

/* Gives everything back. */
void execution_end(struct execution *x);

#endif
