/* What else people call words; see word.h. Keys and names: alias_name.c. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/schema/alias.h"
#include "plan/schema/schema.h"
#include "plan/schema/word.h"

/* As people write them, in lower case, _ for -. */
static const struct alias {
    const char *const *words;
    const char *text, *word;
    bool same; /* says exactly the word */
} aliases[] = {
    {words_dtype, "bfloat16", "bf16", true},
    {words_dtype, "torch.bfloat16", "bf16", true},
    {words_dtype, "torch.float16", "f16", true},
    {words_dtype, "torch.float32", "f32", true},
    {words_dtype, "float16", "f16", true},
    {words_dtype, "fp16", "f16", true},
    {words_dtype, "half", "f16", true},
    {words_dtype, "float32", "f32", true},
    {words_dtype, "fp32", "f32", true},
    {words_dtype, "float", "f32", true},
    {words_dtype, "float64", "f64", true},
    {words_dtype, "fp64", "f64", true},
    {words_dtype, "double", "f64", true},
    {words_dtype, "float8", "fp8", true},
    {words_dtype, "e4m3", "fp8", true},
    {words_dtype, "fp8_e4m3", "fp8", true},
    {words_dtype, "float8_e4m3fn", "fp8", true},
    {words_dtype, "fp8_e5m2", "fp8", false},
    {words_dtype, "fp8_per_channel", "fp8_channel", true},
    {words_dtype, "fp8_blockwise", "fp8_block", true},
    {words_dtype, "fp4", "mxfp4", false},
    {words_dtype, "float4", "mxfp4", false},
    {words_dtype, "w4a16", "int4", true},
    {words_dtype, "w4a8", "int4", false},
    {words_dtype, "awq", "int4", false},
    {words_dtype, "gptq", "int4", false},
    {words_dtype, "uint4", "int4", false},
    {words_dtype, "bnb_4bit", "nf4_double", false},
    {words_dtype, "w8a8", "int8", false},
    {words_dtype, "i8", "int8", true},
    {words_dtype, "8bit", "int8", false},
    {words_dtype, "i4", "int4", true},
    {words_dtype, "4bit", "int4", false},
    {words_dtype, "bf8", "fp8", false},
    {words_dtype, "q8", "int8", false},
    {words_dtype, "q4", "int4", false},
    {words_dtype, "tf32", "f32", false},
    {words_compute, "bfloat16", "bf16", true},
    {words_compute, "float32", "f32", true},
    {words_compute, "fp32", "f32", true},
    {words_compute, "tf32", "f32x3", false},
    {words_compute, "float16", "bf16", false},
    {words_compute, "fp16", "bf16", false},
    {words_compute, "f16", "bf16", false},
    {words_compute, "float8", "fp8", true},
    {words_path, "alltoall", "ragged_a2a", true}, /* Megatron's dispatchers */
    {words_path, "flex", "deepep", true},
    {words_path, "all_gather", "allgather", true},
    {words_path, "all_to_all", "ragged_a2a", true},
    {words_path, "all2all", "ragged_a2a", true},
    {words_path, "dropless", "ragged_a2a", false},
    {words_path, "grouped", "ragged_a2a", false}, /* moe.matmul says what multiplies */
    {words_path, "grouped_gemm", "ragged_a2a", false},
    {words_path, "grouped_mm", "ragged_a2a", false},
    {words_path, "gmm", "ragged_a2a", false},
    {words_path, "sparse_gmm", "ragged_a2a", false},
    {words_path, "sparse_gmm_deepep", "deepep", false},
    {words_path, "tokamax", "ragged_a2a", false},
    {words_path, "ragged", "ragged_a2a", false},
    {words_path, "hybridep", "deepep", false}, /* Megatron's flex dispatcher */
    {words_path, "hybrid_ep", "deepep", false},
    {words_path, "deep_ep", "deepep", true},
    {words_path, "uccl", "deepep", false},
    {words_path, "mori", "deepep", false},
    {words_path, "nixl", "deepep_ll", false},
    {words_path, "mooncake", "deepep_ll", false},
    {words_path, "flashinfer", "allgather", false},
    {words_path, "flashinfer_all2allv", "allgather", false},
    {words_path, "a2a", "ragged_a2a", true},
    {words_path, "ragged_all_to_all", "ragged_a2a", true},
    {words_path, "sparse_matmul", "ragged_a2a", false}, /* MaxText */
    {words_path, "dense_matmul", "capacity", false},
    {words_path, "dropping", "capacity", false},
    {words_path, "drop_and_pad", "capacity", false},
    {words_path, "gshard", "capacity", false},
    {words_path, "switch", "capacity", false},
    {words_path, "einsum", "capacity", false},
    {words_path, "onehot", "capacity", false},
    {words_path, "one_hot", "capacity", false},
    {words_path, "dense", "capacity", false},
    {words_path, "tutel", "capacity", false},
    {words_path, "deepep_normal", "deepep", true}, /* SGLang, vLLM */
    {words_path, "deepep_high_throughput", "deepep", true},
    {words_path, "deepep_low_latency", "deepep_ll", true},
    {words_path, "low_latency", "deepep_ll", false},
    {words_path, "pplx", "deepep_ll", false},
    {words_path, "naive", "allgather", false},
    {words_path, "allgather_reducescatter", "allgather", true},
    {words_path, "megablocks", "block_sparse", false},
    {words_path, "dmoe", "block_sparse", false},
    {words_path, "megablox", "ragged_a2a", false},
    {words_path, "bwmm", "blockwise", true}, /* Neuron */
    {words_path, "blockwise_matmul", "blockwise", true},
    {words_path, "eager", "expert_loop", false},
    {words_path, "loop", "expert_loop", false},
    {words_path, "for_loop", "expert_loop", false},
    {words_path, "sequential", "expert_loop", false},
    {words_path, "huggingface", "expert_loop", false},
    {words_path, "hf", "expert_loop", false},
    {words_path, "fused_moe", "fused", true}, /* vLLM */
    {words_path, "triton", "fused", false},
    {words_path, "cutlass", "fused", false},
    {words_path, "tp", "fused", false},
    {words_path, "none", "fused", false}, /* SGLang: no exchange */
    {words_path, "standard", "fused", false},
    {words_path, "allreduce", "fused", false},
    {words_mode, "training", "train", true},
    {words_mode, "pretrain", "train", false},
    {words_mode, "finetune", "train", false},
    {words_mode, "inference", "decode", false},
    {words_mode, "generate", "decode", false},
    {words_mode, "generation", "decode", false},
    {words_mode, "decoding", "decode", true},
    {words_mode, "sft", "train", false},
    {words_mode, "rl", "train", false},
    {words_mode, "infer", "decode", false},
    {words_mode, "prompt", "prefill", false},
    {words_mode, "serving", "serve", true},
    {words_mode, "server", "serve", false},
    {words_mode, "online", "serve", false},
    {words_mode, "offline", "serve", false},
    {words_mode, "bench", "serve", false},
    {words_mode, "benchmark", "serve", false},
    {words_recipe, "delayed", "fp8_delayed", true}, /* Megatron's and Bridge's words */
    {words_recipe, "fp8_ds", "fp8_delayed", true},
    {words_recipe, "tensorwise", "fp8_current", true},
    {words_recipe, "fp8_cs", "fp8_current", true},
    {words_recipe, "fp8_sc", "fp8_block", true},
    {words_recipe, "blockwise", "fp8_block", true},
    {words_recipe, "subchannel", "fp8_block", true},
    {words_recipe, "fp8_mx", "mxfp8", true},
    {words_recipe, "fp4", "nvfp4", false},
    {words_recipe, "fp8", "fp8_current", false},
    {words_optimizer, "adamw", "adam", true},
    {words_optimizer, "adamw_torch", "adam", false},
    {words_optimizer, "adamw_8bit", "adam8bit", true},
    {words_optimizer, "adamw8bit", "adam8bit", true},
    {words_optimizer, "adamw_bnb_8bit", "adam8bit", true},
    {words_optimizer, "paged_adamw_8bit", "adam8bit", false},
    {words_optimizer, "lion_8bit", "lion8bit", true},
    {words_optimizer, "adamw_torch_4bit", "adam4bit", true},
    {words_optimizer, "adamw_torch_8bit", "adam8bit", false},
    {words_optimizer, "ademamix_8bit", "ademamix8bit", true},
    {words_optimizer, "stable_adamw", "kahan_adam", true},
    {words_optimizer, "schedule_free_adamw", "schedule_free", true},
    {words_aware, "true", "native", false},
    {words_aware, "false", "none", true},
    {words_recompute, "false", "none", true},
    {words_recompute, "off", "none", true},
    {words_recompute, "true", "full", false},
    {words_recompute, "on", "full", false},
    {words_recompute, "yes", "full", false},
    {words_recompute, "no", "none", true},
    {words_recompute, "all", "full", false},
    {words_recompute, "layer", "full", false},
    {words_recompute, "layers", "full", false},
    {words_recompute, "per_layer", "full", false},
    {words_recompute, "ac", "full", false},
    {words_recompute, "moe", "selective", false}, /* modules of Megatron's */
    {words_recompute, "moe_act", "selective", false},
    {words_recompute, "mlp", "selective", false},
    {words_recompute, "layernorm", "selective", false},
    {words_recompute, "attn", "selective", false},
    {words_recompute, "attention", "selective", false},
    {words_recompute, "remat", "full", false},
    {words_recompute, "checkpoint", "full", false},
    {words_recompute, "checkpointing", "full", false},
    {words_recompute, "gradient_checkpointing", "full", false},
    {words_recompute, "activation_checkpointing", "full", false},
    {words_recompute, "uniform", "full", false}, /* Megatron's methods */
    {words_recompute, "block", "full", false},
    {words_recompute, "core_attn", "selective", false},
    {words_recompute, "op", "selective", false},      /* torchtitan */
    {words_recompute, "minimal", "selective", false}, /* MaxText's policies */
    {words_recompute, "save_dot_except_mlp", "save", false},
    {words_recompute, "save_qkv_proj", "save", false},
    {words_recompute, "save_out_proj", "save", false},
    {words_recompute, "custom", "save", false},
    {words_recompute, "save_dots", "save", false},
    {words_recompute, "minimal_offloaded", "save", false},
    {words_recompute, "offload", "save", false},
    {words_distribution, "balanced", "uniform", false},
    {words_distribution, "random", "uniform", false},
    {words_distribution, "power_law", "zipf", true},
    {words_distribution, "powerlaw", "zipf", true},
    {words_distribution, "zipfian", "zipf", true},
    {words_distribution, "pareto", "zipf", false},
    {words_distribution, "log_normal", "lognormal", true},
    {words_distribution, "normal", "lognormal", false},
    {words_distribution, "hot", "hot_rank", false},
    {words_distribution, "skewed", "zipf", false},
    {words_distribution, "gaussian", "lognormal", false},
    {words_placement, "linear", "contiguous", true},
    {words_placement, "round_robin", "strided", true},
    {words_placement, "roundrobin", "strided", true},
    {words_placement, "interleaved", "strided", false},
    {words_placement, "random", "strided", false},
    {words_placement, "none", "contiguous", false},
    {words_placement, "load_balanced", "eplb", false},
    {words_placement, "balanced", "eplb", false},
    {words_pipeline, "interleaved_1f1b", "interleaved", true},
    {words_pipeline, "zb", "zero_bubble", false},
    {words_pipeline, "zbh1", "zero_bubble", false},
    {words_pipeline, "zbv", "zero_bubble", false},
    {words_pipeline, "zb_h1", "zero_bubble", false},
    {words_pipeline, "dualpipev", "dualpipe", false},
    {words_pipeline, "afab", "gpipe", true},
    {words_loss, "native", "f32", true}, /* Megatron's fusion */
    {words_loss, "liger", "fused", true},
    {words_loss, "unfused", "f32", false},
    {words_graphs, "full_iteration", "full", true}, /* Megatron's words */
    {words_graphs, "transformer_engine", "partial", true},
    {words_graphs, "local", "partial", true},
    {words_reshard, "true", "always", true},
    {words_reshard, "false", "never", true},
    {words_prefetch, "backward_pre", "pre", true}, /* FSDP's words */
    {words_prefetch, "backward_post", "post", true},
    {words_prefetch, "no_prefetch", "none", true},
    {words_layer, "full_attention", "full", true},
    {words_layer, "attention", "full", true},
    {words_layer, "sliding_attention", "window", true},
    {words_layer, "sliding_window", "window", true},
    {words_layer, "chunked_attention", "chunk", true},
    {words_layer, "linear_attention", "linear", true},
    {words_layer, "mamba", "linear", true},
    {words_layer, "compressed_sparse_attention", "csa", true},
    {words_layer, "heavily_compressed_attention", "hca", true},
    {words_linear, "gdn", "gated_delta_net", true},
    {words_linear, "kda", "kimi_delta", true},
    {words_layer, "mlp", "dense", true},
    {words_sizing, "worst_case", "worst", true},
    {words_sizing, "dynamic", "exact", false},
    {words_sizing, "dropless", "exact", false},
};

bool alias_spell(const char *text, char from, char to, char spelled[ALIAS_LENGTH])
{
    size_t length = strlen(text);
    if (length >= ALIAS_LENGTH)
        return false;
    for (size_t i = 0; i <= length; i++)
        spelled[i] = text[i] == from ? to : (char)tolower((unsigned char)text[i]);
    return true;
}

const char *word_meant(const char *const *words, const char *text, bool *same)
{
    char spelled[ALIAS_LENGTH];
    if (!alias_spell(text, '-', '_', spelled))
        return NULL;
    for (size_t i = 0; words[i]; i++)
        if (text_equal(words[i], spelled)) {
            *same = true;
            return words[i];
        }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (aliases[i].words == words && text_equal(aliases[i].text, spelled)) {
            *same = aliases[i].same;
            return aliases[i].word;
        }
    return NULL;
}
