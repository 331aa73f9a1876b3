/* What must hold of a model's layers, experts and encoder, whatever runs it. */
#include "plan/rule/rule_parts.h"

#include "plan/derive.h"
#include "plan/layers.h"
#include "plan/params.h"

static bool has_dense_modules(const struct plan *plan)
{
    return plan_has_modules(plan) && kind_ffn(model_mtp_kind(&plan->model)) == FFN_DENSE;
}

/* A collective matmul has the dense layers' matrices. */
static bool has_dense(const struct plan *plan)
{
    return model_ffns(&plan->model, FFN_DENSE) > 0 || plan->model.dense_layers > 0 ||
           plan->block.kind != BLOCK_MOE || has_dense_modules(plan);
}

static bool has_groups(const struct plan *plan)
{
    return plan_has_experts(plan) && plan->model.moe.router.groups > 1;
}

static bool has_period(const struct plan *plan)
{
    const struct model *model = &plan->model;
    return model->moe.experts > 0 && model->moe_every > 1 && !model_has_parts(model);
}

static bool model_is_parts(const struct plan *plan)
{
    return model_has_parts(&plan->model);
}

static uint64_t listed_dense_layers(const struct plan *plan)
{
    return model_ffns(&plan->model, FFN_DENSE);
}

static uint64_t encoder_width(const struct plan *plan)
{
    return params_encoder_attention(&plan->model.encoder);
}

static bool has_encoder(const struct plan *plan)
{
    return plan->model.encoder.layers > 0;
}

static uint64_t reachable_experts(const struct plan *plan)
{
    const struct router *router = &plan->model.moe.router;
    return rule_product(router->top_groups, plan->model.moe.experts / router->groups, 1);
}

static uint64_t not_dense_layers(const struct plan *plan)
{
    return plan->model.layers - plan->model.dense_layers;
}

static uint64_t periodic_moe_layers(const struct plan *plan)
{
    return plan->model.layers / plan->model.moe_every;
}

static const struct rule rules[] = {
    {.name = "dense-layers-within-layers",
     .key = "model.dense_layers",
     .shape = RULE_AT_MOST,
     .a = MEMBER("dense_layers", model.dense_layers),
     .b = MEMBER("layers", model.layers),
     .hint = "dense_layers counts some of the layers",
     .also = {"model.layers"}},
    {.name = "moe-period",
     .key = "model.moe_every",
     .shape = RULE_EQUAL,
     .applies = has_period,
     .a = DERIVED("layers - dense_layers", not_dense_layers),
     .b = DERIVED("layers / moe_every", periodic_moe_layers),
     .hint = "with moe_every n, every n-th layer has experts",
     .also = {"model.dense_layers", "model.layers"}},
    {.name = "dense-width",
     .key = "model.dense_intermediate",
     .shape = RULE_POSITIVE,
     .applies = has_dense,
     .a = MEMBER("dense_intermediate", model.dense_intermediate),
     .hint = "the model has dense layers, or the block is a collective matmul"},
    {.name = "experts-there",
     .key = "model.moe.experts",
     .shape = RULE_POSITIVE,
     .applies = plan_has_experts,
     .a = MEMBER("experts", model.moe.experts),
     .hint = "the model has MoE layers"},
    {.name = "top-k-there",
     .key = "model.moe.top_k",
     .shape = RULE_POSITIVE,
     .applies = plan_has_experts,
     .a = MEMBER("top_k", model.moe.top_k),
     .hint = "the model has MoE layers"},
    {.name = "expert-width",
     .key = "model.moe.intermediate",
     .shape = RULE_POSITIVE,
     .applies = plan_has_experts,
     .a = MEMBER("intermediate", model.moe.intermediate),
     .hint = "the model has MoE layers"},
    {.name = "latent-within-hidden",
     .key = "model.moe.latent_size",
     .shape = RULE_AT_MOST,
     .applies = plan_has_experts,
     .a = MEMBER("latent_size", model.moe.latent_size),
     .b = MEMBER("hidden", model.hidden),
     .hint = "experts on a latent width work on narrower rows; 0: on the hidden size",
     .also = {"model.hidden"}},
    {.name = "top-k-within-experts",
     .key = "model.moe.top_k",
     .shape = RULE_AT_MOST,
     .applies = plan_has_experts,
     .a = MEMBER("top_k", model.moe.top_k),
     .b = MEMBER("experts", model.moe.experts),
     .hint = "a token goes to distinct experts",
     .also = {"model.moe.experts"}},
    {.name = "groups-divide-experts",
     .key = "model.moe.router.groups",
     .shape = RULE_DIVIDES,
     .applies = has_groups,
     .a = MEMBER("experts", model.moe.experts),
     .b = MEMBER("router groups", model.moe.router.groups),
     .also = {"model.moe.experts"}},
    {.name = "top-groups-within-groups",
     .key = "model.moe.router.top_groups",
     .shape = RULE_AT_MOST,
     .applies = has_groups,
     .a = MEMBER("top_groups", model.moe.router.top_groups),
     .b = MEMBER("router groups", model.moe.router.groups),
     .hint = "a token goes to distinct groups"},
    {.name = "top-k-within-groups",
     .key = "model.moe.top_k",
     .shape = RULE_AT_MOST,
     .applies = has_groups,
     .a = MEMBER("top_k", model.moe.top_k),
     .b = DERIVED("the experts of top_groups groups,", reachable_experts),
     .hint = "raise router.top_groups, or lower router.groups or top_k",
     .also = {"model.moe.router.top_groups", "model.moe.router.groups"}},
    {.name = "encoder-hidden",
     .key = "model.encoder.hidden",
     .shape = RULE_POSITIVE,
     .applies = has_encoder,
     .a = MEMBER("encoder hidden", model.encoder.hidden),
     .hint = "the model has an encoder",
     .also = {"model.encoder.layers"}},
    {.name = "encoder-heads",
     .key = "model.encoder.heads",
     .shape = RULE_POSITIVE,
     .applies = has_encoder,
     .a = MEMBER("encoder heads", model.encoder.heads),
     .hint = "the model has an encoder",
     .also = {"model.encoder.layers"}},
    {.name = "encoder-heads-divide-hidden",
     .key = "model.encoder.heads",
     .shape = RULE_DIVIDES,
     .applies = has_encoder,
     .a = DERIVED("encoder attention", encoder_width),
     .b = MEMBER("encoder heads", model.encoder.heads),
     .also = {"model.encoder.hidden", "model.encoder.attention"}},
    {.name = "encoder-width",
     .key = "model.encoder.intermediate",
     .shape = RULE_POSITIVE,
     .applies = has_encoder,
     .a = MEMBER("encoder intermediate", model.encoder.intermediate),
     .hint = "the model has an encoder",
     .also = {"model.encoder.layers"}},
    {.name = "parts-say-their-network",
     .key = "model.dense_layers",
     .shape = RULE_EQUAL,
     .applies = model_is_parts,
     .a = MEMBER("dense_layers", model.dense_layers),
     .b = DERIVED("the dense layers of layer_types,", listed_dense_layers),
     .hint = "leave dense_layers and moe_every out: layer_types says which layers are dense",
     .also = {"model.layer_types", "model.moe_every"}},
};

const struct rule_set rule_set_model = {rules, sizeof rules / sizeof *rules};
