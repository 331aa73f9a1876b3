/* What is routed of a layer: its path between two projections where experts work on a latent
 * width. Tokens are projected down before they are dispatched, so that rows travel and are
 * computed at that width, and the sum of a token's rows is projected up; the router and what
 * stands beside the experts read the token. Every rank projects its own tokens by whole
 * matrices (Megatron-LM moe_layer.py: TELinear "duplicated"; vLLM nemotron_h.py:
 * ReplicatedLinear). */
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/path/path.h"
#include "work/layer/layer.h"

/* All tokens by one matrix, to rows of a width. */
static uint16_t project(struct layer *l, const char *name, const char *result, uint16_t x,
                        uint16_t w, struct size width)
{
    uint16_t y = layer_rows(l, result, CATEGORY_ACTIVATION, l->activation, l->tokens, width);
    struct gemm_shape shape = {
        .rows = l->T, .k = layer_width(l, x), .n = width, .groups = l->one};
    layer_gemm(l, name, x, w, WORK_NONE, y, layer_no_groups(), shape);
    return layer_lora_beside(l, name, x, y, layer_no_groups(), shape);
}

static void add_weights(struct layer *l)
{
    enum dtype format = plan_part_format(l->plan, PART_LATENT);
    l->latent_down = layer_weights_as(l, "w_latent_down", format, l->one, l->hidden, l->H);
    l->latent_up = layer_weights_as(l, "w_latent_up", format, l->one, l->H, l->hidden);
    layer_fill(l, l->latent_down, FILL_LATENT_DOWN);
    layer_fill(l, l->latent_up, FILL_LATENT_UP);
}

/* The ops of the path: experts that are split over replicas take the tokens of all of them. */
static uint16_t path(struct layer *l)
{
    if (layer_joins(l) && !plan_joins_networks(l->plan)) {
        struct own_tokens apart = layer_join_routed(l);
        return layer_part_routed(l, &apart, l->path->build(l));
    }
    uint16_t routed = l->path->build(l);
    bool partial = l->plan->parallel.etp > 1 && !layer_gathers_over_etp(l->plan);
    if (l->listed && partial && !layer_joins(l)) /* a rank computed its part of the width */
        routed = layer_all_reduced(l, "etp_sum", GROUP_ETP, routed);
    return routed;
}

/* A norm of what the experts made of a token (Kimi-K3: routed_expert_norm). */
static uint16_t normed(struct layer *l, uint16_t sum)
{
    if (!l->plan->model.moe.latent_norm)
        return sum;
    l->latent_norm = layer_factors(l, "w_latent_norm", l->H, FILL_LATENT_NORM);
    return layer_norm(l, (struct norm){"latent_norm", "latent_normed", l->latent_norm, false},
                      sum);
}

uint16_t layer_routed(struct layer *l)
{
    uint16_t x = l->x;
    if (!l->plan->model.moe.latent_size)
        return path(l);
    add_weights(l);
    l->x = project(l, "latent_down", "x_latent", x, l->latent_down, l->H);
    uint16_t routed = path(l);
    l->x = x;
    return project(l, "latent_up", "latent_out", normed(l, routed), l->latent_up, l->hidden);
}
