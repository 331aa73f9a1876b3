/* block_sparse: ragged_a2a whose experts' rows are padded to blocks of B, computed by block-
 * sparse products (MegaBlocks dMoE; buffers.md 8). What stacks hold: buffers.md 8. */
#include "work/path/path.h"
#include "work/path/ragged.h"
#include "work/dispatch/dispatch_parts.h"

struct topology {
    uint16_t offsets, row_block, column_block;
    struct size B, blocks, across; /* reserved blocks; column blocks of an expert */
    struct extent padded;
};

static struct topology map_sparse(struct layer *l, uint16_t offsets, struct extent padded)
{
    struct sizes *z = l->z;
    struct topology t = {
        .offsets = offsets, .B = size_const(z, layer_alignment(l->plan)), .padded = padded};
    t.across = size_ceil_div(z, l->I, t.B);
    t.blocks = size_mul(z, size_div(z, padded.rows, t.B), t.across);
    struct extent nnz = {t.blocks, t.blocks, padded.rule};
    t.row_block = layer_map(l, "row_block", nnz);
    t.column_block = layer_map(l, "column_block", nnz);
    layer_op(l,
             (struct op){.name = "topology",
                         .kernel = KERNEL_SPARSE_MAP,
                         .args.sparse = {.block = {t.B}, .inter = {l->I}}},
             OPERANDS(IN(OFFSETS, offsets), OUT(ROW_BLOCK, t.row_block),
                      OUT(COLUMN_BLOCK, t.column_block)));
    return t;
}

static void sparse_product(struct layer *l, const char *name, enum kernel kernel,
                           const struct topology *t, uint16_t a, uint16_t w, uint16_t bias,
                           uint16_t c, struct size width)
{
    struct sizes *z = l->z;
    struct size parts = kernel == KERNEL_SDD ? l->GI : l->I;
    struct size factors[] = {t->padded.used, width, parts};
    layer_op(l,
             (struct op){.name = name,
                         .kernel = (uint16_t)kernel,
                         .flop = size_times(z, size_product(z, 3, factors), 2),
                         .args.sparse = {.block = {t->B}, .inter = {l->I}},
                         .groups = l->e,
                         .m = t->padded.used,
                         .n = kernel == KERNEL_SDD ? parts : width,
                         .k = kernel == KERNEL_SDD ? width : parts},
             OPERANDS(IN(SRC, a), IN(WEIGHT, w), IN(ROW_BLOCK, t->row_block),
                      IN(COLUMN_BLOCK, t->column_block), IN(OFFSETS, t->offsets),
                      IN(BIAS, bias), OUT(DST, c)));
}

static uint16_t experts(struct layer *l, uint16_t x, struct extent padded, uint16_t offsets)
{
    struct sizes *z = l->z;
    struct topology t = map_sparse(l, offsets, padded);
    struct extent rows = {size_mul(z, t.blocks, t.B), size_mul(z, padded.used, t.across),
                          padded.rule};
    struct size wide = l->plan->model.moe.glu ? size_times(z, t.B, 2) : t.B;
    uint16_t h = layer_rows(l, "h_blocks", CATEGORY_EXPERT, l->activation, rows, wide);
    sparse_product(l, "sdd", KERNEL_SDD, &t, x, l->w13, l->b13, h, l->H);
    uint16_t a = layer_rows(l, "a_blocks", CATEGORY_EXPERT, l->activation, rows, t.B);
    layer_activation(l, "activation", h, a, layer_no_groups(), rows.used);
    uint16_t y = layer_rows(l, "y", CATEGORY_EXPERT, l->combined, padded, l->H);
    sparse_product(l, "dsd", KERNEL_DSD, &t, a, l->w2, l->b2, y, l->H);
    return y;
}

static uint16_t build(struct layer *l)
{
    return ragged_build(l, experts);
}

static enum align_kind align(const struct plan *plan)
{
    (void)plan;
    return ALIGN_MEGABLOCKS;
}

static bool large_blocks(const struct plan *plan)
{
    return layer_alignment(plan) > KERNEL_TILE_ROWS;
}

static const struct refusal refusals[] = {
    {large_blocks, "block_sparse on the host takes blocks of at most 256 rows",
     "--set moe.alignment=128"},
};

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

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    (void)err;
    struct row_dims sorted = part_expert_rows(p, p->style->alignment), back = ragged_rows(p);
    struct row_dims rows = part_expert_rows(p, 1);
    uint16_t gates, x;
    if (ragged_spread(p)) {
        x = ragged_permute(p, &gates);
        ragged_counts(p, 2); /* both directions' counts go to the host */
        x = ragged_receive(p, x, &rows, &sorted, &gates);
    } else {
        x = part_rows(p, "padded_rows", CATEGORY_DISPATCH, &sorted, p->x.hidden);
        gates = WORK_NONE;
        struct tick op = part_move(p, "padded_gather", OP_PERMUTE);
        op.host_syncs = size_const(p->x.sizes, 1);
        flow_op(&p->flow, op, FLOW(p->input, p->indices), FLOW(x));
    }
    topology(p, &sorted);
    uint16_t out = part_experts(p, x, &sorted, WORK_NONE, OP_BLOCKED_GEMM);
    *output = part_combine(p, ragged_spread(p) ? ragged_send_back(p, out, &rows) : out,
                           ragged_spread(p) ? &back : &sorted);
    return STATUS_OK;
}

const struct path_system path_block_sparse = {
    .backward = true,
    .build = build,
    .hold = hold,
    .alignment = 128,
    .align = align,
    .exchange = EXCHANGE_ROWS,
    .refusals = refusals,
    .n_refusals = sizeof refusals / sizeof *refusals,
};
