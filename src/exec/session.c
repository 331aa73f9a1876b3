/* Opening, set-up and closing of a session; see session.h. */
#include "exec/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "exec/gpu/group.h"
#include "exec/memory_left.h"
#include "work/list/kernel.h"

/* OpenBLAS waits for address space without end: under a limit it is not opened in vain. */
static enum status check_address(struct session *session, unsigned workers, struct err *err)
{
    uint64_t left = memory_left_address_bytes();
    char have[48], need[48];
    if (left == UINT64_MAX)
        return STATUS_OK;
    session->blas_bytes = (uint64_t)workers * BLAS_THREAD_MIB << 20;
    uint64_t bytes = session->blas_bytes + ((uint64_t)BLAS_LIBRARY_MIB << 20);
    if (bytes <= left)
        return STATUS_OK;
    unit_print(have, UNIT_BYTES, (double)left);
    unit_print(need, UNIT_BYTES, (double)bytes);
    err_set(err, STATUS_SYSTEM,
            "the limit on address space leaves %s, OpenBLAS takes %s for %u worker%s", have,
            need, workers, workers > 1 ? "s" : "");
    return err_hint(err, "raise it (ulimit -v)%s",
                    workers > 1 ? ", or take fewer: --workers 1" : "");
}

static void open_blas(struct session *session, bool plain_c)
{
    struct err err = {0};
    if (plain_c) {
        blas_plain(&session->blas);
        return;
    }
    if (blas_open(&session->blas, &err) != STATUS_OK)
        snprintf(session->warning, sizeof session->warning, "%.180s; products in plain C: slow",
                 err.text);
}

void **session_scratch(const struct session *session, struct arena *arena)
{
    unsigned n = pool_size(session->pool);
    void **scratch = arena_alloc(arena, n, sizeof *scratch);
    for (unsigned worker = 0; worker < n; worker++)
        scratch[worker] = arena_alloc(arena, KERNEL_SCRATCH_FLOATS, sizeof(float));
    return scratch;
}

enum status session_check_ranks(const struct session *session, const char *axis, uint64_t ranks,
                                struct err *err)
{
    uint64_t n = session->transport->n_ranks;
    if (n == ranks)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "MPI started %llu process%s, the plan has %s %llu",
            (unsigned long long)n, n > 1 ? "es" : "", axis, (unsigned long long)ranks);
    return err_hint(err, "mpirun -np %llu, or --set parallel.%s=%llu",
                    (unsigned long long)ranks, axis, (unsigned long long)n);
}

static enum status open_transport(struct session *session,
                                  const struct session_options *options, struct err *err)
{
    if (options->transport == TRANSPORT_LOCAL)
        return transport_local_open(options->ranks, session->pool, &session->transport, err);
    if (options->transport == TRANSPORT_SHARE)
        return transport_share_open(options->rank, options->ranks, session->pool,
                                    &session->transport, err);
    const double minute = 60;
    double timeout_s = options->timeout_s > 0 ? options->timeout_s : minute;
    TRY(transport_mpi_open(timeout_s, &session->transport, err));
    return options->ranks ? session_check_ranks(session, "ep", options->ranks, err) : STATUS_OK;
}

/* A process of MPI takes the device whose turn it is on its machine. */
static enum status open_gpus(struct session *session, const struct session_options *options,
                             struct err *err)
{
    const struct transport *t = session->transport;
    session->gpus = calloc(1, sizeof *session->gpus);
    if (!session->gpus)
        return err_set(err, STATUS_SYSTEM, "out of memory for devices");
    TRY(gpu_group_open(session->gpus, options->device, t->node_rank, t->node_ranks, err));
    session->gpu = session->gpus->of[0];
    if (options->through == THROUGH_NCCL)
        return transport_nccl_wrap(&session->transport, session->gpus, err);
    return options->through == THROUGH_DEVICE
               ? t->ops->direct(session->transport, gpu_driver_of(session->gpu)->name, err)
               : STATUS_OK;
}

/* The library first: it sets environment variables, which threads must not see change. */
enum status session_open(struct session *session, const struct session_options *options,
                         struct err *err)
{
    memset(session, 0, sizeof *session);
    unsigned workers = options->workers;
    bool alone = options->transport == TRANSPORT_MPI; /* a process, and worker, for each rank */
    if (!options->plain_c)
        TRY(check_address(session, workers ? workers : alone ? 1 : pool_cpus(), err));
    open_blas(session, options->plain_c);
    if (session->blas.one_thread) {
        workers = 1;
        snprintf(session->warning, sizeof session->warning,
                 "this OpenBLAS is the serial build without locks: one worker only");
    }
    if (!workers && alone)
        workers = 1;
    session->pool = pool_create(workers);
    TRY(open_transport(session, options, err));
    if (!options->gpu)
        return STATUS_OK;
    enum status status = open_gpus(session, options, err);
    struct transport *t = session->transport; /* a device may lack on one machine only */
    return t->ops->agree(t, status, err);
}

void session_close(struct session *session)
{
    transport_close(session->transport);
    if (session->gpus)
        gpu_group_close(session->gpus);
    free(session->gpus);
    pool_free(session->pool);
    blas_close(&session->blas);
    memset(session, 0, sizeof *session);
}

enum status session_setup(struct session *session, uint64_t exchange_bytes, struct err *err)
{
    if (session->frozen && session->snapshot.exchange_bytes == exchange_bytes)
        return STATUS_OK;
    if (session->frozen)
        return err_set(err, STATUS_INPUT,
                       "set-up is frozen at exchanges of %llu bytes, %llu were asked for",
                       (unsigned long long)session->snapshot.exchange_bytes,
                       (unsigned long long)exchange_bytes);
    const struct transport *t = session->transport;
    session->snapshot = (struct snapshot){.transport = t->ops->name,
                                          .mode = t->mode,
                                          .ranks = t->n_ranks,
                                          .first_rank = t->first,
                                          .local_ranks = t->n_local,
                                          .exchange_bytes = exchange_bytes,
                                          .workers = pool_size(session->pool)};
    session->frozen = true;
    session->transport->ready = true;
    return STATUS_OK;
}
