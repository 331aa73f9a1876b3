/* The gradient of each kernel; see backward.h. Operands are those of kernel.h. */
#include "work/pass/backward.h"

#include "plan/derive.h"

uint16_t backward_arrived(const struct backward *b, const struct op *op, enum role result)
{
    return b->grad[backward_of(b, op, result)];
}

const char *backward_named(const struct backward *b, const char *prefix, const struct op *op)
{
    return arena_join(b->l->arena, prefix, op->name);
}

static uint16_t in(const struct backward *b, const struct op *op, enum role role)
{
    return backward_value(b, backward_of(b, op, role));
}

/* d gates of a slot: the product of its row of `rows`, found by position, and its token's row
 * of `tokens`; of as many rows as the forward works on. */
static void gate_gradient(struct backward *b, const struct op *op, uint16_t rows,
                          uint16_t position, uint16_t tokens, uint16_t gates, struct size slots)
{
    uint16_t dgates = backward_buffer(b, gates, "");
    layer_op(b->l,
             (struct op){.name = backward_named(b, "gates_", op),
                         .kernel = KERNEL_GATE_GRAD,
                         .args.combine = {.slots = {slots}},
                         .rows = op->rows},
             OPERANDS(IN(SRC, rows), IN(POSITION, position), IN(D_DST, tokens),
                      OUT(D_GATES, dgates)));
    backward_arrive(b, gates == b->l->gates_returned ? b->l->gates : gates, dgates);
}

/* dst[i] = src[index[i]]: gathered back by the inverse map, or, when a source row went to
 * several places, the sum of its copies. Never a scatter. Where more rows are reserved than
 * came it counts all of them, as the shipped profiles were fitted (maxtext-mi355x: `move`); the
 * forward, which fills them with zeros, those that came. */
static void gather_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), gates = backward_of(b, op, ROLE_GATES),
             dsrc;
    struct size slots = op->args.gather.slots.size;
    if (d == WORK_NONE)
        return;
    if (gates != WORK_NONE)
        gate_gradient(b, op, d, backward_of(b, op, ROLE_INVERSE), backward_of(b, op, ROLE_SRC),
                      gates, slots);
    dsrc = backward_buffer(b, backward_of(b, op, ROLE_SRC), "");
    if (slots.node == l->one.node)
        layer_reorder(l, backward_named(b, "back_", op),
                      (struct reorder){d, backward_of(b, op, ROLE_INVERSE),
                                       backward_of(b, op, ROLE_INDEX), dsrc,
                                       l->work->buffers[dsrc].dims[0]});
    else
        layer_combine(l, backward_named(b, "fold_", op),
                      (struct combine){.y = d,
                                       .position = backward_of(b, op, ROLE_INVERSE),
                                       .gates = gates,
                                       .keys = backward_of(b, op, ROLE_KEYS),
                                       .inverse = backward_of(b, op, ROLE_INDEX),
                                       .handle = WORK_NONE,
                                       .out = dsrc,
                                       .slots = slots,
                                       .used = l->work->buffers[d].dims[0]});
    backward_arrive(b, backward_of(b, op, ROLE_SRC), dsrc);
}

static void combine_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), y = backward_of(b, op, ROLE_SRC),
             gates = backward_of(b, op, ROLE_GATES);
    if (d == WORK_NONE)
        return;
    uint16_t dy = backward_buffer(b, y, "");
    layer_op(l,
             (struct op){.name = backward_named(b, "spread_", op),
                         .kernel = KERNEL_SPREAD,
                         .args = op->args,
                         .rows = op->rows},
             OPERANDS(IN(SRC, d), IN(INVERSE, backward_of(b, op, ROLE_INVERSE)),
                      IN(GATES, gates), IN(HANDLE, backward_of(b, op, ROLE_HANDLE)),
                      OUT(DST, dy)));
    if (gates != WORK_NONE)
        gate_gradient(b, op, y, backward_of(b, op, ROLE_POSITION), d, gates,
                      op->args.combine.slots.size);
    backward_arrive(b, y, dy);
}

static uint16_t bias_gradient(struct backward *b, const struct op *op)
{
    uint16_t bias = backward_of(b, op, ROLE_BIAS);
    return bias == WORK_NONE ? WORK_NONE : backward_weight(b, bias);
}

static struct groups groups_of(const struct backward *b, const struct op *op)
{
    return (struct groups){.offsets = in(b, op, ROLE_OFFSETS),
                           .rows = in(b, op, ROLE_SIZES),
                           .map = in(b, op, ROLE_MAP),
                           .turn = op->args.gemm.rows.turn,
                           .parts = op->args.gemm.rows.parts};
}

/* Whether the product adds to the sum of all micro-batches, as TransformerEngine's and
 * Megatron-LM's do unless --no-gradient-accumulation-fusion (tensor_parallel/layers.py,
 * wgrad_gemm_accum_fp32 and _fp16; module/grouped_linear.py,
 * accumulate_wgrad_into_param_main_grad); the router's is a plain one. Autograd's gradients
 * have the weight's format: wider ones that are not shared out are such sums too. The host
 * writes them as they are. */
static bool adds_to_main(const struct layer *l, uint16_t weight)
{
    const struct plan *plan = l->plan;
    bool fused = plan_is_megatron(plan) && plan->stack.wgrad_placeholders;
    bool wider = l->gradient == DTYPE_F32 && l->weight != DTYPE_F32 && plan->parallel.zero < 2;
    return l->listed && !l->frozen && plan->stack.kind != STACK_HOST &&
           l->work->buffers[weight].n_dims == 3 && (fused || wider);
}

/* c = a w: da = dc w^T over the same groups; dw sums over the rows of a group. */
static void weight_rule(struct backward *b, const struct op *op, uint16_t d)
{
    struct layer *l = b->l;
    if (!backward_trains(b, op))
        return;
    uint16_t dw = backward_weight(b, backward_of(b, op, ROLE_WEIGHT));
    uint16_t dbias = bias_gradient(b, op);
    /* in a loop a weight is met again, unless every trip has its own */
    bool own = op->args.gemm.rows.turn && backward_of(b, op, ROLE_MAP) == WORK_NONE;
    union args args = op->args;
    args.gemm.sum = (b->in_loop && !own) || adds_to_main(l, dw);
    layer_op(l,
             (struct op){.name = backward_named(b, "wgrad_", op),
                         .kernel = KERNEL_WGRAD,
                         .args = args,
                         .flop = op->flop,
                         .groups = op->groups,
                         .m = op->m,
                         .n = op->n,
                         .k = op->k},
             OPERANDS(IN(SRC, in(b, op, ROLE_SRC)), IN(D_DST, d),
                      IN(OFFSETS, in(b, op, ROLE_OFFSETS)), IN(SIZES, in(b, op, ROLE_SIZES)),
                      IN(MAP, in(b, op, ROLE_MAP)), OUT(D_WEIGHT, dw), OUT(D_BIAS, dbias)));
}

/* Copies of the same rows in every group: their gradients are added up. */
static uint16_t sum_groups(struct backward *b, const struct op *op, uint16_t wide)
{
    struct layer *l = b->l;
    uint16_t da = backward_buffer(b, backward_of(b, op, ROLE_SRC), "");
    layer_sum(l, backward_named(b, "fold_", op), wide, da, l->e);
    return da;
}

/* The matrix, of which the forward's copy is gone. */
static uint16_t weight_as_kept(const struct backward *b, const struct op *op)
{
    uint16_t w = backward_of(b, op, ROLE_WEIGHT), of = b->l->work->buffers[w].of;
    return of ? (uint16_t)(of - 1) : w;
}

static void gemm_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), a = backward_of(b, op, ROLE_SRC);
    if (d == WORK_NONE)
        return;
    weight_rule(b, op, d);
    bool shared = op->args.gemm.rows.shared;
    uint16_t da = backward_buffer(b, a, shared ? "_wide" : "");
    if (shared) {
        struct buffer *buffer = &l->work->buffers[da];
        buffer->dims[0] = l->work->buffers[d].dims[0];
        buffer->bytes = layer_traffic(l, buffer->dims[0], da);
    }
    layer_gemm(
        l, backward_named(b, "dgrad_", op), d, weight_as_kept(b, op), WORK_NONE, da,
        groups_of(b, op),
        (struct gemm_shape){
            .rows = op->m, .k = op->n, .n = op->k, .groups = op->groups, .transposed = true});
    backward_arrive(b, a, shared ? sum_groups(b, op, da) : da);
}

static void activation_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE)
        return;
    uint16_t dh = backward_buffer(b, backward_of(b, op, ROLE_SRC), "");
    layer_op(b->l,
             (struct op){.name = backward_named(b, "back_", op),
                         .kernel = KERNEL_ACTIVATION_GRAD,
                         .args = op->args,
                         .rows = op->rows},
             OPERANDS(IN(SRC, in(b, op, ROLE_SRC)), IN(D_DST, d),
                      IN(OFFSETS, in(b, op, ROLE_OFFSETS)), IN(SIZES, in(b, op, ROLE_SIZES)),
                      OUT(DST, dh)));
    backward_arrive(b, backward_of(b, op, ROLE_SRC), dh);
}

static void sigmoid_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE)
        return;
    uint16_t dlogits = backward_buffer(b, backward_of(b, op, ROLE_SRC), "");
    layer_op(
        b->l,
        (struct op){.name = backward_named(b, "back_", op), .kernel = KERNEL_SIGMOID_GRAD},
        OPERANDS(IN(GATES, backward_of(b, op, ROLE_DST)), IN(D_GATES, d), OUT(DST, dlogits)));
    backward_arrive(b, backward_of(b, op, ROLE_SRC), dlogits);
}

/* Dispatch and combine are each other's backward, by the same counts and handle. */
static void exchange_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE)
        return;
    uint16_t dsrc = backward_buffer(b, backward_of(b, op, ROLE_SRC), "");
    bool came_home = op->args.exchange.home;
    (came_home ? layer_exchange : layer_return)(
        b->l, backward_named(b, "back_", op),
        (struct exchange){d, backward_of(b, op, ROLE_RECEIVES), backward_of(b, op, ROLE_SENDS),
                          dsrc, backward_of(b, op, ROLE_HANDLE), op->args.exchange.from.size,
                          op->args.exchange.sent.size});
    backward_arrive(b, backward_of(b, op, ROLE_SRC), dsrc);
}

static void exchange_fixed_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE)
        return;
    uint16_t dsrc = backward_buffer(b, backward_of(b, op, ROLE_SRC), "");
    bool came_home = op->args.exchange.home;
    (came_home ? layer_exchange_fixed
               : layer_return_fixed)(b->l, backward_named(b, "back_", op), d, dsrc);
    backward_arrive(b, backward_of(b, op, ROLE_SRC), dsrc);
}

static void allgather_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), x = backward_of(b, op, ROLE_SRC);
    if (d == WORK_NONE)
        return;
    const struct buffer *source = &l->work->buffers[x];
    const char *name = arena_join(l->arena, "d_", source->name);
    enum dtype wire = source->category == CATEGORY_ACTIVATION ? l->combined : source->dtype;
    backward_arrive(b, x, layer_reduce_everyone(l, name, d, wire, source->dtype));
}

static void swap_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE)
        return;
    const char *name =
        arena_join(b->l->arena, "d_", b->l->work->buffers[backward_of(b, op, ROLE_SRC)].name);
    backward_arrive(b, backward_of(b, op, ROLE_SRC),
                    layer_swap(b->l, name, d, op->args.swap.n.size, op->args.swap.m.size,
                               op->args.swap.k.size));
}

static void mask_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d != WORK_NONE)
        layer_mask(b->l, backward_named(b, "back_", op), d, backward_of(b, op, ROLE_OFFSETS));
}

static void add_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE)
        return;
    backward_arrive(b, backward_of(b, op, ROLE_SRC), d);
    backward_arrive(b, backward_of(b, op, ROLE_OTHER), d);
}

/* A trip through the wire's format is the identity for gradients. */
static void convert_rule(struct backward *b, const struct op *op)
{
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d != WORK_NONE)
        backward_arrive(b, backward_of(b, op, ROLE_SRC), d);
}

/* A norm that is performed: of what it multiplied, and of its weights. */
static void norm_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), x = backward_of(b, op, ROLE_SRC),
             weight = backward_of(b, op, ROLE_WEIGHT), factor = backward_of(b, op, ROLE_FACTOR);
    if (d == WORK_NONE)
        return;
    if (weight != WORK_NONE && backward_trains(b, op))
        layer_op(l,
                 (struct op){.name = backward_named(b, "wgrad_", op),
                             .kernel = KERNEL_NORM_WGRAD,
                             .args = op->args},
                 OPERANDS(IN(SRC, x), IN(FACTOR, factor), IN(D_DST, d),
                          OUT(D_WEIGHT, backward_weight(b, weight))));
    uint16_t dx = backward_buffer(b, x, "");
    layer_op(l,
             (struct op){.name = backward_named(b, "back_", op),
                         .kernel = KERNEL_NORM_GRAD,
                         .args = op->args},
             OPERANDS(IN(SRC, x), IN(WEIGHT, weight), IN(FACTOR, factor), IN(D_DST, d),
                      OUT(DST, dx)));
    backward_arrive(b, x, dx);
}

/* Each is multiplied by its expert's factor again. */
static void scale_gates_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), gates = backward_of(b, op, ROLE_GATES),
             ids = backward_of(b, op, ROLE_IDS), weight = backward_of(b, op, ROLE_WEIGHT);
    if (d == WORK_NONE)
        return;
    if (weight != WORK_NONE && backward_trains(b, op))
        layer_op(l,
                 (struct op){.name = backward_named(b, "wgrad_", op),
                             .kernel = KERNEL_SCALE_GATES_WGRAD},
                 OPERANDS(IN(GATES, gates), IN(IDS, ids), IN(D_GATES, d),
                          OUT(D_WEIGHT, backward_weight(b, weight))));
    uint16_t dgates = backward_buffer(b, gates, "");
    layer_op(l,
             (struct op){.name = backward_named(b, "back_", op), .kernel = KERNEL_SCALE_GATES},
             OPERANDS(IN(GATES, d), IN(IDS, ids), IN(WEIGHT, weight), OUT(DST, dgates)));
    backward_arrive(b, gates, dgates);
}

static void topk_rule(struct backward *b, const struct op *op)
{
    uint16_t dgates = backward_arrived(b, op, ROLE_GATES);
    if (dgates == WORK_NONE)
        return;
    uint16_t dlogits = backward_buffer(b, backward_of(b, op, ROLE_LOGITS), "");
    layer_op(b->l,
             (struct op){.name = backward_named(b, "back_", op), .kernel = KERNEL_TOPK_GRAD},
             OPERANDS(IN(LOGITS, backward_of(b, op, ROLE_LOGITS)),
                      IN(IDS, backward_of(b, op, ROLE_IDS)),
                      IN(GATES, backward_of(b, op, ROLE_GATES)), IN(D_GATES, dgates),
                      IN(BIAS, backward_of(b, op, ROLE_BIAS)), OUT(DST, dlogits)));
    backward_arrive(b, backward_of(b, op, ROLE_LOGITS), dlogits);
}

/* Matrices that were not picked have no gradient. */
static void pick_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST);
    if (d == WORK_NONE || !backward_trains(b, op))
        return;
    uint16_t dw = backward_weight(b, backward_of(b, op, ROLE_WEIGHT));
    layer_op(l, (struct op){.name = backward_named(b, "zero_", op), .kernel = KERNEL_ZERO},
             OPERANDS(OUT(DST, dw)));
    layer_op(l,
             (struct op){.name = backward_named(b, "back_", op),
                         .kernel = KERNEL_SCATTER,
                         .rows = op->rows},
             OPERANDS(IN(SRC, d), IN(INDEX, backward_of(b, op, ROLE_HITS)), INOUT(DST, dw)));
}

/* ---- expanded and sparse products ---- */

/* Of its rows `used` are those of a group. */
static uint16_t expand(struct backward *b, const char *name, uint16_t rows, struct size used,
                       uint16_t offsets)
{
    struct layer *l = b->l;
    struct buffer source = l->work->buffers[rows];
    struct size dims[] = {l->e, source.dims[0], source.dims[1]};
    uint16_t wide = layer_buffer(l, arena_join(l->arena, source.name, "_expanded"),
                                 CATEGORY_EXPERT, source.dtype, source.rule, 3, dims);
    layer_op(l, (struct op){.name = name, .kernel = KERNEL_EXPAND, .rows = used},
             OPERANDS(IN(SRC, rows), IN(OFFSETS, offsets), OUT(DST, wide)));
    return wide;
}

/* The expand before a product, whose copies it multiplies. */
static struct op expand_of(const struct backward *b, uint16_t wide)
{
    const struct work *work = b->l->work;
    size_t i = 0;
    while (work->ops[i].kernel != KERNEL_EXPAND || !op_writes(work, &work->ops[i], wide))
        i++;
    return work->ops[i];
}

static void expanded_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), offsets = backward_of(b, op, ROLE_OFFSETS);
    if (d == WORK_NONE)
        return;
    const struct op copies = expand_of(b, backward_of(b, op, ROLE_SRC));
    uint16_t rows = backward_of(b, &copies, ROLE_SRC), weight = backward_of(b, op, ROLE_WEIGHT);
    struct op product = {
        .flop = op->flop, .groups = op->groups, .m = op->m, .n = op->n, .k = op->k};
    if (backward_trains(b, op)) {
        uint16_t again = expand(b, backward_named(b, "expand_again_", op), rows, copies.rows,
                                offsets),
                 dw = backward_weight(b, weight);
        product.name = backward_named(b, "wgrad_", op);
        product.kernel = KERNEL_EXPANDED_WGRAD;
        layer_op(
            l, product,
            OPERANDS(IN(SRC, again), IN(D_DST, d), IN(OFFSETS, offsets), OUT(D_WEIGHT, dw)));
    }
    uint16_t da = backward_buffer(b, rows, ""),
             wide =
                 expand(b, backward_named(b, "expand_gradient_", op), d, copies.rows, offsets);
    product.name = backward_named(b, "dgrad_", op);
    product.kernel = KERNEL_EXPANDED_GEMM;
    product.args.gemm.transposed = true;
    layer_op(l, product,
             OPERANDS(IN(SRC, wide), IN(WEIGHT, weight), IN(OFFSETS, offsets), OUT(DST, da)));
    backward_arrive(b, rows, da);
}

static void sparse_rule(struct backward *b, const struct op *op)
{
    struct layer *l = b->l;
    uint16_t d = backward_arrived(b, op, ROLE_DST), a = backward_of(b, op, ROLE_SRC),
             offsets = backward_of(b, op, ROLE_OFFSETS);
    if (d == WORK_NONE)
        return;
    bool sdd = op->kernel == KERNEL_SDD;
    uint16_t weight = backward_of(b, op, ROLE_WEIGHT), da = backward_buffer(b, a, "");
    struct op product = {.name = backward_named(b, "wgrad_", op),
                         .kernel = KERNEL_SPARSE_WGRAD,
                         .args = op->args,
                         .flop = op->flop,
                         .groups = op->groups,
                         .m = op->m,
                         .n = op->n,
                         .k = op->k};
    product.args.sparse.transposed = sdd;
    if (backward_trains(b, op))
        layer_op(l, product,
                 OPERANDS(IN(SRC, sdd ? d : a), IN(OTHER, sdd ? a : d), IN(OFFSETS, offsets),
                          OUT(D_WEIGHT, backward_weight(b, weight)),
                          OUT(D_BIAS, bias_gradient(b, op))));
    product.name = backward_named(b, "dgrad_", op);
    product.kernel = sdd ? KERNEL_DSD : KERNEL_SDD;
    product.args.sparse.transposed = true;
    product.n = op->k;
    product.k = op->n;
    layer_op(l, product,
             OPERANDS(IN(SRC, d), IN(WEIGHT, weight),
                      IN(ROW_BLOCK, backward_of(b, op, ROLE_ROW_BLOCK)),
                      IN(COLUMN_BLOCK, backward_of(b, op, ROLE_COLUMN_BLOCK)),
                      IN(OFFSETS, offsets), OUT(DST, da)));
    backward_arrive(b, a, da);
}

static void any_norm_rule(struct backward *b, const struct op *op)
{
    (b->l->listed ? backward_plain_rule : norm_rule)(b, op);
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
    [KERNEL_NORM] = any_norm_rule,
    [KERNEL_SCALE_GATES] = scale_gates_rule,
    [KERNEL_ROPE] = backward_plain_rule,
    [KERNEL_ATTENTION] = backward_plain_rule,
    [KERNEL_CONVOLUTION] = backward_plain_rule,
    [KERNEL_SCAN] = backward_plain_rule,
    [KERNEL_EMBED] = backward_embed_rule,
    [KERNEL_COLLECTIVE] = backward_collective_rule,
};

void backward_rule(struct backward *b, const struct op *op)
{
    if (rules[op->kernel])
        rules[op->kernel](b, op);
}
