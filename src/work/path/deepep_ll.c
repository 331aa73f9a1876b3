/* deepep_ll: every row travels to a fixed slot of its expert, [e, R T, H]; the products skip
 * the slots that stayed empty; gates are applied where the rows return (DeepEP low latency;
 * decode). What stacks hold: buffers.md 2.5, 10.3. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/dispatch/dispatch_parts.h"

static uint16_t build(struct layer *l)
{
    struct sizes *z = l->z;
    struct size sent = size_slot(z, SLOT_ROWS_SENT), from = size_slot(z, SLOT_ROWS_FROM);
    struct size depth = size_mul(z, l->R, l->T); /* slots of an expert */
    struct extent slots = {size_mul(z, l->e, depth), l->received.used, RULE_WORST};
    struct sorted s = layer_sort(l, true);
    struct groups groups = {.offsets =
                                layer_counts(l, "group_offsets", size_add(z, l->e, l->one)),
                            .rows = layer_counts(l, "group_sizes", l->e),
                            .map = WORK_NONE};
    uint16_t receives = layer_counts(l, "receives", l->R);
    uint16_t index = layer_map(l, "slot_index", slots);
    uint16_t place = layer_map(l, "slot_place", l->received);
    layer_op(l,
             (struct op){.name = "group",
                         .kernel = KERNEL_GROUP,
                         .args.group = {.alignment = {depth}, .fixed = true}},
             OPERANDS(IN(COUNTS, layer_exchange_counts(l, "counts", s.counts)),
                      OUT(RECEIVES, receives), OUT(OFFSETS, groups.offsets),
                      OUT(SIZES, groups.rows), OUT(INDEX, index), OUT(PLACE, place)));

    uint16_t send = layer_rows(l, "x_sorted", CATEGORY_DISPATCH, l->activation, l->slots, l->H);
    layer_pack_slots(l, "pack", s.order, s.position, send, l->TK);
    uint16_t arrived =
        layer_rows(l, "x_received", CATEGORY_DISPATCH, l->activation, l->received, l->H);
    layer_dispatch(l,
                   (struct exchange){send, s.sends, receives, arrived, WORK_NONE, sent, from});
    uint16_t x = layer_rows(l, "x_slots", CATEGORY_DISPATCH, l->activation, slots, l->H);
    layer_op(l,
             (struct op){.name = "fill_slots",
                         .kernel = KERNEL_SCATTER, /* empty slots are never read */
                         .rows = l->received.used},
             OPERANDS(IN(SRC, arrived), IN(INDEX, place), OUT(DST, x)));
    uint16_t y = layer_expert(l, x, slots, groups);

    uint16_t back =
        layer_rows(l, "y_received", CATEGORY_DISPATCH, l->combined, l->received, l->H);
    layer_reorder(l, "empty_slots", (struct reorder){y, place, index, back, l->received.used});
    uint16_t home = layer_rows(l, "y_sorted", CATEGORY_DISPATCH, l->combined, l->slots, l->H);
    layer_return(l, "return",
                 (struct exchange){back, receives, s.sends, home, WORK_NONE, from, sent});
    return layer_unpack_slots(l, home, s.order, s.position, l->TK);
}

/* num_max_dispatch_tokens_per_rank: what the stack sets, more when a rank has more tokens and
 * the stack does not send them in rounds. */
static struct size max_tokens(const struct hold_path *p)
{
    uint64_t asked = p->plan->moe.dispatch_tokens;
    struct size least = size_const(p->x.sizes, asked ? asked : p->style->low_latency_tokens);
    return p->style->low_latency_rounds ? least : size_max(p->x.sizes, p->x.tokens, least);
}

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct size most = max_tokens(p), one = size_const(s, 1);
    enum deepep_port port =
        p->style->library == LIBRARY_PRIMUS ? DEEPEP_PRIMUS : DEEPEP_UPSTREAM;
    uint16_t heap = part_heap(p, "low_latency_buffer", CATEGORY_COMMUNICATION,
                              low_latency_bytes(&p->x, most, port),
                              "DeepEP LowLatencyLayout: slots for every expert, redundant ones "
                              "included, whatever R");
    p->work->buffers[heap].addressable_bytes = DEEPEP_LOW_LATENCY_LIMIT;
    if (p->style->queues == QUEUE_FIXED)
        part_heap(p, "deepep_nvl_buffer", CATEGORY_COMMUNICATION,
                  size_const(s, DEEPEP_VLLM_BUFFER), "vLLM VLLM_DEEPEP_BUFFER_SIZE_MB");
    struct row_dims slots = {2, {p->x.local, size_mul(s, p->x.ranks, most)}, RULE_FIXED};
    enum dtype dtype = p->plan->precision.dispatch;
    uint16_t x = part_floats(p, "packed_recv_x", CATEGORY_DISPATCH, dtype, &slots, p->x.hidden);
    uint16_t scales = WORK_NONE;
    if (part_fp8_dispatch(p))
        scales = part_table(p, "packed_recv_scales", DTYPE_F32, &slots,
                            size_ceil_by(s, p->x.hidden, 128));
    uint16_t sources = part_table(p, "packed_src_info", DTYPE_I32, &slots, one);
    struct row_dims ranges = {2, {p->x.local, p->x.ranks}, RULE_FIXED};
    uint16_t layout = part_table(p, "packed_layout_range", DTYPE_I64, &ranges, one);
    flow_op(&p->flow, part_exchange(p, "dispatch"), FLOW(p->input, p->indices, heap),
            FLOW(x, scales, sources, layout));
    uint16_t out = p->style->kernel == EXPERT_KERNEL_MASKED
                       ? part_fused(p, x, &slots)
                       : part_experts(p, x, &slots, WORK_NONE, OP_BATCHED_GEMM);
    *output = part_output(p);
    struct tick op = part_exchange(p, "combine");
    op.kind = OP_COMBINE; /* it applies the weights */
    flow_op(&p->flow, op, FLOW(out, p->gates, sources, layout, heap), FLOW(*output));
    return STATUS_OK;
}

const struct path_system path_deepep_ll = {
    .build = build,
    .hold = hold,
    .exchange = EXCHANGE_MESSAGES,
};
