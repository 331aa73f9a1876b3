/* Tables that the training stacks share: attention with its norms and the residual stream, the
 * dense network. */
#include "work/train/train.h"

/* Saved: a norm its input, a product its input, attention q, k, v, its output (which is the
 * next product's input) and row statistics. What a split, a rotation or a concatenation reads
 * is not saved: their backward needs shapes only. */
static const struct train_tensor entry[] = {
    {"layer_input", CATEGORY_CHECKPOINT, IN_ALL, 0, ROW_LOCAL, COL_STREAMS, .saved = true,
     .first = MODULE_ATTENTION_NORM, .last = BACK_ATTENTION_NORM,
     .dropped_by = TRAIN_KEPT | TRAIN_STREAMS, .offload = TRAIN_OFF_ATTENTION_NORM},
};

static const struct train_tensor mixer_entry[] = {
    {"attention_norm_out", CATEGORY_ACTIVATION, IN_ALL, 0, ROW_LOCAL, COL_HIDDEN, .saved = true,
     .first = MODULE_ATTENTION_NORM, .last = BACK_DOWN,
     .dropped_by = TRAIN_NORMS | TRAIN_STREAMS, .until = MODULE_UP, .again = BACK_PROJECTION,
     .offload = TRAIN_OFF_QKV, .product_input = PRODUCT_INPUT_GQA},
};

#define RING "NeMo AutoModel gemma4_moe/cp_attention.py: all chunks of the ring in a list"

static const struct train_tensor attention[] = {
    {"q_latent", CATEGORY_ATTENTION, IN_ALL, FACT_Q_LOW_RANK, ROW_LOCAL, COL_Q_RANK,
     .saved = true, .first = MODULE_DOWN, .last = BACK_UP, .offload = TRAIN_OFF_QKV},
    {"q_latent_norm_out", CATEGORY_ATTENTION, IN_ALL, FACT_Q_LOW_RANK, ROW_LOCAL, COL_Q_RANK,
     .saved = true, .first = MODULE_UP, .last = BACK_UP, .dropped_by = TRAIN_MLA_UP,
     .until = MODULE_ROPE, .again = BACK_ATTENTION, .offload = TRAIN_OFF_QKV,
     .product_input = PRODUCT_INPUT},
    {"kv_latent", CATEGORY_ATTENTION, IN_ALL, FACT_MLA, ROW_LOCAL, COL_KV_LATENT, .saved = true,
     .first = MODULE_DOWN, .last = BACK_UP, .offload = TRAIN_OFF_QKV},
    {"kv_latent_norm_out", CATEGORY_ATTENTION, IN_ALL, FACT_MLA, ROW_LOCAL, COL_KV_RANK,
     .saved = true, .first = MODULE_UP, .last = BACK_UP, .dropped_by = TRAIN_MLA_UP,
     .until = MODULE_ROPE, .again = BACK_ATTENTION, .offload = TRAIN_OFF_QKV,
     .product_input = PRODUCT_INPUT},
    {"qkv_out", CATEGORY_ATTENTION, IN_ALL, 0, ROW_FULL, COL_UP_OUT, .first = MODULE_UP,
     .last = MODULE_ROPE},
    {"qk_norm_in", CATEGORY_ATTENTION, IN_ALL, FACT_QK_NORM, ROW_FULL, COL_PROJECTED,
     .saved = true, .first = MODULE_ROPE, .last = BACK_ROPE},
    {"q", CATEGORY_ATTENTION, IN_ALL, 0, ROW_FULL, COL_Q, .saved = true, .first = MODULE_ROPE,
     .last = BACK_ATTENTION, .dropped_by = TRAIN_MLA_UP, .until = MODULE_ATTENTION,
     .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"k", CATEGORY_ATTENTION, IN_ALL, FACT_OWN_KV, ROW_FULL, COL_K, .saved = true,
     .first = MODULE_ROPE, .last = BACK_ATTENTION, .dropped_by = TRAIN_MLA_UP,
     .until = MODULE_ATTENTION, .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"v", CATEGORY_ATTENTION, IN_ALL, FACT_OWN_KV, ROW_FULL, COL_V, .saved = true,
     .first = MODULE_ROPE, .last = BACK_ATTENTION, .dropped_by = TRAIN_MLA_UP,
     .until = MODULE_ATTENTION, .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"attention_statistics", CATEGORY_ATTENTION, IN_ALL, FACT_FLASH, ROW_FULL, COL_HEADS,
     DTYPE_F32, .saved = true, .first = MODULE_ATTENTION, .last = BACK_ATTENTION,
     .dropped_by = TRAIN_OP_KEPT | TRAIN_CORE_ATTENTION, .until = MODULE_ATTENTION,
     .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"attention_probabilities", CATEGORY_ATTENTION, IN_ALL, FACT_UNFUSED, ROW_FULL, COL_SCORES,
     .saved = true, .first = MODULE_ATTENTION, .last = BACK_ATTENTION,
     .dropped_by = TRAIN_CORE_ATTENTION, .until = MODULE_ATTENTION, .again = BACK_ATTENTION,
     .offload = TRAIN_OFF_ATTENTION},
    {"attention_scores", CATEGORY_ATTENTION, IN_ALL, FACT_UNFUSED, ROW_FULL, COL_SCORES,
     .first = MODULE_ATTENTION, .last = MODULE_ATTENTION},
    {"d_attention_probabilities", CATEGORY_ATTENTION, IN_ALL, FACT_UNFUSED, ROW_FULL,
     COL_SCORES, .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"d_attention_scores", CATEGORY_ATTENTION, IN_ALL, FACT_UNFUSED, ROW_FULL, COL_SCORES,
     .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"attention_context", CATEGORY_ATTENTION, IN_ALL, 0, ROW_FULL, COL_CONTEXT, .saved = true,
     .first = MODULE_ATTENTION, .last = BACK_ATTENTION, .offload = TRAIN_OFF_PROJECTION,
     .dropped_by = TRAIN_OP_KEPT},
    {"attention_context_copy", CATEGORY_ATTENTION, IN_ALL, FACT_RECIPE | FACT_DELAYED, ROW_FULL,
     COL_CONTEXT, .saved = true, .first = MODULE_PROJECTION, .last = BACK_PROJECTION,
     .offload = TRAIN_OFF_PROJECTION, .product_input = PRODUCT_INPUT,
     .source = "the projection's own copy: attention keeps its output in 16 bits"},
    {"output_gate", CATEGORY_ATTENTION, IN_ALL, FACT_GQA | FACT_OUTPUT_GATE, ROW_FULL,
     COL_CONTEXT, .saved = true, .first = MODULE_ROPE, .last = BACK_PROJECTION,
     .offload = TRAIN_OFF_PROJECTION},
    {"output_gate", CATEGORY_ATTENTION, IN_ALL, FACT_MLA | FACT_OUTPUT_GATE, ROW_FULL,
     COL_CONTEXT, .saved = true, .first = MODULE_UP, .last = BACK_PROJECTION,
     .offload = TRAIN_OFF_PROJECTION},
    {"d_output_gate", CATEGORY_ATTENTION, IN_ALL, FACT_MLA | FACT_OUTPUT_GATE, ROW_FULL,
     COL_CONTEXT, .first = BACK_PROJECTION, .last = BACK_UP},
    {"head_gate", CATEGORY_ATTENTION, IN_ALL, FACT_HEAD_GATE, ROW_FULL, COL_HEADS,
     .saved = true, .first = MODULE_UP, .last = BACK_PROJECTION,
     .offload = TRAIN_OFF_PROJECTION},
    {"gated_context", CATEGORY_ATTENTION, IN_ALL, FACT_GATED, ROW_FULL, COL_CONTEXT,
     .saved = true, .first = MODULE_ATTENTION, .last = BACK_PROJECTION,
     .offload = TRAIN_OFF_PROJECTION, .product_input = PRODUCT_INPUT_PROJECTION},
    {"chosen_keys", CATEGORY_METADATA, IN_ALL, FACT_SPARSE, ROW_FULL, COL_INDEX_CHOSEN,
     DTYPE_I32, .saved = true, .first = MODULE_ROPE, .last = BACK_ATTENTION},
    {"d_attention_context", CATEGORY_ATTENTION, IN_ALL, 0, ROW_FULL, COL_CONTEXT,
     .first = BACK_PROJECTION, .last = BACK_ATTENTION},
    {"d_qkv", CATEGORY_ATTENTION, IN_ALL, 0, ROW_FULL, COL_QKV, .first = BACK_ATTENTION,
     .last = BACK_ROPE},
    {"d_qkv_out", CATEGORY_ATTENTION, IN_ALL, 0, ROW_FULL, COL_UP_OUT, .first = BACK_ROPE,
     .last = BACK_UP},
    {"ring_kv_sent", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING, ROW_FULL, COL_KV,
     .first = MODULE_ATTENTION, .last = MODULE_ATTENTION},
    {"ring_kv_received", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING, ROW_FULL, COL_KV,
     .first = MODULE_ATTENTION, .last = MODULE_ATTENTION},
    {"d_ring_kv_sent", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING, ROW_FULL, COL_KV,
     .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"d_ring_kv_received", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING, ROW_FULL, COL_KV,
     .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"ring_kv_chunks", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING_AT_ONCE, ROW_FULL, COL_RING_KV,
     .first = MODULE_ATTENTION, .last = MODULE_ATTENTION, .source = RING},
    {"ring_kv_chunks_again", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING_AT_ONCE, ROW_FULL,
     COL_RING_KV, .first = BACK_ATTENTION, .last = BACK_ATTENTION, .source = RING},
    {"d_ring_kv_chunks", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING_AT_ONCE, ROW_FULL,
     COL_RING_ALL, .first = BACK_ATTENTION, .last = BACK_ATTENTION, .source = RING},
    {"d_ring_q", CATEGORY_COMMUNICATION, IN_ALL, FACT_RING_AT_ONCE, ROW_FULL, COL_Q, DTYPE_F32,
     .first = BACK_ATTENTION, .last = BACK_ATTENTION, .source = RING},
};

/* Of a network alone the layer's input is its own; beside its mixer it reads that one's,
 * through a norm of its own or not, and the mixer's result waits for both to be added. */
static const struct train_tensor network_entry[] = {
    {"mlp_input", CATEGORY_ACTIVATION, IN_BOTH, FACT_IN_TURN, ROW_LOCAL, COL_STREAMS,
     .saved = true, .first = MODULE_PROJECTION, .last = BACK_MLP_NORM,
     .dropped_by = TRAIN_STREAMS, .offload = TRAIN_OFF_MLP_NORM, .mixers = MIX_ANY},
    {"mlp_norm_out", CATEGORY_ACTIVATION, IN_MOE, FACT_NETWORK_NORM, ROW_LOCAL, COL_HIDDEN,
     .saved = true, .first = MODULE_MLP_NORM, .last = BACK_SHARED,
     .dropped_by = TRAIN_NORMS | TRAIN_STREAMS, .until = MODULE_PERMUTE,
     .again = BACK_RESIDUAL},
    {"mlp_norm_out", CATEGORY_ACTIVATION, IN_DENSE, FACT_NETWORK_NORM, ROW_LOCAL, COL_HIDDEN,
     .saved = true, .first = MODULE_MLP_NORM, .last = BACK_GATE_UP,
     .dropped_by = TRAIN_NORMS | TRAIN_STREAMS, .until = MODULE_GATE_UP, .again = BACK_RESIDUAL,
     .product_input = PRODUCT_INPUT},
    {"attention_result", CATEGORY_ACTIVATION, IN_BOTH, FACT_BESIDE, ROW_LOCAL, COL_HIDDEN,
     .first = MODULE_PROJECTION, .last = MODULE_RESIDUAL},
};

/* What experts made of the layer before waits for its sum while this one runs; its gradient is
 * that of this layer's output, which the experts read when they run backward. */
static const struct train_tensor shortcut[] = {
    {"shortcut", CATEGORY_ACTIVATION, IN_DENSE, FACT_SHORTCUT, ROW_LOCAL, COL_HIDDEN,
     .first = MODULE_ATTENTION_NORM, .last = MODULE_RESIDUAL},
    {"d_shortcut", CATEGORY_ACTIVATION, IN_MOE, FACT_SHORTCUT, ROW_LOCAL, COL_HIDDEN,
     .first = BACK_RESIDUAL, .last = BACK_UNPERMUTE},
};

static const struct train_tensor exit_rows[] = {
    {"d_layer_output", CATEGORY_ACTIVATION, IN_ALL, 0, ROW_LOCAL, COL_STREAMS,
     .first = BACK_RESIDUAL, .last = BACK_ATTENTION_NORM},
    {"d_residual", CATEGORY_ACTIVATION, IN_ALL, 0, ROW_LOCAL, COL_STREAMS,
     .first = BACK_RESIDUAL, .last = BACK_ATTENTION_NORM},
};

static const struct train_tensor dense[] = {
    {"mlp_gate_up", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_FULL, COL_DENSE_IN, .saved = true,
     .first = MODULE_GATE_UP, .last = BACK_ACTIVATE, .dropped_by = TRAIN_MLP},
    {"mlp_activated", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_FULL, COL_DENSE, .saved = true,
     .first = MODULE_ACTIVATE, .last = BACK_EXPERT_DOWN, .dropped_by = TRAIN_MLP,
     .product_input = PRODUCT_INPUT},
    {"mlp_out", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_FULL, COL_HIDDEN,
     .first = MODULE_EXPERT_DOWN, .last = MODULE_RESIDUAL},
    {"d_mlp_activated", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_FULL, COL_DENSE,
     .first = BACK_EXPERT_DOWN, .last = BACK_ACTIVATE},
    {"d_mlp_gate_up", CATEGORY_ACTIVATION, IN_DENSE, 0, ROW_FULL, COL_DENSE_IN,
     .first = BACK_ACTIVATE, .last = BACK_GATE_UP},
};

/* What a layer does with embeddings of its own behind its network: gate and projection read and
 * save their inputs, the activation and the product theirs; the norm behind them saves what the
 * stack's norms do. Gradients of all layers' embeddings are summed up from layer to layer;
 * autograd makes that of a slice as wide as the whole (aten FunctionsManual.cpp,
 * select_backward). */
static const struct train_tensor embeddings[] = {
    {"layer_gate_in", CATEGORY_ACTIVATION, IN_ALL, FACT_LAYER_EMBEDDING, ROW_LOCAL, COL_HIDDEN,
     .saved = true, .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL,
     .product_input = PRODUCT_INPUT},
    {"layer_gate", CATEGORY_ACTIVATION, IN_ALL, FACT_LAYER_EMBEDDING, ROW_LOCAL,
     COL_LAYER_EMBEDDING, .saved = true, .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL},
    {"layer_gate_activated", CATEGORY_ACTIVATION, IN_ALL, FACT_LAYER_EMBEDDING, ROW_LOCAL,
     COL_LAYER_EMBEDDING, .saved = true, .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL},
    {"layer_gated", CATEGORY_ACTIVATION, IN_ALL, FACT_LAYER_EMBEDDING, ROW_LOCAL,
     COL_LAYER_EMBEDDING, .saved = true, .first = MODULE_RESIDUAL, .last = BACK_RESIDUAL,
     .product_input = PRODUCT_INPUT},
    {"d_layer_embeddings", CATEGORY_ACTIVATION, IN_ALL, FACT_LAYER_EMBEDDING, ROW_LOCAL,
     COL_LAYER_EMBEDDINGS, .first = BACK_RESIDUAL, .last = BACK_ATTENTION_NORM},
    {"d_layer_embedding_slice", CATEGORY_ACTIVATION, IN_ALL, FACT_LAYER_EMBEDDING, ROW_LOCAL,
     COL_LAYER_EMBEDDINGS, .first = BACK_RESIDUAL, .last = BACK_RESIDUAL},
};

/* Gradients of keys and values that later layers read as well, summed up until their own layer
 * runs backward: of every kind in all layers, as one list stands for many. */
static const struct train_tensor lent[] = {
    {"d_lent_keys", CATEGORY_ATTENTION, IN_ALL, FACT_LENDS, ROW_FULL, COL_LENT,
     .first = BACK_RESIDUAL, .last = BACK_ATTENTION_NORM},
};

/* The way down to latent rows and up from them (Megatron moe_layer.py fc1_latent_proj and
 * fc2_latent_proj): down reads the norm's output, which the router saves too; what up reads is
 * saved, and with a norm of the sums (Kimi-K3) what that reads. The rows are there until they
 * are permuted or, where tokens travel, dispatched. */
static const struct train_tensor latent[] = {
    {"latent_rows", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT | FACT_ALLTOALL, ROW_LOCAL,
     COL_ROUTED, .first = MODULE_PERMUTE, .last = MODULE_PERMUTE},
    {"latent_rows", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT | FACT_FLEX, ROW_LOCAL, COL_ROUTED,
     .first = MODULE_PERMUTE, .last = MODULE_DISPATCH},
    {"latent_rows", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT | FACT_ALLGATHER, ROW_LOCAL,
     COL_ROUTED, .first = MODULE_PERMUTE, .last = MODULE_DISPATCH},
    {"latent_sum", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT_NORM, ROW_LOCAL, COL_ROUTED,
     .saved = true, .first = MODULE_UNPERMUTE, .last = BACK_UNPERMUTE, .dropped_by = TRAIN_MOE},
    {"latent_out", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT, ROW_LOCAL, COL_ROUTED, .saved = true,
     .first = MODULE_UNPERMUTE, .last = BACK_UNPERMUTE, .dropped_by = TRAIN_MOE,
     .product_input = PRODUCT_INPUT},
    {"d_latent_out", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT, ROW_LOCAL, COL_ROUTED,
     .first = BACK_UNPERMUTE, .last = BACK_UNPERMUTE},
    {"d_latent_sum", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT_NORM, ROW_LOCAL, COL_ROUTED,
     .first = BACK_UNPERMUTE, .last = BACK_UNPERMUTE},
    {"d_latent_rows", CATEGORY_DISPATCH, IN_MOE, FACT_LATENT, ROW_LOCAL, COL_ROUTED,
     .first = BACK_PERMUTE, .last = BACK_PERMUTE},
};

#define TABLE(rows) rows, sizeof rows / sizeof *rows

void train_attention(struct train *train)
{
    train_tensors(train, TABLE(entry));
    train_mixer(train, MIX_ANY, TABLE(mixer_entry));
    if (plan_shares_kv(train->plan))
        train_shared(train);
    else
        train_mixer(train, MIX_SOFTMAX, TABLE(attention));
    train_linear(train);
    train_tensors(train, TABLE(network_entry));
    train_tensors(train, TABLE(shortcut));
    train_tensors(train, TABLE(exit_rows));
    train_tensors(train, TABLE(latent));
    train_tensors(train, TABLE(embeddings));
    train_tensors(train, TABLE(lent));
}

void train_dense(struct train *train)
{
    train_tensors(train, TABLE(dense));
}
