/* Steps, loops, lifetimes; see execute.h. Ops are performed in execute_op.c. */
#include "exec/execute.h"

#include <assert.h>
#include <string.h>

#include "exec/absent/absent.h"
#include "exec/execute_flight.h"
#include "exec/execute_op.h"
#include "exec/execute_stage.h"
#include "exec/stopwatch.h"

/* ---- tensors ---- */

static void evaluate_tensor(const struct buffer *buffer, const uint64_t *values,
                            struct tensor *tensor)
{
    *tensor = (struct tensor){.dtype = buffer->dtype,
                              .n_dims = buffer->n_dims,
                              .width = 1,
                              .copies = values[buffer->count.node],
                              .bytes = values[buffer->bytes.node],
                              .present = true};
    for (unsigned i = 0; i < buffer->n_dims; i++)
        tensor->dims[i] = values[buffer->dims[i].node];
    for (unsigned i = 1; i < buffer->n_dims; i++)
        tensor->width *= tensor->dims[i];
    tensor->rows = tensor->dims[0];
}

enum status execution_rank_init(const struct work *work, const struct slots *slots,
                                uint64_t number, struct arena *arena, struct rank_state *rank,
                                struct err *err)
{
    uint64_t *values = arena_alloc(arena, work->sizes.n, sizeof *values);
    if (!sizes_eval(&work->sizes, slots, values))
        return err_set(err, STATUS_INPUT, "sizes of rank %llu overflow 64 bits",
                       (unsigned long long)number);
    *rank = (struct rank_state){
        .work = work,
        .rank = number,
        .values = values,
        .tensors = arena_alloc(arena, work->n_buffers, sizeof *rank->tensors),
        .counts = arena_alloc(arena, work->n_ops, sizeof *rank->counts)};
    for (size_t b = 0; b < work->n_buffers; b++) {
        evaluate_tensor(&work->buffers[b], values, &rank->tensors[b]);
        if (work->buffers[b].dtype == DTYPE_I32 || rank->tensors[b].rows <= INT32_MAX)
            continue;
        return err_set(err, STATUS_INPUT,
                       "buffer \"%s\" has %llu rows: index maps reach 2147483647",
                       work->buffers[b].name, (unsigned long long)rank->tensors[b].rows);
    }
    return STATUS_OK;
}

static enum status check_alone(const struct execution_setup *setup, struct err *err)
{
    if (!setup->session->transport->alone || setup->sample)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "a collective matmul is not performed by one rank alone");
    return err_hint(err, "what absent ranks send is known of rows for experts only");
}

enum status execution_init(struct execution *x, const struct execution_setup *setup,
                           struct arena *arena, struct err *err)
{
    *x = (struct execution){
        .work = setup->work,
        .backend = backend_of(setup->backend),
        .session = setup->session,
        .task = {.plan = setup->plan, .sample = setup->sample, .blas = &setup->session->blas}};
    uint64_t n = setup->session->transport->n_local, peers = setup->session->transport->n_ranks;
    x->n_ranks = n;
    x->ranks = arena_alloc(arena, n, sizeof *x->ranks);
    x->profile = arena_alloc(arena, setup->work->n_ops, CATEGORY_COUNT * sizeof *x->profile);
    for (unsigned slot = 0; slot <= TRANSPORT_SLOTS; slot++) {
        x->flights[slot].parcels = arena_alloc(arena, n, sizeof(struct parcel));
        x->flights[slot].bytes = arena_alloc(arena, n * 4, peers * sizeof(uint64_t));
    }
    x->calls = arena_alloc(arena, n, sizeof *x->calls);
    x->scratch = arena_alloc(arena, pool_size(setup->session->pool), sizeof *x->scratch);
    x->space = arena_alloc(arena, n, sizeof *x->space);
    TRY(check_alone(setup, err));
    TRY(x->backend->open(setup->session, setup->kernels, arena, &x->device, err));
    x->n_places = x->backend->places ? x->backend->places(x->device) : 1;
    x->performs = x->backend;
    x->performer = x->device;
    x->meter.backend = x->backend;
    x->meter.device = x->device;
    for (uint64_t i = 0; i < n; i++)
        TRY(execution_rank_init(x->work, &setup->slots[i], x->session->transport->first + i,
                                arena, &x->ranks[i], err));
    return STATUS_OK;
}

/* ---- lifetimes ---- */

/* The place of rank i of this process. */
static unsigned place_of(const struct execution *x, uint64_t i)
{
    return (unsigned)(i * x->n_places / x->n_ranks);
}

static bool is_first_of_place(const struct execution *x, uint64_t i)
{
    return i == 0 || place_of(x, i) != place_of(x, i - 1);
}

static struct meter_want want_of(const struct execution *x, size_t b, uint64_t i)
{
    const struct buffer *buffer = &x->work->buffers[b];
    const struct tensor *tensor = &x->ranks[i].tensors[b];
    return (struct meter_want){buffer->name, buffer->category, place_of(x, i),
                               tensor->bytes * tensor->copies};
}

/* Bytes all ones: NaN in every float format, -1 in index maps, so that what was never written
 * is never mistaken for a result. */
static enum status allocate(struct execution *x, size_t b, uint64_t i, struct err *err)
{
    struct tensor *tensor = &x->ranks[i].tensors[b];
    struct meter_want want = want_of(x, b, i);
    TRY(meter_alloc(&x->meter, &want, &tensor->data, err));
    if (tensor->data)
        x->backend->fill(x->device, tensor->data, 0xff, want.bytes);
    return STATUS_OK;
}

static void give_back(struct execution *x, size_t b, uint64_t i)
{
    struct tensor *tensor = &x->ranks[i].tensors[b];
    struct meter_want want = want_of(x, b, i);
    meter_free(&x->meter, &want, tensor->data);
    tensor->data = NULL;
}

static bool per_process(const struct buffer *buffer)
{
    return buffer->segment == SEGMENT_STEP;
}

static enum status begin_lives(struct execution *x, size_t op, struct err *err)
{
    for (size_t b = 0; b < x->work->n_buffers; b++) {
        const struct buffer *buffer = &x->work->buffers[b];
        if (buffer->life != LIFE_TRANSIENT || buffer->first != op)
            continue;
        for (uint64_t i = 0; i < x->n_ranks; i++)
            TRY(allocate(x, b, i, err));
    }
    memcpy(x->profile + op * CATEGORY_COUNT, x->meter.now, sizeof x->meter.now);
    return STATUS_OK;
}

static void end_lives(struct execution *x, size_t op)
{
    for (size_t b = 0; b < x->work->n_buffers; b++) {
        const struct buffer *buffer = &x->work->buffers[b];
        if (buffer->life != LIFE_TRANSIENT || buffer->last != op)
            continue;
        assert(!flights_use(x, (uint16_t)b));
        for (uint64_t i = 0; i < x->n_ranks; i++)
            give_back(x, b, i);
    }
}

/* ---- begin and end ---- */

/* A buffer that a place has once. */
static void share_scratch(struct execution *x, size_t b)
{
    const struct tensor *tensor = &x->ranks[0].tensors[b];
    for (unsigned w = 0; w < pool_size(x->session->pool); w++)
        x->scratch[w] = (float *)tensor->data + (size_t)w * KERNEL_SCRATCH_FLOATS;
    for (uint64_t i = 0; i < x->n_ranks; i++)
        x->space[i] = is_first_of_place(x, i) ? x->ranks[i].tensors[b].data : x->space[i - 1];
}

static bool fills_weights(const struct execution *x, const struct op *op)
{
    bool fills = op->kernel == KERNEL_FILL || op->kernel == KERNEL_SHARD;
    return fills && x->work->buffers[op_buffer(x->work, op, ROLE_DST)].life == LIFE_PERSISTENT;
}

enum status execution_begin(struct execution *x, const struct inputs *inputs, struct err *err)
{
    x->task.inputs = inputs;
    if (x->backend->prepare)
        TRY(x->backend->prepare(x->device, x->work, err));
    stage_bind(x);
    for (size_t b = 0; b < x->work->n_buffers; b++) {
        const struct buffer *buffer = &x->work->buffers[b];
        for (uint64_t i = 0; buffer->life == LIFE_PERSISTENT && i < x->n_ranks; i++)
            if (!per_process(buffer) || is_first_of_place(x, i))
                TRY(allocate(x, b, i, err));
        if (per_process(buffer))
            share_scratch(x, b);
    }
    for (uint64_t i = 0; i < x->n_ranks; i++)
        x->ranks[i].trips = 1;
    for (size_t op = 0; op < x->work->n_ops; op++)
        if (fills_weights(x, &x->work->ops[op]))
            TRY(execute_op(x, op, 0, err));
    return x->session->transport->alone && !x->performs->idle ? absent_begin(x, err)
                                                              : STATUS_OK;
}

void execution_end(struct execution *x)
{
    absent_end(x);
    for (unsigned slot = 0; slot <= TRANSPORT_SLOTS; slot++)
        stage_drop(&x->flights[slot], x->n_ranks);
    for (size_t b = 0; b < x->work->n_buffers; b++)
        for (uint64_t i = 0; i < x->n_ranks; i++)
            give_back(x, b, i);
}

/* ---- steps ---- */

/* Rows of absent peers are made up in the host's memory: how long they take to a device says
 * nothing. */
static bool is_untimed(const struct execution *x, const struct op *op)
{
    return x->backend->far && x->session->transport->alone && op->kind == OP_EXCHANGE;
}

static enum status timed(struct execution *x, size_t op, uint64_t iteration, double *seconds,
                         struct err *err)
{
    double begin_s = x->recorder ? stopwatch_now_s() : 0;
    TRY(flights_settle(x, op, iteration, seconds, err));
    x->performs->mark(x->performer, BACKEND_BEGIN);
    TRY(execute_op(x, op, iteration, err));
    x->performs->mark(x->performer, BACKEND_END);
    if (seconds && !is_untimed(x, &x->work->ops[op]))
        seconds[op] += x->performs->elapsed_s(x->performer);
    if (x->recorder)
        x->recorder->ran(x->recorder->context, op, iteration, begin_s, stopwatch_now_s());
    return STATUS_OK;
}

static enum status look(struct execution *x, const struct observer *observer, size_t op,
                        struct err *err)
{
    for (uint64_t i = 0; observer && i < x->n_ranks; i++)
        TRY(observer->after(observer->context, &x->ranks[i], &x->work->ops[op], err));
    return STATUS_OK;
}

size_t execution_loop_end(const struct work *work, size_t first)
{
    size_t end = first + 1;
    while (work->ops[first].loop && end < work->n_ops &&
           work->ops[end].loop == work->ops[first].loop)
        end++;
    return end;
}

/* Trips of each rank: a loop without exchanges may end earlier on one rank than on another.
 * Returns the most. */
static uint64_t set_trips(struct execution *x, const struct op *op)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < x->n_ranks; i++) {
        struct rank_state *rank = &x->ranks[i];
        rank->trips = rank->values[op->trips.node];
        if (op->loop && op->trips_from != WORK_NONE && !x->performs->idle) {
            int64_t trips;
            execution_counts(x, &rank->tensors[op->trips_from], 0, 1, &trips);
            rank->trips = (uint64_t)trips;
        }
        most = rank->trips > most ? rank->trips : most;
    }
    return most;
}

/* One pass over a loop's ops; those that run ahead are an iteration further. */
static enum status run_iteration(struct execution *x, size_t first, size_t end, uint64_t i,
                                 uint64_t trips, double *seconds, struct err *err)
{
    for (size_t op = first; op < end; op++) {
        uint64_t ahead = x->work->ops[op].ahead ? 1 : 0;
        if (i + ahead < trips)
            TRY(timed(x, op, i + ahead, seconds, err));
    }
    return STATUS_OK;
}

static enum status run_ops(struct execution *x, size_t first, size_t end, double *seconds,
                           struct err *err)
{
    uint64_t trips = set_trips(x, &x->work->ops[first]);
    for (size_t op = first; op < end; op++)
        if (trips > 0 && x->work->ops[op].ahead)
            TRY(timed(x, op, 0, seconds, err));
    for (uint64_t i = 0; i < trips; i++)
        TRY(run_iteration(x, first, end, i, trips, seconds, err));
    return x->work->ops[first].loop ? flights_finish(x, seconds, err) : STATUS_OK;
}

static void clear_step(struct execution *x, double *seconds)
{
    x->task.step++;
    for (uint64_t i = 0; i < x->n_ranks; i++)
        memset(x->ranks[i].counts, 0, x->work->n_ops * sizeof *x->ranks[i].counts);
    if (seconds)
        memset(seconds, 0, x->work->n_ops * sizeof *seconds);
}

static enum status run_step(struct execution *x, const struct observer *observer,
                            double *seconds, struct err *err)
{
    clear_step(x, seconds);
    for (size_t first = 0, end; first < x->work->n_ops; first = end) {
        end = execution_loop_end(x->work, first);
        for (size_t op = first; op < end; op++)
            TRY(begin_lives(x, op, err));
        if (!fills_weights(x, &x->work->ops[first]))
            TRY(run_ops(x, first, end, seconds, err));
        for (size_t op = first; op < end; op++) {
            TRY(look(x, observer, op, err));
            end_lives(x, op);
        }
    }
    return STATUS_OK;
}

enum status execution_idle(struct execution *x, bool idle, struct arena *arena, struct err *err)
{
    x->performs = idle ? &backend_null : x->backend;
    x->performer = x->device;
    return idle ? backend_null.open(x->session, NULL, arena, &x->performer, err) : STATUS_OK;
}

void execution_copy(const struct execution *x, const void *memory, uint64_t bytes, void *to)
{
    x->backend->copy(x->device, memory, to, bytes);
}

void execution_counts(const struct execution *x, const struct tensor *tensor, uint64_t first,
                      uint64_t n, int64_t *to)
{
    x->backend->read_counts(x->device, tensor_i64(tensor) + first, n, to);
}

enum status execution_step(struct execution *x, const struct observer *observer,
                           double *seconds, struct err *err)
{
    enum status status = run_step(x, observer, seconds, err);
    if (status == STATUS_OK && x->backend->check)
        status = x->backend->check(x->device, err);
    struct transport *transport = x->session->transport;
    /* the other ranks may be waiting for this one in an exchange: they must hear of it */
    return status == STATUS_OK ? status : transport->ops->agree(transport, status, err);
}
