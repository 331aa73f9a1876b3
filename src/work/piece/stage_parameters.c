/* What a pipeline stage holds of the model; see stage_parts.h. */
#include <string.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/frozen.h"
#include "plan/layers.h"
#include "work/piece/encoder.h"
#include "work/piece/stage_parts.h"

/* Matrices that tensor parallelism leaves whole: those of mixers (params.h), the router and the
 * projections to latent rows (Megatron's TELinear "duplicated", torchtitan's NoParallel),
 * hyper-connections, and what a layer does with its own embeddings and those of n-grams (vLLM's
 * ReplicatedLinear). */
static uint64_t replicated_matrices(const struct model *model, const struct params *params,
                                    const struct stage *stage)
{
    uint64_t whole = stage->moe_layers * (params->router.matrices + params->latent.matrices) +
                     stage->head * params->streams_end.matrices +
                     stage->mtp_layers * params->module_ends.matrices +
                     (stage->embedding ? params->ngrams.matrices : 0);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (stage->layers[k])
            whole +=
                stage->layers[k] *
                (params->whole[kind_mixer((enum layer_kind)k)] + params->layer_input.matrices +
                 params_stream_sites((enum layer_kind)k) * params->streams.matrices);
    return whole - stage->mtp_layers * params_plain_sites(model) * params->streams.matrices;
}

/* The projection and norms of a prediction module beside its layer, and the copy of the
 * embedding that the last of several stages needs for it. */
static uint64_t mtp_matrices(const struct plan *plan, const struct params *params,
                             const struct stage *stage)
{
    uint64_t hidden = plan->model.hidden;
    uint64_t copy = stage->mtp_layers && !stage->embedding ? params->embedding : 0;
    uint64_t head = stage->mtp_layers && !stage->head ? params->head.matrices : 0;
    return stage->mtp_layers * 2 * hidden * hidden + copy + head;
}

/* Dense networks of a stage: of layers that borrow keys, of the others. */
struct dense_layers {
    uint64_t borrow, own;
};

static struct dense_layers dense_layers_of(const struct stage *stage)
{
    struct dense_layers n = {0};
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum layer_kind kind = (enum layer_kind)k;
        if (stage->layers[k] && kind_ffn(kind) == FFN_DENSE)
            *(mixer_borrows(kind_mixer(kind)) ? &n.borrow : &n.own) += stage->layers[k];
    }
    return n;
}

static uint64_t dense_matrices(const struct params *params, const struct dense_layers *dense)
{
    return dense->own * params->dense_mlp.matrices +
           dense->borrow * params->borrow_mlp.matrices;
}

/* Matrices that the other replicas of attention hold for this one: dense and shared networks,
 * and the head, where all of them share these out. */
static uint64_t joined_away(const struct plan *plan, const struct params *params,
                            const struct stage *stage, const struct dense_layers *dense)
{
    const struct {
        uint64_t matrices, replicas;
    } parts[] = {
        {dense_matrices(params, dense), plan_dense_replicas(plan)},
        {stage->moe_layers * params->shared.matrices, plan_shared_replicas(plan)},
        {stage->moe_layers * params->residual.matrices,
         plan_joins_networks(plan) ? plan_joined_replicas(plan) : 1},
        {stage->head * params->head.matrices, plan_head_replicas(plan)},
    };
    uint64_t away = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        away += parts[i].matrices - ceil_div(parts[i].matrices, parts[i].replicas);
    return away;
}

/* Parameters of the stage's layers and ends beside the routed experts, counted once. */
static void whole_parameters(const struct model *model, const struct params *params,
                             const struct stage *stage, const struct dense_layers *dense,
                             uint64_t *matrices, uint64_t *vectors)
{
    uint64_t layers = 0, sites = 0, mixers[MIXER_COUNT] = {0};
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        if (!stage->layers[k])
            continue;
        layers += stage->layers[k];
        sites += stage->layers[k] * params_stream_sites((enum layer_kind)k);
        mixers[kind_mixer((enum layer_kind)k)] += stage->layers[k];
    }
    sites -= stage->mtp_layers * params_plain_sites(model);
    const struct {
        const struct params_part *part;
        uint64_t n;
    } parts[] = {
        {&params->layer_norms, layers},
        {&params->streams, sites},
        {&params->streams_end, stage->head},
        {&params->router, stage->moe_layers},
        {&params->shared, stage->moe_layers},
        {&params->residual, stage->moe_layers},
        {&params->latent, stage->moe_layers},
        {&params->dense_mlp, dense->own},
        {&params->borrow_mlp, dense->borrow},
        {&params->layer_input, layers},
        {&params->layer_inputs, stage->embedding},
        {&params->head, stage->head},
        {&params->ngrams, stage->embedding},
        {&params->final_norm, stage->head},
        {&params->module_ends, stage->mtp_layers},
    };
    *matrices = *vectors = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *matrices += parts[i].n * parts[i].part->matrices;
        *vectors += parts[i].n * (parts[i].part->norms + parts[i].part->biases);
    }
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        *matrices += mixers[m] * params->mixer[m].matrices;
        *vectors += mixers[m] * (params->mixer[m].norms + params->mixer[m].biases);
    }
}

/* What ranks of tp that share out prompts hold once more for each other: attention's matrices
 * that others split, and dense networks that stay apart. */
static uint64_t held_again(const struct plan *plan, const struct params *params,
                           const struct stage *stage, const struct dense_layers *dense)
{
    uint64_t matrices = 0, copies = plan->parallel.tp / engine_attention_ranks(plan);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum mixer mixer = kind_mixer((enum layer_kind)k);
        if (stage->layers[k])
            matrices += stage->layers[k] *
                        remaining(params->mixer[mixer].matrices, params->whole[mixer]);
    }
    if (plan->parallel.dense_apart)
        matrices += dense_matrices(params, dense);
    return (copies - 1) * matrices;
}

void stage_parameters(const struct plan *plan, const struct params *params, struct stage *stage)
{
    uint64_t matrices, vectors;
    uint64_t tables =
        stage->embedding ? params->embedding + params->layer_table + params->ngram_table : 0;
    const struct dense_layers dense = dense_layers_of(stage);
    whole_parameters(&plan->model, params, stage, &dense, &matrices, &vectors);
    matrices += tables;
    matrices -= joined_away(plan, params, stage, &dense);
    if (engine_attention_ranks(plan) != plan->parallel.tp)
        matrices += held_again(plan, params, stage, &dense);
    matrices += mtp_matrices(plan, params, stage);
    if (stage->head && model_ties_head(&plan->model) && !stage->embedding && !stage->mtp_layers)
        matrices += params->embedding;
    struct encoder_share encoder = encoder_share(plan, params);
    stage->encoder_frozen = stage->embedding ? encoder.frozen : 0;
    /* training keeps whole what engines split of layers' embeddings: dims_splits_embeddings */
    uint64_t ends = tables + stage->head * params->head.matrices;
    uint64_t own =
        stage->embedding && plan->workload.mode == MODE_TRAIN ? params->layer_table : 0;
    stage->plain_parameters = ceil_div(ends - own, plan->parallel.tp) + own + vectors;
    uint64_t whole = replicated_matrices(&plan->model, params, stage) + own;
    whole += own ? params->layer_inputs.matrices : 0;
    whole = whole < matrices ? whole : matrices;
    stage->dense_parameters = ceil_div(matrices - whole, plan->parallel.tp) + whole + vectors +
                              (stage->embedding ? encoder.trained : 0);
    uint64_t held = plan_local_experts(plan) * params_part_total(params->expert);
    if (plan->model.moe.image_intermediate)
        held += ceil_div(params_part_total(params->images), plan->parallel.ep);
    stage->expert_parameters = ceil_div(stage->moe_layers * held, plan->parallel.etp);
}

void stage_networks(struct stage *stage)
{
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        if (!stage->layers[k])
            continue;
        enum ffn ffn = kind_ffn((enum layer_kind)k);
        stage->dense_layers += ffn == FFN_DENSE ? stage->layers[k] : 0;
        stage->moe_layers += ffn == FFN_MOE ? stage->layers[k] : 0;
    }
}

/* Of these layers one with the most parameters, alone. */
static struct stage largest_layer(const struct plan *plan, const struct params *params,
                                  const uint64_t layers[KIND_COUNT])
{
    struct stage largest = {0};
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        struct stage one = {0};
        one.layers[k] = layers[k] ? 1 : 0;
        stage_networks(&one);
        stage_parameters(plan, params, &one);
        if (one.dense_parameters + one.expert_parameters >
            largest.dense_parameters + largest.expert_parameters)
            largest = one;
    }
    return largest;
}

/* The n layers with the most parameters: which are drawn is not known. */
static void draw_layers(const struct plan *plan, const struct params *params,
                        const struct stage *stage, uint64_t n, uint64_t drawn[KIND_COUNT])
{
    uint64_t left[KIND_COUNT];
    memcpy(left, stage->layers, sizeof left);
    memset(drawn, 0, sizeof left);
    for (; n > 0; n--) {
        struct stage one = largest_layer(plan, params, left);
        for (unsigned k = 0; k < KIND_COUNT; k++) {
            drawn[k] += one.layers[k];
            left[k] -= one.layers[k];
        }
    }
}

void stage_trained(const struct plan *plan, const struct params *params,
                   const uint64_t layers[KIND_COUNT], struct stage *stage)
{
    struct params own = *params;
    struct stage part = {
        .embedding = stage->embedding, .head = stage->head, .mtp_layers = stage->mtp_layers};
    params_freeze(plan, &own);
    memcpy(part.layers, layers, sizeof part.layers);
    if (plan_draws_layers(plan))
        draw_layers(plan, &own, stage, plan->optimizer.active_layers, part.layers);
    stage_networks(&part);
    stage_parameters(plan, &own, &part);
    if (plan_trains_one_layer(plan))
        part = largest_layer(plan, &own, stage->layers);
    stage->trained_dense = part.dense_parameters;
    stage->trained_plain = part.plain_parameters;
    stage->trained_experts = part.expert_parameters;
}
