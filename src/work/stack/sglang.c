/* SGLang: serving. DeepEP in normal mode for prefill (DeepGEMM over contiguous rows) and in
 * low-latency mode for decode (DeepGEMM over masked slots); Triton where nothing is exchanged.
 *
 * Sources: engines.md 2, buffers.md 2.5, 10.3; sglang srt/layers/moe/token_dispatcher/deepep.py
 * and moe_runner; of mxfp4 arg_groups/model_overrides/{deepseek_v4,mimo_v2,gpt_oss}.py
 * (0.5.23).
 */
#include "work/list/dtype.h"
#include "work/path/path.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/serve/serve.h"
#include "work/stack/stacks.h"

enum expert_backend stack_sglang_experts(const struct plan *plan, const char **why)
{
    enum path_exchange exchange = path_system_of(stack_path(plan, NULL))->exchange;
    enum dtype weights = plan->precision.weights;
    bool blackwell = plan_generation(plan) == GENERATION_SM100;
    bool hopper = plan_generation(plan) == GENERATION_SM90;
    bool openai = plan->model.moe.activation == ACTIVATION_SWIGLU_OAI;
    bool apart = exchange == EXCHANGE_TOKENS || exchange == EXCHANGE_MESSAGES;
    if (exchange == EXCHANGE_MESSAGES) {
        *why = "sglang: masked DeepGEMM over the slots of low latency";
        return EXPERTS_MASKED;
    }
    if (exchange == EXCHANGE_TOKENS && weights == DTYPE_FP8_BLOCK) {
        *why = "sglang: DeepGEMM for fp8 behind DeepEP";
        return EXPERTS_DEEPGEMM;
    }
    if (weights == DTYPE_MXFP4 && !blackwell && (openai ? plan->parallel.ep == 1 : !hopper)) {
        *why = "sglang: mxfp4 by triton_kernels";
        return EXPERTS_TRITON_OAI;
    }
    if (weights == DTYPE_MXFP4 && hopper && !openai && !apart) {
        bool v4 = plan->model.attention.kind == ATTENTION_SHARED_KV;
        *why = "sglang: mxfp4 on Hopper by FlashInfer for DeepSeek-V4, else by Marlin";
        return v4 ? EXPERTS_FLASHINFER : EXPERTS_MARLIN;
    }
    if (!apart && dtype_is_int4(weights)) {
        *why = "sglang: Marlin for 4-bit integers (AWQ, GPTQ, compressed-tensors)";
        return EXPERTS_MARLIN;
    }
    if (blackwell && !apart) {
        *why = "sglang: flashinfer_trtllm on Blackwell (DeepSeek, Qwen3 and GLM models)";
        return EXPERTS_TRTLLM_GEN;
    }
    *why = "sglang: Triton where nothing else is preferred";
    return EXPERTS_TRITON;
}

static enum expert_kernel kernel_of(const struct plan *plan, enum moe_path path)
{
    enum path_exchange exchange = path_system_of(path)->exchange;
    bool received = exchange == EXCHANGE_TOKENS;
    if (exchange == EXCHANGE_MESSAGES)
        return EXPERT_KERNEL_MASKED;
    const enum expert_kernel kernels[EXPERTS_COUNT] = {
        [EXPERTS_TRITON] = EXPERT_KERNEL_TRITON_PLAIN,
        [EXPERTS_TRITON_OAI] = EXPERT_KERNEL_TRITON_OAI,
        [EXPERTS_CUTLASS] = EXPERT_KERNEL_CUTLASS,
        [EXPERTS_DEEPGEMM] = received ? EXPERT_KERNEL_CONTIGUOUS : EXPERT_KERNEL_COMPACT,
        [EXPERTS_MASKED] = EXPERT_KERNEL_MASKED_256,
        [EXPERTS_FLASHINFER] = EXPERT_KERNEL_FLASHINFER,
        [EXPERTS_TRTLLM_GEN] = EXPERT_KERNEL_TRTLLM_GEN,
        [EXPERTS_MARLIN] = EXPERT_KERNEL_MARLIN,
    };
    return kernels[stack_experts(plan, NULL)];
}

/* Triton's plain kernels have no product of mxfp4: the experts become bf16 while they are
 * loaded, four times as large (quantization/mxfp4.py, upcast_from_mxfp). Of such a checkpoint
 * nothing else is in 4 bits. AMD's take them as they are (AITER). */
static bool upcasts(const struct plan *plan)
{
    return plan->stack.kind == STACK_SGLANG && plan->workload.mode != MODE_TRAIN &&
           plan->precision.weights == DTYPE_MXFP4 &&
           plan_generation(plan) != GENERATION_GFX942 &&
           stack_experts(plan, NULL) == EXPERTS_TRITON;
}

enum dtype stack_weights(const struct plan *plan)
{
    return upcasts(plan) ? DTYPE_BF16 : plan->precision.weights;
}

/* How experts of mxfp4 lie (quantization/mxfp4.py, Mxfp4MoEMethod.create_weights): for
 * FlashInfer's kernels of gpt-oss 2880 x 2880 becomes 3072 x 3072. OpenAI's read biases in f32,
 * and scales laid out anew beside the loaded ones on Hopper and SM100 (_swizzle_mxfp4;
 * others take them as they are). */
static struct serve_experts layout_of(const struct plan *plan)
{
    static const struct serve_experts layouts[EXPERTS_COUNT] = {
        [EXPERTS_TRITON_OAI] = {32, 0, 0, true, true},
        [EXPERTS_TRTLLM_GEN] = {256, 256, 256, false, true},
        [EXPERTS_MARLIN] = {128, 0, 0, false, false},
    };
    enum expert_backend backend = stack_experts(plan, NULL);
    enum generation generation = plan_generation(plan);
    bool openai = plan->model.moe.activation == ACTIVATION_SWIGLU_OAI;
    if (stack_weights(plan) != DTYPE_MXFP4 || generation == GENERATION_GFX942 ||
        (backend == EXPERTS_TRTLLM_GEN && !openai))
        return (struct serve_experts){0};
    struct serve_experts layout = layouts[backend];
    layout.swizzled_scales &= generation == GENERATION_SM90 || generation == GENERATION_SM100;
    return layout;
}

const struct stack_path stack_sglang_paths[] = {
    {"fused", "moe-a2a-backend none"},
    {"allgather", "attention DP, none"},
    {"deepep", "deepep, normal"},
    {"deepep_ll", "deepep, low latency"},
    {NULL, NULL},
};

enum status stack_sglang_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    enum path_exchange exchange =
        path_system_of(path)->exchange; /* DeepEP: ep_size is tp_size */
    struct serve_style style = {
        .moe = dispatch_style_of(plan),
        .spread = true,
        .alone = true,
        .whole_or_split = exchange == EXCHANGE_TOKENS || exchange == EXCHANGE_MESSAGES,
        .experts = layout_of(plan),
        /* layers/rotary_embedding/base.py: "cache needs to be in FP32" */
        .rotary_table = DTYPE_F32,
        .cache_block = engine_cache_block(plan),
        .absorbed_copies = true,
    };
    style.moe.queues = QUEUE_ELEMENT;
    style.moe.low_latency_tokens = DEEPEP_LOW_LATENCY_TOKENS;
    /* deepep-mode auto: prompts go by the other kernels, beside buffers made for a decode step
     */
    style.moe.low_latency_rounds =
        plan->workload.mode == MODE_PREFILL && plan->moe.dispatch_tokens > 0;
    style.moe.kernel = kernel_of(plan, path);
    style.moe.expert_chunk = plan->moe.expert_tokens;
    if (plan->workload.scenario == SCENARIO_PROFILE_RUN)
        style.moe.sizing = SIZING_WORST;
    struct plan loaded = *plan;
    loaded.precision.weights = stack_weights(plan);
    return serve_build(&loaded, work, path, &style, err);
}
