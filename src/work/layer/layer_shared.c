/* Networks beside the routed experts: every token, no routing; their output is added to the
 * routed one. Shared experts, whose output may have a gate of its own, sigmoid(x w)
 * (Qwen2-MoE), and a dense MLP (Arctic), which here reads the rows that the experts read. */
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/piece/dims.h"
#include "work/layer/layer.h"
#include "work/piece/dims.h"

/* Whether a network's width is split over tp ranks that have different tokens: they are
 * gathered before it and its sums scattered after (a step's list only: the host refuses). */
static bool gathers(const struct layer *l, bool split)
{
    return split && plan_token_ranks(l->plan) > 1;
}

static uint16_t entered(struct layer *l, const char *name, bool split, struct extent *rows)
{
    *rows = l->tokens;
    if (!gathers(l, split))
        return l->x;
    *rows = layer_fixed(size_mul(l->z, l->T, dims_token_ranks(l->z, l->plan)));
    uint16_t all = layer_rows(l, arena_join(l->arena, name, "_x"), CATEGORY_COMMUNICATION,
                              l->activation, *rows, l->hidden);
    layer_gather_again(l, arena_join(l->arena, "gather_", name), l->x, all);
    return all;
}

static uint16_t summed(struct layer *l, const char *name, bool split, uint16_t y)
{
    if (!l->listed || !split || l->plan->parallel.tp == 1 || plan_joins_networks(l->plan))
        return y; /* joined replicas: summed with the routed experts' part */
    const char *sum = arena_join(l->arena, name, "_sum");
    if (!gathers(l, split))
        return layer_all_reduced(l, sum, GROUP_TP, y);
    uint16_t out = layer_rows(l, sum, CATEGORY_EXPERT, l->activation, l->tokens, l->hidden);
    layer_collective(l, arena_join(l->arena, "scatter_", name), GROUP_TP, REDUCE_SCATTER, y,
                     out, l->work->buffers[y].bytes);
    return out;
}

/* With adapters beside it where the matrix has some. */
static uint16_t product(struct layer *l, const char *name, uint16_t a, uint16_t w, uint16_t c,
                        struct size rows)
{
    struct gemm_shape shape = {
        .rows = rows, .k = layer_width(l, a), .n = layer_width(l, c), .groups = l->one};
    layer_gemm(l, name, a, w, WORK_NONE, c, layer_no_groups(), shape);
    return layer_lora_beside(l, name, a, c, layer_no_groups(), shape);
}

/* A network of width `inter`, or of a tp rank's part of it, over all tokens: returns its output
 * [T, H]. */
static uint16_t network(struct layer *l, const char *name, struct size inter, bool split,
                        uint16_t w13, uint16_t w2)
{
    struct size wide = l->plan->model.moe.glu ? size_times(l->z, inter, 2) : inter;
    struct extent rows;
    uint16_t x = entered(l, name, split, &rows);
    uint16_t h = layer_rows(l, arena_join(l->arena, name, "_h"), CATEGORY_EXPERT, l->activation,
                            rows, wide);
    uint16_t a = layer_rows(l, arena_join(l->arena, name, "_a"), CATEGORY_EXPERT, l->activation,
                            rows, inter);
    uint16_t y = layer_rows(l, arena_join(l->arena, name, "_y"), CATEGORY_EXPERT, l->activation,
                            rows, l->hidden);
    h = product(l, arena_join(l->arena, name, "_gate_up"), x, w13, h, rows.rows);
    layer_activation(l, arena_join(l->arena, name, "_activation"), h, a, layer_no_groups(),
                     rows.rows);
    y = product(l, arena_join(l->arena, name, "_down"), a, w2, y, rows.rows);
    return summed(l, name, split, y);
}

static void add_weights(struct layer *l, const char *name, enum weight_part part,
                        struct size inter, enum fill fill13, enum fill fill2, uint16_t *w13,
                        uint16_t *w2)
{
    enum dtype format = plan_part_format(l->plan, part);
    struct size wide = l->plan->model.moe.glu ? size_times(l->z, inter, 2) : inter;
    *w13 = layer_weights_as(l, arena_join(l->arena, name, "_w13"), format, l->one, l->hidden,
                            wide);
    *w2 = layer_weights_as(l, arena_join(l->arena, name, "_w2"), format, l->one, inter,
                           l->hidden);
    layer_fill(l, *w13, fill13);
    layer_fill(l, *w2, fill2);
}

/* y times the token's gate. */
static uint16_t gated(struct layer *l, uint16_t y)
{
    l->shared_gate = layer_rows(l, "shared_gate", CATEGORY_WEIGHTS, DTYPE_F32,
                                layer_fixed(l->hidden), l->one);
    layer_fill(l, l->shared_gate, FILL_SHARED_GATE);
    uint16_t logits =
        layer_rows(l, "shared_logits", CATEGORY_METADATA, DTYPE_F32, l->tokens, l->one);
    uint16_t gates =
        layer_rows(l, "shared_gates", CATEGORY_METADATA, DTYPE_F32, l->tokens, l->one);
    uint16_t out =
        layer_rows(l, "shared_gated", CATEGORY_EXPERT, l->activation, l->tokens, l->hidden);
    layer_gemm(
        l, "shared_gate", l->x, l->shared_gate, WORK_NONE, logits, layer_no_groups(),
        (struct gemm_shape){.rows = l->T, .k = l->hidden, .n = l->one, .groups = l->one});
    layer_op(l, (struct op){.name = "shared_sigmoid", .kernel = KERNEL_SIGMOID},
             OPERANDS(IN(SRC, logits), OUT(DST, gates)));
    layer_combine(l, "gate_shared",
                  (struct combine){.y = y,
                                   .position = WORK_NONE,
                                   .gates = gates,
                                   .keys = WORK_NONE,
                                   .inverse = WORK_NONE,
                                   .handle = WORK_NONE,
                                   .out = out,
                                   .slots = l->one,
                                   .used = l->T});
    return out;
}

static uint16_t added(struct layer *l, const char *name, const char *sum_name, uint16_t out,
                      uint16_t y)
{
    uint16_t sum =
        layer_rows(l, sum_name, CATEGORY_ACTIVATION, l->activation, l->tokens, l->hidden);
    layer_op(l, (struct op){.name = name, .kernel = KERNEL_ADD},
             OPERANDS(IN(SRC, out), IN(OTHER, y), OUT(DST, sum)));
    return sum;
}

bool layer_shares_gathered(const struct layer *l)
{
    return l->plan->model.moe.shared_intermediate && plan_shared_gathered(l->plan);
}

uint16_t layer_shared_added(struct layer *l, uint16_t out)
{
    struct size inter = dims_shared_width(l->z, l->plan);
    bool split = !plan_shared_whole(l->plan) && !plan_shared_gathered(l->plan);
    add_weights(l, "shared", PART_SHARED, inter, FILL_SHARED_13, FILL_SHARED_2, &l->shared13,
                &l->shared2);
    uint16_t y = network(l, "shared", inter, split, l->shared13, l->shared2);
    if (l->plan->model.moe.shared_gate)
        y = gated(l, y);
    return added(l, "add_shared", "out", out, y);
}

static uint16_t add_residual(struct layer *l, uint16_t out)
{
    struct size inter = size_ceil_div(l->z, size_slot(l->z, SLOT_RESIDUAL_INTER),
                                      dims_network_ranks(l->z, l->plan));
    add_weights(l, "residual", PART_RESIDUAL, inter, FILL_RESIDUAL_13, FILL_RESIDUAL_2,
                &l->residual13, &l->residual2);
    uint16_t y = network(l, "residual", inter, true, l->residual13, l->residual2);
    return added(l, "add_residual", "out_residual", out, y);
}

uint16_t layer_shared(struct layer *l, uint16_t routed_out)
{
    uint16_t out = routed_out;
    if (l->plan->model.moe.shared_intermediate && !layer_shares_gathered(l))
        out = layer_shared_added(l, out);
    if (l->plan->model.residual_intermediate)
        out = add_residual(l, out);
    return out;
}
