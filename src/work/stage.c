/* Pipeline stages; see stage.h. */
#include "work/stage.h"

#include "base/checked.h"
#include "plan/derive.h"
#include "work/params.h"

/* Layers of stage `index`, and how many come before it. */
static uint64_t stage_layers(const struct plan *plan, uint64_t index, uint64_t *before)
{
    const struct number_list *stages = &plan->parallel.stages;
    uint64_t pp = plan->parallel.pp, layers = plan->model.layers;
    *before = 0;
    if (stages->n) {
        for (uint64_t i = 0; i < index; i++)
            *before += stages->value[i];
        return stages->value[index];
    }
    uint64_t longer = layers % pp, each = layers / pp;
    *before = index * each + (index < longer ? index : longer);
    return each + (index < longer);
}

/* Dense layers among the first n: the leading ones, or those between every moe_every-th. */
static uint64_t dense_before(const struct model *model, uint64_t n)
{
    if (model->moe_every > 1)
        return n - n / model->moe_every;
    return n < model->dense_layers ? n : model->dense_layers;
}

/* Matrices divide by tp (experts by etp); norms and biases are whole on every rank. */
static void stage_parameters(const struct plan *plan, const struct params *params,
                             struct stage *stage)
{
    const struct params_part *layer[] = {&params->attention, &params->layer_norms};
    const struct params_part *moe[] = {&params->router, &params->shared, &params->residual};
    uint64_t matrices = (stage->embedding ? params->embedding : 0), vectors = 0;
    for (unsigned i = 0; i < 2; i++) {
        matrices += (stage->dense_layers + stage->moe_layers) * layer[i]->matrices;
        vectors +=
            (stage->dense_layers + stage->moe_layers) * (layer[i]->norms + layer[i]->biases);
    }
    for (unsigned i = 0; i < 3; i++) {
        matrices += stage->moe_layers * moe[i]->matrices;
        vectors += stage->moe_layers * (moe[i]->norms + moe[i]->biases);
    }
    matrices += stage->dense_layers * params->dense_mlp.matrices;
    vectors += stage->dense_layers * params->dense_mlp.biases;
    if (stage->head) {
        matrices += params->head.matrices + params->mtp.matrices;
        vectors += params->final_norm.norms + params->mtp.norms + params->mtp.biases;
        if (plan->model.tied_embeddings && !stage->embedding)
            matrices += params->embedding;
    }
    stage->dense_parameters = ceil_div(matrices, plan->parallel.tp) + vectors;
    stage->expert_parameters = ceil_div(stage->moe_layers * plan_local_experts(plan) *
                                            params_part_total(params->expert),
                                        plan->parallel.etp);
}

void stage_at(const struct plan *plan, uint64_t index, const struct params *params,
              struct stage *stage)
{
    const struct model *model = &plan->model;
    const struct parallel *parallel = &plan->parallel;
    uint64_t before, layers = stage_layers(plan, index, &before);
    uint64_t dense = dense_before(model, before + layers) - dense_before(model, before);
    *stage = (struct stage){.index = index,
                            .dense_layers = dense,
                            .moe_layers = layers - dense,
                            .embedding = index == 0,
                            .head = index + 1 == parallel->pp,
                            .model_parameters = params->parameters,
                            .in_flight_thousandths = 1000 * (parallel->pp - index)};
    stage_parameters(plan, params, stage);
}

static uint64_t weight_of(const struct stage *stage)
{
    bool overflow = false;
    uint64_t layers = stage->dense_layers + 4 * stage->moe_layers;
    return checked_mul(layers, 1000 + stage->in_flight_thousandths, &overflow);
}

void stage_heaviest(const struct plan *plan, struct stage *stage)
{
    struct params params;
    params_count(&plan->model, &params);
    stage_at(plan, 0, &params, stage);
    for (uint64_t i = 1; i < plan->parallel.pp; i++) {
        struct stage other;
        stage_at(plan, i, &params, &other);
        if (weight_of(&other) > weight_of(stage))
            *stage = other;
    }
}
