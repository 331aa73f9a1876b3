/* See execute_stage.h. */
#include "exec/execute_stage.h"

#include <stdlib.h>

/* Copies of one rank's parcel, and where what arrives belongs. */
struct stage {
    char *send, *receive, *home;
};

void stage_bind(struct execution *x)
{
    struct transport *transport = x->session->transport;
    transport->move = x->backend->far ? x->backend->move : NULL;
    transport->settle = x->backend->far ? x->backend->settle : NULL;
    transport->address = x->backend->far ? x->backend->address : NULL;
    transport->mover = x->device;
}

static bool is_staged(const struct execution *x)
{
    return x->backend->far && !x->session->transport->moves;
}

static uint64_t end_of(const uint64_t *bytes, const uint64_t *at, uint64_t peers)
{
    uint64_t end = 0;
    for (uint64_t p = 0; p < peers; p++)
        if (bytes[p] && at[p] + bytes[p] > end)
            end = at[p] + bytes[p];
    return end;
}

static enum status no_memory(uint64_t bytes, struct err *err)
{
    return err_set(err, STATUS_SYSTEM, "out of memory for %llu bytes of an exchange",
                   (unsigned long long)bytes);
}

static enum status copy_out(const struct execution *x, struct stage *stage,
                            struct parcel *parcel, struct err *err)
{
    uint64_t peers = x->session->transport->n_ranks;
    uint64_t sent = end_of(parcel->send_bytes, parcel->send_at, peers);
    uint64_t got = end_of(parcel->receive_bytes, parcel->receive_at, peers);
    stage->home = parcel->receive;
    stage->send = malloc(sent + 1);
    stage->receive = malloc(got + 1);
    if (!stage->send || !stage->receive)
        return no_memory(sent + got, err);
    if (sent)
        x->backend->copy(x->device, parcel->send, stage->send, sent);
    parcel->send = stage->send;
    parcel->receive = stage->receive;
    return STATUS_OK;
}

enum status stage_out(struct execution *x, struct flight *flight, struct err *err)
{
    if (!is_staged(x))
        return STATUS_OK;
    stage_drop(flight, x->n_ranks);
    flight->stages = calloc(x->n_ranks, sizeof *flight->stages);
    if (!flight->stages)
        return no_memory(x->n_ranks * sizeof *flight->stages, err);
    for (uint64_t i = 0; i < x->n_ranks; i++)
        TRY(copy_out(x, &flight->stages[i], &flight->parcels[i], err));
    return x->backend->check(x->device, err);
}

enum status stage_in(struct execution *x, struct flight *flight, struct err *err)
{
    if (!is_staged(x) || !flight->stages)
        return STATUS_OK;
    for (uint64_t i = 0; i < x->n_ranks; i++) {
        const struct parcel *parcel = &flight->parcels[i];
        const struct stage *stage = &flight->stages[i];
        for (uint64_t p = 0; p < x->session->transport->n_ranks; p++)
            if (parcel->receive_bytes[p])
                x->backend->write(x->device, stage->home + parcel->receive_at[p],
                                  stage->receive + parcel->receive_at[p],
                                  parcel->receive_bytes[p]);
    }
    stage_drop(flight, x->n_ranks);
    return x->backend->check(x->device, err);
}

void stage_drop(struct flight *flight, uint64_t n_ranks)
{
    for (uint64_t i = 0; flight->stages && i < n_ranks; i++) {
        free(flight->stages[i].send);
        free(flight->stages[i].receive);
    }
    free(flight->stages);
    flight->stages = NULL;
}
