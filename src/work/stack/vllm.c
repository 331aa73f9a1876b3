/* vLLM: serving. Experts are spread over all ranks of the engine; the kernel follows the format
 * of the weights, the device and the exchange.
 *
 * Sources: engines.md 1, buffers.md 2.5, 10.1 to 10.3; vllm model_executor/layers/fused_moe,
 * envs.py; v1/attention/backends/mla. In the profile run every token goes to one rank (dummy
 * inputs are alike, so their routing is), the KV cache is not there yet, and the last rows are
 * sampled. */
#include <inttypes.h>

#include "plan/derive.h"
#include "plan/schema/schema.h"
#include "work/list/dtype.h"
#include "work/path/path.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/serve/serve.h"
#include "work/stack/stacks.h"

/* ---- what computes the experts ---- */

/* Replicas of experts, or their placement by load. */
static bool balances_experts(const struct plan *plan)
{
    return plan->moe.redundant_experts || plan->moe.routing.placement == PLACEMENT_EPLB;
}

/* DeepGEMM takes matrices of whole blocks above 512 (deep_gemm_moe.py); others go to Triton. */
static bool fits_deepgemm(const struct plan *plan)
{
    uint64_t inter = plan->model.moe.intermediate / plan->parallel.etp;
    return inter > 512 && inter % 128 == 0 && plan->model.hidden % 128 == 0;
}

/* fp8 blocks on Hopper and Blackwell. The first list of backends in order of preference is that
 * of 0.19 (oracle/fp8.py): TRT-LLM's kernels are of Blackwell and place no experts by load
 * (experts/trtllm_fp8_moe.py), FlashInfer's CUTLASS takes blocks on Hopper alone
 * (experts/flashinfer_cutlass_moe.py), next is DeepGEMM. Before it was the default where it
 * takes the matrices (quantization/fp8.py of 0.11). */
static enum expert_backend block_experts(const struct plan *plan, bool blackwell,
                                         const char **why)
{
    bool ordered = engine_release(plan)->keeps_workspaces;
    if (ordered && blackwell && !balances_experts(plan)) {
        *why = "vllm: TRT-LLM's kernels for fp8 blocks on Blackwell";
        return EXPERTS_TRTLLM_GEN;
    }
    if (ordered && !blackwell) {
        bool spread = plan->parallel.ep > 1;
        *why = spread ? "vllm: FlashInfer CUTLASS for fp8 blocks over expert-parallel ranks"
                      : "vllm: Triton for fp8 blocks on Hopper without expert parallelism";
        return spread ? EXPERTS_FLASHINFER : EXPERTS_TRITON;
    }
    bool fits = fits_deepgemm(plan);
    *why =
        fits ? "vllm: DeepGEMM for fp8 blocks" : "vllm: Triton for blocks DeepGEMM takes not";
    return fits ? EXPERTS_DEEPGEMM : EXPERTS_TRITON;
}

/* OpenAI's kernels are for its own activation: they stand in the list of gpt-oss alone (0.33
 * fused_moe/oracle/mxfp4.py, _get_priority_backends_for_gpt_oss and _get_priority_backends,
 * which DeepSeek-V4 and Kimi-K3 take). */
static enum expert_backend mxfp4_experts(const struct plan *plan, const char **why)
{
    enum generation generation = plan_generation(plan);
    bool openai = plan->model.moe.activation == ACTIVATION_SWIGLU_OAI;
    if (generation == GENERATION_SM100) {
        *why = "vllm: mxfp4 by TRT-LLM's kernels on Blackwell";
        return EXPERTS_TRTLLM_GEN;
    }
    if (generation == GENERATION_GFX942 || (openai && generation == GENERATION_SM90)) {
        *why = "vllm: mxfp4 of gpt-oss by OpenAI's kernels on Hopper, and on AMD";
        return EXPERTS_TRITON_OAI;
    }
    *why = "vllm: mxfp4 by Marlin before Blackwell";
    return EXPERTS_MARLIN;
}

/* By the format of the weights and the device, for tokens that nobody exchanges or that all
 * ranks gather: the first backend of the engine's lists that supports them (engines.md 1.5,
 * oracle/ of fused_moe). */
static enum expert_backend auto_experts(const struct plan *plan, enum path_exchange exchange,
                                        const char **why)
{
    enum generation generation = plan_generation(plan);
    enum dtype weights = plan->precision.weights;
    bool blackwell = generation == GENERATION_SM100, hopper = generation == GENERATION_SM90;
    bool amd = generation == GENERATION_GFX942;
    if (weights == DTYPE_FP8_BLOCK && exchange == EXCHANGE_TOKENS) {
        *why = "vllm: DeepGEMM for fp8 blocks behind DeepEP";
        return EXPERTS_DEEPGEMM;
    }
    bool fp8 =
        weights == DTYPE_FP8 || weights == DTYPE_FP8_BLOCK || weights == DTYPE_FP8_CHANNEL;
    if (fp8 && generation == GENERATION_SM80) {
        *why = "vllm: Marlin for fp8 weights on a device without fp8 products";
        return EXPERTS_MARLIN;
    }
    if (weights == DTYPE_FP8_BLOCK && (hopper || blackwell))
        return block_experts(plan, blackwell, why);
    if (weights == DTYPE_MXFP4)
        return mxfp4_experts(plan, why);
    if (amd && (weights == DTYPE_NVFP4 || dtype_is_int4(weights))) {
        *why = "vllm: Triton for 4 bits on AMD, Marlin is NVIDIA's (nvfp4 is emulated)";
        return EXPERTS_TRITON;
    }
    if (weights == DTYPE_NVFP4) {
        *why = "vllm: nvfp4 by TRT-LLM's kernels on Blackwell, else Marlin";
        return blackwell ? EXPERTS_TRTLLM_GEN : EXPERTS_MARLIN;
    }
    if (dtype_is_int4(weights)) {
        *why = "vllm: Marlin for 4-bit integers (AWQ, GPTQ, compressed-tensors)";
        return EXPERTS_MARLIN;
    }
    bool sixteen = weights == DTYPE_BF16 || weights == DTYPE_F16;
    if (blackwell && sixteen && engine_release(plan)->second_runner) {
        *why = "vllm: TRT-LLM's kernels for 16 bits on Blackwell";
        return EXPERTS_TRTLLM_GEN;
    }
    *why = "vllm: Triton where nothing else is preferred";
    return EXPERTS_TRITON;
}

enum expert_backend stack_vllm_experts(const struct plan *plan, const char **why)
{
    enum path_exchange exchange = path_system_of(stack_path(plan, NULL))->exchange;
    enum dtype weights = plan->precision.weights;
    if (exchange != EXCHANGE_MESSAGES)
        return auto_experts(plan, exchange, why);
    if (weights == DTYPE_MXFP4 || dtype_is_int4(weights)) {
        *why = "vllm: batched Marlin for 4 bits over the slots of low latency";
        return EXPERTS_MARLIN;
    }
    *why = "vllm: batched DeepGEMM over the slots of low latency";
    return EXPERTS_MASKED;
}

/* The backend's kernel: over slots where low latency made them, and as the release has it. */
static enum expert_kernel kernel_of(const struct plan *plan, enum path_exchange exchange)
{
    enum expert_backend backend = stack_experts(plan, NULL);
    const struct engine_release *release = engine_release(plan);
    bool fp4 = plan->precision.weights == DTYPE_MXFP4 || plan->precision.weights == DTYPE_NVFP4;
    if (exchange == EXCHANGE_MESSAGES)
        return backend == EXPERTS_CUTLASS ? EXPERT_KERNEL_CUTLASS_BATCHED
                                          : EXPERT_KERNEL_MASKED;
    const enum expert_kernel kernels[EXPERTS_COUNT] = {
        [EXPERTS_TRITON] =
            release->keeps_workspaces ? EXPERT_KERNEL_TRITON_MODULAR : EXPERT_KERNEL_TRITON,
        [EXPERTS_TRITON_OAI] = EXPERT_KERNEL_TRITON_OAI,
        [EXPERTS_CUTLASS] = fp4 ? EXPERT_KERNEL_CUTLASS_FP4 : EXPERT_KERNEL_CUTLASS,
        [EXPERTS_DEEPGEMM] =
            release->second_runner ? EXPERT_KERNEL_DEEPGEMM_FP8 : EXPERT_KERNEL_DEEPGEMM,
        [EXPERTS_MASKED] = EXPERT_KERNEL_MASKED,
        [EXPERTS_FLASHINFER] = EXPERT_KERNEL_FLASHINFER,
        [EXPERTS_TRTLLM_GEN] = EXPERT_KERNEL_TRTLLM_GEN,
        [EXPERTS_MARLIN] = EXPERT_KERNEL_MARLIN,
    };
    return kernels[backend];
}

/* How 4-bit weights lie (engines.md 1.5): 2880 x 2880 becomes 3072 x 3072 for TRT-LLM's
 * kernels.
 */
static struct serve_experts layout_of(const struct plan *plan)
{
    static const struct serve_experts layouts[EXPERTS_COUNT] = {
        [EXPERTS_TRITON_OAI] = {64, 0, 0, true, true},
        [EXPERTS_FLASHINFER] = {128, 128, 128, false, false},
        [EXPERTS_TRTLLM_GEN] = {256, 256, 256, false, true},
        [EXPERTS_MARLIN] = {128, 256, 256, false, false},
    };
    if (plan->precision.weights != DTYPE_MXFP4)
        return (struct serve_experts){0};
    return layouts[stack_experts(plan, NULL)];
}

const struct stack_path stack_vllm_paths[] = {
    {"fused", "no exchange"},
    {"allgather", "allgather_reducescatter"},
    {"deepep", "deepep_high_throughput"},
    {"deepep_ll", "deepep_low_latency"},
    {NULL, NULL},
};

/* Tokens of a rank in a low-latency dispatch: a round's, or the largest step's. */
static uint64_t low_latency_tokens(const struct plan *plan,
                                   const struct engine_release *release)
{
    uint64_t step = plan->workload.max_num_batched_tokens;
    if (release->low_latency_tokens)
        return release->low_latency_tokens;
    return step ? step : DEEPEP_VLLM_TOKENS;
}

/* Kernels that ask an expert map which expert lies where; the others take the same number on
 * every rank for granted (fused_moe/expert_map_manager.py, ExpertMapManager at 04d26335). */
static enum status check_remainder(const struct plan *plan, struct err *err)
{
    static const bool maps[EXPERTS_COUNT] = {[EXPERTS_TRITON] = true,
                                             [EXPERTS_TRITON_OAI] = true,
                                             [EXPERTS_DEEPGEMM] = true,
                                             [EXPERTS_MARLIN] = true};
    enum expert_backend backend = stack_experts(plan, NULL);
    uint64_t ep = plan->parallel.ep, experts = plan_experts_total(plan);
    if (!plan_has_moe(plan) || experts % ep == 0 || maps[backend])
        return STATUS_OK;
    err_set(err, STATUS_INPUT,
            "stack vllm: %s takes as many experts on every rank, %" PRIu64
            " are no multiple of ep %" PRIu64,
            words_experts[backend], experts, ep);
    return err_hint(err, "stack.experts: triton, triton_oai, deepgemm or marlin, whichever "
                         "takes the weights, or another parallel.ep");
}

enum status stack_vllm_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    enum path_exchange exchange = path_system_of(path)->exchange;
    const struct engine_release *release = engine_release(plan);
    bool profile = plan->workload.scenario == SCENARIO_PROFILE_RUN;
    enum dtype own = plan->model.rotary_table;
    TRY(check_remainder(plan, err));
    struct serve_style style = {
        .moe = dispatch_style_of(plan),
        .spread = true,
        .whole_or_split = true,
        .profile = profile ? release : NULL,
        .experts = layout_of(plan),
        .remainders = true,
        .rotary_table = own ? own : DTYPE_BF16,
        .cache_block = engine_cache_block(plan),
        .absorbed_copies = true,
        .context_tokens = 64 * 1024,
        .context_source = "vLLM mla: chunked context, up-projected in the profile run",
    };
    style.moe.queues = QUEUE_FIXED;
    style.moe.low_latency_rounds = profile && release->low_latency_tokens > 0;
    style.moe.low_latency_tokens = low_latency_tokens(plan, release);
    style.moe.kernel = kernel_of(plan, exchange);
    style.moe.expert_chunk =
        plan->moe.expert_tokens ? plan->moe.expert_tokens : release->expert_chunk;
    style.moe.keeps_workspaces = profile && release->keeps_workspaces;
    if (profile) /* v1/worker/gpu_model_runner.py, maybe_randomize_inputs */
        style.moe.sizing =
            plan->stack.random_dummies && plan_dp(plan) > 1 ? SIZING_BALANCED : SIZING_WORST;
    return serve_build(plan, work, path, &style, err);
}
