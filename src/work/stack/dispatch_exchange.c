/* Paths that sort rows and exchange them: ragged all-to-all, block-sparse, all-gather, expert
 * loop. Sources: buffers.md 5.3, 7, 8, 9.1, 9.2. */
#include "work/stack/dispatch_paths.h"

static bool spread(const struct hold_path *p)
{
    return p->plan->parallel.ep > 1;
}

static struct row_dims routed(const struct hold_path *p)
{
    return rows_of(rows_routed(&p->x), RULE_FIXED);
}

/* Rows in order of expert: an index of T K, and [T K, H] gathered through it. */
static uint16_t permute(struct hold_path *p, uint16_t *row_gates)
{
    struct row_dims rows = routed(p);
    struct size one = size_const(p->x.sizes, 1);
    uint16_t order = part_table(p, "sort_order", DTYPE_I32, &rows, one);
    flow_op(&p->flow, part_move(p, "sort", OP_SORT), FLOW(p->indices), FLOW(order));
    uint16_t sent = part_rows(p, "send_rows", CATEGORY_DISPATCH, &rows, p->x.hidden);
    *row_gates = WORK_NONE;
    if (p->style->scale_before_down)
        *row_gates =
            part_floats(p, "send_gates", CATEGORY_METADATA, p->style->scores, &rows, one);
    flow_op(&p->flow, part_move(p, "permute", OP_PERMUTE), FLOW(p->input, p->gates, order),
            FLOW(sent, *row_gates));
    return sent;
}

/* Counts between ranks; the host waits for them where buffers are sized by them. */
static void counts(struct hold_path *p, uint64_t syncs)
{
    struct row_dims ranks = rows_of(p->x.ranks, RULE_FIXED);
    uint16_t table = part_table(p, "rank_counts", DTYPE_I64, &ranks, p->x.experts);
    struct op op = part_exchange(p, "exchange_counts", p->x.ranks,
                                 size_times(p->x.sizes, p->x.experts, 8));
    if (p->style->sizing == SIZING_EXACT) {
        op.resource = RESOURCE_HOST;
        op.host_syncs = size_const(p->x.sizes, syncs);
    }
    flow_op(&p->flow, op, FLOW(p->indices), FLOW(table));
}

/* Rows of all sources, then sorted by local expert (a second copy) when there are several. */
static uint16_t receive(struct hold_path *p, uint16_t sent, const struct row_dims *rows,
                        const struct row_dims *sorted, uint16_t *gates)
{
    struct size one = size_const(p->x.sizes, 1);
    uint16_t got = part_rows(p, "received_rows", CATEGORY_DISPATCH, rows, p->x.hidden);
    uint16_t got_gates = WORK_NONE;
    if (*gates != WORK_NONE)
        got_gates =
            part_floats(p, "received_gates", CATEGORY_METADATA, p->style->scores, rows, one);
    flow_op(&p->flow,
            part_exchange(p, "dispatch", rows_routed(&p->x),
                          part_row_bytes(p, p->plan->precision.dispatch)),
            FLOW(sent, *gates), FLOW(got, got_gates));
    *gates = got_gates;
    uint16_t order = part_table(p, "local_order", DTYPE_I32, rows, one);
    uint16_t out = part_rows(p, "sorted_rows", CATEGORY_DISPATCH, sorted, p->x.hidden);
    flow_op(&p->flow, part_move(p, "local_permute", OP_PERMUTE), FLOW(got, order), FLOW(out));
    return out;
}

static uint16_t send_back(struct hold_path *p, uint16_t from, const struct row_dims *rows)
{
    struct row_dims back = routed(p);
    uint16_t unsorted = part_rows(p, "unsorted_rows", CATEGORY_DISPATCH, rows, p->x.hidden);
    flow_op(&p->flow, part_move(p, "local_unpermute", OP_PERMUTE), FLOW(from), FLOW(unsorted));
    uint16_t out = part_rows(p, "returned_rows", CATEGORY_DISPATCH, &back, p->x.hidden);
    flow_op(&p->flow,
            part_exchange(p, "return", rows_routed(&p->x),
                          part_row_bytes(p, p->plan->precision.combine)),
            FLOW(unsorted), FLOW(out));
    return out;
}

static enum status sorted_path(struct hold_path *p, const struct row_dims *sorted,
                               uint16_t *output)
{
    struct row_dims rows = part_expert_rows(p, 1), back = routed(p);
    uint16_t gates, x = permute(p, &gates);
    if (spread(p)) {
        counts(p, 1);
        x = receive(p, x, &rows, sorted, &gates);
    }
    const struct row_dims *computed = spread(p) ? sorted : &back;
    uint16_t out = part_experts(p, x, computed, gates, OP_GROUPED_GEMM);
    if (spread(p))
        out = send_back(p, out, &rows);
    *output = part_combine(p, out, &back);
    return STATUS_OK;
}

enum status hold_ragged_a2a(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    if (!spread(p) && p->style->kernel != EXPERT_KERNEL_PLAIN) {
        struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
        *output = part_fused(p, p->input, &tokens);
        return STATUS_OK;
    }
    struct row_dims sorted = part_expert_rows(p, p->style->alignment);
    return sorted_path(p, &sorted, output);
}

/* ---- MegaBlocks ---- */

/* Topology of the block-sparse product: 16-bit column indices and five arrays of one entry per
 * 128 x 128 block. */
static void topology(struct hold_path *p, const struct row_dims *rows)
{
    struct sizes *s = p->x.sizes;
    struct size blocks =
        size_mul(s, size_ceil_by(s, rows->dims[0], 128), size_ceil_by(s, p->x.inter, 128));
    struct row_dims n = rows_of(blocks, rows->rule);
    uint16_t columns = part_table(p, "column_indices", DTYPE_F16, &n, size_const(s, 1));
    uint16_t sorted = part_table(p, "block_offsets", DTYPE_I32, &n, size_const(s, 5));
    flow_op(&p->flow, part_move(p, "topology", OP_SORT), FLOW(p->indices),
            FLOW(columns, sorted));
}

enum status hold_block_sparse(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct row_dims sorted = part_expert_rows(p, p->style->alignment), back = routed(p);
    struct row_dims rows = part_expert_rows(p, 1);
    uint16_t gates, x;
    if (spread(p)) {
        x = permute(p, &gates);
        counts(p, 2); /* both directions' counts go to the host */
        x = receive(p, x, &rows, &sorted, &gates);
    } else {
        x = part_rows(p, "padded_rows", CATEGORY_DISPATCH, &sorted, p->x.hidden);
        gates = WORK_NONE;
        struct op op = part_move(p, "padded_gather", OP_PERMUTE);
        op.host_syncs = size_const(p->x.sizes, 1);
        flow_op(&p->flow, op, FLOW(p->input, p->indices), FLOW(x));
    }
    topology(p, &sorted);
    uint16_t out = part_experts(p, x, &sorted, WORK_NONE, OP_BLOCKED_GEMM);
    *output = part_combine(p, spread(p) ? send_back(p, out, &rows) : out,
                           spread(p) ? &back : &sorted);
    return STATUS_OK;
}

/* ---- all-gather ---- */

enum status hold_allgather(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    struct row_dims all = rows_of(rows_worst_tokens(&p->x), RULE_FIXED);
    uint16_t x = part_rows(p, "gathered_hidden", CATEGORY_COMMUNICATION, &all, p->x.hidden);
    uint16_t probs = part_floats(p, "gathered_probs", CATEGORY_COMMUNICATION, p->style->scores,
                                 &all, p->x.experts);
    uint16_t map = part_table(p, "gathered_map", DTYPE_BOOL, &all, p->x.experts);
    struct size row = size_add(s, part_row_bytes(p, p->dtype), size_times(s, p->x.experts, 5));
    flow_op(&p->flow, part_exchange(p, "gather_tokens", all.dims[0], row),
            FLOW(p->input, p->scores, p->indices), FLOW(x, probs, map));
    uint16_t out;
    if (p->style->kernel != EXPERT_KERNEL_PLAIN) {
        out = part_fused(p, x, &all);
    } else {
        struct row_dims rows = part_expert_rows(p, p->style->alignment);
        uint16_t local = part_rows(p, "local_rows", CATEGORY_DISPATCH, &rows, p->x.hidden);
        struct op op = part_move(p, "permute", OP_PERMUTE);
        op.host_syncs = size_const(s, p->style->sizing == SIZING_EXACT);
        flow_op(&p->flow, op, FLOW(x, map), FLOW(local));
        uint16_t y = part_experts(p, local, &rows, WORK_NONE, OP_GROUPED_GEMM);
        /* the sum runs in the dtype of the probabilities */
        out = part_floats(p, "unpermuted", CATEGORY_COMMUNICATION,
                          p->style->f32_combine ? DTYPE_F32 : p->dtype, &all, p->x.hidden);
        flow_op(&p->flow, part_move(p, "unpermute", OP_COMBINE), FLOW(y, probs), FLOW(out));
    }
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow,
            part_exchange(p, "reduce_scatter", all.dims[0],
                          part_row_bytes(p, p->plan->precision.combine)),
            FLOW(out), FLOW(*output));
    return STATUS_OK;
}

/* ---- one expert after another ---- */

/* HuggingFace: the host asks for each expert's rows. In inference only one expert's rows are
 * alive; in training autograd keeps all of them, which together are the rank's rows. */
enum status hold_expert_loop(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct sizes *s = p->x.sizes;
    bool all = p->style->flow.backward;
    struct row_dims exact = rows_of(all ? p->x.rows : p->x.hottest, RULE_ROUTING);
    struct row_dims hits = {.n = 2, .dims = {p->x.experts, p->x.top_k}, .rule = RULE_FIXED};
    uint16_t mask = part_table(p, "expert_mask", DTYPE_I64, &hits, p->x.tokens);
    struct op select = part_move(p, "select", OP_SYNC);
    select.resource = RESOURCE_HOST;
    select.host_syncs = p->x.local;
    flow_op(&p->flow, select, FLOW(p->indices), FLOW(mask));
    uint16_t x = part_rows(p, "expert_rows", CATEGORY_DISPATCH, &exact, p->x.hidden);
    uint16_t order = part_table(p, "row_index", DTYPE_I64, &exact, size_const(s, 1));
    flow_op(&p->flow, part_move(p, "gather", OP_GATHER), FLOW(p->input, mask), FLOW(x, order));
    uint16_t out = part_experts(p, x, &exact, WORK_NONE, OP_GEMM);
    struct row_dims tokens = rows_of(p->x.tokens, RULE_FIXED);
    *output = part_rows(p, "moe_output", CATEGORY_ACTIVATION, &tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "index_add", OP_COMBINE), FLOW(out, p->gates, order),
            FLOW(*output));
    return STATUS_OK;
}
