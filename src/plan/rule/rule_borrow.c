/* What must hold of layers that borrow keys, of those that read entries of earlier ones, and of
 * embeddings of the layers. */

#include "plan/layers.h"
#include "plan/rule/rule_parts.h"
#include "plan/schema/schema.h"

/* A layer that reads what layers of another mixer make, and none of those before it. */
struct orphan {
    uint64_t layer; /* from 1 */
    enum layer_type type;
    enum mixer maker;
};

/* The first one; `maker` says whose a mixer's are, its own where it makes them. */
static bool find_orphan(const struct model *model, enum mixer (*maker)(enum mixer),
                        struct orphan *found)
{
    const struct enum_list *list = &model->layer_types;
    bool seen[MIXER_COUNT] = {false};
    for (uint64_t i = 0; i < list->n && i < model->layers; i++) {
        enum layer_type type = (enum layer_type)list->value[i];
        enum mixer mixer = layer_mixer(type);
        seen[mixer] = true;
        *found = (struct orphan){i + 1, type, maker(mixer)};
        if (!seen[found->maker])
            return true;
    }
    return false;
}

/* As model.layer_types calls it. */
static const char *mixer_word(enum mixer mixer)
{
    enum layer_type type = LAYER_FULL;
    while (layer_mixer(type) != mixer)
        type++;
    return words_layer[type];
}

/* Of each kind of layers that borrow keys the first has one with keys before it. */
static bool borrows_broken(const struct plan *plan, char *text, char *hint)
{
    struct orphan found;
    if (!find_orphan(&plan->model, mixer_owner, &found))
        return false;
    rule_say(text, "layer %llu is of type %s, and no layer before it is of type %s",
             (unsigned long long)found.layer, words_layer[found.type], mixer_word(found.maker));
    rule_say(hint, "keys and values are those of the last such layer before it");
    return true;
}

/* Entries that a layer meets are its own or those of an earlier layer of the type that makes
 * them. */
static bool entries_broken(const struct plan *plan, char *text, char *hint)
{
    struct orphan found;
    if (!find_orphan(&plan->model, mixer_source, &found))
        return false;
    rule_say(text, "layer %llu reads entries, and no layer before it is of type %s",
             (unsigned long long)found.layer, mixer_word(found.maker));
    rule_say(hint, "entries are those of the last such layer before it");
    return true;
}

/* Columns of keys are split over tp by transformers' own plan, a head's to one rank. */
static bool splits_heads(const struct plan *plan)
{
    const struct model *m = &plan->model;
    uint64_t tp = plan->parallel.tp;
    return model_attention(m, MIXER_FULL).kv_heads % tp == 0 &&
           model_attention(m, MIXER_WINDOW).kv_heads % tp == 0;
}

/* What layers that borrow keys, or have embeddings of their own, are not modelled with. */
static bool borrows_with_broken(const struct plan *plan, char *text, char *hint)
{
    const struct model *model = &plan->model;
    const struct parallel *p = &plan->parallel;
    bool split = plan->workload.mode == MODE_TRAIN && p->tp > 1;
    const struct {
        bool holds;
        const char *what, *hint;
    } others[] = {
        {model->attention.kind != ATTENTION_GQA && plan_borrows(plan), "this kind of attention",
         "set model.attention.kind to gqa"},
        {model->residual_streams > 1 || model->residual_block,
         "copies or blocks of the residual",
         "set model.residual_streams to 1 and model.residual_block to 0"},
        {model_has_parts(model), "layers that are a mixer or a network alone",
         "name no dense and moe in model.layer_types"},
        {plan_has_modules(plan), "prediction modules", "set model.mtp_enabled to false"},
        {p->pp > 1, "pipeline stages",
         "set parallel.pp to 1: no stack passes on what later layers read; stages of "
         "transformers (base_model_pp_plan) and Megatron-Bridge (gemma4_layer_specs) send "
         "hidden rows alone"},
        {p->cp > 1 && plan->stack.kind != STACK_FSDP, "a split context on this stack",
         "set parallel.cp to 1, or use stack fsdp: AutoModel's ring is known (gemma4_moe)"},
        {p->cp > 1 && !plan_borrows(plan), "a split context",
         "set parallel.cp to 1: AutoModel splits it of models that borrow keys"},
        {split && plan->stack.kind != STACK_FSDP,
         "tensor parallelism in training on this stack",
         "set parallel.tp to 1, or use stack fsdp: what transformers splits is known "
         "(base_model_tp_plan)"},
        {split && !splits_heads(plan), "key and value heads that parallel.tp does not divide",
         "set parallel.tp to a divisor of model.attention.kv_heads: transformers splits the "
         "columns of keys by heads"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!others[i].holds)
            continue;
        rule_say(text, "%s with %s: not modelled",
                 plan_borrows(plan) ? "layers that borrow keys" : "embeddings of layers",
                 others[i].what);
        rule_say(hint, "%s", others[i].hint);
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
    {.name = "entries-there",
     .key = "model.layer_types",
     .shape = RULE_OTHER,
     .applies = plan_reuses_entries,
     .broken = entries_broken},
    {.name = "borrowed-keys-alone",
     .key = "model.layer_types",
     .shape = RULE_OTHER,
     .applies = plan_borrows_or_embeds,
     .broken = borrows_with_broken,
     .also = {"parallel.pp", "parallel.tp"}},
};

const struct rule_set rule_set_borrow = {rules, sizeof rules / sizeof *rules};
