/* Tables of words; see word.h. */
#include "plan/word.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/paths.h"
#include "plan/schema.h"

/* ---- what a word means ---- */

static const struct meaning {
    const char *const *words;
    const char *word, *help;
} meanings[] = {
    {words_attention, "gqa", "grouped queries: heads share keys and values (MHA with as many)"},
    {words_attention, "mla", "latent attention: keys and values from a low-rank vector"},
    {words_mode, "train", "forward, backward and update of one step"},
    {words_mode, "prefill", "forward over whole prompts, filling the KV cache"},
    {words_mode, "decode", "forward of the next token of every sequence, from the cache"},
    {words_dtype, "none", "the tensor does not exist"},
    {words_dtype, "f32", "4 bytes, IEEE single"},
    {words_dtype, "bf16", "2 bytes, bfloat16"},
    {words_dtype, "f16", "2 bytes, IEEE half"},
    {words_dtype, "fp8", "1 byte, E4M3, one scale per tensor"},
    {words_dtype, "fp8_channel", "1 byte, E4M3, an f32 scale per output channel"},
    {words_dtype, "fp8_block",
     "1 byte, E4M3, an f32 scale per 128 x 128 weights or 128 values"},
    {words_dtype, "mxfp8", "1 byte, E4M3, a scale byte per 32"},
    {words_dtype, "mxfp4", "half a byte, E2M1, a scale byte per 32"},
    {words_dtype, "nvfp4", "half a byte, E2M1, a scale byte per 16"},
    {words_dtype, "int8", "1 byte, whole numbers"},
    {words_dtype, "f64", "8 bytes, IEEE double"},
    {words_compute, "f32", "IEEE single"},
    {words_compute, "f32x3", "f32 from three bf16 products"},
    {words_compute, "bf16", "bf16 operands, f32 sums"},
    {words_compute, "fp8", "fp8 operands, f32 sums"},
    {words_library, "auto", "the stack's own, DeepEP V1 where it has none"},
    {words_library, "deepep", "DeepEP V1: fixed NVLink and RDMA queues"},
    {words_library, "deepep_v2", "DeepEP V2: an elastic buffer that grows with tokens"},
    {words_library, "primus", "Primus-Turbo's port of V1"},
    {words_library, "primus_jax", "the same from JAX: sized by one row of its configuration"},
    {words_library, "hybrid_ep", "a budget of rows; overflow is dropped and flagged"},
    {words_library, "mega", "Primus-Turbo's Mega MoE: a symmetric heap of row pools"},
    {words_library, "mega_deepgemm", "DeepGEMM's mega kernel"},
    {words_library, "minimal_async", "torchtitan's: two symmetric buffers of rows"},
    {words_matmul, "grouped", "one grouped GEMM over the rows of each expert"},
    {words_matmul, "ragged_dot", "XLA's ragged dot: masked expansion to all local experts"},
    {words_matmul, "megablox", "JAX's Pallas grouped GEMM"},
    {words_sizing, "auto", "worst where the stack's shapes are static, otherwise exact"},
    {words_sizing, "worst", "room for all rows that can come"},
    {words_sizing, "exact", "the rows that come; the host waits for their number"},
    {words_sizing, "balanced", "the rows of balanced routing"},
    {words_sizing, "factor", "balanced rows times moe.buffer_factor; a number says both"},
    {words_distribution, "uniform", "all experts are equally popular"},
    {words_distribution, "zipf", "popularity falls as rank^-alpha"},
    {words_distribution, "lognormal", "log popularity is normal with sigma"},
    {words_distribution, "dirichlet", "popularity is drawn with a concentration"},
    {words_distribution, "hot_rank", "one rank gets a share of all rows"},
    {words_distribution, "trace", "recorded routing, from moe.routing.file"},
    {words_placement, "contiguous", "expert i stands on rank i / e"},
    {words_placement, "strided", "expert i stands on rank i mod R"},
    {words_placement, "table", "as moe.routing.placement_file says"},
    {words_placement, "eplb", "balanced by load, with redundant copies (DeepSeek's EPLB)"},
    {words_scenario, "steady", "a trained router"},
    {words_scenario, "cold", "the first steps, before the router is balanced"},
    {words_scenario, "burst", "neighbouring tokens choose the same experts"},
    {words_scenario, "profile_run", "the engine's dummy run, which sizes its memory"},
    {words_backend, "flash", "row statistics are kept"},
    {words_backend, "unfused", "the square of scores is kept"},
    {words_loss, "f32", "an f32 copy of the logits beside them"},
    {words_loss, "in_place", "the gradient takes the logits' place"},
    {words_on_overflow, "fail", "the step ends, or runs again without the budget"},
    {words_on_overflow, "drop", "they are left out"},
    {words_popularity, "per_step", "for every sampled layer and step"},
    {words_popularity, "fixed", "once for all layers and steps of a seed"},
    {words_recompute, "none", "everything backward needs is kept"},
    {words_recompute, "selective", "recompute.modules, or the stack's default, run again"},
    {words_recompute, "full", "only the input of each layer is kept"},
    {words_recompute, "save", "only the tensors in recompute.save are kept"},
    {words_stack, "generic", "PyTorch-like eager training and serving"},
    {words_stack, "maxtext", "MaxText on JAX and XLA"},
    {words_stack, "megatron", "Megatron-Core on PyTorch"},
    {words_stack, "torchtitan", "torchtitan on PyTorch FSDP2"},
    {words_stack, "nxd", "Neuron's NxD"},
    {words_stack, "vllm", "vLLM"},
    {words_stack, "sglang", "SGLang"},
    {words_stack, "primus", "Primus on Megatron-Core and Primus-Turbo"},
    {words_stack, "host", "what `moeplan run` performs"},
    {words_score, "softmax", "e^x over the sum of all"},
    {words_score, "sigmoid", "1 / (1 + e^-x), each expert alone"},
    {words_score, "sqrtsoftplus", "sqrt(log(1 + e^x))"},
    {words_order, "topk_then_score", "the K largest logits, scored among themselves"},
    {words_order, "score_then_topk", "all logits scored, then the K largest"},
    {words_activation, "silu", "x sigmoid(x)"},
    {words_activation, "gelu", "x times the normal distribution at x"},
    {words_activation, "relu", "max(x, 0)"},
    {words_activation, "swiglu_oai", "gpt-oss's: clamped, x sigmoid(1.702 x), up + 1"},
    {words_gate_scale, "post", "the gate multiplies the expert's output"},
    {words_gate_scale, "pre", "the gate multiplies the expert's input (Llama 4)"},
    {words_shard, "h", "the hidden size"},
    {words_shard, "i", "the intermediate size"},
    {words_shard, "block", "the blocks, every other one"},
    {words_weight_skip, "none", "the weights of every block are loaded"},
    {words_weight_skip, "ping_pong", "cores take turns; a load is skipped for the same expert"},
    {words_weight_skip, "hi_lo", "each core takes one half of the blocks; loads skipped alike"},
    {words_static_blocks, "nxd", "T K / block size"},
    {words_static_blocks, "kernel", "all blocks but one for each local expert"},
    {words_shared, "auto", "as the stack does"},
    {words_shared, "sp", "each rank computes its tokens"},
    {words_shared, "tp", "each rank computes a part of the width"},
    {words_pipeline, "1f1b", "one forward, one backward in turn"},
    {words_pipeline, "interleaved", "1f1b over vpp chunks of each rank"},
    {words_pipeline, "zero_bubble", "weight gradients fill the bubbles"},
    {words_pipeline, "dualpipe", "micro-batches from both ends (DeepSeek)"},
    {words_pipeline, "gpipe", "all forwards, then all backwards"},
    {words_block, "moe", "the model's MoE layer"},
    {words_block, "allreduce_matmul", "a product whose parts are summed over the ranks"},
    {words_block, "reduce_scatter_matmul", "the same, each rank keeps its rows"},
    {words_block, "allgather_matmul", "a product of rows that are gathered first"},
    {words_block, "mlp", "gathered input, two products, scattered output"},
    {words_collective, "builtin", "one collective call"},
    {words_collective, "ring", "round a ring, in as many steps as ranks"},
    {words_collective, "halving", "recursive halving and doubling; tp a power of two"},
    {words_data, "synthetic", "tokens are there when they are needed"},
    {words_data, "real", "an input pipeline takes its time"},
    {words_drop, "position", "the last rows of an expert are dropped"},
    {words_drop, "probs", "the rows of the smallest probability are dropped"},
    {words_capacity_scope, "sequence", "each sequence has its own capacity"},
    {words_capacity_scope, "batch", "the tokens of a rank share one"},
};

const char *word_help(const char *const *words, const char *word)
{
    for (unsigned i = 0; words == words_path && words[i]; i++)
        if (text_equal(words[i], word))
            return path_title((enum moe_path)i);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].words == words && text_equal(meanings[i].word, word))
            return meanings[i].help;
    return NULL;
}

/* ---- names of a stack's modules and tensors ---- */

static const struct word_name names[] = {
    {"recompute.modules", "megatron, primus", "core_attn",
     "what attention keeps, statistics or scores; the default"},
    {"recompute.modules", "megatron, primus", "layernorm",
     "outputs of the norms before attention and MLP"},
    {"recompute.modules", "megatron, primus", "mla_up_proj",
     "q, k, v and the normed low-rank vectors (MLA)"},
    {"recompute.modules", "megatron, primus", "mlp", "everything inside the dense MLP"},
    {"recompute.modules", "megatron, primus", "moe",
     "everything inside the MoE layer, exchanges too"},
    {"recompute.modules", "megatron, primus", "moe_act", "outputs of the experts' activation"},
    {"recompute.modules", "megatron, primus", "shared_experts",
     "everything inside the shared experts"},
    {"recompute.modules", "torchtitan", "op",
     "all but attention, exchanges and every other product; the default"},
    {"recompute.modules", "torchtitan", "1", "whole layers: every one, or with n every n-th"},
    {"recompute.offload", "megatron, primus", "attn_norm",
     "input of the norm before attention"},
    {"recompute.offload", "megatron, primus", "qkv_linear",
     "output of the attention norm, low-rank vectors"},
    {"recompute.offload", "megatron, primus", "core_attn", "q, k, v and what attention keeps"},
    {"recompute.offload", "megatron, primus", "attn_proj", "input of the output projection"},
    {"recompute.offload", "megatron, primus", "mlp_norm", "input of the norm before the MLP"},
    {"recompute.offload", "megatron, primus", "expert_fc1", "input rows of the experts"},
    {"recompute.offload", "megatron, primus", "moe_act",
     "outputs of the experts' gate and up products"},
    {"recompute.save", "maxtext", "query_proj", "q"},
    {"recompute.save", "maxtext", "key_proj", "k"},
    {"recompute.save", "maxtext", "value_proj", "v"},
    {"recompute.save", "maxtext", "qkv_proj", "q, k and v"},
    {"recompute.save", "maxtext", "context", "output of attention, before its projection"},
    {"recompute.save", "maxtext", "mlpwi", "gate and up outputs, of dense layers and experts"},
    {"recompute.save", "maxtext", "mlpwi_0", "gate outputs"},
    {"recompute.save", "maxtext", "mlpwi_1", "up outputs"},
    {"recompute.save", "maxtext", "mlpwo", "outputs of the experts"},
    {"recompute.save", "maxtext", "moe_mlpwi", "gate and up outputs of the experts"},
    {"recompute.save", "maxtext", "moe_mlpwi_0", "gate outputs of the experts"},
    {"recompute.save", "maxtext", "moe_mlpwi_1", "up outputs of the experts"},
    {"recompute.save", "maxtext", "moe_mlpwo", "outputs of the experts"},
};

const struct word_name *word_name_at(size_t i)
{
    return i < sizeof names / sizeof *names ? &names[i] : NULL;
}
