/* Rules between keys of architectures with recurrences among their layers: which layers those
 * are, and how wide. Sources: the configuration classes of github.com/huggingface/transformers
 * (src/transformers/models), layer-kinds.md section 2. */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

static bool is_off(const struct node *config, const char *key)
{
    const struct node *value = import_value(config, key, NODE_SCALAR);
    return value && text_equal(value->text, "false");
}

enum layer_type import_interval(const struct node *config, uint64_t i)
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
    return import_layers(config, model, import_interval, err);
}

/* The gates' rank is a head's size (vLLM models/alice_ai.py, _make_kimi_kda_config). */
enum status import_finish_alice(const struct node *config, struct model *model, struct err *err)
{
    struct linear *l = &model->linear;
    TRY(import_finish_qwen3_next(config, model, err));
    if (l->key_heads != l->heads || l->key_dim != l->head_dim)
        return err_at(err, config->mark,
                      "'linear_num_key_heads' and 'linear_key_head_dim' must be those of "
                      "values: Kimi's delta rule has as many keys as values");
    l->rank = l->head_dim;
    return STATUS_OK;
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

static enum layer_type every_fourth(const struct node *config, uint64_t i)
{
    (void)config;
    return i % 4 == 3 ? LAYER_FULL : LAYER_LINEAR;
}

/* The checkpoint's mapping is what transformers writes flat, and wins there; in all layers that
 * attend an indexer of their own. */
enum status import_finish_glm5_next(const struct node *config, struct model *model,
                                    struct err *err)
{
    const struct node *own = import_value(config, "linear_attn_config", NODE_MAPPING);
    const struct node *list = import_value(config, "indexer_types", NODE_SEQUENCE);
    struct linear *l = &model->linear;
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (!node_is(item, "full"))
            return err_at(err, item->mark,
                          "'indexer_types' must be full in all layers of this architecture");
    TRY(import_finish_deepseek(config, model, err));
    TRY(import_layers(config, model, every_fourth, err));
    if (own) {
        l->heads = import_count(own, "num_heads", l->heads);
        l->head_dim = import_count(own, "head_dim", l->head_dim);
        l->conv = import_count(own, "short_conv_kernel_size", l->conv);
    }
    l->key_heads = l->heads;
    l->key_dim = l->rank = l->head_dim;
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

/* A recurrence of as many heads as attention has. */
static void as_attention(const struct node *config, struct model *model)
{
    struct linear *l = &model->linear;
    l->heads = l->key_heads = model->attention.heads;
    l->head_dim = l->key_dim =
        import_count(config, "head_dim", model->hidden / model->attention.heads);
}

enum status import_finish_lightning(const struct node *config, struct model *model,
                                    struct err *err)
{
    as_attention(config, model);
    return import_layers(config, model, minimax, err);
}

/* The last of every group, and what is left behind the last group (vLLM
 * models/bailing_moe_v3.py, _is_kda_layer). */
static enum layer_type bailing(const struct node *config, uint64_t i)
{
    uint64_t n = import_count(config, "num_hidden_layers", 0),
             group = import_count(config, "layer_group_size", 1);
    bool last = !group || (i + 1) % group == 0 || i >= n / group * group;
    return last ? LAYER_FULL : LAYER_LINEAR;
}

enum status import_finish_bailing_hybrid(const struct node *config, struct model *model,
                                         struct err *err)
{
    struct linear *l = &model->linear;
    TRY(import_finish_bailing(config, model, err));
    as_attention(config, model);
    if (l->kind == LINEAR_KIMI_DELTA && !l->full_rank_decay)
        l->rank = l->head_dim;
    return import_layers(config, model, bailing, err);
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
    TRY(import_read_list(config, "layers_block_type", model, &found, err));
    if (found || !pattern) {
        const struct node *list = import_value(config, "layers_block_type", NODE_SEQUENCE);
        if (!found && !import_value(config, "num_hidden_layers", NODE_SCALAR))
            return err_at(err, config->mark,
                          "configuration has neither 'layers_block_type' nor "
                          "'num_hidden_layers'");
        model->layers = list ? list->n : model->layers;
        return STATUS_OK;
    }
    size_t n = strlen(pattern->text);
    if (n > PLAN_LAYERS)
        return import_too_long(pattern, n, err);
    for (size_t i = 0; i < n; i++) {
        const char *letter = strchr(letters, pattern->text[i]);
        if (!letter)
            return err_at(err, pattern->mark,
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
    TRY(import_set_layers(config, model, jamba, err));
    if (import_count(config, "expert_layer_offset", 1) != model->moe_every - 1)
        return err_at(err, config->mark,
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

static uint64_t expanded(const struct node *config, const struct model *model)
{
    return import_count(config, "mamba_expand", 2) * model->hidden;
}

/* mamba_d_head "auto": the heads share the channels out. */
static void share_channels(const struct node *config, struct model *model, uint64_t channels)
{
    struct linear *l = &model->linear;
    l->head_dim = import_count(config, "mamba_d_head", l->heads ? channels / l->heads : 0);
}

/* Without experts what they would stand beside is the layer's network. */
enum status import_finish_granite(const struct node *config, struct model *model,
                                  struct err *err)
{
    const struct node *positions = import_value(config, "position_embedding_type", NODE_SCALAR);
    model->rotary = positions && text_equal(positions->text, "rope");
    share_channels(config, model, expanded(config, model));
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
    share_channels(config, model, expanded(config, model));
    model->dense_layers = model->layers;
    return import_layers(config, model, bamba, err);
}

/* gqa_layers counts from 0; else one layer of attention before gqa_interval others. */
static enum layer_type solar(const struct node *config, uint64_t i)
{
    uint64_t between = import_count(config, "gqa_interval", 3);
    if (import_value(config, "gqa_layers", NODE_SEQUENCE))
        return numbered(config, "gqa_layers", i);
    return i % (between + 1) == 0 ? LAYER_FULL : LAYER_LINEAR;
}

/* Absent sizes are attention's. */
enum status import_finish_solar_open2(const struct node *config, struct model *model,
                                      struct err *err)
{
    struct linear *l = &model->linear;
    uint64_t size = model->attention.head_dim ? model->attention.head_dim : 128;
    l->heads = l->heads ? l->heads : model->attention.heads;
    l->head_dim = l->key_dim = l->head_dim ? l->head_dim : size;
    if (l->key_heads && l->key_heads != l->heads)
        return err_at(
            err, config->mark,
            "'linear_attn_config.num_kv_heads' must be 'num_heads': Kimi's delta rule "
            "over fewer heads of keys is not modelled");
    l->key_heads = l->heads;
    l->rank = l->full_rank_decay ? 0 : l->head_dim;
    return import_layers(config, model, solar, err);
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
            err, bias->mark,
            "'conv_bias' must be false: biases of short convolutions are not modelled");
    model->linear.heads = model->linear.key_heads = 1;
    model->linear.head_dim = model->linear.key_dim = model->hidden;
    if (import_value(config, "tie_word_embeddings", NODE_SCALAR))
        model->tied_embeddings = import_is_true(config, "tie_word_embeddings");
    return import_layers(config, model, lfm2, err);
}

/* Linear, window, linear, full, window, and so on (configuration_lara_mini.py). */
static enum layer_type lara(const struct node *config, uint64_t i)
{
    static const enum layer_type types[] = {LAYER_LINEAR, LAYER_WINDOW, LAYER_LINEAR,
                                            LAYER_FULL, LAYER_WINDOW};
    (void)config;
    return types[i % (sizeof types / sizeof *types)];
}

enum status import_finish_lara(const struct node *config, struct model *model, struct err *err)
{
    return import_layers(config, model, lara, err);
}

/* Every third of four is full, every fourth but the first has a window
 * (configuration_lfm3.py). */
static enum layer_type lfm3(const struct node *config, uint64_t i)
{
    (void)config;
    return i % 4 == 2 ? LAYER_FULL : i % 4 == 0 && i > 0 ? LAYER_WINDOW : LAYER_LINEAR;
}

enum status import_finish_lfm3(const struct node *config, struct model *model, struct err *err)
{
    TRY(import_finish_lfm2(config, model, err));
    model->dense_layers = model->layers;
    model->norms_per_layer = is_off(config, "use_sandwich_norm") ? 2 : 4;
    return import_layers(config, model, lfm3, err);
}

static enum layer_type both(const struct node *config, uint64_t i)
{
    (void)config;
    (void)i;
    return LAYER_BOTH;
}

/* Channels of the recurrence are mamba_d_ssm, or expand x hidden out. */
enum status import_finish_falcon_h1(const struct node *config, struct model *model,
                                    struct err *err)
{
    struct linear *l = &model->linear;
    share_channels(config, model, import_count(config, "mamba_d_ssm", expanded(config, model)));
    l->bare = !import_is_true(config, "mamba_rms_norm");
    model->dense_layers = model->layers;
    return import_set_layers(config, model, both, err);
}

/* ---- recurrences alone ---- */

/* No layer has attention; the heads that tensor parallelism would split are the recurrence's.
 */
static enum status recurrent(const struct node *config, struct model *model, uint64_t heads,
                             uint64_t size, struct err *err)
{
    model->dense_layers = model->dense_intermediate = 0;
    model->attention.heads = model->attention.kv_heads = heads;
    model->attention.head_dim = size;
    return import_set_layers(config, model, all_linear, err);
}

/* As wide as intermediate_size, whatever expand says (falcon-mamba-7b: 16). */
enum status import_finish_mamba(const struct node *config, struct model *model, struct err *err)
{
    struct linear *l = &model->linear;
    l->heads = l->key_heads = 1;
    l->head_dim = import_count(config, "intermediate_size",
                               import_count(config, "expand", 2) * model->hidden);
    l->rank = import_count(config, "time_step_rank", (model->hidden + 15) / 16);
    return recurrent(config, model, l->head_dim, 1, err);
}

enum status import_finish_mamba2(const struct node *config, struct model *model,
                                 struct err *err)
{
    const struct linear *l = &model->linear;
    return recurrent(config, model, l->heads, l->head_dim, err);
}
