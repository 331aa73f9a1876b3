/* What must hold of layers that borrow keys and of embeddings of the layers. */
#include <stdio.h>

#include "plan/layers.h"
#include "plan/rule/rule_parts.h"

/* Of each kind of layers that borrow keys the first has one with keys before it. */
static bool borrows_broken(const struct plan *plan, char text[RULE_TEXT], char hint[RULE_TEXT])
{
    const struct enum_list *list = &plan->model.layer_types;
    bool full = false, window = false;
    for (uint64_t i = 0; i < list->n && i < plan->model.layers; i++) {
        enum layer_type type = (enum layer_type)list->value[i];
        full |= type == LAYER_FULL;
        window |= type == LAYER_WINDOW;
        if ((type != LAYER_BORROW || full) && (type != LAYER_WINDOW_BORROW || window))
            continue;
        const bool of_window = type == LAYER_WINDOW_BORROW;
        snprintf(text, RULE_TEXT,
                 "layer %llu is of type %s, and no layer before it is of type %s",
                 (unsigned long long)i + 1, of_window ? "window_borrow" : "borrow",
                 of_window ? "window" : "full");
        snprintf(hint, RULE_TEXT, "keys and values are those of the last such layer before it");
        return true;
    }
    return false;
}

/* What layers that borrow keys, or have embeddings of their own, are not modelled with. */
static bool borrows_with_broken(const struct plan *plan, char text[RULE_TEXT],
                                char hint[RULE_TEXT])
{
    const struct model *model = &plan->model;
    const struct parallel *p = &plan->parallel;
    bool training = plan->workload.mode == MODE_TRAIN;
    const struct {
        bool holds;
        const char *what, *key;
    } others[] = {
        {model->attention.kind != ATTENTION_GQA && plan_borrows(plan), "this kind of attention",
         "model.attention.kind: gqa"},
        {model->residual_streams > 1 || model->residual_block,
         "copies or blocks of the residual",
         "model.residual_streams: 1, model.residual_block: 0"},
        {model_has_parts(model), "layers that are a mixer or a network alone",
         "model.layer_types without dense and moe"},
        {plan_has_modules(plan), "prediction modules", "model.mtp_enabled: false"},
        {p->pp > 1, "pipeline stages", "parallel.pp: 1"},
        {p->cp > 1, "a split context", "parallel.cp: 1"},
        {training && p->tp > 1, "tensor parallelism in training", "parallel.tp: 1"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!others[i].holds)
            continue;
        snprintf(text, RULE_TEXT, "%s with %s: not modelled",
                 plan_borrows(plan) ? "layers that borrow keys" : "embeddings of layers",
                 others[i].what);
        snprintf(hint, RULE_TEXT, "%s", others[i].key);
        return true;
    }
    return false;
}

static const struct rule rules[] = {
    {.name = "borrowed-keys-there",
     .key = "model.layer_types",
     .shape = RULE_OTHER,
     .applies = plan_borrows,
     .broken = borrows_broken},
    {.name = "borrowed-keys-alone",
     .key = "model.layer_types",
     .shape = RULE_OTHER,
     .applies = plan_borrows_or_embeds,
     .broken = borrows_with_broken,
     .also = {"parallel.pp", "parallel.tp"}},
};

const struct rule_set rule_set_borrow = {rules, sizeof rules / sizeof *rules};
