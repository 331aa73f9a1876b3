/* What all transports share; see transport.h. */
#include "exec/transport/transport.h"

void transport_close(struct transport *transport)
{
    if (transport)
        transport->ops->close(transport);
}

enum status transport_check_ready(const struct transport *transport, struct err *err)
{
    if (transport->ready)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "exchange before set-up: transport \"%s\" has no group yet",
            transport->ops->name);
    return err_hint(err, "call session_setup once, before the first step");
}

enum status transport_own_sum(struct transport *transport, uint64_t *values, size_t n,
                              struct err *err)
{
    (void)transport;
    (void)values;
    (void)n;
    (void)err;
    return STATUS_OK;
}

enum status transport_own_max(struct transport *transport, double *values, size_t n,
                              struct err *err)
{
    (void)transport;
    (void)values;
    (void)n;
    (void)err;
    return STATUS_OK;
}

enum status transport_check_pairs(const struct transport *transport,
                                  const struct parcel *parcels, struct err *err)
{
    for (uint64_t from = 0; from < transport->n_ranks; from++) {
        for (uint64_t to = 0; to < transport->n_ranks; to++) {
            uint64_t sent = parcels[from].send_bytes[to];
            uint64_t expected = parcels[to].receive_bytes[from];
            if (sent != expected)
                return err_set(err, STATUS_MISMATCH,
                               "rank %llu sends %llu bytes to rank %llu, which expects %llu",
                               (unsigned long long)from, (unsigned long long)sent,
                               (unsigned long long)to, (unsigned long long)expected);
        }
    }
    return STATUS_OK;
}
