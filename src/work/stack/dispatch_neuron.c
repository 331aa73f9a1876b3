/* Neuron's paths: blockwise, selective loading, all experts. Sources: buffers.md 10.4,
 * seed-systems.md B2, B4, B7. */
#include "plan/derive.h"
#include "work/stack/dispatch_paths.h"
#include "work/stack/dispatch_rows.h"

/* Tokens of the whole expert-parallel group, as every rank sees them. */
static uint16_t gather_group(struct hold_path *p, struct row_dims *group, uint64_t extra)
{
    struct size tokens = size_plus(p->x.sizes, rows_worst_tokens(&p->x), extra);
    *group = rows_of(tokens, RULE_FIXED);
    if (p->plan->parallel.ep == 1 && !extra)
        return p->input;
    uint16_t all = part_rows(p, "group_hidden", CATEGORY_COMMUNICATION, group, p->x.hidden);
    flow_op(&p->flow,
            part_exchange(p, "gather_tokens", rows_worst_tokens(&p->x),
                          part_row_bytes(p, p->dtype)),
            FLOW(p->input), FLOW(all));
    return all;
}

static void scatter_group(struct hold_path *p, uint16_t from, uint16_t *output)
{
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow,
            part_exchange(p, "reduce_scatter", rows_worst_tokens(&p->x),
                          part_row_bytes(p, p->dtype)),
            FLOW(from), FLOW(*output));
}

/* Blocks' tables: the expert of each block, and the token of each position (-1: none). */
static uint16_t block_tables(struct hold_path *p, struct size blocks)
{
    struct sizes *s = p->x.sizes;
    struct size one = size_const(s, 1);
    struct row_dims n = rows_of(blocks, RULE_WORST);
    struct row_dims positions =
        rows_of(size_plus(s, size_mul(s, blocks, p->x.block), 1), RULE_WORST);
    struct row_dims group = rows_of(rows_worst_tokens(&p->x), RULE_FIXED);
    uint16_t owner = part_table(p, "block_to_expert", DTYPE_I64, &n, one);
    uint16_t ids = part_table(p, "token_position_to_id", DTYPE_I64, &positions, one);
    flow_op(&p->flow, part_move(p, "assign_blocks", OP_SORT), FLOW(p->indices),
            FLOW(owner, ids));
    part_scratch(p, "token_position_by_expert", CATEGORY_MASK, DTYPE_F64, &group, p->x.experts,
                 FLOW_FORWARD);
    return ids;
}

/* In training the kernels write every block's gate_up [N, 2, I, B] and down [N, B, H] for
 * backward; in inference a block's intermediates stay on chip. */
enum status hold_blockwise(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct row_dims group;
    uint16_t x = gather_group(p, &group, 1); /* a zero row absorbs padding */
    struct size blocks = neuron_blocks(&p->x, rows_worst_tokens(&p->x));
    uint16_t ids = block_tables(p, blocks);
    struct row_dims rows = {2, {blocks, p->x.block}, RULE_WORST};
    struct row_dims out_rows = {2, {group.dims[0], size_const(s, 1)}, RULE_FIXED};
    if (!p->style->flow.backward && plan_cores(p->plan) == 2 &&
        p->plan->moe.shard == SHARD_BLOCK)
        out_rows.dims[1] = size_const(s, 2); /* each core writes its own copy */
    uint16_t out = part_rows(p, "block_output", CATEGORY_DISPATCH, &out_rows, p->x.hidden);
    if (p->style->flow.backward) {
        uint16_t down = part_experts(p, x, &rows, WORK_NONE, OP_BLOCKED_GEMM);
        flow_op(&p->flow, part_move(p, "scatter_blocks", OP_COMBINE), FLOW(down, p->gates, ids),
                FLOW(out));
    } else {
        struct op op = part_move(p, "blockwise", OP_BLOCKED_GEMM);
        op.resource = RESOURCE_COMPUTE;
        op.groups = blocks;
        op.m = p->x.block;
        op.n = size_times(s, p->x.inter, p->plan->model.moe.glu ? 3 : 2);
        op.k = p->x.hidden;
        op.flop = size_times(s, size_product(s, SIZES(blocks, op.m, op.n, op.k)), 2);
        flow_op(&p->flow, op, FLOW(x, p->gates, ids), FLOW(out));
    }
    scatter_group(p, out, output);
    return STATUS_OK;
}

/* [e, C, H] slots filled from the group's tokens; positions in f64, ids with one to spare. */
enum status hold_capacity_neuron(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct row_dims group, slots = {2, {p->x.local, capacity_neuron(&p->x)}, RULE_FIXED};
    uint16_t x = gather_group(p, &group, 0);
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
    scatter_group(p, summed, output);
    return STATUS_OK;
}

/* K experts' matrices gathered for one token after another. */
enum status hold_selective(struct hold_path *p, uint16_t *output, struct err *err)
{
    if (p->plan->parallel.ep > 1) {
        err_set(err, STATUS_INPUT, "path selective cannot run with parallel.ep %llu",
                (unsigned long long)p->plan->parallel.ep);
        return err_hint(err, "selective loading holds all experts on a rank: use parallel.tp, "
                             "or moe.path all_experts");
    }
    struct sizes *s = p->x.sizes;
    struct row_dims chosen = {2, {p->x.top_k, size_const(s, 1)}, RULE_FIXED};
    uint16_t out = part_experts(p, p->input, &chosen, WORK_NONE, OP_BATCHED_GEMM);
    struct row_dims matrices = {
        2, {p->x.top_k, size_const(s, p->plan->model.moe.glu ? 3 : 2)}, RULE_FIXED};
    part_scratch(p, "selected_weights", CATEGORY_WORKSPACE, p->plan->precision.weights,
                 &matrices, size_mul(s, p->x.hidden, p->x.inter), FLOW_FORWARD | FLOW_BACKWARD);
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "combine", OP_COMBINE), FLOW(out, p->gates), FLOW(*output));
    return STATUS_OK;
}

/* Every local expert on every token of the group, masked in the sum: [e, T, ...]. */
enum status hold_all_experts(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct row_dims group;
    uint16_t x = gather_group(p, &group, 0);
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
        scatter_group(p, summed, output);
    else
        *output = summed;
    return STATUS_OK;
}
