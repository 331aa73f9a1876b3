/* The architectures; see import_hf_table.h. Key names and defaults are those of the
 * configuration classes of github.com/huggingface/transformers (src/transformers/models). */
#include "plan/import_hf_table.h"

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
#define FIELDS(table)                                                                          \
    {                                                                                          \
        sizeof(table) / sizeof *(table), table                                                 \
    }

static const struct import_word attentions[] = {
    {"gqa", ATTENTION_GQA}, {"mla", ATTENTION_MLA}, {NULL, 0}};
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
                                                 {"swiglu_oai", ACTIVATION_SWIGLU_OAI},
                                                 {NULL, 0}};
static const struct import_word scales[] = {{"post", GATE_POST}, {"pre", GATE_PRE}, {NULL, 0}};
/* topk_method: only noaux_tc selects on scores with a bias. */
static const struct import_word methods[] = {
    {"noaux_tc", 1}, {"greedy", 0}, {"group_limited_greedy", 0}, {NULL, 0}};
/* qk_norm_type: one norm over all heads of a layer, or one for each head. */
static const struct import_word norm_types[] = {{"per_layer", 1}, {"per_head", 0}, {NULL, 0}};

/* What every transformer says, and what is so unless a family says otherwise. */
static const struct import_field common[] = {
    COUNT(layers, "num_hidden_layers", NULL),
    COUNT(hidden, "hidden_size", NULL),
    COUNT(vocab, "vocab_size", NULL),
    BOOL(tied_embeddings, "tie_word_embeddings", "false"),
    COUNT(max_position, "max_position_embeddings", "0"),
    COUNT(attention.heads, "num_attention_heads", NULL),
    COUNT(moe.top_k, "num_experts_per_tok", NULL),
    WORD(moe.activation, "hidden_act", "silu", activations),
    COUNT(moe_every, NULL, "1"),
    COUNT(norms_per_layer, NULL, "2"),
    BOOL(moe.glu, NULL, "true"),
    COUNT(moe.router.groups, NULL, "1"),
    COUNT(moe.router.top_groups, NULL, "1"),
    REAL(moe.router.scale, NULL, "1"),
    WORD(moe.router.order, NULL, "score_then_topk", orders),
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
};

static const struct import_field gpt_oss[] = {
    LOCAL_EXPERTS,
    BOOL(attention.bias, "attention_bias", "true"),
    BOOL(attention.output_bias, "attention_bias", "true"),
    BOOL(attention.sinks, NULL, "true"),
    WORD(moe.activation, NULL, "swiglu_oai", activations),
    BOOL(moe.bias, NULL, "true"),
    WORD(moe.router.order, NULL, "topk_then_score", orders),
    BOOL(moe.router.linear_bias, NULL, "true"),
};

static const struct import_field llama4[] = {
    LOCAL_EXPERTS,
    COUNT(dense_intermediate, "intermediate_size_mlp", NULL),
    COUNT(moe_every, "interleave_moe_layer_step", "1"),
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    COUNT(moe.shared_experts, NULL, "1"),
    WORD(moe.scale, NULL, "pre", scales),
    WORD(moe.router.score, NULL, "sigmoid", scores),
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
    BOOL(attention.bias, "qkv_bias", "true"),
    COUNT(moe.shared_experts, NULL, "1"),
    COUNT(moe.shared_intermediate, "shared_expert_intermediate_size", NULL),
    BOOL(moe.shared_gate, NULL, "true"),
};

static const struct import_field qwen3_moe[] = {
    BOOL(attention.bias, "attention_bias", "false"),
    BOOL(attention.output_bias, "attention_bias", "false"),
    BOOL(attention.qk_norm, NULL, "true"),
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
    BOOL(moe.glu, NULL, "true"),
    COUNT(moe.router.groups, NULL, "1"),
    COUNT(moe.router.top_groups, NULL, "1"),
    REAL(moe.router.scale, NULL, "1"),
    WORD(moe.router.order, NULL, "score_then_topk", orders),
    BOOL(moe.router.normalize, NULL, "true"),
};

const struct import_family import_families[] = {
    {{"deepseek_v2", "DeepseekV2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v2)},
     import_finish_deepseek},
    {{"deepseek_v3", "deepseek_v32", "kimi_k2", "DeepseekV3ForCausalLM",
      "DeepseekV32ForCausalLM", "KimiK2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v3)},
     import_finish_deepseek},
    {{"glm_moe_dsa", "GlmMoeDsaForCausalLM", NULL},
     {FIELDS(common), FIELDS(latent_heads), FIELDS(routed_experts), FIELDS(deepseek_v3)},
     import_finish_deepseek},
    {{"glm4_moe", "Glm4MoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(routed_experts), FIELDS(glm4_moe)},
     import_finish_deepseek},
    {{"grok-1", "Grok1ModelForCausalLM", "Grok1ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(grok_1)},
     NULL},
    {{"mixtral", "MixtralForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(mixtral)},
     NULL},
    {{"granitemoe", "GraniteMoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(granitemoe)},
     NULL},
    {{"phimoe", "PhiMoEForCausalLM", "PhimoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(phimoe)},
     NULL},
    {{"minimax_m2", "MiniMaxM2ForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(minimax_m2)},
     import_finish_minimax},
    {{"arctic", "ArcticForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(arctic)},
     import_finish_arctic},
    {{"gpt_oss", "GptOssForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(gpt_oss)},
     NULL},
    {{"llama4", "llama4_text", "Llama4ForCausalLM", "Llama4ForConditionalGeneration", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(llama4)},
     import_finish_interleaved},
    {{"olmoe", "OlmoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(olmoe)},
     NULL},
    {{"qwen2_moe", "Qwen2MoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(sparse_step), FIELDS(qwen2_moe)},
     import_finish_interleaved},
    {{"qwen3_moe", "Qwen3MoeForCausalLM", NULL},
     {FIELDS(common), FIELDS(grouped_heads), FIELDS(sparse_step), FIELDS(qwen3_moe)},
     import_finish_interleaved},
    {{"dbrx", "DbrxForCausalLM", NULL}, {FIELDS(dbrx)}, NULL},
};

const size_t import_n_families = sizeof import_families / sizeof *import_families;

const struct import_refusal import_refusals[] = {
    {"bamba", "Mamba and attention layers"},
    {"deepseek_v4", "compressed sparse attention"},
    {"DeepseekV4", "compressed sparse attention"},
    {"gemma", "local and global layers of different shapes"},
    {"Gemma", "local and global layers of different shapes"},
    {"granitemoehybrid", "Mamba and attention layers"},
    {"jamba", "Mamba and attention layers"},
    {"Jamba", "Mamba and attention layers"},
    {"kimi_linear", "linear attention and MLA layers"},
    {"KimiLinear", "linear attention and MLA layers"},
    {"mimo_v2", "window and full layers of different shapes"},
    {"MiMoV2", "window and full layers of different shapes"},
    {"minimax_m1", "linear and softmax attention layers"},
    {"minimax_m3", "sparse and dense attention layers"},
    {"minimax_text", "linear and softmax attention layers"},
    {"MiniMaxM1", "linear and softmax attention layers"},
    {"MiniMaxM3", "sparse and dense attention layers"},
    {"MiniMaxText", "linear and softmax attention layers"},
    {"nemotron_h", "Mamba2 and attention layers"},
    {"NemotronH", "Mamba2 and attention layers"},
    {"qwen3_5", "gated delta net and attention layers"},
    {"Qwen3_5", "gated delta net and attention layers"},
    {"qwen3_next", "gated delta net and attention layers"},
    {"Qwen3Next", "gated delta net and attention layers"},
    {"step3p", "window and full layers of different shapes"},
    {"Step3p", "window and full layers of different shapes"},
};

const size_t import_n_refusals = sizeof import_refusals / sizeof *import_refusals;
