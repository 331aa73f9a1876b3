/* The router: logits by a product, top-k, logical experts to physical ones.
 *
 * Which experts are chosen is routing's sample: the logits of the wanted experts are lifted, so
 * that the real top-k, run on real logits, chooses exactly those (frameworks call it forced
 * load balancing); the gates are the scores it computes. */
#include "work/layer/layer.h"

#include "plan/engine.h"
#include "work/piece/dims.h"

static uint16_t table(struct layer *l, const char *name, enum dtype dtype, struct size n,
                      enum fill fill)
{
    uint16_t buffer = layer_buffer(l, name, CATEGORY_WEIGHTS, dtype, RULE_FIXED, 1, &n);
    layer_fill(l, buffer, fill);
    return buffer;
}

/* What the router multiplies: Gemma 4 norms the token, without weights, and multiplies it by
 * learned factors and one over the root of its width (transformers gemma4/modeling_gemma4.py,
 * Gemma4TextRouter), which is one norm with them as its weights. */
static uint16_t router_input(struct layer *l)
{
    if (!l->plan->model.moe.router.learned_scale)
        return l->x;
    l->router_norm = layer_factors(l, "w_router_norm", l->hidden, FILL_ROUTER_NORM);
    return layer_norm(l, (struct norm){"router_norm", "router_normed", l->router_norm, true},
                      l->x);
}

/* Its gates, after they were made to sum to one, are multiplied by a factor of each expert
 * (Gemma4TextRouter: per_expert_scale). */
static void scale_gates(struct layer *l, struct size experts)
{
    if (!l->plan->model.moe.router.learned_scale)
        return;
    uint16_t gates = l->gates;
    l->gate_scale = layer_factors(l, "gate_scale", experts, FILL_GATE_SCALE);
    l->gates = layer_rows(l, "scaled_gates", CATEGORY_METADATA, DTYPE_F32, l->tokens, l->K);
    layer_op(l, (struct op){.name = "scale_gates", .kernel = KERNEL_SCALE_GATES},
             OPERANDS(IN(GATES, gates), IN(IDS, l->ids), IN(WEIGHT, l->gate_scale),
                      OUT(DST, l->gates)));
}

static void add_logits(struct layer *l, struct size experts)
{
    /* engines hold it as the model's other plain matrices; the host computes it in f32 */
    enum dtype format = plan_is_engine(l->plan) ? DTYPE_BF16 : DTYPE_F32;
    l->router =
        layer_rows(l, "router", CATEGORY_WEIGHTS, format, layer_fixed(l->hidden), experts);
    layer_fill(l, l->router, FILL_ROUTER);
    l->logits = layer_rows(l, "logits", CATEGORY_METADATA, DTYPE_F32, l->tokens, experts);
    if (l->plan->model.moe.router.linear_bias) {
        l->linear_bias = layer_rows(l, "router_linear_bias", CATEGORY_WEIGHTS, DTYPE_F32,
                                    layer_fixed(l->one), experts);
        layer_fill(l, l->linear_bias, FILL_LINEAR_BIAS);
    }
    struct gemm_shape shape = {.rows = l->T, .k = l->hidden, .n = experts, .groups = l->one};
    layer_gemm(l, "router", router_input(l), l->router, l->linear_bias, l->logits,
               layer_no_groups(), shape);
}

/* The layer's input and the experts its tokens want, which a step's list has from elsewhere. */
static uint16_t make_up(struct layer *l)
{
    if (l->x != WORK_NONE)
        return WORK_NONE;
    l->x = layer_rows(l, "x", CATEGORY_ACTIVATION, l->activation, l->tokens, l->hidden);
    layer_fill(l, l->x, FILL_X);
    uint16_t wanted = layer_rows(l, "wanted", CATEGORY_METADATA, DTYPE_I32, l->tokens, l->K);
    layer_fill(l, wanted, FILL_WANTED);
    return wanted;
}

void layer_router(struct layer *l)
{
    struct size experts = size_slot(l->z, SLOT_LOGICAL_EXPERTS);
    struct size choices = dims_choices(l->z, l->plan, experts);
    uint16_t wanted = make_up(l);
    l->bias = WORK_NONE;
    if (l->plan->model.moe.router.bias)
        l->bias = table(l, "router_bias", DTYPE_F32, choices, FILL_BIAS);
    uint16_t start =
        table(l, "replica_start", DTYPE_I32, size_add(l->z, experts, l->one), FILL_START);
    uint16_t replica = table(l, "replica", DTYPE_I32, l->E, FILL_REPLICA);
    add_logits(l, choices);
    l->ids = layer_rows(l, "ids", CATEGORY_METADATA, DTYPE_I32, l->tokens, l->K);
    l->gates = layer_rows(l, "gates", CATEGORY_METADATA, DTYPE_F32, l->tokens, l->K);
    l->phys = layer_rows(l, "phys", CATEGORY_METADATA, DTYPE_I32, l->tokens, l->K);
    layer_op(l, (struct op){.name = "topk", .kernel = KERNEL_TOPK},
             OPERANDS(IN(LOGITS, l->logits), IN(WANTED, wanted), IN(BIAS, l->bias),
                      OUT(IDS, l->ids), OUT(GATES, l->gates)));
    scale_gates(l, choices);
    layer_op(
        l, (struct op){.name = "place", .kernel = KERNEL_PLACE},
        OPERANDS(IN(IDS, l->ids), IN(START, start), IN(REPLICA, replica), OUT(PHYS, l->phys)));
}
