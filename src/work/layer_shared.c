/* Shared experts: every token, no routing; their output is added to the routed one. */
#include "work/layer.h"

uint16_t layer_shared(struct layer *l, uint16_t routed_out)
{
    if (!l->plan->model.moe.shared_intermediate)
        return routed_out;
    struct size inter = size_slot(l->z, SLOT_SHARED_INTER);
    struct size wide = l->plan->model.moe.glu ? size_times(l->z, inter, 2) : inter;
    struct groups none = {WORK_NONE, WORK_NONE, WORK_NONE};
    uint16_t w13 = layer_weights(l, "shared_w13", l->one, l->H, wide);
    uint16_t w2 = layer_weights(l, "shared_w2", l->one, inter, l->H);
    l->shared13 = w13;
    l->shared2 = w2;
    layer_fill(l, w13, FILL_SHARED_13);
    layer_fill(l, w2, FILL_SHARED_2);
    uint16_t h = layer_rows(l, "shared_h", CATEGORY_EXPERT, l->activation, l->tokens, wide);
    uint16_t a = layer_rows(l, "shared_a", CATEGORY_EXPERT, l->activation, l->tokens, inter);
    uint16_t y = layer_rows(l, "shared_y", CATEGORY_EXPERT, l->activation, l->tokens, l->H);
    uint16_t sum = layer_rows(l, "out", CATEGORY_ACTIVATION, l->activation, l->tokens, l->H);
    layer_gemm(l, "shared_gate_up", l->x, w13, WORK_NONE, h, none,
               (struct gemm_shape){l->T, l->H, wide, l->one}, 0);
    layer_activation(l, "shared_activation", h, a, none, l->T, 0);
    layer_gemm(l, "shared_down", a, w2, WORK_NONE, y, none,
               (struct gemm_shape){l->T, inter, l->H, l->one}, 0);
    layer_op(l, (struct op){.name = "add_shared", .kernel = KERNEL_ADD},
             LAYER_OPERANDS(routed_out, y), LAYER_OPERANDS(sum));
    return sum;
}
