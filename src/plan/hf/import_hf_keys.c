/* Keys of a config.json that nothing reads: each is either known to change no memory, or said.
 */
#include <string.h>

#include "base/text.h"
#include "plan/hf/import_hf_table.h"

/* What a rule between keys reads (import_hf_finish.c, import_hf_layers.c, import_hf_window.c),
 * and what import_hf.c, import_hf_format.c and import_hf_notes.c do. */
static const char *const read_beside[] = {
    "architectures",
    "attention_head_dim",
    "attention_other_setting",
    "attn_layer_offset",
    "attn_layer_period",
    "attn_type_list",
    "audio_config",
    "block_configs",
    "candidate_block_size",
    "candidate_source_layer_id",
    "candidate_topk_blocks",
    "code2wav_config",
    "compress_rate_csa",
    "compress_rate_hca",
    "compress_ratios",
    "conv_bias",
    "downsample_ratio",
    "enable_moe_block",
    "engram_head_dim",
    "engram_layer_ids",
    "engram_max_ngram_size",
    "engram_n_heads",
    "engram_num_embeddings",
    "expert_dtype",
    "expert_layer_offset",
    "first_k_dense_replace",
    "full_attention_interval",
    "full_attn_idxs",
    "hc_mult",
    "hybrid_layer_pattern",
    "hybrid_override_pattern",
    "index_skip_topk_offset",
    "index_source_layer_ids",
    "index_topk_freq",
    "index_topk_pattern",
    "indexer_types",
    "kv_source_layer_ids",
    "layer_types",
    "llm_config",
    "layers_block_type",
    "linear_attn_config",
    "linear_conv_kernel_dim",
    "linear_head_dim",
    "linear_num_heads",
    "mamba_d_head",
    "mamba_dt_rank",
    "mamba_expand",
    "max_window_layers",
    "mlp_layer_types",
    "mlp_only_layers",
    "mm_tokens_per_image",
    "model_type",
    "moe_layer_end_index",
    "moe_layer_freq",
    "moe_layer_interval",
    "moe_layers",
    "moe_layers_enum",
    "mtp_hybrid_override_pattern",
    "mtp_layers_block_type",
    "mtp_transformer_layers",
    "multimodal_projector_bias",
    "name",
    "no_rope_layer_interval",
    "no_rope_layers",
    "num_global_key_value_heads",
    "num_kv_shared_layers",
    "num_local_experts",
    "num_sliding_attention_heads",
    "parallel_attn_mlp_res",
    "projector_hidden_size",
    "quantization_config",
    "sliding_window",
    "sliding_window_pattern",
    "_sliding_window_pattern",
    "sliding_window_size",
    "sparse_attention_config",
    "spatial_merge_size",
    "talker_config",
    "text_config",
    "tie_word_embeddings",
    "thinker_config",
    "use_double_wide_mlp",
    "use_sliding_window",
    "vision_config",
    "vision_dim",
    "vision_downsample_ratio",
    "vision_feature_layer",
    "vision_inter_dim",
    "vision_n_heads",
    "vision_n_layers",
    "vision_patch_size",
};

/* Positions, scales, bounds, losses, tokens of a vocabulary, how to draw weights and answers,
 * which code to load: neither parameters nor activations, cache or state. */
static const char *const harmless[] = {
    "_name_or_path",
    "dynamic_image_size", /* how an image is cut: what a sequence has of patches */
    "force_image_size",
    "max_dynamic_patch",
    "min_dynamic_patch",
    "ps_version",
    "select_layer",
    "template",
    "use_bfloat16",
    "use_thumbnail",
    "engram_compressed_vocab_size", /* how n-grams are hashed to rows */
    "engram_vocab_size",
    "ep_size",
    "expand",            /* mamba_num_heads x mamba_head_dim say it */
    "experts_per_token", /* beside num_experts_per_tok */
    "id2label",
    "index_share_for_mtp_iteration",
    "initial_context_length",
    "interleave_moe_layer_step",
    "label2id",
    "mamba_conv_bias", /* counted */
    "mamba_hidden_act",
    "mla_use_nope",
    "model_max_length",
    "moe_norm_min",
    "moe_router_dtype",
    "moe_shared_expert_overlap",
    "num_attention_heads",
    "original_max_position_embeddings",
    "pretraining_tp",
    "process_image_mode",
    "qk_head_dim", /* the sum of two others */
    "residual_in_fp32",
    "seq_aux",
    "top_k",
    "top_p",
    "torch_dtype",
    "dtype",
    "transformers_version",
    "typical_p",
    "use_associative_scan",
    "use_bidirectional_attention",
    "use_cache",
    "use_conv_bias", /* counted */
    "use_gemma_norm",
    "use_grouped_topk",
    "use_mamba_kernels",
    "use_mtp", /* num_mtp_modules says how many */
    "use_residual",
    "use_unified_vision_chunk",
    "activation_situ_beta",
    "activation_situ_linear_beta",
    "attention_value_scale",
    "attn_scale",
    "attn_temperature_tuning",
    "floor_scale",
    "embedding_scale",
    "ignore_index",
    "image_grid_pinpoints",
    "image_seq_length",
    "length_penalty",
    "logits_scaling",
    "max_length",
    "num_beam_groups",
    "num_beams",
    "num_logits_to_keep",
    "num_return_sequences",
    "output_gate_type",
    "output_router_logits",
    "position_embedding_type",
    "projector_hidden_act",
    "query_pre_attn_scalar",
    "rescale_prenorm_residual",
    "return_dict",
    "swiglu_alpha",
    "swiglu_limit",
    "temperature",
    "tokenizer_class",
    "tokens_per_second",
    "vision_feature_select_strategy",
    "vision_max_n_token",
    "vision_max_wh_ratio",
    "vision_min_pixels",
    "vision_soft_tokens_per_image",
    "auto_map",
    "aux_loss_alpha",
};

/* And by a part of their names. */
static const char *const harmless_parts[] = {
    "dropout",  "initializer", "jitter",    "pdrop",    "rope",        "rotary",
    "sinkhorn", "softcap",     "time_step", "token_id", "token_index", "_loss_",
};

/* Or by their end. */
static const char *const harmless_ends[] = {
    "_alpha_factor", "_beta_factor",      "_coef",        "_eps",     "_epsilon",
    "_multiplier",   "_multiplier_scale", "_placeholder", "_penalty",
};

enum { READ_BESIDE = sizeof read_beside / sizeof *read_beside };
enum { HARMLESS = sizeof harmless / sizeof *harmless };
enum { HARMLESS_PARTS = sizeof harmless_parts / sizeof *harmless_parts };
enum { HARMLESS_ENDS = sizeof harmless_ends / sizeof *harmless_ends };

static bool lists(const char *const *names, size_t n, const char *key)
{
    for (size_t i = 0; i < n; i++)
        if (text_equal(names[i], key))
            return true;
    return false;
}

static bool is_harmless(const char *key)
{
    for (size_t i = 0; i < HARMLESS_PARTS; i++)
        if (strstr(key, harmless_parts[i]))
            return true;
    for (size_t i = 0; i < HARMLESS_ENDS; i++)
        if (text_ends(key, harmless_ends[i]))
            return true;
    return lists(harmless, HARMLESS, key);
}

/* A field of the family reads it, or something below it. */
static bool is_field(const struct import_family *family, const char *key)
{
    const size_t n = strlen(key);
    for (size_t i = 0; i < sizeof family->parts / sizeof *family->parts; i++)
        for (size_t j = 0; j < family->parts[i].n; j++) {
            const char *read = family->parts[i].field[j].key;
            if (read && text_starts(read, key) && (read[n] == '\0' || read[n] == '.'))
                return true;
        }
    return false;
}

bool import_key_is_read(const struct import_family *family, const char *key)
{
    return is_harmless(key) || lists(read_beside, READ_BESIDE, key) || is_field(family, key);
}
