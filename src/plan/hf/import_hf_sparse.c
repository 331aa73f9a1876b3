/* Layers that attend to chosen blocks of keys (MiniMax-M3) or to compressed entries
 * (DeepSeek-V4, -V4.1). Sources: modular_minimax_m3_vl.py and configuration_deepseek_v4.py of
 * github.com/huggingface/transformers (src/transformers/models). */
#include "base/checked.h"
#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"
#include "plan/layers.h"

/* ---- chosen blocks ---- */

/* sparse_attention_freq: 1 is a layer that chooses blocks. */
static enum layer_type chooses(const struct node *config, uint64_t i)
{
    const struct node *sparse = import_value(config, "sparse_attention_config", NODE_MAPPING);
    const struct node *use =
        sparse ? import_value(sparse, "use_sparse_attention", NODE_SCALAR) : NULL;
    bool none = !sparse || (use && text_equal(use->text, "false")) ||
                !import_value(sparse, "sparse_attention_freq", NODE_SEQUENCE);
    return none || import_item_is(sparse, "sparse_attention_freq", i, "0") ? LAYER_FULL
                                                                           : LAYER_BLOCKS;
}

/* sparse_disable_index_value: 0 in a layer that chooses blocks asks for values of its own. */
static enum status check_index_values(const struct node *sparse, const struct model *model,
                                      struct err *err)
{
    const char *values = "sparse_disable_index_value";
    for (uint64_t i = 0; i < model->layers; i++)
        if (import_item_is(sparse, "sparse_attention_freq", i, "1") &&
            import_item_is(sparse, values, i, "0"))
            return err_at(err, import_item(sparse, values, i)->mark,
                          "'%s' must be 1 where 'sparse_attention_freq' is: values of the "
                          "indexer are not modelled",
                          values);
    return STATUS_OK;
}

/* What the checkpoint calls sparse_ in a mapping transformers writes flat as index_; the
 * mapping wins there (modular_minimax_m3_vl.py, MiniMaxM3VLTextConfig). */
enum status import_finish_minimax_m3(const struct node *config, struct model *model,
                                     struct err *err)
{
    const struct node *sparse = import_value(config, "sparse_attention_config", NODE_MAPPING);
    struct indexer *indexer = &model->indexer;
    model->moe.shared_intermediate *= model->moe.shared_experts;
    TRY(import_dense_first(config, "moe_layer_freq", "0", model, err));
    TRY(import_dense_first(config, "mlp_layer_types", "dense", model, err));
    TRY(import_layers(config, model, chooses, err));
    if (sparse) {
        indexer->heads = import_count(sparse, "sparse_num_index_heads", indexer->heads);
        indexer->head_dim = import_count(sparse, "sparse_index_dim", indexer->head_dim);
        indexer->block = import_count(sparse, "sparse_block_size", indexer->block);
        indexer->top_k = import_count(sparse, "sparse_topk_blocks", indexer->top_k);
        TRY(check_index_values(sparse, model, err));
    }
    indexer->top_k *= indexer->block;
    if (!model_mixers(model, MIXER_BLOCKS))
        *indexer = (struct indexer){0};
    return STATUS_OK;
}

/* ---- compressed entries ---- */

/* compress_ratios, of which the last are the prediction modules': 0 a window alone, 4 and 128
 * as compress_rates says. Without a list two layers of hca, then hca and csa in turn
 * (configuration_deepseek_v4.py). */
static enum layer_type compressed(const struct node *config, uint64_t i)
{
    const struct node *item = import_item(config, "compress_ratios", i);
    uint64_t ratio;
    if (!import_value(config, "compress_ratios", NODE_SEQUENCE))
        return i >= 2 && i % 2 ? LAYER_CSA : LAYER_HCA;
    if (!item || item->kind != NODE_SCALAR || !number_count(item->text, &ratio) || ratio <= 1)
        return LAYER_WINDOW;
    return ratio < 128 ? LAYER_CSA : LAYER_HCA;
}

/* Of all layers, and of ratios that there are. */
static enum status check_ratios(const struct node *config, const struct model *model,
                                struct err *err)
{
    const struct node *list = import_value(config, "compress_ratios", NODE_SEQUENCE);
    if (list && list->n < model->layers)
        return err_at(err, list->mark, "'compress_ratios' has %llu items for %llu layers",
                      (unsigned long long)list->n, (unsigned long long)model->layers);
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (item->kind != NODE_SCALAR ||
            (!text_equal(item->text, "0") && !text_equal(item->text, "1") &&
             !text_equal(item->text, "4") && !text_equal(item->text, "128")))
            return err_at(err, item->mark, "'compress_ratios' has '%s': known are 0, 4 and 128",
                          item->kind == NODE_SCALAR ? item->text : node_kind_name(item->kind));
    return STATUS_OK;
}

/* mlp_layer_types: the first layers may be hash_moe. */
static enum status read_hash_layers(const struct node *config, struct model *model,
                                    struct err *err)
{
    const struct node *list = import_value(config, "mlp_layer_types", NODE_SEQUENCE);
    uint64_t n = 0, at = 0;
    if (!list)
        return STATUS_OK;
    for (const struct node *item = list->first; item; item = item->next, at++) {
        bool hash = node_is(item, "hash_moe");
        if (hash && n < at)
            return err_at(err, item->mark,
                          "'mlp_layer_types': hash_moe must be the first layers");
        n += hash;
    }
    model->moe.hash_layers = n;
    return STATUS_OK;
}

enum status import_finish_deepseek_v4(const struct node *config, struct model *model,
                                      struct err *err)
{
    struct attention *a = &model->attention;
    a->csa_ratio = import_count(config, "compress_rate_csa", a->csa_ratio);
    a->hca_ratio = import_count(config, "compress_rate_hca", a->hca_ratio);
    TRY(check_ratios(config, model, err));
    TRY(read_hash_layers(config, model, err));
    return import_layers(config, model, compressed, err);
}

/* ---- entries that later layers read (DeepSeek-V4.1) ---- */

/* Whether a list of layers' numbers has this one. */
static bool names_layer(const struct node *config, const char *key, uint64_t layer)
{
    const struct node *list = import_value(config, key, NODE_SEQUENCE);
    uint64_t at;
    for (const struct node *item = list ? list->first : NULL; item; item = item->next)
        if (item->kind == NODE_SCALAR && number_count(item->text, &at) && at == layer)
            return true;
    return false;
}

static uint64_t ratio_of(const struct node *config, uint64_t layer)
{
    const struct node *item = import_item(config, "compress_ratios", layer);
    uint64_t ratio = 0;
    return item && item->kind == NODE_SCALAR && number_count(item->text, &ratio) ? ratio : 0;
}

/* compress_ratios: the entries that a layer reads, of several tokens or of one; the lists of
 * sources say which layers make these, and which choose among them. */
static enum layer_type shares_entries(const struct node *config, uint64_t i)
{
    bool makes = names_layer(config, "kv_source_layer_ids", i);
    bool chooses = names_layer(config, "index_source_layer_ids", i);
    uint64_t ratio = ratio_of(config, i);
    if (!ratio)
        return LAYER_WINDOW;
    if (ratio > 1)
        return makes ? LAYER_CSA : LAYER_CSA_REUSE;
    return makes ? LAYER_TSA : chooses ? LAYER_TSA_CHOOSE : LAYER_TSA_REUSE;
}

/* One ratio beside 0 and 1, and of its layers no choice of their own of others' entries; who
 * makes entries chooses among them. */
static enum status check_sources(const struct node *config, struct model *model,
                                 struct err *err)
{
    const struct node *list = import_value(config, "compress_ratios", NODE_SEQUENCE);
    if (!list || list->n < model->layers)
        return err_at(err, list ? list->mark : config->mark,
                      "'compress_ratios' has %llu items for %llu layers",
                      (unsigned long long)(list ? list->n : 0),
                      (unsigned long long)model->layers);
    for (uint64_t i = 0; i < model->layers && i < list->n; i++) {
        uint64_t ratio = ratio_of(config, i), *known = &model->attention.csa_ratio;
        bool makes = names_layer(config, "kv_source_layer_ids", i);
        bool chooses = names_layer(config, "index_source_layer_ids", i);
        if (ratio > 1 && *known && *known != ratio)
            return err_at(err, list->mark,
                          "'compress_ratios' has two ratios beside 0 and 1: not modelled");
        *known = ratio > 1 ? ratio : *known;
        if ((makes && !chooses) || (chooses && !makes && ratio > 1))
            return err_at(err, list->mark, "layer %llu %s: not modelled", (unsigned long long)i,
                          makes ? "makes entries and does not choose among them"
                                : "chooses anew among entries of several tokens");
    }
    return STATUS_OK;
}

/* Tables are of as many rows as they have in the mean: two of DeepSeek-V4.1-Flash differ by
 * 10,514 of 384 million. */
static void read_engrams(const struct node *config, struct model *model)
{
    const struct node *layers = import_value(config, "engram_layer_ids", NODE_SEQUENCE);
    const struct node *rows = import_value(config, "engram_num_embeddings", NODE_SEQUENCE);
    struct ngram *g = &model->ngram;
    uint64_t sum = 0, each;
    for (const struct node *item = rows ? rows->first : NULL; item; item = item->next)
        if (item->kind == NODE_SCALAR && number_count(item->text, &each) &&
            each < 1000000000000)
            sum += each;
    uint64_t sizes = lesser(import_count(config, "engram_max_ngram_size", 4), 64);
    uint64_t heads = lesser(import_count(config, "engram_n_heads", 8), 64);
    uint64_t wide = lesser(import_count(config, "engram_head_dim", 256), 65536);
    *g = (struct ngram){0};
    if (!layers || !layers->n || layers->n > 64 || sizes < 2)
        return;
    g->tables = layers->n;
    g->rows = sum / layers->n;
    g->heads = (sizes - 1) * heads;
    g->width = g->heads * wide;
    g->format = g->projections = DTYPE_MXFP8;
}

/* The modules behind the last layer, which read hidden rows of several. */
static void read_dspark(const struct node *config, struct model *model)
{
    const struct node *layers = import_value(config, "dspark_target_layer_ids", NODE_SEQUENCE);
    if (!layers || !layers->n)
        model->dspark = (struct dspark){0};
    else
        model->dspark.inputs = layers->n;
}

enum status import_finish_deepseek_v41(const struct node *config, struct model *model,
                                       struct err *err)
{
    struct indexer *indexer = &model->indexer;
    bool overflow = false;
    TRY(check_sources(config, model, err));
    indexer->candidates = 0;
    if (import_value(config, "candidate_source_layer_id", NODE_SCALAR))
        indexer->candidates =
            checked_mul(import_count(config, "candidate_topk_blocks", 0),
                        import_count(config, "candidate_block_size", 0), &overflow);
    read_engrams(config, model);
    read_dspark(config, model);
    return import_set_layers(config, model, shares_entries, err);
}

static enum layer_type borrowed(const struct node *config, uint64_t i)
{
    uint64_t factor = import_count(config, "cla_share_factor", 1);
    return factor && i % factor ? LAYER_BORROW : LAYER_FULL;
}

/* Hunyuan-Large: of cla_share_factor layers the first has keys and values (vLLM
 * models/hunyuan_v1.py, HunYuanCrossAttention). */
enum status import_finish_hunyuan(const struct node *config, struct model *model,
                                  struct err *err)
{
    return import_is_true(config, "use_cla") ? import_set_layers(config, model, borrowed, err)
                                             : STATUS_OK;
}

enum status import_finish_pangu(const struct node *config, struct model *model, struct err *err)
{
    TRY(import_finish_deepseek(config, model, err));
    model->norms_per_layer = import_is_true(config, "sandwich_norm") ? 4 : 2;
    return STATUS_OK;
}
