/* See layers.h. */
#include "plan/layers.h"

#include <string.h>

#include "base/checked.h"

static const struct kind_row {
    enum mixer mixer;
    enum ffn ffn;
    const char *name;
} rows[] = {
#define LAYER_KIND_ROW(name, mixer, ffn, text, word) {MIXER_##mixer, FFN_##ffn, text},
    LAYER_KIND_LIST(LAYER_KIND_ROW)
#undef LAYER_KIND_ROW
};

enum mixer kind_mixer(enum layer_kind kind)
{
    return rows[kind].mixer;
}

enum ffn kind_ffn(enum layer_kind kind)
{
    return rows[kind].ffn;
}

enum mixer mixer_owner(enum mixer mixer)
{
    return mixer == MIXER_BORROW          ? MIXER_FULL
           : mixer == MIXER_WINDOW_BORROW ? MIXER_WINDOW
                                          : mixer;
}

bool mixer_borrows(enum mixer mixer)
{
    return mixer_owner(mixer) != mixer;
}

enum mixer mixer_source(enum mixer mixer)
{
    return mixer == MIXER_CSA_REUSE                                ? MIXER_CSA
           : mixer == MIXER_TSA_CHOOSE || mixer == MIXER_TSA_REUSE ? MIXER_TSA
                                                                   : mixer;
}

bool mixer_has(enum mixer mixer, enum mixer part)
{
    bool both = mixer == MIXER_BOTH && (part == MIXER_FULL || part == MIXER_LINEAR);
    return mixer == part || both;
}

const char *kind_name(enum layer_kind kind)
{
    return rows[kind].name;
}

static enum layer_kind kind_of(enum mixer mixer, enum ffn ffn)
{
    unsigned kind = 0;
    while (rows[kind].mixer != mixer || rows[kind].ffn != ffn)
        kind++;
    return (enum layer_kind)kind;
}

/* ---- one layer ---- */

static bool is_part(enum layer_type type)
{
    return type == LAYER_DENSE || type == LAYER_MOE;
}

/* Whether all layers are recurrences without a network: the list names linear alone in a model
 * without experts and dense width (Mamba). */
static bool model_is_recurrent(const struct model *model)
{
    const struct enum_list *list = &model->layer_types;
    if (!list->n || model->moe.experts || model->dense_intermediate)
        return false;
    for (uint64_t i = 0; i < list->n; i++)
        if (list->value[i] != LAYER_LINEAR)
            return false;
    return true;
}

bool model_has_parts(const struct model *model)
{
    const struct enum_list *list = &model->layer_types;
    return memchr(list->value, LAYER_DENSE, list->n) ||
           memchr(list->value, LAYER_MOE, list->n) || model_is_recurrent(model);
}

enum mixer layer_mixer(enum layer_type type)
{
    static const enum mixer mixers[LAYER_TYPES] = {[LAYER_FULL] = MIXER_FULL,
                                                   [LAYER_WINDOW] = MIXER_WINDOW,
                                                   [LAYER_CHUNK] = MIXER_CHUNK,
                                                   [LAYER_LINEAR] = MIXER_LINEAR,
                                                   [LAYER_REUSE] = MIXER_REUSE,
                                                   [LAYER_CSA] = MIXER_CSA,
                                                   [LAYER_HCA] = MIXER_HCA,
                                                   [LAYER_CSA_REUSE] = MIXER_CSA_REUSE,
                                                   [LAYER_TSA] = MIXER_TSA,
                                                   [LAYER_TSA_CHOOSE] = MIXER_TSA_CHOOSE,
                                                   [LAYER_TSA_REUSE] = MIXER_TSA_REUSE,
                                                   [LAYER_BLOCKS] = MIXER_BLOCKS,
                                                   [LAYER_BORROW] = MIXER_BORROW,
                                                   [LAYER_WINDOW_BORROW] = MIXER_WINDOW_BORROW,
                                                   [LAYER_BOTH] = MIXER_BOTH,
                                                   [LAYER_DENSE] = MIXER_NONE,
                                                   [LAYER_MOE] = MIXER_NONE};
    return mixers[type];
}

/* With parts a layer is one of them: the list says which, ffn does not count. */
static enum layer_kind kind_of_type(enum layer_type type, enum ffn ffn, bool parts)
{
    if (!parts)
        return kind_of(layer_mixer(type), ffn);
    if (is_part(type))
        return type == LAYER_MOE ? KIND_FFN_MOE : KIND_FFN_DENSE;
    return kind_of(layer_mixer(type), FFN_NONE);
}

/* ---- runs of layers ---- */

/* The layers first, first + step, ...: n of them. */
struct progression {
    uint64_t first, step, n;
};

/* Adds their types to count. A list repeats, so the types of a progression do after as many
 * terms as the list is long: models of 10^9 layers take no longer. Rules ask for them by the
 * dozen, of every plan that a search tries: nothing is divided on the way. */
static void count_types(const struct enum_list *list, const struct progression *p,
                        uint64_t count[LAYER_TYPES])
{
    uint64_t period = list->n;
    if (!period) {
        count[LAYER_FULL] += p->n;
        return;
    }
    uint64_t whole = p->n / period, rest = p->n % period, end = whole ? period : rest;
    uint64_t at = p->first % period, step = p->step % period;
    for (uint64_t i = 0; i < end; i++) {
        count[list->value[at]] += whole + (i < rest);
        at = at + step < period ? at + step : at + step - period;
    }
}

/* Dense layers lead, or stand between every moe_every-th. */
static struct progression moe_layers(const struct model *model, uint64_t first, uint64_t end)
{
    uint64_t every = model->moe_every, start = first;
    if (every > 1)
        return (struct progression){.first = (first / every + 1) * every - 1,
                                    .step = every,
                                    .n = end / every - first / every};
    if (start < model->dense_layers)
        start = model->dense_layers < end ? model->dense_layers : end;
    return (struct progression){.first = start, .step = 1, .n = end - start};
}

void model_layers(const struct model *model, uint64_t first, uint64_t end,
                  uint64_t count[KIND_COUNT])
{
    const struct progression run = {.first = first, .step = 1, .n = end - first},
                             moe = moe_layers(model, first, end);
    uint64_t all[LAYER_TYPES] = {0}, with_experts[LAYER_TYPES] = {0};
    bool parts = model_has_parts(model);
    count_types(&model->layer_types, &run, all);
    if (!parts)
        count_types(&model->layer_types, &moe, with_experts);
    for (unsigned i = 0; i < LAYER_TYPES; i++) {
        enum layer_type type = (enum layer_type)i;
        if (!all[i])
            continue;
        count[kind_of_type(type, FFN_MOE, parts)] += with_experts[i];
        count[kind_of_type(type, FFN_DENSE, parts)] += all[i] - with_experts[i];
    }
}

static bool has_type(const struct model *model, enum layer_type type)
{
    for (uint64_t i = 0; i < model->layer_types.n; i++)
        if (model->layer_types.value[i] == type)
            return true;
    return false;
}

enum layer_kind model_mtp_kind(const struct model *model)
{
    bool window = model->mtp_window || model->attention.kind == ATTENTION_SHARED_KV;
    enum mixer mixer = window                          ? MIXER_WINDOW
                       : has_type(model, LAYER_BLOCKS) ? MIXER_BLOCKS
                                                       : MIXER_FULL;
    return kind_of(mixer, model->moe.experts && !model->mtp_dense ? FFN_MOE : FFN_DENSE);
}

void model_kinds(const struct model *model, bool has[KIND_COUNT])
{
    uint64_t count[KIND_COUNT] = {0};
    model_layers(model, 0, model->layers, count);
    for (unsigned i = 0; i < KIND_COUNT; i++)
        has[i] = count[i] > 0;
    if (model->mtp_enabled && model->mtp_layers)
        has[model_mtp_kind(model)] = true;
    has[KIND_MOE] &= model->layer_types.n || model->moe.experts > 0;
    has[KIND_DENSE] |= !model->layer_types.n && !has[KIND_MOE];
}

uint64_t model_choices(const struct model *model)
{
    const struct model_moe *moe = &model->moe;
    bool overflow = false;
    uint64_t all = checked_add(moe->experts, moe->zero_experts, &overflow);
    if (!moe->zero_experts || overflow)
        return moe->top_k;
    return ceil_div(checked_mul(moe->top_k, moe->experts, &overflow), all);
}

bool model_has_network_norm(const struct model *model)
{
    return !model->side_by_side || model->norms_per_layer > 1;
}

uint64_t model_row_width(const struct model *model)
{
    return model->moe.latent_size ? model->moe.latent_size : model->hidden;
}

static struct progression all_layers(const struct model *model)
{
    return (struct progression){.first = 0, .step = 1, .n = model->layers};
}

uint64_t model_mixers(const struct model *model, enum mixer mixer)
{
    const struct progression all = all_layers(model);
    uint64_t count[LAYER_TYPES] = {0}, sum = 0;
    count_types(&model->layer_types, &all, count);
    for (unsigned i = 0; i < LAYER_TYPES; i++)
        sum += mixer_has(layer_mixer((enum layer_type)i), mixer) ? count[i] : 0;
    return sum;
}

bool model_has_mixer(const struct model *model, enum mixer mixer)
{
    const struct enum_list *list = &model->layer_types;
    if (!list->n)
        return mixer == MIXER_FULL && model->layers;
    size_t named = list->n < model->layers ? list->n : model->layers;
    for (unsigned i = 0; i < LAYER_TYPES; i++)
        if (mixer_has(layer_mixer((enum layer_type)i), mixer) &&
            memchr(list->value, (int)i, named))
            return true;
    return false;
}

/* Where layers are no parts, their list says nothing of networks. */
uint64_t model_ffns(const struct model *model, enum ffn ffn)
{
    const struct progression all = all_layers(model);
    uint64_t count[LAYER_TYPES] = {0};
    if (model_has_parts(model)) {
        count_types(&model->layer_types, &all, count);
    } else {
        count[LAYER_MOE] = moe_layers(model, 0, all.n).n;
        count[LAYER_DENSE] = all.n - count[LAYER_MOE];
    }
    uint64_t moe = count[LAYER_MOE], dense = count[LAYER_DENSE];
    return ffn == FFN_MOE ? moe : ffn == FFN_DENSE ? dense : all.n - moe - dense;
}

bool model_attends_by_groups(const struct model *model)
{
    return model->attention.kind == ATTENTION_GQA && !model_has_mixer(model, MIXER_LINEAR);
}

bool model_has_indexer(const struct model *model, enum mixer mixer)
{
    bool full = mixer == MIXER_FULL && model->attention.kind != ATTENTION_GQA;
    bool entries = mixer == MIXER_CSA || mixer == MIXER_TSA || mixer == MIXER_TSA_CHOOSE;
    return model->indexer.heads && (full || entries || mixer == MIXER_BLOCKS);
}

uint64_t model_index_pool(const struct model *model)
{
    bool pools = model->indexer.heads && model->attention.kind == ATTENTION_MLA;
    return pools && model->indexer.pool ? model->indexer.pool : 1;
}

uint64_t model_stream_mixes(const struct model *model)
{
    uint64_t n = model->residual_streams; /* few */
    return model->residual_identity ? 2 * n : n * (n + 2);
}

uint64_t model_layer_norms(const struct model *model)
{
    return model->residual_rank ? 0 : model->norms_per_layer;
}

static uint64_t own_or(uint64_t own, uint64_t other)
{
    return own ? own : other;
}

struct attention model_attention(const struct model *model, enum mixer mixer)
{
    const struct window *w = &model->window;
    struct attention a = model->attention;
    if (a.kind == ATTENTION_MLA)
        return a;
    a.v_head_dim = a.kind == ATTENTION_GQA ? own_or(a.v_head_dim, a.head_dim) : a.head_dim;
    a.k_eq_v &= a.kind == ATTENTION_GQA;
    if (a.kind != ATTENTION_GQA || mixer_owner(mixer) != MIXER_WINDOW)
        return a;
    a.heads = own_or(w->heads, a.heads);
    a.kv_heads = own_or(w->kv_heads, a.kv_heads);
    a.v_head_dim = own_or(w->v_head_dim, own_or(w->head_dim, a.v_head_dim));
    a.head_dim = own_or(w->head_dim, a.head_dim);
    a.sinks |= w->sinks;
    a.k_eq_v = false;
    return a;
}

bool model_has_own_window(const struct model *model)
{
    struct attention a = model_attention(model, MIXER_FULL),
                     b = model_attention(model, MIXER_WINDOW);
    return a.heads != b.heads || a.kv_heads != b.kv_heads || a.head_dim != b.head_dim ||
           a.v_head_dim != b.v_head_dim || a.sinks != b.sinks || a.k_eq_v != b.k_eq_v;
}

enum mixer model_attention_mixer(const struct model *model)
{
    bool kinds[KIND_COUNT], window = false, others = false;
    model_kinds(model, kinds);
    for (unsigned k = 0; k < KIND_COUNT; k++) {
        enum mixer mixer = mixer_owner(rows[k].mixer);
        window |= kinds[k] && mixer == MIXER_WINDOW;
        others |=
            kinds[k] && mixer != MIXER_WINDOW && mixer != MIXER_LINEAR && mixer != MIXER_NONE;
    }
    return window && !others ? MIXER_WINDOW : MIXER_FULL;
}

bool plan_splits_attention(const struct plan *plan)
{
    return plan_has_own_window(plan) && model_attention_mixer(&plan->model) == MIXER_FULL;
}

bool plan_has_own_window(const struct plan *plan)
{
    return plan_has_window(plan) && model_has_own_window(&plan->model);
}

bool plan_has_window(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_WINDOW);
}

bool plan_has_chunk(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_CHUNK);
}

bool plan_has_linear(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_LINEAR);
}

bool plan_has_both(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_BOTH);
}

bool plan_is_recurrent(const struct plan *plan)
{
    return model_is_recurrent(&plan->model);
}

/* Layers that meet the entries of a mixer, their own or an earlier layer's. */
static bool meets(const struct plan *plan, enum mixer source)
{
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        if (mixer_source((enum mixer)m) == source &&
            model_has_mixer(&plan->model, (enum mixer)m))
            return true;
    return false;
}

bool plan_has_csa(const struct plan *plan)
{
    return meets(plan, MIXER_CSA);
}

bool plan_has_hca(const struct plan *plan)
{
    return meets(plan, MIXER_HCA);
}

bool plan_has_tsa(const struct plan *plan)
{
    return meets(plan, MIXER_TSA);
}

bool plan_has_entries(const struct plan *plan)
{
    return plan_has_csa(plan) || plan_has_hca(plan) || plan_has_tsa(plan);
}

bool plan_reuses_entries(const struct plan *plan)
{
    for (unsigned m = 0; m < MIXER_COUNT; m++)
        if (mixer_source((enum mixer)m) != (enum mixer)m &&
            model_has_mixer(&plan->model, (enum mixer)m))
            return true;
    return false;
}

bool plan_has_blocks(const struct plan *plan)
{
    return model_has_mixer(&plan->model, MIXER_BLOCKS);
}

bool model_borrows(const struct model *model)
{
    return model_has_mixer(model, MIXER_BORROW) || model_has_mixer(model, MIXER_WINDOW_BORROW);
}

bool plan_borrows(const struct plan *plan)
{
    return model_borrows(&plan->model);
}

bool plan_embeds_layers(const struct plan *plan)
{
    return plan->model.layer_embedding.width > 0;
}

uint64_t model_ngram_outputs(const struct model *model)
{
    bool overflow = false;
    uint64_t keys = model->ngram.embedded ? 0 : model->residual_streams;
    return checked_mul(keys + 1, model->hidden, &overflow);
}

enum dtype plan_ngram_format(const struct plan *plan)
{
    enum dtype weights = plan->precision.weights, said = plan->model.ngram.format;
    bool eight = weights == DTYPE_FP8 || weights == DTYPE_FP8_BLOCK;
    return said != DTYPE_NONE ? said : eight ? DTYPE_FP8 : DTYPE_BF16;
}

enum dtype plan_ngram_projections(const struct plan *plan)
{
    enum dtype said = plan->model.ngram.projections;
    return said != DTYPE_NONE ? said : DTYPE_BF16;
}

bool plan_borrows_or_embeds(const struct plan *plan)
{
    return plan_borrows(plan) || plan_embeds_layers(plan);
}

uint64_t model_dense_width(const struct model *model, enum mixer mixer)
{
    uint64_t own = mixer_borrows(mixer) ? model->borrow_intermediate : 0;
    return own_or(own, model->dense_intermediate);
}

bool plan_has_modules(const struct plan *plan)
{
    return plan->model.mtp_enabled && plan->model.mtp_layers > 0;
}

bool plan_shares_kv(const struct plan *plan)
{
    return plan->model.attention.kind == ATTENTION_SHARED_KV;
}

bool plan_routes_by_tables(const struct plan *plan)
{
    uint64_t named = plan->model.moe.hash_layers;
    return named > 0 && named >= plan->model.layers;
}

uint64_t plan_window_heads(const struct plan *plan)
{
    return model_attention(&plan->model, MIXER_WINDOW).heads;
}

uint64_t model_outputs(const struct model *model)
{
    return model->labels ? model->labels : model->vocab;
}

bool model_ties_head(const struct model *model)
{
    return model->tied_embeddings && !model->labels;
}
