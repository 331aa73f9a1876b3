/* See traffic.h. What a kernel touches is what exec/kernels does, whose rows `run` counts; a
 * stack's own kernels do the same unless a table of its own says otherwise (serve_kernels). */
#include "work/list/traffic.h"

#include "work/list/letters.h"

/* How an operand is touched; UNNAMED: as the row's `rest` says. */
struct part {
    uint8_t read, written;
};

enum { UNNAMED = 0, NAMED = 1 }; /* NAMED + TRAFFIC_..., so that what a row leaves out is 0 */

struct row {
    uint8_t rest;
    struct part parts[ROLE_COUNT];
};

#define PART(role, read, written)                                                              \
    [ROLE_##role] = {NAMED + TRAFFIC_##read, NAMED + TRAFFIC_##written}
#define ROW(rest, ...)                                                                         \
    {                                                                                          \
        TRAFFIC_##rest,                                                                        \
        {                                                                                      \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    }
#define ALONE(rest)                                                                            \
    {                                                                                          \
        TRAFFIC_##rest,                                                                        \
        {                                                                                      \
            {                                                                                  \
                0                                                                              \
            }                                                                                  \
        }                                                                                      \
    }

/* Kernels without a row touch all of their operands. */
static const struct row rows[KERNEL_COUNT] = {
    /* what forces the router's choice is the performed sample's (layer_router.c) */
    [KERNEL_TOPK] = ROW(ALL, PART(WANTED, NONE, NONE)),
    /* of the experts' numbers those of the blocks it deals, which are as many as it writes */
    [KERNEL_DEAL] = ROW(ALL, PART(EXPERT, NONE, NONE)),
    /* counted by block_loop, as run meters them */
    [KERNEL_FETCH] = ALONE(SAID),
    [KERNEL_LOAD_BLOCK] = ALONE(SAID),
    [KERNEL_CORE_SUM] = ALONE(SAID),
    /* padding adds nothing */
    [KERNEL_ADD_BLOCK] = ROW(NONE, PART(SRC, ROWS, NONE), PART(DST, SRC, SRC)),
    [KERNEL_EXCHANGE] = ALONE(LINK),
    [KERNEL_EXCHANGE_FIXED] = ALONE(LINK),
    [KERNEL_ALLGATHER] = ALONE(LINK),
    [KERNEL_HOP] = ALONE(LINK),
    /* chunks of a schedule's steps */
    [KERNEL_ADD_CHUNKS] = ALONE(SAID),
    [KERNEL_GATHER] = ROW(NONE, PART(SRC, ROWS, NONE), PART(DST, NONE, FILLED)),
    /* the others of dst stay as they are */
    [KERNEL_SCATTER] = ROW(NONE, PART(SRC, ROWS, NONE), PART(DST, NONE, ROWS)),
    [KERNEL_PICK] = ROW(NONE, PART(WEIGHT, ROWS, NONE), PART(DST, NONE, ROWS)),
    [KERNEL_GEMM] =
        ROW(NONE, PART(SRC, IN, NONE), PART(WEIGHT, MATRICES, NONE), PART(DST, NONE, OUT)),
    [KERNEL_GATED_GEMM] = ROW(NONE, PART(SRC, IN, NONE), PART(WEIGHT, MATRICES, NONE),
                              PART(DST, NONE, ROWS), PART(OTHER, NONE, OUT)),
    /* each matrix in one trip */
    [KERNEL_CHUNK_GEMM] =
        ROW(NONE, PART(SRC, ALL, NONE), PART(WEIGHT, ONCE, NONE), PART(DST, LATER, ALL)),
    [KERNEL_WGRAD] =
        ROW(NONE, PART(SRC, IN, NONE), PART(D_DST, OUT, NONE), PART(D_WEIGHT, NONE, GRADIENT)),
    [KERNEL_EXPAND] = ROW(NONE, PART(SRC, ROWS, NONE), PART(DST, NONE, ALL)),
    [KERNEL_EXPANDED_GEMM] =
        ROW(NONE, PART(SRC, ALL, NONE), PART(WEIGHT, ALL, NONE), PART(DST, NONE, ALL)),
    [KERNEL_EXPANDED_WGRAD] =
        ROW(NONE, PART(SRC, ALL, NONE), PART(D_DST, ALL, NONE), PART(D_WEIGHT, NONE, ALL)),
    [KERNEL_SDD] =
        ROW(NONE, PART(SRC, IN, NONE), PART(WEIGHT, MATRICES, NONE), PART(DST, NONE, OUT)),
    [KERNEL_DSD] =
        ROW(NONE, PART(SRC, IN, NONE), PART(WEIGHT, MATRICES, NONE), PART(DST, NONE, OUT)),
    /* of sdd's, src is the product's side, of dsd's the other: the same elements */
    [KERNEL_SPARSE_WGRAD] =
        ROW(NONE, PART(SRC, IN, NONE), PART(OTHER, OUT, NONE), PART(D_WEIGHT, NONE, ALL)),
    [KERNEL_ACTIVATION] = ROW(NONE, PART(SRC, ROWS, NONE), PART(DST, NONE, ROWS)),
    [KERNEL_ACTIVATION_GRAD] =
        ROW(NONE, PART(SRC, ROWS, NONE), PART(D_DST, ROWS, NONE), PART(DST, NONE, ROWS)),
    /* rows behind those that came: none where a buffer is as large as they are */
    [KERNEL_MASK] = ROW(ALL, PART(DST, NONE, NONE)),
    [KERNEL_ZERO] = ROW(NONE, PART(DST, NONE, REST)),
    [KERNEL_COMBINE] = ROW(NONE, PART(SRC, ROWS, NONE), PART(DST, NONE, SUM)),
    /* a token's row once, however many rows it becomes */
    [KERNEL_SPREAD] = ROW(NONE, PART(SRC, ALL, NONE), PART(DST, NONE, ROWS)),
    /* the tokens' rows are read by the spread beside it, which TransformerEngine makes in the
     * same pass (triton/permutation.py, _unpermute_bwd_with_merging_probs_kernel) */
    [KERNEL_GATE_GRAD] = ROW(NONE, PART(SRC, ROWS, NONE), PART(D_GATES, NONE, ALL)),
    /* the sum is read, added to and written again */
    [KERNEL_ACCUMULATE] = ROW(NONE, PART(SRC, ROWS, NONE), PART(DST, ROWS, ROWS)),
    [KERNEL_ACCUMULATE_GRAD] =
        ROW(NONE, PART(SRC, ROWS, NONE), PART(D_DST, ROWS, NONE), PART(DST, NONE, FILLED)),
    [KERNEL_ADD] = ALONE(ROWS),
    /* a row of the table per token */
    [KERNEL_EMBED] = ROW(ALL, PART(WEIGHT, ROWS, NONE)),
    /* a part of src may be taken, the result is written whole */
    [KERNEL_ROPE] = ROW(ALL, PART(SRC, ROWS, NONE)),
    /* shards of the state, a part of it that waits in host memory, new tokens of a cache */
    [KERNEL_UPDATE] = ALONE(SAID),
    [KERNEL_HOST_UPDATE] = ALONE(SAID),
    [KERNEL_COPY] = ALONE(SAID),
};

enum traffic traffic_of(enum kernel kernel, enum role role, bool written)
{
    const struct part part = rows[kernel].parts[role];
    unsigned named = written ? part.written : part.read;
    return (enum traffic)(named == UNNAMED ? rows[kernel].rest : named - NAMED);
}

/* ---- bytes ---- */

struct size traffic_bytes(struct sizes *z, struct size n, struct size width, enum dtype dtype)
{
    return size_mul(z, n, size_matrix_bytes(z, dtype, width, size_const(z, 1)));
}

static struct size width_of(struct sizes *z, const struct buffer *buffer)
{
    return size_product(z, buffer->n_dims - 1, buffer->dims + 1);
}

/* Of so many of its first dimension; matrices have scales of their own. */
static struct size rows_bytes(struct sizes *z, const struct buffer *buffer, struct size n)
{
    if (buffer->n_dims > 2)
        return size_mul(z, size_div(z, buffer->bytes, buffer->dims[0]), n);
    return traffic_bytes(z, n, width_of(z, buffer), buffer->dtype);
}

struct size traffic_matrices(struct work *work, uint16_t w, const struct traffic_groups *g)
{
    struct sizes *z = &work->sizes;
    const struct buffer *weights = &work->buffers[w];
    bool every_round = g->loop && !g->parts && (!g->turn || g->map != WORK_NONE);
    bool grouped = g->offsets != WORK_NONE && !g->turn && weights->n_dims == 3;
    bool of_experts =
        weights->dims[0].node == size_slot(z, SLOT_LOCAL_EXPERTS).node || g->map != WORK_NONE;
    struct size matrices = weights->dims[0], bytes = weights->bytes;
    if (g->parts)
        matrices = size_slot(z, SLOT_ROWS);
    else if (g->turn && g->map != WORK_NONE)
        matrices = size_const(z, 1);
    else if (grouped && of_experts)
        matrices = size_slot(z, SLOT_HIT_EXPERTS);
    if (matrices.node != weights->dims[0].node)
        bytes = size_mul(z, size_div(z, bytes, weights->dims[0]), matrices);
    return every_round ? size_mul(z, bytes, g->trips) : bytes;
}

static bool is_sparse(const struct op *op)
{
    return op->kernel == KERNEL_SDD || op->kernel == KERNEL_DSD;
}

static struct size matrices_of(struct work *work, const struct op *op, uint16_t w)
{
    const struct traffic_groups groups = {.offsets = op_buffer(work, op, ROLE_OFFSETS),
                                          .map = op_buffer(work, op, ROLE_MAP),
                                          .turn = !is_sparse(op) && op->args.gemm.rows.turn,
                                          .parts = !is_sparse(op) && op->args.gemm.rows.parts,
                                          .loop = op->loop,
                                          .trips = op->trips};
    return traffic_matrices(work, w, &groups);
}

static struct size all(struct sizes *z, const struct op *op, const struct buffer *buffer)
{
    return op->loop ? size_mul(z, buffer->bytes, op->trips) : buffer->bytes;
}

/* Those that the op works on. */
static struct size some(struct sizes *z, const struct op *op, const struct buffer *buffer)
{
    return op->rows.node ? rows_bytes(z, buffer, op->rows) : all(z, op, buffer);
}

static struct size of_product(struct sizes *z, const struct op *op, const struct buffer *buffer,
                              struct size width)
{
    return traffic_bytes(z, op->m, width, buffer->dtype);
}

static bool is_shared(const struct op *op)
{
    return op->kernel != KERNEL_SPARSE_WGRAD && !is_sparse(op) && op->args.gemm.rows.shared;
}

static struct size sum_of(struct sizes *z, const struct op *op, const struct buffer *buffer)
{
    return op->args.combine.by_iteration ? buffer->bytes : all(z, op, buffer);
}

static struct size rest_of(struct sizes *z, const struct op *op, const struct buffer *buffer)
{
    struct size first = op->args.zero.first.size;
    return first.node ? rows_bytes(z, buffer, size_sub(z, buffer->dims[0], first))
                      : all(z, op, buffer);
}

static struct size touched(struct work *work, const struct op *op, uint16_t number,
                           enum traffic traffic)
{
    struct sizes *z = &work->sizes;
    const struct buffer *buffer = &work->buffers[number];
    switch (traffic) {
    case TRAFFIC_ALL:
        return all(z, op, buffer);
    case TRAFFIC_ROWS:
        return some(z, op, buffer);
    case TRAFFIC_IN: /* of rows, the part that is multiplied: a latent's hold their rope part
                        beside, merged gradients have matrices side by side */
        return is_shared(op) ? all(z, op, buffer) : of_product(z, op, buffer, op->k);
    case TRAFFIC_OUT:
        return of_product(z, op, buffer, op->n);
    case TRAFFIC_MATRICES:
        return matrices_of(work, op, number);
    case TRAFFIC_GRADIENT:
        return op->args.gemm.sum ? matrices_of(work, op, number) : buffer->bytes;
    case TRAFFIC_ONCE:
        return buffer->bytes;
    case TRAFFIC_LATER:
        return size_mul(z, buffer->bytes, size_sub(z, op->trips, size_const(z, 1)));
    case TRAFFIC_REST:
        return rest_of(z, op, buffer);
    case TRAFFIC_SUM:
        return sum_of(z, op, buffer);
    case TRAFFIC_FILLED:
        return op->loop && op_buffer(work, op, ROLE_OFFSETS) == WORK_NONE ? all(z, op, buffer)
                                                                          : some(z, op, buffer);
    case TRAFFIC_SRC:
        return traffic_bytes(z, op->rows,
                             width_of(z, &work->buffers[op_buffer(work, op, ROLE_SRC)]),
                             buffer->dtype);
    case TRAFFIC_NONE:
    case TRAFFIC_LINK:
    case TRAFFIC_SAID:
        break;
    }
    return size_const(z, 0);
}

/* Whether the op's kernel touches nothing but what crosses links. */
static bool is_link(const struct op *op)
{
    return rows[op->kernel].rest == TRAFFIC_LINK;
}

void traffic_set(struct work *work, struct op *op)
{
    struct sizes *z = &work->sizes;
    struct size read = size_const(z, 0), written = read;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct operand o = op_operands(work, op)[i];
        enum traffic in = traffic_of((enum kernel)op->kernel, (enum role)o.role, false),
                     out = traffic_of((enum kernel)op->kernel, (enum role)o.role, true);
        if (o.read || (out == TRAFFIC_GRADIENT && op->args.gemm.sum))
            read = size_add(z, read, touched(work, op, o.buffer, o.read ? in : out));
        if (o.written)
            written = size_add(z, written, touched(work, op, o.buffer, out));
    }
    op->bytes_read = is_link(op) ? op->bytes_sent : read;
    op->bytes_written = is_link(op) ? op->bytes_received : written;
}

void work_fill_bytes(struct work *work)
{
    const struct sizes *z = &work->sizes;
    for (size_t i = 0; i < work->n_ops; i++) {
        struct op *op = &work->ops[i];
        bool said = !size_is_zero(z, op->bytes_read) || !size_is_zero(z, op->bytes_written);
        if (!said && kernel_is_work((enum kernel)op->kernel))
            traffic_set(work, op);
    }
}
