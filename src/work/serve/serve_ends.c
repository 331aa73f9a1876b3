/* Weights of a serving rank that are no layer's: embedding and head, the norms, what joins a
 * prediction module to the model, and the table of rotary positions; see serve.h. */
#include "plan/derive.h"
#include "plan/speculation.h"
#include "work/list/letters.h"
#include "work/piece/dims.h"
#include "work/serve/serve.h"

/* [vocab, hidden] over tp, twice unless tied; norms of all layers. */
void serve_end_weights(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    struct size hidden = size_slot(s, SLOT_HIDDEN);
    struct size part = size_ceil_div(s, size_slot(s, SLOT_VOCAB), size_slot(s, SLOT_TP));
    struct size table = size_times(s, size_mul(s, part, hidden), 2);
    serve_state(work, "embedding_weights", DTYPE_BF16, table,
                size_slot(s, SLOT_STAGE_EMBEDDING), NULL);
    struct size rows =
        size_ceil_div(s, size_slot(s, SLOT_VOCAB),
                      dims_over(s, plan_head_replicas(plan), size_slot(s, SLOT_TP)));
    if (!plan->model.tied_embeddings)
        serve_state(work, "head_weights", DTYPE_BF16,
                    size_times(s, size_mul(s, rows, hidden), 2), size_slot(s, SLOT_STAGE_HEAD),
                    NULL);
    struct size per_layer =
        size_times(s, serve_all_layers(plan, s),
                   model_layer_norms(&plan->model) + (uint64_t)plan_embeds_layers(plan));
    bool gated = plan->model.residual_rank > 0; /* norms of copies: serve_residual.c */
    struct size norms =
        gated ? per_layer : size_add(s, per_layer, size_slot(s, SLOT_STAGE_HEAD));
    if (plan->model.residual_block) /* two vectors for a mixer, a network and the head */
        norms = size_sum(s, SIZES(norms, size_times(s, serve_all_layers(plan, s), 4),
                                  size_times(s, size_slot(s, SLOT_STAGE_HEAD), 2)));
    if (plan_drafts_itself(plan)) /* a module that is only counted has its layer alone */
        norms = size_add(s, norms,
                         size_times(s, size_slot(s, SLOT_STAGE_MTP),
                                    gated ? 1 + plan->model.residual_streams : 3));
    uint64_t vectors = plan->model.norm_bias ? 2 : 1;
    serve_state(work, "norm_weights", DTYPE_BF16, size_times(s, hidden, 2 * vectors), norms,
                NULL);
}

/* The table of the layers' embeddings, on the device, with the projection to them and its norm,
 * in 16 bits; and the rows of a step that vLLM's multimodal model keeps for its graphs (vLLM
 * models/gemma4_mm.py: per_layer_embeddings). */
void serve_layer_embeddings(const struct plan *plan, struct work *work, const struct dims *d)
{
    struct sizes *s = &work->sizes;
    struct size all = d->width[COL_LAYER_EMBEDDINGS], hidden = size_slot(s, SLOT_HIDDEN);
    struct size first = size_slot(s, SLOT_STAGE_EMBEDDING);
    struct size projection = size_add(s, size_mul(s, dims_layer_columns(s, plan), hidden),
                                      size_slot(s, SLOT_LAYER_EMBEDDING));
    serve_state(work, "layer_embedding_table", DTYPE_BF16,
                size_times(s, size_mul(s, dims_layer_rows(s, plan), all), 2), first,
                "embed_tokens_per_layer");
    serve_state(work, "layer_embedding_projection", DTYPE_BF16, size_times(s, projection, 2),
                first, "per_layer_model_projection");
    if (plan->stack.kind == STACK_VLLM)
        work_buffer(
            work, (struct buffer){.name = "layer_embedding_rows",
                                  .category = CATEGORY_WORKSPACE,
                                  .segment = SEGMENT_STEP,
                                  .dtype = plan->precision.activations,
                                  .n_dims = 2,
                                  .dims = {size_slot(s, SLOT_STEP_TOKENS), all},
                                  .life = LIFE_PERSISTENT,
                                  .state = true,
                                  .source = "vLLM models/gemma4_mm.py: per_layer_embeddings"});
}

/* What joins hidden rows and embeddings in front of a module's layer, [2 H, H]. */
void serve_module_projection(const struct plan *plan, struct work *work)
{
    struct sizes *s = &work->sizes;
    struct size hidden = size_slot(s, SLOT_HIDDEN);
    if (plan_drafts_itself(plan))
        serve_state(work, "mtp_projection_weights", DTYPE_BF16,
                    size_times(s, size_mul(s, hidden, hidden), 4), size_slot(s, SLOT_STAGE_MTP),
                    "vLLM models/deepseek_mtp.py: eh_proj, whole on every rank, 16 bits");
}

/* [positions, rotary dimensions], cos and sin halves. Engines keep a table for each base and
 * width (vLLM layers/rotary_embedding/__init__.py, get_rope, _ROPE_DICT; SGLang layers/
 * rotary_embedding/factory.py alike): of window layers with heads of another size as of those
 * that model.rotary_beside has; SGLang one more of each of DeepSeek-V4's, of complex numbers
 * (models/deepseek_v4.py: freqs_cis; layers/deepseek_v4_rope.py, lru_cache(2)). */
void serve_rotary_table(const struct plan *plan, struct work *work, enum dtype dtype)
{
    struct sizes *s = &work->sizes;
    const struct model *m = &plan->model;
    bool grouped = m->attention.kind == ATTENTION_GQA, some = m->attention.qk_rope_head_dim > 0;
    enum slot head = slots_of_heads(m, model_attention_mixer(m)).head_dim;
    enum slot window = slots_of_heads(m, MIXER_WINDOW).head_dim;
    struct size width = size_slot(s, grouped ? head : SLOT_ROPE_DIM);
    if (grouped && some)
        width = size_min(s, width, size_slot(s, SLOT_ROPE_DIM));
    if (m->rotary_beside)
        width = size_add(s, width, size_const(s, m->rotary_beside));
    else if (plan_splits_attention(plan) && m->window.head_dim &&
             m->window.head_dim != m->attention.head_dim)
        width = size_add(s, width, size_slot(s, window));
    if (plan->stack.kind == STACK_SGLANG && m->attention.kind == ATTENTION_SHARED_KV)
        width = size_times(s, width, 2);
    struct size positions = size_const(s, plan->model.max_position);
    work_buffer(work, (struct buffer){.name = "rotary_table",
                                      .category = CATEGORY_METADATA,
                                      .segment = SEGMENT_STEP,
                                      .dtype = dtype,
                                      .n_dims = 2,
                                      .dims = {positions, width},
                                      .life = LIFE_PERSISTENT,
                                      .state = true,
                                      .source = "layers/rotary_embedding: cos_sin_cache"});
}
