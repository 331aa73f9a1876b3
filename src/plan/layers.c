/* See layers.h. */
#include "plan/layers.h"

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

bool model_has_parts(const struct model *model)
{
    for (uint64_t i = 0; i < model->layer_types.n; i++)
        if (is_part(model->layer_types.value[i]))
            return true;
    return false;
}

static enum mixer mixer_of(enum layer_type type)
{
    static const enum mixer mixers[LAYER_TYPES] = {
        [LAYER_FULL] = MIXER_FULL,   [LAYER_WINDOW] = MIXER_WINDOW,
        [LAYER_CHUNK] = MIXER_CHUNK, [LAYER_LINEAR] = MIXER_LINEAR,
        [LAYER_REUSE] = MIXER_REUSE, [LAYER_DENSE] = MIXER_NONE,
        [LAYER_MOE] = MIXER_NONE};
    return mixers[type];
}

/* Dense layers lead, or stand between every moe_every-th. */
static enum ffn ffn_at(const struct model *model, uint64_t i)
{
    if (model->moe_every > 1)
        return (i + 1) % model->moe_every == 0 ? FFN_MOE : FFN_DENSE;
    return i < model->dense_layers ? FFN_DENSE : FFN_MOE;
}

static enum layer_kind layer_at(const struct model *model, uint64_t i, bool parts)
{
    const struct enum_list *list = &model->layer_types;
    enum layer_type type = list->n ? list->value[i % list->n] : LAYER_FULL;
    if (!parts)
        return kind_of(mixer_of(type), ffn_at(model, i));
    if (is_part(type))
        return type == LAYER_MOE ? KIND_FFN_MOE : KIND_FFN_DENSE;
    return kind_of(mixer_of(type), FFN_NONE);
}

enum layer_kind model_layer(const struct model *model, uint64_t i)
{
    return layer_at(model, i, model_has_parts(model));
}

/* ---- runs of layers ---- */

/* Dense layers among the first n. */
static uint64_t dense_before(const struct model *model, uint64_t n)
{
    if (model->moe_every > 1)
        return n - n / model->moe_every;
    return n < model->dense_layers ? n : model->dense_layers;
}

void model_layers(const struct model *model, uint64_t first, uint64_t end,
                  uint64_t count[KIND_COUNT])
{
    if (!model->layer_types.n) {
        uint64_t dense = dense_before(model, end) - dense_before(model, first);
        count[KIND_DENSE] += dense;
        count[KIND_MOE] += end - first - dense;
        return;
    }
    bool parts = model_has_parts(model);
    for (uint64_t i = first; i < end; i++)
        count[layer_at(model, i, parts)]++;
}

enum layer_kind model_mtp_kind(const struct model *model)
{
    return model->moe.experts ? KIND_MOE : KIND_DENSE;
}

void model_kinds(const struct model *model, bool has[KIND_COUNT])
{
    uint64_t count[KIND_COUNT] = {0};
    model_layers(model, 0, model->layers, count);
    for (unsigned i = 0; i < KIND_COUNT; i++)
        has[i] = count[i] > 0;
    if (model->mtp_enabled && model->mtp_layers)
        has[model_mtp_kind(model)] = true;
    if (!model->layer_types.n)
        has[KIND_MOE] = model->moe.experts > 0;
    has[KIND_DENSE] |= !model->layer_types.n && !has[KIND_MOE];
}

enum layer_kind model_expert_kind(const struct model *model)
{
    bool has[KIND_COUNT];
    model_kinds(model, has);
    for (unsigned i = 0; i < KIND_COUNT; i++)
        if (has[i] && rows[i].ffn == FFN_MOE)
            return (enum layer_kind)i;
    return KIND_MOE;
}

uint64_t model_mixers(const struct model *model, enum mixer mixer)
{
    uint64_t count[KIND_COUNT] = {0}, sum = 0;
    model_layers(model, 0, model->layers, count);
    for (unsigned i = 0; i < KIND_COUNT; i++)
        sum += rows[i].mixer == mixer ? count[i] : 0;
    return sum;
}

uint64_t model_ffns(const struct model *model, enum ffn ffn)
{
    uint64_t count[KIND_COUNT] = {0}, sum = 0;
    model_layers(model, 0, model->layers, count);
    for (unsigned i = 0; i < KIND_COUNT; i++)
        sum += rows[i].ffn == ffn ? count[i] : 0;
    return sum;
}
