/* What else people call words, keys and names of the catalogue; see word.h. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/schema/schema.h"
#include "plan/schema/word.h"

enum { ALIAS_LENGTH = 40 };

/* As people write them, in lower case, _ for -. */
static const struct alias {
    const char *const *words;
    const char *text, *word;
    bool same; /* says exactly the word */
} aliases[] = {
    {words_dtype, "bfloat16", "bf16", true},
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
    {words_path, "a2a", "ragged_a2a", true},
    {words_path, "ragged_all_to_all", "ragged_a2a", true},
    {words_path, "sparse_matmul", "ragged_a2a", false}, /* MaxText */
    {words_path, "dense_matmul", "capacity", false},
    {words_path, "dropping", "capacity", false},
    {words_path, "drop_and_pad", "capacity", false},
    {words_path, "gshard", "capacity", false},
    {words_path, "switch", "capacity", false},
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
    {words_mode, "training", "train", true},
    {words_mode, "pretrain", "train", false},
    {words_mode, "finetune", "train", false},
    {words_mode, "inference", "decode", false},
    {words_mode, "generate", "decode", false},
    {words_mode, "generation", "decode", false},
    {words_mode, "serve", "decode", false},
    {words_mode, "serving", "decode", false},
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
    {words_aware, "true", "native", false},
    {words_aware, "false", "none", true},
    {words_recompute, "false", "none", true},
    {words_recompute, "off", "none", true},
    {words_recompute, "true", "full", false},
    {words_recompute, "on", "full", false},
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
    {words_distribution, "balanced", "uniform", false},
    {words_distribution, "random", "uniform", false},
    {words_distribution, "power_law", "zipf", true},
    {words_distribution, "skewed", "zipf", false},
    {words_distribution, "gaussian", "lognormal", false},
    {words_placement, "linear", "contiguous", true},
    {words_placement, "round_robin", "strided", true},
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
    {words_linear, "gdn", "gated_delta_net", true},
    {words_linear, "kda", "kimi_delta", true},
    {words_layer, "mlp", "dense", true},
    {words_sizing, "worst_case", "worst", true},
    {words_sizing, "dynamic", "exact", false},
    {words_sizing, "dropless", "exact", false},
};

/* In lower case, with `to` for `from`; false when it is longer than any alias. */
static bool spell(const char *text, char from, char to, char spelled[ALIAS_LENGTH])
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
    if (!spell(text, '-', '_', spelled))
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

/* ---- keys ---- */

/* As frameworks and config.json call what a plan has a key for. */
static const struct {
    const char *names /* "a b" */, *key;
} keys[] = {
    {"seq_length seq_len seqlen max_seq_len max_seq_length max_length max_target_length "
     "context_size",
     "workload.sequence_length"},
    {"max_model_len", "workload.context_length"},
    {"micro_batch_size mbs pdbs batch_size per_device_batch_size local_batch_size "
     "per_device_train_batch_size train_micro_batch_size_per_gpu",
     "workload.micro_batch"},
    {"global_batch_size gbs train_batch_size gradient_accumulation_steps grad_accum",
     "workload.global_batch"},
    {"max_batch_size max_running_requests", "workload.max_num_seqs"},
    {"max_num_tokens chunked_prefill_size", "workload.max_num_batched_tokens"},
    {"input_len isl prompt_length", "workload.input_length"},
    {"output_len osl", "workload.output_length"},
    {"max_concurrency", "workload.concurrency"},
    {"qps rps", "workload.request_rate"},
    {"tensor_parallel tensor_parallel_size tensor_parallel_degree tensor_model_parallel_size "
     "tp_size",
     "parallel.tp"},
    {"pipeline_parallel pipeline_parallel_size pipeline_parallel_degree "
     "pipeline_model_parallel_size pp_size",
     "parallel.pp"},
    {"vp virtual_pipeline_model_parallel_size", "parallel.vpp"},
    {"context_parallel context_parallel_size context_parallel_degree", "parallel.cp"},
    {"expert_parallel expert_parallel_size expert_parallel_degree expert_model_parallel_size "
     "ep_size enable_expert_parallel",
     "parallel.ep"},
    {"expert_tensor_parallel_size expert_tensor_parallel_degree", "parallel.etp"},
    {"data_parallel data_parallel_size dp_size", "parallel.dp"},
    {"data_parallel_shard_degree fsdp_size", "parallel.dp_shard"},
    {"sequence_parallel", "parallel.sp"},
    {"zero_stage fsdp sharding_strategy use_distributed_optimizer distributed_optimizer",
     "parallel.zero"},
    {"gpu_memory_utilization mem_fraction_static memory_fraction mem_fraction",
     "memory.fraction"},
    {"num_layers num_hidden_layers n_layers", "model.layers"},
    {"hidden_size emb_dim d_model", "model.hidden"},
    {"vocab_size", "model.vocab"},
    {"ffn_hidden_size intermediate_size mlp_dim", "model.dense_intermediate"},
    {"num_attention_heads num_heads n_heads", "model.attention.heads"},
    {"num_key_value_heads num_query_groups n_kv_heads", "model.attention.kv_heads"},
    {"num_experts n_routed_experts num_local_experts", "model.moe.experts"},
    {"topk num_experts_per_tok moe_router_topk", "model.moe.top_k"},
    {"moe_intermediate_size moe_ffn_hidden_size", "model.moe.intermediate"},
    {"moe_latent_size", "model.moe.latent_size"},
    {"n_shared_experts", "model.moe.shared_experts"},
    {"num_nodes nnodes", "cluster.nodes"},
    {"gpus_per_node num_gpus nproc_per_node", "cluster.node.devices"},
    {"hardware gpu gpus accelerator", "cluster"},
    {"framework engine backend software", "stack"},
    {"dispatcher moe_token_dispatcher_type all2all_backend moe_a2a_backend", "moe.path"},
    {"remat remat_policy activation_checkpointing gradient_checkpointing recompute_granularity",
     "recompute.kind"},
    {"kv_cache_dtype", "precision.kv_cache"},
    {"dtype weight_dtype params_dtype quantization", "precision.weights"},
    {"optimizer_states mu_dtype", "precision.moments"},
};

/* Whether one of the names of a row, which stand apart by spaces, is the name. */
static bool lists(const char *names, const char *name)
{
    size_t length = strlen(name);
    for (; *names; names += strspn(names, " ")) {
        size_t n = strcspn(names, " ");
        if (n == length && strncmp(names, name, n) == 0)
            return true;
        names += n;
    }
    return false;
}

const char *word_key(const char *name)
{
    char spelled[ALIAS_LENGTH];
    if (!spell(name, '-', '_', spelled))
        return NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (lists(keys[i].names, spelled))
            return keys[i].key;
    return NULL;
}

/* ---- names of the catalogue ---- */

static const struct {
    const char *kind, *text, *name;
} catalogue[] = {
    {"model", "deepseek", "deepseek-v3"},
    {"model", "dsv3", "deepseek-v3"},
    {"model", "deepseekv3", "deepseek-v3"},
    {"model", "deepseek-r1-0528", "deepseek-r1"},
    {"model", "glm", "glm-4.5"},
    {"model", "gpt-oss", "gpt-oss-120b"},
    {"model", "granite", "granite-3.1-3b-a800m"},
    {"model", "grok", "grok-1"},
    {"model", "kimi", "kimi-k2"},
    {"model", "llama4", "llama4-maverick"},
    {"model", "llama-4", "llama4-maverick"},
    {"model", "llama-4-maverick", "llama4-maverick"},
    {"model", "llama-4-maverick-17b-128e", "llama4-maverick"},
    {"model", "llama-4-scout", "llama4-scout"},
    {"model", "llama-4-scout-17b-16e", "llama4-scout"},
    {"model", "maverick", "llama4-maverick"},
    {"model", "scout", "llama4-scout"},
    {"model", "minimax", "minimax-m2.5"},
    {"model", "minimax-m2", "minimax-m2.5"},
    {"model", "mixtral", "mixtral-8x7b"},
    {"model", "moonlight", "moonlight-16b-a3b"},
    {"model", "olmoe", "olmoe-1b-7b"},
    {"model", "phi-moe", "phi-3.5-moe"},
    {"model", "qwen3", "qwen3-235b-a22b"},
    {"model", "qwen3-moe", "qwen3-30b-a3b"},
    {"model", "qwen3-30b", "qwen3-30b-a3b"},
    {"model", "qwen3-235b", "qwen3-235b-a22b"},
    {"model", "qwen3-coder", "qwen3-coder-480b-a35b"},
    {"model", "snowflake-arctic", "arctic"},
    {"cluster", "dgx-a100", "a100-8x1"},
    {"cluster", "dgx-h100", "h100-8x1"},
    {"cluster", "hgx-h100", "h100-8x1"},
    {"cluster", "dgx-h200", "h200-8x1"},
    {"cluster", "hgx-h200", "h200-8x1"},
    {"cluster", "dgx-b200", "b200-8x1"},
    {"cluster", "hgx-b200", "b200-8x1"},
    {"cluster", "nvl72", "gb200-72x1"},
    {"cluster", "gb200-nvl72", "gb200-72x1"},
    {"cluster", "4090", "rtx4090"},
    {"cluster", "rtx-4090", "rtx4090"},
    {"cluster", "geforce-rtx-4090", "rtx4090"},
    {"cluster", "5090", "rtx5090"},
    {"cluster", "rtx-5090", "rtx5090"},
    {"cluster", "geforce-rtx-5090", "rtx5090"},
    {"cluster", "rtx6000pro", "rtx-pro-6000"},
    {"cluster", "rtx-6000-pro", "rtx-pro-6000"},
    {"cluster", "rtxpro6000", "rtx-pro-6000"},
    {"cluster", "pro6000", "rtx-pro-6000"},
    {"cluster", "a100-80gb", "a100"},
    {"cluster", "a100-sxm", "a100"},
    {"cluster", "h100-80gb", "h100"},
    {"cluster", "h100-sxm", "h100"},
    {"cluster", "h200-141gb", "h200"},
    {"cluster", "p4d.24xlarge", "a100-40gb-8x1"},
    {"cluster", "p4de.24xlarge", "a100-8x1"},
    {"cluster", "p5.48xlarge", "h100-8x1"},
    {"cluster", "p5e.48xlarge", "h200-8x1"},
    {"cluster", "p5en.48xlarge", "h200-8x1"},
    {"cluster", "p6-b200.48xlarge", "b200-8x1"},
    {"cluster", "g6e.48xlarge", "l40s-8x1"},
    {"cluster", "a2-highgpu-8g", "a100-40gb-8x1"},
    {"cluster", "a2-ultragpu-8g", "a100-8x1"},
    {"cluster", "a3-highgpu-8g", "h100-8x1"},
    {"cluster", "a3-megagpu-8g", "h100-8x1"},
    {"cluster", "a3-ultragpu-8g", "h200-8x1"},
    {"cluster", "a4-highgpu-8g", "b200-8x1"},
    {"cluster", "nd96asr-v4", "a100-40gb-8x1"},
    {"cluster", "nd96amsr-a100-v4", "a100-8x1"},
    {"cluster", "nd96isr-h100-v5", "h100-8x1"},
    {"cluster", "nd96isr-h200-v5", "h200-8x1"},
    {"cluster", "nd96isr-mi300x-v5", "mi300x-8x1"},
    {"cluster", "trn2.48xlarge", "trn2-16x1"},
    {"cluster", "trainium2", "trn2-16x1"},
    {"cluster", "cpu", "host"},
    {"stack", "mcore", "megatron"},
    {"stack", "megatron-core", "megatron"},
    {"stack", "megatron-lm", "megatron"},
    {"stack", "nemo", "megatron"},
    {"stack", "jax", "maxtext"},
    {"stack", "xla", "maxtext"},
    {"stack", "titan", "torchtitan"},
    {"stack", "fsdp2", "fsdp"},
    {"stack", "accelerate", "fsdp"},
    {"stack", "trainer", "fsdp"},
    {"stack", "trl", "fsdp"},
    {"stack", "pytorch", "generic"},
    {"stack", "torch", "generic"},
    {"stack", "transformers", "fsdp"},
    {"stack", "huggingface", "fsdp"},
    {"stack", "zero", "deepspeed"},
    {"stack", "primus-turbo", "primus"},
    {"stack", "neuron", "nxd"},
    {"stack", "neuronx", "nxd"},
    {"stack", "nxdi", "nxd"},
    {"stack", "neuronx-distributed", "nxd"},
    {"stack", "tensorrt-llm", "trtllm"},
};

const char *word_catalogue(const char *kind, const char *name)
{
    char spelled[ALIAS_LENGTH];
    if (!spell(name, '_', '-', spelled))
        return NULL;
    for (size_t i = 0; i < sizeof catalogue / sizeof *catalogue; i++)
        if (text_equal(catalogue[i].kind, kind) && text_equal(catalogue[i].text, spelled))
            return catalogue[i].name;
    return NULL;
}
