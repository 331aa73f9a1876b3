/* Dense models with norms that have a bias or no weight, networks of two matrices, or both side
 * by side with attention. See import_table.h. */
#include "plan/hf/import_table.h"

/* A network of two matrices. */
#define TWO_MATRICES(key, act)                                                                 \
    BOOL(moe.glu, NULL, "false"), WORD(moe.activation, key, act, import_activations)

static const struct import_field arcee[] = {
    TWO_MATRICES("hidden_act", "relu2"),
};

/* xIELU has two learned numbers a layer, which are not counted (activations.py, XIELU).
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

/* LayerNorm in place of RMSNorm (vLLM models/orion.py). */
static const struct import_field orion[] = {
    BOOL(norm_bias, NULL, "true"),
};

/* Positions are slopes of the scores; absent keys are those of MptConfig. import_finish_mpt. */
static const struct import_field mpt[] = {
    COUNT(layers, "n_layers", "24"),
    COUNT(hidden, "d_model", "2048"),
    COUNT(vocab, "vocab_size", "50368"),
    COUNT(max_position, "max_seq_len", "2048"),
    BOOL(rotary, NULL, "false"),
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
    {{"arcee", "ArceeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(arcee)},
     import_finish_llama},
    {{"apertus", "apertus1p5_text", "ApertusForCausalLM", "Apertus1p5ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(apertus)},
     import_finish_llama},
    {{"nemotron", "NemotronForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(nemotron)},
     import_finish_llama},
    {{"starcoder2", "Starcoder2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(starcoder2)},
     import_finish_llama},
    {{"phi", "PhiForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(phi)},
     import_finish_phi},
    {{"gptj", "codegen", "GPTJForCausalLM", "CodeGenForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gptj)},
     import_finish_gptj},
    {{"gpt_neox", "GPTNeoXForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(gpt_neox)},
     import_finish_llama},
    {{"falcon", "FalconForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(falcon)},
     import_finish_falcon},
    {{"cohere", "CohereForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(cohere)},
     import_finish_llama},
    {{"cohere2", "cohere_compass", "cohere_compass_text", "Cohere2ForCausalLM",
      "CohereCompassForCausalLM", "CohereCompassForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(cohere), FIELDS(cohere2)},
     import_finish_exaone4},
    {{"stablelm", "StableLmForCausalLM", "StableLMEpochForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(stablelm)},
     import_finish_stablelm},
    {{"nanochat", "NanoChatForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(nanochat)},
     import_finish_llama},
    {{"jais2", "Jais2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(jais2)},
     import_finish_llama},
    {{"orion", "OrionForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(orion)},
     import_finish_llama},
    {{"mpt", "MptForCausalLM", "MPTForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(import_dense_fields),
      FIELDS(mpt)},
     import_finish_mpt},
};

FAMILIES(plain);
