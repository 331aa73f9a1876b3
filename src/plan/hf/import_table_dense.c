/* Dense models with RMS norms and gated networks. See import_table.h. */
#include "plan/hf/import_table.h"

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
    WORD(moe.activation, "hidden_activation", "gelu_pytorch_tanh", import_activations),
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

/* Muse Glimmer: norms before and behind both parts, a gate as wide as the heads beside q; norms
 * of heads have no weights (transformers models/muse_glimmer). */
static const struct import_field muse_glimmer[] = {
    WORD(moe.activation, "hidden_activation", "silu", import_activations),
    COUNT(attention.window, "sliding_window", "2048"),
    BOOL(attention.output_gate, "use_attn_output_gate", "true"),
    COUNT(norms_per_layer, NULL, "4"),
    KNOWN("layer_rope_theta"),
    KNOWN("no_rope_layers"),
    KNOWN("normalize_tok_embeddings"),
    KNOWN("output_multiplier"),
    KNOWN("qk_scale_factor"),
    KNOWN("use_qk_norm"),
};

static const struct import_field seed_oss[] = {
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, "attention_out_bias", "false"),
};

static const struct import_field smollm3[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
};

static const struct import_field ernie4_5[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    BOOL(attention.bias, "use_bias", "false"),
    BOOL(attention.output_bias, "use_bias", "false"),
    BOOL(mlp_bias, "use_bias", "false"),
};

static const struct import_field glm[] = {
    COUNT(attention.qk_rope_head_dim, NULL, "64"), /* of 128 (vLLM models/glm4.py) */
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

/* Its class has the biases of q, k and v without a key (modeling_glm4v.py). */
static const struct import_field glm4v[] = {
    BOOL(attention.bias, "attention_bias", "true"),
};

/* GLM-4-9B-Chat and ChatGLM3 with their own code (modeling_chatglm.py). */
static const struct import_field chatglm[] = {
    COUNT(attention.qk_rope_head_dim, NULL, "64"), /* of 128 (vLLM models/chatglm.py) */
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
    WORD(moe.activation, "activation_function", "silu", import_activations),
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

/* A sink a head, windows in some layers. */
static const struct import_field granite_dense_swa[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    COUNT(attention.window, "sliding_window", "128"),
    BOOL(attention.sinks, NULL, "true"),
    KNOWN("layer_rope_theta"),
};

/* Norms without weights; the one before the head is counted as one of [hidden] all the same. */
static const struct import_field olmo[] = {
    COUNT(norms_per_layer, NULL, "0"),
    KNOWN("clip_qkv"),
};

/* Gemma 2 without the norms behind attention and network. */
static const struct import_field vaultgemma[] = {
    COUNT(norms_per_layer, NULL, "2"),
};

/* Gemma 4 without embeddings of the layers and experts. */
static const struct import_field gemma4_unified[] = {
    COUNT(attention.window, "sliding_window", "1024"),
    COUNT(layer_embedding.width, NULL, "0"),
};

/* Latent attention before dense networks: MiniCPM3 and Youtu. */
static const struct import_field latent_dense[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    KNOWN("dim_model_base"),
    KNOWN("scale_depth"),
    KNOWN("scale_emb"),
};

/* import_finish_hyperclovax */
static const struct import_field hyperclovax[] = {
    KNOWN("use_post_norm"),
};

/* Biases of all four products of attention where `bias` says so (vLLM models/llama.py,
 * openpangu.py). */
static const struct import_field biased[] = {
    BOOL(attention.bias, "bias", "false"),
    BOOL(attention.output_bias, "bias", "false"),
};

/* The first Qwen, with its own code: two of the three matrices of a network are half as wide as
 * intermediate_size says (vLLM models/qwen.py); import_finish_qwen. */
static const struct import_field qwen[] = {
    BOOL(attention.bias, NULL, "true"),
    BOOL(attention.output_bias, NULL, "false"),
    COUNT(attention.head_dim, "kv_channels", "0"),
    KNOWN("no_bias"),
    KNOWN("seq_length"),
    KNOWN("use_dynamic_ntk"),
    KNOWN("use_logn_attn"),
    KNOWN("bf16"),
    KNOWN("fp16"),
    KNOWN("fp32"),
    KNOWN("scale_attn_weights"),
    KNOWN("softmax_in_fp32"),
    KNOWN("use_flash_attn"),
    KNOWN("use_cache_quantization"),
    KNOWN("use_cache_kernel"),
    KNOWN("onnx_safe"),
};

static const struct import_family families[] = {
    {{"llama", "mistral", "ministral3", "cwm", "iquestcoder", "LlamaForCausalLM",
      "MistralForCausalLM", "Ministral3ForCausalLM", "LLaMAForCausalLM", "CwmForCausalLM",
      NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields)},
     import_finish_llama},
    {{"gemma", "GemmaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gemma)},
     import_finish_llama},
    {{"gemma2", "Gemma2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gemma), FIELDS(gemma2)},
     import_finish_gemma2},
    {{"gemma3_text", "gemma3", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gemma), FIELDS(gemma2), FIELDS(gemma3)},
     import_finish_gemma3},
    {{"gemma4_text", "gemma4", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gemma), FIELDS(gemma2), FIELDS(gemma4)},
     import_finish_gemma4},
    {{"nemotron-nas", "DeciLMForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(nas)},
     import_finish_nas},
    {{"phi3", "Phi3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields)},
     import_finish_llama},
    {{"olmo2", "Olmo2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(olmo2)},
     import_finish_llama},
    {{"olmo3", "Olmo3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(olmo2), FIELDS(olmo3)},
     import_finish_olmo3},
    {{"exaone4", "Exaone4ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(exaone4)},
     import_finish_exaone4},
    {{"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(hunyuan_dense)},
     import_finish_llama},
    {{"mimo", "MiMoForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(mimo)},
     import_finish_dense},
    {{"muse_glimmer", "muse_glimmer_text", "MuseGlimmerForCausalLM",
      "MuseGlimmerForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(muse_glimmer)},
     import_finish_muse_glimmer},
    {{"seed_oss", "SeedOssForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(seed_oss)},
     import_finish_llama},
    {{"smollm3", "SmolLM3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(smollm3)},
     import_finish_llama},
    {{"granite", "GraniteForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields)},
     import_finish_llama},
    {{"ernie4_5", "Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(ernie4_5)},
     import_finish_llama},
    {{"glm", "GlmForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(glm)},
     import_finish_llama},
    {{"glm4", "Glm4ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(glm), FIELDS(glm4)},
     import_finish_llama},
    {{"glm4v", "glm4v_text", "Glm4vForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(glm), FIELDS(glm4), FIELDS(glm4v)},
     import_finish_llama},
    {{"chatglm", "ChatGLMModel", "ChatGLMForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(chatglm)},
     import_finish_llama},
    {{"exaone", "ExaoneForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(exaone)},
     import_finish_llama},
    {{"internlm2", "InternLM2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(internlm2)},
     import_finish_llama},
    {{"internlm3", "InternLM3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(internlm3)},
     import_finish_llama},
    {{"baichuan", "BaichuanForCausalLM", "BaiChuanForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields)},
     import_finish_llama},
    {{"minicpm", "MiniCPMForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(minicpm)},
     import_finish_llama},
    {{"qwen2", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_vl", "qwen2_vl_text", "Qwen2ForCausalLM",
      "Qwen2_5_VLForConditionalGeneration", "Qwen2VLForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(qwen2)},
     import_finish_dense},
    {{"qwen3", "qwen3_vl", "qwen3_vl_text", "Qwen3ForCausalLM",
      "Qwen3VLForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(head_norms)},
     import_finish_dense},
    {{"gemma4_unified_text", "gemma4_unified", "Gemma4UnifiedForCausalLM",
      "Gemma4UnifiedForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gemma), FIELDS(gemma2), FIELDS(gemma4), FIELDS(gemma4_unified)},
     import_finish_gemma4},
    {{"granite_swa", "GraniteSWAForCausalLM", "GraniteSwaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(granite_dense_swa)},
     import_finish_granite_dense_swa},
    {{"olmo", "OlmoForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(olmo)},
     import_finish_llama},
    {{"helium", "HeliumForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields)},
     import_finish_llama},
    {{"ministral", "MinistralForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields)},
     import_finish_llama},
    {{"vaultgemma", "VaultGemmaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gemma), FIELDS(gemma2), FIELDS(vaultgemma)},
     import_finish_gemma2},
    {{"minicpm3", "youtu", "MiniCPM3ForCausalLM", "YoutuForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(import_dense_fields),
      FIELDS(latent_dense)},
     import_finish_llama},
    {{"hyperclovax", "HyperCLOVAXForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(hyperclovax)},
     import_finish_hyperclovax},
    {{"internlm", "aquila", "xverse", "PanguEmbedded", "InternLMForCausalLM",
      "AquilaForCausalLM", "AquilaModel", "XverseForCausalLM", "PanguEmbeddedForCausalLM",
      NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(biased)},
     import_finish_llama},
    {{"qwen", "QWenLMHeadModel", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(qwen)},
     import_finish_qwen},
};

FAMILIES(dense);
