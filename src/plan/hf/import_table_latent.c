/* Latent attention, and experts by the keys of DeepSeek. See import_table.h. */
#include "plan/hf/import_table.h"

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
    NUMBER(moe.router.scale, "routed_scaling_factor", "1"),
};

/* Absent keys are those of DeepseekV4Config (configuration_deepseek_v4.py, 015c0781); all
 * layers have experts, and a selection bias. */
static const struct import_field deepseek_v4[] = {
    WORD(rotary_table, NULL, "float32", import_formats),
    WORD(attention.kind, NULL, "shared_kv", import_attentions),
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
    WORD(moe.router.score, "scoring_func", "sqrtsoftplus", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "1.5"),
    KNOWN("num_key_value_heads"), /* one */
    KNOWN("topk_method"),
};

/* Absent keys are those of DeepseekV41TextConfig (configuration_deepseek_v41.py, 0a2080b4);
 * which layers make and choose entries, import_finish_deepseek_v41. Copies of the residual are
 * read at the end by what the last layer's weights gave: the head has none. */
static const struct import_field deepseek_v41[] = {
    WORD(rotary_table, NULL, "float32", import_formats),
    WORD(attention.kind, NULL, "shared_kv", import_attentions),
    COUNT(attention.head_dim, "head_dim", "512"),
    COUNT(attention.q_lora_rank, "q_lora_rank", "1280"),
    COUNT(attention.qk_rope_head_dim, "qk_rope_head_dim", "64"),
    COUNT(attention.o_groups, "o_groups", "8"),
    COUNT(attention.o_lora_rank, "o_lora_rank", "1024"),
    COUNT(attention.window, "sliding_window", "128"),
    BOOL(attention.entry_keys, NULL, "true"),
    BOOL(attention.sinks, NULL, "true"),
    COUNT(residual_streams, "hc_mult", "4"),
    BOOL(residual_mean, NULL, "true"),
    COUNT(indexer.heads, "index_n_heads", "32"),
    COUNT(indexer.head_dim, "index_head_dim", "128"),
    COUNT(indexer.top_k, "index_topk", "512"),
    COUNT(moe.experts, "n_routed_experts", "384"),
    COUNT(moe.intermediate, "moe_intermediate_size", "2304"),
    COUNT(moe.shared_experts, "n_shared_experts", "1"),
    WORD(moe.router.score, "scoring_func", "sqrtsoftplus", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "1.5"),
    COUNT(dspark.layers, "num_nextn_predict_layers", "0"),
    COUNT(dspark.experts, "dspark_n_routed_experts", "0"),
    COUNT(dspark.top_k, "dspark_num_experts_per_tok", "0"),
    COUNT(dspark.rank, "dspark_markov_rank", "0"),
    KNOWN("dspark_target_layer_ids"), /* import_finish_deepseek_v41 */
    KNOWN("dspark_block_size"),
    KNOWN("dspark_noise_token_id"),
    KNOWN("num_key_value_heads"), /* one */
    KNOWN("topk_method"),
};

static const struct import_field deepseek_v2[] = {
    WORD(moe.router.score, "scoring_func", "softmax", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    WORD(moe.router.bias, "topk_method", "greedy", import_methods),
};

static const struct import_field deepseek_v3[] = {
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    WORD(moe.router.bias, "topk_method", "noaux_tc", import_methods),
};

static const struct import_field glm4_moe[] = {
    COUNT(attention.qk_rope_head_dim, NULL, "64"), /* of 128 (vLLM models/glm4_moe.py) */
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, "use_qk_norm", "false"),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
};

/* The indexer of DeepSeek-V3.2 and GLM-5. */
#define INDEXER(n)                                                                             \
    COUNT(indexer.heads, "index_n_heads", n),                                                  \
        COUNT(indexer.head_dim, "index_head_dim", "128"),                                      \
        COUNT(indexer.top_k, "index_topk", "2048")

static const struct import_field deepseek_v32[] = {
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    WORD(moe.router.bias, "topk_method", "noaux_tc", import_methods),
    INDEXER("64"),
};

static const struct import_field glm_moe_dsa[] = {
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    WORD(moe.router.bias, "topk_method", "noaux_tc", import_methods),
    INDEXER("32"),
    KNOWN("num_experts"), /* beside n_routed_experts */
};

/* Absent keys are those of Glm5NextTextConfig (transformers
 * glm5_next/configuration_glm5_next.py, a4c52c8e); what is linear, import_finish_glm5_next. */
static const struct import_field glm5_next[] = {
    BOOL(rotary, NULL, "false"), /* validate_architecture: no rotary part */
    COUNT(attention.qk_rope_head_dim, "qk_rope_head_dim", "0"),
    COUNT(dense_layers, "first_k_dense_replace", "3"),
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "2.5"),
    COUNT(moe.shared_experts, "n_shared_experts", "1"),
    INDEXER("32"),
    COUNT(indexer.pool, "index_kpool", "16"),
    COUNT(residual_streams, "hc_mult", "4"),
    BOOL(residual_mean, NULL, "true"),
    BOOL(mtp_plain, NULL, "true"),
    WORD(linear.kind, NULL, "kimi_delta", import_linear_kinds),
    COUNT(linear.heads, "linear_num_heads", "64"),
    COUNT(linear.head_dim, "linear_head_dim", "128"),
    COUNT(linear.conv, "linear_conv_kernel_dim", "4"),
    WORD(linear.state, NULL, "float32", import_formats),
    KNOWN("topk_method"),
    KNOWN("index_kpool_compress"), /* keys are weighed, not one of each pool taken */
    KNOWN("index_kpool_always_select_tail"),
    KNOWN("mhc"),
    KNOWN("mla_use_nope"),
};

/* Absent keys are those of HYV4Config (transformers hy_v4/configuration_hy_v4.py, cdda7eb0). */
static const struct import_field hy_v4[] = {
    COUNT(dense_layers, "first_k_dense_replace", "1"),
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "2.827"),
    COUNT(moe.shared_experts, "n_shared_experts", "1"),
    INDEXER("16"),
    BOOL(attention.output_gate, "gated_mla", "true"),
    BOOL(attention.sinks, "learnable_sink", "true"),
    COUNT(residual_streams, "hc_mult", "4"),
    BOOL(residual_identity, NULL, "true"),
    BOOL(mtp_plain, NULL, "true"),
    KNOWN("topk_method"),
    KNOWN("gating_type"), /* import_finish_hy_v4 */
    KNOWN("learnable_sink_init"),
    KNOWN("enable_ihc"),
    KNOWN("enable_lm_head_fp32"),
    KNOWN("hc_magnitude"),
    KNOWN("use_mla"),
    KNOWN("use_dsa"),
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
    BOOL(mtp_first, NULL, "true"),
    KNOWN("attention_chunk_size"), /* as wide as the window; no layer is chunked */
    KNOWN("attention_projection_layout"),
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
    BOOL(mtp_first, NULL, "true"),
    COUNT(moe.experts, "n_routed_experts", "512"),
    COUNT(moe.zero_experts, "zero_expert_num", "256"),
    COUNT(moe.top_k, "moe_topk", "12"),
    COUNT(moe.intermediate, "expert_ffn_hidden_size", "2048"),
    BOOL(moe.shortcut, NULL, "true"),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    BOOL(moe.router.bias, NULL, "true"),
    BOOL(moe.router.linear_bias, "router_bias", "false"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "6"),
    KNOWN("num_hidden_layers"), /* transformers writes 2 x num_layers */
    KNOWN("mla_scale_q_lora"),
    KNOWN("mla_scale_kv_lora"),
    KNOWN("attention_method"),
    KNOWN("ngram_vocab_size_ratio"), /* import_hf_ngram.c */
    KNOWN("emb_neighbor_num"),
    KNOWN("emb_split_num"),
    KNOWN("oe_vocab_size_ratio"),
    KNOWN("oe_neighbor_num"),
    KNOWN("oe_split_num"),
    KNOWN("zero_expert_type"),
    KNOWN("nextn_use_scmoe"),
    KNOWN("router_dtype"),
};

static const struct import_field dots1[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    BOOL(moe.router.bias, NULL, "true"),
    KNOWN("scoring_func"),
};

static const struct import_field glm4_moe_lite[] = {
    COUNT(dense_layers, "first_k_dense_replace", "1"),
};

/* Ling and Ring. Source of names: vllm/model_executor/models/bailing_moe.py. */
static const struct import_field bailing[] = {
    BOOL(attention.bias, "use_qkv_bias", "false"),
    BOOL(attention.output_bias, "use_bias", "false"),
    BOOL(attention.qk_norm, "use_qk_norm", "false"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    COUNT(moe.router.groups, "n_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    WORD(moe.router.score, "score_function", "softmax", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, "moe_router_enable_expert_bias", "false"),
    COUNT(moe.shared_intermediate, "moe_shared_expert_intermediate_size", "0"),
};

/* What Ling's layers with a recurrence say beside that. */
#define BAILING_HYBRID                                                                         \
    KNOWN("layer_group_size"), /* import_finish_bailing_hybrid */                              \
        KNOWN("group_norm_size"), KNOWN("linear_silu"), KNOWN("router_dtype"),                 \
        KNOWN("scoring_func"), KNOWN("topk_method"), KNOWN("num_kv_heads_for_linear_attn"),    \
        KNOWN("use_rmsnorm")

/* Ling-2.5, Ling-2.6 and Ring-2.5 (behind MLA), Ring-linear-2.0 (behind grouped heads): norms
 * of heads are those of lightning attention. Source of names: vLLM
 * models/bailing_moe_linear.py, layers/mamba/linear/bailing_linear_attn.py. */
static const struct import_field bailing_lightning[] = {
    WORD(linear.kind, NULL, "lightning", import_linear_kinds),
    COUNT(linear.chunk, NULL, "256"),
    BAILING_HYBRID,
};

static const struct import_word head_gates[] = {
    {"head_wise", 1}, {"element_wise", 0}, {"none", 0}, {NULL, 0}};
static const struct import_word wide_gates[] = {
    {"head_wise", 0}, {"element_wise", 1}, {"none", 0}, {NULL, 0}};

/* Ling-3.0: Kimi's delta rule with gates of full rank, a gate on MLA's output. Source of names:
 * vLLM models/bailing_moe_v3.py. */
static const struct import_field bailing_delta[] = {
    BOOL(attention.qk_norm, NULL, "false"),
    WORD(attention.head_gate, "gated_attention_proj_granularity_type", "none", head_gates),
    WORD(attention.output_gate, "gated_attention_proj_granularity_type", "none", wide_gates),
    WORD(linear.kind, NULL, "kimi_delta", import_linear_kinds),
    COUNT(linear.conv, "short_conv_kernel_size", NULL),
    BOOL(linear.full_rank_gate, "no_kda_lora", "true"),
    BOOL(linear.full_rank_decay, "no_kda_lora", "true"),
    WORD(linear.state, NULL, "float32", import_formats),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.bias, NULL, "true"),
    BAILING_HYBRID,
    KNOWN("use_qk_norm"), /* no layer has one */
    KNOWN("score_function"),
    KNOWN("moe_router_enable_expert_bias"),
    KNOWN("kda_safe_gate"),
    KNOWN("kda_lower_bound"),
    KNOWN("expert_swiglu_limit_list"),
    KNOWN("share_expert_swiglu_limit_list"),
};

/* Sarvam's experts (30B behind grouped heads, 105B behind latent ones); absent keys are those
 * of its configurations (vLLM models/sarvam.py, Megatron-Bridge models/sarvam). */
static const struct import_field sarvam[] = {
    COUNT(dense_layers, "first_k_dense_replace", "1"),
    COUNT(moe.shared_experts, "num_shared_experts", "1"),
    COUNT(moe.shared_intermediate, "moe_shared_expert_intermediate_size", "0"),
    COUNT(moe.router.groups, "n_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    WORD(moe.router.score, "score_function", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, "moe_router_enable_expert_bias", "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "2.5"),
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

/* A third norm behind the experts, which checkpoints have in dense layers, too. */
static const struct import_field axk1[] = {
    COUNT(norms_per_layer, NULL, "3"),
    COUNT(dense_layers, "first_k_dense_replace", "1"),
    COUNT(moe.router.groups, "n_group", "8"),
    COUNT(moe.router.top_groups, "topk_group", "4"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "2.5"),
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
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "2.5"),
    KNOWN("topk_method"),
    KNOWN("is_moe_layer"), /* import_finish_exaone_moe */
    KNOWN("first_last_k_dense_replace"),
};

/* All layers have experts, whatever intermediate_size and first_k_dense_replace say. */
static const struct import_field solar_open[] = {
    COUNT(dense_layers, NULL, "0"),
    COUNT(dense_intermediate, NULL, "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    KNOWN("intermediate_size"),
    KNOWN("first_k_dense_replace"),
};

/* Kimi's delta rule, and gated attention without positions in every fourth layer from the
 * first; experts of Solar-Open. Source of names: vLLM
 * transformers_utils/configs/solar_open2.py; of shapes: transformers models/solar_open2. */
static const struct import_field solar_open2[] = {
    COUNT(dense_layers, "first_k_dense_replace", "0"),
    COUNT(dense_intermediate, "intermediate_size", "10240"),
    BOOL(rotary, "use_rope", "false"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, "use_qk_norm", "false"),
    BOOL(attention.output_gate, "use_gqa_gate", "true"),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    WORD(linear.kind, NULL, "kimi_delta", import_linear_kinds),
    COUNT(linear.heads, "linear_attn_config.num_heads", "0"),
    COUNT(linear.head_dim, "linear_attn_config.head_dim", "0"),
    COUNT(linear.key_heads, "linear_attn_config.num_kv_heads", "0"),
    COUNT(linear.conv, "linear_attn_config.short_conv_kernel_size", "4"),
    BOOL(linear.full_rank_gate, "kda_use_full_proj", "false"),
    BOOL(linear.full_rank_decay, "kda_use_full_proj", "false"),
    WORD(linear.state, NULL, "float32", import_formats),
    KNOWN("gqa_interval"), /* import_finish_solar_open2 */
    KNOWN("gqa_layers"),
    KNOWN("kda_allow_neg_eigval"),
};

static const struct import_field mistral4[] = {
    COUNT(attention.q_lora_rank, "q_lora_rank", "1024"),
    WORD(moe.router.score, NULL, "softmax", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
};

/* openPangu-Ultra-MoE: norms before and behind both parts where sandwich_norm says so. The
 * published names beside DeepSeek's are in import_hf.c (vLLM models/openpangu.py, its
 * HuggingFace code's PanguUltraMoEConfig). */
static const struct import_field pangu_ultra[] = {
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, "router_enable_expert_bias", "false"),
    COUNT(mtp_layers, "num_nextn_predict_layers", "0"),
    KNOWN("sandwich_norm"), /* import_finish_pangu */
    KNOWN("num_routed_experts"),
    KNOWN("num_shared_experts"),
    KNOWN("num_dense_layers"),
    KNOWN("num_mtp_layers"),
    KNOWN("attention_kv_lora_dim"),
    KNOWN("attention_q_lora_dim"),
    KNOWN("attention_qk_dim"),
    KNOWN("attention_qk_rope_dim"),
    KNOWN("attention_v_dim"),
};

static const struct import_family families[] = {
    {{"deepseek_v2", "DeepseekV2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(deepseek_v2)},
     import_finish_deepseek},
    {{"deepseek_v32", "DeepseekV32ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(deepseek_v32)},
     import_finish_indexed},
    {{"deepseek_v3", "kimi_k2", "DeepseekV3ForCausalLM", "KimiK2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(deepseek_v3)},
     import_finish_deepseek},
    {{"deepseek_v4", "DeepseekV4ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(deepseek_v4)},
     import_finish_deepseek_v4},
    {{"deepseek_v41", "deepseek_v41_text", "DeepseekV41ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(deepseek_v41)},
     import_finish_deepseek_v41},
    {{"glm_moe_dsa", "GlmMoeDsaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(glm_moe_dsa)},
     import_finish_indexed},
    {{"glm5_next", "glm5_next_text", "Glm5NextForCausalLM", "Glm5NextForConditionalGeneration",
      NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(glm5_next)},
     import_finish_glm5_next},
    {{"hy_v4", "HYV4ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(hy_v4)},
     import_finish_hy_v4},
    {{"glm4_moe", "glm4v_moe", "glm4v_moe_text", "Glm4MoeForCausalLM",
      "Glm4vMoeForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(routed_experts),
      FIELDS(glm4_moe)},
     import_finish_deepseek},
    {{"glm4_moe_lite", "Glm4MoeLiteForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(deepseek_v3), FIELDS(glm4_moe_lite)},
     import_finish_deepseek},
    {{"dots1", "Dots1ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(routed_experts),
      FIELDS(dots1)},
     import_finish_deepseek},
    {{"bailing_moe", "bailing_moe_v2", "BailingMoeForCausalLM", "BailingMoeV2ForCausalLM",
      NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_numbered_experts),
      FIELDS(bailing)},
     import_finish_bailing},
    {{"BailingMoeV2_5ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(import_numbered_experts),
      FIELDS(bailing), FIELDS(bailing_lightning)},
     import_finish_bailing_hybrid},
    {{"bailing_moe_linear", "BailingMoeLinearForCausalLM", "BailingMoeLinearV2ForCausalLM",
      NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_numbered_experts),
      FIELDS(bailing), FIELDS(bailing_lightning)},
     import_finish_bailing_hybrid},
    {{"bailing_hybrid", "bailing_moe_v3", "BailingMoeV3ForCausalLM", "BailingHybridForCausalLM",
      NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(import_numbered_experts),
      FIELDS(bailing), FIELDS(bailing_delta)},
     import_finish_bailing_hybrid},
    {{"mimo_v2_flash", "mimo_v2", "MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(routed_experts),
      FIELDS(deepseek_v3), FIELDS(mimo_v2)},
     import_finish_mimo},
    {{"longcat_flash", "longcat_flash_ngram", "LongcatFlashForCausalLM",
      "LongcatFlashNgramForCausalLM", "LongcatCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(longcat)},
     import_finish_longcat},
    {{"deepseek", "DeepseekForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(routed_experts),
      FIELDS(deepseek_v2)},
     import_finish_deepseek},
    {{"axk1", "AXK1ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(deepseek_v3), FIELDS(axk1)},
     import_finish_deepseek},
    {{"sarvam_moe", "SarvamMoEForCausalLM", "SarvamMoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_numbered_experts),
      FIELDS(sarvam), FIELDS(sarvam_moe)},
     import_finish_bailing},
    {{"sarvam_mla", "SarvamMLAForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(import_numbered_experts),
      FIELDS(sarvam), FIELDS(sarvam_mla)},
     import_finish_bailing},
    {{"exaone_moe", "ExaoneMoEForCausalLM", "ExaoneMoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(routed_experts),
      FIELDS(exaone_moe)},
     import_finish_exaone_moe},
    {{"solar_open", "SolarOpenForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(routed_experts),
      FIELDS(solar_open)},
     import_finish_deepseek},
    {{"solar_open2", "SolarOpen2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(routed_experts),
      FIELDS(solar_open2)},
     import_finish_solar_open2},
    {{"mistral4", "mistral4_text", "Mistral4ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(mistral4)},
     import_finish_deepseek},
    {{"pangu_ultra_moe", "PanguUltraMoE", "PanguUltraMoEForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(routed_experts),
      FIELDS(pangu_ultra)},
     import_finish_pangu},
};

FAMILIES(latent);
