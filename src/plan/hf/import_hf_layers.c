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
            return err_at(err, list->mark,
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

enum status import_too_long(const struct node *config, uint64_t n, struct err *err)
{
    err_at(err, config->mark, "%llu layers of several types, above the limit %d",
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

enum status import_set_layers(const struct node *config, struct model *model,
                              enum layer_type (*type)(const struct node *config, uint64_t i),
                              struct err *err)
{
    if (model->layers > PLAN_LAYERS)
        return import_too_long(config, model->layers, err);
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
        err_at(err, item->mark, "layer type '%s' is not known",
               item->kind == NODE_SCALAR ? item->text : node_kind_name(item->kind));
        return err_hint(err, "known: full_attention, sliding_attention, chunked_attention, "
                             "linear_attention, mamba, moe, mlp");
    }
    model->layer_types.value[model->layer_types.n++] = (uint8_t)name->value;
    return STATUS_OK;
}

/* layer_types, which wins over every period; *found: it is there. */
enum status import_read_list(const struct node *config, const char *key, struct model *model,
                             bool *found, struct err *err)
{
    const struct node *list = import_value(config, key, NODE_SEQUENCE);
    *found = list && list->n;
    if (!*found)
        return STATUS_OK;
    if (list->n > PLAN_LAYERS)
        return import_too_long(config, list->n, err);
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
    TRY(import_read_list(config, "layer_types", model, &found, err));
    return found ? STATUS_OK : import_set_layers(config, model, type, err);
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
    model->rotary_beside = model->attention.head_dim; /* Gemma3TextConfig has two bases */
    return import_layers(config, model, window_pattern, err);
}

/* Every fourth layer backward from the last. */
static enum layer_type fourth_from_last(const struct node *config, uint64_t i)
{
    uint64_t n = import_count(config, "num_hidden_layers", 0);
    return i < n && (n - 1 - i) % 4 == 0 ? LAYER_FULL : LAYER_WINDOW;
}

enum status import_finish_muse_glimmer(const struct node *config, struct model *model,
                                       struct err *err)
{
    model->dense_layers = model->layers;
    return import_layers(config, model, fourth_from_last, err);
}

static enum layer_type fourth_full(const struct node *config, uint64_t i)
{
    (void)config;
    return (i + 1) % 4 == 0 ? LAYER_FULL : LAYER_WINDOW;
}

/* Scaled positions are full layers' alone (vLLM 0.19 models/olmo2.py). */
enum status import_finish_olmo3(const struct node *config, struct model *model, struct err *err)
{
    uint64_t head = model->attention.head_dim;
    if (import_value(config, "rope_scaling", NODE_MAPPING))
        model->rotary_beside = head ? head : model->hidden / model->attention.heads;
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
    return import_set_layers(config, model, indexed, err);
}

/* An indexer in the first layer and in every fourth from the second on, unless a list says
 * which (configuration_hy_v4.py). */
static enum layer_type hy_indexed(const struct node *config, uint64_t i)
{
    if (import_value(config, "indexer_types", NODE_SEQUENCE))
        return indexed(config, i);
    return i == 0 || (i - 1) % 4 == 0 ? LAYER_FULL : LAYER_REUSE;
}

/* A gate of each value of each head alone: of gates of heads no checkpoint is known. */
enum status import_finish_hy_v4(const struct node *config, struct model *model, struct err *err)
{
    const struct node *gates = import_value(config, "gating_type", NODE_SCALAR);
    if (gates && !text_equal(gates->text, "elementwise"))
        return err_at(err, gates->mark, "'gating_type' is '%s': known is elementwise",
                      gates->text);
    TRY(import_finish_deepseek(config, model, err));
    return import_set_layers(config, model, hy_indexed, err);
}
