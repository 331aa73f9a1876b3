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

/* No gradient passes an indexer's choice of tokens, and its own loss is not modelled. */
static void take_indexers(const struct model *model, struct params *params)
{
    bool overflow = false;
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        params->mixer[m].matrices -= mixer_indexer_matrices(model, (enum mixer)m, &overflow);
}

/* Gradients of rows reach down to the first layer that has anything to train; gradients of
 * weights are those of what is trained, beside adapters, whose own products are not counted,
 * none. Prediction modules multiply by the head once more. */
static uint64_t back_flop_per_token(const struct plan *plan, uint64_t length)
{
    const struct model *model = &plan->model;
    uint64_t heads = model->mtp_enabled ? model->mtp_layers : 0;
    uint64_t head = heads * model->vocab * model->hidden, first = plan_first_back(plan);
    uint64_t frozen =
        plan_trains_one_layer(plan) ? model->layers - 1 : plan_frozen_layers(plan);
    struct params params;
    params_count(model, &params);
    take_indexers(model, &params);
    count_from(model, first, &params);
    uint64_t rows = params_active(model, &params) + head, weights = 0;
    if (!plan->lora.rank) {
        count_from(model, frozen, &params);
        params_freeze(plan, &params);
        weights = params_active(model, &params) +
                  (plan_freezes_part(plan, FROZEN_LM_HEAD) ? 0 : head);
    }
    return 2 * (rows + weights) + 2 * params_attention_back_flop(model, first, length);
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
    return params_forward_flop_per_token(model, length) + back_flop_per_token(plan, length);
}
