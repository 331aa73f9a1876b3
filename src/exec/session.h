/* A session: what a process opens once and keeps for all its runs: BLAS, workers, transport,
 * and the snapshot that set-up freezes. */
#ifndef MOEPLAN_EXEC_SESSION_H
#define MOEPLAN_EXEC_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/pool.h"
#include "exec/kernels/blas.h"
#include "exec/transport/transport.h"

enum transport_kind { TRANSPORT_LOCAL, TRANSPORT_SHARE, TRANSPORT_MPI };

/* What rows of a GPU pass through on their way to another process or device. */
enum through { THROUGH_HOST, THROUGH_DEVICE, THROUGH_NCCL };

struct session_options {
    enum transport_kind transport;
    uint64_t ranks;     /* R of the plan's group; 0, MPI only: as many as it has */
    uint64_t rank;      /* TRANSPORT_SHARE: the one that is performed */
    unsigned workers;   /* 0: one per core, one when MPI runs a rank per process */
    bool plain_c;       /* no BLAS */
    bool gpu;           /* a device is opened: */
    const char *device; /* "opencl:0", or several between commas; NULL: the first there is */
    enum through through;
    double timeout_s; /* longest wait for another process; 0: a minute */
};

/* What set-up fixed: printed with every report, read by every exchange. */
struct snapshot {
    const char *transport, *mode;
    uint64_t ranks, first_rank, local_ranks;
    uint64_t exchange_bytes; /* the largest exchange of a rank */
    uint64_t workers;        /* threads of this process */
};

struct gpu;
struct gpu_group;

struct session {
    struct blas blas;
    uint64_t blas_bytes; /* of address space that BLAS is yet to take, where that is limited */
    char warning[256];   /* "" or why BLAS is not what was hoped for */
    struct pool *pool;
    struct transport *transport;
    struct gpu_group *gpus; /* NULL: none was asked for */
    struct gpu *gpu;        /* the first of them, or NULL */
    bool frozen;
    struct snapshot snapshot;
};

/* Opens everything. Release with session_close, also after a failure. */
enum status session_open(struct session *session, const struct session_options *options,
                         struct err *err);
void session_close(struct session *session);

/* Scratch of the host's kernels for every worker, KERNEL_SCRATCH_FLOATS each: from the arena.
 */
void **session_scratch(const struct session *session, struct arena *arena);

/* STATUS_INPUT when the group does not have as many ranks as the plan has along `axis`, as in
 * "ep". */
enum status session_check_ranks(const struct session *session, const char *axis, uint64_t ranks,
                                struct err *err);

/* Once per process: fixes group, sizes and units. The same again changes nothing; anything else
 * after the first time is STATUS_INPUT. Exchanges before it are STATUS_INPUT. */
enum status session_setup(struct session *session, uint64_t exchange_bytes, struct err *err);

#endif
