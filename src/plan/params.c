/* Parameter counts; see params.h. Every product is checked: a model file may hold anything. */
#include "plan/params.h"

#include "base/checked.h"
#include "plan/mixer.h"

static uint64_t part_total(struct params_part part, bool *overflow)
{
    return checked_add(checked_add(part.matrices, part.norms, overflow), part.biases, overflow);
}

uint64_t params_part_total(struct params_part part)
{
    bool overflow = false;
    return part_total(part, &overflow);
}

/* *sum += n * part */
static void part_add(struct params_part *sum, struct params_part part, uint64_t n,
                     bool *overflow)
{
    sum->matrices =
        checked_add(sum->matrices, checked_mul(part.matrices, n, overflow), overflow);
    sum->norms = checked_add(sum->norms, checked_mul(part.norms, n, overflow), overflow);
    sum->biases = checked_add(sum->biases, checked_mul(part.biases, n, overflow), overflow);
}

/* A feed-forward network over rows of `width`: gate and up [H, I], down [I, H]. */
static struct params_part count_network(const struct model *model, uint64_t width,
                                        uint64_t inter, bool bias, bool *overflow)
{
    uint64_t inputs = model->moe.glu ? 2 : 1;
    struct params_part part = {.matrices = checked_mul3(inputs + 1, width, inter, overflow)};
    if (bias && inter)
        part.biases = checked_add(checked_mul(inputs, inter, overflow), width, overflow);
    return part;
}

static struct params_part count_mlp(const struct model *model, uint64_t inter, bool bias,
                                    bool *overflow)
{
    return count_network(model, model->hidden, inter, bias, overflow);
}

static struct params_part count_router(const struct model *model, bool *overflow)
{
    const struct model_moe *moe = &model->moe;
    bool scaled = moe->router.learned_scale;
    uint64_t vectors = (uint64_t)moe->router.bias + (uint64_t)moe->router.linear_bias + scaled;
    uint64_t choices = checked_add(moe->experts, moe->zero_experts, overflow);
    uint64_t biases = checked_mul(vectors, choices, overflow);
    return (struct params_part){
        .matrices = checked_mul(choices, model->hidden, overflow),
        .biases = checked_add(biases, scaled ? model->hidden : 0, overflow),
    };
}

/* As many experts again, and the router that tokens of images choose by: no token of text is
 * multiplied by one (transformers ernie4_5_vl_moe/modular_ernie4_5_vl_moe.py, ..._MoeBlock). */
static struct params_part count_images(const struct model *model, bool *overflow)
{
    const struct model_moe *moe = &model->moe;
    struct params_part sum = {0};
    if (!moe->image_intermediate)
        return sum;
    part_add(&sum,
             count_network(model, model_row_width(model), moe->image_intermediate, moe->bias,
                           overflow),
             moe->experts, overflow);
    part_add(&sum, count_router(model, overflow), 1, overflow);
    return sum;
}

static struct params_part count_norms(const struct model *model, uint64_t n, bool *overflow)
{
    uint64_t values = checked_mul(n, model->hidden, overflow);
    return (struct params_part){.norms = values, .biases = model->norm_bias ? values : 0};
}

/* Of attention residuals a norm and a vector of weights, which say how much of the sum of each
 * block a mixer or network reads (vLLM models/kimi_k3/nvidia/model.py, ..._res_norm and
 * ..._res_proj). */
static struct params_part count_block_sums(const struct model *model)
{
    return (struct params_part){.norms = model->residual_block ? 2 * model->hidden : 0};
}

/* Of gates of a rank: copies, each normed, [n H, r] and [r, n H], which weigh them, and
 * [n H, added], by how much a result is added to each (transformers
 * qwen4_exp/modular_qwen4_exp.py, Qwen4ExpTextGatedResidual). */
static struct params_part count_gates(const struct model *model, uint64_t added, bool *overflow)
{
    uint64_t wide = checked_mul(model->residual_streams, model->hidden, overflow);
    uint64_t columns =
        checked_add(checked_mul(2, model->residual_rank, overflow), added, overflow);
    return (struct params_part){.matrices = checked_mul(wide, columns, overflow),
                                .norms = wide};
}

/* Of n copies of the residual: what a mixer or network reads is weighed out of them by n
 * numbers of a token, its result added by n, and the copies are mixed by n^2: a matrix [n H,
 * n^2 + 2 n] with a bias and three scales (layer-kinds.md 1.8). Where they are not mixed these
 * are 2 n, with two scales (transformers hy_v4/modular_hy_v4.py, HYV4HyperConnection). */
static struct params_part count_streams(const struct model *model, bool *overflow)
{
    uint64_t n = model->residual_streams, mixes = model_stream_mixes(model);
    if (n <= 1)
        return count_block_sums(model);
    if (model->residual_rank)
        return count_gates(model, n, overflow);
    return (struct params_part){
        .matrices = checked_mul3(mixes, n, model->hidden, overflow),
        .biases = checked_add(mixes, model->residual_identity ? 2 : 3, overflow)};
}

static struct params_part count_streams_end(const struct model *model, bool *overflow)
{
    uint64_t n = model->residual_streams;
    if (n <= 1)
        return count_block_sums(model);
    if (model->residual_mean)
        return (struct params_part){0};
    if (model->residual_rank)
        return count_gates(model, 0, overflow);
    return (struct params_part){.matrices = checked_mul3(n, n, model->hidden, overflow),
                                .biases = n + 1};
}

/* Embeddings of the layers (Gemma-4 E2B, E4B): a layer's gate [H, w], what projects the gated
 * ones back [w, H] and its norm; before the layers a projection of the tokens [H, L w] with a
 * norm of w, and the table (transformers gemma4/modular_gemma4.py, Gemma4TextModel). */
static void count_layer_embeddings(const struct model *model, struct params *p, bool *overflow)
{
    uint64_t width = model->layer_embedding.width;
    uint64_t all = checked_mul(model->layers, width, overflow);
    if (!width)
        return;
    p->layer_input.matrices = checked_mul3(2, model->hidden, width, overflow);
    p->layer_input.norms = model->hidden;
    p->layer_inputs.matrices = checked_mul(all, model->hidden, overflow);
    p->layer_inputs.norms = width;
    p->layer_table = checked_mul(model->layer_embedding.vocab, all, overflow);
}

/* Of n-grams: beside the table a key of every copy and a value, norms of copies and keys, and a
 * convolution of their columns with a norm of its own (the same, Qwen4ExpTextPLELayer); none of
 * it in transformers deepseek_v41/modular_deepseek_v41.py, DeepseekV41Engram. Those of an
 * embedding have a matrix for every head, and no vectors. */
static void count_ngrams(const struct model *model, struct params *p, bool *overflow)
{
    const struct ngram *g = &model->ngram;
    uint64_t n = model->residual_streams, wide = checked_mul(n, model->hidden, overflow);
    if (!g->tables)
        return;
    uint64_t both = checked_mul(g->width, model_ngram_outputs(model), overflow);
    uint64_t taps = checked_mul(wide, g->conv, overflow);
    p->ngrams.matrices = checked_mul(g->tables, both, overflow);
    p->ngrams.norms =
        g->embedded ? 0 : checked_mul3(g->tables, g->conv ? 3 : 2, wide, overflow);
    p->ngrams.biases = checked_mul(g->tables, taps, overflow);
    p->ngram_table = checked_mul(checked_mul(g->tables, g->rows, overflow),
                                 g->heads ? g->width / g->heads : 0, overflow);
}

uint64_t params_stream_sites(enum layer_kind kind)
{
    return (uint64_t)(kind_mixer(kind) != MIXER_NONE) + (kind_ffn(kind) != FFN_NONE);
}

/* Modules beside attention residuals add as well (vLLM models/alice_ai_mtp.py). */
static bool has_plain_modules(const struct model *model)
{
    return model->mtp_plain || model->residual_block;
}

uint64_t params_plain_sites(const struct model *model)
{
    return has_plain_modules(model) ? params_stream_sites(model_mtp_kind(model)) : 0;
}

const struct params_part *params_dense(const struct params *params, enum mixer mixer)
{
    return mixer_borrows(mixer) ? &params->borrow_mlp : &params->dense_mlp;
}

/* One layer, with `experts` of its routed experts. */
static struct params_part layer_of(const struct params *params, enum layer_kind kind,
                                   uint64_t experts, bool *overflow)
{
    struct params_part sum = params->mixer[kind_mixer(kind)];
    enum ffn ffn = kind_ffn(kind);
    part_add(&sum, params->layer_norms, 1, overflow);
    part_add(&sum, params->streams, params_stream_sites(kind), overflow);
    part_add(&sum, params->layer_input, 1, overflow);
    if (ffn == FFN_DENSE)
        part_add(&sum, *params_dense(params, kind_mixer(kind)), 1, overflow);
    if (ffn != FFN_MOE)
        return sum;
    part_add(&sum, params->router, 1, overflow);
    part_add(&sum, params->shared, 1, overflow);
    part_add(&sum, params->residual, 1, overflow);
    part_add(&sum, params->latent, 1, overflow);
    part_add(&sum, params->expert, experts, overflow);
    return sum;
}

/* A norm of a prediction module's embedding, one of hidden states and one before the head; of
 * gated copies of the residual the hidden states are all copies, and what makes one of them
 * stands before the head. */
static struct params_part count_module_ends(const struct model *model, bool *overflow)
{
    if (!model->residual_rank)
        return count_norms(model, 3, overflow);
    struct params_part sum = count_norms(model, 1 + model->residual_streams, overflow);
    part_add(&sum, count_streams_end(model, overflow), 1, overflow);
    return sum;
}

/* A prediction module: a layer (of both parts), the [2 H, H] projection of hidden state and
 * embedding, and norms. Embedding and head are the model's. */
static struct params_part mtp_module(const struct model *model, const struct params *params,
                                     uint64_t experts, bool *overflow)
{
    struct params own = *params;
    if (has_plain_modules(model))
        own.streams = (struct params_part){0};
    struct params_part sum = layer_of(&own, model_mtp_kind(model), experts, overflow);
    part_add(&sum, params->module_ends, 1, overflow);
    if (model_has_parts(model)) /* its mixer and its network are two layers of the others */
        part_add(&sum, params->layer_norms, 1, overflow);
    sum.matrices = checked_add(
        sum.matrices, checked_mul3(2, model->hidden, model->hidden, overflow), overflow);
    return sum;
}

/* The whole model with `experts` routed experts in each MoE layer. */
static struct params_part count_model(const struct model *model, const struct params *params,
                                      uint64_t experts, bool *overflow)
{
    struct params_part sum = {.matrices = params->embedding};
    part_add(&sum, params->head, 1, overflow);
    part_add(&sum, params->final_norm, 1, overflow);
    part_add(&sum, params->streams_end, 1, overflow);
    part_add(&sum, params->layer_inputs, 1, overflow);
    part_add(&sum, params->ngrams, 1, overflow);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        if (params->layers[k])
            part_add(&sum, layer_of(params, (enum layer_kind)k, experts, overflow),
                     params->layers[k], overflow);
    if (model->mtp_enabled)
        part_add(&sum, mtp_module(model, params, experts, overflow), model->mtp_layers,
                 overflow);
    return sum;
}

uint64_t params_encoder_attention(const struct encoder *encoder)
{
    return encoder->attention ? encoder->attention : encoder->hidden;
}

/* All layers of the encoder: q, k, v [h, a] and output [a, h], a network of two or three
 * matrices, two norms; attention's biases are those of q, k, v and of the output. */
static struct params_part count_encoder(const struct model *model, bool *overflow)
{
    const struct encoder *e = &model->encoder;
    uint64_t wide = e->glu ? 2 : 1, norms = checked_mul(2, e->hidden, overflow);
    uint64_t heads = params_encoder_attention(e);
    struct params_part layer = {
        .matrices =
            checked_add(checked_mul3(4, e->hidden, heads, overflow),
                        checked_mul3(wide + 1, e->hidden, e->intermediate, overflow), overflow),
        .norms = norms,
        .biases = e->norm_bias ? norms : 0,
    };
    uint64_t own = checked_add(checked_mul(3, heads, overflow), norms, overflow);
    uint64_t biases = checked_add(own, checked_mul(wide, e->intermediate, overflow), overflow);
    if (e->bias)
        layer.biases = checked_add(layer.biases, biases, overflow);
    struct params_part sum = {0};
    part_add(&sum, layer, e->layers, overflow);
    return sum;
}

/* dense_layers says how many where a period and it differ. */
static void count_layers(const struct model *model, struct params *p)
{
    uint64_t dense = model->dense_layers < model->layers ? model->dense_layers : model->layers;
    if (model->layer_types.n) {
        model_layers(model, 0, model->layers, p->layers);
    } else {
        p->layers[KIND_DENSE] = dense;
        p->layers[KIND_MOE] = model->layers - dense;
    }
    for (unsigned k = 0; k < KIND_COUNT; k++)
        p->moe_layers += kind_ffn((enum layer_kind)k) == FFN_MOE ? p->layers[k] : 0;
}

static void count_parts(const struct model *model, struct params *p, bool *overflow)
{
    const struct model_moe *moe = &model->moe;
    p->embedding = checked_mul(model->vocab, model->hidden, overflow);
    p->head.matrices =
        model_ties_head(model) ? 0 : checked_mul(model_outputs(model), model->hidden, overflow);
    p->head.biases = model->head_bias && !model->labels ? model->vocab : 0;
    for (unsigned m = 0; m < MIXER_COUNT; m++) {
        p->mixer[m] = mixer_parameters(model, (enum mixer)m, overflow);
        p->whole[m] = mixer_whole(model, (enum mixer)m, overflow);
    }
    p->dense_mlp = count_mlp(model, model->dense_intermediate, model->mlp_bias, overflow);
    p->borrow_mlp =
        count_mlp(model, model_dense_width(model, MIXER_BORROW), model->mlp_bias, overflow);
    count_layer_embeddings(model, p, overflow);
    count_ngrams(model, p, overflow);
    p->expert =
        count_network(model, model_row_width(model), moe->intermediate, moe->bias, overflow);
    p->latent.matrices = checked_mul3(2, model->hidden, moe->latent_size, overflow);
    p->latent.norms = moe->latent_norm ? moe->latent_size : 0;
    p->router = count_router(model, overflow);
    p->shared = count_mlp(model, moe->shared_intermediate, false, overflow);
    if (moe->shared_gate && moe->shared_intermediate)
        p->shared.matrices = checked_add(p->shared.matrices, model->hidden, overflow);
    p->images = count_images(model, overflow);
    p->residual = count_mlp(model, model->residual_intermediate, false, overflow);
    p->layer_norms = count_norms(model, model_layer_norms(model), overflow);
    p->layer_norms.biases = checked_add(p->layer_norms.biases, model->layer_scale, overflow);
    p->final_norm = count_norms(model, !model->residual_rank, overflow);
    p->module_ends = count_module_ends(model, overflow);
    p->streams = count_streams(model, overflow);
    p->streams_end = count_streams_end(model, overflow);
    count_layers(model, p);
    if (model->encoder.layers) {
        p->encoder = count_encoder(model, overflow);
        p->encoder_embedding =
            checked_add(model->encoder.embedding, model->encoder.audio, overflow);
        p->encoder_projector = model->encoder.projector;
    }
    if (model->mtp_enabled)
        part_add(&p->mtp, mtp_module(model, p, moe->experts, overflow), model->mtp_layers,
                 overflow);
}

uint64_t params_encoder(const struct params *params)
{
    bool overflow = false;
    uint64_t ends =
        checked_add(params->encoder_embedding, params->encoder_projector, &overflow);
    return checked_add(part_total(params->encoder, &overflow), ends, &overflow);
}

void params_count(const struct model *model, struct params *params)
{
    struct params p = {0};
    bool overflow = false;
    count_parts(model, &p, &overflow);
    struct params_part all = count_model(model, &p, model->moe.experts, &overflow);
    part_add(&all, p.images, p.moe_layers, &overflow);
    struct params_part used = count_model(model, &p, model_choices(model), &overflow);
    p.routed = checked_mul3(p.moe_layers, model->moe.experts, part_total(p.expert, &overflow),
                            &overflow);
    uint64_t ends = checked_add(p.encoder_embedding, p.encoder_projector, &overflow);
    uint64_t encoder = checked_add(p.encoder.matrices, ends, &overflow);
    uint64_t tables = checked_add(p.layer_table, p.ngram_table, &overflow);
    encoder = checked_add(encoder, tables, &overflow);
    p.matrices = checked_add(all.matrices, encoder, &overflow);
    p.parameters = checked_add(part_total(all, &overflow), params_encoder(&p), &overflow);
    p.parameters = checked_add(p.parameters, tables, &overflow);
    p.active_matrices = used.matrices;
    p.active = used.matrices - (model_ties_head(model) ? 0 : p.embedding);
    p.overflow = overflow;
    *params = p;
}

uint64_t params_active(const struct model *model, const struct params *params)
{
    bool overflow = false;
    struct params_part used = count_model(model, params, model_choices(model), &overflow);
    return used.matrices - (model_ties_head(model) ? 0 : params->embedding);
}

typedef uint64_t (*mixer_count)(const struct model *model, enum mixer mixer,
                                uint64_t sequence_length, bool *overflow);

/* Of the layers from `first` on, of prediction modules too. */
static uint64_t sum_mixers(const struct model *model, uint64_t first, uint64_t sequence_length,
                           mixer_count flop)
{
    bool overflow = false;
    uint64_t layers[KIND_COUNT] = {0}, sum = 0;
    model_layers(model, first, model->layers, layers);
    layers[model_mtp_kind(model)] += model->mtp_enabled ? model->mtp_layers : 0;
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        uint64_t one = flop(model, kind_mixer((enum layer_kind)k), sequence_length, &overflow);
        sum = checked_add(sum, checked_mul(layers[k], one, &overflow), &overflow);
    }
    return sum;
}

uint64_t params_attention_flop(const struct model *model, uint64_t sequence_length)
{
    return sum_mixers(model, 0, sequence_length, mixer_flop);
}

uint64_t params_attention_back_flop(const struct model *model, uint64_t first,
                                    uint64_t sequence_length)
{
    return sum_mixers(model, first, sequence_length, mixer_back_flop);
}

static uint64_t flop_per_token(const struct model *model, uint64_t sequence_length,
                               uint64_t passes)
{
    struct params params;
    params_count(model, &params);
    bool overflow = false;
    uint64_t heads = model->mtp_enabled ? model->mtp_layers : 0;
    uint64_t head = checked_mul(model->vocab, model->hidden, &overflow);
    uint64_t multiplied =
        checked_add(params.active, checked_mul(heads, head, &overflow), &overflow);
    uint64_t forward = checked_add(checked_mul(2, multiplied, &overflow),
                                   params_attention_flop(model, sequence_length), &overflow);
    return checked_mul(passes, forward, &overflow);
}

uint64_t params_forward_flop_per_token(const struct model *model, uint64_t sequence_length)
{
    return flop_per_token(model, sequence_length, 1);
}

uint64_t params_flop_per_token(const struct model *model, uint64_t sequence_length)
{
    return flop_per_token(model, sequence_length, 3);
}
