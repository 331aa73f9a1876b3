/* One rank of a group alone: a copy to itself, and what absent ranks send (absent.h) as fast as
 * it can be copied; see transport.h. */
#include <stdlib.h>
#include <string.h>

#include "exec/absent/absent.h"
#include "exec/transport/transport.h"

struct share {
    struct transport base;
    struct pool *pool;
    struct absent *absent;
    const struct parcel *parcel; /* of the exchange under way */
};

static struct share *share_of(struct transport *transport)
{
    return (struct share *)transport;
}

static void swap_with(void *arg, size_t peer, unsigned worker)
{
    (void)worker;
    const struct share *share = arg;
    const struct parcel *parcel = share->parcel;
    if (peer != share->base.first) {
        absent_take(share->absent, parcel, peer);
        absent_fill(share->absent, parcel, peer);
    } else if (parcel->send_bytes[peer]) {
        memcpy(parcel->receive + parcel->receive_at[peer], parcel->send + parcel->send_at[peer],
               parcel->send_bytes[peer]);
    }
}

static enum status share_exchange(struct transport *transport, const struct parcel *parcels,
                                  struct err *err)
{
    struct share *share = share_of(transport);
    uint64_t self = transport->first;
    TRY(transport_check_ready(transport, err));
    share->parcel = parcels;
    TRY(absent_check(share->absent, parcels, err));
    if (parcels->send_bytes[self] != parcels->receive_bytes[self])
        return err_set(err, STATUS_MISMATCH, "rank %llu sends itself %llu bytes, expects %llu",
                       (unsigned long long)self, (unsigned long long)parcels->send_bytes[self],
                       (unsigned long long)parcels->receive_bytes[self]);
    pool_run(share->pool, transport->n_ranks, swap_with, share);
    return STATUS_OK;
}

/* ---- a group of one process ---- */

/* There is nobody to wait for: what is started is done. */
static enum status share_start(struct transport *transport, unsigned slot,
                               const struct parcel *parcels, struct err *err)
{
    (void)slot;
    return share_exchange(transport, parcels, err);
}

static enum status share_finish(struct transport *transport, unsigned slot, struct err *err)
{
    (void)transport;
    (void)slot;
    (void)err;
    return STATUS_OK;
}

static void share_progress(struct transport *transport, unsigned worker)
{
    (void)transport;
    (void)worker;
}

static enum status share_agree(struct transport *transport, enum status mine, struct err *err)
{
    (void)transport;
    (void)err;
    return mine;
}

static void share_close(struct transport *transport)
{
    free(share_of(transport));
}

static const struct transport_ops share_ops = {
    .name = "share",
    .exchange = share_exchange,
    .start = share_start,
    .finish = share_finish,
    .progress = share_progress,
    .agree = share_agree,
    .sum = transport_own_sum,
    .max = transport_own_max,
    .close = share_close,
};

enum status transport_share_open(uint64_t rank, uint64_t n_ranks, struct pool *pool,
                                 struct transport **out, struct err *err)
{
    if (rank >= n_ranks) {
        err_set(err, STATUS_USAGE, "there is no rank %llu in a group of %llu",
                (unsigned long long)rank, (unsigned long long)n_ranks);
        return err_hint(err, "ranks count from 0: --rank 0 to %llu",
                        (unsigned long long)n_ranks - 1);
    }
    struct share *share = calloc(1, sizeof *share);
    if (!share)
        return err_set(err, STATUS_SYSTEM, "out of memory for the transport of one rank");
    share->base = (struct transport){.ops = &share_ops,
                                     .mode = "one rank alone, its peers absent",
                                     .n_ranks = n_ranks,
                                     .first = rank,
                                     .n_local = 1,
                                     .node_ranks = 1,
                                     .alone = true};
    share->pool = pool;
    *out = &share->base;
    return STATUS_OK;
}

void transport_share_bind(struct transport *transport, struct absent *absent)
{
    share_of(transport)->absent = absent;
}
