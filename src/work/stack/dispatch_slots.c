/* Paths with fixed slots per expert: capacity, chunked all-to-all; and masks over all experts.
 * Sources: buffers.md 5.1, 5.2, 9.3, 10.4, 10.6; seed-systems.md C1, C2. */
#include "work/stack/dispatch_paths.h"
#include "work/stack/dispatch_rows.h"

static struct size capacity(const struct hold_path *p)
{
    static struct size (*const slots[])(const struct letters *) = {
        [CAPACITY_MAXTEXT] = capacity_maxtext,
        [CAPACITY_MEGATRON] = capacity_megatron,
        [CAPACITY_NEURON] = capacity_neuron,
        [CAPACITY_TUTEL] = capacity_tutel,
    };
    return slots[p->style->capacity](&p->x);
}

/* [E, C] slots of a rank, or [E, mb, C] where capacity counts per sequence. */
static struct row_dims slot_rows(const struct hold_path *p)
{
    if (p->style->capacity == CAPACITY_MAXTEXT)
        return (struct row_dims){3, {p->x.experts, p->x.micro_batch, capacity(p)}, RULE_FIXED};
    return (struct row_dims){2, {p->x.experts, capacity(p)}, RULE_FIXED};
}

/* One-hot masks of MaxText: [mb, S, E, C]. */
static uint16_t masks(struct hold_path *p, uint16_t *dispatch)
{
    struct sizes *s = p->x.sizes;
    struct size slots = capacity(p);
    struct row_dims tokens = {3, {p->x.micro_batch, p->x.sequence, p->x.experts}, RULE_FIXED};
    struct row_dims chosen = {3, {p->x.micro_batch, p->x.sequence, p->x.top_k}, RULE_FIXED};
    uint16_t combine = part_floats(p, "combine_mask", CATEGORY_MASK, p->dtype, &tokens, slots);
    *dispatch = part_table(p, "dispatch_mask", DTYPE_BOOL, &tokens, slots);
    flow_op(&p->flow, part_move(p, "masks", OP_PACK), FLOW(p->indices, p->gates),
            FLOW(combine, *dispatch));
    part_scratch(p, "expert_mask", CATEGORY_MASK, DTYPE_I32, &chosen, p->x.experts,
                 FLOW_FORWARD);
    part_scratch(p, "expert_positions", CATEGORY_MASK, DTYPE_I32, &chosen, p->x.experts,
                 FLOW_FORWARD);
    part_scratch(p, "position_one_hot", CATEGORY_MASK, DTYPE_I32, &tokens,
                 size_plus(s, slots, 1), FLOW_FORWARD);
    return combine;
}

/* Which slot each row takes, where no masks are built. */
static uint16_t slot_tables(struct hold_path *p, const struct row_dims *slots)
{
    struct row_dims table = rows_of(rows_total(p, slots), RULE_FIXED);
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    uint16_t ids =
        part_table(p, "token_assignments", DTYPE_I64, &table, size_const(p->x.sizes, 1));
    flow_op(&p->flow, part_move(p, "assign", OP_SORT), FLOW(p->indices), FLOW(ids));
    part_scratch(p, "position_in_expert", CATEGORY_MASK, DTYPE_I32, &tokens, p->x.experts,
                 FLOW_FORWARD);
    return ids;
}

static uint16_t exchange_slots(struct hold_path *p, const char *const names[2], uint16_t from,
                               const struct row_dims *slots)
{
    if (p->plan->parallel.ep == 1)
        return from;
    uint16_t to = part_rows(p, names[1], CATEGORY_DISPATCH, slots, p->x.hidden);
    flow_op(&p->flow,
            part_exchange(p, names[0], rows_total(p, slots), part_row_bytes(p, p->dtype)),
            FLOW(from), FLOW(to));
    return to;
}

enum status hold_capacity(struct hold_path *p, uint16_t *output, struct err *err)
{
    static const char *const there[] = {"dispatch", "received_slots"};
    static const char *const back[] = {"return", "returned_slots"};
    if (p->style->capacity == CAPACITY_NEURON)
        return hold_capacity_neuron(p, output, err);
    bool one_hot = p->style->one_hot;
    struct row_dims slots = slot_rows(p), tokens = rows_of(p->x.tokens, RULE_FIXED);
    uint16_t dispatch, combine = WORK_NONE;
    if (one_hot)
        combine = masks(p, &dispatch);
    else
        dispatch = slot_tables(p, &slots);
    bool logits = p->style->capacity == CAPACITY_TUTEL; /* it fills slots in the gates' dtype */
    uint16_t x = part_floats(p, "dispatched_slots", CATEGORY_DISPATCH,
                             logits ? p->style->scores : p->dtype, &slots, p->x.hidden);
    flow_op(&p->flow, part_move(p, "fill_slots", one_hot ? OP_MASK : OP_PACK),
            FLOW(p->input, dispatch), FLOW(x));
    x = exchange_slots(p, there, x, &slots);
    uint16_t out = part_experts(p, x, &slots, WORK_NONE, OP_BATCHED_GEMM);
    out = exchange_slots(p, back, out, &slots);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "combine", one_hot ? OP_MASK : OP_COMBINE),
            FLOW(out, one_hot ? combine : p->gates, dispatch), FLOW(*output));
    return STATUS_OK;
}

/* ---- chunked all-to-all ---- */

/* Send [E, C, H] and receive [e, R C, H] of a round; a second pair where rounds overlap. */
enum status hold_chunked_a2a(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct size chunk = size_slot(s, SLOT_CHUNK), rounds = chunk_rounds(&p->x, chunk);
    struct size pairs = size_const(s, p->plan->moe.overlap ? 2 : 1);
    if (p->style->flow.backward) /* autograd keeps every round's chunks */
        pairs = size_max(s, pairs, rounds);
    struct row_dims send = {3, {pairs, p->x.experts, chunk}, RULE_FIXED};
    struct row_dims receive = {
        3, {pairs, p->x.local, size_mul(s, p->x.ranks, chunk)}, RULE_FIXED};
    struct row_dims routed = rows_of(rows_routed(&p->x), RULE_FIXED);
    struct size one = size_const(s, 1),
                slots = size_product(s, SIZES(p->x.experts, chunk, rounds));
    uint16_t order = part_table(p, "sort_order", DTYPE_I32, &routed, one);
    flow_op(&p->flow, part_move(p, "sort", OP_SORT), FLOW(p->indices), FLOW(order));
    uint16_t sent = part_rows(p, "send_chunk", CATEGORY_DISPATCH, &send, p->x.hidden);
    uint16_t got = part_rows(p, "received_chunk", CATEGORY_DISPATCH, &receive, p->x.hidden);
    uint16_t back = part_rows(p, "returned_chunk", CATEGORY_DISPATCH, &send, p->x.hidden);
    uint16_t all = part_rows(p, "returned_rows", CATEGORY_DISPATCH, &routed, p->x.hidden);
    flow_op(&p->flow, part_move(p, "pack_chunk", OP_PACK), FLOW(p->input, order), FLOW(sent));
    struct size row = part_row_bytes(p, p->dtype);
    flow_op(&p->flow, part_exchange(p, "dispatch", slots, row), FLOW(sent), FLOW(got));
    uint16_t out = part_experts(p, got, &receive, WORK_NONE, OP_BATCHED_GEMM);
    flow_op(&p->flow, part_exchange(p, "return", slots, row), FLOW(out), FLOW(back));
    flow_op(&p->flow, part_move(p, "scatter_chunk", OP_PACK), FLOW(back, order), FLOW(all));
    *output = part_combine(p, all, &routed);
    return STATUS_OK;
}

/* ---- every expert on every token ---- */

/* One expert at a time in inference; in training all of them stay for backward: [e, T, ...].
 * With experts spread, each expert's weights are broadcast in turn (seed-systems.md C1). */
enum status hold_masked(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    bool all = p->style->flow.backward || p->style->one_hot;
    struct size experts = all ? p->x.experts : size_const(s, 1);
    struct row_dims rows = {2, {experts, p->x.tokens}, RULE_FIXED};
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    uint16_t mask = part_table(p, "expert_mask", DTYPE_BOOL, &tokens, p->x.experts);
    flow_op(&p->flow, part_move(p, "mask", OP_SORT), FLOW(p->indices), FLOW(mask));
    uint16_t out = part_experts(p, p->input, &rows, WORK_NONE, OP_BATCHED_GEMM);
    if (p->plan->parallel.ep > 1) {
        struct row_dims matrices =
            rows_of(size_const(s, p->plan->model.moe.glu ? 3 : 2), RULE_FIXED);
        part_scratch(p, "broadcast_expert", CATEGORY_COMMUNICATION, p->plan->precision.weights,
                     &matrices, size_mul(s, p->x.hidden, p->x.inter),
                     FLOW_FORWARD | FLOW_BACKWARD);
    }
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "masked_sum", OP_COMBINE), FLOW(out, p->gates, mask),
            FLOW(*output));
    if (p->style->f32_combine)
        part_scratch(p, "expert_out_f32", CATEGORY_EXPERT, DTYPE_F32, &rows, p->x.hidden,
                     FLOW_FORWARD);
    return STATUS_OK;
}
