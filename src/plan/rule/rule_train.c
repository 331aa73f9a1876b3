/* What must hold of options of training software: those that it refuses with each other. */
#include <inttypes.h>
#include <stdio.h>

#include "plan/derive.h"
#include "plan/rule/rule_parts.h"

static bool is_training(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN;
}

static bool offloads_layers(const struct plan *plan)
{
    return is_training(plan) && plan_is_megatron(plan) && plan->recompute.offload_layers > 0;
}

/* Megatron transformer_config.py, __post_init__. */
static bool layers_broken(const struct plan *plan, char *text, char *hint)
{
    const struct recompute_plan *r = &plan->recompute;
    const char *with = NULL;
    if (plan->parallel.pp > 1)
        with = "a pipeline";
    else if (r->kind != RECOMPUTE_NONE)
        with = "recomputation";
    else if (r->offload.n)
        with = "modules to offload";
    else if (plan->stack.graphs == GRAPHS_PARTIAL || plan->stack.graphs == GRAPHS_FULL)
        with = "CUDA graphs";
    snprintf(hint, RULE_TEXT,
             "Megatron moves whole layers without pipeline, recomputation and graphs; "
             "recompute.offload names modules");
    if (with)
        snprintf(text, RULE_TEXT, "offload_layers %" PRIu64 " beside %s", r->offload_layers,
                 with);
    else if (r->offload_layers >= plan->model.layers)
        snprintf(text, RULE_TEXT, "offload_layers %" PRIu64 " of %" PRIu64 ": one has to stay",
                 r->offload_layers, plan->model.layers);
    return with || r->offload_layers >= plan->model.layers;
}

/* torchtitan components/optimizer.py, build_optimizers. */
static bool backward_broken(const struct plan *plan, char *text, char *hint)
{
    const struct parallel *p = &plan->parallel;
    if (p->ep == 1 && p->pp == 1)
        return false;
    snprintf(text, RULE_TEXT,
             "torchtitan's optimizer does not step in backward with %s %" PRIu64,
             p->ep > 1 ? "ep" : "pp", p->ep > 1 ? p->ep : p->pp);
    snprintf(hint, RULE_TEXT, "ep 1 and pp 1, or optimizer.in_backward: false");
    return true;
}

static bool leaves_layers(const struct plan *plan)
{
    const struct precision *p = &plan->precision;
    return is_training(plan) && plan_is_megatron(plan) && p->recipe != RECIPE_NONE &&
           p->plain_first + p->plain_last > 0;
}

/* Megatron transformer_config.py, __post_init__, as the next. */
static bool delayed_broken(const struct plan *plan, char *text, char *hint)
{
    snprintf(text, RULE_TEXT, "delayed scaling leaves no layers in 16 bits");
    snprintf(hint, RULE_TEXT, "precision.recipe: fp8_current does");
    return plan->precision.recipe == RECIPE_FP8_DELAYED;
}

/* Of 4 bits it asks nothing. */
static bool plain_broken(const struct plan *plan, char *text, char *hint)
{
    const struct precision *p = &plan->precision;
    uint64_t layers = plan->model.layers, most = layers / plan->parallel.pp;
    bool first = p->plain_first > most;
    snprintf(hint, RULE_TEXT, "no more than a pipeline stage has, %" PRIu64, most);
    if (p->plain_first + p->plain_last > layers) {
        snprintf(text, RULE_TEXT, "%" PRIu64 " first and %" PRIu64 " last layers of %" PRIu64,
                 p->plain_first, p->plain_last, layers);
        return true;
    }
    snprintf(text, RULE_TEXT,
             "plain_%s %" PRIu64 " is more than %" PRIu64 " layers / pp %" PRIu64,
             first ? "first" : "last", first ? p->plain_first : p->plain_last, layers,
             plan->parallel.pp);
    return p->recipe != RECIPE_NVFP4 && (first || p->plain_last > most);
}

static const struct rule rules[] = {
    {.name = "layers-go-to-host",
     .key = "recompute.offload_layers",
     .shape = RULE_OTHER,
     .applies = offloads_layers,
     .broken = layers_broken,
     .also = {"recompute.kind", "parallel.pp"}},
    {.name = "steps-in-backward-alone",
     .key = "optimizer.in_backward",
     .shape = RULE_OTHER,
     .applies = plan_steps_in_backward,
     .broken = backward_broken,
     .also = {"parallel.ep", "parallel.pp"}},
    {.name = "delayed-leaves-no-layers",
     .key = "precision.recipe",
     .shape = RULE_OTHER,
     .applies = leaves_layers,
     .broken = delayed_broken,
     .also = {"precision.plain_first", "precision.plain_last"}},
    {.name = "recipe-leaves-layers",
     .key = "precision.plain_first",
     .shape = RULE_OTHER,
     .applies = leaves_layers,
     .broken = plain_broken,
     .also = {"precision.plain_last", "parallel.pp"}},
    {.name = "hpz-shard-divides-dp",
     .key = "parallel.hpz_shard",
     .shape = RULE_DIVIDES,
     .applies = plan_keeps_second_copy,
     .a = DERIVED("dp", plan_dp),
     .b = MEMBER("hpz_shard", parallel.hpz_shard),
     .hint = "as many neighbouring ranks as a node has, mostly"},
};

const struct rule_set rule_set_train = {rules, sizeof rules / sizeof *rules};
