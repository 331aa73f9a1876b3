/* Experts of engines whose kernels write a tensor per product: DeepGEMM contiguous, compact and
 * masked, and Triton as SGLang calls it. What differs is over which rows.
 *
 * Sources: engines.md 2.3 and 3 (SGLang srt/layers/moe/moe_runner, TensorRT-LLM
 * _torch/modules/fused_moe/fused_moe_deepgemm.py). */
#include "work/dispatch/dispatch_parts.h"
#include "work/dispatch/dispatch_rows.h"

/* ---- rows ---- */

/* Every local expert has as many slots as all tokens seen may need. */
static struct row_dims slots_of(const struct hold_path *p, struct size depth,
                                enum sizing_rule rule)
{
    return (struct row_dims){.n = 2, .dims = {p->x.local, depth}, .rule = rule};
}

static struct row_dims rows_for(struct hold_path *p, const struct row_dims *tokens)
{
    struct sizes *s = p->x.sizes;
    struct size seen = part_at_once(p, tokens);
    struct size pairs = size_mul(s, seen, p->x.top_k);
    enum expert_kernel kernel = p->style->kernel;
    if (kernel == EXPERT_KERNEL_CONTIGUOUS)
        return part_expert_rows(p, 128);
    if (kernel == EXPERT_KERNEL_COMPACT)
        return rows_of(tile_rows(&p->x, pairs, p->x.local, 128), tokens->rule);
    if (kernel == EXPERT_KERNEL_MASKED_128)
        return slots_of(p, size_up(s, seen, 128), tokens->rule);
    if (kernel != EXPERT_KERNEL_MASKED_256)
        return rows_of(pairs, tokens->rule);
    struct size whole = size_plus(s, size_div(s, seen, size_const(s, 256)), 1);
    return slots_of(p, size_times(s, whole, 256), tokens->rule);
}

/* ---- products ---- */

static bool takes_fp8(const struct hold_path *p)
{
    enum dtype weights = p->plan->precision.weights;
    return weights == DTYPE_FP8_BLOCK || weights == DTYPE_FP8;
}

/* Rows as the products read them: fp8 with an f32 scale per 128, or as activations. */
static uint16_t operand(struct hold_path *p, const char *name, const char *scales,
                        const struct row_dims *rows, struct size width, uint16_t *with)
{
    *with = WORK_NONE;
    if (!takes_fp8(p))
        return part_rows(p, name, CATEGORY_EXPERT, rows, width);
    *with = part_table(p, scales, DTYPE_F32, rows, size_ceil_by(p->x.sizes, width, 128));
    return part_floats(p, name, CATEGORY_EXPERT, DTYPE_FP8, rows, width);
}

uint16_t part_products(struct hold_path *p, uint16_t x, const struct row_dims *tokens)
{
    bool moved = p->style->kernel != EXPERT_KERNEL_TRITON_PLAIN; /* else read by sorted ids */
    struct row_dims rows = rows_for(p, tokens);
    struct size wide = size_times(p->x.sizes, p->x.inter, p->plan->model.moe.glu ? 2 : 1);
    uint16_t scales = WORK_NONE, input = x, active_scales = WORK_NONE;
    if (moved) {
        input = operand(p, "expert_rows", "expert_row_scales", &rows, p->x.hidden, &scales);
        flow_op(&p->flow, part_move(p, "permute", OP_PERMUTE), FLOW(x, p->indices),
                FLOW(input, scales));
    }
    uint16_t up = part_rows(p, "expert_gate_up", CATEGORY_EXPERT, &rows, wide);
    flow_op(&p->flow, part_move(p, "expert_gate_up", OP_GROUPED_GEMM),
            FLOW(input, scales, p->indices), FLOW(up));
    uint16_t active =
        moved ? operand(p, "expert_activated", "expert_activated_scales", &rows, p->x.inter,
                        &active_scales)
              : part_rows(p, "expert_activated", CATEGORY_EXPERT, &rows, p->x.inter);
    flow_op(&p->flow, part_move(p, "expert_activation", OP_ACTIVATION), FLOW(up),
            FLOW(active, active_scales));
    uint16_t down = part_rows(p, "expert_out", CATEGORY_EXPERT, &rows, p->x.hidden);
    flow_op(&p->flow, part_move(p, "expert_down", OP_GROUPED_GEMM), FLOW(active, active_scales),
            FLOW(down));
    uint16_t out = part_rows(p, "fused_out", CATEGORY_DISPATCH, tokens, p->x.hidden);
    flow_op(&p->flow, part_move(p, "combine", OP_COMBINE), FLOW(down, p->gates), FLOW(out));
    return out;
}
