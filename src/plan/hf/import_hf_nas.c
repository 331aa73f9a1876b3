/* Models that a search has cut: layers without attention or without a network, networks of many
 * widths. Each part is a layer of its own; all networks have the mean width, as a model has
 * one.
 *
 * Source: modeling_decilm.py of the checkpoints as vllm/model_executor/models/nemotron_nas.py
 * has it (_ffn_mult_to_intermediate_size, _find_multiple). */
#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

enum { WIDTH_MULTIPLE = 256, MEAN_MULTIPLE = 64 };

struct blocks {
    uint64_t heads, kv_heads, hidden;
    uint64_t networks, widths; /* how many, and the sum of their widths */
};

static enum status broken(const struct node *part, const char *what, struct err *err)
{
    return err_at(err, part->mark, "'block_configs': %s", what);
}

/* Groups of n_heads_in_group heads share a key, as many in every layer that has attention. */
static enum status read_attention(const struct node *part, struct blocks *b, bool *there,
                                  struct err *err)
{
    const struct node *group = node_get(part, "n_heads_in_group");
    uint64_t n;
    *there = !node_says(part, "no_op", "true");
    if (node_says(part, "replace_with_linear", "true"))
        return broken(part, "a product in place of attention is not supported", err);
    if (!*there)
        return STATUS_OK;
    if (!group || group->kind != NODE_SCALAR || !number_count(group->text, &n) || !n ||
        b->heads % n || (b->kv_heads && b->kv_heads != b->heads / n))
        return broken(part, "all layers must have groups of as many heads", err);
    b->kv_heads = b->heads / n;
    return STATUS_OK;
}

/* 2/3 of so many times the hidden size, rounded up to 256. */
static enum status read_network(const struct node *part, struct blocks *b, bool *there,
                                struct err *err)
{
    const struct node *times = node_get(part, "ffn_mult");
    double factor;
    *there = !node_says(part, "no_op", "true");
    if (node_says(part, "replace_with_linear", "true"))
        return broken(part, "a product in place of a network is not supported", err);
    if (!*there)
        return STATUS_OK;
    if (!times || times->kind != NODE_SCALAR || !number_real(times->text, &factor) ||
        factor <= 0 || factor > 1000)
        return broken(part, "'ffn_mult' must be a number above 0", err);
    uint64_t width = (uint64_t)(2 * factor * (double)b->hidden / 3);
    b->widths += (width + WIDTH_MULTIPLE - 1) / WIDTH_MULTIPLE * WIDTH_MULTIPLE;
    b->networks++;
    return STATUS_OK;
}

static enum status add_layer(const struct node *block, enum layer_type type,
                             struct model *model, struct err *err)
{
    if (model->layer_types.n == PLAN_LAYERS)
        return broken(block, "too many layers of one part", err);
    model->layer_types.value[model->layer_types.n++] = (uint8_t)type;
    return STATUS_OK;
}

static enum status read_block(const struct node *block, struct blocks *b, struct model *model,
                              struct err *err)
{
    const struct node *attention = import_value(block, "attention", NODE_MAPPING);
    const struct node *network = import_value(block, "ffn", NODE_MAPPING);
    bool attends, computes;
    if (!attention || !network)
        return broken(block, "each layer must have 'attention' and 'ffn'", err);
    TRY(read_attention(attention, b, &attends, err));
    TRY(read_network(network, b, &computes, err));
    if (attends)
        TRY(add_layer(block, LAYER_FULL, model, err));
    return computes ? add_layer(block, LAYER_DENSE, model, err) : STATUS_OK;
}

enum status import_finish_nas(const struct node *config, struct model *model, struct err *err)
{
    const struct node *list = import_value(config, "block_configs", NODE_SEQUENCE);
    struct blocks b = {.heads = model->attention.heads, .hidden = model->hidden};
    if (!list)
        return err_at(err, config->mark, "configuration has no 'block_configs'");
    model->layer_types.n = 0;
    for (const struct node *block = list->first; block; block = block->next)
        TRY(read_block(block, &b, model, err));
    if (!b.networks || !b.kv_heads)
        return broken(list, "no layer has attention, or none a network", err);
    uint64_t mean = (b.widths + b.networks - 1) / b.networks;
    model->attention.kv_heads = b.kv_heads;
    model->dense_intermediate = (mean + MEAN_MULTIPLE - 1) / MEAN_MULTIPLE * MEAN_MULTIPLE;
    model->layers = model->layer_types.n;
    model->norms_per_layer = 1;
    return STATUS_OK;
}
