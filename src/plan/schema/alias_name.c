/* What else people call keys and names of the catalogue; see word.h. */
#include <string.h>

#include "base/text.h"
#include "plan/schema/alias.h"
#include "plan/schema/word.h"

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
    {"scheduler_recv_interval", "workload.poll_steps"},
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
    if (!alias_spell(name, '-', '_', spelled))
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
    {"model", "r1", "deepseek-r1"},
    {"model", "k2", "kimi-k2"},
    {"model", "glm", "glm-4.5"},
    {"model", "gpt-oss", "gpt-oss-120b"},
    {"model", "gptoss", "gpt-oss-120b"},
    {"model", "grok", "grok-1"},
    {"model", "jamba-large", "jamba-1.5-large"},
    {"model", "jamba-mini", "jamba-v0.1"},
    {"model", "kimi", "kimi-k2"},
    {"model", "llama4", "llama4-maverick"},
    {"model", "llama-4", "llama4-maverick"},
    {"model", "maverick", "llama4-maverick"},
    {"model", "scout", "llama4-scout"},
    {"model", "minimax", "minimax-m2.5"},
    {"model", "minimax-01", "minimax-text-01"},
    {"model", "mistral-large", "mistral-large-3"},
    {"model", "mixtral", "mixtral-8x7b"},
    {"model", "phi-moe", "phi-3.5-moe"},
    {"model", "phimoe", "phi-3.5-moe"},
    {"model", "qwen3", "qwen3-235b-a22b"},
    {"model", "qwen3-moe", "qwen3-30b-a3b"},
    {"model", "snowflake-arctic", "arctic"},
    /* Checkpoints whose config.json has the shape of another model, as model_names.c lists
     * them for jobs. */
    {"model of the shape", "deepseekv3", "deepseek-v3"},
    {"model of the shape", "deepseek-v3.1", "deepseek-v3"},
    {"model of the shape", "deepseek-v2.5", "deepseek-v2"},
    {"model of the shape", "deepseek-coder-v2-lite", "deepseek-v2-lite"},
    {"model of the shape", "deepseek-coder-v2", "deepseek-v2"},
    {"model of the shape", "glm-4.7", "glm-4.6"},
    {"model of the shape", "kimi-k2.6", "kimi-k2.5"},
    {"model of the shape", "llama-3.3-70b", "llama-3.1-70b"},
    {"model of the shape", "qwen3.6-27b", "qwen3.5-27b"},
    {"model of the shape", "qwq-32b", "qwen2.5-32b"},
    {"model of the shape", "llama3.3-70b", "llama-3.1-70b"},
    {"model of the shape", "llama3.1-8b", "llama-3.1-8b"},
    {"model of the shape", "llama3.1-70b", "llama-3.1-70b"},
    {"model of the shape", "llama3.1-405b", "llama-3.1-405b"},
    {"model of the shape", "llama-3-8b", "llama-3.1-8b"},
    {"model of the shape", "llama-3-70b", "llama-3.1-70b"},
    {"model of the shape", "llama3-8b", "llama-3.1-8b"},
    {"model of the shape", "llama3-70b", "llama-3.1-70b"},
    {"model of the shape", "meta-llama-3-8b", "llama-3.1-8b"},
    {"model of the shape", "meta-llama-3-70b", "llama-3.1-70b"},
    {"model of the shape", "meta-llama-3.1-8b", "llama-3.1-8b"},
    {"model of the shape", "meta-llama-3.1-70b", "llama-3.1-70b"},
    {"model of the shape", "meta-llama-3.1-405b", "llama-3.1-405b"},
    {"model of the shape", "llama-4-maverick", "llama4-maverick"},
    {"model of the shape", "llama-4-scout", "llama4-scout"},
    {"model of the shape", "minimax-m2", "minimax-m2.5"},
    {"model of the shape", "minimax-m2.1", "minimax-m2.5"},
    {"model of the shape", "nvidia-nemotron-3-nano", "nemotron-3-nano"},
    {"model of the shape", "nvidia-nemotron-3-super", "nemotron-3-super"},
    {"model of the shape", "nvidia-nemotron-3-ultra", "nemotron-3-ultra"},
    {"model of the shape", "qwen3-coder-30b", "qwen3-30b-a3b"},
    {"model of the shape", "qwen3-coder-next", "qwen3-next-80b-a3b"},
    {"model of the shape", "deepseek-r1-0528", "deepseek-r1"},
    {"model of the shape", "deepseek-v3-0324", "deepseek-v3"},
    {"model of the shape", "devstral-small", "mistral-small-24b"},
    {"model of the shape", "dots.llm1.inst", "dots.llm1"},
    {"model of the shape", "exaone-4-32b", "exaone-4.0-32b"},
    {"model of the shape", "glm-4.6v", "glm-4.5v"},
    {"model of the shape", "glm-5.3", "glm-5.2"},
    {"model of the shape", "gpt-oss-safeguard-120b", "gpt-oss-120b"},
    {"model of the shape", "gpt-oss-safeguard-20b", "gpt-oss-20b"},
    {"model of the shape", "kimi-k2-0905", "kimi-k2"},
    {"model of the shape", "kimi-k2-instruct-0905", "kimi-k2"},
    {"model of the shape", "mistral-small-3.2-24b", "mistral-small-3.1-24b"},
    {"model of the shape", "nvidia-nemotron-nano-9b-v2", "nemotron-nano-9b-v2"},
    {"model of the shape", "phi-4-mini-instruct", "phi-4-mini"},
    {"model of the shape", "qwen3-coder-30b-a3b", "qwen3-30b-a3b"},
    {"model of the shape", "qwen3.8-27b", "qwen3.5-27b"},
    {"model of the shape", "ring-1t", "ling-1t"},
    {"model of the shape", "ring-flash-2.0", "ling-flash-2.0"},
    {"model of the shape", "ring-mini-2.0", "ling-mini-2.0"},
    {"model of the shape", "step-3.5-flash", "step-3.7-flash"},
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
    {"cluster", "rtx-pro-6000-blackwell-server-edition", "rtx-pro-6000"},
    {"cluster", "rtx-pro-6000-blackwell-workstation-edition", "rtx-pro-6000"},
    {"cluster", "hgx", "h100-8x1"},
    {"cluster", "dgx", "h100-8x1"},
    {"cluster", "a100-80gb", "a100"},
    {"cluster", "a100-80", "a100"},
    {"cluster", "a100-40", "a100-40gb"},
    {"cluster", "a100-40g", "a100-40gb"},
    {"cluster", "h100-80", "h100"},
    {"cluster", "3090", "rtx3090"},
    {"cluster", "rtx-3090", "rtx3090"},
    {"cluster", "geforce-rtx-3090", "rtx3090"},
    {"cluster", "a6000", "rtx-a6000"},
    {"cluster", "rtxa6000", "rtx-a6000"},
    {"cluster", "6000-ada", "rtx-6000-ada"},
    {"cluster", "rtx6000ada", "rtx-6000-ada"},
    {"cluster", "rtx-6000-ada-generation", "rtx-6000-ada"},
    {"cluster", "a10g", "a10"},
    {"cluster", "v100-sxm2-32gb", "v100"},
    {"cluster", "v100-32gb", "v100"},
    {"cluster", "dgx-spark", "gb10"},
    {"cluster", "spark", "gb10"},
    {"cluster", "gfx942", "mi300x"},
    {"cluster", "gfx950", "mi355x"},
    {"cluster", "trillium", "tpu-v6e"},
    {"cluster", "ironwood", "tpu7x"},
    {"cluster", "tpu-v7", "tpu7x"},
    {"cluster", "tpu-v7x", "tpu7x"},
    {"cluster", "p5", "h100-8x1"},
    {"cluster", "p5e", "h200-8x1"},
    {"cluster", "p5en", "h200-8x1"},
    {"cluster", "p6-b200", "b200-8x1"},
    {"cluster", "p4d", "a100-40gb-8x1"},
    {"cluster", "p4de", "a100-8x1"},
    {"cluster", "trn1.32xlarge", "trn1-16x1"},
    {"cluster", "trainium", "trn1-16x1"},
    {"cluster", "localhost", "host"},
    {"cluster", "2x4090", "rtx4090-2x1"},
    {"cluster", "4x4090", "rtx4090-4x1"},
    {"cluster", "8x4090", "rtx4090-8x1"},
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
    {"cluster", "g6.48xlarge", "l4-8x1"},
    {"cluster", "g5.48xlarge", "a10-8x1"},
    {"cluster", "g5.12xlarge", "a10-4x1"},
    {"cluster", "g4dn.12xlarge", "t4-4x1"},
    {"cluster", "p3dn.24xlarge", "v100-8x1"},
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
    {"stack", "bridge", "megatron"},
    {"stack", "slime", "megatron"},
    {"stack", "verl", "fsdp"},
    {"stack", "swift", "fsdp"},
    {"stack", "ms-swift", "fsdp"},
    {"stack", "megatron-swift", "megatron"},
    {"stack", "jax", "maxtext"},
    {"stack", "xla", "maxtext"},
    {"stack", "titan", "torchtitan"},
    {"stack", "fsdp2", "fsdp"},
    {"stack", "accelerate", "fsdp"},
    {"stack", "trainer", "fsdp"},
    {"stack", "trl", "fsdp"},
    {"stack", "torchtune", "fsdp"},
    {"stack", "axolotl", "fsdp"},
    {"stack", "unsloth", "fsdp"},
    {"stack", "llama-factory", "deepspeed"},
    {"stack", "openrlhf", "deepspeed"},
    {"stack", "zero3", "deepspeed"},
    {"stack", "hf", "fsdp"},
    {"stack", "ddp", "generic"},
    {"stack", "cpu", "host"},
    {"stack", "optimum-neuron", "nxd"},
    {"stack", "nxdt", "nxd"},
    {"stack", "tensorrt", "trtllm"},
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
    if (!alias_spell(name, '_', '-', spelled))
        return NULL;
    for (size_t i = 0; i < sizeof catalogue / sizeof *catalogue; i++)
        if (text_equal(catalogue[i].kind, kind) && text_equal(catalogue[i].text, spelled))
            return catalogue[i].name;
    return NULL;
}

/* What follows a name where the checkpoint is another model: distilled into one, a draft for
 * it, with experts left out, or one of the family of another size. */
static const char *const others[] = {"distill", "-sparse",    "-qwen",      "-llama", "eagle",
                                     "dflash",  "speculator", "-reap",      "prune",  "-flash",
                                     "-air",    "-lite",      "-mini",      "-nano",  "-tiny",
                                     "-omni",   "-vision",    "-multimodal"};

bool word_is_another(const char *rest)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(rest, others[i]))
            return true;
    return false;
}
