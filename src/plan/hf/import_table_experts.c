/* Experts behind grouped heads. See import_table.h. */
#include "plan/hf/import_table.h"

/* The expert keys of Mixtral, which several share: experts as wide as a dense network. */
#define LOCAL_EXPERTS                                                                          \
    COUNT(moe.experts, "num_local_experts", NULL),                                             \
        COUNT(moe.intermediate, "intermediate_size", NULL)

static const struct import_field mixtral[] = {
    LOCAL_EXPERTS,
    COUNT(attention.window, "sliding_window", "0"),
    WORD(moe.router.order, NULL, "topk_then_score", import_orders),
};

static const struct import_field granitemoe[] = {
    LOCAL_EXPERTS,
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    WORD(moe.router.order, NULL, "topk_then_score", import_orders),
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
    WORD(attention.qk_norm_all_heads, "qk_norm_type", "per_layer", import_norm_types),
    COUNT(mtp_layers, "num_mtp_modules", "0"),
    COUNT(moe.shared_intermediate, "shared_intermediate_size", "0"),
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, NULL, "true"),
    BOOL(moe.router.bias, "use_routing_bias", "true"),
};

/* Layers that choose blocks of keys; its activation is that of gpt-oss whatever hidden_act says
 * (modular_minimax_m3_vl.py). Absent keys are those of MiniMaxM3VLTextConfig. */
static const struct import_field minimax_m3[] = {
    LOCAL_EXPERTS,
    COUNT(dense_intermediate, "dense_intermediate_size", "12288"),
    BOOL(attention.qk_norm, "use_qk_norm", "true"),
    WORD(attention.qk_norm_all_heads, "qk_norm_type", "per_head", import_norm_types),
    COUNT(indexer.heads, "index_n_heads", "4"),
    COUNT(indexer.head_dim, "index_head_dim", "128"),
    COUNT(indexer.block, "index_block_size", "128"),
    COUNT(indexer.top_k, "index_topk_blocks", "16"), /* blocks yet */
    COUNT(mtp_layers, "num_mtp_modules", "0"),
    COUNT(moe.shared_experts, "n_shared_experts", "1"),
    COUNT(moe.shared_intermediate, "shared_intermediate_size", "3072"),
    WORD(moe.activation, NULL, "swiglu_oai", import_activations),
    WORD(moe.router.score, "scoring_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, NULL, "true"),
    BOOL(moe.router.bias, "use_routing_bias", "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "2"),
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
    WORD(moe.activation, NULL, "gelu", import_activations),
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
    WORD(rotary_table, NULL, "float32", import_formats),
    COUNT(attention.window, "sliding_window", "128"),
    WORD(moe.activation, NULL, "swiglu_oai", import_activations),
    BOOL(moe.bias, NULL, "true"),
    WORD(moe.router.order, NULL, "topk_then_score", import_orders),
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
    WORD(moe.scale, NULL, "pre", import_scales),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
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

/* attention_other_setting is what window layers have; the checkpoint's own names and those that
 * transformers writes stand side by side (import_finish_step). */
static const struct import_field step3p5[] = {
    COUNT(attention.kv_heads, "num_attention_groups", "0"),
    COUNT(attention.window, "sliding_window", "0"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(attention.head_gate, "use_head_wise_attn_gate", "true"),
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
    WORD(moe.router.score, "moe_router_activation", "softmax", import_scores),
    BOOL(moe.router.normalize, "norm_expert_weight", "true"),
    BOOL(moe.router.bias, "use_moe_router_bias", "false"),
    NUMBER(moe.router.scale, "moe_router_scaling_factor", "1"),
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
    WORD(moe.router.score, "expert_selection_fn", "softmax", import_scores),
    WORD(moe.router.order, NULL, "topk_then_score", import_orders),
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

/* DBRX has key names of its own for everything. */
static const struct import_field dbrx[] = {
    COUNT(layers, "n_layers", NULL),
    COUNT(hidden, "d_model", NULL),
    COUNT(vocab, "vocab_size", NULL),
    BOOL(tied_embeddings, "tie_word_embeddings", "false"),
    COUNT(max_position, "max_seq_len", "0"),
    WORD(attention.kind, NULL, "gqa", import_attentions),
    COUNT(attention.heads, "n_heads", NULL),
    COUNT(attention.kv_heads, "attn_config.kv_n_heads", NULL),
    COUNT(moe.experts, "ffn_config.moe_num_experts", NULL),
    COUNT(moe.top_k, "ffn_config.moe_top_k", NULL),
    COUNT(moe.intermediate, "ffn_config.ffn_hidden_size", NULL),
    WORD(moe.activation, "ffn_config.ffn_act_fn.name", "silu", import_activations),
    COUNT(moe_every, NULL, "1"),
    COUNT(norms_per_layer, NULL, "2"),
    COUNT(residual_streams, NULL, "1"),
    COUNT(indexer.pool, NULL, "1"),
    BOOL(moe.glu, NULL, "true"),
    COUNT(moe.router.groups, NULL, "1"),
    COUNT(moe.router.top_groups, NULL, "1"),
    NUMBER(moe.router.scale, NULL, "1"),
    WORD(moe.router.order, NULL, "score_then_topk", import_orders),
    BOOL(moe.router.normalize, NULL, "true"),
    LINEAR_DEFAULTS,
};

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
    WORD(moe.router.score, "score_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "route_norm", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    NUMBER(moe.router.scale, "route_scale", "1"),
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
    WORD(moe.router.order, NULL, "topk_then_score", import_orders),
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
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "route_norm", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    NUMBER(moe.router.scale, "router_scaling_factor", "1"),
    KNOWN("enable_moe_fp32_combine"),
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
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, NULL, "true"),
    BOOL(moe.router.bias, NULL, "true"),
    NUMBER(moe.router.scale, "moe_routed_scaling_factor", "1"),
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
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
};

static const struct import_field kolibri1[] = {
    COUNT(norms_per_layer, NULL, "4"),
    COUNT(attention.window, "sliding_window", "513"),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", "512"),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "false"),
    BOOL(moe.router.bias, NULL, "true"),
};

/* Pangu Pro MoE: all four products of attention have biases, and every expert of the router a
 * learned scale, counted as its bias; of each of eight groups one expert is chosen. Source of
 * names: vllm-ascend models/pangu_moe.py. */
static const struct import_field pangu_pro[] = {
    COUNT(dense_intermediate, "intermediate_size", "0"),
    BOOL(attention.bias, NULL, "true"),
    BOOL(attention.output_bias, NULL, "true"),
    COUNT(moe.experts, "num_experts", NULL),
    COUNT(moe.intermediate, "moe_intermediate_size", NULL),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", "0"),
    BOOL(moe.router.linear_bias, NULL, "true"),
    KNOWN("num_groups"),
    KNOWN("routed_expert_groups"),
    KNOWN("norm_topk_prob"),
};

static const struct import_family families[] = {
    {{"ernie4_5_moe", "Ernie4_5_MoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(ernie)},
     import_finish_ernie},
    {{"ernie4_5_moe_vl", "ernie4_5_vl_moe", "ernie4_5_vl_moe_text",
      "Ernie4_5_VLMoeForConditionalGeneration", "Ernie4_5_VL_MoeForConditionalGeneration",
      NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(ernie), FIELDS(ernie_vl)},
     import_finish_ernie_vl},
    {{"hunyuan_v1_moe", "hunyuan", "HunYuanMoEV1ForCausalLM", "HunYuanForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(hunyuan)},
     import_finish_hunyuan},
    {{"grok-1", "Grok1ModelForCausalLM", "Grok1ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(grok_1)},
     import_finish_grok},
    {{"mixtral", "MixtralForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(mixtral)},
     import_finish_mixtral},
    {{"granitemoe", "GraniteMoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(granitemoe)},
     NULL},
    {{"phimoe", "PhiMoEForCausalLM", "PhimoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(phimoe)},
     NULL},
    {{"minimax_m2", "MiniMaxM2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(minimax_m2)},
     import_finish_minimax},
    {{"minimax_m3_vl", "minimax_m3_vl_text", "minimax_m3",
      "MiniMaxM3SparseForConditionalGeneration", "MiniMaxM3SparseForCausalLM",
      "MiniMaxM3VLForConditionalGeneration", "MiniMaxM3VLForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(minimax_m3)},
     import_finish_minimax_m3},
    {{"arctic", "ArcticForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(arctic)},
     import_finish_arctic},
    {{"gpt_oss", "GptOssForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(gpt_oss)},
     import_finish_gpt_oss},
    {{"llama4", "llama4_text", "Llama4ForCausalLM", "Llama4ForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(llama4)},
     import_finish_llama4},
    {{"olmoe", "OlmoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(olmoe)},
     NULL},
    {{"qwen2_moe", "Qwen2MoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(sparse_step),
      FIELDS(qwen2_moe)},
     import_finish_qwen2_moe},
    {{"qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text", "qwen3_omni_moe",
      "qwen3_omni_moe_thinker", "qwen3_omni_moe_text", "Qwen3MoeForCausalLM",
      "Qwen3VLMoeForConditionalGeneration", "Qwen3OmniMoeForConditionalGeneration",
      "Qwen3OmniMoeThinkerForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(sparse_step),
      FIELDS(qwen3_moe)},
     import_finish_qwen3_moe},
    {{"step3p5", "step3p7", "Step3p5ForCausalLM", "Step3p7ForCausalLM",
      "Step3p7ForConditionalGeneration", "Step3p7FlashForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(step3p5)},
     import_finish_step},
    {{"step3_text", "step3_vl", "Step3TextForCausalLM", "Step3VLForConditionalGeneration",
      "Step3vForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(step3)},
     import_finish_step3},
    {{"cohere2_moe", "Cohere2MoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(cohere2_moe)},
     import_finish_cohere2_moe},
    {{"afmoe", "AfmoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(afmoe)},
     import_finish_afmoe},
    {{"aria", "aria_text", "AriaForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(aria)},
     NULL},
    {{"hy_v3", "HYV3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(hy_v3)},
     NULL},
    {{"laguna", "LagunaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(laguna)},
     import_finish_laguna},
    {{"mellum", "MellumForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(sparse_step),
      FIELDS(qwen3_moe), FIELDS(mellum)},
     import_finish_windowed},
    {{"flex_olmo", "FlexOlmoForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(olmoe), FIELDS(flex_olmo)},
     NULL},
    {{"granitemoeshared", "GraniteMoeSharedForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(granitemoe),
      FIELDS(granite_shared)},
     import_finish_minimax},
    {{"granitemoe_swa", "GraniteMoeSWAForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(granitemoe),
      FIELDS(granite_shared), FIELDS(granite_swa)},
     import_finish_granite_swa},
    {{"flint", "FlintForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(sparse_step),
      FIELDS(qwen3_moe), FIELDS(flint)},
     import_finish_flint},
    {{"kolibri1", "Kolibri1ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(sparse_step),
      FIELDS(qwen3_moe), FIELDS(kolibri1)},
     import_finish_kolibri},
    {{"dbrx", "DbrxForCausalLM", NULL}, {FIELDS(dbrx)}, NULL},
    {{"PanguProMoE", "pangu_pro_moe", "PanguProMoEForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(pangu_pro)},
     import_finish_interleaved},
};

FAMILIES(experts);
