/* One rank per process over MPI; see transport.h. A module of its own: nothing else needs MPI.
 *
 * Every wait is a poll with a deadline that also looks for word of a failed rank on a second
 * communicator, so that an error on one rank ends all of them with its text, and a rank that is
 * gone ends the others after the deadline: never a hang. After a failure MPI is not finalised,
 * as that would wait for the ranks that failed. */
#include <mpi.h>
#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exec/transport/transport.h"

enum { FAILURE_TAG = 7, FIRST_TAG = 8, TAGS = 16384 };
enum { POLLS_BETWEEN_LOOKS = 64, PIECE_BYTES = 1 << 30 };
static const double give_up_s = 1;
/* A processor given away comes back only when others have had their turn: longer than most
 * exchanges take. Where every process can have one of its own, it is kept for so long. */
static const double spin_s = 1e-3;

/* What a failed rank tells the others. */
struct failure {
    int status;
    int rank;
    char text[1024];
    char hint[2048];
};

struct piece;

/* An exchange under way: its messages. */
struct flight {
    struct piece *pieces;
    size_t n_pieces, capacity;
    size_t done; /* the first ones, known to be complete */
    int tag;
};

struct mpi {
    struct transport base;
    MPI_Comm data, control;
    bool failed;  /* MPI is not finalised */
    bool told;    /* the others know of it, or it is theirs */
    bool lost;    /* another rank does not answer: it must be ended by force */
    bool crowded; /* more processes on this machine than processors */
    int tag;      /* of the exchange started last */
    struct flight flights[TRANSPORT_SLOTS + 1]; /* the last one is `exchange`'s */
};

static struct mpi *mpi_of(struct transport *transport)
{
    return (struct mpi *)transport;
}

static enum status mpi_failed(struct mpi *mpi, const char *call, int code, struct err *err)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0, class = 0;
    unsigned long long rank = (unsigned long long)mpi->base.first;
    mpi->failed = true;
    MPI_Error_class(code, &class);
    if (class == MPI_ERR_TRUNCATE) {
        err_set(err, STATUS_MISMATCH, "a rank sends more bytes to rank %llu than it expects",
                rank);
        return err_hint(err, "all ranks must read the same plan with the same options");
    }
    MPI_Error_string(code, text, &length);
    return err_set(err, STATUS_SYSTEM, "%s failed on rank %llu: %s", call, rank, text);
}

#define MPI_TRY(mpi, call, err)                                                                \
    do {                                                                                       \
        int mpi_code_ = (call);                                                                \
        if (mpi_code_ != MPI_SUCCESS)                                                          \
            return mpi_failed(mpi, #call, mpi_code_, err);                                     \
    } while (0)

/* ---- failures of other ranks ---- */

static void tell_others(struct mpi *mpi, enum status status, const struct err *err)
{
    struct failure failure = {.status = (int)status, .rank = (int)mpi->base.first};
    snprintf(failure.text, sizeof failure.text, "%s", err->text);
    snprintf(failure.hint, sizeof failure.hint, "%s", err->hint);
    for (int peer = 0; peer < (int)mpi->base.n_ranks; peer++) {
        MPI_Request request;
        if (peer != failure.rank &&
            MPI_Isend(&failure, (int)sizeof failure, MPI_BYTE, peer, FAILURE_TAG, mpi->control,
                      &request) == MPI_SUCCESS)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    mpi->failed = mpi->told = true;
}

/* Word of a failed rank becomes this rank's error. */
static enum status look_for_failure(struct mpi *mpi, struct err *err)
{
    int found = 0;
    struct failure failure;
    MPI_Status from;
    MPI_TRY(mpi, MPI_Iprobe(MPI_ANY_SOURCE, FAILURE_TAG, mpi->control, &found, &from), err);
    if (!found)
        return STATUS_OK;
    MPI_TRY(mpi,
            MPI_Recv(&failure, (int)sizeof failure, MPI_BYTE, from.MPI_SOURCE, FAILURE_TAG,
                     mpi->control, MPI_STATUS_IGNORE),
            err);
    mpi->failed = mpi->told = true;
    err_set(err, (enum status)failure.status, "rank %d: %s", failure.rank, failure.text);
    return failure.hint[0] ? err_hint(err, "%s", failure.hint) : err->status;
}

static enum status wait_for(struct mpi *mpi, MPI_Request *request, MPI_Status *status,
                            struct err *err)
{
    double begin = MPI_Wtime();
    for (unsigned polls = 1;; polls++) {
        int done = 0;
        MPI_TRY(mpi, MPI_Test(request, &done, status), err);
        if (done)
            return STATUS_OK;
        if (polls % POLLS_BETWEEN_LOOKS)
            continue;
        TRY(look_for_failure(mpi, err));
        if (mpi->crowded || MPI_Wtime() - begin > spin_s)
            sched_yield();
        if (MPI_Wtime() - begin > mpi->base.timeout_s)
            break;
    }
    mpi->failed = mpi->lost = true;
    err_set(err, STATUS_SYSTEM, "rank %llu waited %g s for the other ranks",
            (unsigned long long)mpi->base.first, mpi->base.timeout_s);
    return err_hint(err, "a rank stopped, or does something else: look at its messages; "
                         "--timeout SECONDS waits longer");
}

/* ---- exchanges ----
 * Every pair of ranks that has bytes for each other exchanges them as messages of at most
 * PIECE_BYTES, which an int can count; tags tell exchanges apart. A message that is longer than
 * its receiver expects fails in MPI, a shorter one in check_length. */

/* A message under way; expected 0: sent. */
struct piece {
    MPI_Request request;
    int expected, peer;
};

static enum status add_piece(struct flight *flight, int expected, int peer,
                             struct piece **piece, struct err *err)
{
    if (flight->n_pieces == flight->capacity) {
        size_t larger = flight->capacity ? 2 * flight->capacity : 64;
        struct piece *grown = realloc(flight->pieces, larger * sizeof *grown);
        if (!grown)
            return err_set(err, STATUS_SYSTEM, "out of memory for %zu messages", larger);
        flight->pieces = grown;
        flight->capacity = larger;
    }
    *piece = &flight->pieces[flight->n_pieces];
    **piece = (struct piece){MPI_REQUEST_NULL, expected, peer};
    flight->n_pieces++;
    return STATUS_OK;
}

static int piece_bytes(uint64_t bytes, uint64_t at)
{
    return (int)(bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES);
}

/* Where MPI finds it: a device's memory has an address of its own. */
static char *place(const struct mpi *mpi, const void *memory)
{
    const struct transport *t = &mpi->base;
    void *at;
    if (t->moves)
        return t->address(t->mover, memory);
    memcpy(&at, &memory, sizeof at); /* sent memory is not written to */
    return at;
}

static enum status receive_from(struct mpi *mpi, struct flight *flight, const struct parcel *p,
                                int peer, struct err *err)
{
    for (uint64_t at = 0; at < p->receive_bytes[peer]; at += PIECE_BYTES) {
        struct piece *piece;
        int bytes = piece_bytes(p->receive_bytes[peer], at);
        TRY(add_piece(flight, bytes, peer, &piece, err));
        MPI_TRY(mpi,
                MPI_Irecv(place(mpi, p->receive) + p->receive_at[peer] + at, bytes, MPI_BYTE,
                          peer, flight->tag, mpi->data, &piece->request),
                err);
    }
    return STATUS_OK;
}

static enum status send_to(struct mpi *mpi, struct flight *flight, const struct parcel *p,
                           int peer, struct err *err)
{
    for (uint64_t at = 0; at < p->send_bytes[peer]; at += PIECE_BYTES) {
        struct piece *piece;
        TRY(add_piece(flight, 0, peer, &piece, err));
        MPI_TRY(mpi,
                MPI_Isend(place(mpi, p->send) + p->send_at[peer] + at,
                          piece_bytes(p->send_bytes[peer], at), MPI_BYTE, peer, flight->tag,
                          mpi->data, &piece->request),
                err);
    }
    return STATUS_OK;
}

static enum status copy_own(struct mpi *mpi, const struct parcel *p, struct err *err)
{
    uint64_t own = mpi->base.first, bytes = p->send_bytes[own];
    if (bytes != p->receive_bytes[own])
        return err_set(err, STATUS_MISMATCH,
                       "rank %llu sends itself %llu bytes and expects %llu",
                       (unsigned long long)own, (unsigned long long)bytes,
                       (unsigned long long)p->receive_bytes[own]);
    if (bytes && mpi->base.moves)
        mpi->base.move(mpi->base.mover, p->send + p->send_at[own],
                       p->receive + p->receive_at[own], bytes);
    else if (bytes)
        memcpy(p->receive + p->receive_at[own], p->send + p->send_at[own], bytes);
    return STATUS_OK;
}

static enum status mpi_start(struct transport *transport, unsigned slot,
                             const struct parcel *parcels, struct err *err)
{
    struct mpi *mpi = mpi_of(transport);
    struct flight *flight = &mpi->flights[slot];
    int n = (int)transport->n_ranks, own = (int)transport->first;
    TRY(transport_check_ready(transport, err));
    assert(flight->done == flight->n_pieces);
    flight->n_pieces = flight->done = 0;
    if (transport->moves) /* MPI does not wait for what writes the rows */
        transport->settle(transport->mover);
    flight->tag = mpi->tag = FIRST_TAG + (mpi->tag + 1 - FIRST_TAG) % TAGS;
    for (int i = 1; i < n; i++)
        TRY(receive_from(mpi, flight, parcels, (own + n - i) % n, err));
    for (int i = 1; i < n; i++)
        TRY(send_to(mpi, flight, parcels, (own + i) % n, err));
    return copy_own(mpi, parcels, err);
}

static enum status check_length(struct mpi *mpi, const struct piece *piece,
                                const MPI_Status *status, struct err *err)
{
    int got = 0;
    if (!piece->expected)
        return STATUS_OK;
    MPI_TRY(mpi, MPI_Get_count(status, MPI_BYTE, &got), err);
    if (got == piece->expected)
        return STATUS_OK;
    return err_set(err, STATUS_MISMATCH,
                   "rank %d sends %d bytes to rank %llu, which expects %d", piece->peer, got,
                   (unsigned long long)mpi->base.first, piece->expected);
}

static enum status mpi_finish(struct transport *transport, unsigned slot, struct err *err)
{
    struct mpi *mpi = mpi_of(transport);
    struct flight *flight = &mpi->flights[slot];
    for (; flight->done < flight->n_pieces; flight->done++) {
        struct piece *piece = &flight->pieces[flight->done];
        MPI_Status status;
        TRY(wait_for(mpi, &piece->request, &status, err));
        TRY(check_length(mpi, piece, &status, err));
    }
    return STATUS_OK;
}

static enum status mpi_exchange(struct transport *transport, const struct parcel *parcels,
                                struct err *err)
{
    TRY(mpi_start(transport, TRANSPORT_SLOTS, parcels, err));
    return mpi_finish(transport, TRANSPORT_SLOTS, err);
}

/* MPI moves messages inside its calls only. One look at a message that is not complete moves on
 * all of them; MPI_Request_get_status leaves its outcome to mpi_finish. The caller's thread is
 * the one that opened MPI (MPI_THREAD_FUNNELED). */
static void mpi_progress(struct transport *transport, unsigned worker)
{
    struct mpi *mpi = mpi_of(transport);
    for (unsigned slot = 0; worker == 0 && slot < TRANSPORT_SLOTS; slot++) {
        struct flight *flight = &mpi->flights[slot];
        for (size_t i = flight->done; i < flight->n_pieces; i++) {
            int done = 0;
            if (MPI_Request_get_status(flight->pieces[i].request, &done, MPI_STATUS_IGNORE) !=
                    MPI_SUCCESS ||
                !done)
                return;
        }
    }
}

/* After a failure the rows of exchanges under way are freed, so nothing may be written there
 * any more: receives are taken back, and those that have begun get a moment to end. A send that
 * nobody receives is not looked at again. */
static void give_up(struct mpi *mpi)
{
    double begin = MPI_Wtime();
    for (unsigned slot = 0; slot <= TRANSPORT_SLOTS; slot++) {
        struct flight *flight = &mpi->flights[slot];
        for (; flight->done < flight->n_pieces; flight->done++) {
            struct piece *piece = &flight->pieces[flight->done];
            int done = !piece->expected || piece->request == MPI_REQUEST_NULL;
            if (!done)
                MPI_Cancel(&piece->request);
            while (!done && MPI_Wtime() - begin < give_up_s)
                if (MPI_Test(&piece->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                    break;
        }
    }
}

/* ---- memory of devices ---- */

/* Of the library that was linked: 1 when it takes such memory; else, or where nobody can be
 * asked, not. Open MPI has a question for each driver, MPICH one for all. */
static int takes_memory_of(const char *driver)
{
    enum { MPICH_CUDA = 0, MPICH_HIP = 2 };
    bool hip = strcmp(driver, "hip") == 0, cuda = strcmp(driver, "cuda") == 0;
    int (*ask)(void), (*ask_all)(int kind, int *is), is = 0;
    void *symbol =
        dlsym(RTLD_DEFAULT, hip ? "MPIX_Query_rocm_support" : "MPIX_Query_cuda_support");
    void *symbol_all = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    memcpy(&ask, &symbol, sizeof symbol);
    memcpy(&ask_all, &symbol_all, sizeof symbol_all);
    if (!hip && !cuda)
        return 0;
    if (ask)
        return ask();
    return ask_all && ask_all(hip ? MPICH_HIP : MPICH_CUDA, &is) == MPI_SUCCESS ? is : 0;
}

static enum status mpi_direct(struct transport *transport, const char *driver, struct err *err)
{
    if (takes_memory_of(driver) == 1) {
        transport->moves = true;
        return STATUS_OK;
    }
    err_set(err, STATUS_ABSENT, "this MPI does not take memory of \"%s\" devices", driver);
    return err_hint(err, "--through host passes rows through the host's memory, --through nccl "
                         "by NCCL or RCCL; MPI has to be built with support of the driver");
}

/* ---- agreement ---- */

static enum status mpi_sum(struct transport *transport, uint64_t *values, size_t n,
                           struct err *err)
{
    struct mpi *mpi = mpi_of(transport);
    MPI_Request request;
    MPI_TRY(mpi,
            MPI_Iallreduce(MPI_IN_PLACE, values, (int)n, MPI_UINT64_T, MPI_SUM, mpi->data,
                           &request),
            err);
    return wait_for(mpi, &request, MPI_STATUS_IGNORE, err);
}

static enum status mpi_max(struct transport *transport, double *values, size_t n,
                           struct err *err)
{
    struct mpi *mpi = mpi_of(transport);
    MPI_Request request;
    MPI_TRY(
        mpi,
        MPI_Iallreduce(MPI_IN_PLACE, values, (int)n, MPI_DOUBLE, MPI_MAX, mpi->data, &request),
        err);
    return wait_for(mpi, &request, MPI_STATUS_IGNORE, err);
}

/* A rank that failed does not wait for the others: they may be in an exchange that it left. */
static enum status mpi_agree(struct transport *transport, enum status mine, struct err *err)
{
    struct mpi *mpi = mpi_of(transport);
    if (mine != STATUS_OK) {
        if (!mpi->told)
            tell_others(mpi, mine, err);
        give_up(mpi);
        return mine;
    }
    MPI_Request request;
    MPI_TRY(mpi, MPI_Ibarrier(mpi->data, &request), err);
    return wait_for(mpi, &request, MPI_STATUS_IGNORE, err);
}

/* ---- open and close ---- */

/* Leaving without MPI_Finalize makes mpirun end the other ranks: they first get the time to
 * say why. */
static void leave(struct mpi *mpi)
{
    const struct timespec grace = {.tv_nsec = 300 * 1000 * 1000};
    if (mpi->failed) {
        nanosleep(&grace, NULL);
        if (mpi->lost)
            MPI_Abort(MPI_COMM_WORLD, STATUS_SYSTEM);
        return;
    }
    MPI_Comm_free(&mpi->data);
    MPI_Comm_free(&mpi->control);
    MPI_Finalize();
}

static void mpi_close(struct transport *transport)
{
    struct mpi *mpi = mpi_of(transport);
    leave(mpi);
    for (unsigned slot = 0; slot <= TRANSPORT_SLOTS; slot++)
        free(mpi->flights[slot].pieces);
    free(mpi);
}

static const struct transport_ops mpi_ops = {
    .name = "mpi",
    .exchange = mpi_exchange,
    .start = mpi_start,
    .finish = mpi_finish,
    .progress = mpi_progress,
    .agree = mpi_agree,
    .sum = mpi_sum,
    .max = mpi_max,
    .direct = mpi_direct,
    .close = mpi_close,
};

static int ranks_of_node(int *rank)
{
    MPI_Comm node;
    int n = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    MPI_Comm_rank(node, rank);
    MPI_Comm_free(&node);
    return n;
}

/* MPI_Init waits without end for a process that has ended, or that runs another command. */
struct watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool started;
    double timeout_s;
};

static void *watch_start(void *context)
{
    struct watch *watch = context;
    struct timespec end;
    int waited = 0;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)ceil(watch->timeout_s);
    pthread_mutex_lock(&watch->lock);
    while (!watch->started && waited == 0)
        waited = pthread_cond_timedwait(&watch->wake, &watch->lock, &end);
    bool late = !watch->started;
    pthread_mutex_unlock(&watch->lock);
    if (!late)
        return NULL;
    fprintf(stderr,
            "moeplan: MPI did not start within %.0f s: has another process ended?\n"
            "  hint: all of them run the same command; --timeout sets how long to wait\n",
            watch->timeout_s);
    _exit(STATUS_SYSTEM); /* mpirun ends the others */
}

static void watch_begin(struct watch *watch, double timeout_s)
{
    *watch = (struct watch){.timeout_s = timeout_s};
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->wake, NULL);
    watch->started = pthread_create(&watch->thread, NULL, watch_start, watch) != 0;
}

static void watch_end(struct watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    bool runs = !watch->started;
    watch->started = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    if (runs)
        pthread_join(watch->thread, NULL);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
}

static enum status start_mpi(double timeout_s, struct err *err)
{
    int initialised = 0, provided = 0;
    struct watch watch;
    MPI_Initialized(&initialised);
    if (initialised)
        return err_set(err, STATUS_INPUT, "MPI is in use by this process already");
    watch_begin(&watch, timeout_s);
    int failed = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    watch_end(&watch);
    if (failed != MPI_SUCCESS)
        return err_set(err, STATUS_ABSENT, "MPI cannot be started");
    return STATUS_OK;
}

/* The module's only symbol, found by transport/load.c. */
enum status moeplan_transport_mpi_open(double timeout_s, struct transport **out,
                                       struct err *err);

__attribute__((visibility("default"))) enum status
moeplan_transport_mpi_open(double timeout_s, struct transport **out, struct err *err)
{
    int n_ranks = 0, rank = 0, n_node, node_rank = 0;
    TRY(start_mpi(timeout_s, err));
    struct mpi *mpi = calloc(1, sizeof *mpi);
    if (!mpi)
        return err_set(err, STATUS_SYSTEM, "out of memory for the MPI transport");
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi->data);
    MPI_Comm_dup(MPI_COMM_WORLD, &mpi->control);
    MPI_Comm_set_errhandler(mpi->data, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(mpi->control, MPI_ERRORS_RETURN);
    MPI_Comm_size(mpi->data, &n_ranks);
    MPI_Comm_rank(mpi->data, &rank);
    mpi->tag = FIRST_TAG;
    n_node = ranks_of_node(&node_rank);
    mpi->crowded = n_node > sysconf(_SC_NPROCESSORS_ONLN);
    mpi->base =
        (struct transport){.ops = &mpi_ops,
                           .mode = n_node == n_ranks ? "one rank per process, one node"
                                                     : "one rank per process, across nodes",
                           .node_ranks = (uint64_t)n_node,
                           .node_rank = (uint64_t)node_rank,
                           .n_ranks = (uint64_t)n_ranks,
                           .first = (uint64_t)rank,
                           .n_local = 1,
                           .timeout_s = timeout_s};
    *out = &mpi->base;
    return STATUS_OK;
}
