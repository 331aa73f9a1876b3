/* The architectures; see import_hf_table.h. Key names and defaults are those of the
 * configuration classes of github.com/huggingface/transformers (src/transformers/models). */
#include "plan/hf/import_hf_table.h"

#include <stdint.h>

#define MEMBER(member) offsetof(struct model, member), sizeof(((struct model *)0)->member)
#define COUNT(member, key, fallback)                                                           \
    {                                                                                          \
        IMPORT_COUNT, MEMBER(member), key, fallback, NULL                                      \
    }
#define REAL(member, key, fallback)                                                            \
    {                                                                                          \
        IMPORT_REAL, MEMBER(member), key, fallback, NULL                                       \
    }
#define BOOL(member, key, fallback)                                                            \
    {                                                                                          \
        IMPORT_BOOL, MEMBER(member), key, fallback, NULL                                       \
    }
#define WORD(member, key, fallback, words)                                                     \
    {                                                                                          \
        IMPORT_WORD, MEMBER(member), key, fallback, words                                      \
    }
/* Says nothing that another key or the family does not. */
#define KNOWN(key)                                                                             \
    {                                                                                          \
        IMPORT_KNOWN, SIZE_MAX, 0, key, "", NULL                                               \
    }
#define FIELDS(table)                                                                          \
    {                                                                                          \
        sizeof(table) / sizeof *(table), table                                                 \
    }

static const struct import_word attentions[] = {{"gqa", ATTENTION_GQA},
                                                {"mla", ATTENTION_MLA},
                                                {"shared_kv", ATTENTION_SHARED_KV},
                                                {NULL, 0}};
static const struct import_word scores[] = {{"softmax", SCORE_SOFTMAX},
                                            {"sigmoid", SCORE_SIGMOID},
                                            {"sqrtsoftplus", SCORE_SQRTSOFTPLUS},
                                            {NULL, 0}};
static const struct import_word orders[] = {{"topk_then_score", ORDER_TOPK_THEN_SCORE},
                                            {"score_then_topk", ORDER_SCORE_THEN_TOPK},
                                            {NULL, 0}};
static const struct import_word activations[] = {{"silu", ACTIVATION_SILU},
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
static const struct import_word scales[] = {{"post", GATE_POST}, {"pre", GATE_PRE}, {NULL, 0}};
/* topk_method: only noaux_tc selects on scores with a bias. */
static const struct import_word methods[] = {
    {"noaux_tc", 1}, {"greedy", 0}, {"group_limited_greedy", 0}, {NULL, 0}};
/* qk_norm_type: one norm over all heads of a layer, or one for each head. */
static const struct import_word norm_types[] = {{"per_layer", 1}, {"per_head", 0}, {NULL, 0}};

static const struct import_word linear_kinds[] = {{"gated_delta_net", LINEAR_GATED_DELTA_NET},
                                                  {"kimi_delta", LINEAR_KIMI_DELTA},
                                                  {"lightning", LINEAR_LIGHTNING},
                                                  {"mamba2", LINEAR_MAMBA2},
                                                  {"mamba1", LINEAR_MAMBA1},
                                                  {"short_conv", LINEAR_SHORT_CONV},
                                                  {NULL, 0}};
/* none: nobody says it, the engine's own */
static const struct import_word formats[] = {{"float32", DTYPE_F32},
                                             {"bfloat16", DTYPE_BF16},
                                             {"float16", DTYPE_F16},
                                             {"none", DTYPE_NONE},
                                             {NULL, 0}};

/* Of a model without linear layers. */
#define LINEAR_DEFAULTS                                                                        \
    COUNT(linear.chunk, NULL, "64"), WORD(linear.state, NULL, "none", formats)

/* What every transformer says, and what is so unless a family says otherwise. */
static const struct import_field common[] = {
    COUNT(layers, "num_hidden_layers", NULL),
    COUNT(hidden, "hidden_size", NULL),
    COUNT(vocab, "vocab_size", NULL),
    BOOL(tied_embeddings, "tie_word_embeddings", "false"),
    COUNT(max_position, "max_position_embeddings", "0"),
    COUNT(attention.heads, "num_attention_heads", NULL),
    COUNT(moe.top_k, "num_experts_per_tok", "0"),
    WORD(moe.activation, "hidden_act", "silu", activations),
    COUNT(moe_every, NULL, "1"),
    COUNT(norms_per_layer, NULL, "2"),
    COUNT(residual_streams, NULL, "1"),
    BOOL(moe.glu, NULL, "true"),
    COUNT(moe.router.groups, NULL, "1"),
    COUNT(moe.router.top_groups, NULL, "1"),
    REAL(moe.router.scale, NULL, "1"),
    WORD(moe.router.order, NULL, "score_then_topk", orders),
    LINEAR_DEFAULTS,
};

static const struct import_field grouped_heads[] = {
    WORD(attention.kind, NULL, "gqa", attentions),
    COUNT(attention.kv_heads, "num_key_value_heads", "0"),
    COUNT(attention.head_dim, "head_dim", "0"),
};

static const struct import_field latent_heads[] = {
    WORD(attention.kind, NULL, "mla", attentions),
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

/* The expert keys of DeepSeek, which GLM shares. */
static const struct import_field routed_experts[] = {
    COUNT(dense_layers, "first_k_dense_replace", "0"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    COUNT(moe.experts, "n_routed_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, "n_shared_experts", "0"),
    COUNT(moe.router.groups, "n_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    REAL(moe.router.scale, "routed_scaling_factor", "1"),
};

/* Absent keys are those of DeepseekV4Config (configuration_deepseek_v4.py, 015c0781); all
 * layers have experts, and a selection bias. */
static const struct import_field deepseek_v4[] = {
    WORD(attention.kind, NULL, "shared_kv", attentions),
    COUNT(attention.head_dim, "head_dim", "512"),
    COUNT(attention.q_lora_rank, "q_lora_rank", "1024"),
    COUNT(attention.qk_rope_head_dim, "qk_rope_head_dim", "64"),
    COUNT(attention.o_groups, "o_groups", "8"),
    COUNT(attention.o_lora_rank, "o_lora_rank", "1024"),
    COUNT(attention.window, "sliding_window", "128"),
    COUNT(attention.csa_ratio, "compress_rates.compressed_sparse_attention", "4"),
    COUNT(attention.hca_ratio, "compress_rates.heavily_compressed_attention", "128"),
    BOOL(attention.sinks, NULL, "true"),
    COUNT(residual_streams, "hc_mult", "4"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "1"),
    COUNT(indexer.heads, "index_n_heads", "64"),
    COUNT(indexer.head_dim, "index_head_dim", "128"),
    COUNT(indexer.top_k, "index_topk", "512"),
    COUNT(moe.experts, "n_routed_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, "n_shared_experts", "1"),
    COUNT(moe.hash_layers, "num_hash_layers", "3"),
    WORD(moe.router.score, "scoring_func", "sqrtsoftplus", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    REAL(moe.router.scale, "routed_scaling_factor", "1.5"),
    KNOWN("num_key_value_heads"), /* one */
    KNOWN("topk_method"),
};

static const struct import_field deepseek_v2[] = {
    WORD(moe.router.score, "scoring_func", "softmax", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    WORD(moe.router.bias, "topk_method", "greedy", methods),
};

static const struct import_field deepseek_v3[] = {
    WORD(moe.router.score, "scoring_func", "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    WORD(moe.router.bias, "topk_method", "noaux_tc", methods),
};

static const struct import_field glm4_moe[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, "use_qk_norm", "false"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
};

/* The expert keys of Mixtral, which several share: experts as wide as a dense network. */
#define LOCAL_EXPERTS                                                                          \
    COUNT(moe.experts, "num_local_experts", NULL),                                             \
        COUNT(moe.intermediate, "intermediate_size", NULL)

static const struct import_field mixtral[] = {
    LOCAL_EXPERTS,
    COUNT(attention.window, "sliding_window", "0"),
    WORD(moe.router.order, NULL, "topk_then_score", orders),
};

static const struct import_field granitemoe[] = {
    LOCAL_EXPERTS,
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    WORD(moe.router.order, NULL, "topk_then_score", orders),
};

static const struct import_field phimoe[] = {
    LOCAL_EXPERTS,
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(head_bias, "lm_head_bias", "false"),
    BOOL(norm_bias, NULL, "true"),
};

static const struct import_field minimax_m2[] = {
    LOCAL_EXPERTS,
    BOOL(attention.qk_norm, "use_qk_norm", "true"),
    WORD(attention.qk_norm_all_heads, "qk_norm_type", "per_layer", norm_types),
    COUNT(mtp_layers, "num_mtp_modules", "0"),
    COUNT(moe.shared_intermediate, "shared_intermediate_size", "0"),
    WORD(moe.router.score, "scoring_func", "sigmoid", scores),
    BOOL(moe.router.normalize, NULL, "true"),
    BOOL(moe.router.bias, "use_routing_bias", "true"),
};

/* Layers that choose blocks of keys; its activation is that of gpt-oss whatever hidden_act says
 * (modular_minimax_m3_vl.py). Absent keys are those of MiniMaxM3VLTextConfig. */
static const struct import_field minimax_m3[] = {
    LOCAL_EXPERTS,
    COUNT(dense_intermediate, "dense_intermediate_size", "12288"),
    BOOL(attention.qk_norm, "use_qk_norm", "true"),
    WORD(attention.qk_norm_all_heads, "qk_norm_type", "per_head", norm_types),
    COUNT(indexer.heads, "index_n_heads", "4"),
    COUNT(indexer.head_dim, "index_head_dim", "128"),
    COUNT(indexer.block, "index_block_size", "128"),
    COUNT(indexer.top_k, "index_topk_blocks", "16"), /* blocks yet */
    COUNT(mtp_layers, "num_mtp_modules", "0"),
    COUNT(moe.shared_experts, "n_shared_experts", "1"),
    COUNT(moe.shared_intermediate, "shared_intermediate_size", "3072"),
    WORD(moe.activation, NULL, "swiglu_oai", activations),
    WORD(moe.router.score, "scoring_func", "sigmoid", scores),
    BOOL(moe.router.normalize, NULL, "true"),
    BOOL(moe.router.bias, "use_routing_bias", "true"),
    REAL(moe.router.scale, "routed_scaling_factor", "2"),
    KNOWN("moe_intermediate_size"), /* beside intermediate_size */
};

static const struct import_field arctic[] = {
    LOCAL_EXPERTS,
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(moe_every, "moe_layer_frequency", "2"),
    BOOL(moe.router.normalize, NULL, "true"),
};

static const struct import_field grok_1[] = {
    LOCAL_EXPERTS,
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    COUNT(norms_per_layer, NULL, "4"),
    WORD(moe.activation, NULL, "gelu", activations),
    KNOWN("moe_intermediate_size"), /* import_finish_grok */
    KNOWN("residual_moe"),
    KNOWN("attn_factor"),
    KNOWN("attn_temperature_len"),
    KNOWN("beta_fast"),
    KNOWN("beta_slow"),
    KNOWN("extrapolation_factor"),
    KNOWN("global_attn_every_n"),
    KNOWN("scaling_factor"),
};

static const struct import_field gpt_oss[] = {
    LOCAL_EXPERTS,
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, "attention_bias", "true"),
    BOOL(attention.sinks, NULL, "true"),
    WORD(rotary_table, NULL, "float32", formats),
    COUNT(attention.window, "sliding_window", "128"),
    WORD(moe.activation, NULL, "swiglu_oai", activations),
    BOOL(moe.bias, NULL, "true"),
    WORD(moe.router.order, NULL, "topk_then_score", orders),
    BOOL(moe.router.linear_bias, NULL, "true"),
};

static const struct import_field llama4[] = {
    LOCAL_EXPERTS,
    COUNT(dense_intermediate, "intermediate_size_mlp", NULL),
    COUNT(moe_every, "interleave_moe_layer_step", "1"),
    COUNT(attention.chunk, "attention_chunk_size", "8192"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    COUNT(moe.shared_experts, NULL, "1"),
    WORD(moe.scale, NULL, "pre", scales),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    KNOWN("use_qk_norm"), /* a norm without weights */
};

static const struct import_field olmoe[] = {
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "intermediate_size", NULL),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(attention.qk_norm_all_heads, NULL, "true"),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
};

/* Qwen's expert keys. */
static const struct import_field sparse_step[] = {
    COUNT(dense_intermediate, "intermediate_size", "0"),
    COUNT(moe_every, "decoder_sparse_step", "1"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
};

static const struct import_field qwen2_moe[] = {
    COUNT(attention.window, "sliding_window", "0"),
    BOOL(attention.bias, "qkv_bias", "true"),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", NULL),
    BOOL(moe.shared_gate, NULL, "true"),
};

static const struct import_field qwen3_moe[] = {
    KNOWN("use_qk_norm"),
    KNOWN("shared_expert_intermediate_size"), /* of an omni model: there is none */
    COUNT(attention.window, "sliding_window", "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
};

/* The indexer of DeepSeek-V3.2 and GLM-5. */
#define INDEXER(n)                                                                             \
    COUNT(indexer.heads, "index_n_heads", n),                                                  \
        COUNT(indexer.head_dim, "index_head_dim", "128"),                                      \
        COUNT(indexer.top_k, "index_topk", "2048")

static const struct import_field deepseek_v32[] = {
    WORD(moe.router.score, "scoring_func", "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    WORD(moe.router.bias, "topk_method", "noaux_tc", methods),
    INDEXER("64"),
};

static const struct import_field glm_moe_dsa[] = {
    WORD(moe.router.score, "scoring_func", "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    WORD(moe.router.bias, "topk_method", "noaux_tc", methods),
    INDEXER("32"),
    KNOWN("num_experts"), /* beside n_routed_experts */
};

/* Qwen3-Next and Qwen3.5: gated delta nets; gated attention in every fourth layer. */
static const struct import_field delta_net[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(attention.output_gate, "attn_output_gate", "true"),
    WORD(linear.kind, NULL, "gated_delta_net", linear_kinds),
    COUNT(linear.heads, "linear_num_value_heads", "32"),
    COUNT(linear.head_dim, "linear_value_head_dim", "128"),
    COUNT(linear.key_heads, "linear_num_key_heads", "16"),
    COUNT(linear.key_dim, "linear_key_head_dim", "128"),
    COUNT(linear.conv, "linear_conv_kernel_dim", "4"),
    WORD(linear.state, "mamba_ssm_dtype", "none", formats),
    COUNT(dense_intermediate, "intermediate_size", "0"),
    BOOL(moe.router.normalize, NULL, "true"),
};

static const struct import_field delta_dense[] = {
    COUNT(mtp_layers, "mtp_num_hidden_layers", "0"),
};

/* Its experts; mlp_only_layers is read besides. */
static const struct import_field delta_experts[] = {
    COUNT(moe_every, "decoder_sparse_step", "1"),
    COUNT(mtp_layers, "mtp_num_hidden_layers", "1"),
    COUNT(moe.experts, "num_experts", "512"),
    COUNT(moe.intermediate, "moe_intermediate_size", "512"),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", "512"),
    BOOL(moe.shared_gate, NULL, "true"),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
};

/* The expert keys of DeepSeek by other names. */
static const struct import_field numbered_experts[] = {
    COUNT(dense_layers, "first_k_dense_replace", "0"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, "num_shared_experts", "0"),
    REAL(moe.router.scale, "routed_scaling_factor", "1"),
};

/* Of Kimi-K3 what the text model of that name has besides. Source of names: vLLM
 * vllm/models/kimi_k3. */
static const struct import_field kimi_linear[] = {
    COUNT(moe.top_k, "num_experts_per_token", NULL),
    WORD(moe.router.score, "moe_router_activation_func", "sigmoid", scores),
    BOOL(moe.router.normalize, "moe_renormalize", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    WORD(linear.kind, NULL, "kimi_delta", linear_kinds),
    COUNT(linear.heads, "linear_attn_config.num_heads", NULL),
    COUNT(linear.head_dim, "linear_attn_config.head_dim", NULL),
    COUNT(linear.conv, "linear_attn_config.short_conv_kernel_size", "4"),
    BOOL(linear.full_rank_gate, "linear_attn_config.use_full_rank_gate", "false"),
    WORD(linear.state, NULL, "float32", formats),
    BOOL(attention.output_gate, "mla_use_output_gate", "false"),
    COUNT(moe.router.groups, "num_expert_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    KNOWN("topk_method"),
    COUNT(moe.latent_size, "routed_expert_hidden_size", "0"),
    BOOL(moe.latent_norm, "latent_moe_use_norm", "false"),
    COUNT(residual_block, "attn_res_block_size", "0"),
};

static const struct import_field lightning[] = {
    LOCAL_EXPERTS,
    BOOL(moe.router.normalize, NULL, "true"),
    WORD(linear.kind, NULL, "lightning", linear_kinds),
    COUNT(linear.chunk, "block_size", "256"),
};

static const struct import_field nemotron_h[] = {
    COUNT(layers, "num_hidden_layers", "1"), /* else as many as the list has, see the finish */
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    WORD(moe.activation, "mlp_hidden_act", "relu2", activations),
    COUNT(dense_intermediate, "intermediate_size", "0"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    COUNT(moe.experts, "n_routed_experts", "0"),
    COUNT(moe.intermediate, "moe_intermediate_size", "0"),
    COUNT(moe.shared_experts, "n_shared_experts", "0"),
    COUNT(moe.shared_intermediate, "moe_shared_expert_intermediate_size", "0"),
    COUNT(moe.latent_size, "moe_latent_size", "0"),
    BOOL(moe.glu, NULL, "false"),
    COUNT(moe.router.groups, "n_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    REAL(moe.router.scale, "routed_scaling_factor", "1"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    WORD(linear.kind, NULL, "mamba2", linear_kinds),
    COUNT(linear.heads, "mamba_num_heads", NULL),
    COUNT(linear.head_dim, "mamba_head_dim", NULL),
    COUNT(linear.key_heads, "n_groups", "8"),
    COUNT(linear.key_dim, "ssm_state_size", "128"),
    COUNT(linear.conv, "conv_kernel", "4"),
    COUNT(linear.chunk, "chunk_size", "128"),
    WORD(linear.state, "mamba_ssm_cache_dtype", "float32", formats),
};

static const struct import_field jamba[] = {
    COUNT(moe_every, "expert_layer_period", "2"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(moe.experts, "num_experts", "16"),
    COUNT(moe.intermediate, "intermediate_size", NULL),
    BOOL(moe.router.normalize, NULL, "false"),
    WORD(linear.kind, NULL, "mamba1", linear_kinds),
    COUNT(linear.key_dim, "mamba_d_state", "16"),
    COUNT(linear.conv, "mamba_d_conv", "4"),
};

/* Mamba-2 and attention, each with experts and a shared network or with that alone. */
static const struct import_field granite_hybrid[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    COUNT(moe.experts, "num_local_experts", "0"),
    COUNT(moe.intermediate, "intermediate_size", "0"),
    COUNT(moe.shared_intermediate, "shared_intermediate_size", "1024"),
    WORD(moe.router.order, NULL, "topk_then_score", orders),
    WORD(linear.kind, NULL, "mamba2", linear_kinds),
    COUNT(linear.heads, "mamba_n_heads", "128"),
    COUNT(linear.key_heads, "mamba_n_groups", "1"),
    COUNT(linear.key_dim, "mamba_d_state", "256"),
    COUNT(linear.conv, "mamba_d_conv", "4"),
    COUNT(linear.chunk, "mamba_chunk_size", "256"),
};

/* Mamba-2 and attention, each with a dense network; import_finish_bamba. */
static const struct import_field bamba[] = {
    COUNT(dense_intermediate, "intermediate_size", NULL),
    WORD(linear.kind, NULL, "mamba2", linear_kinds),
    COUNT(linear.heads, "mamba_n_heads", "128"),
    COUNT(linear.key_heads, "mamba_n_groups", "1"),
    COUNT(linear.key_dim, "mamba_d_state", "256"),
    COUNT(linear.conv, "mamba_d_conv", "4"),
    COUNT(linear.chunk, "mamba_chunk_size", "256"),
    KNOWN("attn_layer_indices"),
    KNOWN("attn_rotary_emb"),
    KNOWN("z_loss_coefficient"),
};

/* Short convolutions over all channels, and attention with norms of heads. */
static const struct import_field lfm2_moe[] = {
    BOOL(tied_embeddings, "tie_embedding", "true"),
    COUNT(dense_layers, "num_dense_layers", "2"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    BOOL(attention.qk_norm, NULL, "true"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, "use_expert_bias", "true"),
    REAL(moe.router.scale, "routed_scaling_factor", "1"),
    WORD(linear.kind, NULL, "short_conv", linear_kinds),
    COUNT(linear.conv, "conv_L_cache", "3"),
};

/* Dense models. */
static const struct import_field dense[] = {
    BOOL(moe.router.normalize, NULL, "true"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(attention.window, "sliding_window", "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(mlp_bias, "mlp_bias", "false"),
};

static const struct import_field qwen2[] = {
    BOOL(attention.bias, NULL, "true"),
    BOOL(attention.output_bias, NULL, "false"),
};

/* Qwen3 */
static const struct import_field head_norms[] = {
    BOOL(attention.qk_norm, NULL, "true"),
};

static const struct import_field gemma[] = {
    COUNT(attention.head_dim, "head_dim", "256"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    WORD(moe.activation, "hidden_activation", "gelu_pytorch_tanh", activations),
};

/* Norms before and after attention and network. */
static const struct import_field gemma2[] = {
    COUNT(attention.window, "sliding_window", "4096"),
    COUNT(norms_per_layer, NULL, "4"),
};

/* What published configurations leave to Gemma3TextConfig. */
static const struct import_field gemma3[] = {
    COUNT(layers, "num_hidden_layers", "26"),
    COUNT(hidden, "hidden_size", "2304"),
    COUNT(dense_intermediate, "intermediate_size", "9216"),
    COUNT(vocab, "vocab_size", "262208"),
    COUNT(attention.heads, "num_attention_heads", "8"),
    COUNT(attention.kv_heads, "num_key_value_heads", "4"),
    BOOL(attention.qk_norm, NULL, "true"),
};

/* Full layers have the global keys' heads, window layers the plain ones'; one factor a layer.
 * What published configurations leave to Gemma4TextConfig. */
static const struct import_field gemma4[] = {
    COUNT(layers, "num_hidden_layers", "30"),
    COUNT(hidden, "hidden_size", "2304"),
    COUNT(dense_intermediate, "intermediate_size", "9216"),
    COUNT(vocab, "vocab_size", "262144"),
    COUNT(attention.heads, "num_attention_heads", "8"),
    COUNT(attention.window, "sliding_window", "512"),
    COUNT(attention.head_dim, "global_head_dim", "512"),
    COUNT(attention.kv_heads, "num_key_value_heads", "4"),
    COUNT(window.head_dim, "head_dim", "256"),
    COUNT(window.kv_heads, "num_key_value_heads", "4"),
    BOOL(attention.k_eq_v, "attention_k_eq_v", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(layer_scale, NULL, "true"),
    COUNT(layer_embedding.width, "hidden_size_per_layer_input", "256"),
    COUNT(layer_embedding.vocab, "vocab_size_per_layer_input", "262144"),
    COUNT(moe.experts, "num_experts", "0"),
    COUNT(moe.top_k, "top_k_experts", "0"),
    KNOWN("per_layer_config"), /* of transformers 5: what global_head_dim says */
    COUNT(moe.intermediate, "moe_intermediate_size", "0"),
};

/* Heads of window layers of their own (swa_), values narrower than keys. */
static const struct import_field mimo_v2[] = {
    COUNT(attention.v_head_dim, "v_head_dim", "0"),
    COUNT(attention.window, "sliding_window", "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.sinks, "add_full_attention_sink_bias", "false"),
    COUNT(window.heads, "swa_num_attention_heads", "0"),
    COUNT(window.kv_heads, "swa_num_key_value_heads", "0"),
    COUNT(window.head_dim, "swa_head_dim", "0"),
    COUNT(window.v_head_dim, "swa_v_head_dim", "0"),
    BOOL(window.sinks, "add_swa_attention_sink_bias", "false"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "3"), /* of the published checkpoints */
    BOOL(mtp_window, NULL, "true"),
    BOOL(mtp_dense, NULL, "true"),
    KNOWN("attention_chunk_size"), /* as wide as the window; no layer is chunked */
};

/* attention_other_setting is what window layers have; the checkpoint's own names and those that
 * transformers writes stand side by side (import_finish_step). */
static const struct import_field step3p5[] = {
    COUNT(attention.kv_heads, "num_attention_groups", "0"),
    COUNT(attention.window, "sliding_window", "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(attention.head_gate, "use_head_wise_attn_gate", "false"),
    COUNT(window.heads, "attention_other_setting.num_attention_heads", "0"),
    COUNT(window.kv_heads, "attention_other_setting.num_attention_groups", "0"),
    COUNT(window.head_dim, "attention_other_setting.head_dim", "0"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    BOOL(mtp_dense, NULL, "true"), /* layers behind the model's are not in moe_layers_enum */
    COUNT(moe.experts, "moe_num_experts", "0"),
    COUNT(moe.top_k, "moe_top_k", "0"),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_intermediate, "share_expert_dim", "0"),
    WORD(moe.router.score, "moe_router_activation", "softmax", scores),
    BOOL(moe.router.normalize, "norm_expert_weight", "true"),
    BOOL(moe.router.bias, "use_moe_router_bias", "false"),
    REAL(moe.router.scale, "moe_router_scaling_factor", "1"),
    KNOWN("n_routed_experts"), /* names that others write beside */
    KNOWN("n_shared_experts"),
    KNOWN("num_experts"),
    KNOWN("scoring_func"),
};

/* Step-3: queries of a low rank with a norm, one head of keys and values (vLLM
 * models/step3_text.py); import_finish_step3. */
static const struct import_field step3[] = {
    COUNT(max_position, "max_position_embedding", "65536"),
    COUNT(attention.kv_heads, "num_attention_groups", "1"),
    COUNT(attention.head_dim, "head_dim", "256"),
    COUNT(attention.q_lora_rank, "share_q_dim", "0"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(moe.experts, "moe_num_experts", NULL),
    COUNT(moe.top_k, "moe_top_k", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_intermediate, "share_expert_dim", NULL),
    COUNT(moe.shared_experts, NULL, "1"),
    BOOL(moe.router.normalize, "norm_expert_weight", "false"),
    KNOWN("max_seq_len"),
    KNOWN("understand_projector_stride"), /* import_hf_vision.c */
    KNOWN("projector_bias"),
    KNOWN("image_token_len"),
    KNOWN("patch_token_len"),
    KNOWN("im_start_token"),
    KNOWN("im_patch_token"),
    KNOWN("im_end_token"),
};

/* LongCat-Flash: a layer of two attention blocks and two dense networks, beside the first of
 * which are the experts, is two of ours; import_finish_longcat. Absent keys are those of
 * LongcatFlashConfig. */
static const struct import_field longcat[] = {
    COUNT(layers, "num_layers", "28"),
    COUNT(moe_every, NULL, "2"),
    COUNT(attention.q_lora_rank, "q_lora_rank", "1536"),
    COUNT(attention.kv_lora_rank, "kv_lora_rank", "512"),
    COUNT(attention.qk_nope_head_dim, "qk_nope_head_dim", "128"),
    COUNT(attention.qk_rope_head_dim, "qk_rope_head_dim", "64"),
    COUNT(attention.v_head_dim, "v_head_dim", "128"),
    COUNT(dense_intermediate, "ffn_hidden_size", "12288"),
    COUNT(residual_intermediate, "ffn_hidden_size", "12288"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    BOOL(mtp_dense, NULL, "true"),
    COUNT(moe.experts, "n_routed_experts", "512"),
    COUNT(moe.zero_experts, "zero_expert_num", "256"),
    COUNT(moe.top_k, "moe_topk", "12"),
    COUNT(moe.intermediate, "expert_ffn_hidden_size", "2048"),
    BOOL(moe.shortcut, NULL, "true"),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    BOOL(moe.router.bias, NULL, "true"),
    BOOL(moe.router.linear_bias, "router_bias", "false"),
    REAL(moe.router.scale, "routed_scaling_factor", "6"),
    KNOWN("num_hidden_layers"), /* transformers writes 2 x num_layers */
    KNOWN("mla_scale_q_lora"),
    KNOWN("mla_scale_kv_lora"),
    KNOWN("attention_method"),
    KNOWN("zero_expert_type"),
    KNOWN("nextn_use_scmoe"),
    KNOWN("router_dtype"),
};

/* Norms of queries and keys over all heads, and behind attention and network. */
static const struct import_field olmo2[] = {
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(attention.qk_norm_all_heads, NULL, "true"),
};

static const struct import_field olmo3[] = {
    COUNT(attention.window, "sliding_window", "4096"),
};

/* Norms of every head's queries and keys, and behind attention and network. */
static const struct import_field exaone4[] = {
    BOOL(attention.qk_norm, NULL, "true"),
};

static const struct import_field hunyuan_dense[] = {
    BOOL(attention.qk_norm, "use_qk_norm", "true"),
};

/* block_configs says all of it (import_finish_nas). */
static const struct import_field nas[] = {
    COUNT(dense_intermediate, NULL, "0"),
    KNOWN("intermediate_size"),
    KNOWN("num_key_value_heads"),
};

/* Qwen2's layers, and a dense one for each token ahead. */
static const struct import_field mimo[] = {
    BOOL(attention.bias, "attention_bias", "true"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
};

static const struct import_field seed_oss[] = {
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, "attention_out_bias", "false"),
};

static const struct import_field smollm3[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
};

/* A network of two matrices. */
#define TWO_MATRICES(key, act)                                                                 \
    BOOL(moe.glu, NULL, "false"), WORD(moe.activation, key, act, activations)

static const struct import_field arcee[] = {
    TWO_MATRICES("hidden_act", "relu2"),
};

/* xIELU has two learned numbers a layer, which are not counted (activations.py, XIELU). */
static const struct import_field apertus[] = {
    TWO_MATRICES("hidden_act", "xielu"), BOOL(attention.qk_norm, "qk_norm", "true"),
    KNOWN("post_norm"), /* as published: false */
};

/* NemotronLayerNorm1P has a bias. */
static const struct import_field nemotron[] = {
    TWO_MATRICES("hidden_act", "relu2"),
    BOOL(norm_bias, NULL, "true"),
};

static const struct import_field starcoder2[] = {
    TWO_MATRICES("hidden_act", "gelu_pytorch_tanh"),
    BOOL(norm_bias, NULL, "true"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    BOOL(attention.bias, "use_bias", "true"),
    BOOL(attention.output_bias, "use_bias", "true"),
    BOOL(mlp_bias, "use_bias", "true"),
    KNOWN("mlp_type"),
    KNOWN("norm_type"),
};

/* Attention and network side by side behind one norm; every product has a bias. */
static const struct import_field phi[] = {
    TWO_MATRICES("hidden_act", "gelu_new"), BOOL(side_by_side, NULL, "true"),
    COUNT(norms_per_layer, NULL, "1"),      BOOL(norm_bias, NULL, "true"),
    BOOL(attention.bias, NULL, "true"),     BOOL(attention.output_bias, NULL, "true"),
    BOOL(mlp_bias, NULL, "true"),           BOOL(head_bias, NULL, "true"),
};

/* GPT-J and its like: side by side behind one norm, biases of the network alone; absent keys
 * are those of GPTJConfig. */
static const struct import_field gptj[] = {
    COUNT(layers, "n_layer", "28"),
    COUNT(hidden, "n_embd", "4096"),
    COUNT(vocab, "vocab_size", "50400"),
    COUNT(max_position, "n_positions", "2048"),
    COUNT(attention.heads, "n_head", "16"),
    COUNT(dense_intermediate, "n_inner", "0"),
    TWO_MATRICES("activation_function", "gelu_new"),
    BOOL(side_by_side, NULL, "true"),
    COUNT(norms_per_layer, NULL, "1"),
    BOOL(norm_bias, NULL, "true"),
    BOOL(attention.bias, NULL, "false"),
    BOOL(attention.output_bias, NULL, "false"),
    BOOL(mlp_bias, NULL, "true"),
    BOOL(head_bias, NULL, "true"),
    KNOWN("n_ctx"),
    KNOWN("scale_attn_weights"),
    KNOWN("summary_activation"),
    KNOWN("summary_proj_to_labels"),
    KNOWN("summary_type"),
    KNOWN("summary_use_proj"),
    KNOWN("task_specific_params"),
    KNOWN("gradient_checkpointing"),
};

/* A norm each. */
static const struct import_field gpt_neox[] = {
    TWO_MATRICES("hidden_act", "gelu"),
    BOOL(side_by_side, "use_parallel_residual", "true"),
    BOOL(norm_bias, NULL, "true"),
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, "attention_bias", "true"),
    BOOL(mlp_bias, NULL, "true"),
};

/* import_finish_falcon */
static const struct import_field falcon[] = {
    TWO_MATRICES("activation", "gelu"),
    BOOL(norm_bias, NULL, "true"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    COUNT(attention.kv_heads, "num_kv_heads", "0"),
    COUNT(dense_intermediate, "ffn_hidden_size", "0"),
    BOOL(attention.bias, "bias", "false"),
    BOOL(attention.output_bias, "bias", "false"),
    BOOL(mlp_bias, "bias", "false"),
    KNOWN("alibi"),
    KNOWN("multi_query"),
    KNOWN("new_decoder_architecture"),
    KNOWN("num_ln_in_parallel_attn"),
    KNOWN("parallel_attn"),
};

/* Side by side behind one norm without a bias; norms of queries and keys have a weight for
 * every head. */
static const struct import_field cohere[] = {
    BOOL(side_by_side, NULL, "true"),
    COUNT(norms_per_layer, NULL, "1"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    BOOL(attention.qk_norm, "use_qk_norm", "false"),
    BOOL(attention.qk_norm_all_heads, "use_qk_norm", "false"),
    KNOWN("logit_scale"),
    KNOWN("use_parallel_block"), /* as published: true, both ungated and in one block */
    KNOWN("use_parallel_embedding"),
    KNOWN("use_embedding_sharing"),
    KNOWN("use_gated_activation"),
    KNOWN("layer_switch"),
    KNOWN("order_of_interleaved_layers"),
    KNOWN("cache_implementation"),
};

static const struct import_field cohere2[] = {
    BOOL(attention.qk_norm, NULL, "false"),
    BOOL(attention.qk_norm_all_heads, NULL, "false"),
    COUNT(attention.window, "sliding_window", "4096"),
};

/* Command A+: experts as wide as intermediate_size beside attention, all of them behind one
 * norm; absent keys are those of Cohere2MoeConfig. */
static const struct import_field cohere2_moe[] = {
    BOOL(side_by_side, NULL, "true"),
    COUNT(norms_per_layer, NULL, "1"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    COUNT(attention.head_dim, "head_dim", "128"),
    COUNT(attention.window, "sliding_window", "4096"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    COUNT(dense_layers, "first_k_dense_replace", "0"),
    COUNT(dense_intermediate, "prefix_dense_intermediate_size", "0"),
    COUNT(moe.experts, "num_experts", "8"),
    COUNT(moe.top_k, "num_experts_per_tok", "2"),
    COUNT(moe.intermediate, "intermediate_size", NULL),
    COUNT(moe.shared_experts, "num_shared_experts", "0"),
    WORD(moe.router.score, "expert_selection_fn", "softmax", scores),
    WORD(moe.router.order, NULL, "topk_then_score", orders),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    KNOWN("logit_scale"),
    KNOWN("shared_expert_combination_strategy"),
    KNOWN("prefix_dense_sliding_window_pattern"), /* import_finish_cohere2_moe */
    KNOWN("use_parallel_block"),
    KNOWN("use_parallel_embedding"),
    KNOWN("use_embedding_sharing"),
    KNOWN("use_gated_activation"),
    KNOWN("use_qk_norm"),
    KNOWN("layer_switch"),
    KNOWN("order_of_interleaved_layers"),
    KNOWN("cache_implementation"),
};

/* import_finish_stablelm */
static const struct import_field stablelm[] = {
    BOOL(norm_bias, NULL, "true"),
    BOOL(attention.bias, "use_qkv_bias", "false"),
    BOOL(attention.output_bias, NULL, "false"),
    BOOL(attention.qk_norm, "qk_layernorm", "false"),
    BOOL(attention.qk_norm_all_heads, NULL, "true"),
    BOOL(side_by_side, "use_parallel_residual", "false"),
    KNOWN("norm_eps"),
};

static const struct import_field ernie4_5[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    BOOL(attention.bias, "use_bias", "false"),
    BOOL(attention.output_bias, "use_bias", "false"),
    BOOL(mlp_bias, "use_bias", "false"),
};

static const struct import_field glm[] = {
    COUNT(attention.head_dim, "head_dim", "128"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, NULL, "false"),
};

/* Norms before and after attention and network. */
static const struct import_field glm4[] = {
    COUNT(norms_per_layer, NULL, "4"),
    BOOL(attention.bias, "attention_bias", "false"),
};

/* GLM-4-9B-Chat and ChatGLM3 with their own code (modeling_chatglm.py). */
static const struct import_field chatglm[] = {
    COUNT(layers, "num_layers", NULL),
    COUNT(vocab, "padded_vocab_size", NULL),
    COUNT(max_position, "seq_length", "0"),
    COUNT(dense_intermediate, "ffn_hidden_size", NULL),
    COUNT(attention.kv_heads, "multi_query_group_num", "0"),
    COUNT(attention.head_dim, "kv_channels", "128"),
    BOOL(attention.bias, "add_qkv_bias", "false"),
    BOOL(attention.output_bias, "add_bias_linear", "false"),
    BOOL(mlp_bias, "add_bias_linear", "false"),
    KNOWN("apply_query_key_layer_scaling"),
    KNOWN("apply_residual_connection_post_layernorm"),
    KNOWN("attention_softmax_in_fp32"),
    KNOWN("bias_dropout_fusion"),
    KNOWN("fp32_residual_connection"),
    KNOWN("multi_query_attention"),
    KNOWN("post_layer_norm"),
    KNOWN("rmsnorm"),
};

static const struct import_field exaone[] = {
    COUNT(layers, "num_layers", NULL),
    WORD(moe.activation, "activation_function", "silu", activations),
    BOOL(attention.bias, NULL, "false"),
    BOOL(attention.output_bias, NULL, "false"),
};

static const struct import_field internlm2[] = {
    BOOL(attention.bias, "bias", "false"),
    BOOL(attention.output_bias, "bias", "false"),
    KNOWN("attn_implementation"),
};

static const struct import_field internlm3[] = {
    BOOL(attention.bias, "qkv_bias", "false"),
    BOOL(attention.output_bias, "bias", "false"),
    BOOL(mlp_bias, "bias", "false"),
};

static const struct import_field minicpm[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    KNOWN("dim_model_base"),
    KNOWN("scale_depth"),
    KNOWN("scale_emb"),
};

/* Short convolutions before dense networks; import_finish_lfm2_dense says how wide. */
static const struct import_field lfm2_dense[] = {
    BOOL(tied_embeddings, "tie_embedding", "true"),
    BOOL(attention.qk_norm, NULL, "true"),
    WORD(linear.kind, NULL, "short_conv", linear_kinds),
    COUNT(linear.conv, "conv_L_cache", "3"),
    COUNT(dense_intermediate, "intermediate_size", "12288"),
    KNOWN("block_auto_adjust_ff_dim"),
    KNOWN("block_dim"),
    KNOWN("block_ff_dim"),
    KNOWN("block_ffn_dim_multiplier"),
    KNOWN("block_mlp_init_scale"),
    KNOWN("block_multiple_of"),
    KNOWN("block_out_init_scale"),
    KNOWN("block_use_swiglu"),
    KNOWN("block_use_xavier_init"),
    KNOWN("conv_dim"),
    KNOWN("conv_dim_out"),
    KNOWN("conv_use_xavier_init"),
    KNOWN("num_heads"),
    KNOWN("theta"),
};

static const struct import_field dots1[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    BOOL(moe.router.bias, NULL, "true"),
    KNOWN("scoring_func"),
};

static const struct import_field glm4_moe_lite[] = {
    COUNT(dense_layers, "first_k_dense_replace", "1"),
};

static const struct import_field ernie[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    BOOL(attention.bias, "use_bias", "false"),
    BOOL(attention.output_bias, "use_bias", "false"),
    COUNT(dense_layers, "moe_layer_start_index", "1"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    COUNT(moe.experts, "moe_num_experts", NULL),
    COUNT(moe.top_k, "moe_k", "6"),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, "moe_num_shared_experts", "2"),
    BOOL(moe.router.normalize, NULL, "true"),
    BOOL(moe.router.bias, NULL, "true"),
};

/* Lists of two: of text and of images (import_finish_ernie_vl). */
static const struct import_field ernie_vl[] = {
    COUNT(dense_layers, NULL, "1"),
    COUNT(moe.experts, "moe_num_experts", "64"),
    COUNT(moe.intermediate, NULL, "1536"),
    KNOWN("moe_intermediate_size"),
    KNOWN("moe_layer_start_index"),
    KNOWN("pixel_hidden_size"),
    KNOWN("spatial_conv_size"),
    KNOWN("temporal_conv_size"),
};

/* Lists of one item a layer: all alike. */
static const struct import_field hunyuan[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, "use_qk_norm", "true"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.top_k, "moe_topk", "1"),
    COUNT(moe.intermediate, "intermediate_size", NULL),
    COUNT(moe.shared_experts, "num_shared_expert", "1"),
    BOOL(moe.router.normalize, NULL, "true"),
};

/* Ling and Ring. Source of names: vllm/model_executor/models/bailing_moe.py. */
static const struct import_field bailing[] = {
    BOOL(attention.bias, "use_qkv_bias", "false"),
    BOOL(attention.output_bias, "use_bias", "false"),
    BOOL(attention.qk_norm, "use_qk_norm", "false"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    COUNT(moe.router.groups, "n_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    WORD(moe.router.score, "score_function", "softmax", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, "moe_router_enable_expert_bias", "false"),
    COUNT(moe.shared_intermediate, "moe_shared_expert_intermediate_size", "0"),
};

/* Sarvam's experts (30B behind grouped heads, 105B behind latent ones); absent keys are those
 * of its configurations (vLLM models/sarvam.py, Megatron-Bridge models/sarvam). */
static const struct import_field sarvam[] = {
    COUNT(dense_layers, "first_k_dense_replace", "1"),
    COUNT(moe.shared_experts, "num_shared_experts", "1"),
    COUNT(moe.shared_intermediate, "moe_shared_expert_intermediate_size", "0"),
    COUNT(moe.router.groups, "n_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    WORD(moe.router.score, "score_function", "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, "moe_router_enable_expert_bias", "true"),
    REAL(moe.router.scale, "routed_scaling_factor", "2.5"),
};

static const struct import_field sarvam_moe[] = {
    BOOL(attention.bias, "use_qkv_bias", "false"),
    BOOL(attention.output_bias, "use_bias", "false"),
    BOOL(attention.qk_norm, "use_qk_norm", "true"),
};

static const struct import_field sarvam_mla[] = {
    KNOWN("q_head_dim"),  /* the parts of a head say it */
    KNOWN("use_qk_norm"), /* a norm of what is latent, which all have */
};

/* DBRX has key names of its own for everything. */
static const struct import_field dbrx[] = {
    COUNT(layers, "n_layers", NULL),
    COUNT(hidden, "d_model", NULL),
    COUNT(vocab, "vocab_size", NULL),
    BOOL(tied_embeddings, "tie_word_embeddings", "false"),
    COUNT(max_position, "max_seq_len", "0"),
    WORD(attention.kind, NULL, "gqa", attentions),
    COUNT(attention.heads, "n_heads", NULL),
    COUNT(attention.kv_heads, "attn_config.kv_n_heads", NULL),
    COUNT(moe.experts, "ffn_config.moe_num_experts", NULL),
    COUNT(moe.top_k, "ffn_config.moe_top_k", NULL),
    COUNT(moe.intermediate, "ffn_config.ffn_hidden_size", NULL),
    WORD(moe.activation, "ffn_config.ffn_act_fn.name", "silu", activations),
    COUNT(moe_every, NULL, "1"),
    COUNT(norms_per_layer, NULL, "2"),
    COUNT(residual_streams, NULL, "1"),
    BOOL(moe.glu, NULL, "true"),
    COUNT(moe.router.groups, NULL, "1"),
    COUNT(moe.router.top_groups, NULL, "1"),
    REAL(moe.router.scale, NULL, "1"),
    WORD(moe.router.order, NULL, "score_then_topk", orders),
    BOOL(moe.router.normalize, NULL, "true"),
    LINEAR_DEFAULTS,
};

/* ---- of 2026: configuration classes of transformers 5.23 ---- */

/* Trinity: gates on attention's output by a matrix, norms around both parts. */
static const struct import_field afmoe[] = {
    COUNT(norms_per_layer, NULL, "4"),
    COUNT(dense_layers, "num_dense_layers", "1"),
    COUNT(dense_intermediate, "intermediate_size", "6144"),
    COUNT(attention.head_dim, "head_dim", "128"),
    COUNT(attention.window, "sliding_window", "1024"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(attention.output_gate, NULL, "true"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, "num_shared_experts", "2"),
    WORD(moe.router.score, "score_func", "sigmoid", scores),
    BOOL(moe.router.normalize, "route_norm", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    REAL(moe.router.scale, "route_scale", "1"),
    COUNT(moe.router.groups, "n_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    KNOWN("global_attn_every_n_layers"), /* import_finish_afmoe */
    KNOWN("mup_enabled"),
    KNOWN("num_expert_groups"),
    KNOWN("num_limited_groups"),
    KNOWN("use_grouped_mm"),
    KNOWN("load_balance_coeff"),
};

/* Aria's language model: all layers have experts as wide as intermediate_size. */
static const struct import_field aria[] = {
    COUNT(moe.experts, "moe_num_experts", "8"),
    COUNT(moe.top_k, "moe_topk", "2"),
    COUNT(moe.intermediate, "intermediate_size", NULL),
    COUNT(moe.shared_experts, "moe_num_shared_experts", "2"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    WORD(moe.router.order, NULL, "topk_then_score", orders),
};

/* A third norm behind the experts, which checkpoints have in dense layers, too. */
static const struct import_field axk1[] = {
    COUNT(norms_per_layer, NULL, "3"),
    COUNT(dense_layers, "first_k_dense_replace", "1"),
    COUNT(moe.router.groups, "n_group", "8"),
    COUNT(moe.router.top_groups, "topk_group", "4"),
    REAL(moe.router.scale, "routed_scaling_factor", "2.5"),
    BOOL(moe.router.bias, NULL, "false"),
    KNOWN("topk_method"),
};

/* K-EXAONE: the attention of EXAONE 4 before experts of DeepSeek's. */
static const struct import_field exaone_moe[] = {
    COUNT(dense_layers, "first_k_dense_replace", "1"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.shared_experts, "num_shared_experts", "1"),
    COUNT(attention.window, "sliding_window", "4096"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(moe.router.bias, NULL, "true"),
    WORD(moe.router.score, "scoring_func", "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    REAL(moe.router.scale, "routed_scaling_factor", "2.5"),
    KNOWN("topk_method"),
    KNOWN("is_moe_layer"), /* import_finish_exaone_moe */
    KNOWN("first_last_k_dense_replace"),
};

static const struct import_field hy_v3[] = {
    COUNT(dense_layers, "first_k_dense_replace", "1"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, "qk_norm", "true"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, "num_shared_experts", "1"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "route_norm", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    REAL(moe.router.scale, "router_scaling_factor", "1"),
    KNOWN("enable_moe_fp32_combine"),
};

/* All layers have experts, whatever intermediate_size and first_k_dense_replace say. */
static const struct import_field solar_open[] = {
    COUNT(dense_layers, NULL, "0"),
    COUNT(dense_intermediate, NULL, "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    KNOWN("intermediate_size"),
    KNOWN("first_k_dense_replace"),
};

/* Heads of window layers of their own (import_finish_laguna), and a gate per head. */
static const struct import_field laguna[] = {
    COUNT(dense_layers, NULL, "1"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(attention.window, "sliding_window", "512"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", "512"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, NULL, "true"),
    BOOL(moe.router.bias, NULL, "true"),
    REAL(moe.router.scale, "moe_routed_scaling_factor", "1"),
    KNOWN("gating"),
    KNOWN("gating_types"),
    KNOWN("num_attention_heads_per_layer"),
    KNOWN("norm_topk_prob"),
    KNOWN("decoder_sparse_step"),
};

/* Qwen3's layers, some of them in windows; prediction modules are window layers. */
static const struct import_field mellum[] = {
    COUNT(dense_layers, NULL, "0"),
    COUNT(attention.window, "sliding_window", "1024"),
    COUNT(mtp_layers, "num_mtp_layers", "0"),
    BOOL(mtp_window, NULL, "true"),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    KNOWN("mtp_layer_types"),
    KNOWN("mtp_mlp_layer_types"),
};

static const struct import_field mistral4[] = {
    COUNT(attention.q_lora_rank, "q_lora_rank", "1024"),
    WORD(moe.router.score, NULL, "softmax", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
};

/* Norms behind attention and network in place of those before. */
static const struct import_field flex_olmo[] = {
    COUNT(moe.top_k, "num_experts_per_tok", "5"),
    COUNT(moe.experts, "num_experts", "7"),
};

static const struct import_field granite_shared[] = {
    COUNT(moe.shared_intermediate, "shared_intermediate_size", "0"),
};

static const struct import_field granite_swa[] = {
    COUNT(attention.window, "sliding_window", "128"),
    BOOL(attention.sinks, NULL, "true"),
    KNOWN("layer_rope_theta"),
};

/* A sink a head, experts beside one that every token passes; the first two layers are dense. */
static const struct import_field flint[] = {
    COUNT(dense_layers, NULL, "2"),
    COUNT(attention.window, "sliding_window", "513"),
    BOOL(attention.sinks, NULL, "true"),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", "1024"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
};

static const struct import_field kolibri1[] = {
    COUNT(norms_per_layer, NULL, "4"),
    COUNT(attention.window, "sliding_window", "513"),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", "512"),
    WORD(moe.router.score, NULL, "sigmoid", scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    BOOL(moe.router.bias, NULL, "true"),
};

const struct import_family import_families[] = {
    {{"deepseek_v2", "DeepseekV2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v2)},
     import_finish_deepseek},
    {{"deepseek_v32", "DeepseekV32ForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v32)},
     import_finish_indexed},
    {{"deepseek_v3", "kimi_k2", "DeepseekV3ForCausalLM", "KimiK2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v3)},
     import_finish_deepseek},
    {{"deepseek_v4", "DeepseekV4ForCausalLM", NULL},
     {FIELDS(common), FIELDS(deepseek_v4)},
     import_finish_deepseek_v4},
    {{"glm_moe_dsa", "GlmMoeDsaForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(glm_moe_dsa)},
     import_finish_indexed},
    {{"glm4_moe", "glm4v_moe", "glm4v_moe_text", "Glm4MoeForCausalLM",
      "Glm4vMoeForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(routed_experts), FIELDS(glm4_moe)},
     import_finish_deepseek},
    {{"glm4_moe_lite", "Glm4MoeLiteForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v3),
      FIELDS(glm4_moe_lite)},
     import_finish_deepseek},
    {{"dots1", "Dots1ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(routed_experts), FIELDS(dots1)},
     import_finish_deepseek},
    {{"bailing_moe", "bailing_moe_v2", "BailingMoeForCausalLM", "BailingMoeV2ForCausalLM",
      NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(numbered_experts), FIELDS(bailing)},
     import_finish_bailing},
    {{"ernie4_5_moe", "Ernie4_5_MoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(ernie)},
     import_finish_ernie},
    {{"ernie4_5_moe_vl", "ernie4_5_vl_moe", "ernie4_5_vl_moe_text",
      "Ernie4_5_VLMoeForConditionalGeneration", "Ernie4_5_VL_MoeForConditionalGeneration",
      NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(ernie), FIELDS(ernie_vl)},
     import_finish_ernie_vl},
    {{"hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(hunyuan)},
     NULL},
    {{"grok-1", "Grok1ModelForCausalLM", "Grok1ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(grok_1)},
     import_finish_grok},
    {{"mixtral", "MixtralForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(mixtral)},
     import_finish_mixtral},
    {{"granitemoe", "GraniteMoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(granitemoe)},
     NULL},
    {{"phimoe", "PhiMoEForCausalLM", "PhimoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(phimoe)},
     NULL},
    {{"minimax_m2", "MiniMaxM2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(minimax_m2)},
     import_finish_minimax},
    {{"minimax_m3_vl", "minimax_m3_vl_text", "minimax_m3",
      "MiniMaxM3SparseForConditionalGeneration", "MiniMaxM3SparseForCausalLM",
      "MiniMaxM3VLForConditionalGeneration", "MiniMaxM3VLForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(minimax_m3)},
     import_finish_minimax_m3},
    {{"arctic", "ArcticForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(arctic)},
     import_finish_arctic},
    {{"gpt_oss", "GptOssForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(gpt_oss)},
     import_finish_gpt_oss},
    {{"llama4", "llama4_text", "Llama4ForCausalLM", "Llama4ForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(llama4)},
     import_finish_llama4},
    {{"olmoe", "OlmoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(olmoe)},
     NULL},
    {{"qwen2_moe", "Qwen2MoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(sparse_step), FIELDS(qwen2_moe)},
     import_finish_qwen2_moe},
    {{"qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text", "qwen3_omni_moe",
      "qwen3_omni_moe_thinker", "qwen3_omni_moe_text", "Qwen3MoeForCausalLM",
      "Qwen3VLMoeForConditionalGeneration", "Qwen3OmniMoeForConditionalGeneration",
      "Qwen3OmniMoeThinkerForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(sparse_step), FIELDS(qwen3_moe)},
     import_finish_qwen3_moe},
    {{"qwen3_next", "qwen3_5_moe", "qwen3_5_moe_text", "Qwen3NextForCausalLM",
      "Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(delta_net), FIELDS(delta_experts)},
     import_finish_qwen3_next},
    {{"qwen3_5", "qwen3_5_text", "Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(delta_net), FIELDS(delta_dense)},
     import_finish_qwen3_next},
    {{"kimi_linear", "kimi_k3", "KimiLinearForCausalLM", "KimiK3ForConditionalGeneration",
      NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(numbered_experts), FIELDS(kimi_linear)},
     import_finish_kimi},
    {{"minimax_text_01", "minimax_m1", "minimax", "MiniMaxText01ForCausalLM",
      "MiniMaxM1ForCausalLM", "MiniMaxForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(lightning)},
     import_finish_lightning},
    {{"nemotron_h", "NemotronHForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(nemotron_h)},
     import_finish_nemotron},
    {{"jamba", "JambaForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(jamba)},
     import_finish_jamba},
    {{"granitemoehybrid", "GraniteMoeHybridForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(granite_hybrid)},
     import_finish_granite},
    {{"bamba", "BambaForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(bamba)},
     import_finish_bamba},
    {{"lfm2_moe", "Lfm2MoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(lfm2_moe)},
     import_finish_lfm2},
    {{"llama", "mistral", "ministral3", "cwm", "LlamaForCausalLM", "MistralForCausalLM",
      "Ministral3ForCausalLM", "LLaMAForCausalLM", "CwmForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"gemma", "GemmaForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(gemma)},
     import_finish_llama},
    {{"gemma2", "Gemma2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(gemma), FIELDS(gemma2)},
     import_finish_gemma2},
    {{"gemma3_text", "gemma3", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(gemma), FIELDS(gemma2),
      FIELDS(gemma3)},
     import_finish_gemma3},
    {{"gemma4_text", "gemma4", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(gemma), FIELDS(gemma2),
      FIELDS(gemma4)},
     import_finish_gemma4},
    {{"mimo_v2_flash", "mimo_v2", "MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(routed_experts), FIELDS(deepseek_v3),
      FIELDS(mimo_v2)},
     import_finish_mimo},
    {{"step3p5", "step3p7", "Step3p5ForCausalLM", "Step3p7ForCausalLM",
      "Step3p7ForConditionalGeneration", "Step3p7FlashForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(step3p5)},
     import_finish_step},
    {{"step3_text", "step3_vl", "Step3TextForCausalLM", "Step3VLForConditionalGeneration",
      "Step3vForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(step3)},
     import_finish_step3},
    {{"longcat_flash", "LongcatFlashForCausalLM", "LongcatCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(longcat)},
     import_finish_longcat},
    {{"nemotron-nas", "DeciLMForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(nas)},
     import_finish_nas},
    {{"phi3", "Phi3ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"olmo2", "Olmo2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(olmo2)},
     import_finish_llama},
    {{"olmo3", "Olmo3ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(olmo2), FIELDS(olmo3)},
     import_finish_olmo3},
    {{"exaone4", "Exaone4ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(exaone4)},
     import_finish_exaone4},
    {{"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(hunyuan_dense)},
     import_finish_llama},
    {{"mimo", "MiMoForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(mimo)},
     import_finish_dense},
    {{"seed_oss", "SeedOssForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(seed_oss)},
     import_finish_llama},
    {{"smollm3", "SmolLM3ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(smollm3)},
     import_finish_llama},
    {{"arcee", "ArceeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(arcee)},
     import_finish_llama},
    {{"apertus", "ApertusForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(apertus)},
     import_finish_llama},
    {{"granite", "GraniteForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"nemotron", "NemotronForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(nemotron)},
     import_finish_llama},
    {{"starcoder2", "Starcoder2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(starcoder2)},
     import_finish_llama},
    {{"phi", "PhiForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(phi)},
     import_finish_phi},
    {{"gptj", "GPTJForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(gptj)},
     import_finish_gptj},
    {{"gpt_neox", "GPTNeoXForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(gpt_neox)},
     import_finish_llama},
    {{"falcon", "FalconForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(falcon)},
     import_finish_falcon},
    {{"cohere", "CohereForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(cohere)},
     import_finish_llama},
    {{"cohere2", "Cohere2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(cohere), FIELDS(cohere2)},
     import_finish_exaone4},
    {{"cohere2_moe", "Cohere2MoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(cohere2_moe)},
     import_finish_cohere2_moe},
    {{"stablelm", "StableLmForCausalLM", "StableLMEpochForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(stablelm)},
     import_finish_stablelm},
    {{"ernie4_5", "Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(ernie4_5)},
     import_finish_llama},
    {{"glm", "GlmForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(glm)},
     import_finish_llama},
    {{"glm4", "glm4v", "glm4v_text", "Glm4ForCausalLM", "Glm4vForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(glm), FIELDS(glm4)},
     import_finish_llama},
    {{"chatglm", "ChatGLMModel", "ChatGLMForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(chatglm)},
     import_finish_llama},
    {{"exaone", "ExaoneForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(exaone)},
     import_finish_llama},
    {{"internlm2", "InternLM2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(internlm2)},
     import_finish_llama},
    {{"internlm3", "InternLM3ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(internlm3)},
     import_finish_llama},
    {{"baichuan", "BaichuanForCausalLM", "BaiChuanForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"minicpm", "MiniCPMForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(minicpm)},
     import_finish_llama},
    {{"lfm2", "Lfm2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(lfm2_dense)},
     import_finish_lfm2_dense},
    {{"deepseek", "DeepseekForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(routed_experts), FIELDS(deepseek_v2)},
     import_finish_deepseek},
    {{"qwen2", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_vl", "qwen2_vl_text", "Qwen2ForCausalLM",
      "Qwen2_5_VLForConditionalGeneration", "Qwen2VLForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(qwen2)},
     import_finish_dense},
    {{"qwen3", "qwen3_vl", "qwen3_vl_text", "Qwen3ForCausalLM",
      "Qwen3VLForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(dense), FIELDS(head_norms)},
     import_finish_dense},
    {{"afmoe", "AfmoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(afmoe)},
     import_finish_afmoe},
    {{"aria", "aria_text", "AriaForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(aria)},
     NULL},
    {{"axk1", "AXK1ForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v3),
      FIELDS(axk1)},
     import_finish_deepseek},
    {{"sarvam_moe", "SarvamMoEForCausalLM", "SarvamMoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(numbered_experts), FIELDS(sarvam),
      FIELDS(sarvam_moe)},
     import_finish_bailing},
    {{"sarvam_mla", "SarvamMLAForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(numbered_experts), FIELDS(sarvam),
      FIELDS(sarvam_mla)},
     import_finish_bailing},
    {{"exaone_moe", "ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(routed_experts), FIELDS(exaone_moe)},
     import_finish_exaone_moe},
    {{"hy_v3", "HYV3ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(hy_v3)},
     NULL},
    {{"solar_open", "SolarOpenForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(routed_experts), FIELDS(solar_open)},
     import_finish_deepseek},
    {{"laguna", "LagunaForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(laguna)},
     import_finish_laguna},
    {{"mellum", "MellumForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(sparse_step), FIELDS(qwen3_moe),
      FIELDS(mellum)},
     import_finish_windowed},
    {{"mistral4", "mistral4_text", "Mistral4ForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(mistral4)},
     import_finish_deepseek},
    {{"flex_olmo", "FlexOlmoForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(olmoe), FIELDS(flex_olmo)},
     NULL},
    {{"granitemoeshared", "GraniteMoeSharedForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(granitemoe), FIELDS(granite_shared)},
     import_finish_minimax},
    {{"granitemoe_swa", "GraniteMoeSWAForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(granitemoe), FIELDS(granite_shared),
      FIELDS(granite_swa)},
     import_finish_granite_swa},
    {{"flint", "FlintForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(sparse_step), FIELDS(qwen3_moe),
      FIELDS(flint)},
     import_finish_flint},
    {{"kolibri1", "Kolibri1ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(sparse_step), FIELDS(qwen3_moe),
      FIELDS(kolibri1)},
     import_finish_kolibri},
    {{"dbrx", "DbrxForCausalLM", NULL}, {FIELDS(dbrx)}, NULL},
};

const size_t import_n_families = sizeof import_families / sizeof *import_families;

const struct import_refusal import_refusals[] = {
    {"gemma3n", "layers of different shapes"},
    {"Gemma3n", "layers of different shapes"},
    {"longcat_flash_ngram", "embeddings of n-grams"},
    {"LongcatFlashNgram", "embeddings of n-grams"},
    {"opt", "learned positions"},
    {"OPT", "learned positions"},
    {"gpt2", "learned positions"},
    {"GPT2", "learned positions"},
    {"gpt_bigcode", "learned positions"},
    {"GPTBigCode", "learned positions"},
    {"bloom", "a norm behind the embedding"},
    {"Bloom", "a norm behind the embedding"},
    {"falcon_h1", "attention and Mamba side by side in a layer"},
    {"FalconH1", "attention and Mamba side by side in a layer"},
    {"falcon_mamba", "Mamba-1 without networks"},
    {"FalconMamba", "Mamba-1 without networks"},
    {"zamba", "attention whose weights several layers share"},
    {"Zamba", "attention whose weights several layers share"},
    {"axk2", "norms with gates of their own"},
    {"AXK2", "norms with gates of their own"},
    {"bailing_hybrid", "latent attention with a gate per head and decays of full rank"},
    {"BailingHybrid", "latent attention with a gate per head and decays of full rank"},
    {"bailing_moe_linear", "linear attention between layers of softmax attention"},
    {"BailingMoeLinear", "linear attention between layers of softmax attention"},
    {"beam", "gates of attention with a bias per head"},
    {"Beam", "gates of attention with a bias per head"},
    {"deepseek_ocr2", "experts without latent attention behind two encoders"},
    {"DeepseekOcr2", "experts without latent attention behind two encoders"},
    {"diffusion_gemma", "a model that denoises blocks of tokens"},
    {"DiffusionGemma", "a model that denoises blocks of tokens"},
    {"doge", "experts that are rows of two tables"},
    {"Doge", "experts that are rows of two tables"},
    {"dots3_note", "latent attention of other sizes in layers with windows"},
    {"Dots3Note", "latent attention of other sizes in layers with windows"},
    {"glm5_next", "hyper-connections around linear and indexed latent attention"},
    {"Glm5Next", "hyper-connections around linear and indexed latent attention"},
    {"hy_v4", "hyper-connections and sinks of indexed latent attention"},
    {"HYV4", "hyper-connections and sinks of indexed latent attention"},
    {"inkling", "convolutions and relative positions in attention"},
    {"Inkling", "convolutions and relative positions in attention"},
    {"jetmoe", "experts of attention"},
    {"JetMoe", "experts of attention"},
    {"mistral_large4", "latent attention that reads entries of earlier layers"},
    {"MistralLarge4", "latent attention that reads entries of earlier layers"},
    {"muse_spark", "gates of the residual"},
    {"MuseSpark", "gates of the residual"},
    {"nemotron3_5_transcribe", "an encoder of speech that gives its tokens"},
    {"nllb", "an encoder and a decoder"},
    {"Nllb", "an encoder and a decoder"},
    {"openai_privacy_filter", "attention in both directions and labels for words"},
    {"OpenAIPrivacyFilter", "attention in both directions and labels for words"},
    {"qwen4_exp", "hyper-connections and tables of n-grams"},
    {"Qwen4Exp", "hyper-connections and tables of n-grams"},
    {"switch_transformers", "an encoder and a decoder"},
    {"SwitchTransformers", "an encoder and a decoder"},
    {"unlimited_ocr", "experts without latent attention behind two encoders"},
    {"UnlimitedOcr", "experts without latent attention behind two encoders"},
    {"zaya", "convolutions in attention and routers of several layers"},
    {"Zaya", "convolutions in attention and routers of several layers"},
};

const size_t import_n_refusals = sizeof import_refusals / sizeof *import_refusals;
