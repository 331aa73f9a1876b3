/* What this machine can do, measured: products by rows, sizes and format, memory traffic, the
 * cost of waking workers, exchanges between ranks.
 *
 * A worker is a device, as `run` prices it, so every figure is one worker's while all of them
 * do the same. Rounds go over all points in turn, one sample each: what drifts while probing is
 * in the spread. A sample repeats its work until it lasts some milliseconds. */
#ifndef MOEPLAN_EXEC_PROBE_H
#define MOEPLAN_EXEC_PROBE_H

#include "base/arena.h"
#include "exec/session.h"
#include "plan/plan.h"

enum { PROBE_ROUNDS = 9 };

/* kind, name, unit of its value */
#define PROBE_LIST(X)                                                                          \
    X(GEMM, "gemm", "flop/s")   /* [rows, depth] x [depth, columns], weights out of memory */  \
    X(DGRAD, "dgrad", "flop/s") /* the same by the transpose of [columns, depth] */            \
    X(WGRAD, "wgrad", "flop/s") /* [depth, rows] x [rows, columns], into memory */             \
    X(COPY, "copy", "bytes/s")  /* read and written bytes */                                   \
    X(READ, "read", "bytes/s")                                                                 \
    X(WRITE, "write", "bytes/s")                                                               \
    X(GATHER, "gather", "bytes/s")     /* rows of `columns` floats in random order, read and   \
                                          written bytes */                                     \
    X(ACTIVATE, "activate", "bytes/s") /* run's own silu of gates times ups, read and          \
                                          written bytes */                                     \
    X(ACTIVATE_BACK, "activate_back", "bytes/s") /* its gradients: five in place of three */   \
    X(LAUNCH, "launch", "s")                     /* wakes all workers and waits for them */    \
    X(EXCHANGE, "exchange", "s") /* all ranks of the session send `bytes` to each other rank   \
                                  */

enum probe_kind {
#define PROBE_ENUM(name, text, unit) PROBE_##name,
    PROBE_LIST(PROBE_ENUM)
#undef PROBE_ENUM
        PROBE_KINDS
};

const char *probe_kind_name(enum probe_kind kind);
const char *probe_kind_unit(enum probe_kind kind);
bool probe_is_product(enum probe_kind kind);

struct probe_point {
    enum probe_kind kind;
    enum dtype dtype; /* of products */
    uint64_t rows, depth, columns;
    uint64_t bytes;     /* a worker's, of memory; between two ranks, of an exchange */
    double value;       /* median over rounds: FLOP/s, bytes/s or seconds */
    double low, high;   /* least and most of them */
    uint64_t clock_mhz; /* of a GPU when it had been measured; 0: not known */
    uint64_t groups;    /* of a GPU's product: experts with so many rows; 0: one */
};

/* Seconds of one repetition in every round, which are sorted here, as the point's value. */
void probe_settle(struct probe_point *point, double seconds[PROBE_ROUNDS]);

/* Measures all points with the session's workers and transport, which has been set up. Every
 * process of a group probes alike; of exchanges the slowest counts. Memory from the arena. */
enum status probe_run(struct session *session, struct arena *arena, struct probe_point **points,
                      size_t *n, struct err *err);

#endif
