/* The backward of a loop: its body recomputed, then walked backwards, inside one loop of as
 * many trips. Gradients of buffers from outside the loop are sums over its trips, zeroed before
 * it.
 *
 * Three kernels pass values out of a body: accumulate and scatter into a buffer of the outside,
 * and products into weights. Four take values in: gather, products on outside rows, and the two
 * that hand a row its gate (accumulate, or gather where gates scale the input). */
#include <string.h>

#include "work/pass/backward.h"

static bool writes_outside(const struct op *op)
{
    return op->kernel == KERNEL_ACCUMULATE || op->kernel == KERNEL_SCATTER;
}

/* Whether an op of the loop makes the buffer; those that only add to it do not count. */
static bool made_inside(const struct backward *b, uint16_t buffer)
{
    for (size_t i = 0; i < b->n_body; i++) {
        const struct op *op = &b->body[i];
        for (unsigned j = 0; !writes_outside(op) && j < OP_BUFFERS; j++)
            if (op->writes[j] == buffer)
                return true;
    }
    return false;
}

static uint16_t cloned(struct backward *b, uint16_t buffer)
{
    if (buffer == WORK_NONE || b->clone[buffer] != WORK_NONE)
        return backward_value(b, buffer);
    struct buffer copy = b->l->work->buffers[buffer];
    copy.name = arena_printf(b->l->arena, "%s_again", copy.name);
    copy.first = WORK_NONE;
    copy.last = 0;
    copy.count = b->l->one;
    b->clone[buffer] = work_buffer(b->l->work, copy);
    return b->clone[buffer];
}

/* Operands of a forward op that its gradient reads, as bits. */
static unsigned read_again(const struct op *op)
{
    static const unsigned bits[KERNEL_COUNT] = {
        [KERNEL_GEMM] = 1 << 0 | 1 << 2 | 1 << 3 | 1 << 4,
        [KERNEL_ACTIVATION] = 1 << 0 | 1 << 1 | 1 << 2,
        [KERNEL_ACCUMULATE] = 1 << 0 | 1 << 4,
        [KERNEL_SCATTER] = 1 << 1,
        [KERNEL_GATHER] = 1 << 1,
    };
    if (op->kernel == KERNEL_ACCUMULATE && op->reads[1] == WORK_NONE)
        return 1 << 4; /* without gates no gradient needs the rows themselves */
    return bits[op->kernel];
}

/* Marks the ops of the body whose results the gradients read, directly or not. */
static void mark_needed(const struct backward *b, bool *needed_buffer, bool *needed_op)
{
    for (size_t i = b->n_body; i-- > 0;) {
        const struct op *op = &b->body[i];
        bool needed = false;
        for (unsigned j = 0; j < OP_BUFFERS; j++)
            needed |= op->writes[j] != WORK_NONE && needed_buffer[op->writes[j]];
        needed_op[i] = needed && !writes_outside(op);
        for (unsigned j = 0; j < OP_BUFFERS; j++)
            if (op->reads[j] != WORK_NONE && (needed_op[i] || read_again(op) >> j & 1))
                needed_buffer[op->reads[j]] = true;
    }
}

static void repeat_op(struct backward *b, struct op op)
{
    struct layer *l = b->l;
    uint16_t reads[OP_BUFFERS + 1], writes[OP_BUFFERS + 1];
    for (unsigned j = 0; j < OP_BUFFERS; j++) {
        reads[j] = backward_value(b, op.reads[j]);
        writes[j] = cloned(b, op.writes[j]);
    }
    reads[OP_BUFFERS] = writes[OP_BUFFERS] = LAYER_END;
    op.name = arena_printf(l->arena, "%s_again", op.name);
    op.flags &= (uint16_t)~KERNEL_AHEAD;
    uint16_t number = layer_op(l, op, reads, writes);
    l->work->ops[number].phase = PHASE_RECOMPUTE;
}

/* The body's ops once more, as far as the gradients need them, into buffers of their own. */
static void recompute(struct backward *b)
{
    struct layer *l = b->l;
    bool *buffers = arena_alloc(l->arena, b->n_buffers, sizeof *buffers);
    bool *ops = arena_alloc(l->arena, b->n_body, sizeof *ops);
    mark_needed(b, buffers, ops);
    for (size_t i = 0; i < b->n_body; i++)
        if (ops[i])
            repeat_op(b, b->body[i]);
}

/* ---- gradients of outside buffers ---- */

static uint16_t zeroed(struct layer *l, uint16_t buffer)
{
    layer_op(
        l,
        (struct op){.name = arena_printf(l->arena, "zero_%s", l->work->buffers[buffer].name),
                    .kernel = KERNEL_ZERO},
        LAYER_OPERANDS(WORK_NONE), LAYER_OPERANDS(buffer));
    return buffer;
}

/* A sum over trips of rows like those of an outside buffer, in f32. */
static uint16_t outside_sum(struct backward *b, uint16_t of)
{
    struct layer *l = b->l;
    uint16_t sum = backward_buffer(b, of, "");
    l->work->buffers[sum].dtype = DTYPE_F32;
    l->work->buffers[sum].bytes = layer_traffic(l, l->work->buffers[sum].dims[0], sum);
    return zeroed(l, sum);
}

/* Room for one gradient row per slot: what a gather without an inverse picked from. */
static uint16_t outside_slots(struct backward *b, uint16_t of)
{
    struct layer *l = b->l;
    return zeroed(l,
                  layer_rows(l, arena_printf(l->arena, "d_%s_slots", l->work->buffers[of].name),
                             CATEGORY_DISPATCH, l->activation, l->slots, layer_width(l, of)));
}

static bool is_matrix(const struct buffer *buffer)
{
    return buffer->category == CATEGORY_WEIGHTS;
}

/* The gates whose gradient is a sum over trips. Rows that are put into slots (below) have
 * theirs computed behind the loop. */
static uint16_t gates_of(const struct op *op)
{
    if (op->kernel == KERNEL_ACCUMULATE)
        return op->reads[1];
    return op->kernel == KERNEL_GATHER && op->reads[2] != WORK_NONE ? op->reads[5] : WORK_NONE;
}

/* Sums for everything that the body takes from outside, before the loop begins. */
static void prepare_sums(struct backward *b)
{
    struct layer *l = b->l;
    for (size_t i = 0; i < b->n_body; i++) {
        struct op op = b->body[i];
        bool product = op.kernel == KERNEL_GEMM, gather = op.kernel == KERNEL_GATHER;
        uint16_t x = op.reads[0];
        if ((product || gather) && !made_inside(b, x) && b->outside[x] == WORK_NONE)
            b->outside[x] =
                gather && op.reads[2] == WORK_NONE ? outside_slots(b, x) : outside_sum(b, x);
        uint16_t gates = gates_of(&op);
        if (gates != WORK_NONE)
            b->outside[gates] = outside_sum(b, gates);
        bool summed = product && op.flags & KERNEL_WEIGHT_I && op.reads[4] != WORK_NONE;
        if (product && (summed || !(op.flags & KERNEL_WEIGHT_I))) {
            zeroed(l, backward_weight(b, op.reads[1]));
            if (op.reads[5] != WORK_NONE)
                zeroed(l, backward_weight(b, op.reads[5]));
        }
    }
}

/* ---- ops of the body that touch the outside ---- */

static void accumulate_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t y = op->reads[0], dy = backward_buffer(b, y, ""), gates = op->reads[1];
    bool gated = gates != WORK_NONE;
    uint16_t dgates = gated ? b->outside[gates] : WORK_NONE;
    layer_op(l,
             (struct op){.name = "accumulate_grad",
                         .kernel = KERNEL_ACCUMULATE_GRAD,
                         .flags = op->flags,
                         .m = op->m,
                         .bytes_read = op->bytes_read,
                         .bytes_written = op->bytes_read},
             LAYER_OPERANDS(gated ? backward_value(b, y) : WORK_NONE, gates, op->reads[2],
                            b->grad[op->reads[3]], op->reads[4], op->reads[5], dgates),
             LAYER_OPERANDS(dy, dgates));
    b->grad[y] = dy;
}

static void scatter_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t dsrc = backward_buffer(b, op->reads[0], "");
    layer_gather(l, "back_scatter",
                 (struct gather){.src = b->grad[op->reads[2]],
                                 .index = backward_value(b, op->reads[1]),
                                 .inverse = WORK_NONE,
                                 .keys = WORK_NONE,
                                 .dst = dsrc,
                                 .divide = l->one,
                                 .slots = l->one,
                                 .used = l->TK});
    b->grad[op->reads[0]] = dsrc;
}

static const char *named_gates(const struct backward *b, const struct op *op)
{
    return arena_printf(b->l->arena, "gates_%s", op->name);
}

/* Rows gathered from outside: added to their tokens, or put into their slots. */
static void gather_out_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = b->grad[op->writes[0]], sum = b->outside[op->reads[0]];
    uint16_t index = backward_value(b, op->reads[1]);
    if (op->reads[2] == WORK_NONE) {
        layer_op(l, (struct op){.name = "back_to_slots", .kernel = KERNEL_SCATTER},
                 LAYER_OPERANDS(d, index, sum), LAYER_OPERANDS(sum));
        return;
    }
    if (op->reads[5] != WORK_NONE)
        layer_op(l,
                 (struct op){.name = named_gates(b, op),
                             .kernel = KERNEL_ACCUMULATE_GRAD,
                             .flags = op->flags,
                             .m = op->m,
                             .bytes_read = size_times(l->z, op->bytes_written, 2)},
                 LAYER_OPERANDS(d, op->reads[5], op->reads[3], op->reads[0], index,
                                op->reads[4], b->outside[op->reads[5]]),
                 LAYER_OPERANDS(WORK_NONE, b->outside[op->reads[5]]));
    layer_op(l,
             (struct op){.name = "back_to_tokens",
                         .kernel = KERNEL_ACCUMULATE,
                         .flags = op->flags,
                         .m = op->m,
                         .bytes_read = op->bytes_written},
             LAYER_OPERANDS(d, op->reads[5], op->reads[3], sum, index, op->reads[4]),
             LAYER_OPERANDS(sum));
}

/* A product on outside rows leaves its gradient as a new buffer: added to the sum. */
static void product_out_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t x = op->reads[0], sum = b->outside[x], before = b->grad[x];
    b->grad[x] = WORK_NONE;
    backward_rule(b, op);
    layer_op(l, (struct op){.name = "add_to_sum", .kernel = KERNEL_ADD},
             LAYER_OPERANDS(sum, b->grad[x]), LAYER_OPERANDS(sum));
    b->grad[x] = before;
}

static void body_rule(struct backward *b, const struct op *op)
{
    bool outside = op->reads[0] != WORK_NONE && !made_inside(b, op->reads[0]);
    if (op->kernel == KERNEL_ACCUMULATE)
        accumulate_rule(b, op);
    else if (op->kernel == KERNEL_SCATTER)
        scatter_rule(b, op);
    else if (op->kernel == KERNEL_GATHER && outside)
        gather_out_rule(b, op);
    else if (op->kernel == KERNEL_GEMM && outside)
        product_out_rule(b, op);
    else
        backward_rule(b, op);
}

/* ---- after the loop ---- */

/* One row per token from one per slot. */
static uint16_t fold_slots(struct backward *b, const struct op *gather, uint16_t slots)
{
    struct layer *l = b->l;
    uint16_t dx = backward_buffer(b, gather->reads[0], "");
    layer_combine(l, "fold_slots",
                  (struct combine){.y = slots,
                                   .position = WORK_NONE,
                                   .gates = gather->reads[5],
                                   .keys = gather->reads[3],
                                   .inverse = WORK_NONE,
                                   .handle = WORK_NONE,
                                   .out = dx,
                                   .slots = l->K,
                                   .used = l->TK});
    l->work->ops[l->work->n_ops - 1].flags = KERNEL_SLOT_MAJOR;
    return dx;
}

/* The gates' gradients from one row per slot, when they scaled what the gather took. */
static void slots_gates(struct backward *b, const struct op *gather, uint16_t slots)
{
    struct layer *l = b->l;
    uint16_t gates = gather->reads[5];
    if (gates == WORK_NONE)
        return;
    uint16_t dgates = backward_buffer(b, gates, "");
    layer_op(l,
             (struct op){.name = named_gates(b, gather),
                         .kernel = KERNEL_GATE_GRAD,
                         .groups = l->K,
                         .bytes_read = l->work->buffers[slots].bytes},
             LAYER_OPERANDS(slots, WORK_NONE, gather->reads[0]), LAYER_OPERANDS(dgates));
    backward_arrive(b, gates, dgates);
}

static void settle(struct backward *b, uint16_t of, uint16_t sum)
{
    b->outside[of] = WORK_NONE;
    backward_arrive(b, of, sum);
}

/* The sums arrive at the buffers they are gradients of. */
static void settle_sums(struct backward *b)
{
    for (size_t i = 0; i < b->n_body; i++) {
        struct op op = b->body[i];
        uint16_t gates = gates_of(&op), x = op.reads[0];
        if (gates != WORK_NONE && b->outside[gates] != WORK_NONE)
            settle(b, gates, b->outside[gates]);
        if (op.kernel == KERNEL_ACCUMULATE || x == WORK_NONE || b->outside[x] == WORK_NONE)
            continue;
        uint16_t sum = b->outside[x];
        bool slots = op.kernel == KERNEL_GATHER && op.reads[2] == WORK_NONE;
        if (slots)
            slots_gates(b, &op, sum);
        settle(b, x, slots ? fold_slots(b, &op, sum) : sum);
    }
}

/* f32 sums of weights' gradients to the gradients' dtype. */
static void round_weights(struct backward *b)
{
    struct layer *l = b->l;
    for (size_t w = 0; l->gradient != DTYPE_F32 && w < b->n_buffers; w++) {
        struct buffer weight = l->work->buffers[w];
        if (!is_matrix(&weight) || weight.n_dims < 3 || b->grad[w] == WORK_NONE ||
            l->work->buffers[b->grad[w]].dtype != DTYPE_F32)
            continue;
        uint16_t sum = b->grad[w];
        b->grad[w] = WORK_NONE;
        uint16_t rounded = backward_weight(b, (uint16_t)w);
        layer_op(l,
                 (struct op){.name = "round_gradient",
                             .kernel = KERNEL_DEQUANTIZE,
                             .bytes_read = l->work->buffers[sum].bytes,
                             .bytes_written = l->work->buffers[rounded].bytes},
                 LAYER_OPERANDS(sum), LAYER_OPERANDS(rounded));
    }
}

void backward_loop(struct backward *b, const struct op *body, size_t n)
{
    struct layer *l = b->l;
    b->body = body;
    b->n_body = n;
    b->in_loop = true;
    prepare_sums(b);
    layer_loop_begin(l, body[0].trips, body[0].trips_from);
    recompute(b);
    for (size_t i = n; i-- > 0;)
        body_rule(b, &body[i]);
    layer_loop_end(l);
    b->in_loop = false;
    settle_sums(b);
    round_weights(b);
    memset(b->clone, 0xff, b->n_buffers * sizeof *b->clone);
}
