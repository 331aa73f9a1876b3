/* Bookkeeping of exchanges under way; see execute_flight.h. */
#include "exec/execute_flight.h"

#include <assert.h>

#include "exec/execute_stage.h"
#include "exec/stopwatch.h"
#include "work/piece/schedule.h"

bool flight_is_ahead(const struct op *op)
{
    return op->ahead && (op->kernel == KERNEL_EXCHANGE || op->kernel == KERNEL_EXCHANGE_FIXED ||
                         op->kernel == KERNEL_ALLGATHER || op->kernel == KERNEL_HOP);
}

struct flight *flight_free(struct execution *x)
{
    for (unsigned slot = 0; slot < TRANSPORT_SLOTS; slot++)
        if (!x->flights[slot].under_way)
            return &x->flights[slot];
    return NULL;
}

enum status flight_start(struct execution *x, struct flight *flight, size_t op,
                         uint64_t iteration, struct err *err)
{
    struct transport *transport = x->session->transport;
    assert(!flight->under_way);
    flight->op = op;
    flight->iteration = iteration;
    TRY(transport->ops->start(transport, (unsigned)(flight - x->flights), flight->parcels,
                              err));
    flight->under_way = true;
    x->n_under_way++;
    return STATUS_OK;
}

static enum status finish(struct execution *x, struct flight *flight, double *seconds,
                          struct err *err)
{
    struct transport *transport = x->session->transport;
    double begin = stopwatch_now_s();
    flight->under_way = false;
    x->n_under_way--;
    TRY(transport->ops->finish(transport, (unsigned)(flight - x->flights), err));
    TRY(stage_in(x, flight, err));
    if (seconds)
        seconds[flight->op] += stopwatch_now_s() - begin;
    return STATUS_OK;
}

/* Buffers with two copies take turns by iteration. */
static bool is_same_copy(const struct execution *x, uint16_t buffer, uint64_t i, uint64_t j)
{
    uint64_t copies = x->ranks[0].tensors[buffer].copies;
    return copies < 2 || i % copies == j % copies;
}

/* The iteration whose copy an op reads: what is passed on came in the one before. */
static uint64_t read_iteration(const struct op *op, uint64_t iteration)
{
    bool passes = op->kernel == KERNEL_HOP && op->args.hop.schedule == SCHEDULE_PASS_LEFT &&
                  iteration > 0;
    return passes ? iteration - 1 : iteration;
}

static bool disturbs(const struct execution *x, const struct flight *flight,
                     const struct op *op, uint64_t iteration)
{
    const struct op *flying = &x->work->ops[flight->op];
    uint16_t from = op_buffer(x->work, flying, ROLE_SRC),
             to = op_buffer(x->work, flying, ROLE_DST);
    uint64_t arrives = flight->iteration, leaves = read_iteration(flying, arrives);
    return (op_reads(x->work, op, to) &&
            is_same_copy(x, to, arrives, read_iteration(op, iteration))) ||
           (op_writes(x->work, op, to) && is_same_copy(x, to, arrives, iteration)) ||
           (op_writes(x->work, op, from) && is_same_copy(x, from, leaves, iteration));
}

bool flights_use(const struct execution *x, uint16_t buffer)
{
    for (unsigned slot = 0; x->n_under_way && slot < TRANSPORT_SLOTS; slot++) {
        const struct flight *flight = &x->flights[slot];
        const struct op *op = &x->work->ops[flight->op];
        if (flight->under_way &&
            (op_reads(x->work, op, buffer) || op_writes(x->work, op, buffer)))
            return true;
    }
    return false;
}

enum status flights_settle(struct execution *x, size_t op, uint64_t iteration, double *seconds,
                           struct err *err)
{
    const struct op *next = &x->work->ops[op];
    bool all = flight_is_ahead(next) && !flight_free(x);
    for (unsigned slot = 0; x->n_under_way && slot < TRANSPORT_SLOTS; slot++) {
        struct flight *flight = &x->flights[slot];
        if (flight->under_way && (all || disturbs(x, flight, next, iteration)))
            TRY(finish(x, flight, seconds, err));
    }
    return STATUS_OK;
}

enum status flights_finish(struct execution *x, double *seconds, struct err *err)
{
    for (unsigned slot = 0; slot < TRANSPORT_SLOTS; slot++)
        if (x->flights[slot].under_way)
            TRY(finish(x, &x->flights[slot], seconds, err));
    return STATUS_OK;
}
