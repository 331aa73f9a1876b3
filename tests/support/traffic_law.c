/* See traffic_law.h. Everything here is arithmetic of its own over values, dims and formats. */
#include "support/traffic_law.h"

#include <inttypes.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "work/list/dtype.h"
#include "work/list/traffic.h"

/* ---- what ops say by themselves, and why ---- */

enum bound { ANY, LEAST, MOST }; /* of what the law gives: anything, at least it, at most it */

static const struct {
    const char *prefix; /* of the op's name; "" any */
    enum kernel kernel;
    enum bound bound;
    const char *why;
} said[] = {
    {"", KERNEL_FETCH, ANY, "block_loop counts matrices that a core fetches; run meters them"},
    {"", KERNEL_LOAD_BLOCK, ANY, "and rows of tokens, without padding or with it"},
    {"", KERNEL_CORE_SUM, ANY, "two f32 of every sum, in place or on both cores"},
    {"", KERNEL_ADD_CHUNKS, ANY, "as many chunks as a step of the schedule has"},
    {"", KERNEL_UPDATE, ANY, "its shard of the state"},
    {"", KERNEL_HOST_UPDATE, ANY, "the part of the state that waits in host memory"},
    {"", KERNEL_COPY, ANY, "what goes to host memory or comes back"},
    {"", KERNEL_CACHE, ANY, "new tokens in the cache's format, its indexer's keys beside"},
    {"dequantize_", KERNEL_DEQUANTIZE, ANY, "matrices of the experts that have rows, a trip"},
    {"attention", KERNEL_ATTENTION, ANY, "decode reads the cache, which is no operand"},
    {"index", KERNEL_INDEX, LEAST, "and its indexer the keys there"},
    {"scan", KERNEL_SCAN, LEAST, "serving reads and writes states of sequences"},
    {"attention_norm", KERNEL_NORM, LEAST, "attention residuals read sums of blocks beside"},
    {"mlp_norm", KERNEL_NORM, LEAST, "the same"},
    {"weigh_blocks", KERNEL_ROPE, LEAST, "the same"},
    {"own_d_logits", KERNEL_ROPE, MOST, "a rank's columns of all logits"},
    {"send_", KERNEL_COLLECTIVE, ANY, "once a chunk of layers of the stage"},
};

static int said_of(const struct op *op)
{
    for (unsigned i = 0; i < sizeof said / sizeof *said; i++)
        if (op->kernel == said[i].kernel && text_starts(op->name, said[i].prefix))
            return (int)i;
    return -1;
}

/* ---- the law ---- */

struct law {
    struct work *work;
    const uint64_t *values;
    const struct op *op;
};

static uint64_t at(const struct law *l, struct size size)
{
    return l->values[size.node];
}

static uint64_t trips(const struct law *l)
{
    return l->op->loop ? at(l, l->op->trips) : 1;
}

static uint64_t width(const struct law *l, const struct buffer *buffer)
{
    uint64_t n = 1;
    for (unsigned i = 1; i < buffer->n_dims; i++)
        n *= at(l, buffer->dims[i]);
    return n;
}

static uint64_t rows_bytes(const struct law *l, const struct buffer *buffer, uint64_t rows)
{
    uint64_t all = at(l, buffer->dims[0]);
    if (buffer->n_dims > 2)
        return all ? at(l, buffer->bytes) / all * rows : 0;
    return rows * dtype_matrix_bytes(buffer->dtype, width(l, buffer), 1);
}

static uint64_t whole(const struct law *l, const struct buffer *buffer)
{
    return at(l, buffer->bytes) * trips(l);
}

static uint64_t of_rows(const struct law *l, const struct buffer *buffer)
{
    return l->op->rows.node ? rows_bytes(l, buffer, at(l, l->op->rows)) : whole(l, buffer);
}

static bool has(const struct law *l, enum role role)
{
    return op_buffer(l->work, l->op, role) != WORK_NONE;
}

/* Of e matrices: in a turn one, or the one that a map names; of groups by offsets those that
 * have rows; in each trip again where trips share them. */
static uint64_t matrices(const struct law *l, const struct buffer *buffer)
{
    bool sparse = l->op->kernel == KERNEL_SDD || l->op->kernel == KERNEL_DSD;
    struct rows_args rows = l->op->args.gemm.rows;
    bool turn = !sparse && rows.turn, parts = !sparse && rows.parts, map = has(l, ROLE_MAP);
    uint64_t all = at(l, buffer->dims[0]), n = all, again = 1;
    struct sizes *z = &l->work->sizes;
    bool experts = map || buffer->dims[0].node == size_slot(z, SLOT_LOCAL_EXPERTS).node;
    if (parts)
        n = at(l, size_slot(z, SLOT_ROWS));
    else if (turn && map)
        n = 1;
    else if (!turn && has(l, ROLE_OFFSETS) && experts && buffer->n_dims == 3)
        n = at(l, size_slot(z, SLOT_HIT_EXPERTS));
    if (!parts && (!turn || map))
        again = trips(l);
    return n == all ? at(l, buffer->bytes) * again
                    : (all ? at(l, buffer->bytes) / all * n * again : 0);
}

static uint64_t product_bytes(const struct law *l, const struct buffer *buffer,
                              struct size columns)
{
    return at(l, l->op->m) * dtype_matrix_bytes(buffer->dtype, at(l, columns), 1);
}

static uint64_t bytes_of(const struct law *l, const struct buffer *buffer, enum traffic traffic)
{
    const struct op *op = l->op;
    bool sparse = op->kernel == KERNEL_SDD || op->kernel == KERNEL_DSD ||
                  op->kernel == KERNEL_SPARSE_WGRAD;
    switch (traffic) {
    case TRAFFIC_ALL:
        return whole(l, buffer);
    case TRAFFIC_ROWS:
        return of_rows(l, buffer);
    case TRAFFIC_IN:
        return !sparse && op->args.gemm.rows.shared ? whole(l, buffer)
                                                    : product_bytes(l, buffer, op->k);
    case TRAFFIC_OUT:
        return product_bytes(l, buffer, op->n);
    case TRAFFIC_MATRICES:
        return matrices(l, buffer);
    case TRAFFIC_GRADIENT:
        return op->args.gemm.sum ? matrices(l, buffer) : at(l, buffer->bytes);
    case TRAFFIC_ONCE:
        return at(l, buffer->bytes);
    case TRAFFIC_LATER:
        return at(l, buffer->bytes) * (trips(l) - 1);
    case TRAFFIC_REST:
        return op->args.zero.first.size.node
                   ? rows_bytes(l, buffer,
                                at(l, buffer->dims[0]) - at(l, op->args.zero.first.size))
                   : whole(l, buffer);
    case TRAFFIC_SUM:
        return op->args.combine.by_iteration ? at(l, buffer->bytes) : whole(l, buffer);
    case TRAFFIC_FILLED:
        return op->loop && !has(l, ROLE_OFFSETS) ? whole(l, buffer) : of_rows(l, buffer);
    case TRAFFIC_SRC:
        return at(l, op->rows) * width(l, &l->work->buffers[op_buffer(l->work, op, ROLE_SRC)]) *
               (dtype_bits(buffer->dtype) / 8);
    case TRAFFIC_NONE:
    case TRAFFIC_LINK:
    case TRAFFIC_SAID:
        break;
    }
    return 0;
}

static void law_of(const struct law *l, uint64_t *read, uint64_t *written)
{
    const struct op *op = l->op;
    *read = *written = 0;
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct operand o = op_operands(l->work, op)[i];
        const struct buffer *buffer = &l->work->buffers[o.buffer];
        enum traffic in = traffic_of((enum kernel)op->kernel, (enum role)o.role, false),
                     out = traffic_of((enum kernel)op->kernel, (enum role)o.role, true);
        *read += o.read ? bytes_of(l, buffer, in) : 0;
        *written += o.written ? bytes_of(l, buffer, out) : 0;
        if (out == TRAFFIC_GRADIENT && op->args.gemm.sum) /* it adds to what is there */
            *read += bytes_of(l, buffer, out);
        if (in == TRAFFIC_LINK || out == TRAFFIC_LINK) {
            *read = at(l, op->bytes_sent);
            *written = at(l, op->bytes_received);
        }
    }
}

static bool within(enum bound bound, uint64_t value, uint64_t law)
{
    return bound == ANY || (bound == LEAST ? value >= law : value <= law);
}

/* ---- products ---- */

/* Not MaxText's moves, which are products with masks that are no operand (maxtext_einsum.c). */
static bool is_product(const struct op *op)
{
    if (kernel_kind((enum kernel)op->kernel) != op->kind)
        return false;
    return op->kind == OP_GEMM || op->kind == OP_GROUPED_GEMM || op->kind == OP_BATCHED_GEMM ||
           op->kind == OP_BLOCKED_GEMM;
}

/* FLOPs of m rows in all groups and trips; of expanded rows m in each group, of chunks m in
 * each trip. */
static bool multiplies_its_dims(const struct law *l)
{
    const struct op *op = l->op;
    bool expanded = op->kind == OP_BATCHED_GEMM, chunks = op->kernel == KERNEL_CHUNK_GEMM;
    uint64_t times = expanded ? at(l, op->groups) : chunks ? trips(l) : 1;
    return at(l, op->flop) == 2 * at(l, op->m) * at(l, op->n) * at(l, op->k) * times;
}

/* A matrix, or its gradient, has k n elements; of two cores' parts what the core fetched. */
static uint64_t matrix_elements(const struct law *l)
{
    bool gradient = has(l, ROLE_D_WEIGHT);
    uint16_t number = op_buffer(l->work, l->op, gradient ? ROLE_D_WEIGHT : ROLE_WEIGHT);
    const struct buffer *w = &l->work->buffers[number];
    return width(l, w) * (w->n_dims == 2 ? at(l, w->dims[0]) : 1);
}

/* ---- a list ---- */

/* Numbers that differ where routing gives some, so that one is not taken for another. */
static uint64_t *values_of(const struct plan *plan, struct work *work)
{
    static const enum slot routed[] = {SLOT_ROWS,         SLOT_RECEIVED,   SLOT_PADDED_ROWS,
                                       SLOT_HOT_EXPERT,   SLOT_ROUNDS,     SLOT_BLOCKS,
                                       SLOT_WEIGHT_LOADS, SLOT_TOKENS_OUT, SLOT_TOKENS_SENT,
                                       SLOT_TOKENS_FROM,  SLOT_ROWS_SENT,  SLOT_ROWS_FROM};
    struct slots slots;
    uint64_t *values = arena_alloc(work->arena, work->sizes.n + 64, sizeof *values);
    slots_from_plan(plan, &slots);
    for (unsigned i = 0; i < sizeof routed / sizeof *routed; i++)
        slots.value[routed[i]] += 2 + i;
    if (slots.value[SLOT_LOCAL_EXPERTS] > 1)
        slots.value[SLOT_HIT_EXPERTS] = slots.value[SLOT_LOCAL_EXPERTS] - 1;
    return sizes_eval(&work->sizes, &slots, values) ? values : NULL;
}

static const char *broken(const struct law *l, const char *what, uint64_t value, uint64_t law)
{
    return arena_printf(l->work->arena,
                        "op '%s' (%s, %s) %s %" PRIu64 ", by its operands %" PRIu64,
                        l->op->name, phase_name(l->op->phase),
                        kernel_name((enum kernel)l->op->kernel), what, value, law);
}

/* Shared experts among the tokens that were gathered for experts of a latent width read rows of
 * that width in the list, in place of the tokens' own (layer_everyone.c). */
static bool knows_of(const struct plan *plan, const struct op *op)
{
    return plan->model.moe.latent_size && plan_shared_gathered(plan) &&
           (text_starts(op->name, "shared_") || text_equal(op->name, "latent_up"));
}

static const char *check_op(const struct plan *plan, const struct law *l,
                            struct traffic_tally *tally)
{
    uint64_t read, written, reads = at(l, l->op->bytes_read),
                            writes = at(l, l->op->bytes_written);
    law_of(l, &read, &written);
    tally->ops++;
    bool exact = reads == read && writes == written;
    int exception = exact ? -1 : said_of(l->op);
    enum bound bound = exception < 0 ? ANY : said[exception].bound;
    tally->exact += exact;
    tally->said += exception >= 0;
    if ((exception < 0 && reads != read) || !within(bound, reads, read))
        return broken(l, "reads", reads, read);
    if ((exception < 0 && writes != written) || !within(bound, writes, written))
        return broken(l, "writes", writes, written);
    if (!is_product(l->op))
        return NULL;
    tally->products++;
    if (!multiplies_its_dims(l))
        return broken(l, "multiplies", at(l, l->op->flop),
                      2 * at(l, l->op->m) * at(l, l->op->n) * at(l, l->op->k));
    return knows_of(plan, l->op) || matrix_elements(l) == at(l, l->op->k) * at(l, l->op->n)
               ? NULL
               : broken(l, "multiplies by k n", matrix_elements(l),
                        at(l, l->op->k) * at(l, l->op->n));
}

const char *traffic_law_broken(const struct plan *plan, struct work *work,
                               struct traffic_tally *tally)
{
    struct law law = {.work = work};
    size_slot(&work->sizes, SLOT_LOCAL_EXPERTS);
    size_slot(&work->sizes, SLOT_HIT_EXPERTS);
    size_slot(&work->sizes, SLOT_ROWS);
    law.values = values_of(plan, work);
    for (size_t i = 0; law.values && i < work->n_ops; i++) {
        law.op = &work->ops[i];
        const char *text =
            kernel_is_work((enum kernel)law.op->kernel) && law.op->kernel != KERNEL_NONE
                ? check_op(plan, &law, tally)
                : NULL;
        if (text)
            return text;
    }
    return NULL;
}
