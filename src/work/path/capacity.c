/* capacity: every expert takes at most C rows of a source, the rest is dropped; one batched
 * GEMM over a fixed buffer (GShard, Switch; seed 000 dense_matmul; Megatron drop-and-pad). What
 * stacks hold: buffers.md 5.2, 9.3, 10.4, 10.6. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"
#include "work/dispatch/dispatch_rows.h"

/* C = min(T_g, ceil(T_g K cf / E)) of a group's T_g tokens (seed-systems.md B1). */
static struct size capacity(struct layer *l, struct size groups)
{
    struct sizes *z = l->z;
    struct size tokens = size_div(z, l->T, groups);
    struct size wanted = size_scale_up(z, size_mul(z, tokens, l->K), REAL_CAPACITY_FACTOR);
    return size_min(z, tokens, size_ceil_div(z, wanted, l->E));
}

static uint16_t build(struct layer *l)
{
    struct sizes *z = l->z;
    struct size groups = size_slot(z, SLOT_COMPETING), C = capacity(l, groups);
    struct size per_expert = size_mul(z, groups, C);
    struct extent slots = layer_fixed(size_mul(z, l->E, per_expert));
    uint16_t index = layer_map(l, "slot_index", slots);
    uint16_t position = layer_map(l, "position", l->slots);
    uint16_t dropped = layer_counts(l, "dropped", l->one);
    layer_op(l,
             (struct op){.name = "slots",
                         .kernel = KERNEL_SLOTS,
                         .args.slots = {.groups = {groups}, .capacity = {C}}},
             OPERANDS(IN(PHYS, l->phys), OUT(INDEX, index), OUT(POSITION, position),
                      OUT(DROPPED, dropped)));

    enum dtype act = l->activation;
    uint16_t send = layer_rows(l, "x_slots", CATEGORY_DISPATCH, act, slots, l->H);
    layer_pack_slots(l, "fill_slots", index, position, send, slots.rows);
    uint16_t arrived = layer_rows(l, "x_received", CATEGORY_DISPATCH, act, slots, l->H);
    layer_exchange_fixed(l, "dispatch", send, arrived);
    uint16_t x = layer_swap(l, "x_expert", arrived, l->R, l->e, per_expert);

    uint16_t y = layer_expert(l, x, slots, layer_no_groups());

    uint16_t back = layer_swap(l, "y_received", y, l->e, l->R, per_expert);
    uint16_t home = layer_rows(l, "y_slots", CATEGORY_DISPATCH, l->combined, slots, l->H);
    layer_return_fixed(l, "return", back, home);
    return layer_unpack_slots(l, home, index, position, slots.rows);
}

static bool drops_improbable(const struct plan *plan)
{
    return plan->moe.drop == DROP_PROBS;
}

static const struct refusal refusals[] = {
    {drops_improbable, "dropping by probability is not performed on the host",
     "--set moe.drop=position"},
};

/* ---- what stacks hold ---- */

static struct size slots_of(const struct hold_path *p)
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
        return (struct row_dims){3, {p->x.experts, p->x.micro_batch, slots_of(p)}, RULE_FIXED};
    return (struct row_dims){2, {p->x.experts, slots_of(p)}, RULE_FIXED};
}

/* One-hot masks of MaxText: [mb, S, E, C]. */
static uint16_t masks(struct hold_path *p, uint16_t *dispatch)
{
    struct sizes *s = p->x.sizes;
    struct size slots = slots_of(p);
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
    flow_op(&p->flow, part_exchange(p, names[0]), FLOW(from), FLOW(to));
    return to;
}

/* [e, C, H] slots filled from the group's tokens; positions in f64, ids with one to spare. */
static enum status hold_neuron(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct row_dims group, slots = {2, {p->x.local, capacity_neuron(&p->x)}, RULE_FIXED};
    uint16_t x = part_gather_group(p, &group, 0);
    struct size all = size_mul(s, p->x.experts, slots.dims[1]);
    struct row_dims ids = rows_of(size_plus(s, all, 1), RULE_FIXED);
    uint16_t taken = part_table(p, "token_assignments", DTYPE_I64, &ids, size_const(s, 1));
    flow_op(&p->flow, part_move(p, "assign", OP_SORT), FLOW(p->indices), FLOW(taken));
    part_scratch(p, "position_in_expert", CATEGORY_MASK, DTYPE_F64, &group, p->x.experts,
                 FLOW_FORWARD);
    uint16_t filled = part_rows(p, "dispatched_slots", CATEGORY_DISPATCH, &slots, p->x.hidden);
    flow_op(&p->flow, part_move(p, "fill_slots", OP_PACK), FLOW(x, taken), FLOW(filled));
    uint16_t out = part_experts(p, filled, &slots, WORK_NONE, OP_BATCHED_GEMM);
    uint16_t summed = part_rows(p, "group_output", CATEGORY_DISPATCH, &group, p->x.hidden);
    flow_op(&p->flow, part_move(p, "combine", OP_COMBINE), FLOW(out, p->gates, taken),
            FLOW(summed));
    part_scatter_group(p, summed, output);
    return STATUS_OK;
}

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    static const char *const there[] = {"dispatch", "received_slots"};
    static const char *const back[] = {"return", "returned_slots"};
    if (p->style->capacity == CAPACITY_NEURON)
        return hold_neuron(p, output, err);
    bool one_hot = p->style->one_hot;
    struct row_dims slots = slot_rows(p);
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
    *output = part_output(p);
    flow_op(&p->flow, part_move(p, "combine", one_hot ? OP_MASK : OP_COMBINE),
            FLOW(out, one_hot ? combine : p->gates, dispatch), FLOW(*output));
    return STATUS_OK;
}

const struct path_system path_capacity = {
    .backward = true,
    .build = build,
    .hold = hold,
    .exchange = EXCHANGE_CAPACITY,
    .computes = COMPUTES_RESERVED,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
};
