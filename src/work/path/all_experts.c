/* all_experts: every local expert computes every token at once, and combine leaves out what was
 * not chosen (seed 002 decode). What stacks hold: buffers.md 10.4; seed-systems.md B7. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

/* Every expert's own copy of the tokens: scaled where they chose it, zero elsewhere. */
static uint16_t scaled(struct layer *l, const struct everyone *all, uint16_t index,
                       uint16_t place, struct extent rows)
{
    uint16_t x = layer_rows(l, "x_scaled", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_fan_out(l, "scale",
                  (struct gather){.src = all->x,
                                  .index = index,
                                  .inverse = place,
                                  .keys = all->phys,
                                  .dst = x,
                                  .divide = l->K,
                                  .slots = l->K,
                                  .used = rows.rows},
                  all->gates);
    return x;
}

static uint16_t build(struct layer *l)
{
    struct sizes *z = l->z;
    struct everyone all = layer_gather_everyone(l);
    struct extent rows = layer_fixed(size_mul(z, l->e, all.tokens.rows));
    uint16_t place = layer_map(l, "place", layer_fixed(size_mul(z, all.tokens.rows, l->K)));
    uint16_t index = layer_map(l, "index", rows);
    layer_op(l, (struct op){.name = "table", .kernel = KERNEL_TABLE},
             OPERANDS(IN(PHYS, all.phys), OUT(PLACE, place), OUT(INDEX, index)));
    struct groups batched = layer_no_groups();
    bool scales = layer_gates_in(l, all.gates) != WORK_NONE;
    uint16_t x = scales ? scaled(l, &all, index, place, rows) : all.x;
    batched.shared = !scales;
    uint16_t y = layer_expert(l, x, rows, batched);
    uint16_t partial =
        layer_rows(l, "y_folded", CATEGORY_DISPATCH, l->combined, all.tokens, l->H);
    layer_combine(l, "mask_and_add",
                  (struct combine){.y = y,
                                   .position = place,
                                   .gates = layer_gates_out(l, all.gates),
                                   .keys = all.phys,
                                   .inverse = index,
                                   .handle = WORK_NONE,
                                   .out = partial,
                                   .slots = l->K,
                                   .used = rows.rows});
    return layer_reduce_everyone(l, "routed_out", partial, l->combined, l->activation);
}

/* Every local expert on every token of the group, masked in the sum: [e, T, ...]. */
static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct row_dims group;
    uint16_t x = part_gather_group(p, &group, 0);
    struct row_dims rows = {2, {p->x.local, group.dims[0]}, RULE_FIXED};
    uint16_t affinities = part_floats(p, "masked_affinities", CATEGORY_MASK, p->style->scores,
                                      &group, p->x.experts);
    flow_op(&p->flow, part_move(p, "mask", OP_PACK), FLOW(p->indices, p->gates),
            FLOW(affinities));
    uint16_t out = part_experts(p, x, &rows, WORK_NONE, OP_BATCHED_GEMM);
    uint16_t summed = part_rows(p, "masked_sum", CATEGORY_DISPATCH, &group, p->x.hidden);
    flow_op(&p->flow, part_move(p, "masked_sum", OP_COMBINE), FLOW(out, affinities),
            FLOW(summed));
    if (p->plan->parallel.ep > 1)
        part_scatter_group(p, summed, output);
    else
        *output = summed;
    return STATUS_OK;
}

const struct path_system path_all_experts = {
    .backward = true,
    .build = build,
    .hold = hold,
    .exchange = EXCHANGE_EVERYONE,
    .computes = COMPUTES_ALL,
};
