/* The gradient of each kernel; see backward.h. In and out operands are those of kernel.h. */
#include "work/pass/backward.h"

/* The gradient of an op's n-th result, or WORK_NONE when nothing flows back through it. */
static uint16_t arrived(const struct backward *b, const struct op *op, unsigned n)
{
    return op->writes[n] == WORK_NONE ? WORK_NONE : b->grad[op->writes[n]];
}

static const char *named(const struct backward *b, const char *prefix, const struct op *op)
{
    return arena_printf(b->l->arena, "%s_%s", prefix, op->name);
}

static uint16_t in(const struct backward *b, const struct op *op, unsigned n)
{
    return backward_value(b, op->reads[n]);
}

/* d gates of a slot: the product of its row of `rows`, found by position, and its token's row
 * of `tokens`. */
static void gate_gradient(struct backward *b, const struct op *op, uint16_t rows,
                          uint16_t position, uint16_t tokens, uint16_t gates)
{
    uint16_t dgates = backward_buffer(b, gates, "");
    layer_op(b->l,
             (struct op){.name = named(b, "gates", op),
                         .kernel = KERNEL_GATE_GRAD,
                         .flags = op->flags,
                         .groups = op->groups,
                         .bytes_read = op->bytes_read},
             LAYER_OPERANDS(rows, position, tokens), LAYER_OPERANDS(dgates));
    backward_arrive(b, gates == b->l->gates_returned ? b->l->gates : gates, dgates);
}

/* dst[i] = src[index[i]]: gathered back by the inverse map, or, when a source row went to
 * several places, the sum of its copies. Never a scatter. */
static void gather_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0), gates = op->reads[5], dsrc;
    if (d == WORK_NONE)
        return;
    if (gates != WORK_NONE)
        gate_gradient(b, op, d, op->reads[2], op->reads[0], gates);
    dsrc = backward_buffer(b, op->reads[0], "");
    if (op->groups.node == l->one.node)
        layer_reorder(l, named(b, "back", op),
                      (struct reorder){d, op->reads[2], op->reads[1], dsrc,
                                       l->work->buffers[dsrc].dims[0]});
    else
        layer_combine(l, named(b, "fold", op),
                      (struct combine){.y = d,
                                       .position = op->reads[2],
                                       .gates = gates,
                                       .keys = op->reads[3],
                                       .inverse = op->reads[1],
                                       .handle = WORK_NONE,
                                       .out = dsrc,
                                       .slots = op->groups,
                                       .used = l->work->buffers[d].dims[0]});
    backward_arrive(b, op->reads[0], dsrc);
}

static void combine_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0), y = op->reads[0], gates = op->reads[2];
    if (d == WORK_NONE)
        return;
    uint16_t dy = backward_buffer(b, y, "");
    layer_op(l,
             (struct op){.name = named(b, "spread", op),
                         .kernel = KERNEL_SPREAD,
                         .flags = op->flags,
                         .groups = op->groups,
                         .bytes_read = op->bytes_written,
                         .bytes_written = op->bytes_read},
             LAYER_OPERANDS(d, op->reads[4], gates, op->reads[5]), LAYER_OPERANDS(dy));
    if (gates != WORK_NONE)
        gate_gradient(b, op, y, op->reads[1], d, gates);
    backward_arrive(b, y, dy);
}

/* c = a w: da = dc w^T over the same groups; dw sums over the rows of a group. */
static void weight_rule(struct backward *b, const struct op *op, uint16_t d)
{
    struct layer *l = b->l;
    uint16_t dw = backward_weight(b, op->reads[1]);
    uint16_t dbias = op->reads[5] == WORK_NONE ? WORK_NONE : backward_weight(b, op->reads[5]);
    /* in a loop a weight is met again, unless every trip has its own */
    bool own = op->flags & KERNEL_WEIGHT_I && op->reads[4] == WORK_NONE;
    bool sum = b->in_loop && !own;
    layer_op(l,
             (struct op){.name = named(b, "wgrad", op),
                         .kernel = KERNEL_WGRAD,
                         .flags = (uint16_t)(op->flags | (sum ? KERNEL_SUM : 0)),
                         .flop = op->flop,
                         .bytes_read = size_add(l->z, op->bytes_read, op->bytes_written),
                         .bytes_written = l->work->buffers[dw].bytes,
                         .groups = op->groups,
                         .m = op->m,
                         .n = op->n,
                         .k = op->k},
             LAYER_OPERANDS(in(b, op, 0), d, in(b, op, 2), in(b, op, 3), in(b, op, 4)),
             LAYER_OPERANDS(dw, dbias));
}

/* Copies of the same rows in every group: their gradients are added up. */
static uint16_t sum_groups(struct backward *b, const struct op *op, uint16_t wide)
{
    struct layer *l = b->l;
    uint16_t da = backward_buffer(b, op->reads[0], "");
    layer_sum(l, named(b, "fold", op), wide, da, l->e);
    return da;
}

static void gemm_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0), a = op->reads[0];
    if (d == WORK_NONE)
        return;
    weight_rule(b, op, d);
    bool shared = op->flags & KERNEL_SHARED_A;
    uint16_t da = backward_buffer(b, a, shared ? "_wide" : "");
    if (shared) {
        struct buffer *buffer = &l->work->buffers[da];
        buffer->dims[0] = l->work->buffers[d].dims[0];
        buffer->bytes = layer_traffic(l, buffer->dims[0], da);
    }
    struct groups groups = {in(b, op, 2), in(b, op, 3), in(b, op, 4)};
    uint16_t flags = (uint16_t)((op->flags | KERNEL_TRANSPOSED) & (uint16_t)~KERNEL_SHARED_A);
    layer_gemm(l, named(b, "dgrad", op), d, op->reads[1], WORK_NONE, da, groups,
               (struct gemm_shape){op->m, op->n, op->k, op->groups}, flags);
    backward_arrive(b, a, shared ? sum_groups(b, op, da) : da);
}

static void activation_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    if (d == WORK_NONE)
        return;
    uint16_t dh = backward_buffer(b, op->reads[0], "");
    layer_op(b->l,
             (struct op){.name = named(b, "back", op),
                         .kernel = KERNEL_ACTIVATION_GRAD,
                         .flags = op->flags,
                         .bytes_read = size_add(b->l->z, op->bytes_read, op->bytes_written),
                         .bytes_written = op->bytes_read},
             LAYER_OPERANDS(in(b, op, 0), d, in(b, op, 1), in(b, op, 2)), LAYER_OPERANDS(dh));
    backward_arrive(b, op->reads[0], dh);
}

static void sigmoid_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    if (d == WORK_NONE)
        return;
    uint16_t dlogits = backward_buffer(b, op->reads[0], "");
    layer_op(b->l, (struct op){.name = named(b, "back", op), .kernel = KERNEL_SIGMOID_GRAD},
             LAYER_OPERANDS(op->writes[0], d), LAYER_OPERANDS(dlogits));
    backward_arrive(b, op->reads[0], dlogits);
}

/* Dispatch and combine are each other's backward, by the same counts and handle. */
static void exchange_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    if (d == WORK_NONE)
        return;
    uint16_t dsrc = backward_buffer(b, op->reads[0], "");
    bool came_home = op->flags & KERNEL_RETURN;
    (came_home ? layer_exchange : layer_return)(
        b->l, named(b, "back", op),
        (struct exchange){d, op->reads[2], op->reads[1], dsrc, op->reads[3], op->n, op->m});
    backward_arrive(b, op->reads[0], dsrc);
}

static void exchange_fixed_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    if (d == WORK_NONE)
        return;
    uint16_t dsrc = backward_buffer(b, op->reads[0], "");
    bool came_home = op->flags & KERNEL_RETURN;
    (came_home ? layer_exchange_fixed : layer_return_fixed)(b->l, named(b, "back", op), d,
                                                            dsrc);
    backward_arrive(b, op->reads[0], dsrc);
}

static void allgather_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0), x = op->reads[0];
    if (d == WORK_NONE)
        return;
    const struct buffer *source = &l->work->buffers[x];
    const char *name = arena_printf(l->arena, "d_%s", source->name);
    enum dtype wire = source->category == CATEGORY_ACTIVATION ? l->combined : source->dtype;
    backward_arrive(b, x, layer_reduce_everyone(l, name, d, wire, source->dtype));
}

static void swap_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    if (d == WORK_NONE)
        return;
    const char *name =
        arena_printf(b->l->arena, "d_%s", b->l->work->buffers[op->reads[0]].name);
    backward_arrive(b, op->reads[0], layer_swap(b->l, name, d, op->n, op->m, op->k));
}

static void mask_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    if (d != WORK_NONE)
        layer_mask(b->l, named(b, "back", op), d, op->reads[1]);
}

static void add_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    for (unsigned i = 0; d != WORK_NONE && i < 2; i++)
        backward_arrive(b, op->reads[i], d);
}

/* A trip through the wire's format is the identity for gradients. */
static void convert_rule(struct backward *b, const struct op *op)
{
    uint16_t d = arrived(b, op, 0);
    if (d != WORK_NONE)
        backward_arrive(b, op->reads[0], d);
}

static void topk_rule(struct backward *b, const struct op *op)
{
    uint16_t dgates = arrived(b, op, 1);
    if (dgates == WORK_NONE)
        return;
    uint16_t dlogits = backward_buffer(b, op->reads[0], "");
    layer_op(b->l, (struct op){.name = named(b, "back", op), .kernel = KERNEL_TOPK_GRAD},
             LAYER_OPERANDS(op->reads[0], op->writes[0], op->writes[1], dgates, op->reads[2]),
             LAYER_OPERANDS(dlogits));
    backward_arrive(b, op->reads[0], dlogits);
}

/* Matrices that were not picked have no gradient. */
static void pick_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0);
    if (d == WORK_NONE)
        return;
    uint16_t dw = backward_weight(b, op->reads[0]);
    layer_op(l, (struct op){.name = named(b, "zero", op), .kernel = KERNEL_ZERO},
             LAYER_OPERANDS(WORK_NONE), LAYER_OPERANDS(dw));
    layer_op(l,
             (struct op){.name = named(b, "back", op),
                         .kernel = KERNEL_SCATTER,
                         .bytes_read = op->bytes_written,
                         .bytes_written = op->bytes_read},
             LAYER_OPERANDS(d, op->reads[1], dw), LAYER_OPERANDS(dw));
}

/* ---- expanded and sparse products ---- */

static uint16_t expand(struct backward *b, const char *name, uint16_t rows, uint16_t offsets)
{
    struct layer *l = b->l;
    struct buffer source = l->work->buffers[rows];
    struct size dims[] = {l->e, source.dims[0], source.dims[1]};
    uint16_t wide = layer_buffer(l, arena_printf(l->arena, "%s_expanded", source.name),
                                 CATEGORY_EXPERT, source.dtype, source.rule, 3, dims);
    layer_op(l,
             (struct op){.name = name,
                         .kernel = KERNEL_EXPAND,
                         .bytes_read = source.bytes,
                         .bytes_written = l->work->buffers[wide].bytes},
             LAYER_OPERANDS(rows, offsets), LAYER_OPERANDS(wide));
    return wide;
}

/* The rows that the expand before a product copied. */
static uint16_t expanded_source(const struct backward *b, uint16_t wide)
{
    const struct work *work = b->l->work;
    for (size_t i = 0; i < b->n_ops; i++)
        if (work->ops[i].kernel == KERNEL_EXPAND && work->ops[i].writes[0] == wide)
            return work->ops[i].reads[0];
    return WORK_NONE;
}

static void expanded_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0), offsets = op->reads[2];
    if (d == WORK_NONE)
        return;
    uint16_t rows = expanded_source(b, op->reads[0]), dw = backward_weight(b, op->reads[1]);
    struct op product = {.flop = op->flop,
                         .bytes_read = op->bytes_read,
                         .bytes_written = op->bytes_written,
                         .groups = op->groups,
                         .m = op->m,
                         .n = op->n,
                         .k = op->k};
    product.name = named(b, "wgrad", op);
    product.kernel = KERNEL_EXPANDED_WGRAD;
    layer_op(l, product,
             LAYER_OPERANDS(expand(b, named(b, "expand_again", op), rows, offsets), d, offsets),
             LAYER_OPERANDS(dw));
    uint16_t da = backward_buffer(b, rows, "");
    product.name = named(b, "dgrad", op);
    product.kernel = KERNEL_EXPANDED_GEMM;
    product.flags = KERNEL_TRANSPOSED;
    layer_op(l, product,
             LAYER_OPERANDS(expand(b, named(b, "expand_gradient", op), d, offsets),
                            op->reads[1], offsets),
             LAYER_OPERANDS(da));
    backward_arrive(b, rows, da);
}

static void sparse_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0), a = op->reads[0], offsets = op->reads[4];
    if (d == WORK_NONE)
        return;
    bool sdd = op->kernel == KERNEL_SDD;
    uint16_t dw = backward_weight(b, op->reads[1]), da = backward_buffer(b, a, "");
    struct op product = {.name = named(b, "wgrad", op),
                         .kernel = KERNEL_SPARSE_WGRAD,
                         .flags = sdd ? KERNEL_TRANSPOSED : 0,
                         .flop = op->flop,
                         .bytes_read = op->bytes_read,
                         .bytes_written = op->bytes_written,
                         .groups = op->groups,
                         .m = op->m,
                         .n = op->n};
    uint16_t dbias = op->reads[5] == WORK_NONE ? WORK_NONE : backward_weight(b, op->reads[5]);
    layer_op(l, product, LAYER_OPERANDS(sdd ? d : a, sdd ? a : d, offsets),
             LAYER_OPERANDS(dw, dbias));
    product.name = named(b, "dgrad", op);
    product.kernel = sdd ? KERNEL_DSD : KERNEL_SDD;
    product.flags = KERNEL_TRANSPOSED;
    layer_op(l, product, LAYER_OPERANDS(d, op->reads[1], op->reads[2], op->reads[3], offsets),
             LAYER_OPERANDS(da));
    backward_arrive(b, a, da);
}

/* ---- ops of a step's list that no host performs ---- */

/* Gradients of all that an op read, from those of what it wrote; `inputs`: read again. */
static void plain_rule(struct backward *b, const struct op *op, enum kernel kernel, bool inputs,
                       uint64_t flop_times)
{
    struct layer *l = b->l;
    uint16_t reads[2 * OP_BUFFERS + 1], writes[OP_BUFFERS + 1];
    unsigned n_reads = 0, n_writes = 0;
    struct size read = size_const(l->z, 0), written = read;
    for (unsigned i = 0; i < OP_BUFFERS; i++)
        if (arrived(b, op, i) != WORK_NONE)
            reads[n_reads++] = arrived(b, op, i);
    if (!n_reads)
        return;
    for (unsigned i = 0; inputs && i < OP_BUFFERS; i++)
        if (op->reads[i] != WORK_NONE)
            reads[n_reads++] = op->reads[i];
    for (unsigned i = 0; i < n_reads; i++)
        read = size_add(l->z, read, l->work->buffers[reads[i]].bytes);
    reads[n_reads] = LAYER_END;
    for (unsigned i = 0; i < OP_BUFFERS; i++) {
        if (op->reads[i] == WORK_NONE)
            continue;
        uint16_t d = backward_buffer(b, op->reads[i], "");
        written = size_add(l->z, written, l->work->buffers[d].bytes);
        writes[n_writes++] = d;
    }
    writes[n_writes] = LAYER_END;
    layer_op(l,
             (struct op){.name = named(b, "back", op),
                         .kernel = (uint16_t)kernel,
                         .flop = size_times(l->z, op->flop, flop_times),
                         .bytes_read = read,
                         .bytes_written = written},
             reads, writes);
    for (unsigned i = 0, n = 0; i < OP_BUFFERS; i++)
        if (op->reads[i] != WORK_NONE)
            backward_arrive(b, op->reads[i], writes[n++]);
}

static void norm_rule(struct backward *b, const struct op *op)
{
    plain_rule(b, op, KERNEL_NORM_GRAD, true, 0);
}

static void rope_rule(struct backward *b, const struct op *op)
{
    plain_rule(b, op, KERNEL_ROPE_GRAD, false, 0);
}

/* Two products forward, four backward. */
static void attention_rule(struct backward *b, const struct op *op)
{
    plain_rule(b, op, KERNEL_ATTENTION_GRAD, true, 2);
}

/* The table's gradient: a row added per token. */
static void embed_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = arrived(b, op, 0);
    if (d == WORK_NONE)
        return;
    uint16_t dtable = backward_weight(b, op->reads[0]);
    layer_op(l,
             (struct op){.name = named(b, "back", op),
                         .kernel = KERNEL_EMBED_GRAD,
                         .bytes_read = op->bytes_read,
                         .bytes_written = l->work->buffers[dtable].bytes},
             LAYER_OPERANDS(d, op->reads[1]), LAYER_OPERANDS(dtable));
}

/* A sum's gradient is gathered, a gathered array's is summed and scattered. An all-reduce hands
 * its gradient on; where its sum began, at the network's input, gradients are all-reduced: the
 * same bytes, counted here. A ring carries the gradients of what it carried beside that. */
static void collective_rule(struct backward *b, const struct op *op)
{
    static const unsigned dual[] = {[ALL_REDUCE] = ALL_REDUCE,
                                    [ALL_GATHER] = REDUCE_SCATTER,
                                    [REDUCE_SCATTER] = ALL_GATHER,
                                    [RING] = RING};
    struct layer *l = b->l;
    unsigned how = op->flags & (unsigned)~REGATHER;
    uint16_t d = arrived(b, op, 0), src = op->reads[0];
    struct op again = *op;
    again.name = named(b, "regather", op);
    again.flags = ALL_GATHER;
    if (op->flags & REGATHER)
        layer_op(l, again, LAYER_OPERANDS(src), LAYER_OPERANDS(op->writes[0]));
    if (d == WORK_NONE)
        return;
    uint16_t dsrc = backward_buffer(b, src, "");
    struct size sent = how == RING ? size_times(l->z, op->bytes_sent, 2) : op->bytes_sent;
    layer_op(l,
             (struct op){.name = named(b, "back", op),
                         .kernel = KERNEL_COLLECTIVE,
                         .flags = (uint16_t)dual[how],
                         .group = op->group,
                         .bytes_read = op->bytes_written,
                         .bytes_written = op->bytes_read,
                         .bytes_sent = sent,
                         .bytes_received = sent},
             LAYER_OPERANDS(d), LAYER_OPERANDS(dsrc));
    backward_arrive(b, src, dsrc);
}

static void (*const rules[KERNEL_COUNT])(struct backward *b, const struct op *op) = {
    [KERNEL_GATHER] = gather_rule,
    [KERNEL_COMBINE] = combine_rule,
    [KERNEL_GEMM] = gemm_rule,
    [KERNEL_ACTIVATION] = activation_rule,
    [KERNEL_SIGMOID] = sigmoid_rule,
    [KERNEL_EXCHANGE] = exchange_rule,
    [KERNEL_EXCHANGE_FIXED] = exchange_fixed_rule,
    [KERNEL_ALLGATHER] = allgather_rule,
    [KERNEL_SWAP] = swap_rule,
    [KERNEL_MASK] = mask_rule,
    [KERNEL_ADD] = add_rule,
    [KERNEL_QUANTIZE] = convert_rule,
    [KERNEL_DEQUANTIZE] = convert_rule,
    [KERNEL_TOPK] = topk_rule,
    [KERNEL_PICK] = pick_rule,
    [KERNEL_EXPANDED_GEMM] = expanded_rule,
    [KERNEL_SDD] = sparse_rule,
    [KERNEL_DSD] = sparse_rule,
    [KERNEL_NORM] = norm_rule,
    [KERNEL_ROPE] = rope_rule,
    [KERNEL_ATTENTION] = attention_rule,
    [KERNEL_EMBED] = embed_rule,
    [KERNEL_COLLECTIVE] = collective_rule,
};

void backward_rule(struct backward *b, const struct op *op)
{
    if (rules[op->kernel])
        rules[op->kernel](b, op);
}
