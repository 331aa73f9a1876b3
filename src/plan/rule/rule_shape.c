/* What must hold of layers whose parts are put together in other ways: queries of a low rank,
 * choices that compute nothing, experts added behind the next layer, networks beside their
 * mixers, gates of copies of the residual, embeddings of n-grams. */
#include <stddef.h>

#include "plan/derive.h"
#include "plan/layers.h"
#include "plan/rule/rule_parts.h"

struct other {
    bool holds;
    const char *what, *hint;
};

/* The first that holds: what is not modelled together, and what to do. */
static bool names_other(const struct other *others, size_t n, const char *with, char *text,
                        char *hint)
{
    for (size_t i = 0; i < n; i++) {
        if (!others[i].holds)
            continue;
        rule_say(text, "%s with %s: not modelled", with, others[i].what);
        rule_say(hint, "%s", others[i].hint);
        return true;
    }
    return false;
}

#define NAMES_OTHER(others, with)                                                              \
    names_other(others, sizeof(others) / sizeof *(others), with, text, hint)

/* Trainers with layers of their own, none of which has these; transformers' and engines' do. */
static bool trains_otherwise(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN &&
           (plan_is_megatron(plan) || plan->stack.kind == STACK_MAXTEXT ||
            plan->stack.kind == STACK_TORCHTITAN || plan->stack.kind == STACK_NXD);
}

#define OTHERWISE "training on this stack"
#define ELSEWHERE "use stack fsdp or deepspeed: transformers' models have such layers"

static bool has_query_rank(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_GQA && plan->model.attention.q_lora_rank > 0;
}

static bool query_rank_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const struct attention *a = &model->attention;
    const struct other others[] = {
        {a->bias, "biases of queries, keys and values", "set model.attention.bias to false"},
        {a->qk_norm, "norms of queries and keys", "set model.attention.qk_norm to false"},
        {a->output_gate || a->head_gate, "gates on attention's output",
         "set model.attention.output_gate and head_gate to false"},
        {a->k_eq_v, "keys that are values", "set model.attention.k_eq_v to false"},
        {plan_has_blocks(plan) || plan_borrows(plan),
         "layers that choose blocks or borrow keys",
         "name no blocks, borrow and window_borrow in model.layer_types"},
        {model->window.heads > 0, "window layers of other heads",
         "set model.window.heads to 0"},
        {trains_otherwise(plan), OTHERWISE, ELSEWHERE},
    };
    return NAMES_OTHER(others, "grouped queries of a low rank");
}

static bool has_zero_experts(const struct plan *plan)
{
    return plan_is_routed(plan) && plan->model.moe.zero_experts > 0;
}

static bool zero_experts_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model_moe *moe = &plan->model.moe;
    const struct other others[] = {
        {moe->router.groups > 1, "groups of experts", "set model.moe.router.groups to 1"},
        {moe->router.learned_scale, "learned scales of the router",
         "set model.moe.router.learned_scale to false"},
        {moe->hash_layers > 0, "layers that route by a table",
         "set model.moe.hash_layers to 0"},
        {trains_otherwise(plan), OTHERWISE, ELSEWHERE},
    };
    return NAMES_OTHER(others, "choices that compute nothing");
}

/* Layers come in pairs, which no stage cuts. */
static bool cuts_pairs(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return plan->model.layers % rule_product(2, p->pp, p->vpp) || p->layout[0] != '\0' ||
           p->stages.n;
}

static bool shortcut_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const struct other others[] = {
        {model->moe_every != 2 || model->layer_types.n,
         "layers that are not by turns dense and with experts",
         "set model.moe_every to 2 and name no model.layer_types"},
        {plan->parallel.pp > 1 && cuts_pairs(plan), "stages that do not hold whole pairs",
         "model.layers must be a multiple of 2 x pp x vpp, without parallel.stages and layout"},
        {model->residual_streams > 1 || model->residual_block,
         "copies or blocks of the residual",
         "set model.residual_streams to 1 and model.residual_block to 0"},
        {trains_otherwise(plan), OTHERWISE, ELSEWHERE},
    };
    return NAMES_OTHER(others, "experts added behind the next layer");
}

static bool is_side_by_side(const struct plan *plan)
{
    return plan->model.side_by_side;
}

static bool side_by_side_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const struct other others[] = {
        {model_has_parts(model), "layers that are a mixer or a network alone",
         "name no dense and moe in model.layer_types"},
        {model->residual_streams > 1 || model->residual_block,
         "copies or blocks of the residual",
         "set model.residual_streams to 1 and model.residual_block to 0"},
        {model->moe.shortcut, "experts added behind the next layer",
         "set model.moe.shortcut to false"},
        {model->norms_per_layer > 2, "norms behind attention and network",
         "set model.norms_per_layer to 1 or 2"},
        {trains_otherwise(plan), OTHERWISE, ELSEWHERE},
    };
    return NAMES_OTHER(others, "networks beside their mixers");
}

static bool sums_blocks(const struct plan *plan)
{
    return plan->model.residual_block > 0;
}

static bool block_sums_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const char *with = model->residual_streams > 1 ? "residual_streams"
                       : model_has_parts(model) ? "layers that are a mixer or a network alone"
                       : plan_has_modules(plan) ? "prediction modules"
                                                : NULL;
    rule_say(text, "residual_block with %s is not modelled", with ? with : "");
    rule_say(hint, "leave residual_block out");
    return with != NULL;
}

static bool has_residual_rank(const struct plan *plan)
{
    return plan->model.residual_rank > 0;
}

static bool residual_rank_broken(const struct plan *plan, char *text, char *hint)
{
    rule_say(text, "residual_rank without copies of the residual");
    rule_say(hint, "set model.residual_streams, or leave residual_rank out");
    return plan->model.residual_streams <= 1;
}

static bool gates_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const struct other others[] = {
        {model->residual_identity, "residual_identity", "set model.residual_identity to false"},
        {model->residual_mean, "residual_mean", "set model.residual_mean to false"},
        {model->mtp_plain, "mtp_plain", "set model.mtp_plain to false"},
    };
    return NAMES_OTHER(others, "residual_rank");
}

static bool has_ngrams(const struct plan *plan)
{
    return plan->model.ngram.tables > 0;
}

static bool embeds_ngrams(const struct plan *plan)
{
    return has_ngrams(plan) && plan->model.ngram.embedded;
}

static bool embedded_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const struct other others[] = {
        {model->ngram.tables > 1, "several tables", "set model.ngram.tables to 1"},
        {model->ngram.conv > 0, "a convolution", "set model.ngram.conv to 0"},
        {model->residual_streams > 1, "copies of the residual",
         "set model.residual_streams to 1"},
        {plan->memory.ngram_host, "a table in host memory",
         "set memory.ngram_host to false, no engine has that one there"},
    };
    return NAMES_OTHER(others, "n-grams as part of the embedding");
}

static const struct rule rules[] = {
    {.name = "ngram-embedded-alone",
     .key = "model.ngram.embedded",
     .shape = RULE_OTHER,
     .applies = embeds_ngrams,
     .broken = embedded_broken,
     .also = {"model.ngram.tables", "memory.ngram_host"}},
    {.name = "query-rank-alone",
     .key = "model.attention.q_lora_rank",
     .shape = RULE_OTHER,
     .applies = has_query_rank,
     .broken = query_rank_broken,
     .also = {"model.layer_types", "stack.kind"}},
    {.name = "zero-experts-alone",
     .key = "model.moe.zero_experts",
     .shape = RULE_OTHER,
     .applies = has_zero_experts,
     .broken = zero_experts_broken,
     .also = {"stack.kind"}},
    {.name = "shortcut-in-pairs",
     .key = "model.moe.shortcut",
     .shape = RULE_OTHER,
     .applies = plan_has_shortcut,
     .broken = shortcut_broken,
     .also = {"model.moe_every", "parallel.pp"}},
    {.name = "side-by-side-alone",
     .key = "model.side_by_side",
     .shape = RULE_OTHER,
     .applies = is_side_by_side,
     .broken = side_by_side_broken,
     .also = {"model.norms_per_layer", "stack.kind"}},
    {.name = "residual-rank-of-streams",
     .key = "model.residual_rank",
     .shape = RULE_OTHER,
     .applies = has_residual_rank,
     .broken = residual_rank_broken,
     .also = {"model.residual_streams"}},
    {.name = "residual-block-alone",
     .key = "model.residual_block",
     .shape = RULE_OTHER,
     .applies = sums_blocks,
     .broken = block_sums_broken,
     .also = {"model.residual_streams", "model.mtp_enabled"}},
    {.name = "residual-rank-alone",
     .key = "model.residual_rank",
     .shape = RULE_OTHER,
     .applies = has_residual_rank,
     .broken = gates_broken,
     .also = {"model.residual_identity", "model.residual_mean"}},
    {.name = "ngram-rows",
     .key = "model.ngram.rows",
     .shape = RULE_POSITIVE,
     .applies = has_ngrams,
     .a = MEMBER("rows", model.ngram.rows),
     .hint = "the model has tables of n-grams",
     .also = {"model.ngram.tables"}},
    {.name = "ngram-heads",
     .key = "model.ngram.heads",
     .shape = RULE_POSITIVE,
     .applies = has_ngrams,
     .a = MEMBER("heads", model.ngram.heads),
     .hint = "the model has tables of n-grams",
     .also = {"model.ngram.tables"}},
    {.name = "ngram-heads-divide-width",
     .key = "model.ngram.heads",
     .shape = RULE_DIVIDES,
     .applies = has_ngrams,
     .a = MEMBER("ngram width", model.ngram.width),
     .b = MEMBER("heads", model.ngram.heads),
     .hint = "every head reads a row of its part",
     .also = {"model.ngram.width", "model.ngram.tables"}},
    {.name = "ngram-width",
     .key = "model.ngram.width",
     .shape = RULE_POSITIVE,
     .applies = has_ngrams,
     .a = MEMBER("width", model.ngram.width),
     .hint = "the model has tables of n-grams",
     .also = {"model.ngram.tables"}},
};

const struct rule_set rule_set_shape = {rules, sizeof rules / sizeof *rules};
