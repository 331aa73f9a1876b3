/* Recurrences among the layers. See import_table.h. */
#include "plan/hf/import_table.h"

/* Qwen3-Next and Qwen3.5: gated delta nets; gated attention in every fourth layer. */
static const struct import_field delta_net[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
    BOOL(attention.output_gate, "attn_output_gate", "true"),
    WORD(linear.kind, NULL, "gated_delta_net", import_linear_kinds),
    COUNT(linear.heads, "linear_num_value_heads", "32"),
    COUNT(linear.head_dim, "linear_value_head_dim", "128"),
    COUNT(linear.key_heads, "linear_num_key_heads", "16"),
    COUNT(linear.key_dim, "linear_key_head_dim", "128"),
    COUNT(linear.conv, "linear_conv_kernel_dim", "4"),
    WORD(linear.state, "mamba_ssm_dtype", "none", import_formats),
    COUNT(dense_intermediate, "intermediate_size", "0"),
    BOOL(moe.router.normalize, NULL, "true"),
};

static const struct import_field delta_dense[] = {
    COUNT(attention.qk_rope_head_dim, NULL, "64"), /* of 256, as import_rotary reads it */
    COUNT(mtp_layers, "mtp_num_hidden_layers", "0"),
};

/* Its experts; mlp_only_layers is read besides. */
static const struct import_field delta_experts[] = {
    COUNT(attention.qk_rope_head_dim, NULL, "64"), /* the same */
    COUNT(moe_every, "decoder_sparse_step", "1"),
    COUNT(mtp_layers, "mtp_num_hidden_layers", "1"),
    COUNT(moe.experts, "num_experts", "512"),
    COUNT(moe.intermediate, "moe_intermediate_size", "512"),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", "512"),
    BOOL(moe.shared_gate, NULL, "true"),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
};

/* Of Kimi-K3 what the text model of that name has besides. Source of names: vLLM
 * vllm/models/kimi_k3. */
static const struct import_field kimi_linear[] = {
    COUNT(moe.top_k, "num_experts_per_token", NULL),
    BOOL(rotary, NULL, "false"), /* vLLM models/kimi_linear.py: rotary_emb=None */
    WORD(moe.router.score, "moe_router_activation_func", "sigmoid", import_scores),
    BOOL(moe.router.normalize, "moe_renormalize", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    WORD(linear.kind, NULL, "kimi_delta", import_linear_kinds),
    COUNT(linear.heads, "linear_attn_config.num_heads", NULL),
    COUNT(linear.head_dim, "linear_attn_config.head_dim", NULL),
    COUNT(linear.conv, "linear_attn_config.short_conv_kernel_size", "4"),
    BOOL(linear.full_rank_gate, "linear_attn_config.use_full_rank_gate", "false"),
    WORD(linear.state, NULL, "float32", import_formats),
    BOOL(attention.output_gate, "mla_use_output_gate", "false"),
    COUNT(moe.router.groups, "num_expert_group", "1"),
    COUNT(moe.router.top_groups, "topk_group", "1"),
    KNOWN("topk_method"),
    COUNT(moe.latent_size, "routed_expert_hidden_size", "0"),
    BOOL(moe.latent_norm, "latent_moe_use_norm", "false"),
    COUNT(residual_block, "attn_res_block_size", "0"),
};

/* The expert keys of Mixtral, which several share: experts as wide as a dense network. */
#define LOCAL_EXPERTS                                                                          \
    COUNT(moe.experts, "num_local_experts", NULL),                                             \
        COUNT(moe.intermediate, "intermediate_size", NULL)

static const struct import_field lightning[] = {
    LOCAL_EXPERTS,
    BOOL(moe.router.normalize, NULL, "true"),
    WORD(linear.kind, NULL, "lightning", import_linear_kinds),
    COUNT(linear.chunk, "block_size", "256"),
};

static const struct import_field nemotron_h[] = {
    BOOL(rotary, NULL, "false"),
    COUNT(layers, "num_hidden_layers", "1"), /* else as many as the list has, see the finish */
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    WORD(moe.activation, "mlp_hidden_act", "relu2", import_activations),
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
    NUMBER(moe.router.scale, "routed_scaling_factor", "1"),
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, NULL, "true"),
    WORD(linear.kind, NULL, "mamba2", import_linear_kinds),
    COUNT(linear.heads, "mamba_num_heads", NULL),
    COUNT(linear.head_dim, "mamba_head_dim", NULL),
    COUNT(linear.key_heads, "n_groups", "8"),
    COUNT(linear.key_dim, "ssm_state_size", "128"),
    COUNT(linear.conv, "conv_kernel", "4"),
    COUNT(linear.chunk, "chunk_size", "128"),
    WORD(linear.state, "mamba_ssm_cache_dtype", "float32", import_formats),
};

static const struct import_field jamba[] = {
    BOOL(rotary, NULL, "false"),
    COUNT(moe_every, "expert_layer_period", "2"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(moe.experts, "num_experts", "16"),
    COUNT(moe.intermediate, "intermediate_size", NULL),
    BOOL(moe.router.normalize, NULL, "false"),
    WORD(linear.kind, NULL, "mamba1", import_linear_kinds),
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
    WORD(moe.router.order, NULL, "topk_then_score", import_orders),
    WORD(linear.kind, NULL, "mamba2", import_linear_kinds),
    COUNT(linear.heads, "mamba_n_heads", "128"),
    COUNT(linear.key_heads, "mamba_n_groups", "1"),
    COUNT(linear.key_dim, "mamba_d_state", "256"),
    COUNT(linear.conv, "mamba_d_conv", "4"),
    COUNT(linear.chunk, "mamba_chunk_size", "256"),
};

/* Mamba-2 and attention, each with a dense network; import_finish_bamba. */
static const struct import_field bamba[] = {
    COUNT(dense_intermediate, "intermediate_size", NULL),
    WORD(linear.kind, NULL, "mamba2", import_linear_kinds),
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
    WORD(moe.router.score, NULL, "sigmoid", import_scores),
    BOOL(moe.router.normalize, "norm_topk_prob", "true"),
    BOOL(moe.router.bias, "use_expert_bias", "true"),
    NUMBER(moe.router.scale, "routed_scaling_factor", "1"),
    WORD(linear.kind, NULL, "short_conv", import_linear_kinds),
    COUNT(linear.conv, "conv_L_cache", "3"),
};

/* Short convolutions before dense networks; import_finish_lfm2_dense says how wide. */
static const struct import_field lfm2_dense[] = {
    BOOL(tied_embeddings, "tie_embedding", "true"),
    BOOL(attention.qk_norm, NULL, "true"),
    WORD(linear.kind, NULL, "short_conv", import_linear_kinds),
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

/* Recurrences alone, each behind one norm; no layer has a network. Absent keys are those of
 * MambaConfig and Mamba2Config. */
#define RECURRENT                                                                              \
    COUNT(attention.heads, NULL, "1"), COUNT(norms_per_layer, NULL, "1"),                      \
        COUNT(linear.conv, "conv_kernel", "4"), BOOL(moe.router.normalize, NULL, "true"),      \
        WORD(moe.activation, NULL, "silu", import_activations)

static const struct import_field mamba[] = {
    RECURRENT,
    COUNT(hidden, "hidden_size", "768"),
    COUNT(layers, "num_hidden_layers", "32"),
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    WORD(linear.kind, NULL, "mamba1", import_linear_kinds),
    COUNT(linear.key_dim, "state_size", "16"),
    BOOL(linear.bare, NULL, "true"), /* falcon_mamba's norms have no weights */
    KNOWN("intermediate_size"),      /* import_finish_mamba */
    KNOWN("d_inner"),
    KNOWN("d_model"),
    KNOWN("n_layer"),
    KNOWN("expand"),
    KNOWN("fused_add_norm"),
    KNOWN("rms_norm"),
    KNOWN("ssm_cfg"),
    KNOWN("use_mambapy"),
};

static const struct import_field mamba2[] = {
    RECURRENT,
    COUNT(hidden, "hidden_size", "4096"),
    COUNT(layers, "num_hidden_layers", "64"),
    WORD(linear.kind, NULL, "mamba2", import_linear_kinds),
    COUNT(linear.heads, "num_heads", "128"),
    COUNT(linear.head_dim, "head_dim", "64"),
    COUNT(linear.key_heads, "n_groups", "8"),
    COUNT(linear.key_dim, "state_size", "128"),
    COUNT(linear.chunk, "chunk_size", "256"),
    KNOWN("time_step_rank"),
    KNOWN("norm_before_gate"),
    KNOWN("rms_norm"),
};

/* The layers of Qwen3.5 with plain attention, norms of its queries and keys over all heads. */
static const struct import_field olmo_hybrid[] = {
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(linear.heads, "linear_num_value_heads", "30"),
    COUNT(linear.key_heads, "linear_num_key_heads", "30"),
    COUNT(linear.key_dim, "linear_key_head_dim", "96"),
    COUNT(linear.head_dim, "linear_value_head_dim", "192"),
    BOOL(attention.qk_norm_all_heads, NULL, "true"),
    BOOL(attention.output_gate, NULL, "false"),
    KNOWN("linear_a_log_max"),
    KNOWN("linear_dt_min"),
    KNOWN("linear_dt_max"),
    KNOWN("linear_dt_init_floor"),
    KNOWN("linear_allow_neg_eigval"),
};

/* Those of Qwen3-Next with windows and plain attention; all layers have experts. */
static const struct import_field lara_mini[] = {
    COUNT(linear.heads, "linear_num_value_heads", "16"),
    COUNT(linear.key_heads, "linear_num_key_heads", "8"),
    COUNT(attention.window, "sliding_window", "512"),
    BOOL(attention.output_gate, NULL, "false"),
    COUNT(moe.experts, "num_experts", "128"),
    COUNT(moe_every, NULL, "1"),
    COUNT(mtp_layers, NULL, "0"),
    BOOL(moe.shared_gate, NULL, "false"),
};

/* Norms before and behind both parts, windows, a gate per head. */
static const struct import_field lfm3[] = {
    BOOL(tied_embeddings, "tie_word_embeddings", "true"),
    COUNT(dense_intermediate, "intermediate_size", NULL),
    COUNT(linear.conv, "conv_L_cache", "7"),
    COUNT(attention.window, "sliding_window", "256"),
    BOOL(attention.head_gate, "use_attention_gate", "true"),
    KNOWN("use_sandwich_norm"), /* import_finish_lfm3 */
};

/* Attention and Mamba-2 side by side behind one norm, then a dense network; absent keys are
 * those of FalconH1Config. */
static const struct import_field falcon_h1[] = {
    BOOL(moe.router.normalize, NULL, "true"),
    COUNT(dense_intermediate, "intermediate_size", "14336"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(mlp_bias, "mlp_bias", "false"),
    WORD(linear.kind, NULL, "mamba2", import_linear_kinds),
    COUNT(linear.heads, "mamba_n_heads", "128"),
    COUNT(linear.key_heads, "mamba_n_groups", "1"),
    COUNT(linear.key_dim, "mamba_d_state", "256"),
    COUNT(linear.conv, "mamba_d_conv", "4"),
    COUNT(linear.chunk, "mamba_chunk_size", "256"),
    KNOWN("mamba_rms_norm"), /* import_finish_falcon_h1 */
    KNOWN("mamba_d_ssm"),
    KNOWN("mamba_norm_before_gate"),
    KNOWN("mamba_use_mlp"),
    KNOWN("mlp_expansion_factor"),
    KNOWN("mlp_multipliers"),
    KNOWN("ssm_multipliers"),
    KNOWN("attn_layer_indices"),
};

static const struct import_family families[] = {
    {{"qwen3_next", "qwen3_5_moe", "qwen3_5_moe_text", "Qwen3NextForCausalLM",
      "Qwen3_5MoeForCausalLM", "Qwen3_5MoeForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(delta_net),
      FIELDS(delta_experts)},
     import_finish_qwen3_next},
    {{"qwen3_5", "qwen3_5_text", "Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(delta_net),
      FIELDS(delta_dense)},
     import_finish_qwen3_next},
    {{"kimi_linear", "kimi_k3", "KimiLinearForCausalLM", "KimiK3ForConditionalGeneration",
      NULL},
     {FIELDS(import_common), FIELDS(import_latent_heads), FIELDS(import_numbered_experts),
      FIELDS(kimi_linear)},
     import_finish_kimi},
    {{"minimax_text_01", "minimax_m1", "minimax", "MiniMaxText01ForCausalLM",
      "MiniMaxM1ForCausalLM", "MiniMaxForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(lightning)},
     import_finish_lightning},
    {{"nemotron_h", "NemotronHForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(nemotron_h)},
     import_finish_nemotron},
    {{"jamba", "JambaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(jamba)},
     import_finish_jamba},
    {{"granitemoehybrid", "GraniteMoeHybridForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(granite_hybrid)},
     import_finish_granite},
    {{"bamba", "BambaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(bamba)},
     import_finish_bamba},
    {{"lfm2_moe", "Lfm2MoeForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(lfm2_moe)},
     import_finish_lfm2},
    {{"lfm2", "Lfm2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(lfm2_dense)},
     import_finish_lfm2_dense},
    {{"mamba", "falcon_mamba", "MambaForCausalLM", "FalconMambaForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(mamba)},
     import_finish_mamba},
    {{"mamba2", "Mamba2ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(mamba2)},
     import_finish_mamba2},
    {{"olmo_hybrid", "OlmoHybridForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(delta_net),
      FIELDS(olmo_hybrid)},
     import_finish_qwen3_next},
    {{"lara_mini", "LaraMiniForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(delta_net),
      FIELDS(delta_experts), FIELDS(lara_mini)},
     import_finish_lara},
    {{"lfm3", "Lfm3ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(lfm2_dense), FIELDS(lfm3)},
     import_finish_lfm3},
    {{"falcon_h1", "FalconH1ForCausalLM", NULL},
     {FIELDS(import_common), FIELDS(import_grouped_heads), FIELDS(falcon_h1)},
     import_finish_falcon_h1},
};

FAMILIES(recurrent);
