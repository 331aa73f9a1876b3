/* One op: kernels as one batch of units over all ranks, exchanges through the transport. */
#include "exec/execute_op.h"

#include <string.h>

#include "exec/execute_flight.h"
#include "exec/execute_stage.h"
#include "work/piece/schedule.h"

struct tensor execute_tensor(const struct rank_state *rank, uint16_t buffer, uint64_t iteration)
{
    struct tensor tensor = rank->tensors[buffer];
    if (tensor.data && tensor.copies > 1)
        tensor.data = (char *)tensor.data + iteration % tensor.copies * tensor.bytes;
    return tensor;
}

void execute_prepare(const struct task *task, const struct op *op,
                     const struct rank_state *rank, uint64_t iteration, struct call *call)
{
    *call = (struct call){.task = task,
                          .op = op,
                          .rank = rank->rank,
                          .args = op->args,
                          .iteration = iteration,
                          .skipped = iteration >= rank->trips};
    for (unsigned i = 0; i < kernel_numbers((enum kernel)op->kernel); i++)
        call->args.number[i].n = rank->values[op->args.number[i].size.node];
    const struct operand *operands = op_operands(rank->work, op);
    for (unsigned i = 0; i < op->n_operands; i++)
        call->of[operands[i].role] = execute_tensor(rank, operands[i].buffer, iteration);
}

/* ---- kernels ---- */

static void add_counts(struct op_counts *counts, const struct counts *done)
{
    counts->flop += done->flop;
    counts->rows += done->rows;
    counts->dropped += done->dropped;
    counts->blocks += done->blocks;
    counts->loads += done->loads;
    counts->fetched += done->fetched;
    counts->crossed += done->crossed;
}

static enum status run_kernel(struct execution *x, size_t op, struct err *err)
{
    struct launch launch = {.op = &x->work->ops[op],
                            .calls = x->calls,
                            .n = x->n_ranks,
                            .scratch = x->scratch,
                            .space = x->space,
                            .beside_other = x->n_under_way > 0};
    enum status status = x->performs->launch(x->performer, &launch, err);
    for (uint64_t i = 0; i < x->n_ranks; i++)
        if (!x->calls[i].skipped)
            add_counts(&x->ranks[i].counts[op], &x->calls[i].counts);
    return status;
}

/* ---- exchanges ---- */

/* Bytes and places of one rank's parcel; [R] each. */
struct lanes {
    uint64_t *send_bytes, *send_at, *receive_bytes, *receive_at;
};

static struct lanes lanes_of(const struct execution *x, const struct flight *flight, uint64_t i)
{
    uint64_t peers = x->session->transport->n_ranks, *at = flight->bytes + i * 4 * peers;
    return (struct lanes){at, at + peers, at + 2 * peers, at + 3 * peers};
}

/* By counts of rows, contiguous by peer. */
static uint64_t lay_out(const struct execution *x, const struct tensor *counts,
                        uint64_t row_bytes, uint64_t *bytes, uint64_t *at)
{
    uint64_t end = 0, peers = x->session->transport->n_ranks;
    execution_counts(x, counts, 0, peers, (int64_t *)bytes);
    for (uint64_t p = 0; p < peers; p++) {
        at[p] = end;
        bytes[p] *= row_bytes;
        end += bytes[p];
    }
    return end;
}

static enum status ragged_lanes(const struct execution *x, const struct call *call,
                                struct lanes lanes, struct err *err)
{
    uint64_t row_bytes = tensor_row_bytes(&call->of[ROLE_DST]);
    uint64_t sent =
        lay_out(x, &call->of[ROLE_SENDS], row_bytes, lanes.send_bytes, lanes.send_at);
    uint64_t got =
        lay_out(x, &call->of[ROLE_RECEIVES], row_bytes, lanes.receive_bytes, lanes.receive_at);
    if (sent <= call->of[ROLE_SRC].bytes && got <= call->of[ROLE_DST].bytes)
        return STATUS_OK;
    err_set(err, STATUS_NOFIT,
            "\"%s\" of rank %llu sends %llu bytes and receives %llu, its buffers hold %llu "
            "and %llu",
            call->op->name, (unsigned long long)call->rank, (unsigned long long)sent,
            (unsigned long long)got, (unsigned long long)call->of[ROLE_SRC].bytes,
            (unsigned long long)call->of[ROLE_DST].bytes);
    return err_hint(err, "--set moe.buffer=exact or worst");
}

/* Equal parts; all-gather sends the whole of src to everyone. */
static void fixed_lanes(const struct call *call, uint64_t peers, struct lanes lanes)
{
    bool gather = call->op->kernel == KERNEL_ALLGATHER;
    uint64_t from = call->of[ROLE_SRC].bytes, to = call->of[ROLE_DST].bytes;
    uint64_t part =
        gather ? from : (from < to ? from : to) / peers; /* a row may be left over */
    for (uint64_t p = 0; p < peers; p++) {
        lanes.send_bytes[p] = lanes.receive_bytes[p] = part;
        lanes.send_at[p] = gather ? 0 : p * part;
        lanes.receive_at[p] = p * part;
    }
}

/* ---- hops ----
 * One peer to send to and one to receive from, straight from the array at an offset. */

/* A rank's own chunk enters the array; nothing crosses a link. */
static void enter_lanes(const struct call *call, bool pass, struct lanes lanes)
{
    uint64_t bytes = call->of[ROLE_OWN].bytes;
    lanes.send_bytes[call->rank] = lanes.receive_bytes[call->rank] = bytes;
    lanes.receive_at[call->rank] = pass ? 0 : call->rank * bytes;
}

static void hop_lanes(const struct call *call, uint64_t peers, uint64_t step,
                      struct lanes lanes)
{
    enum schedule schedule = (enum schedule)call->args.hop.schedule;
    struct hop hop = schedule_hop(schedule, call->rank, step, peers);
    uint64_t chunk = call->of[ROLE_SRC].bytes / (schedule == SCHEDULE_PASS_LEFT ? 1 : peers);
    lanes.send_bytes[hop.to] = lanes.receive_bytes[hop.from] = hop.chunks * chunk;
    lanes.send_at[hop.to] = hop.sent * chunk;
    lanes.receive_at[hop.from] = schedule_reduces(schedule) ? 0 : hop.received * chunk;
}

/* The lanes of one iteration of a hop; returns where they send from. */
static const char *prepare_hop(const struct rank_state *rank, const struct call *call,
                               uint64_t peers, struct lanes lanes)
{
    bool pass = call->args.hop.schedule == SCHEDULE_PASS_LEFT;
    uint64_t step = call->args.hop.first.n + call->iteration;
    memset(lanes.send_bytes, 0, 4 * peers * sizeof *lanes.send_bytes);
    if (call->of[ROLE_OWN].present && call->iteration == 0) {
        enter_lanes(call, pass, lanes);
        return call->of[ROLE_OWN].data;
    }
    hop_lanes(call, peers, call->of[ROLE_OWN].present ? step - 1 : step, lanes);
    if (!pass)
        return call->of[ROLE_SRC].data;
    /* what the iteration before left in the other copy */
    return execute_tensor(rank, op_buffer(rank->work, call->op, ROLE_SRC), call->iteration - 1)
        .data;
}

static enum status check_handle(const struct execution *x, const struct call *call,
                                struct err *err)
{
    const struct tensor *handle = &call->of[ROLE_HANDLE];
    int64_t dispatch;
    if (!handle->present)
        return STATUS_OK;
    execution_counts(x, handle, 0, 1, &dispatch);
    if ((uint64_t)dispatch == x->task.step)
        return STATUS_OK;
    return err_set(err, STATUS_MISMATCH,
                   "stale handle in \"%s\": it is of dispatch %lld, the last one is %llu",
                   call->op->name, (long long)dispatch, (unsigned long long)x->task.step);
}

static enum status prepare_parcel(struct execution *x, struct flight *flight, size_t op,
                                  uint64_t i, struct err *err)
{
    const struct call *call = &x->calls[i];
    uint64_t peers = x->session->transport->n_ranks;
    struct lanes lanes = lanes_of(x, flight, i);
    const char *from = call->of[ROLE_SRC].data;
    struct op_counts *counts = &x->ranks[i].counts[op];
    TRY(check_handle(x, call, err));
    if (call->op->kernel == KERNEL_EXCHANGE)
        TRY(ragged_lanes(x, call, lanes, err));
    else if (call->op->kernel == KERNEL_HOP)
        from = prepare_hop(&x->ranks[i], call, peers, lanes);
    else
        fixed_lanes(call, peers, lanes);
    for (uint64_t p = 0; p < peers; p++) {
        counts->sent += p == call->rank ? 0 : lanes.send_bytes[p];
        counts->received += p == call->rank ? 0 : lanes.receive_bytes[p];
    }
    flight->parcels[i] = (struct parcel){.send = from,
                                         .receive = call->of[ROLE_DST].data,
                                         .send_bytes = lanes.send_bytes,
                                         .send_at = lanes.send_at,
                                         .receive_bytes = lanes.receive_bytes,
                                         .receive_at = lanes.receive_at,
                                         .op = op,
                                         .iteration = call->iteration};
    return STATUS_OK;
}

static enum status run_exchange(struct execution *x, size_t op, uint64_t iteration,
                                struct err *err)
{
    bool ahead = flight_is_ahead(&x->work->ops[op]);
    struct flight *flight = ahead ? flight_free(x) : &x->flights[TRANSPORT_SLOTS];
    for (uint64_t i = 0; i < x->n_ranks; i++)
        TRY(prepare_parcel(x, flight, op, i, err));
    TRY(stage_out(x, flight, err));
    if (ahead)
        return flight_start(x, flight, op, iteration, err);
    struct transport *transport = x->session->transport;
    TRY(transport->ops->exchange(transport, flight->parcels, err));
    return stage_in(x, flight, err);
}

enum status execute_op(struct execution *x, size_t op, uint64_t iteration, struct err *err)
{
    for (uint64_t i = 0; i < x->n_ranks; i++)
        execute_prepare(&x->task, &x->work->ops[op], &x->ranks[i], iteration, &x->calls[i]);
    if (x->performs->idle)
        return run_kernel(x, op, err);
    switch (x->work->ops[op].kernel) {
    case KERNEL_RESULT:
    case KERNEL_WAIT:
        return STATUS_OK;
    case KERNEL_EXCHANGE:
    case KERNEL_EXCHANGE_FIXED:
    case KERNEL_ALLGATHER:
    case KERNEL_HOP:
        return run_exchange(x, op, iteration, err);
    default:
        return run_kernel(x, op, err);
    }
}
