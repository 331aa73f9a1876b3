/* ring_of_experts: MaxText's other dispatcher. Tokens are all-gathered, all their T R K rows
 * are permuted, each rank multiplies those of its experts, and sums are reduced and scattered.
 *
 * A path that only a test has: with its row (rows.h) and this file it is predicted, performed,
 * checked and drawn like the others. What stacks hold: buffers.md 5.4. */
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

static uint16_t build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    struct fan fan = layer_fan(l, all.phys, WORK_NONE, l->received);
    uint16_t partial = layer_fan_compute(l, all.x, all.gates, all.phys, &fan, all.tokens);
    return layer_reduce_everyone(l, "routed_out", partial, l->combined, l->activation);
}

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct row_dims group, rows = part_expert_rows(p, p->style->alignment);
    uint16_t x = part_gather_group(p, &group, 0);
    struct row_dims all = rows_of(size_mul(p->x.sizes, group.dims[0], p->x.top_k), RULE_FIXED);
    uint16_t permuted = part_rows(p, "ring_rows", CATEGORY_DISPATCH, &all, p->x.hidden);
    flow_op(&p->flow, part_move(p, "permute", OP_PERMUTE), FLOW(x, p->indices), FLOW(permuted));
    uint16_t y = part_experts(p, permuted, &rows, WORK_NONE, OP_GROUPED_GEMM);
    uint16_t sum = part_rows(p, "ring_sum", CATEGORY_DISPATCH, &group, p->x.hidden);
    flow_op(&p->flow, part_move(p, "unpermute", OP_COMBINE), FLOW(y, p->gates), FLOW(sum));
    part_scatter_group(p, sum, output);
    return STATUS_OK;
}

const struct path_system path_ring_of_experts = {
    .backward = true,
    .build = build,
    .hold = hold,
    .align = align_by_stack,
    .exchange = EXCHANGE_GATHER,
};
