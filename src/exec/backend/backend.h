/* Backends: what holds a layer's buffers and performs its ops, one row each.
 *
 * Nothing outside a backend looks at an operand's memory: results are copied out of it, counts
 * that steer the executor are read through it, and what transports move they take as it lies.
 * The CPU's memory is the host's, and its kernels are a table that tests may change. */
#ifndef MOEPLAN_EXEC_BACKEND_BACKEND_H
#define MOEPLAN_EXEC_BACKEND_BACKEND_H

#include "base/arena.h"
#include "base/err.h"
#include "exec/kernels/kernel.h"

/* name, text of --backend */
#define BACKEND_LIST(X)                                                                        \
    X(CPU, cpu)                                                                                \
    X(GPU, gpu)   /* the session's device */                                                   \
    X(NULL, null) /* every op is called and none does anything: what is timed is the harness   \
                   */

enum backend_kind {
#define BACKEND_ENUM(name, text) BACKEND_##name,
    BACKEND_LIST(BACKEND_ENUM)
#undef BACKEND_ENUM
};

struct session;

/* One op on all ranks of this process. */
struct launch {
    const struct op *op;
    struct call *calls; /* [n]: operands, arguments; counts are added up in them */
    uint64_t n;
    void **scratch;     /* by worker */
    void *const *space; /* [n] the same memory of the place where a call's rank is; NULL:
                           scratch is of the only place */
    bool beside_other;  /* exchanges are under way and want to get on */
};

enum backend_mark { BACKEND_BEGIN, BACKEND_END, BACKEND_MARKS };

struct backend {
    const char *name;
    bool idle; /* nothing is performed, and no memory holds anything */
    bool far;  /* its memory is not the host's: it has write, move and check */

    /* What the functions below are given; lives as long as the arena. `kernels` are those of
     * the CPU; NULL: all as they are. */
    enum status (*open)(struct session *session, const struct kernels *kernels,
                        struct arena *arena, void **device, struct err *err);

    /* What a list needs that has no part in its memory: done, and given back, before the first
     * of its buffers is allocated. NULL: nothing. */
    enum status (*prepare)(void *device, const struct work *work, struct err *err);

    /* Memories that the process's ranks are dealt to: NULL: one. */
    unsigned (*places)(void *device);
    /* Memory of a place aligned to 64 bytes, not initialised; NULL when there is no more. */
    void *(*alloc)(void *device, unsigned place, uint64_t bytes);
    void (*free)(void *device, void *memory);
    void (*fill)(void *device, void *memory, unsigned char byte, uint64_t bytes);
    /* Out of the backend's memory into the host's. */
    void (*copy)(void *device, const void *memory, void *to, uint64_t bytes);
    /* The same for a few numbers that decide what is done next. */
    void (*read_counts)(void *device, const int64_t *memory, uint64_t n, int64_t *to);
    /* Into the backend's memory, and inside it. */
    void (*write)(void *device, void *memory, const void *from, uint64_t bytes);
    void (*move)(void *device, const void *from, void *to, uint64_t bytes);
    void (*settle)(void *device); /* until all that moves has arrived; NULL: it has */
    /* Where other libraries find it, which know the device; NULL: nowhere. */
    void *(*address)(void *device, const void *memory);
    /* What has failed in functions that return nothing, once. */
    enum status (*check)(void *device, struct err *err);
    /* Out of the caches, as the layers of a model between two uses of this one would. */
    void (*flush)(void *device, const void *memory, uint64_t bytes);

    /* All units of all calls that are not skipped; no exchange comes here but to an idle one.
     */
    enum status (*launch)(void *device, const struct launch *launch, struct err *err);

    void (*mark)(void *device, enum backend_mark mark);
    double (*elapsed_s)(void *device); /* from the last BEGIN to the last END */
};

const struct backend *backend_of(enum backend_kind kind);

/* The rows. */
extern const struct backend backend_cpu, backend_gpu, backend_null;

#endif
