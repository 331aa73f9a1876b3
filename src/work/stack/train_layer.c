/* Tables that the training stacks share: attention with its norms and the residual stream, the
 * dense network, and the weight matrices of a layer. */
#include "work/stack/train.h"

enum {
    BACK_NORM = TRAIN_BACK(TRAIN_ATTENTION_NORM),
    BACK_DOWN = TRAIN_BACK(TRAIN_DOWN),
    BACK_UP = TRAIN_BACK(TRAIN_UP),
    BACK_ROPE = TRAIN_BACK(TRAIN_ROPE),
    BACK_ATTENTION = TRAIN_BACK(TRAIN_ATTENTION),
    BACK_PROJECTION = TRAIN_BACK(TRAIN_PROJECTION),
    BACK_MLP_NORM = TRAIN_BACK(TRAIN_MLP_NORM),
    BACK_ROUTER = TRAIN_BACK(TRAIN_ROUTER),
    BACK_SHARED = TRAIN_BACK(TRAIN_SHARED),
    BACK_GATE_UP = TRAIN_BACK(TRAIN_GATE_UP),
    BACK_ACTIVATE = TRAIN_BACK(TRAIN_ACTIVATE),
    BACK_EXPERT_DOWN = TRAIN_BACK(TRAIN_EXPERT_DOWN),
    BACK_RESIDUAL = TRAIN_BACK(TRAIN_RESIDUAL)
};

/* Saved: a norm its input, a product its input, attention q, k, v, its output (which is the
 * next product's input) and row statistics. What a split, a rotation or a concatenation reads
 * is not saved: their backward needs shapes only. */
static const struct train_tensor attention[] = {
    {"layer_input", CATEGORY_CHECKPOINT, TRAIN_IN_BOTH, 0, TRAIN_LOCAL, TRAIN_HIDDEN,
     .saved = true, .first = TRAIN_ATTENTION_NORM, .last = BACK_NORM, .dropped_by = TRAIN_KEPT,
     .offload = TRAIN_OFF_ATTENTION_NORM},
    {"attention_norm_out", CATEGORY_ACTIVATION, TRAIN_IN_BOTH, 0, TRAIN_LOCAL, TRAIN_HIDDEN,
     .saved = true, .first = TRAIN_ATTENTION_NORM, .last = BACK_DOWN, .dropped_by = TRAIN_NORMS,
     .until = TRAIN_UP, .again = BACK_PROJECTION, .offload = TRAIN_OFF_QKV},
    {"q_latent", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_MLA | TRAIN_Q_LOW_RANK, TRAIN_LOCAL,
     TRAIN_Q_RANK, .saved = true, .first = TRAIN_DOWN, .last = BACK_UP,
     .offload = TRAIN_OFF_QKV},
    {"q_latent_norm_out", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_MLA | TRAIN_Q_LOW_RANK,
     TRAIN_LOCAL, TRAIN_Q_RANK, .saved = true, .first = TRAIN_UP, .last = BACK_UP,
     .dropped_by = TRAIN_MLA_UP, .until = TRAIN_ROPE, .again = BACK_ATTENTION,
     .offload = TRAIN_OFF_QKV, .product_input = true},
    {"kv_latent", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_MLA, TRAIN_LOCAL, TRAIN_KV_LATENT,
     .saved = true, .first = TRAIN_DOWN, .last = BACK_UP, .offload = TRAIN_OFF_QKV},
    {"kv_latent_norm_out", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_MLA, TRAIN_LOCAL,
     TRAIN_KV_RANK, .saved = true, .first = TRAIN_UP, .last = BACK_UP,
     .dropped_by = TRAIN_MLA_UP, .until = TRAIN_ROPE, .again = BACK_ATTENTION,
     .offload = TRAIN_OFF_QKV, .product_input = true},
    {"qkv_out", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_UP_OUT,
     .first = TRAIN_UP, .last = TRAIN_ROPE},
    {"qk_norm_in", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_QK_NORM, TRAIN_FULL, TRAIN_QKV,
     .saved = true, .first = TRAIN_ROPE, .last = BACK_ROPE},
    {"q", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_Q, .saved = true,
     .first = TRAIN_ROPE, .last = BACK_ATTENTION, .dropped_by = TRAIN_MLA_UP,
     .until = TRAIN_ATTENTION, .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"k", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_K, .saved = true,
     .first = TRAIN_ROPE, .last = BACK_ATTENTION, .dropped_by = TRAIN_MLA_UP,
     .until = TRAIN_ATTENTION, .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"v", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_V, .saved = true,
     .first = TRAIN_ROPE, .last = BACK_ATTENTION, .dropped_by = TRAIN_MLA_UP,
     .until = TRAIN_ATTENTION, .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"attention_statistics", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_FLASH, TRAIN_FULL,
     TRAIN_HEADS, DTYPE_F32, .saved = true, .first = TRAIN_ATTENTION, .last = BACK_ATTENTION,
     .dropped_by = TRAIN_OP_KEPT | TRAIN_CORE_ATTENTION, .until = TRAIN_ATTENTION,
     .again = BACK_ATTENTION, .offload = TRAIN_OFF_ATTENTION},
    {"attention_probabilities", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_UNFUSED, TRAIN_FULL,
     TRAIN_SCORES, .saved = true, .first = TRAIN_ATTENTION, .last = BACK_ATTENTION,
     .dropped_by = TRAIN_CORE_ATTENTION, .until = TRAIN_ATTENTION, .again = BACK_ATTENTION,
     .offload = TRAIN_OFF_ATTENTION},
    {"attention_scores", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_UNFUSED, TRAIN_FULL,
     TRAIN_SCORES, .first = TRAIN_ATTENTION, .last = TRAIN_ATTENTION},
    {"d_attention_probabilities", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_UNFUSED, TRAIN_FULL,
     TRAIN_SCORES, .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"d_attention_scores", CATEGORY_ATTENTION, TRAIN_IN_BOTH, TRAIN_UNFUSED, TRAIN_FULL,
     TRAIN_SCORES, .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"attention_context", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_CONTEXT,
     .saved = true, .first = TRAIN_ATTENTION, .last = BACK_ATTENTION,
     .offload = TRAIN_OFF_PROJECTION, .dropped_by = TRAIN_OP_KEPT},
    {"d_attention_context", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_CONTEXT,
     .first = BACK_PROJECTION, .last = BACK_ATTENTION},
    {"d_qkv", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_QKV,
     .first = BACK_ATTENTION, .last = BACK_ROPE},
    {"d_qkv_out", CATEGORY_ATTENTION, TRAIN_IN_BOTH, 0, TRAIN_FULL, TRAIN_UP_OUT,
     .first = BACK_ROPE, .last = BACK_UP},
    {"ring_kv_sent", CATEGORY_COMMUNICATION, TRAIN_IN_BOTH, TRAIN_CP, TRAIN_FULL, TRAIN_KV,
     .first = TRAIN_ATTENTION, .last = TRAIN_ATTENTION},
    {"ring_kv_received", CATEGORY_COMMUNICATION, TRAIN_IN_BOTH, TRAIN_CP, TRAIN_FULL, TRAIN_KV,
     .first = TRAIN_ATTENTION, .last = TRAIN_ATTENTION},
    {"d_ring_kv_sent", CATEGORY_COMMUNICATION, TRAIN_IN_BOTH, TRAIN_CP, TRAIN_FULL, TRAIN_KV,
     .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"d_ring_kv_received", CATEGORY_COMMUNICATION, TRAIN_IN_BOTH, TRAIN_CP, TRAIN_FULL,
     TRAIN_KV, .first = BACK_ATTENTION, .last = BACK_ATTENTION},
    {"mlp_input", CATEGORY_ACTIVATION, TRAIN_IN_BOTH, 0, TRAIN_LOCAL, TRAIN_HIDDEN,
     .saved = true, .first = TRAIN_PROJECTION, .last = BACK_MLP_NORM,
     .offload = TRAIN_OFF_MLP_NORM},
    {"mlp_norm_out", CATEGORY_ACTIVATION, TRAIN_IN_MOE, 0, TRAIN_LOCAL, TRAIN_HIDDEN,
     .saved = true, .first = TRAIN_MLP_NORM, .last = BACK_SHARED, .dropped_by = TRAIN_NORMS,
     .until = TRAIN_PERMUTE, .again = BACK_RESIDUAL},
    {"mlp_norm_out", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_LOCAL, TRAIN_HIDDEN,
     .saved = true, .first = TRAIN_MLP_NORM, .last = BACK_GATE_UP, .dropped_by = TRAIN_NORMS,
     .until = TRAIN_GATE_UP, .again = BACK_RESIDUAL, .product_input = true},
    {"d_layer_output", CATEGORY_ACTIVATION, TRAIN_IN_BOTH, 0, TRAIN_LOCAL, TRAIN_HIDDEN,
     .first = BACK_RESIDUAL, .last = BACK_NORM},
    {"d_residual", CATEGORY_ACTIVATION, TRAIN_IN_BOTH, 0, TRAIN_LOCAL, TRAIN_HIDDEN,
     .first = BACK_RESIDUAL, .last = BACK_NORM},
};

static const struct train_tensor dense[] = {
    {"mlp_gate_up", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE_IN,
     .saved = true, .first = TRAIN_GATE_UP, .last = BACK_ACTIVATE, .dropped_by = TRAIN_MLP},
    {"mlp_activated", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE,
     .saved = true, .first = TRAIN_ACTIVATE, .last = BACK_EXPERT_DOWN, .dropped_by = TRAIN_MLP,
     .product_input = true},
    {"mlp_out", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_HIDDEN,
     .first = TRAIN_EXPERT_DOWN, .last = TRAIN_RESIDUAL},
    {"d_mlp_activated", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE,
     .first = BACK_EXPERT_DOWN, .last = BACK_ACTIVATE},
    {"d_mlp_gate_up", CATEGORY_ACTIVATION, TRAIN_IN_DENSE, 0, TRAIN_FULL, TRAIN_DENSE_IN,
     .first = BACK_ACTIVATE, .last = BACK_GATE_UP},
};

static const struct train_matrix matrices[] = {
    {"q_down", TRAIN_IN_BOTH, TRAIN_Q_LOW_RANK, TRAIN_DOWN, TRAIN_LOCAL, TRAIN_HIDDEN,
     .out = TRAIN_Q_RANK},
    {"q_up", TRAIN_IN_BOTH, TRAIN_Q_LOW_RANK, TRAIN_UP, TRAIN_FULL, TRAIN_Q_RANK,
     .out = TRAIN_Q},
    {"q", TRAIN_IN_BOTH, TRAIN_Q_FULL_RANK, TRAIN_UP, TRAIN_FULL, TRAIN_HIDDEN, .out = TRAIN_Q},
    {"kv_down", TRAIN_IN_BOTH, TRAIN_MLA, TRAIN_DOWN, TRAIN_LOCAL, TRAIN_HIDDEN,
     .out = TRAIN_KV_LATENT},
    {"kv_up", TRAIN_IN_BOTH, TRAIN_MLA, TRAIN_UP, TRAIN_FULL, TRAIN_KV_RANK,
     .out = TRAIN_KV_UP},
    {"qkv", TRAIN_IN_BOTH, TRAIN_GQA, TRAIN_UP, TRAIN_FULL, TRAIN_HIDDEN, .out = TRAIN_QKV},
    {"attention_out", TRAIN_IN_BOTH, 0, TRAIN_PROJECTION, TRAIN_FULL, TRAIN_CONTEXT,
     .out = TRAIN_HIDDEN},
    {"mlp_gate_up", TRAIN_IN_DENSE, 0, TRAIN_GATE_UP, TRAIN_FULL, TRAIN_HIDDEN,
     .out = TRAIN_DENSE_IN},
    {"mlp_down", TRAIN_IN_DENSE, 0, TRAIN_EXPERT_DOWN, TRAIN_FULL, TRAIN_DENSE,
     .out = TRAIN_HIDDEN},
    {"shared_gate_up", TRAIN_IN_MOE, TRAIN_HAS_SHARED, TRAIN_SHARED, TRAIN_FULL, TRAIN_HIDDEN,
     .out = TRAIN_SHARED_IN},
    {"shared_down", TRAIN_IN_MOE, TRAIN_HAS_SHARED, TRAIN_SHARED, TRAIN_FULL,
     TRAIN_SHARED_INTER, .out = TRAIN_HIDDEN},
    {"router", TRAIN_IN_MOE, 0, TRAIN_ROUTER, TRAIN_LOCAL, TRAIN_HIDDEN, .out = TRAIN_EXPERTS},
    {"expert_gate_up", TRAIN_IN_MOE, 0, TRAIN_GATE_UP, TRAIN_COMPUTED, TRAIN_HIDDEN,
     .out = TRAIN_INTER_IN, .expert = true},
    {"expert_down", TRAIN_IN_MOE, 0, TRAIN_EXPERT_DOWN, TRAIN_COMPUTED, TRAIN_INTER,
     .out = TRAIN_HIDDEN, .expert = true},
};

const struct train_matrix *train_matrices(size_t *n)
{
    *n = sizeof matrices / sizeof *matrices;
    return matrices;
}

void train_attention(struct train *train)
{
    train_tensors(train, attention, sizeof attention / sizeof *attention);
}

void train_dense(struct train *train)
{
    train_tensors(train, dense, sizeof dense / sizeof *dense);
}
