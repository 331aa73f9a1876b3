/* Logical ranks of one process: an exchange is a copy per pair of ranks; see transport.h. */
#include "exec/transport.h"

#include <stdlib.h>
#include <string.h>

struct local {
    struct transport base;
    struct pool *pool;
    const struct parcel *parcels; /* of the exchange under way */
};

static struct local *local_of(struct transport *transport)
{
    return (struct local *)transport;
}

/* Task i copies from rank i mod R to rank i / R. */
static void copy_pair(void *arg, size_t task, unsigned worker)
{
    (void)worker;
    const struct local *local = arg;
    uint64_t n = local->base.n_ranks, to = task / n, from = task % n;
    const struct parcel *source = &local->parcels[from], *target = &local->parcels[to];
    if (source->send_bytes[to])
        memcpy(target->receive + target->receive_at[from], source->send + source->send_at[to],
               source->send_bytes[to]);
}

static enum status check_pairs(const struct local *local, struct err *err)
{
    for (uint64_t from = 0; from < local->base.n_ranks; from++) {
        for (uint64_t to = 0; to < local->base.n_ranks; to++) {
            uint64_t sent = local->parcels[from].send_bytes[to];
            uint64_t expected = local->parcels[to].receive_bytes[from];
            if (sent != expected)
                return err_set(err, STATUS_MISMATCH,
                               "rank %llu sends %llu bytes to rank %llu, which expects %llu",
                               (unsigned long long)from, (unsigned long long)sent,
                               (unsigned long long)to, (unsigned long long)expected);
        }
    }
    return STATUS_OK;
}

static enum status local_exchange(struct transport *transport, const struct parcel *parcels,
                                  struct err *err)
{
    struct local *local = local_of(transport);
    TRY(transport_check_ready(transport, "exchange", err));
    local->parcels = parcels;
    TRY(check_pairs(local, err));
    pool_run(local->pool, transport->n_ranks * transport->n_ranks, copy_pair, local);
    return STATUS_OK;
}

static enum status local_finish(struct transport *transport, struct err *err)
{
    (void)transport;
    (void)err;
    return STATUS_OK;
}

static enum status local_agree(struct transport *transport, enum status mine, struct err *err)
{
    (void)transport;
    (void)err;
    return mine;
}

static enum status local_sum(struct transport *transport, uint64_t *values, size_t n,
                             struct err *err)
{
    (void)transport;
    (void)values;
    (void)n;
    (void)err;
    return STATUS_OK;
}

static enum status local_max(struct transport *transport, double *values, size_t n,
                             struct err *err)
{
    (void)transport;
    (void)values;
    (void)n;
    (void)err;
    return STATUS_OK;
}

static void local_close(struct transport *transport)
{
    free(local_of(transport));
}

static const struct transport_ops local_ops = {
    .name = "local",
    .exchange = local_exchange,
    .start = local_exchange,
    .finish = local_finish,
    .agree = local_agree,
    .sum = local_sum,
    .max = local_max,
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
                                     .node_ranks = 1};
    local->pool = pool;
    *out = &local->base;
    return STATUS_OK;
}
