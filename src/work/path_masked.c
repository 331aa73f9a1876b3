/* masked: every local expert computes every token, and a mask keeps what was routed to it
 * (seed 003's naive scan). */
#include "work/path.h"

uint16_t path_masked_build(struct layer *l)
{
    struct everyone all = layer_gather_everyone(l);
    uint16_t sum = layer_rows(l, "sum", CATEGORY_ACTIVATION, DTYPE_F32, all.tokens, l->H);
    layer_op(l, (struct op){.name = "zero_sum", .kernel = KERNEL_ZERO},
             LAYER_OPERANDS(WORK_NONE), LAYER_OPERANDS(sum));
    layer_loop_begin(l, l->e, WORK_NONE);
    struct groups none = {WORK_NONE, WORK_NONE, WORK_NONE};
    struct extent rows = all.tokens;
    rows.used = size_mul(l->z, l->e, rows.rows);
    uint16_t y = layer_expert(l, all.x, rows, none, KERNEL_WEIGHT_I);
    layer_op(l,
             (struct op){.name = "accumulate",
                         .kernel = KERNEL_ACCUMULATE,
                         .bytes_read = layer_traffic(l, rows.used, y)},
             LAYER_OPERANDS(y, all.gates, all.phys, sum), LAYER_OPERANDS(sum));
    layer_loop_end(l);
    return layer_reduce_everyone(l, "routed_out", sum, l->combined, l->activation);
}
