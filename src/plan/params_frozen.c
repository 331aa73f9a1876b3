/* What of a model is trained where the plan freezes parts of it, and the useful work of a
 * token; see params.h. */
#include <string.h>

#include "plan/derive.h"
#include "plan/frozen.h"
#include "plan/layers.h"
#include "plan/mixer.h"
#include "plan/params.h"

void params_held(const struct plan *plan, struct params *params)
{
    struct model model = plan->model;
    if (plan->workload.mode == MODE_TRAIN)
        model.vocab = plan_vocabulary(plan);
    params_count(&model, params);
}

static void take_attention(struct params *params)
{
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        params->mixer[m] = (struct params_part){0};
        params->whole[m] = 0;
    }
}

void params_freeze(const struct plan *plan, struct params *params)
{
    const struct {
        enum frozen_part part;
        struct params_part *of;
    } rows[] = {
        {FROZEN_LM_HEAD, &params->head},          {FROZEN_NORMS, &params->layer_norms},
        {FROZEN_NORMS, &params->final_norm},      {FROZEN_ROUTER, &params->router},
        {FROZEN_EXPERTS, &params->expert},        {FROZEN_EXPERTS, &params->latent},
        {FROZEN_SHARED_EXPERTS, &params->shared}, {FROZEN_SHARED_EXPERTS, &params->residual},
        {FROZEN_DENSE_MLP, &params->dense_mlp},   {FROZEN_DENSE_MLP, &params->borrow_mlp},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (plan_freezes_part(plan, rows[i].part))
            *rows[i].of = (struct params_part){0};
    if (plan_freezes_part(plan, FROZEN_ATTENTION))
        take_attention(params);
    if (plan_freezes_part(plan, FROZEN_EMBED_TOKENS))
        params->embedding = 0;
}

static void count_from(const struct model *model, uint64_t first, struct params *params)
{
    memset(params->layers, 0, sizeof params->layers);
    model_layers(model, first, model->layers, params->layers);
}

/* Forward is whole; gradients of rows reach down to the first trained layer; gradients of
 * weights are those of what is trained. Prediction modules multiply by the head once more. */
static uint64_t frozen_flop_per_token(const struct plan *plan, uint64_t length)
{
    const struct model *model = &plan->model;
    uint64_t heads = model->mtp_enabled ? model->mtp_layers : 0;
    struct params params;
    params_count(model, &params);
    uint64_t head = model->vocab * model->hidden;
    count_from(model, plan_first_back(plan), &params);
    uint64_t rows = params_active(model, &params) + heads * head;
    uint64_t trained =
        plan_trains_one_layer(plan) ? model->layers - 1 : plan_frozen_layers(plan);
    count_from(model, trained, &params);
    params_freeze(plan, &params);
    uint64_t weights = params_active(model, &params);
    if (!plan_freezes_part(plan, FROZEN_LM_HEAD))
        weights += heads * head;
    return params_forward_flop_per_token(model, length) + 2 * (rows + weights) +
           2 * params_attention_flop_from(model, plan_first_back(plan), length);
}

/* The same where backward ends at the first layer that has adapters, whose own products are not
 * counted. */
static uint64_t adapted_flop_per_token(const struct plan *plan, uint64_t length)
{
    const struct model *model = &plan->model;
    struct params params;
    params_count(model, &params);
    uint64_t heads = model->mtp_enabled ? model->mtp_layers : 0;
    uint64_t head = model->vocab * model->hidden;
    count_from(model, plan_first_back(plan), &params);
    return params_forward_flop_per_token(model, length) +
           2 * (params_active(model, &params) + heads * head) +
           2 * params_attention_flop_from(model, plan_first_back(plan), length);
}

/* Of indexers in layers from `first` on, prediction modules included. */
static struct indexer_flop indexers_from(const struct model *model, uint64_t first,
                                         uint64_t length)
{
    bool overflow = false;
    uint64_t layers[KIND_COUNT] = {0};
    struct indexer_flop sum = {0};
    model_layers(model, first, model->layers, layers);
    layers[model_mtp_kind(model)] += model->mtp_enabled ? model->mtp_layers : 0;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        struct indexer_flop one =
            mixer_indexer_flop(model, kind_mixer((enum layer_kind)k), length, &overflow);
        sum.matrices += layers[k] * one.matrices;
        sum.scores += layers[k] * one.scores;
    }
    return sum;
}

/* What the others count of indexers' backward, which nobody runs: no gradient passes the choice
 * of tokens, and indexers' own losses are not modelled. */
static uint64_t indexers_back(const struct plan *plan, uint64_t length)
{
    const struct model *model = &plan->model;
    struct indexer_flop rows = indexers_from(model, plan_first_back(plan), length);
    uint64_t trained =
        plan_trains_one_layer(plan) ? model->layers - 1 : plan_frozen_layers(plan);
    bool weights = !plan->lora.rank && !plan_freezes_part(plan, FROZEN_ATTENTION);
    return rows.matrices + 2 * rows.scores +
           (weights ? indexers_from(model, trained, length).matrices : 0);
}

/* Training, as if indexers had a backward. */
static uint64_t trained_flop_per_token(const struct plan *plan, uint64_t length)
{
    const struct model *model = &plan->model;
    if (plan_freezes(plan))
        return frozen_flop_per_token(plan, length);
    if (plan->lora.rank && plan_first_back(plan))
        return adapted_flop_per_token(plan, length);
    uint64_t forward = params_forward_flop_per_token(model, length);
    uint64_t all = params_flop_per_token(model, length);
    return plan->lora.rank ? all - (forward - params_attention_flop(model, length)) : all;
}

uint64_t params_useful_flop_per_token(const struct plan *plan)
{
    const struct model *model = &plan->model;
    uint64_t length = plan_attention_length(plan);
    if (plan->workload.mode == MODE_DECODE) /* a token meets all of its context, not half */
        length = 2 * plan->workload.context_length;
    if (plan->workload.mode != MODE_TRAIN) { /* drafts are no answer's work */
        struct model answers = *model;
        answers.mtp_enabled = false;
        return params_forward_flop_per_token(&answers, length);
    }
    if (params_flop_per_token(model, length) == UINT64_MAX)
        return UINT64_MAX;
    return trained_flop_per_token(plan, length) - indexers_back(plan, length);
}
