/* block_sparse: ragged_a2a whose experts' rows are padded to blocks of B, computed by block-
 * sparse products (MegaBlocks dMoE; buffers.md 8). */
#include "work/path/path.h"

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
                         .bytes_read = size_add(z, layer_traffic(l, t->padded.used, a),
                                                l->work->buffers[w].bytes),
                         .bytes_written = layer_traffic(l, t->padded.used, c),
                         .args.sparse = {.block = {t->B}, .inter = {l->I}},
                         .groups = l->e,
                         .m = t->padded.used,
                         .n = kernel == KERNEL_SDD ? parts : width,
                         .k = kernel == KERNEL_SDD ? width : parts},
             OPERANDS(IN(SRC, a), IN(WEIGHT, w), IN(ROW_BLOCK, t->row_block),
                      IN(COLUMN_BLOCK, t->column_block), IN(OFFSETS, t->offsets),
                      IN(BIAS, bias), OUT(DST, c)));
}

uint16_t path_block_sparse_expert(struct layer *l, uint16_t x, struct extent padded,
                                  uint16_t offsets)
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
