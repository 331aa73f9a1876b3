/* Words and fields that families of several files share; see import_table.h. */
#include "plan/hf/import_table.h"

const struct import_word import_attentions[] = {{"gqa", ATTENTION_GQA},
                                                {"mla", ATTENTION_MLA},
                                                {"shared_kv", ATTENTION_SHARED_KV},
                                                {NULL, 0}};
const struct import_word import_scores[] = {{"softmax", SCORE_SOFTMAX},
                                            {"sigmoid", SCORE_SIGMOID},
                                            {"sqrtsoftplus", SCORE_SQRTSOFTPLUS},
                                            {NULL, 0}};
const struct import_word import_orders[] = {{"topk_then_score", ORDER_TOPK_THEN_SCORE},
                                            {"score_then_topk", ORDER_SCORE_THEN_TOPK},
                                            {NULL, 0}};
const struct import_word import_activations[] = {{"silu", ACTIVATION_SILU},
                                                 {"swiglu", ACTIVATION_SILU},
                                                 {"gelu", ACTIVATION_GELU},
                                                 {"gelu_new", ACTIVATION_GELU},
                                                 {"gelu_pytorch_tanh", ACTIVATION_GELU},
                                                 {"relu", ACTIVATION_RELU},
                                                 {"relu2", ACTIVATION_RELU},
                                                 {"swiglu_oai", ACTIVATION_SWIGLU_OAI},
                                                 {"swigluoai", ACTIVATION_SWIGLU_OAI},
                                                 {"gelu_fast", ACTIVATION_GELU},
                                                 {"situ", ACTIVATION_SILU},  /* noted */
                                                 {"xielu", ACTIVATION_GELU}, /* noted */
                                                 {NULL, 0}};
const struct import_word import_scales[] = {{"post", GATE_POST}, {"pre", GATE_PRE}, {NULL, 0}};
/* topk_method: only noaux_tc selects on scores with a bias. */
const struct import_word import_methods[] = {
    {"noaux_tc", 1}, {"greedy", 0}, {"group_limited_greedy", 0}, {NULL, 0}};
/* qk_norm_type: one norm over all heads of a layer, or one for each head. */
const struct import_word import_norm_types[] = {{"per_layer", 1}, {"per_head", 0}, {NULL, 0}};

const struct import_word import_linear_kinds[] = {{"gated_delta_net", LINEAR_GATED_DELTA_NET},
                                                  {"kimi_delta", LINEAR_KIMI_DELTA},
                                                  {"lightning", LINEAR_LIGHTNING},
                                                  {"mamba2", LINEAR_MAMBA2},
                                                  {"mamba1", LINEAR_MAMBA1},
                                                  {"short_conv", LINEAR_SHORT_CONV},
                                                  {NULL, 0}};
/* none: nobody says it, the engine's own */
const struct import_word import_formats[] = {{"float32", DTYPE_F32},
                                             {"bfloat16", DTYPE_BF16},
                                             {"float16", DTYPE_F16},
                                             {"none", DTYPE_NONE},
                                             {NULL, 0}};

/* What every transformer says, and what is so unless a family says otherwise. */
const struct import_field import_common[] = {
    COUNT(layers, "num_hidden_layers", NULL),
    COUNT(hidden, "hidden_size", NULL),
    COUNT(vocab, "vocab_size", NULL),
    BOOL(tied_embeddings, "tie_word_embeddings", "false"),
    COUNT(max_position, "max_position_embeddings", "0"),
    COUNT(attention.heads, "num_attention_heads", NULL),
    COUNT(moe.top_k, "num_experts_per_tok", "0"),
    WORD(moe.activation, "hidden_act", "silu", import_activations),
    COUNT(moe_every, NULL, "1"),
    COUNT(norms_per_layer, NULL, "2"),
    COUNT(residual_streams, NULL, "1"),
    COUNT(indexer.pool, NULL, "1"),
    BOOL(moe.glu, NULL, "true"),
    COUNT(moe.router.groups, NULL, "1"),
    COUNT(moe.router.top_groups, NULL, "1"),
    NUMBER(moe.router.scale, NULL, "1"),
    WORD(moe.router.order, NULL, "score_then_topk", import_orders),
    LINEAR_DEFAULTS,
};

const struct import_field import_grouped_heads[] = {
    WORD(attention.kind, NULL, "gqa", import_attentions),
    COUNT(attention.kv_heads, "num_key_value_heads", "0"),
    COUNT(attention.head_dim, "head_dim", "0"),
};

const struct import_field import_latent_heads[] = {
    WORD(attention.kind, NULL, "mla", import_attentions),
    COUNT(attention.q_lora_rank, "q_lora_rank", "0"),
    COUNT(attention.kv_lora_rank, "kv_lora_rank", NULL),
    COUNT(attention.qk_nope_head_dim, "qk_nope_head_dim", NULL),
    COUNT(attention.qk_rope_head_dim, "qk_rope_head_dim", NULL),
    COUNT(attention.v_head_dim, "v_head_dim", NULL),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    KNOWN("num_key_value_heads"), /* all heads share what is latent */
    KNOWN("head_dim"),            /* the parts of a head say it */
};

/* The expert keys of DeepSeek by other names. */
const struct import_field import_numbered_experts[] = {
    COUNT(dense_layers, "first_k_dense_replace", "0"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, "num_shared_experts", "0"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "1"),
};

/* Dense models. */
const struct import_field import_dense_fields[] = {
    BOOL(moe.router.normalize, NULL, "true"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(attention.window, "sliding_window", "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(mlp_bias, "mlp_bias", "false"),
};
