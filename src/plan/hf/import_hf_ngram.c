/* Gated copies of the residual, pooled blocks of keys and embeddings of n-grams
 * (Qwen3.8-Flash-Next). Source: github.com/huggingface/transformers
 * src/transformers/models/qwen4_exp, configuration and modular_qwen4_exp.py. And n-grams that
 * are part of the embedding (LongCat-Flash-Lite): vLLM models/longcat_flash_ngram.py. */
#include "base/checked.h"
#include "base/number.h"
#include "base/text.h"
#include "plan/hf/import_hf_table.h"

/* Layers are recurrent unless their name, or without names their place, says attention. */
static enum layer_type attends(const struct node *config, uint64_t i)
{
    if (import_value(config, "layer_types", NODE_SEQUENCE))
        return import_item_is(config, "layer_types", i, "linear_attention") ? LAYER_LINEAR
                                                                            : LAYER_FULL;
    return import_interval(config, i);
}

static enum layer_type chooses(const struct node *config, uint64_t i)
{
    enum layer_type type = attends(config, i);
    return type == LAYER_FULL ? LAYER_BLOCKS : type;
}

static bool is_prime(uint64_t value)
{
    if (value < 2 || value % 2 == 0)
        return value == 2;
    for (uint64_t d = 3; d <= value / d; d += 2)
        if (value % d == 0)
            return false;
    return true;
}

/* Rows of the largest table: every head of every table hashes into a prime number of rows of
 * its own, the next ones from the base on, and the rows of a table are filled up. */
static uint64_t ngram_rows(uint64_t base, uint64_t tables, uint64_t heads, uint64_t multiple)
{
    bool overflow = false;
    uint64_t most = 0, prime = base ? base - 1 : 0;
    for (uint64_t t = 0; t < tables; t++) {
        uint64_t rows = 0;
        for (uint64_t h = 0; h < heads; h++) {
            do
                prime++;
            while (!is_prime(prime));
            rows = checked_add(rows, prime, &overflow);
        }
        most = rows > most ? rows : most;
    }
    return overflow ? UINT64_MAX : round_up(most, multiple ? multiple : 1);
}

static enum status too_many(const struct node *config, const char *what, struct err *err)
{
    err_at(err, config->mark, "%s of n-grams beyond what is read", what);
    return err_hint(err, "write model.ngram.rows and the keys beside it by hand");
}

static enum status read_ngrams(const struct node *config, struct model *model, struct err *err)
{
    enum { MOST_HEADS = 1024, MOST_TABLES = 64 };
    const uint64_t most_base = UINT64_C(1000000000000);
    const struct node *layers = import_value(config, "ple_layer_ids", NODE_SEQUENCE);
    struct ngram *g = &model->ngram;
    g->tables = layers ? layers->n : 0;
    if (!g->tables) {
        *g = (struct ngram){0};
        return STATUS_OK;
    }
    uint64_t size = import_count(config, "ngram_size", 3);
    uint64_t each = import_count(config, "heads_per_ngram", 8);
    uint64_t base = import_count(config, "ngram_vocab_size_base", 20000000);
    if (size > MOST_HEADS || each > MOST_HEADS || g->tables > MOST_TABLES)
        return too_many(config, "heads or tables", err);
    if (base > most_base)
        return too_many(config, "rows", err);
    g->heads = size > 1 ? (size - 1) * each : 0;
    g->gap = size;
    g->width = g->width ? g->width : model->hidden;
    g->rows = ngram_rows(base, g->tables, g->heads,
                         import_count(config, "make_ngram_vocab_size_divisible_by", 128));
    return STATUS_OK;
}

enum status import_finish_qwen4(const struct node *config, struct model *model, struct err *err)
{
    TRY(import_finish_interleaved(config, model, err));
    TRY(read_ngrams(config, model, err));
    model->indexer.pooled = model->indexer.heads > 0;
    return import_set_layers(config, model, model->indexer.heads ? chooses : attends, err);
}

/* ---- LongCat ---- */

/* A key, or its older name; `otherwise` where neither is there. */
static uint64_t either(const struct node *config, const char *key, const char *older,
                       uint64_t otherwise)
{
    return import_count(config, key, import_count(config, older, otherwise));
}

static const struct node *ratio_of(const struct node *config)
{
    const struct node *said = import_value(config, "ngram_vocab_size_ratio", NODE_SCALAR);
    return said ? said : import_value(config, "oe_vocab_size_ratio", NODE_SCALAR);
}

/* Of every head a table of ratio x vocab + 2 i + 1 rows, side by side; the ends of heads that
 * do not divide the hidden size are not there. In 16 bits, whatever the checkpoint has. */
static enum status read_embedded(const struct node *config, struct model *model,
                                 struct err *err)
{
    const double most = 1e12;
    const struct node *said = ratio_of(config);
    struct ngram *g = &model->ngram;
    double ratio;
    if (!said)
        return STATUS_OK;
    uint64_t size = either(config, "emb_neighbor_num", "oe_neighbor_num", 0);
    uint64_t each = either(config, "emb_split_num", "oe_split_num", 0);
    if (!number_real(said->text, &ratio) ||
        !(ratio >= 0 && ratio * (double)model->vocab < most))
        return too_many(config, "rows", err);
    if (size < 2 || size > 64 || !each || each > 64 || (size - 1) * each > model->hidden)
        return too_many(config, "heads", err);
    uint64_t heads = (size - 1) * each, base = (uint64_t)(ratio * (double)model->vocab);
    *g = (struct ngram){.tables = 1,
                        .rows = heads * (base + heads),
                        .heads = heads,
                        .width = heads * (model->hidden / heads),
                        .format = DTYPE_BF16,
                        .embedded = true};
    return STATUS_OK;
}

/* num_layers counts pairs of ours. */
enum status import_finish_longcat(const struct node *config, struct model *model,
                                  struct err *err)
{
    const struct node *method = import_value(config, "attention_method", NODE_SCALAR);
    if (method && text_equal(method->text, "LSA"))
        return err_at(err, method->mark,
                      "'attention_method' LSA is not modelled: layers that choose keys by an "
                      "index which two of them share, with windows beside");
    model->layers *= 2;
    model->dense_layers = model->layers - model->layers / model->moe_every;
    return read_embedded(config, model, err);
}
