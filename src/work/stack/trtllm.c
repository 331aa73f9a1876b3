/* TensorRT-LLM, PyTorch backend: serving. Without attention data parallelism the tokens are on
 * every rank; with it they are gathered, or sent by its one-sided all-to-all.
 *
 * Sources: engines.md 3 (tensorrt_llm/_torch/modules/fused_moe/: create_moe.py,
 * fused_moe_cutlass.py, fused_moe_deepgemm.py; _torch/pyexecutor/_util.py). */
#include "work/path/path.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/serve/serve.h"
#include "work/stack/stacks.h"

/* Since 1.3 AUTO: _torch/model_config.py resolve_moe_backend (pull request 11074 of January
 * 2026) asks gpt-oss and DeepSeek-V4 (those of mxfp4) for other kernels, and fp8 blocks on
 * Blackwell (14282). Before, llm_args.py's MoeConfig had CUTLASS for all (deployment guide of
 * gpt-oss, 1.2.0rc2.post2); of fp8 blocks on Blackwell it has none, so others had to be named.
 * Marlin is what CUTLASS has in its place for nvfp4 on Hopper. */
enum expert_backend stack_trtllm_experts(const struct plan *plan, const char **why)
{
    enum dtype weights = plan->precision.weights;
    enum generation generation = plan_generation(plan);
    bool hopper = generation == GENERATION_SM90;
    bool by_model = weights == DTYPE_MXFP4 && engine_release(plan)->experts_by_model;
    if (weights == DTYPE_NVFP4 && hopper) {
        *why = "trtllm: Marlin for nvfp4 on a device without products of 4 bits";
        return EXPERTS_MARLIN;
    }
    if (by_model && hopper) {
        *why = "trtllm: Triton's kernels for mxfp4 on Hopper (AUTO of gpt-oss)";
        return EXPERTS_TRITON_OAI;
    }
    bool generated = generation == GENERATION_SM100 && (weights == DTYPE_FP8_BLOCK || by_model);
    *why = generated ? "trtllm: its generated kernels for mxfp4 and fp8 blocks on Blackwell"
                     : "trtllm: CUTLASS, also where a backend lacks the format";
    return generated ? EXPERTS_TRTLLM_GEN : EXPERTS_CUTLASS;
}

/* Its CUTLASS kernels are those that FlashInfer took over. */
static enum expert_kernel kernel_of(const struct plan *plan, enum moe_path path)
{
    static const enum expert_kernel kernels[EXPERTS_COUNT] = {
        [EXPERTS_TRITON] = EXPERT_KERNEL_TRITON_PLAIN,
        [EXPERTS_TRITON_OAI] = EXPERT_KERNEL_TRITON_OAI,
        [EXPERTS_CUTLASS] = EXPERT_KERNEL_FLASHINFER,
        [EXPERTS_DEEPGEMM] = EXPERT_KERNEL_MASKED_128,
        [EXPERTS_MASKED] = EXPERT_KERNEL_MASKED_128,
        [EXPERTS_FLASHINFER] = EXPERT_KERNEL_FLASHINFER,
        [EXPERTS_TRTLLM_GEN] = EXPERT_KERNEL_TRTLLM_GEN,
        [EXPERTS_MARLIN] = EXPERT_KERNEL_MARLIN,
    };
    if (path_system_of(path)->exchange == EXCHANGE_MESSAGES)
        return EXPERT_KERNEL_MASKED;
    return kernels[stack_experts(plan, NULL)];
}

/* How experts of mxfp4 lie: 2880 x 2880 becomes 2944 x 2944 for CUTLASS (fused_moe/
 * quantization.py: weight_alignment), with rows of 3072 before the first product for its
 * generated kernels (input_hidden_alignment; 1.1's candidates had 3072 x 3072) and behind the
 * last one for Triton's (fused_moe_triton.py: k_alignment, n_alignment). */
static struct serve_experts layout_of(const struct plan *plan)
{
    static const struct serve_experts layouts[EXPERTS_COUNT] = {
        [EXPERTS_TRITON_OAI] = {128, 128, 256, false, true},
        [EXPERTS_CUTLASS] = {128, 128, 128, false, false},
        [EXPERTS_FLASHINFER] = {128, 128, 128, false, false},
        [EXPERTS_TRTLLM_GEN] = {128, 512, 128, false, true},
    };
    if (plan->precision.weights != DTYPE_MXFP4)
        return (struct serve_experts){0};
    return layouts[stack_experts(plan, NULL)];
}

const struct stack_path stack_trtllm_paths[] = {
    {"fused", "tokens on every rank"},
    {"allgather", "attention DP, all-gather"},
    {"deepep", "DeepEP"},
    {"deepep_ll", "DeepEP, low latency"},
    {NULL, NULL},
};

enum status stack_trtllm_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    enum path_exchange exchange = path_system_of(path)->exchange;
    struct serve_style style = {
        .moe = dispatch_style_of(plan),
        .spread = true,
        .whole_or_split = exchange == EXCHANGE_TOKENS || exchange == EXCHANGE_MESSAGES,
        .all_or_one = true,
        .experts = layout_of(plan),
        .cache_block = engine_cache_block(plan),
        .absorbed_copies = true,
    };
    style.moe.low_latency_tokens = DEEPEP_LOW_LATENCY_TOKENS;
    style.moe.kernel = kernel_of(plan, path);
    style.moe.expert_chunk = 2 * plan->moe.expert_tokens; /* a chunk on each of two streams */
    return serve_build(plan, work, path, &style, err);
}
