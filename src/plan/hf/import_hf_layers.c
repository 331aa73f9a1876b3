/* Which layers of a config.json are of which type: lists, periods and the conventions of every
 * family (layer-kinds.md section 2). Sources: the configuration classes of
 * github.com/huggingface/transformers (src/transformers/models), at the commits of that page.
 */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

/* ---- values ---- */

const struct node *import_value(const struct node *config, const char *key, enum node_kind kind)
{
    const struct node *value = node_get(config, key);
    return value && value->kind == kind && !node_is_null(value) ? value : NULL;
}

uint64_t import_count(const struct node *config, const char *key, uint64_t otherwise)
{
    const struct node *value = import_value(config, key, NODE_SCALAR);
    uint64_t count;
    return value && number_count(value->text, &count) ? count : otherwise;
}

const struct node *import_item(const struct node *config, const char *key, uint64_t at)
{
    const struct node *list = import_value(config, key, NODE_SEQUENCE);
    const struct node *item = list ? list->first : NULL;
    while (item && at--)
        item = item->next;
    return item;
}

bool import_item_is(const struct node *config, const char *key, uint64_t i, const char *text)
{
    return node_is(import_item(config, key, i), text);
}

enum status import_dense_first(const struct node *config, const char *key, const char *dense,
                               struct model *model, struct err *err)
{
    const struct node *list = import_value(config, key, NODE_SEQUENCE);
    uint64_t n = 0;
    if (!list)
        return STATUS_OK;
    while (n < model->layers && import_item_is(config, key, n, dense))
        n++;
    for (uint64_t i = n; i < model->layers; i++)
        if (import_item_is(config, key, i, dense))
            return err_at(err, STATUS_INPUT, list->mark,
                          "'%s' must begin with the layers without experts and have no others",
                          key);
    model->dense_layers = n;
    return STATUS_OK;
}

bool import_is_true(const struct node *config, const char *key)
{
    const struct node *value = import_value(config, key, NODE_SCALAR);
    return value && text_equal(value->text, "true");
}

/* ---- the list ---- */

static enum status too_long(const struct node *config, uint64_t n, struct err *err)
{
    err_at(err, STATUS_INPUT, config->mark, "%llu layers of several types, above the limit %d",
           (unsigned long long)n, PLAN_LAYERS);
    return err_hint(err,
                    "write the model's own keys with a shorter period, as models/*.yaml do");
}

/* The shortest list that says the same: nothing where all layers are full. */
static void shorten(struct model *model)
{
    struct enum_list *list = &model->layer_types;
    uint64_t n = list->n, period = 1;
    for (; period < n; period++) {
        uint64_t i = period;
        while (i < n && list->value[i] == list->value[i - period])
            i++;
        if (i == n)
            break;
    }
    if (period == 1 && n && list->value[0] == LAYER_FULL)
        period = 0;
    memset(list->value + period, 0, sizeof list->value - period);
    list->n = period;
}

/* One layer after the other by a function of its number, from 0. */
static enum status set_layers(const struct node *config, struct model *model,
                              enum layer_type (*type)(const struct node *config, uint64_t i),
                              struct err *err)
{
    if (model->layers > PLAN_LAYERS)
        return too_long(config, model->layers, err);
    model->layer_types.n = model->layers;
    for (uint64_t i = 0; i < model->layers; i++)
        model->layer_types.value[i] = (uint8_t)type(config, i);
    shorten(model);
    return STATUS_OK;
}

static const struct import_word type_names[] = {
    {"full_attention", LAYER_FULL},
    {"attention", LAYER_FULL},
    {"deepseek_sparse_attention", LAYER_FULL},
    {"indexed_attention", LAYER_FULL},
    {"sliding_attention", LAYER_WINDOW},
    {"chunked_attention", LAYER_CHUNK},
    {"linear_attention", LAYER_LINEAR},
    {"compressed_sparse_attention", LAYER_CSA},
    {"heavily_compressed_attention", LAYER_HCA},
    {"minimax_m3_sparse", LAYER_BLOCKS},
    {"mamba", LAYER_LINEAR},
    {"conv", LAYER_LINEAR},
    {"moe", LAYER_MOE},
    {"mlp", LAYER_DENSE},
    {NULL, 0},
};

static enum status add_type(const struct node *item, struct model *model, struct err *err)
{
    const struct import_word *name = type_names;
    while (name->text && (item->kind != NODE_SCALAR || !text_equal(name->text, item->text)))
        name++;
    if (!name->text) {
        err_at(err, STATUS_INPUT, item->mark, "layer type '%s' is not known",
               item->kind == NODE_SCALAR ? item->text : node_kind_name(item->kind));
        return err_hint(err, "known: full_attention, sliding_attention, chunked_attention, "
                             "linear_attention, mamba, moe, mlp");
    }
    model->layer_types.value[model->layer_types.n++] = (uint8_t)name->value;
    return STATUS_OK;
}

/* layer_types, which wins over every period; *found: it is there. */
static enum status read_list(const struct node *config, const char *key, struct model *model,
                             bool *found, struct err *err)
{
    const struct node *list = import_value(config, key, NODE_SEQUENCE);
    *found = list && list->n;
    if (!*found)
        return STATUS_OK;
    if (list->n > PLAN_LAYERS)
        return too_long(config, list->n, err);
    model->layer_types.n = 0;
    for (const struct node *item = list->first; item; item = item->next)
        TRY(add_type(item, model, err));
    shorten(model);
    return STATUS_OK;
}

enum status import_layers(const struct node *config, struct model *model,
                          enum layer_type (*type)(const struct node *config, uint64_t i),
                          struct err *err)
{
    bool found;
    TRY(read_list(config, "layer_types", model, &found, err));
    return found ? STATUS_OK : set_layers(config, model, type, err);
}

/* ---- windows and chunks ---- */

static enum layer_type even_window(const struct node *config, uint64_t i)
{
    (void)config;
    return i % 2 == 0 ? LAYER_WINDOW : LAYER_FULL;
}

enum status import_finish_gpt_oss(const struct node *config, struct model *model,
                                  struct err *err)
{
    return import_layers(config, model, even_window, err);
}

/* no_rope_layers: 1 is a layer with rope, and chunks. */
static enum layer_type rope_chunk(const struct node *config, uint64_t i)
{
    const struct node *list = import_value(config, "no_rope_layers", NODE_SEQUENCE);
    uint64_t every = import_count(config, "no_rope_layer_interval", 4), at = 0;
    if (!list || !list->n)
        return every && (i + 1) % every == 0 ? LAYER_FULL : LAYER_CHUNK;
    for (const struct node *item = list->first; item; item = item->next)
        if (at++ == i)
            return node_is(item, "0") ? LAYER_FULL : LAYER_CHUNK;
    return LAYER_FULL;
}

enum status import_finish_llama4(const struct node *config, struct model *model,
                                 struct err *err)
{
    TRY(import_finish_interleaved(config, model, err));
    return model->attention.chunk ? import_layers(config, model, rope_chunk, err) : STATUS_OK;
}

static enum layer_type all_window(const struct node *config, uint64_t i)
{
    (void)config;
    (void)i;
    return LAYER_WINDOW;
}

/* A window that is not null holds in all layers. */
enum status import_finish_mixtral(const struct node *config, struct model *model,
                                  struct err *err)
{
    return model->attention.window ? import_layers(config, model, all_window, err) : STATUS_OK;
}

static enum layer_type late_window(const struct node *config, uint64_t i)
{
    return i >= import_count(config, "max_window_layers", 28) ? LAYER_WINDOW : LAYER_FULL;
}

static enum layer_type early_even_window(const struct node *config, uint64_t i)
{
    bool early = i < import_count(config, "max_window_layers", 28);
    return early && i % 2 == 0 ? LAYER_WINDOW : LAYER_FULL;
}

/* The window of a Qwen holds only where use_sliding_window says so. */
static enum status qwen_window(const struct node *config, struct model *model,
                               enum layer_type (*type)(const struct node *, uint64_t),
                               struct err *err)
{
    if (import_is_true(config, "use_sliding_window") && model->attention.window)
        return import_layers(config, model, type, err);
    model->attention.window = 0;
    return STATUS_OK;
}

enum status import_finish_qwen2_moe(const struct node *config, struct model *model,
                                    struct err *err)
{
    TRY(import_finish_interleaved(config, model, err));
    return qwen_window(config, model, early_even_window, err);
}

enum status import_finish_qwen3_moe(const struct node *config, struct model *model,
                                    struct err *err)
{
    TRY(import_finish_interleaved(config, model, err));
    return qwen_window(config, model, all_window, err);
}

/* All layers are dense. */
enum status import_finish_dense(const struct node *config, struct model *model, struct err *err)
{
    model->dense_layers = model->layers;
    return qwen_window(config, model, late_window, err);
}

/* A window, as Mistral has one, holds in all layers. */
enum status import_finish_llama(const struct node *config, struct model *model, struct err *err)
{
    model->dense_layers = model->layers;
    return model->attention.window ? import_layers(config, model, all_window, err) : STATUS_OK;
}

enum status import_finish_gemma2(const struct node *config, struct model *model,
                                 struct err *err)
{
    model->dense_layers = model->layers;
    return import_layers(config, model, even_window, err);
}

static enum layer_type window_pattern(const struct node *config, uint64_t i)
{
    uint64_t every = import_count(config, "_sliding_window_pattern", 6);
    every = import_count(config, "sliding_window_pattern", every);
    return every && (i + 1) % every == 0 ? LAYER_FULL : LAYER_WINDOW;
}

enum status import_finish_gemma3(const struct node *config, struct model *model,
                                 struct err *err)
{
    model->dense_layers = model->layers;
    return import_layers(config, model, window_pattern, err);
}

static enum layer_type fourth_full(const struct node *config, uint64_t i)
{
    (void)config;
    return (i + 1) % 4 == 0 ? LAYER_FULL : LAYER_WINDOW;
}

enum status import_finish_olmo3(const struct node *config, struct model *model, struct err *err)
{
    model->dense_layers = model->layers;
    return import_layers(config, model, fourth_full, err);
}

/* sliding_window_pattern: "LLLG", letters that repeat, or a period whose last is full; the last
 * layer of the model is full whatever letters say (configuration_exaone4.py). */
static enum layer_type exaone_window(const struct node *config, uint64_t i)
{
    const struct node *said = import_value(config, "sliding_window_pattern", NODE_SCALAR);
    const char *letters = said ? said->text : "4";
    uint64_t every, last = import_count(config, "num_hidden_layers", 0);
    if (number_count(letters, &every))
        return !every || (i + 1) % every == 0 ? LAYER_FULL : LAYER_WINDOW;
    bool full = !*letters || i + 1 == last || letters[i % strlen(letters)] != 'L';
    return full ? LAYER_FULL : LAYER_WINDOW;
}

enum status import_finish_exaone4_windows(const struct node *config, struct model *model,
                                          struct err *err)
{
    return model->attention.window ? import_layers(config, model, exaone_window, err)
                                   : STATUS_OK;
}

enum status import_finish_exaone4(const struct node *config, struct model *model,
                                  struct err *err)
{
    model->dense_layers = model->layers;
    return import_finish_exaone4_windows(config, model, err);
}

/* ---- recurrences ---- */

static enum layer_type interval(const struct node *config, uint64_t i)
{
    uint64_t every = import_count(config, "full_attention_interval", 4);
    return every && (i + 1) % every == 0 ? LAYER_FULL : LAYER_LINEAR;
}

enum status import_finish_qwen3_next(const struct node *config, struct model *model,
                                     struct err *err)
{
    TRY(import_finish_interleaved(config, model, err));
    if (!model->moe.experts)
        model->dense_layers = model->layers;
    return import_layers(config, model, interval, err);
}

/* full_attn_layers counts from 1. */
static enum layer_type kimi(const struct node *config, uint64_t i)
{
    const struct node *linear = import_value(config, "linear_attn_config", NODE_MAPPING);
    const struct node *list =
        linear ? import_value(linear, "full_attn_layers", NODE_SEQUENCE) : NULL;
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)i + 1);
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (node_is(item, number))
            return LAYER_FULL;
    return LAYER_LINEAR;
}

enum status import_finish_kimi(const struct node *config, struct model *model, struct err *err)
{
    struct linear *l = &model->linear;
    TRY(import_finish_deepseek(config, model, err));
    TRY(import_layers(config, model, kimi, err));
    l->key_heads = l->heads;
    l->key_dim = l->rank = l->head_dim; /* the gates' rank is a head's size */
    return STATUS_OK;
}

/* attn_type_list: 0 linear, 1 full. */
static enum layer_type minimax(const struct node *config, uint64_t i)
{
    const struct node *list = import_value(config, "attn_type_list", NODE_SEQUENCE);
    uint64_t at = 0;
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (at++ == i)
            return node_is(item, "0") ? LAYER_LINEAR : LAYER_FULL;
    return list ? LAYER_FULL : i % 2 == 0 ? LAYER_FULL : LAYER_LINEAR;
}

enum status import_finish_lightning(const struct node *config, struct model *model,
                                    struct err *err)
{
    struct linear *l = &model->linear;
    TRY(import_layers(config, model, minimax, err));
    l->heads = l->key_heads = model->attention.heads;
    l->head_dim = l->key_dim = model->attention.head_dim
                                   ? model->attention.head_dim
                                   : model->hidden / model->attention.heads;
    return STATUS_OK;
}

/* hybrid_override_pattern: M mamba, * attention, E experts, - a dense network; it says how many
 * layers there are. layers_block_type says the same in words. */
enum status import_finish_nemotron(const struct node *config, struct model *model,
                                   struct err *err)
{
    static const char letters[] = "M*E-";
    static const enum layer_type types[] = {LAYER_LINEAR, LAYER_FULL, LAYER_MOE, LAYER_DENSE};
    const struct node *pattern = import_value(config, "hybrid_override_pattern", NODE_SCALAR);
    bool found;
    model->norms_per_layer = 1;
    if (!model->attention.head_dim) /* its older name */
        model->attention.head_dim = import_count(config, "attention_head_dim", 0);
    if (!model->moe.experts) { /* then there is no router either */
        model->moe.router.score = SCORE_SOFTMAX;
        model->moe.router.bias = false;
    }
    TRY(read_list(config, "layers_block_type", model, &found, err));
    if (found || !pattern) {
        const struct node *list = import_value(config, "layers_block_type", NODE_SEQUENCE);
        if (!found && !import_value(config, "num_hidden_layers", NODE_SCALAR))
            return err_at(err, STATUS_INPUT, config->mark,
                          "configuration has neither 'layers_block_type' nor "
                          "'num_hidden_layers'");
        model->layers = list ? list->n : model->layers;
        return STATUS_OK;
    }
    size_t n = strlen(pattern->text);
    if (n > PLAN_LAYERS)
        return too_long(pattern, n, err);
    for (size_t i = 0; i < n; i++) {
        const char *letter = strchr(letters, pattern->text[i]);
        if (!letter)
            return err_at(err, STATUS_INPUT, pattern->mark,
                          "'hybrid_override_pattern' has '%c': known are M, *, E and -",
                          pattern->text[i]);
        model->layer_types.value[i] = (uint8_t)types[letter - letters];
    }
    model->layers = model->layer_types.n = n;
    return STATUS_OK;
}

/* Attention at i % period == offset; experts at i % period == offset of their own, which must
 * be the last of the period. */
static enum layer_type jamba(const struct node *config, uint64_t i)
{
    uint64_t period = import_count(config, "attn_layer_period", 8);
    return period && i % period == import_count(config, "attn_layer_offset", 4) ? LAYER_FULL
                                                                                : LAYER_LINEAR;
}

enum status import_finish_jamba(const struct node *config, struct model *model, struct err *err)
{
    struct linear *l = &model->linear;
    uint64_t expand = import_count(config, "mamba_expand", 2);
    TRY(set_layers(config, model, jamba, err));
    if (import_count(config, "expert_layer_offset", 1) != model->moe_every - 1)
        return err_at(err, STATUS_INPUT, config->mark,
                      "'expert_layer_offset' must be 'expert_layer_period' - 1");
    model->dense_layers = model->layers - model->layers / model->moe_every;
    l->heads = l->key_heads = 1;
    l->head_dim = expand * model->hidden;
    l->rank = import_count(config, "mamba_dt_rank", (model->hidden + 15) / 16);
    return STATUS_OK;
}

static enum layer_type all_linear(const struct node *config, uint64_t i)
{
    (void)config;
    (void)i;
    return LAYER_LINEAR;
}

/* Without experts what they would stand beside is the layer's network; mamba_d_head "auto":
 * the heads share expand x hidden out. */
enum status import_finish_granite(const struct node *config, struct model *model,
                                  struct err *err)
{
    struct linear *l = &model->linear;
    uint64_t wide = import_count(config, "mamba_expand", 2) * model->hidden;
    l->head_dim = import_count(config, "mamba_d_head", l->heads ? wide / l->heads : 0);
    if (model->moe.experts) {
        model->moe.shared_experts = 1;
    } else {
        model->dense_layers = model->layers;
        model->dense_intermediate = model->moe.shared_intermediate;
        model->moe.intermediate = model->moe.shared_intermediate = 0;
    }
    return import_layers(config, model, all_linear, err);
}

/* A list of the layers with attention, by number. */
static enum layer_type numbered(const struct node *config, const char *key, uint64_t i)
{
    const struct node *list = import_value(config, key, NODE_SEQUENCE);
    uint64_t at;
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (item->kind == NODE_SCALAR && number_count(item->text, &at) && at == i)
            return LAYER_FULL;
    return LAYER_LINEAR;
}

static enum layer_type bamba(const struct node *config, uint64_t i)
{
    return numbered(config, "attn_layer_indices", i);
}

enum status import_finish_bamba(const struct node *config, struct model *model, struct err *err)
{
    struct linear *l = &model->linear;
    uint64_t wide = import_count(config, "mamba_expand", 2) * model->hidden;
    l->head_dim = import_count(config, "mamba_d_head", l->heads ? wide / l->heads : 0);
    model->dense_layers = model->layers;
    return import_layers(config, model, bamba, err);
}

/* Where there is no list of types. */
static enum layer_type lfm2(const struct node *config, uint64_t i)
{
    return numbered(config, "full_attn_idxs", i);
}

/* All channels are one head without keys. Biases of convolutions are not read. */
enum status import_finish_lfm2(const struct node *config, struct model *model, struct err *err)
{
    const struct node *bias = import_value(config, "conv_bias", NODE_SCALAR);
    if (bias && text_equal(bias->text, "true"))
        return err_at(
            err, STATUS_INPUT, bias->mark,
            "'conv_bias' must be false: biases of short convolutions are not modelled");
    model->linear.heads = model->linear.key_heads = 1;
    model->linear.head_dim = model->linear.key_dim = model->hidden;
    if (import_value(config, "tie_word_embeddings", NODE_SCALAR))
        model->tied_embeddings = import_is_true(config, "tie_word_embeddings");
    return import_layers(config, model, lfm2, err);
}

/* ---- indexers ---- */

/* Whether layer i has an indexer of its own: a list of types, a pattern of F and S, or every
 * n-th from an offset. */
static enum layer_type indexed(const struct node *config, uint64_t i)
{
    const struct node *list = import_value(config, "indexer_types", NODE_SEQUENCE);
    const struct node *pattern = import_value(config, "index_topk_pattern", NODE_SCALAR);
    uint64_t every = import_count(config, "index_topk_freq", 1), at = 0;
    uint64_t skipped = import_count(config, "index_skip_topk_offset", 2);
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (at++ == i)
            return item->kind == NODE_SCALAR && text_starts(item->text, "s") ? LAYER_REUSE
                                                                             : LAYER_FULL;
    if (pattern && i < strlen(pattern->text))
        return pattern->text[i] == 'S' ? LAYER_REUSE : LAYER_FULL;
    if (every <= 1 || i < skipped)
        return LAYER_FULL;
    return (i + 1 - skipped) % every == 0 ? LAYER_FULL : LAYER_REUSE;
}

enum status import_finish_indexed(const struct node *config, struct model *model,
                                  struct err *err)
{
    TRY(import_finish_deepseek(config, model, err));
    return set_layers(config, model, indexed, err);
}
