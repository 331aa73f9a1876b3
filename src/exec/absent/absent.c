/* Rows of absent ranks, and what is sent to them; see absent.h. */
#include "exec/absent/absent.h"

#include <stdlib.h>
#include <string.h>

#include "exec/absent/parts.h"
#include "exec/kernels/format.h"
#include "work/list/dtype.h"

struct absent_part *absent_part(const struct absent *absent, uint64_t op, uint64_t iteration,
                                uint64_t from)
{
    const struct absent_exchange *e = &absent->exchanges[op];
    return &e->parts[(e->trips > 1 ? iteration : 0) * absent->n_ranks + from];
}

/* ---- what the exchanges of a list carry ---- */

static bool is_exchange(const struct op *op)
{
    return op->kernel == KERNEL_EXCHANGE || op->kernel == KERNEL_EXCHANGE_FIXED ||
           op->kernel == KERNEL_ALLGATHER;
}

static bool is_metadata(enum dtype dtype)
{
    return dtype == DTYPE_I32 || dtype == DTYPE_I64;
}

static enum absent_row role_of(const struct op *op, const struct buffer *src)
{
    bool back = op->phase == PHASE_BACKWARD, home = op->args.exchange.home;
    if (src->category == CATEGORY_METADATA)
        return back ? ABSENT_GATE_GRADIENTS : ABSENT_GATES;
    if (home)
        return back ? ABSENT_X_GRADIENTS : ABSENT_OUTPUTS;
    return back ? ABSENT_GRADIENTS : ABSENT_TOKENS;
}

/* The op before `end` that made a buffer. */
static const struct op *maker_of(const struct work *work, uint16_t buffer, size_t end)
{
    while (end-- > 0)
        if (op_writes(work, &work->ops[end], buffer))
            return &work->ops[end];
    return NULL;
}

/* Fixed slots of the way out are filled through a map; those of the way back do not matter: a
 * slot that nobody uses is not looked at. */
static uint16_t map_of(const struct work *work, size_t number)
{
    const struct op *op = &work->ops[number];
    if (op->kernel == KERNEL_EXCHANGE)
        return op->args.exchange.home ? WORK_NONE : op_buffer(work, op, ROLE_SENDS);
    const struct op *maker = maker_of(work, op_buffer(work, op, ROLE_SRC), number);
    if (!maker || op->args.exchange.home)
        return WORK_NONE;
    return maker->kernel == KERNEL_GATHER   ? op_buffer(work, maker, ROLE_INDEX)
           : maker->kernel == KERNEL_SPREAD ? op_buffer(work, maker, ROLE_INVERSE)
                                            : WORK_NONE;
}

static enum absent_kind kind_of(const struct op *op, const struct buffer *src, uint16_t map)
{
    if (is_metadata(src->dtype))
        return ABSENT_COPY;
    return op->kernel == KERNEL_EXCHANGE_FIXED && map != WORK_NONE ? ABSENT_MARKED
                                                                   : ABSENT_MANY;
}

static void describe(const struct execution *x, struct absent *absent, size_t number)
{
    const struct op *op = &x->work->ops[number];
    if (!is_exchange(op))
        return;
    const struct buffer *src = &x->work->buffers[op_buffer(x->work, op, ROLE_SRC)];
    const struct tensor *dst = &x->ranks[0].tensors[op_buffer(x->work, op, ROLE_DST)];
    struct absent_exchange *e = &absent->exchanges[number];
    uint64_t trips = op->loop ? x->ranks[0].values[op->trips.node] : 1;
    uint16_t map = map_of(x->work, number);
    *e = (struct absent_exchange){.kind = kind_of(op, src, map),
                                  .row = role_of(op, src),
                                  .audited = op->phase != PHASE_RECOMPUTE,
                                  .map = map,
                                  .dtype = dst->dtype,
                                  .width = dst->width,
                                  .row_bytes = tensor_row_bytes(dst),
                                  .trips = trips};
    uint64_t n = (trips ? trips : 1) * absent->n_ranks;
    e->parts = arena_alloc(&absent->arena, n, sizeof *e->parts);
}

/* ---- rows ---- */

static void encode_rows(const struct execution *x, struct absent *absent,
                        struct absent_exchange *e)
{
    float *values = arena_alloc(&absent->arena, e->width, sizeof *values);
    float *scratch = arena_alloc(&absent->arena, e->width + 128 * 128, sizeof *scratch);
    struct matrix_source source = format_row_source(values);
    e->rows = arena_alloc(&absent->arena, absent->n_ranks, e->row_bytes);
    for (uint64_t rank = 0; rank < absent->n_ranks; rank++) {
        unsigned char *row = e->rows + rank * e->row_bytes;
        inputs_absent(x->task.inputs, e->row, rank, e->width, values);
        if (dtype_is_plain(e->dtype))
            format_store(e->dtype, row, 0, e->width, values);
        else
            format_encode_matrix(e->dtype, e->width, 1, &source, scratch, row);
    }
}

/* ---- begin and end ---- */

enum status absent_begin(struct execution *x, struct err *err)
{
    struct absent *absent = calloc(1, sizeof *absent);
    if (!absent)
        return err_set(err, STATUS_SYSTEM, "out of memory for absent ranks");
    x->absent = absent;
    absent->rank = x->session->transport->first;
    absent->n_ranks = x->session->transport->n_ranks;
    absent->n_ops = x->work->n_ops;
    absent->ghosts = arena_alloc(&absent->arena, absent->n_ranks, sizeof *absent->ghosts);
    absent->exchanges = arena_alloc(&absent->arena, absent->n_ops, sizeof *absent->exchanges);
    for (size_t op = 0; op < absent->n_ops; op++) {
        struct absent_exchange *e = &absent->exchanges[op];
        describe(x, absent, op);
        if (e->kind == ABSENT_MANY || e->kind == ABSENT_MARKED)
            encode_rows(x, absent, e);
    }
    TRY(absent_perform(x, absent, err));
    transport_share_bind(x->session->transport, absent);
    return STATUS_OK;
}

void absent_end(struct execution *x)
{
    struct absent *absent = x->absent;
    if (!absent)
        return;
    transport_share_bind(x->session->transport, NULL);
    for (uint64_t rank = 0; rank < absent->n_ranks; rank++)
        arena_release(&absent->ghosts[rank]);
    arena_release(&absent->arena);
    free(absent);
    x->absent = NULL;
}

/* ---- what is received ---- */

enum status absent_check(const struct absent *absent, const struct parcel *parcel,
                         struct err *err)
{
    const struct absent_exchange *e = &absent->exchanges[parcel->op];
    for (uint64_t from = 0; from < absent->n_ranks; from++) {
        const struct absent_part *part =
            absent_part(absent, parcel->op, parcel->iteration, from);
        uint64_t bytes = e->kind == ABSENT_COPY ? part->n : part->n * e->row_bytes;
        if (from == absent->rank || !part->known || bytes == parcel->receive_bytes[from])
            continue;
        return err_set(
            err, STATUS_MISMATCH, "rank %llu sends %llu bytes to rank %llu, which expects %llu",
            (unsigned long long)from, (unsigned long long)bytes,
            (unsigned long long)absent->rank, (unsigned long long)parcel->receive_bytes[from]);
    }
    return STATUS_OK;
}

void absent_fill(const struct absent *absent, const struct parcel *parcel, uint64_t from)
{
    const struct absent_exchange *e = &absent->exchanges[parcel->op];
    const struct absent_part *part = absent_part(absent, parcel->op, parcel->iteration, from);
    char *out = parcel->receive + parcel->receive_at[from];
    uint64_t bytes = parcel->receive_bytes[from];
    if (bytes == 0)
        return;
    if (e->kind == ABSENT_COPY) {
        memcpy(out, part->bytes, bytes);
        return;
    }
    const unsigned char *row = e->rows + from * e->row_bytes;
    for (uint64_t i = 0; i < bytes / e->row_bytes; i++, out += e->row_bytes)
        if (e->kind == ABSENT_MARKED && !part->bytes[i])
            memset(out, 0, e->row_bytes);
        else
            memcpy(out, row, e->row_bytes);
}

/* ---- what is sent ---- */

void absent_audit(struct execution *x)
{
    struct absent *absent = x->absent;
    absent->sent = arena_alloc(&absent->arena, ABSENT_ROWS, sizeof *absent->sent);
    for (size_t op = 0; op < absent->n_ops; op++) {
        const struct absent_exchange *e = &absent->exchanges[op];
        struct absent_sent *sent = &absent->sent[e->row];
        if ((e->kind != ABSENT_MANY && e->kind != ABSENT_MARKED) || sent->sum)
            continue;
        sent->width = e->width;
        sent->sum = arena_alloc(&absent->arena, absent->n_ranks * e->width, sizeof(double));
    }
}

const struct absent_sent *absent_sent(const struct execution *x, enum absent_row which)
{
    return &x->absent->sent[which];
}

enum { PIECE = 256 }; /* elements converted at a time, whole blocks of every format */

static void add_piece(const struct absent_exchange *e, const char *row, uint64_t c, uint64_t n,
                      double *sum)
{
    float values[PIECE];
    if (dtype_is_plain(e->dtype))
        format_load(e->dtype, row, c, n, values);
    else
        format_decode_columns(e->dtype, row, e->width, 1, c, n, 0, 1, values);
    for (uint64_t i = 0; i < n; i++)
        sum[c + i] += (double)values[i];
}

void absent_take(const struct absent *absent, const struct parcel *parcel, uint64_t to)
{
    const struct absent_exchange *e = &absent->exchanges[parcel->op];
    if (!absent->sent || e->kind == ABSENT_COPY || !e->audited)
        return;
    const char *row = parcel->send + parcel->send_at[to];
    double *sum = absent->sent[e->row].sum + to * e->width;
    for (uint64_t i = 0; i < parcel->send_bytes[to] / e->row_bytes; i++, row += e->row_bytes)
        for (uint64_t c = 0; c < e->width; c += PIECE)
            add_piece(e, row, c, e->width - c < PIECE ? e->width - c : PIECE, sum);
}
