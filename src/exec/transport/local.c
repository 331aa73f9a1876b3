/* Logical ranks of one process: an exchange is a copy per pair of ranks; see transport.h. */
#include "exec/transport/transport.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Copies of an exchange under way are cut into this many parts per pair of ranks, which workers
 * take one by one between two pieces of computation. */
enum { PARTS = 8, ALIGNMENT = 64 };

struct flight {
    const struct parcel *parcels;
    size_t n_tasks, parts; /* parts of a pair's bytes; tasks in all, 0: the slot is free */
    atomic_size_t next;    /* task to take */
};

struct local {
    struct transport base;
    struct pool *pool;
    struct flight flights[TRANSPORT_SLOTS + 1]; /* the last one is `exchange`'s */
};

static struct local *local_of(struct transport *transport)
{
    return (struct local *)transport;
}

/* Where a part of some bytes begins. */
static uint64_t part_at(uint64_t bytes, uint64_t part, uint64_t parts)
{
    return part == parts ? bytes : bytes / ALIGNMENT * part / parts * ALIGNMENT;
}

/* Tasks are parts of pairs: pair i is from rank i mod R to rank i / R. */
static void copy_part(const struct local *local, const struct flight *flight, size_t task)
{
    uint64_t n = local->base.n_ranks, part = task % flight->parts, pair = task / flight->parts;
    uint64_t to = pair / n, from = pair % n;
    const struct parcel *source = &flight->parcels[from], *target = &flight->parcels[to];
    uint64_t begin = part_at(source->send_bytes[to], part, flight->parts);
    uint64_t end = part_at(source->send_bytes[to], part + 1, flight->parts);
    if (end == begin) /* there may be no buffer then */
        return;
    char *receive = target->receive + target->receive_at[from] + begin;
    const char *send = source->send + source->send_at[to] + begin;
    if (local->base.move)
        local->base.move(local->base.mover, send, receive, end - begin);
    else
        memcpy(receive, send, end - begin);
}

static enum status begin(struct local *local, unsigned slot, size_t parts,
                         const struct parcel *parcels, struct err *err)
{
    struct flight *flight = &local->flights[slot];
    TRY(transport_check_ready(&local->base, err));
    assert(flight->n_tasks == 0);
    TRY(transport_check_pairs(&local->base, parcels, err));
    flight->parcels = parcels;
    flight->parts = parts;
    flight->n_tasks = local->base.n_ranks * local->base.n_ranks * parts;
    atomic_store(&flight->next, 0);
    return STATUS_OK;
}

static enum status local_start(struct transport *transport, unsigned slot,
                               const struct parcel *parcels, struct err *err)
{
    return begin(local_of(transport), slot, PARTS, parcels, err);
}

/* False when nothing is left to take. */
static bool take_part(struct local *local, struct flight *flight)
{
    size_t task = atomic_fetch_add(&flight->next, 1);
    if (task >= flight->n_tasks)
        return false;
    copy_part(local, flight, task);
    return true;
}

/* One part, of the slot that has one. */
static void local_progress(struct transport *transport, unsigned worker)
{
    struct local *local = local_of(transport);
    (void)worker;
    for (unsigned slot = 0; slot < TRANSPORT_SLOTS; slot++) {
        struct flight *flight = &local->flights[slot];
        if (atomic_load(&flight->next) < flight->n_tasks && take_part(local, flight))
            return;
    }
}

struct rest {
    struct local *local;
    struct flight *flight;
};

static void copy_rest(void *arg, size_t task, unsigned worker)
{
    const struct rest *rest = arg;
    (void)task;
    (void)worker;
    take_part(rest->local, rest->flight);
}

static enum status local_finish(struct transport *transport, unsigned slot, struct err *err)
{
    struct local *local = local_of(transport);
    struct flight *flight = &local->flights[slot];
    struct rest rest = {local, flight};
    size_t taken = atomic_load(&flight->next);
    (void)err;
    while (local->base.move && take_part(local, flight))
        continue; /* a device takes one after the other */
    if (local->base.move && local->base.settle)
        local->base.settle(local->base.mover);
    if (!local->base.move && taken < flight->n_tasks)
        pool_run(local->pool, flight->n_tasks - taken, copy_rest, &rest);
    flight->n_tasks = 0;
    return STATUS_OK;
}

static enum status local_exchange(struct transport *transport, const struct parcel *parcels,
                                  struct err *err)
{
    TRY(begin(local_of(transport), TRANSPORT_SLOTS, 1, parcels, err));
    return local_finish(transport, TRANSPORT_SLOTS, err);
}

static enum status local_agree(struct transport *transport, enum status mine, struct err *err)
{
    struct local *local = local_of(transport);
    (void)err;
    for (unsigned slot = 0; mine != STATUS_OK && slot <= TRANSPORT_SLOTS; slot++)
        local->flights[slot].n_tasks = 0;
    return mine;
}

static void local_close(struct transport *transport)
{
    free(local_of(transport));
}

static const struct transport_ops local_ops = {
    .name = "local",
    .exchange = local_exchange,
    .start = local_start,
    .finish = local_finish,
    .progress = local_progress,
    .agree = local_agree,
    .sum = transport_own_sum,
    .max = transport_own_max,
    .close = local_close,
};

enum status transport_local_open(uint64_t n_ranks, struct pool *pool, struct transport **out,
                                 struct err *err)
{
    struct local *local = calloc(1, sizeof *local);
    if (!local)
        return err_set(err, STATUS_SYSTEM, "out of memory for the local transport");
    local->base = (struct transport){.ops = &local_ops,
                                     .mode = "in-process",
                                     .n_ranks = n_ranks,
                                     .n_local = n_ranks,
                                     .node_ranks = 1,
                                     .moves = true};
    local->pool = pool;
    *out = &local->base;
    return STATUS_OK;
}
