/* What must hold inside a model, whatever runs it. */
#include "plan/rule_parts.h"

#include "plan/derive.h"

static bool has_experts(const struct plan *plan)
{
    return plan_moe_layers(plan) > 0;
}

/* A collective matmul has the dense layers' matrices. */
static bool has_dense(const struct plan *plan)
{
    return plan->model.dense_layers > 0 || plan->block.kind != BLOCK_MOE;
}

static bool has_groups(const struct plan *plan)
{
    return has_experts(plan) && plan->model.moe.router.groups > 1;
}

static bool has_period(const struct plan *plan)
{
    return has_experts(plan) && plan->model.moe_every > 1;
}

static bool is_mla(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_MLA;
}

static bool is_gqa(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_GQA;
}

static uint64_t reachable_experts(const struct plan *plan)
{
    const struct router *router = &plan->model.moe.router;
    return rule_product(router->top_groups, plan->model.moe.experts / router->groups, 1);
}

static uint64_t periodic_moe_layers(const struct plan *plan)
{
    return plan->model.layers / plan->model.moe_every;
}

static uint64_t rotary_and_plain(const struct plan *plan)
{
    return plan->model.attention.qk_nope_head_dim + plan->model.attention.qk_rope_head_dim;
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
     .a = DERIVED("layers - dense_layers", plan_moe_layers),
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
     .applies = has_experts,
     .a = MEMBER("experts", model.moe.experts),
     .hint = "the model has MoE layers"},
    {.name = "top-k-there",
     .key = "model.moe.top_k",
     .shape = RULE_POSITIVE,
     .applies = has_experts,
     .a = MEMBER("top_k", model.moe.top_k),
     .hint = "the model has MoE layers"},
    {.name = "expert-width",
     .key = "model.moe.intermediate",
     .shape = RULE_POSITIVE,
     .applies = has_experts,
     .a = MEMBER("intermediate", model.moe.intermediate),
     .hint = "the model has MoE layers"},
    {.name = "top-k-within-experts",
     .key = "model.moe.top_k",
     .shape = RULE_AT_MOST,
     .applies = has_experts,
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
    {.name = "gqa-head-size",
     .key = "model.attention.head_dim",
     .shape = RULE_POSITIVE,
     .applies = is_gqa,
     .a = MEMBER("head_dim", model.attention.head_dim),
     .hint = "hidden / heads is not even 1: state head_dim"},
    {.name = "kv-heads-divide-heads",
     .key = "model.attention.kv_heads",
     .shape = RULE_DIVIDES,
     .applies = is_gqa,
     .a = MEMBER("heads", model.attention.heads),
     .b = MEMBER("kv_heads", model.attention.kv_heads),
     .also = {"model.attention.heads"}},
    {.name = "mla-kv-rank",
     .key = "model.attention.kv_lora_rank",
     .shape = RULE_POSITIVE,
     .applies = is_mla,
     .a = MEMBER("kv_lora_rank", model.attention.kv_lora_rank),
     .hint = "kind mla needs it"},
    {.name = "mla-qk-size",
     .key = "model.attention.qk_nope_head_dim",
     .shape = RULE_POSITIVE,
     .applies = is_mla,
     .a = DERIVED("qk_nope_head_dim + qk_rope_head_dim", rotary_and_plain),
     .hint = "kind mla needs them"},
    {.name = "mla-v-size",
     .key = "model.attention.v_head_dim",
     .shape = RULE_POSITIVE,
     .applies = is_mla,
     .a = MEMBER("v_head_dim", model.attention.v_head_dim),
     .hint = "kind mla needs it"},
};

const struct rule_set rule_set_model = {rules, sizeof rules / sizeof *rules};
