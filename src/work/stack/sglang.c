/* SGLang: serving. DeepEP in normal mode for prefill (DeepGEMM over contiguous rows) and in
 * low-latency mode for decode (DeepGEMM over masked slots); Triton on one rank.
 *
 * Sources: buffers.md 2.5, 10.3; sglang srt/layers/moe/token_dispatcher/deepep.py. */
#include "work/path/path.h"
#include "work/stack/dispatch_deepep.h"
#include "work/stack/serve.h"
#include "work/stack/stack.h"

static enum expert_kernel kernel_of(const struct plan *plan, enum moe_path path)
{
    enum path_exchange exchange = path_system_of(path)->exchange;
    if (exchange == EXCHANGE_MESSAGES)
        return EXPERT_KERNEL_MASKED;
    bool deepgemm = exchange == EXCHANGE_TOKENS && plan->precision.weights == DTYPE_FP8_BLOCK;
    return deepgemm ? EXPERT_KERNEL_DEEPGEMM : EXPERT_KERNEL_TRITON;
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
    struct serve_style style = {
        .moe = dispatch_style_of(plan),
        .spread = true,
        .cache_block = 1,
        .absorbed_copies = true,
    };
    style.moe.queues = QUEUE_ELEMENT;
    style.moe.low_latency_tokens = DEEPEP_LOW_LATENCY_TOKENS;
    style.moe.kernel = kernel_of(plan, path);
    style.moe.expert_chunk = 16384;
    if (plan->workload.scenario == SCENARIO_PROFILE_RUN)
        style.moe.sizing = SIZING_WORST;
    return serve_build(plan, work, path, &style, err);
}
