/* What an engine's rank holds of a residual that is more than a row, and of what is added to
 * it: hyper-connections, whole on every rank, in 32 bits (transformers
 * deepseek_v4/modular_deepseek_v4.py, _keep_in_fp32_modules_strict) or, with gates of a rank,
 * in 16 (vLLM models/qwen4_exp/nvidia/hyperconnection.py); embeddings of n-grams
 * (nvidia/ngram_embedding.py, ple_layer.py there); and what attention to pooled blocks chose
 * (qsa.py there, topk_indices_buffer). */
#include "base/checked.h"
#include "work/list/letters.h"
#include "work/piece/dims.h"
#include "work/serve/serve.h"

/* ---- hyper-connections ---- */

/* Columns that vLLM fills up the first matrix of gates with, to whole 16. */
static uint64_t filled_columns(const struct plan *plan)
{
    const struct model *model = &plan->model;
    uint64_t columns = model->residual_rank + model->residual_streams;
    return plan->stack.kind == STACK_VLLM ? round_up(columns, 16) - columns : 0;
}

static void gates(const struct plan *plan, struct work *work, const struct params *params,
                  struct size sites)
{
    struct sizes *s = &work->sizes;
    const struct model *model = &plan->model;
    bool overflow = false;
    uint64_t filled =
        checked_mul3(filled_columns(plan), model->residual_streams, model->hidden, &overflow);
    uint64_t each = params_part_total(params->streams) + filled;
    serve_state(work, "hyper_connection_weights", DTYPE_BF16, size_const(s, 2 * each), sites,
                "vLLM models/qwen4_exp/nvidia/hyperconnection.py: GatedResidual");
    serve_state(work, "hyper_connection_head", DTYPE_BF16,
                size_const(s, 2 * params_part_total(params->streams_end)),
                size_slot(s, SLOT_STAGE_HEAD), NULL);
}

static void streams(const struct plan *plan, struct work *work, const struct params *params)
{
    struct sizes *s = &work->sizes;
    if (plan->model.residual_streams <= 1)
        return;
    struct size sites = dims_stream_sites(s, plan), head = size_slot(s, SLOT_STAGE_HEAD);
    if (plan->model.residual_rank) {
        gates(plan, work, params, sites);
        return;
    }
    serve_state(work, "hyper_connection_weights", DTYPE_F32,
                size_const(s, 4 * params_part_total(params->streams)), sites, NULL);
    if (!plan->model.residual_mean)
        serve_state(work, "hyper_connection_head", DTYPE_F32,
                    size_const(s, 4 * params_part_total(params->streams_end)), head, NULL);
}

/* ---- n-grams ---- */

static bool is_away(const struct plan *plan)
{
    bool reads = plan->stack.kind == STACK_VLLM || plan->stack.kind == STACK_SGLANG;
    return plan->memory.ngram_host && reads;
}

/* Rows of a table over tp, each of a head; its projections whole, norms and convolution of all
 * copies beside them. */
static void ngrams(const struct plan *plan, struct work *work, const struct params *params)
{
    struct sizes *s = &work->sizes;
    const struct ngram *g = &plan->model.ngram;
    struct size first = size_slot(s, SLOT_STAGE_EMBEDDING);
    if (!g->tables)
        return;
    struct size rows = size_ceil_div(s, size_const(s, g->rows), size_slot(s, SLOT_TP));
    struct size table =
        size_matrix_bytes(s, plan_ngram_format(plan), rows, size_const(s, g->width / g->heads));
    struct size tables = size_times(s, first, g->tables);
    const char *source = "vLLM models/qwen4_exp/nvidia/ngram_embedding.py";
    if (is_away(plan))
        work_host(work, "ngram_tables", size_mul(s, table, tables), source);
    else
        serve_state(work, "ngram_tables", plan_ngram_format(plan), table, tables, source);
    uint64_t vectors = params->ngrams.norms + params->ngrams.biases;
    uint64_t outputs = model_ngram_outputs(&plan->model);
    struct size both =
        size_matrix_bytes(s, plan_ngram_projections(plan), size_const(s, g->tables * outputs),
                          size_const(s, g->width));
    serve_state(work, "ngram_projections", plan_ngram_projections(plan),
                size_add(s, both, size_const(s, 2 * vectors)), first,
                "vLLM models/qwen4_exp/nvidia/ple_layer.py: kv_proj, conv1d, norms");
}

/* Where the tables are in host memory, the rows of a step's tokens, read ahead: vLLM's as they
 * lie, with the model, SGLang's in 16 bits by the first step, behind its pool
 * (models/qwen4_exp.py, _get_prefetch_buffer). */
static void read_ahead(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    const struct ngram *g = &plan->model.ngram;
    bool early = plan->stack.kind == STACK_VLLM;
    if (!g->tables || !is_away(plan))
        return;
    struct size row =
        size_matrix_bytes(s, early ? plan_ngram_format(plan) : DTYPE_BF16,
                          size_const(s, g->heads), size_const(s, g->width / g->heads));
    work_buffer(work, (struct buffer){
                          .name = "ngram_rows",
                          .category = CATEGORY_WORKSPACE,
                          .segment = SEGMENT_STEP,
                          .dtype = DTYPE_INT8,
                          .n_dims = 2,
                          .dims = {size_slot(s, SLOT_STEP_TOKENS), row},
                          .count = size_times(s, size_slot(s, SLOT_STAGE_EMBEDDING), g->tables),
                          .life = LIFE_PERSISTENT,
                          .state = early,
                          .source = "vLLM models/qwen4_exp/common/"
                                    "ngram_embedding.py: _prefetch_buffer"});
}

/* What is made of a step's tokens where n-grams are part of the embedding, before the first
 * layer: their rows, what projects each of them and the mean; vLLM joins the latter to the
 * token's row in a copy, which SGLang lets the product write to (models/longcat_flash_ngram.py,
 * embed_batched; SGLang layers/n_gram_embedding.py, forward). vLLM's profile run embeds nothing
 * (prepare_dummy_inputs there). */
void serve_embedded(const struct plan *plan, struct work *work, struct size tokens)
{
    struct sizes *s = &work->sizes;
    const struct ngram *g = &plan->model.ngram;
    if (!g->tables || !g->embedded)
        return;
    uint64_t copies = plan->stack.kind == STACK_VLLM ? 2 : 1;
    struct size hidden = size_slot(s, SLOT_HIDDEN);
    const struct {
        const char *name;
        struct size width;
    } rows[] = {
        {"ngram_rows", size_const(s, g->width)},
        {"ngrams_projected", size_times(s, hidden, copies * g->heads)},
        {"ngrams_mean", hidden},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        work_buffer(work, (struct buffer){.name = rows[i].name,
                                          .category = CATEGORY_ACTIVATION,
                                          .segment = SEGMENT_EMBED,
                                          .dtype = plan->precision.activations,
                                          .n_dims = 2,
                                          .dims = {tokens, rows[i].width},
                                          .count = size_slot(s, SLOT_STAGE_EMBEDDING),
                                          .life = LIFE_TRANSIENT,
                                          .last = WORK_NONE});
}

/* Tokens before those of a step that n-grams are made of: vLLM keeps the last ones of a
 * sequence and the embedded rows of a step (the same, LongcatNgramModelState), SGLang all of
 * every sequence, here of the longest that is planned, made behind the pool
 * (model_executor/model_runner.py, maybe_init_ngram_embedding: token_table). */
static void embedded_state(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    const struct ngram *g = &plan->model.ngram;
    bool vllm = plan->stack.kind == STACK_VLLM, decodes = plan->workload.mode == MODE_DECODE;
    if (!g->tables || !g->embedded || plan->stack.kind == STACK_GENERIC)
        return;
    struct size tokens = size_slot(s, decodes ? SLOT_CONTEXT : SLOT_SEQUENCE_FULL);
    struct buffer kept = {.name = "ngram_tokens",
                          .category = CATEGORY_WORKSPACE,
                          .segment = SEGMENT_STEP,
                          .dtype = DTYPE_I32,
                          .n_dims = 2,
                          .dims = {size_slot(s, SLOT_MAX_SEQS), tokens},
                          .count = size_slot(s, SLOT_STAGE_EMBEDDING),
                          .life = LIFE_PERSISTENT,
                          .source = "SGLang model_executor/model_runner.py: token_table"};
    if (vllm) {
        kept.name = "embedded_rows";
        kept.dtype = plan->precision.activations;
        kept.dims[0] = size_slot(s, SLOT_STEP_TOKENS);
        kept.dims[1] = size_slot(s, SLOT_HIDDEN);
        kept.state = true;
        kept.source = "vLLM models/longcat_flash_ngram.py: _inputs_embeds_buf";
    }
    work_buffer(work, kept);
}

/* ---- choices ---- */

void serve_residual_weights(const struct plan *plan, struct work *work)
{
    struct params params;
    params_count(&plan->model, &params);
    streams(plan, work, &params);
    ngrams(plan, work, &params);
    read_ahead(plan, work);
    embedded_state(plan, work);
}
