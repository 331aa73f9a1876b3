/* Dense models. See import_table.h. */
#include "plan/hf/import_table.h"

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

static const struct import_field seed_oss[] = {
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, "attention_out_bias", "false"),
};

static const struct import_field smollm3[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
};

/* A network of two matrices. */
#define TWO_MATRICES(key, act)                                                                 \
    BOOL(moe.glu, NULL, "false"), WORD(moe.activation, key, act, import_activations)

static const struct import_field arcee[] = {
    TWO_MATRICES("hidden_act", "relu2"),
};

/* xIELU has two learned numbers a layer, which are not counted (import_activations.py, XIELU).
 */
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

static const struct import_field nanochat[] = {
    COUNT(norms_per_layer, NULL, "0"),
    TWO_MATRICES("hidden_act", "relu2"),
};

static const struct import_field jais2[] = {
    TWO_MATRICES("hidden_act", "relu2"),
    BOOL(norm_bias, NULL, "true"),
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, "attention_bias", "true"),
    BOOL(mlp_bias, "mlp_bias", "true"),
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

/* LayerNorm in place of RMSNorm (vLLM models/orion.py). */
static const struct import_field orion[] = {
    BOOL(norm_bias, NULL, "true"),
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

/* Positions are slopes of the scores; absent keys are those of MptConfig. import_finish_mpt. */
static const struct import_field mpt[] = {
    COUNT(layers, "n_layers", "24"),
    COUNT(hidden, "d_model", "2048"),
    COUNT(vocab, "vocab_size", "50368"),
    COUNT(max_position, "max_seq_len", "2048"),
    COUNT(attention.heads, "n_heads", "16"),
    COUNT(dense_intermediate, "expansion_ratio", "4"),
    COUNT(attention.window, NULL, "0"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    WORD(moe.activation, NULL, "gelu", import_activations),
    BOOL(moe.glu, NULL, "false"),
    KNOWN("attn_config"),
    KNOWN("no_bias"),
    KNOWN("norm_type"),
    KNOWN("learned_pos_emb"), /* no code reads it */
    KNOWN("init_config"),
    KNOWN("init_device"),
    KNOWN("embedding_fraction"),
    KNOWN("logit_scale"),
    KNOWN("verbose"),
};

static const struct import_family families[] = {
    {{"llama", "mistral", "ministral3", "cwm", "iquestcoder", "LlamaForCausalLM",
      "MistralForCausalLM", "Ministral3ForCausalLM", "LLaMAForCausalLM", "CwmForCausalLM",
      NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"gemma", "GemmaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gemma)},
     import_finish_llama},
    {{"gemma2", "Gemma2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gemma),
      FIELDS(gemma2)},
     import_finish_gemma2},
    {{"gemma3_text", "gemma3", "Gemma3ForCausalLM", "Gemma3ForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gemma),
      FIELDS(gemma2), FIELDS(gemma3)},
     import_finish_gemma3},
    {{"gemma4_text", "gemma4", "Gemma4ForCausalLM", "Gemma4ForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gemma),
      FIELDS(gemma2), FIELDS(gemma4)},
     import_finish_gemma4},
    {{"nemotron-nas", "DeciLMForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(nas)},
     import_finish_nas},
    {{"phi3", "Phi3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"olmo2", "Olmo2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(olmo2)},
     import_finish_llama},
    {{"olmo3", "Olmo3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(olmo2),
      FIELDS(olmo3)},
     import_finish_olmo3},
    {{"exaone4", "Exaone4ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(exaone4)},
     import_finish_exaone4},
    {{"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense),
      FIELDS(hunyuan_dense)},
     import_finish_llama},
    {{"mimo", "MiMoForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(mimo)},
     import_finish_dense},
    {{"seed_oss", "SeedOssForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(seed_oss)},
     import_finish_llama},
    {{"smollm3", "SmolLM3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(smollm3)},
     import_finish_llama},
    {{"arcee", "ArceeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(arcee)},
     import_finish_llama},
    {{"apertus", "apertus1p5_text", "ApertusForCausalLM", "Apertus1p5ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(apertus)},
     import_finish_llama},
    {{"granite", "GraniteForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"nemotron", "NemotronForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(nemotron)},
     import_finish_llama},
    {{"starcoder2", "Starcoder2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(starcoder2)},
     import_finish_llama},
    {{"phi", "PhiForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(phi)},
     import_finish_phi},
    {{"gptj", "codegen", "GPTJForCausalLM", "CodeGenForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gptj)},
     import_finish_gptj},
    {{"gpt_neox", "GPTNeoXForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gpt_neox)},
     import_finish_llama},
    {{"falcon", "FalconForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(falcon)},
     import_finish_falcon},
    {{"cohere", "CohereForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(cohere)},
     import_finish_llama},
    {{"cohere2", "cohere_compass", "cohere_compass_text", "Cohere2ForCausalLM",
      "CohereCompassForCausalLM", "CohereCompassForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(cohere),
      FIELDS(cohere2)},
     import_finish_exaone4},
    {{"stablelm", "StableLmForCausalLM", "StableLMEpochForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(stablelm)},
     import_finish_stablelm},
    {{"ernie4_5", "Ernie4_5ForCausalLM", "Ernie4_5_ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(ernie4_5)},
     import_finish_llama},
    {{"glm", "GlmForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(glm)},
     import_finish_llama},
    {{"glm4", "glm4v", "glm4v_text", "Glm4ForCausalLM", "Glm4vForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(glm),
      FIELDS(glm4)},
     import_finish_llama},
    {{"chatglm", "ChatGLMModel", "ChatGLMForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(chatglm)},
     import_finish_llama},
    {{"exaone", "ExaoneForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(exaone)},
     import_finish_llama},
    {{"internlm2", "InternLM2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(internlm2)},
     import_finish_llama},
    {{"internlm3", "InternLM3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(internlm3)},
     import_finish_llama},
    {{"baichuan", "BaichuanForCausalLM", "BaiChuanForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"minicpm", "MiniCPMForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(minicpm)},
     import_finish_llama},
    {{"qwen2", "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_vl", "qwen2_vl_text", "Qwen2ForCausalLM",
      "Qwen2_5_VLForConditionalGeneration", "Qwen2VLForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(qwen2)},
     import_finish_dense},
    {{"qwen3", "qwen3_vl", "qwen3_vl_text", "Qwen3ForCausalLM",
      "Qwen3VLForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(head_norms)},
     import_finish_dense},
    {{"gemma4_unified_text", "gemma4_unified", "Gemma4UnifiedForCausalLM",
      "Gemma4UnifiedForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gemma),
      FIELDS(gemma2), FIELDS(gemma4), FIELDS(gemma4_unified)},
     import_finish_gemma4},
    {{"granite_swa", "GraniteSWAForCausalLM", "GraniteSwaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense),
      FIELDS(granite_dense_swa)},
     import_finish_granite_dense_swa},
    {{"olmo", "OlmoForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(olmo)},
     import_finish_llama},
    {{"nanochat", "NanoChatForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(nanochat)},
     import_finish_llama},
    {{"jais2", "Jais2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(jais2)},
     import_finish_llama},
    {{"helium", "HeliumForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"ministral", "MinistralForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense)},
     import_finish_llama},
    {{"vaultgemma", "VaultGemmaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(gemma),
      FIELDS(gemma2), FIELDS(vaultgemma)},
     import_finish_gemma2},
    {{"minicpm3", "youtu", "MiniCPM3ForCausalLM", "YoutuForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(dense), FIELDS(latent_dense)},
     import_finish_llama},
    {{"hyperclovax", "HyperCLOVAXForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(hyperclovax)},
     import_finish_hyperclovax},
    {{"orion", "OrionForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(orion)},
     import_finish_llama},
    {{"internlm", "aquila", "xverse", "PanguEmbedded", "InternLMForCausalLM",
      "AquilaForCausalLM", "AquilaModel", "XverseForCausalLM", "PanguEmbeddedForCausalLM",
      NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(biased)},
     import_finish_llama},
    {{"qwen", "QWenLMHeadModel", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(qwen)},
     import_finish_qwen},
    {{"mpt", "MptForCausalLM", "MPTForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(dense), FIELDS(mpt)},
     import_finish_mpt},
};

FAMILIES(dense);
