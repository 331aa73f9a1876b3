/* Exchanges by NCCL, or RCCL, which has its functions under the same names: opened at run time,
 * prototypes of our own. A rank is a device, of this process or of one of MPI's; what ranks
 * agree on goes over the transport that is wrapped, rows go from device to device.
 *
 * Everything is begun in the order of a device's stream, so that rows leave when the kernels
 * before have written them. A wait has a limit: after it the communicators are given up, or
 * closing them would wait as well. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/gpu/group.h"
#include "exec/transport/transport.h"

/* ---- the library ---- */

struct id {
    char bytes[128];
};

#define NCCL_FUNCTIONS(X)                                                                      \
    X(int, ncclGetVersion, (int *version))                                                     \
    X(int, ncclGetUniqueId, (struct id * id))                                                  \
    X(int, ncclCommInitRank, (void **comm, int n, struct id id, int rank))                     \
    X(int, ncclCommInitAll, (void **comms, int n, const int *devices))                         \
    X(int, ncclCommDestroy, (void *comm))                                                      \
    X(int, ncclCommAbort, (void *comm))                                                        \
    X(int, ncclGroupStart, (void))                                                             \
    X(int, ncclGroupEnd, (void))                                                               \
    X(int, ncclSend,                                                                           \
      (const void *from, size_t n, int type, int peer, void *comm, void *stream))              \
    X(int, ncclRecv, (void *to, size_t n, int type, int peer, void *comm, void *stream))       \
    X(const char *, ncclGetErrorString, (int code))

struct functions {
#define NCCL_FIELD(result, name, parameters) result(*name) parameters;
    NCCL_FUNCTIONS(NCCL_FIELD)
#undef NCCL_FIELD
};

enum { NCCL_BYTES = 1, LIBRARIES = 4 };

/* Whose devices it moves rows between; its own all-to-all has another name in each, and is
 * there in newer versions alone. */
struct library {
    const char *driver, *title, *all_to_all;
    const char *names[LIBRARIES]; /* NULL ends; the newest first */
};

static const struct library libraries[] = {
    {"cuda", "NCCL", "ncclAlltoAll", {"libnccl.so.2", "libnccl.so"}},
    {"hip", "RCCL", "ncclAllToAll", {"librccl.so.1", "librccl.so"}},
};

struct nccl {
    struct transport base;
    struct transport *inner; /* what ranks agree on; owned */
    struct gpu_group *gpus;
    const struct library *library;
    struct functions f;
    int (*all_to_all)(const void *from, void *to, size_t n, int type, void *comm, void *stream);
    void *comms[GPU_MOST];
    bool failed; /* communicators are given up */
    char mode[96];
};

static struct nccl *nccl_of(struct transport *transport)
{
    return (struct nccl *)transport;
}

static enum status nccl_failed(const struct nccl *nccl, const char *call, int code,
                               struct err *err)
{
    return err_set(err, STATUS_SYSTEM, "%s: %s returned %d (%s)", nccl->library->title, call,
                   code, nccl->f.ncclGetErrorString(code));
}

#define NCCL_TRY(nccl, function, ...)                                                          \
    do {                                                                                       \
        int code_ = (nccl)->f.function(__VA_ARGS__);                                           \
        if (code_ != 0)                                                                        \
            return nccl_failed(nccl, #function, code_, err);                                   \
    } while (0)

static const struct library *library_for(const struct gpu *gpu)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strcmp(libraries[i].driver, gpu_driver_of(gpu)->name) == 0)
            return &libraries[i];
    return NULL;
}

static enum status open_library(struct nccl *nccl, struct err *err)
{
    static const char *const names[] = {
#define NCCL_NAME(result, name, parameters) #name,
        NCCL_FUNCTIONS(NCCL_NAME)
#undef NCCL_NAME
    };
    void *opened = NULL;
    for (unsigned i = 0; !opened && nccl->library->names[i]; i++)
        opened = gpu_library_open(nccl->library->names[i]);
    if (!opened) {
        err_set(err, STATUS_ABSENT, "transport \"nccl\" is not present: \"%s\" is absent",
                nccl->library->names[0]);
        return err_hint(err,
                        "install %s, or let the driver copy between the devices of a "
                        "process: --transport local",
                        nccl->library->title);
    }
    TRY(gpu_library_bind(opened, nccl->library->names[0], names, sizeof names / sizeof *names,
                         &nccl->f, err));
    void *symbol = gpu_library_find(opened, nccl->library->all_to_all);
    memcpy(&nccl->all_to_all, &symbol, sizeof symbol);
    return STATUS_OK;
}

/* ---- who takes part ---- */

/* Two ranks on one device are refused by the library, too, in other words. */
static enum status check_devices(const struct nccl *nccl, struct err *err)
{
    const struct transport *t = nccl->inner;
    const struct gpu_group *gpus = nccl->gpus;
    for (unsigned i = 0; i < gpus->n; i++)
        if (library_for(gpus->of[i]) != nccl->library)
            return err_set(err, STATUS_USAGE, "\"%s\" is no device of %s",
                           gpu_where(gpus->of[i]), nccl->library->title);
    if (t->n_local == gpus->n && gpus->sharers == 1)
        return STATUS_OK;
    err_set(err, STATUS_USAGE,
            "%s takes a device for each rank: %" PRIu64 " rank%s here, %u device%s%s",
            nccl->library->title, t->n_local, t->n_local > 1 ? "s" : "", gpus->n,
            gpus->n > 1 ? "s" : "", gpus->sharers > 1 ? " that other processes hold, too" : "");
    return err_hint(err, "--device names one for each, as in cuda:0,cuda:1; ranks that share a "
                         "device need --transport local");
}

static enum status begin_all(struct nccl *nccl, struct err *err)
{
    int devices[GPU_MOST];
    for (unsigned i = 0; i < nccl->gpus->n; i++)
        devices[i] = (int)gpu_facts(nccl->gpus->of[i])->number;
    NCCL_TRY(nccl, ncclCommInitAll, nccl->comms, (int)nccl->gpus->n, devices);
    return STATUS_OK;
}

/* The first rank's name of the group, to all: the others add zeros. */
static enum status begin_one(struct nccl *nccl, struct err *err)
{
    struct transport *t = nccl->inner;
    struct id id = {{0}};
    uint64_t words[sizeof id / sizeof(uint64_t)];
    enum status status = STATUS_OK;
    int code = t->first == 0 ? nccl->f.ncclGetUniqueId(&id) : 0;
    if (code != 0)
        status = nccl_failed(nccl, "ncclGetUniqueId", code, err);
    TRY(t->ops->agree(t, status, err));
    memcpy(words, &id, sizeof id);
    TRY(t->ops->sum(t, words, sizeof words / sizeof *words, err));
    memcpy(&id, words, sizeof id);
    const struct gpu *gpu = nccl->gpus->of[0];
    TRY(gpu_driver_of(gpu)->enter(gpu_device_of(gpu), err));
    NCCL_TRY(nccl, ncclCommInitRank, nccl->comms, (int)t->n_ranks, id, (int)t->first);
    return STATUS_OK;
}

/* ---- exchanges ---- */

/* A lane like all others, one behind the other. */
static bool is_equal(const struct nccl *nccl, const struct parcel *p)
{
    uint64_t bytes = p->send_bytes[0];
    for (uint64_t i = 0; i < nccl->base.n_ranks; i++)
        if (p->send_bytes[i] != bytes || p->receive_bytes[i] != bytes ||
            p->send_at[i] != i * bytes || p->receive_at[i] != i * bytes)
            return false;
    return bytes > 0;
}

/* Whether every rank's lanes are: each sees its own, and all have to call the same. */
static bool all_equal(const struct nccl *nccl, const struct parcel *parcels)
{
    for (uint64_t i = 0; i < nccl->base.n_local; i++)
        if (!is_equal(nccl, &parcels[i]))
            return false;
    return nccl->all_to_all && nccl->base.n_local == nccl->base.n_ranks;
}

static enum status send_lanes(const struct nccl *nccl, const struct parcel *p, unsigned i,
                              const char *from, char *to, struct err *err)
{
    uint64_t own = nccl->base.first + i;
    for (uint64_t peer = 0; peer < nccl->base.n_ranks; peer++) {
        if (peer == own)
            continue;
        if (p->send_bytes[peer])
            NCCL_TRY(nccl, ncclSend, from + p->send_at[peer], p->send_bytes[peer], NCCL_BYTES,
                     (int)peer, nccl->comms[i], NULL);
        if (p->receive_bytes[peer])
            NCCL_TRY(nccl, ncclRecv, to + p->receive_at[peer], p->receive_bytes[peer],
                     NCCL_BYTES, (int)peer, nccl->comms[i], NULL);
    }
    return STATUS_OK;
}

static enum status send_rank(const struct nccl *nccl, const struct parcel *p, unsigned i,
                             bool equal, struct err *err)
{
    const struct transport *t = &nccl->base;
    const struct gpu *gpu = nccl->gpus->of[i];
    const char *from = p->send ? t->address(t->mover, p->send) : NULL;
    char *to = p->receive ? t->address(t->mover, p->receive) : NULL;
    TRY(gpu_driver_of(gpu)->enter(gpu_device_of(gpu), err));
    if (!equal)
        return send_lanes(nccl, p, i, from, to, err);
    int code = nccl->all_to_all(from, to, p->send_bytes[0], NCCL_BYTES, nccl->comms[i], NULL);
    return code == 0 ? STATUS_OK : nccl_failed(nccl, nccl->library->all_to_all, code, err);
}

static enum status send_group(const struct nccl *nccl, const struct parcel *parcels,
                              struct err *err)
{
    bool equal = all_equal(nccl, parcels);
    int code = nccl->f.ncclGroupStart();
    if (code != 0)
        return nccl_failed(nccl, "ncclGroupStart", code, err);
    enum status status = STATUS_OK;
    for (unsigned i = 0; status == STATUS_OK && i < nccl->base.n_local; i++)
        status = send_rank(nccl, &parcels[i], i, equal, err);
    code = nccl->f.ncclGroupEnd();
    if (status == STATUS_OK && code != 0)
        status = nccl_failed(nccl, "ncclGroupEnd", code, err);
    return status;
}

/* What a rank has for itself stays on its device. */
static enum status keep_own(const struct nccl *nccl, const struct parcel *parcels,
                            struct err *err)
{
    const struct transport *t = &nccl->base;
    for (uint64_t i = 0; i < t->n_local; i++) {
        const struct parcel *p = &parcels[i];
        uint64_t own = t->first + i, bytes = p->send_bytes[own];
        if (bytes != p->receive_bytes[own])
            return err_set(err, STATUS_MISMATCH,
                           "rank %" PRIu64 " sends itself %" PRIu64
                           " bytes and expects %" PRIu64,
                           own, bytes, p->receive_bytes[own]);
        if (bytes)
            t->move(t->mover, p->send + p->send_at[own], p->receive + p->receive_at[own],
                    bytes);
    }
    return STATUS_OK;
}

static void give_up(struct nccl *nccl)
{
    for (unsigned i = 0; !nccl->failed && i < nccl->gpus->n; i++)
        if (nccl->comms[i])
            nccl->f.ncclCommAbort(nccl->comms[i]);
    nccl->failed = true;
}

/* Begun on the devices' streams, and waited for by `finish`. */
static enum status nccl_start(struct transport *transport, unsigned slot,
                              const struct parcel *parcels, struct err *err)
{
    struct nccl *nccl = nccl_of(transport);
    (void)slot;
    TRY(transport_check_ready(transport, err));
    if (transport->n_local == transport->n_ranks)
        TRY(transport_check_pairs(transport, parcels, err));
    TRY(send_group(nccl, parcels, err));
    return all_equal(nccl, parcels) ? STATUS_OK : keep_own(nccl, parcels, err);
}

static enum status nccl_finish(struct transport *transport, unsigned slot, struct err *err)
{
    struct nccl *nccl = nccl_of(transport);
    (void)slot;
    for (unsigned i = 0; i < nccl->gpus->n; i++)
        TRY(gpu_settle(nccl->gpus->of[i], "exchange by NCCL", err));
    return STATUS_OK;
}

static enum status nccl_exchange(struct transport *transport, const struct parcel *parcels,
                                 struct err *err)
{
    TRY(nccl_start(transport, TRANSPORT_SLOTS, parcels, err));
    return nccl_finish(transport, TRANSPORT_SLOTS, err);
}

/* The devices get on by themselves. */
static void nccl_progress(struct transport *transport, unsigned worker)
{
    (void)transport;
    (void)worker;
}

/* ---- what ranks agree on ---- */

static enum status nccl_agree(struct transport *transport, enum status mine, struct err *err)
{
    struct nccl *nccl = nccl_of(transport);
    if (mine != STATUS_OK)
        give_up(nccl);
    return nccl->inner->ops->agree(nccl->inner, mine, err);
}

static enum status nccl_sum(struct transport *transport, uint64_t *values, size_t n,
                            struct err *err)
{
    struct transport *inner = nccl_of(transport)->inner;
    return inner->ops->sum(inner, values, n, err);
}

static enum status nccl_max(struct transport *transport, double *values, size_t n,
                            struct err *err)
{
    struct transport *inner = nccl_of(transport)->inner;
    return inner->ops->max(inner, values, n, err);
}

static void nccl_close(struct transport *transport)
{
    struct nccl *nccl = nccl_of(transport);
    for (unsigned i = 0; !nccl->failed && i < nccl->gpus->n; i++)
        if (nccl->comms[i])
            nccl->f.ncclCommDestroy(nccl->comms[i]);
    transport_close(nccl->inner);
    free(nccl);
}

static const struct transport_ops nccl_ops = {
    .name = "nccl",
    .exchange = nccl_exchange,
    .start = nccl_start,
    .finish = nccl_finish,
    .progress = nccl_progress,
    .agree = nccl_agree,
    .sum = nccl_sum,
    .max = nccl_max,
    .close = nccl_close,
};

static enum status begin(struct nccl *nccl, struct err *err)
{
    struct transport *t = nccl->inner;
    bool alone = t->n_local == t->n_ranks;
    int version = 0;
    nccl->library = library_for(nccl->gpus->of[0]);
    if (!nccl->library) {
        err_set(err, STATUS_USAGE, "NCCL and RCCL know no device \"%s\"",
                gpu_where(nccl->gpus->of[0]));
        return err_hint(err, "devices of CUDA or HIP, or --transport local, or mpi");
    }
    TRY(check_devices(nccl, err));
    TRY(open_library(nccl, err));
    NCCL_TRY(nccl, ncclGetVersion, &version);
    snprintf(nccl->mode, sizeof nccl->mode, "%s %d, a device per rank, %s",
             nccl->library->title, version, alone ? "one process" : t->mode);
    return alone ? begin_all(nccl, err) : begin_one(nccl, err);
}

enum status transport_nccl_wrap(struct transport **transport, struct gpu_group *gpus,
                                struct err *err)
{
    struct nccl *nccl = calloc(1, sizeof *nccl);
    if (!nccl)
        return err_set(err, STATUS_SYSTEM, "out of memory for the NCCL transport");
    nccl->inner = *transport;
    nccl->gpus = gpus;
    enum status status = begin(nccl, err);
    if (status != STATUS_OK) {
        free(nccl);
        return status;
    }
    nccl->base = *nccl->inner;
    nccl->base.ops = &nccl_ops;
    nccl->base.mode = nccl->mode;
    nccl->base.moves = true;
    *transport = &nccl->base;
    return STATUS_OK;
}
