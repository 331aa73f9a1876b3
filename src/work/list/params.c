/* Parameter counts; see params.h. Every product is checked: a model file may hold anything. */
#include "work/list/params.h"

#include "base/checked.h"

/* a * b * c */
static uint64_t mul3(uint64_t a, uint64_t b, uint64_t c, bool *overflow)
{
    return checked_mul(checked_mul(a, b, overflow), c, overflow);
}

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

/* Width of the q and k vectors of one head, and of v. */
static uint64_t qk_dim(const struct attention *attention, bool *overflow)
{
    if (attention->kind == ATTENTION_GQA)
        return attention->head_dim;
    return checked_add(attention->qk_nope_head_dim, attention->qk_rope_head_dim, overflow);
}

static uint64_t v_dim(const struct attention *attention)
{
    return attention->kind == ATTENTION_GQA ? attention->head_dim : attention->v_head_dim;
}

/* q [H, h d], k and v [H, h_kv d] each, o [h d, H] */
static struct params_part count_gqa(const struct model *model, bool *overflow)
{
    const struct attention *a = &model->attention;
    uint64_t q = checked_mul(a->heads, a->head_dim, overflow);
    uint64_t kv = checked_mul(a->kv_heads, a->head_dim, overflow);
    uint64_t width = checked_add(mul3(2, q, 1, overflow), mul3(2, kv, 1, overflow), overflow);
    struct params_part part = {.matrices = checked_mul(width, model->hidden, overflow)};
    if (a->qk_norm)
        part.norms = a->qk_norm_all_heads ? checked_add(q, kv, overflow)
                                          : checked_mul(2, a->head_dim, overflow);
    if (a->bias)
        part.biases = checked_add(q, checked_mul(2, kv, overflow), overflow);
    if (a->sinks)
        part.biases = checked_add(part.biases, a->heads, overflow);
    return part;
}

/* q down [H, r_q], q up [r_q, h (nope + rope)] or q [H, h (nope + rope)] alone,
 * kv down [H, r_kv + rope], kv up [r_kv, h (nope + v)], o [h v, H]; norms on both low ranks */
static struct params_part count_mla(const struct model *model, bool *overflow)
{
    const struct attention *a = &model->attention;
    uint64_t q = checked_mul(a->heads, qk_dim(a, overflow), overflow);
    uint64_t down = checked_add(a->kv_lora_rank, a->qk_rope_head_dim, overflow);
    uint64_t v = checked_mul(a->heads, a->v_head_dim, overflow);
    uint64_t up =
        checked_add(checked_mul(a->heads, a->qk_nope_head_dim, overflow), v, overflow);
    uint64_t from_hidden = checked_add(checked_add(down, v, overflow),
                                       a->q_lora_rank ? a->q_lora_rank : q, overflow);
    uint64_t from_rank = checked_add(checked_mul(a->kv_lora_rank, up, overflow),
                                     checked_mul(a->q_lora_rank, q, overflow), overflow);
    return (struct params_part){
        .matrices =
            checked_add(checked_mul(model->hidden, from_hidden, overflow), from_rank, overflow),
        .norms = checked_add(a->q_lora_rank, a->kv_lora_rank, overflow),
        .biases = a->bias ? checked_add(a->q_lora_rank, down, overflow) : 0,
    };
}

static struct params_part count_attention(const struct model *model, bool *overflow)
{
    struct params_part part = model->attention.kind == ATTENTION_GQA
                                  ? count_gqa(model, overflow)
                                  : count_mla(model, overflow);
    if (model->attention.output_bias)
        part.biases = checked_add(part.biases, model->hidden, overflow);
    return part;
}

/* A feed-forward network of this width: gate and up [H, I], down [I, H]. */
static struct params_part count_mlp(const struct model *model, uint64_t inter, bool bias,
                                    bool *overflow)
{
    uint64_t inputs = model->moe.glu ? 2 : 1;
    struct params_part part = {.matrices = mul3(inputs + 1, model->hidden, inter, overflow)};
    if (bias && inter)
        part.biases =
            checked_add(checked_mul(inputs, inter, overflow), model->hidden, overflow);
    return part;
}

static struct params_part count_router(const struct model *model, bool *overflow)
{
    const struct model_moe *moe = &model->moe;
    uint64_t vectors = (uint64_t)moe->router.bias + (uint64_t)moe->router.linear_bias;
    return (struct params_part){
        .matrices = checked_mul(moe->experts, model->hidden, overflow),
        .biases = checked_mul(vectors, moe->experts, overflow),
    };
}

static struct params_part count_norms(const struct model *model, uint64_t n, bool *overflow)
{
    uint64_t values = checked_mul(n, model->hidden, overflow);
    return (struct params_part){.norms = values, .biases = model->norm_bias ? values : 0};
}

/* One MoE layer with `experts` of its routed experts. */
static struct params_part moe_layer(const struct params *params, uint64_t experts,
                                    bool *overflow)
{
    struct params_part sum = {0};
    part_add(&sum, params->attention, 1, overflow);
    part_add(&sum, params->layer_norms, 1, overflow);
    part_add(&sum, params->router, 1, overflow);
    part_add(&sum, params->shared, 1, overflow);
    part_add(&sum, params->residual, 1, overflow);
    part_add(&sum, params->expert, experts, overflow);
    return sum;
}

/* A prediction module: a MoE layer, the [2 H, H] projection of hidden state and embedding, a
 * norm on each of the two and one before the head. Embedding and head are the model's. */
static struct params_part mtp_module(const struct model *model, const struct params *params,
                                     uint64_t experts, bool *overflow)
{
    struct params_part sum = moe_layer(params, experts, overflow);
    part_add(&sum, count_norms(model, 3, overflow), 1, overflow);
    sum.matrices =
        checked_add(sum.matrices, mul3(2, model->hidden, model->hidden, overflow), overflow);
    return sum;
}

/* The whole model with `experts` routed experts in each MoE layer. */
static struct params_part count_model(const struct model *model, const struct params *params,
                                      uint64_t experts, bool *overflow)
{
    struct params_part sum = {.matrices = params->embedding};
    part_add(&sum, params->head, 1, overflow);
    part_add(&sum, params->final_norm, 1, overflow);
    part_add(&sum, params->attention, model->dense_layers, overflow);
    part_add(&sum, params->layer_norms, model->dense_layers, overflow);
    part_add(&sum, params->dense_mlp, model->dense_layers, overflow);
    part_add(&sum, moe_layer(params, experts, overflow), params->moe_layers, overflow);
    if (model->mtp_enabled)
        part_add(&sum, mtp_module(model, params, experts, overflow), model->mtp_layers,
                 overflow);
    return sum;
}

static void count_parts(const struct model *model, struct params *p, bool *overflow)
{
    const struct model_moe *moe = &model->moe;
    p->embedding = checked_mul(model->vocab, model->hidden, overflow);
    p->head.matrices = model->tied_embeddings ? 0 : p->embedding;
    p->head.biases = model->head_bias ? model->vocab : 0;
    p->attention = count_attention(model, overflow);
    p->dense_mlp = count_mlp(model, model->dense_intermediate, false, overflow);
    p->expert = count_mlp(model, moe->intermediate, moe->bias, overflow);
    p->router = count_router(model, overflow);
    p->shared = count_mlp(model, moe->shared_intermediate, false, overflow);
    if (moe->shared_gate && moe->shared_intermediate)
        p->shared.matrices = checked_add(p->shared.matrices, model->hidden, overflow);
    p->residual = count_mlp(model, model->residual_intermediate, false, overflow);
    p->layer_norms = count_norms(model, model->norms_per_layer, overflow);
    p->final_norm = count_norms(model, 1, overflow);
    p->moe_layers =
        model->layers > model->dense_layers ? model->layers - model->dense_layers : 0;
    if (model->mtp_enabled)
        part_add(&p->mtp, mtp_module(model, p, moe->experts, overflow), model->mtp_layers,
                 overflow);
}

void params_count(const struct model *model, struct params *params)
{
    struct params p = {0};
    bool overflow = false;
    count_parts(model, &p, &overflow);
    struct params_part all = count_model(model, &p, model->moe.experts, &overflow);
    struct params_part used = count_model(model, &p, model->moe.top_k, &overflow);
    p.routed =
        mul3(p.moe_layers, model->moe.experts, part_total(p.expert, &overflow), &overflow);
    p.matrices = all.matrices;
    p.parameters = part_total(all, &overflow);
    p.active_matrices = used.matrices;
    p.active = used.matrices - (model->tied_embeddings ? 0 : p.embedding);
    p.overflow = overflow;
    *params = p;
}

uint64_t params_attention_flop(const struct model *model, uint64_t sequence_length)
{
    bool overflow = false;
    uint64_t layers = model->layers + (model->mtp_enabled ? model->mtp_layers : 0);
    uint64_t dims =
        checked_add(qk_dim(&model->attention, &overflow), v_dim(&model->attention), &overflow);
    return mul3(mul3(layers, model->attention.heads, dims, &overflow), sequence_length, 1,
                &overflow);
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
