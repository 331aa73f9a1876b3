/* What all transports share; see transport.h. */
#include "exec/transport/transport.h"

void transport_close(struct transport *transport)
{
    if (transport)
        transport->ops->close(transport);
}

enum status transport_check_ready(const struct transport *transport, const char *what,
                                  struct err *err)
{
    if (transport->ready)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "%s before set-up: transport \"%s\" has no group yet", what,
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
