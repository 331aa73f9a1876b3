/* all_experts: every local expert computes every token at once, and combine leaves out what was
 * not chosen (seed 002 decode). */
#include "work/path.h"

uint16_t path_all_experts_build(struct layer *l)
{
    struct sizes *z = l->z;
    struct everyone all = layer_gather_everyone(l);
    struct extent rows = layer_fixed(size_mul(z, l->e, all.tokens.rows));
    uint16_t place = layer_map(l, "place", layer_fixed(size_mul(z, all.tokens.rows, l->K)));
    uint16_t index = layer_map(l, "index", rows);
    layer_op(l, (struct op){.name = "table", .kernel = KERNEL_TABLE}, LAYER_OPERANDS(all.phys),
             LAYER_OPERANDS(place, index));
    struct groups batched = {WORK_NONE, WORK_NONE, WORK_NONE};
    uint16_t y = layer_expert(l, all.x, rows, batched, KERNEL_SHARED_A);
    uint16_t partial =
        layer_rows(l, "y_folded", CATEGORY_DISPATCH, l->combined, all.tokens, l->H);
    layer_combine(l, "mask_and_add",
                  (struct combine){.y = y,
                                   .position = place,
                                   .gates = all.gates,
                                   .keys = all.phys,
                                   .inverse = index,
                                   .handle = WORK_NONE,
                                   .out = partial,
                                   .slots = l->K,
                                   .used = rows.rows});
    return layer_reduce_everyone(l, "routed_out", partial, l->combined, l->activation);
}
