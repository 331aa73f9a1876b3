/* blockwise: rows in blocks of B, one expert a block; blocks are computed one after the other
 * and added to their tokens (seed 002 BWMM; seed-systems.md B2, B3). As many blocks are
 * provided as any routing can need; with moe.skip.dynamic only those with rows are run beyond a
 * static number. */
#include "work/path.h"

/* Rows that may reach this rank's experts: all tokens' K, as in Neuron's kernels. */
static struct size provisioned(struct layer *l, struct size tokens)
{
    struct sizes *z = l->z;
    struct size rows = size_mul(z, tokens, l->K), B = size_slot(z, SLOT_BLOCK);
    struct size slack = size_mul(z, l->e, size_sub(z, B, l->one));
    return size_min(z, size_div(z, size_add(z, rows, slack), B), rows);
}

/* Blocks that always run: ceil(ceil(T K / R) / B) of the whole group's tokens. */
static struct size always(struct layer *l, struct size tokens)
{
    struct sizes *z = l->z;
    struct size share = size_ceil_div(z, size_mul(z, tokens, l->K), l->R);
    return size_ceil_div(z, share, size_slot(z, SLOT_BLOCK));
}

struct block_maps {
    uint16_t expert, index, place, trips;
    struct size executed;
};

static struct block_maps map_blocks(struct layer *l, const struct everyone *all)
{
    struct sizes *z = l->z;
    struct size N = provisioned(l, all->tokens.rows), fixed = always(l, all->tokens.rows);
    bool dynamic = l->plan->moe.skip_dynamic;
    struct block_maps m = {
        .expert = layer_map(l, "block_expert", layer_fixed(N)),
        .index =
            layer_map(l, "block_index", layer_fixed(size_mul(z, N, size_slot(z, SLOT_BLOCK)))),
        .place = layer_map(l, "block_place", layer_fixed(size_mul(z, all->tokens.rows, l->K))),
        .trips = layer_counts(l, "blocks_run", l->one),
        .executed =
            dynamic ? size_max(z, size_min(z, fixed, N), size_slot(z, SLOT_BLOCKS)) : N};
    layer_op(l,
             (struct op){.name = "blocks",
                         .kernel = KERNEL_BLOCKS,
                         .flags = dynamic ? KERNEL_DYNAMIC : 0,
                         .m = fixed},
             LAYER_OPERANDS(all->phys),
             LAYER_OPERANDS(m.expert, m.index, m.place,
                            layer_map(l, "conditions", layer_fixed(N)), m.trips));
    return m;
}

uint16_t path_blockwise_build(struct layer *l)
{
    struct sizes *z = l->z;
    struct size B = size_slot(z, SLOT_BLOCK);
    struct everyone all = layer_gather_everyone(l);
    struct block_maps m = map_blocks(l, &all);
    struct extent rows = {B, size_mul(z, m.executed, B), RULE_FIXED};
    uint16_t sum = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    layer_op(l, (struct op){.name = "zero_sum", .kernel = KERNEL_ZERO},
             LAYER_OPERANDS(WORK_NONE), LAYER_OPERANDS(sum));

    layer_loop_begin(l, m.executed, m.trips);
    uint16_t x = layer_rows(l, "x_block", CATEGORY_DISPATCH, l->activation, rows, l->H);
    layer_op(l,
             (struct op){.name = "load_block",
                         .kernel = KERNEL_GATHER,
                         .flags = KERNEL_INDEX_I,
                         .m = B,
                         .k = l->K,
                         .groups = l->K,
                         .bytes_read = layer_traffic(l, rows.used, all.x),
                         .bytes_written = layer_traffic(l, rows.used, x)},
             LAYER_OPERANDS(all.x, m.index, m.place, all.phys, WORK_NONE,
                            layer_gates_in(l, all.gates)),
             LAYER_OPERANDS(x));
    struct groups one = {WORK_NONE, WORK_NONE, m.expert};
    uint16_t y = layer_expert(l, x, rows, one, KERNEL_WEIGHT_I);
    layer_op(
        l,
        (struct op){.name = "accumulate",
                    .kernel = KERNEL_ACCUMULATE,
                    .flags = KERNEL_INDEX_I,
                    .m = B,
                    .bytes_read = layer_traffic(l, rows.used, y)},
        LAYER_OPERANDS(y, layer_gates_out(l, all.gates), all.phys, sum, m.index, WORK_NONE),
        LAYER_OPERANDS(sum));
    layer_loop_end(l);
    return layer_reduce_everyone(l, "routed_out", sum, l->combined, l->activation);
}
