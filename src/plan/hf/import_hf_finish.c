/* Rules between the keys of config.json that no table of fields can say. */

#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

/* The layers with experts come every moe_every-th, and the rest are dense. */
static void count_dense(struct model *model)
{
    if (model->moe_every > 1)
        model->dense_layers = model->layers - model->layers / model->moe_every;
}

/* Item i of the list is exactly `first + i * step`. */
static bool is_progression(const struct node *list, uint64_t first, uint64_t step)
{
    uint64_t expected = first;
    for (const struct node *item = list->first; item; item = item->next) {
        char text[24];
        snprintf(text, sizeof text, "%llu", (unsigned long long)expected);
        if (item->kind != NODE_SCALAR || !text_equal(item->text, text))
            return false;
        expected += step;
    }
    return true;
}

/* mlp_only_layers: layers without experts; only the first ones can be expressed. */
static enum status read_dense_list(const struct node *list, struct model *model,
                                   struct err *err)
{
    if (!list || list->kind != NODE_SEQUENCE || list->n == 0)
        return STATUS_OK;
    if (model->moe_every > 1 || !is_progression(list, 0, 1))
        return err_at(err, list->mark,
                      "'mlp_only_layers' must name the first layers and no others");
    model->dense_layers = list->n;
    return STATUS_OK;
}

/* moe_layers: the layers with experts; must say what interleave_moe_layer_step says. */
static enum status check_moe_list(const struct node *list, const struct model *model,
                                  struct err *err)
{
    if (!list || list->kind != NODE_SEQUENCE)
        return STATUS_OK;
    if (list->n == model->layers / model->moe_every &&
        is_progression(list, model->moe_every - 1, model->moe_every))
        return STATUS_OK;
    return err_at(err, list->mark,
                  "'moe_layers' must be every layer that 'interleave_moe_layer_step' gives");
}

enum status import_finish_interleaved(const struct node *config, struct model *model,
                                      struct err *err)
{
    count_dense(model);
    TRY(check_moe_list(node_get(config, "moe_layers"), model, err));
    return read_dense_list(node_get(config, "mlp_only_layers"), model, err);
}

/* A period of the layers with experts that is absent, null or 1. */
static enum status every_layer(const struct node *config, const char *key, struct err *err)
{
    const struct node *step = node_get(config, key);
    if (!step || node_is_null(step) || text_equal(step->text, "1"))
        return STATUS_OK;
    return err_at(err, step->mark,
                  "'%s' must be 1: all layers after the dense ones have experts", key);
}

enum status import_finish_deepseek(const struct node *config, struct model *model,
                                   struct err *err)
{
    (void)model;
    return every_layer(config, "moe_layer_freq", err);
}

enum status import_finish_minimax(const struct node *config, struct model *model,
                                  struct err *err)
{
    const struct node *kinds = node_get(config, "attn_type_list");
    if (kinds && !is_progression(kinds, 1, 0)) {
        err_at(err, kinds->mark,
               "not supported: hybrid attention (linear and softmax attention layers)");
        return err_hint(err, "all items of 'attn_type_list' must be 1");
    }
    if (model->moe.shared_intermediate > 0)
        model->moe.shared_experts = 1;
    return STATUS_OK;
}

/* The MLP beside the experts is as wide as the hidden state and has a norm of its own. */
enum status import_finish_arctic(const struct node *config, struct model *model,
                                 struct err *err)
{
    (void)err;
    count_dense(model);
    const struct node *parallel = node_get(config, "parallel_attn_mlp_res");
    if (parallel && text_equal(parallel->text, "true")) {
        model->residual_intermediate = model->hidden;
        model->norms_per_layer = 3;
    }
    return STATUS_OK;
}

/* Grok-2 has a dense network beside its experts, and a head of its own (the elements of its
 * checkpoint say so, its configuration does not). */
enum status import_finish_grok(const struct node *config, struct model *model, struct err *err)
{
    (void)err;
    if (!import_is_true(config, "residual_moe"))
        return STATUS_OK;
    model->residual_intermediate = model->moe.intermediate;
    model->moe.intermediate = import_count(config, "moe_intermediate_size", 0);
    model->tied_embeddings = import_is_true(config, "tie_word_embeddings");
    return STATUS_OK;
}

enum status import_finish_ernie(const struct node *config, struct model *model, struct err *err)
{
    const struct node *end = node_get(config, "moe_layer_end_index");
    char last[24];
    snprintf(last, sizeof last, "%llu", (unsigned long long)model->layers - 1);
    if (end && !node_is_null(end) && !text_equal(end->text, "-1") &&
        !text_equal(end->text, last))
        return err_at(err, end->mark,
                      "'moe_layer_end_index' must be -1 or %s: the last layer has experts",
                      last);
    return every_layer(config, "moe_layer_interval", err);
}

/* The number of text in a list of two, or the number; `otherwise` where there is none. */
static uint64_t of_text(const struct node *config, const char *key, uint64_t at,
                        uint64_t otherwise)
{
    const struct node *item = import_item(config, key, at);
    uint64_t count;
    bool is = item && item->kind == NODE_SCALAR && number_count(item->text, &count);
    return is ? count : import_count(config, key, otherwise);
}

/* Widths of experts are [text, images]; both have them from the same layer to the last. Shared
 * experts are as wide as those of text. */
enum status import_finish_ernie_vl(const struct node *config, struct model *model,
                                   struct err *err)
{
    const struct node *end = import_value(config, "moe_layer_end_index", NODE_SEQUENCE);
    uint64_t first = of_text(config, "moe_layer_start_index", 0, model->dense_layers);
    model->moe.intermediate = of_text(config, "moe_intermediate_size", 0, 1536);
    model->moe.image_intermediate = of_text(config, "moe_intermediate_size", 1, 512);
    for (uint64_t i = 0; end && i < end->n; i++)
        if (of_text(config, "moe_layer_end_index", i, 0) + 1 < model->layers)
            return err_at(err, end->mark,
                          "'moe_layer_end_index' must be the last layer or one behind it");
    if (of_text(config, "moe_layer_start_index", 1, first) != first)
        return err_at(err, import_value(config, "moe_layer_start_index", NODE_SEQUENCE)->mark,
                      "'moe_layer_start_index' must be one number for text and images");
    model->dense_layers = first;
    return end ? STATUS_OK : import_finish_ernie(config, model, err);
}

/* Shared experts as wide each as the key says. */
enum status import_finish_bailing(const struct node *config, struct model *model,
                                  struct err *err)
{
    (void)config;
    (void)err;
    model->moe.shared_intermediate *= model->moe.shared_experts;
    return STATUS_OK;
}
