/* Embeddings of the layers as ops (Gemma-4 E2B, E4B): a row of a table for every token, [L w],
 * with a normed projection of the embedded token; a layer multiplies its part with a gate of
 * its own output and adds what a projection makes of it. Source: transformers
 * gemma4/modular_gemma4.py, get_per_layer_inputs, project_per_layer_inputs and
 * Gemma4TextDecoderLayer. And embeddings of n-grams, which a layer adds to every copy of the
 * residual (Qwen3.8-Flash-Next): vLLM models/qwen4_exp/nvidia/ple_layer.py; or that are part of
 * the embedding (LongCat-Flash-Lite): models/longcat_flash_ngram.py there, NgramEmbedding. */
#include "plan/layers.h"
#include "work/step/step.h"

static bool has_embeddings(const struct step *s)
{
    return s->d.facts & FACT_LAYER_EMBEDDING;
}

static uint16_t all_rows(struct step *s, const char *name)
{
    return step_rows(s, name, CATEGORY_ACTIVATION, s->d.rows[ROW_LOCAL],
                     s->d.width[COL_LAYER_EMBEDDINGS]);
}

/* The table's rows; where tp splits the vocabulary, sums of its parts. */
static uint16_t looked_up(struct step *s)
{
    struct layer *l = &s->l;
    struct size dims[] = {dims_layer_rows(l->z, s->plan), s->d.width[COL_LAYER_EMBEDDINGS]};
    uint16_t table = layer_buffer(l, "layer_embedding_table", CATEGORY_WEIGHTS,
                                  step_table_format(s), RULE_FIXED, 2, dims);
    uint16_t rows = all_rows(s, "layer_embedding_rows");
    step_looked_up(s, "layer_embedding", table, s->labels, rows);
    return dims_splits_embeddings(s->plan)
               ? layer_all_reduced(l, "layer_embedding_sum", GROUP_TP, rows)
               : rows;
}

/* The embedded tokens, projected to the width of all layers; over tp its columns are gathered.
 */
static uint16_t projected(struct step *s, uint16_t embedded)
{
    struct layer *l = &s->l;
    struct size rows = s->d.rows[ROW_LOCAL], hidden = s->d.width[COL_HIDDEN];
    struct size columns = dims_layer_columns(l->z, s->plan);
    uint16_t w = layer_weights_as(l, "w_layer_embeddings", layer_wide_format(l), l->one, hidden,
                                  columns);
    uint16_t out =
        step_rows(s, "layer_embeddings_projected", CATEGORY_ACTIVATION, rows, columns);
    layer_gemm(l, "layer_embeddings", embedded, w, WORK_NONE, out, layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = hidden, .n = columns, .groups = l->one});
    if (!dims_splits_embeddings(s->plan))
        return out;
    uint16_t all = all_rows(s, "layer_embeddings_gathered");
    layer_collective(l, "gather_layer_embeddings", GROUP_TP, ALL_GATHER, out, all,
                     l->work->buffers[all].bytes);
    return all;
}

struct layer_embeddings step_layer_embeddings(struct step *s, uint16_t embedded)
{
    struct layer_embeddings run = {s->l.work->n_ops, s->l.work->n_ops, WORK_NONE};
    if (!has_embeddings(s))
        return run;
    uint16_t rows = looked_up(s);
    uint16_t normed = step_norm(s, "layer_embeddings_norm", projected(s, embedded));
    run.out = step_add(s, "layer_embeddings", normed, rows);
    run.end = s->l.work->n_ops;
    return run;
}

uint16_t step_layer_embeddings_backward(struct step *s, const struct layer_embeddings *run,
                                        uint16_t embedded, uint16_t d)
{
    if (run->out == WORK_NONE)
        return d;
    uint16_t sum = all_rows(s, "d_layer_embeddings");
    uint16_t own = layer_undo_range(&s->l, run->first, run->end, run->out, sum, embedded);
    if (own == WORK_NONE)
        return d;
    s->l.backward = true;
    d = step_add(s, "d_embedded", d, own);
    s->l.backward = false;
    return d;
}

uint16_t step_layer_embedding(struct step *s, uint16_t x)
{
    if (!has_embeddings(s))
        return x;
    struct size rows = s->d.rows[ROW_LOCAL], width = s->d.width[COL_LAYER_EMBEDDING];
    uint16_t gate = step_product(s, "layer_gate", x, "layer_gate_out", CATEGORY_ACTIVATION);
    uint16_t own = step_rows(s, "own_embedding", CATEGORY_ACTIVATION, rows, width);
    uint16_t gated = step_rows(s, "layer_gated", CATEGORY_ACTIVATION, rows, width);
    step_op(s, "layer_gated", KERNEL_NORM,
            OPERANDS(MANY(0, true, false, gate), MANY(1, true, false, own),
                     MANY(2, false, true, gated)));
    uint16_t out =
        step_product(s, "layer_projection", gated, "layer_projected", CATEGORY_ACTIVATION);
    s->l.module = MODULE_RESIDUAL;
    return step_add(s, "layer_embedded", x, step_norm(s, "layer_embedding_norm", out));
}

/* ---- n-grams ---- */

/* Their rows of a token side by side, as one row of a table that is as much shorter; where tp
 * splits the table, sums of its parts. */
static uint16_t ngram_rows(struct step *s)
{
    struct layer *l = &s->l;
    const struct ngram *g = &s->plan->model.ngram;
    struct size part =
        size_ceil_div(l->z, size_const(l->z, g->rows / g->heads), size_slot(l->z, SLOT_TP));
    struct size dims[] = {part, size_const(l->z, g->width)};
    uint16_t table = layer_buffer(l, "ngram_table", CATEGORY_WEIGHTS,
                                  plan_ngram_format(s->plan), RULE_FIXED, 2, dims);
    uint16_t rows =
        step_rows(s, "ngram_rows", CATEGORY_ACTIVATION, s->d.rows[ROW_LOCAL], dims[1]);
    step_looked_up(s, "ngrams", table, s->labels, rows);
    return s->plan->parallel.tp > 1 ? layer_all_reduced(l, "ngram_sum", GROUP_TP, rows) : rows;
}

/* A key of every copy and a value are projected from them; copies and keys, normed, say by how
 * much the value is added to each, behind a convolution over earlier tokens. */
static uint16_t add_ngrams(struct step *s, uint16_t x)
{
    struct layer *l = &s->l;
    const struct model *model = &s->plan->model;
    struct size rows = s->d.rows[ROW_LOCAL], width = size_const(l->z, model->ngram.width);
    struct size both = size_times(l->z, s->d.width[COL_HIDDEN], model->residual_streams + 1);
    uint16_t read = ngram_rows(s);
    uint16_t w =
        layer_weights_as(l, "w_ngrams", plan_ngram_projections(s->plan), l->one, width, both);
    uint16_t projected = step_rows(s, "ngrams_projected", CATEGORY_ACTIVATION, rows, both);
    layer_gemm(l, "ngram_projection", read, w, WORK_NONE, projected, layer_no_groups(),
               (struct gemm_shape){.rows = rows, .k = width, .n = both, .groups = l->one});
    uint16_t gated =
        step_rows(s, "ngrams_gated", CATEGORY_ACTIVATION, rows, s->d.width[COL_STREAMS]);
    step_op(s, "gate_ngrams", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, projected), MANY(1, true, false, x),
                     MANY(2, false, true, gated)));
    return step_add(s, "ngrams", x, step_norm(s, "ngram_convolution", gated));
}

uint16_t step_ngrams(struct step *s, uint16_t x)
{
    const struct ngram *g = &s->plan->model.ngram;
    for (uint64_t i = 0; i < (g->embedded ? 0 : g->tables); i++)
        x = add_ngrams(s, x);
    return x;
}

/* Each head's row is multiplied alone; the mean of these and of the token's own row. */
uint16_t step_ngrams_embedded(struct step *s, uint16_t x)
{
    struct layer *l = &s->l;
    const struct ngram *g = &s->plan->model.ngram;
    if (!g->embedded || !g->tables)
        return x;
    struct size heads = size_const(l->z, g->heads), hidden = s->d.width[COL_HIDDEN];
    struct size rows = s->d.rows[ROW_LOCAL], all = size_mul(l->z, rows, heads);
    struct size part = size_const(l->z, g->width / g->heads);
    uint16_t read = ngram_rows(s);
    uint16_t w =
        layer_weights_as(l, "w_ngrams", plan_ngram_projections(s->plan), heads, part, hidden);
    uint16_t projected = step_rows(s, "ngrams_projected", CATEGORY_ACTIVATION, all, hidden);
    layer_gemm(l, "ngram_projection", read, w, WORK_NONE, projected, layer_no_groups(),
               (struct gemm_shape){.rows = all, .k = part, .n = hidden, .groups = heads});
    uint16_t mean = step_rows(s, "ngrams_mean", CATEGORY_ACTIVATION, rows, hidden);
    step_op(s, "mean_ngrams", KERNEL_ROPE,
            OPERANDS(MANY(0, true, false, projected), MANY(1, true, false, x),
                     MANY(2, false, true, mean)));
    return mean;
}
