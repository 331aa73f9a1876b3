/* The backward of a loop: its body recomputed, then walked backwards, inside one loop of as
 * many trips. Gradients of buffers from outside the loop are sums over its trips, zeroed before
 * it.
 *
 * Three kernels pass values out of a body: accumulate and scatter into a buffer of the outside,
 * and products into weights. Four take values in: gather, products on outside rows, and the two
 * that hand a row its gate (accumulate, or gather where gates scale the input). */
#include <string.h>

#include "plan/derive.h"
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
        if (!writes_outside(op) && op_writes(b->l->work, op, buffer))
            return true;
    }
    return false;
}

static uint16_t cloned(struct backward *b, uint16_t buffer)
{
    if (buffer == WORK_NONE || b->clone[buffer] != WORK_NONE)
        return backward_value(b, buffer);
    struct buffer copy = b->l->work->buffers[buffer];
    copy.name = arena_join(b->l->arena, copy.name, "_again");
    copy.first = WORK_NONE;
    copy.last = 0;
    copy.count = b->l->one;
    b->clone[buffer] = work_buffer(b->l->work, copy);
    return b->clone[buffer];
}

static bool has(const struct backward *b, const struct op *op, enum role role)
{
    return backward_of(b, op, role) != WORK_NONE;
}

/* Whether the gradient of a forward op reads its operand in a role. */
static bool is_read_again(const struct backward *b, const struct op *op, enum role role)
{
    bool grouped = role == ROLE_OFFSETS || role == ROLE_SIZES;
    switch (op->kernel) {
    case KERNEL_GEMM:
        return role == ROLE_SRC || role == ROLE_MAP || grouped;
    case KERNEL_ACTIVATION:
        return role == ROLE_SRC || grouped;
    case KERNEL_ACCUMULATE: /* without gates no gradient needs the rows themselves */
        return role == ROLE_INDEX || (role == ROLE_SRC && has(b, op, ROLE_GATES));
    default:
        return role == ROLE_INDEX &&
               (op->kernel == KERNEL_SCATTER || op->kernel == KERNEL_GATHER);
    }
}

/* Marks the ops of the body whose results the gradients read, directly or not. */
static void mark_needed(const struct backward *b, bool *needed_buffer, bool *needed_op)
{
    for (size_t i = b->n_body; i-- > 0;) {
        const struct op *op = &b->body[i];
        const struct operand *operands = op_operands(b->l->work, op);
        for (unsigned j = 0; j < op->n_operands && !writes_outside(op); j++)
            needed_op[i] |= operands[j].written && needed_buffer[operands[j].buffer];
        for (unsigned j = 0; j < op->n_operands; j++)
            if (operands[j].read &&
                (needed_op[i] || is_read_again(b, op, (enum role)operands[j].role)))
                needed_buffer[operands[j].buffer] = true;
    }
}

static void repeat_op(struct backward *b, struct op op)
{
    struct layer *l = b->l;
    struct operand again[ROLE_COUNT + 1];
    for (unsigned j = 0; j < op.n_operands; j++) {
        again[j] = op_operands(l->work, &op)[j];
        again[j].buffer =
            again[j].written ? cloned(b, again[j].buffer) : backward_value(b, again[j].buffer);
    }
    again[op.n_operands].role = ROLE_COUNT;
    op.name = arena_join(l->arena, op.name, "_again");
    op.ahead = false;
    uint16_t number = layer_op(l, op, again);
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
    layer_op(l,
             (struct op){.name = arena_join(l->arena, "zero_", l->work->buffers[buffer].name),
                         .kernel = KERNEL_ZERO},
             OPERANDS(OUT(DST, buffer)));
    return buffer;
}

/* torch's autograd makes of every index a gradient of all that it indexed, zeros but for its
 * rows, and adds these up (derivatives.yaml, index; autograd/input_buffer.cpp): of a trip as
 * much as of all of them. */
static bool sums_whole(const struct backward *b)
{
    return b->l->listed && plan_is_huggingface(b->l->plan);
}

/* A sum over trips of rows like those of an outside buffer, in f32. */
static uint16_t outside_sum(struct backward *b, uint16_t of)
{
    struct layer *l = b->l;
    uint16_t sum = backward_buffer(b, of, "");
    if (!sums_whole(b))
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
static uint16_t gates_of(const struct backward *b, const struct op *op)
{
    bool summed = op->kernel == KERNEL_ACCUMULATE ||
                  (op->kernel == KERNEL_GATHER && has(b, op, ROLE_INVERSE));
    return summed ? backward_of(b, op, ROLE_GATES) : WORK_NONE;
}

/* Sums for everything that the body takes from outside, before the loop begins. */
static void prepare_sums(struct backward *b)
{
    struct layer *l = b->l;
    for (size_t i = 0; i < b->n_body; i++) {
        struct op op = b->body[i];
        bool product = op.kernel == KERNEL_GEMM, gather = op.kernel == KERNEL_GATHER;
        uint16_t x = backward_of(b, &op, ROLE_SRC);
        if ((product || gather) && !made_inside(b, x) && b->outside[x] == WORK_NONE)
            b->outside[x] =
                gather && !has(b, &op, ROLE_INVERSE) ? outside_slots(b, x) : outside_sum(b, x);
        uint16_t gates = gates_of(b, &op);
        if (gates != WORK_NONE)
            b->outside[gates] = outside_sum(b, gates);
        bool summed = product && op.args.gemm.rows.turn && has(b, &op, ROLE_MAP);
        if (product && backward_trains(b, &op) && (summed || !op.args.gemm.rows.turn)) {
            zeroed(l, backward_weight(b, backward_of(b, &op, ROLE_WEIGHT)));
            if (has(b, &op, ROLE_BIAS))
                zeroed(l, backward_weight(b, backward_of(b, &op, ROLE_BIAS)));
        }
    }
}

/* ---- ops of the body that touch the outside ---- */

static void accumulate_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t y = backward_of(b, op, ROLE_SRC), dy = backward_buffer(b, y, ""),
             gates = backward_of(b, op, ROLE_GATES);
    bool gated = gates != WORK_NONE;
    uint16_t dgates = gated ? b->outside[gates] : WORK_NONE;
    layer_op(l,
             (struct op){.name = "accumulate_grad",
                         .kernel = KERNEL_ACCUMULATE_GRAD,
                         .args = op->args,
                         .rows = op->rows},
             OPERANDS(IN(SRC, gated ? backward_value(b, y) : WORK_NONE), IN(GATES, gates),
                      IN(PHYS, backward_of(b, op, ROLE_PHYS)),
                      IN(D_DST, b->grad[backward_of(b, op, ROLE_DST)]),
                      IN(INDEX, backward_of(b, op, ROLE_INDEX)),
                      IN(OFFSETS, backward_of(b, op, ROLE_OFFSETS)), OUT(DST, dy),
                      INOUT(D_GATES, dgates)));
    b->grad[y] = dy;
}

static void scatter_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t dsrc = backward_buffer(b, backward_of(b, op, ROLE_SRC), "");
    layer_gather(l, "back_scatter",
                 (struct gather){.src = b->grad[backward_of(b, op, ROLE_DST)],
                                 .index = backward_value(b, backward_of(b, op, ROLE_INDEX)),
                                 .inverse = WORK_NONE,
                                 .keys = WORK_NONE,
                                 .dst = dsrc,
                                 .divide = l->one,
                                 .slots = l->one,
                                 .used = l->TK});
    b->grad[backward_of(b, op, ROLE_SRC)] = dsrc;
}

static const char *named_gates(const struct backward *b, const struct op *op)
{
    return arena_join(b->l->arena, "gates_", op->name);
}

static uint16_t whole_of(struct backward *b, uint16_t of)
{
    uint16_t whole = backward_buffer(b, of, "_whole");
    layer_op(b->l, (struct op){.name = "zero_whole", .kernel = KERNEL_ZERO},
             OPERANDS(OUT(DST, whole)));
    return whole;
}

/* Rows gathered from outside: added to their tokens, or put into their slots. */
static void gather_out_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = b->grad[backward_of(b, op, ROLE_DST)],
             sum = b->outside[backward_of(b, op, ROLE_SRC)];
    uint16_t index = backward_value(b, backward_of(b, op, ROLE_INDEX));
    if (backward_of(b, op, ROLE_INVERSE) == WORK_NONE) {
        layer_op(l,
                 (struct op){.name = "back_to_slots", .kernel = KERNEL_SCATTER, .rows = l->TK},
                 OPERANDS(IN(SRC, d), IN(INDEX, index), INOUT(DST, sum)));
        return;
    }
    if (backward_of(b, op, ROLE_GATES) != WORK_NONE)
        layer_op(l,
                 (struct op){.name = named_gates(b, op),
                             .kernel = KERNEL_ACCUMULATE_GRAD,
                             .args.part = op->args.gather.part,
                             .rows = op->rows},
                 OPERANDS(IN(SRC, d), IN(GATES, backward_of(b, op, ROLE_GATES)),
                          IN(PHYS, backward_of(b, op, ROLE_KEYS)),
                          IN(D_DST, backward_of(b, op, ROLE_SRC)), IN(INDEX, index),
                          IN(OFFSETS, backward_of(b, op, ROLE_OFFSETS)),
                          INOUT(D_GATES, b->outside[backward_of(b, op, ROLE_GATES)])));
    uint16_t into = sums_whole(b) ? whole_of(b, backward_of(b, op, ROLE_SRC)) : sum;
    layer_op(l,
             (struct op){.name = "back_to_tokens",
                         .kernel = KERNEL_ACCUMULATE,
                         .args.part = op->args.gather.part,
                         .rows = op->rows},
             OPERANDS(IN(SRC, d), IN(GATES, backward_of(b, op, ROLE_GATES)),
                      IN(PHYS, backward_of(b, op, ROLE_KEYS)), IN(INDEX, index),
                      IN(OFFSETS, backward_of(b, op, ROLE_OFFSETS)), INOUT(DST, into)));
    if (into != sum)
        layer_op(l, (struct op){.name = "add_whole", .kernel = KERNEL_ADD},
                 OPERANDS(IN(SRC, sum), IN(OTHER, into), OUT(DST, sum)));
}

/* A product on outside rows leaves its gradient as a new buffer: added to the sum. */
static void product_out_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t x = backward_of(b, op, ROLE_SRC), sum = b->outside[x], before = b->grad[x];
    b->grad[x] = WORK_NONE;
    backward_rule(b, op);
    layer_op(l, (struct op){.name = "add_to_sum", .kernel = KERNEL_ADD},
             OPERANDS(IN(SRC, sum), IN(OTHER, b->grad[x]), OUT(DST, sum)));
    b->grad[x] = before;
}

static void body_rule(struct backward *b, const struct op *op)
{
    bool outside = backward_of(b, op, ROLE_SRC) != WORK_NONE &&
                   !made_inside(b, backward_of(b, op, ROLE_SRC));
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
    uint16_t dx = backward_buffer(b, backward_of(b, gather, ROLE_SRC), "");
    layer_combine(l, "fold_slots",
                  (struct combine){.y = slots,
                                   .position = WORK_NONE,
                                   .gates = backward_of(b, gather, ROLE_GATES),
                                   .keys = backward_of(b, gather, ROLE_KEYS),
                                   .inverse = WORK_NONE,
                                   .handle = WORK_NONE,
                                   .out = dx,
                                   .slots = l->K,
                                   .used = l->TK});
    layer_last(l)->args.combine.slot_major = true;
    return dx;
}

/* The gates' gradients from one row per slot, when they scaled what the gather took. */
static void slots_gates(struct backward *b, const struct op *gather, uint16_t slots)
{
    struct layer *l = b->l;
    uint16_t gates = backward_of(b, gather, ROLE_GATES);
    if (gates == WORK_NONE)
        return;
    uint16_t dgates = backward_buffer(b, gates, "");
    layer_op(l,
             (struct op){.name = named_gates(b, gather),
                         .kernel = KERNEL_GATE_GRAD,
                         .args.combine = {.slots = {l->K}}},
             OPERANDS(IN(SRC, slots), IN(D_DST, backward_of(b, gather, ROLE_SRC)),
                      OUT(D_GATES, dgates)));
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
        uint16_t gates = gates_of(b, &op), x = backward_of(b, &op, ROLE_SRC);
        if (gates != WORK_NONE && b->outside[gates] != WORK_NONE)
            settle(b, gates, b->outside[gates]);
        if (op.kernel == KERNEL_ACCUMULATE || x == WORK_NONE || b->outside[x] == WORK_NONE)
            continue;
        uint16_t sum = b->outside[x];
        bool slots = op.kernel == KERNEL_GATHER && !has(b, &op, ROLE_INVERSE);
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
        layer_op(l, (struct op){.name = "round_gradient", .kernel = KERNEL_DEQUANTIZE},
                 OPERANDS(IN(SRC, sum), OUT(DST, rounded)));
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
