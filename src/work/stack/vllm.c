/* vLLM: serving. Experts are spread over all ranks of the engine; the kernel follows the format
 * of the weights and the exchange.
 *
 * Sources: buffers.md 2.5, 10.1 to 10.3; vllm model_executor/layers/fused_moe, envs.py;
 * v1/attention/backends/mla. In the profile run every token goes to one rank (dummy inputs are
 * alike, so their routing is) and the KV cache is not there yet. */
#include "work/path/path.h"
#include "work/stack/dispatch_deepep.h"
#include "work/stack/serve.h"
#include "work/stack/stack.h"

static bool fp8_weights(const struct plan *plan)
{
    return plan->precision.weights == DTYPE_FP8_BLOCK;
}

/* The modular kernel for a path: DeepGEMM and FlashInfer CUTLASS for fp8 blocks, Triton else.
 */
static enum expert_kernel kernel_of(const struct plan *plan, enum moe_path path)
{
    enum path_exchange exchange = path_system_of(path)->exchange;
    if (exchange == EXCHANGE_MESSAGES)
        return EXPERT_KERNEL_MASKED;
    if (!fp8_weights(plan))
        return EXPERT_KERNEL_TRITON;
    if (exchange == EXCHANGE_EVERYONE)
        return plan->parallel.ep > 1 ? EXPERT_KERNEL_CUTLASS : EXPERT_KERNEL_TRITON;
    return exchange == EXCHANGE_GATHER ? EXPERT_KERNEL_CUTLASS : EXPERT_KERNEL_DEEPGEMM;
}

const struct stack_path stack_vllm_paths[] = {
    {"fused", "no exchange"},
    {"allgather", "allgather_reducescatter"},
    {"deepep", "deepep_high_throughput"},
    {"deepep_ll", "deepep_low_latency"},
    {NULL, NULL},
};

enum status stack_vllm_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    bool profile = plan->workload.scenario == SCENARIO_PROFILE_RUN;
    struct serve_style style = {
        .moe = dispatch_style_of(plan),
        .spread = true,
        .no_cache = profile,
        .cache_block = 16,
        .absorbed_copies = true,
        .context_tokens = 64 * 1024,
        .context_source = "vLLM mla: chunked context, up-projected in the profile run",
    };
    style.moe.queues = QUEUE_FIXED;
    style.moe.low_latency_tokens = DEEPEP_VLLM_TOKENS;
    style.moe.kernel = kernel_of(plan, path);
    if (profile)
        style.moe.sizing = SIZING_WORST;
    return serve_build(plan, work, path, &style, err);
}
