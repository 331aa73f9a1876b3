/* What training keeps of attention whose one head is key and value, with entries of windows
 * that are full beside it (DeepSeek-V4), in Megatron on Blackwell's kernels. Source:
 * Megatron-LM core/transformer/experimental_attention_variant: deepseek_v4_hybrid_attention.py,
 * csa.py and csa_utils/fused_sparse_attention.py (what its autograd functions save),
 * core/ops/attention/csa/reference.py (_pool_compressor_values). */
#include "plan/derive.h"
#include "plan/layers.h"
#include "work/train/train.h"

#define KEPT CATEGORY_ATTENTION, IN_ALL
#define UP_AGAIN .dropped_by = TRAIN_MLA_UP
#define OF_UP .saved = true, .first = MODULE_UP, .last = BACK_UP
#define OF_CORE                                                                                \
    .saved = true, .first = MODULE_ATTENTION, .last = BACK_ATTENTION,                          \
    .offload = TRAIN_OFF_ATTENTION
#define OF_DOWN .saved = true, .first = MODULE_DOWN, .last = BACK_DOWN

/* Recomputation of mla_up_proj runs the projection to heads again with the norms of queries and
 * of the head, and rope; the norm of the latent stands before it. Rope writes over what it
 * reads. The head and its entries are put behind each other, which are the keys the core reads;
 * without entries it reads the head itself. The output's groups and the projection behind them
 * save what they read. */
static const struct train_tensor saved[] = {
    {"q_latent", KEPT, FACT_Q_LOW_RANK, ROW_LOCAL, COL_Q_RANK, .saved = true,
     .first = MODULE_DOWN, .last = BACK_UP, .offload = TRAIN_OFF_QKV},
    {"q_latent_norm_out", KEPT, FACT_Q_LOW_RANK, ROW_LOCAL, COL_Q_RANK, OF_UP,
     .offload = TRAIN_OFF_QKV, .product_input = PRODUCT_INPUT_UP},
    {"q_norm_in", KEPT, 0, ROW_FULL, COL_Q, .saved = true, .first = MODULE_UP,
     .last = BACK_ROPE, UP_AGAIN, .until = MODULE_ROPE, .again = BACK_ATTENTION},
    {"q", KEPT, 0, ROW_FULL, COL_Q, .saved = true, .first = MODULE_ROPE, .last = BACK_ATTENTION,
     UP_AGAIN, .until = MODULE_ATTENTION, .again = BACK_ATTENTION,
     .offload = TRAIN_OFF_ATTENTION},
    {"kv_norm_in", KEPT, 0, ROW_FULL, COL_SHARED_KV, OF_UP, UP_AGAIN, .until = MODULE_ROPE,
     .again = BACK_ATTENTION},
    {"kv", KEPT, FACT_NO_ENTRIES, ROW_FULL, COL_SHARED_KV, .saved = true, .first = MODULE_ROPE,
     .last = BACK_ATTENTION, UP_AGAIN, .until = MODULE_ATTENTION, .again = BACK_ATTENTION,
     .offload = TRAIN_OFF_ATTENTION},
    {"kv", KEPT, FACT_CSA, ROW_FULL, COL_SHARED_KV, OF_CORE},
    {"kv", KEPT, FACT_HCA, ROW_FULL, COL_SHARED_KV, OF_CORE},
    {"kv_entries", KEPT, FACT_CSA, ROW_FULL, COL_CSA_ENTRY, OF_CORE},
    {"kv_entries", KEPT, FACT_HCA, ROW_FULL, COL_HCA_ENTRY, OF_CORE},
    {"window_places", CATEGORY_METADATA, IN_ALL, 0, ROW_FULL, COL_WINDOW_PLACES, DTYPE_I32,
     OF_CORE},
    {"entry_places", CATEGORY_METADATA, IN_ALL, FACT_CSA, ROW_FULL, COL_CSA_PLACES, DTYPE_I32,
     OF_CORE},
    {"entry_places", CATEGORY_METADATA, IN_ALL, FACT_HCA, ROW_FULL, COL_HCA_PLACES, DTYPE_I32,
     OF_CORE},
    {"place_counts", CATEGORY_METADATA, IN_ALL, 0, ROW_FULL, COL_ONE, DTYPE_I32, OF_CORE},
    {"attention_statistics", KEPT, 0, ROW_FULL, COL_HEADS, DTYPE_F32, OF_CORE},
    {"attention_context", KEPT, 0, ROW_FULL, COL_CONTEXT, .saved = true,
     .first = MODULE_ATTENTION, .last = BACK_ATTENTION},
    {"attention_out_latent", KEPT, 0, ROW_FULL, COL_OUT_IN, .saved = true,
     .first = MODULE_PROJECTION, .last = BACK_PROJECTION, .offload = TRAIN_OFF_PROJECTION,
     .product_input = PRODUCT_INPUT_PROJECTION},
};

/* In a low precision recipe each product of the layer's row and of the query's latent keeps a
 * copy of its own. Entries are made outside it and keep the row, which in a layer of a window
 * alone stands for two copies. A norm that runs again has products save what it made
 * (set_for_recompute_input_layernorm). */
#define COPY .saved = true, .product_input = PRODUCT_INPUT
#define OF_ROW                                                                                 \
    COPY, .first = MODULE_DOWN, .last = BACK_DOWN, .until = MODULE_DOWN, .again = BACK_ATTENTION

static const struct train_tensor copies[] = {
    {"q_down_in_copy", KEPT, FACT_RECIPE | FACT_CSA, ROW_LOCAL, COL_HIDDEN, OF_ROW,
     .dropped_by = TRAIN_NORMS},
    {"q_down_in_copy", KEPT, FACT_RECIPE | FACT_HCA, ROW_LOCAL, COL_HIDDEN, OF_ROW,
     .dropped_by = TRAIN_NORMS},
    {"kv_in_copy", KEPT, FACT_RECIPE | FACT_CSA, ROW_LOCAL, COL_HIDDEN, OF_ROW,
     .dropped_by = TRAIN_NORMS | TRAIN_MLA_UP},
    {"kv_in_copy", KEPT, FACT_RECIPE | FACT_HCA, ROW_LOCAL, COL_HIDDEN, OF_ROW,
     .dropped_by = TRAIN_NORMS | TRAIN_MLA_UP},
    {"index_q_in_copy", KEPT, FACT_RECIPE | FACT_INDEX | FACT_CSA, ROW_LOCAL, COL_Q_RANK, COPY,
     .first = MODULE_UP, .last = BACK_UP},
};

/* Where kv is made again of the row itself, the one copy besides. */
static const struct train_tensor copies_again[] = {
    {"q_down_in_copy", KEPT, FACT_RECIPE | FACT_NO_ENTRIES, ROW_LOCAL, COL_HIDDEN, OF_ROW,
     .dropped_by = TRAIN_NORMS},
};

/* An entry is a sum of its tokens' kv, weighed by a softmax of their gates: both stand in f32,
 * for a window that overlaps the next twice as long; behind it is a norm. The indexer makes
 * keys of entries likewise; what it keeps of its queries, weights and keys are their gradients,
 * which its loss makes in forward. */
static const struct train_tensor entries[] = {
    {"csa_sums", KEPT, FACT_CSA, ROW_LOCAL, COL_CSA_IN, DTYPE_F32, OF_DOWN},
    {"hca_sums", KEPT, FACT_HCA, ROW_LOCAL, COL_HCA_IN, DTYPE_F32, OF_DOWN},
    {"csa_norm_in", KEPT, FACT_CSA, ROW_LOCAL, COL_CSA_ENTRY, OF_DOWN},
    {"hca_norm_in", KEPT, FACT_HCA, ROW_LOCAL, COL_HCA_ENTRY, OF_DOWN},
    {"index_sums", KEPT, FACT_INDEX | FACT_CSA, ROW_LOCAL, COL_INDEX_IN, DTYPE_F32, OF_DOWN},
    {"index_norm_in", KEPT, FACT_INDEX | FACT_CSA, ROW_LOCAL, COL_INDEX_ENTRY, OF_DOWN},
    {"d_index_q", KEPT, FACT_INDEX | FACT_CSA, ROW_FULL, COL_INDEX_Q, OF_CORE},
    {"d_index_weights", KEPT, FACT_INDEX | FACT_CSA, ROW_FULL, COL_INDEX_HEADS, OF_CORE},
    {"d_index_k", KEPT, FACT_INDEX | FACT_CSA, ROW_FULL, COL_INDEX_ENTRY, OF_CORE},
};

#define HELD(from, to) .first = (from), .last = (to)

static const struct train_tensor held[] = {
    {"csa_parts", KEPT, FACT_CSA, ROW_LOCAL, COL_CSA_IN, HELD(MODULE_DOWN, MODULE_DOWN)},
    {"hca_parts", KEPT, FACT_HCA, ROW_LOCAL, COL_HCA_IN, HELD(MODULE_DOWN, MODULE_DOWN)},
    {"index_q", KEPT, FACT_INDEX | FACT_CSA, ROW_LOCAL, COL_INDEX_Q,
     HELD(MODULE_UP, MODULE_ATTENTION)},
    {"d_attention_out_latent", KEPT, 0, ROW_FULL, COL_OUT_IN,
     HELD(BACK_PROJECTION, BACK_PROJECTION)},
    {"d_attention_context", KEPT, 0, ROW_FULL, COL_CONTEXT,
     HELD(BACK_PROJECTION, BACK_ATTENTION)},
    {"d_qkv", KEPT, 0, ROW_FULL, COL_QKV, HELD(BACK_ATTENTION, BACK_ROPE)},
    {"d_qkv_out", KEPT, 0, ROW_FULL, COL_UP_OUT, HELD(BACK_ROPE, BACK_UP)},
    {"d_csa_sums", KEPT, FACT_CSA, ROW_LOCAL, COL_CSA_IN, DTYPE_F32,
     HELD(BACK_DOWN, BACK_DOWN)},
    {"d_hca_sums", KEPT, FACT_HCA, ROW_LOCAL, COL_HCA_IN, DTYPE_F32,
     HELD(BACK_DOWN, BACK_DOWN)},
};

#define TABLE(rows) rows, sizeof rows / sizeof *rows

void train_shared(struct train *train)
{
    train_mixer(train, MIX_SOFTMAX, TABLE(saved));
    train_mixer(train, MIX_SOFTMAX, TABLE(copies));
    if (train->drops & TRAIN_MLA_UP)
        train_mixer(train, MIX_SOFTMAX, TABLE(copies_again));
    train_mixer(train, MIX_SOFTMAX, TABLE(entries));
    train_mixer(train, MIX_SOFTMAX, TABLE(held));
}

/* ---- what is refused ---- */

/* What Megatron refuses, or what of it is not modelled. */
enum status train_mixed_refuse(const struct plan *plan, struct err *err)
{
    const struct parallel *p = &plan->parallel;
    const struct recompute_plan *r = &plan->recompute;
    bool shares = plan_shares_kv(plan), streams = plan->model.residual_streams > 1;
    bool weighs = streams || plan->model.residual_block,
         selects = r->kind == RECOMPUTE_SELECTIVE;
    bool core = selects && (r->modules.n == 0 || plan_lists(&r->modules, "core_attn"));
    const struct {
        bool holds;
        const char *what, *instead;
    } rows[] = {
        {shares && p->tp > 1,
         "attention of kind shared_kv is not split over tp: Megatron's DSv4HybridAttention is "
         "whole on every rank",
         "set parallel.tp to 1"},
        {shares && p->cp > 1,
         "attention of kind shared_kv with a split context is not modelled: Megatron splits "
         "packed sequences alone, with rows of the rank before",
         "set parallel.cp to 1"},
        {shares && core,
         "attention of kind shared_kv is not recomputed as core_attn: Megatron refuses it",
         "name recompute.modules without it, of mla_up_proj, moe_act, layernorm, mhc"},
        {shares && plan_lists(&r->offload, "qkv_linear"),
         "attention of kind shared_kv has no qkv_linear in host memory: Megatron refuses it",
         "name recompute.offload without it"},
        {shares && plan->stack.attention != BACKEND_FLASH,
         "attention of kind shared_kv without its kernels is not modelled: the reference "
         "gathers every key that a query meets",
         "set stack.attention to flash"},
        {streams && plan_has_modules(plan),
         "training of prediction modules beside hyper-connections is not modelled",
         "set model.mtp_enabled to false"},
        {weighs && plan->stack.graphs != GRAPHS_AUTO && plan->stack.graphs != GRAPHS_NONE,
         "CUDA graphs in training with hyper-connections or attention residuals are not "
         "modelled",
         "set stack.graphs to none"},
        {!streams && plan_lists(&r->modules, "mhc"),
         "recompute.modules mhc is of hyper-connections, and the model has none",
         "name recompute.modules without it"},
        {selects && plan_lists(&r->modules, "mhc") && plan_lists(&r->modules, "mlp"),
         "recompute.modules mhc and mlp do not go together: Megatron refuses it",
         "name recompute.modules without mlp"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].holds) {
            err_set(err, STATUS_INPUT, "%s", rows[i].what);
            return err_hint(err, "%s", rows[i].instead);
        }
    return STATUS_OK;
}
