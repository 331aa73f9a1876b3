/* allgather: every rank gathers all tokens, computes its experts' rows, and partial sums are
 * reduced and scattered (Neuron expert parallelism; Megatron's allgather dispatcher). What
 * stacks hold: buffers.md 9.1. */
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct row_dims all = rows_of(rows_worst_tokens(&p->x), RULE_FIXED);
    uint16_t x = part_rows(p, "gathered_hidden", CATEGORY_COMMUNICATION, &all, p->x.hidden);
    uint16_t probs = part_floats(p, "gathered_probs", CATEGORY_COMMUNICATION, p->style->scores,
                                 &all, p->x.experts);
    uint16_t map = part_table(p, "gathered_map", DTYPE_BOOL, &all, p->x.experts);
    flow_op(&p->flow, part_exchange(p, "gather_tokens"), FLOW(p->input, p->scores, p->indices),
            FLOW(x, probs, map));
    if (part_has_shared(p) && plan_shared_gathered(p->plan))
        part_shared(p, x, &all);
    uint16_t out;
    if (p->style->kernel != EXPERT_KERNEL_PLAIN) {
        out = part_fused(p, x, &all);
    } else {
        struct row_dims rows = part_expert_rows(p, p->style->alignment);
        uint16_t local = part_rows(p, "local_rows", CATEGORY_DISPATCH, &rows, p->x.hidden);
        struct tick op = part_move(p, "permute", OP_PERMUTE);
        op.host_syncs = size_const(s, p->style->sizing == SIZING_EXACT);
        flow_op(&p->flow, op, FLOW(x, map), FLOW(local));
        uint16_t y = part_experts(p, local, &rows, WORK_NONE, OP_GROUPED_GEMM);
        /* the sum runs in the dtype of the probabilities */
        out = part_floats(p, "unpermuted", CATEGORY_COMMUNICATION,
                          p->style->f32_combine ? DTYPE_F32 : p->dtype, &all, p->x.hidden);
        flow_op(&p->flow, part_move(p, "unpermute", OP_COMBINE), FLOW(y, probs), FLOW(out));
    }
    part_scatter_group(p, out, output);
    return STATUS_OK;
}

const struct path_system path_allgather = {
    .backward = true,
    .build = layer_routed_everywhere,
    .hold = hold,
    .align = align_by_stack,
    .exchange = EXCHANGE_GATHER,
};
