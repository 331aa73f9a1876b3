/* Which kernels of an engine compute experts of a format on a device behind an exchange: the
 * union over the releases that were read, so that nothing is refused which one of them runs.
 *
 * Sources: vLLM 0.11, 0.19 and 0.33, model_executor/layers/fused_moe (_supports_current_device,
 * _supports_quant_scheme, _supports_parallel_config and activation_format of every class of
 * experts; in 0.11 quantization/fp8.py, mxfp4.py and modelopt.py). SGLang 0.5.23, the
 * registered functions of layers/moe/moe_runner, layers/moe/ep_moe/layer.py (DeepEPMoE),
 * arg_groups/moe_hook.py and quantization/mxfp4.py. TensorRT-LLM, the capability matrix of
 * _torch/modules/fused_moe/MOE_DEVELOPER_GUIDE.md 04c2347be3e4. */
#include <stddef.h>

#include "plan/engine.h"

#define OF(name) (1u << DTYPE_##name)
#define HALVES (OF(BF16) | OF(F16))
#define FP8S (OF(FP8) | OF(FP8_CHANNEL) | OF(FP8_BLOCK))
#define INT4S (OF(INT4) | OF(INT4_32))
#define NF4S (OF(NF4) | OF(NF4_DOUBLE))

enum { SM80 = 1u << GENERATION_SM80, SM90 = 1u << GENERATION_SM90 };
enum { SM100 = 1u << GENERATION_SM100, AMD = 1u << GENERATION_GFX942 };
enum { HOPPER_ON = SM90 | SM100, NVIDIA = SM80 | HOPPER_ON, ANY = NVIDIA | AMD };

/* What lies before the experts: every token of a rank (nothing exchanged, or gathered), those
 * that DeepEP's normal kernels sent, or V2's, or slots of low latency. */
enum { ALL = 1, SENT_V1 = 2, SENT_V2 = 4, SLOTS = 8, SENT = SENT_V1 | SENT_V2 };

/* Not beside redundant experts; never by the engine's own choice. */
enum taken { FREELY, WITHOUT_COPIES, WHEN_ASKED };

static const struct kernels {
    enum stack_kind stack;
    enum expert_backend backend; /* AUTO: its own without a word here (AITER, CuteDSL) */
    uint32_t formats, devices, exchanges;
    enum taken taken;
} kernels[] = {
    {STACK_VLLM, EXPERTS_TRITON, OF(F32) | HALVES | OF(INT8) | INT4S | NF4S | OF(MXFP8), ANY,
     ALL | SENT, FREELY},
    {STACK_VLLM, EXPERTS_TRITON, FP8S, HOPPER_ON | AMD, ALL | SENT | SLOTS, FREELY},
    {STACK_VLLM, EXPERTS_TRITON, OF(F32) | HALVES, ANY, SLOTS, FREELY},
    {STACK_VLLM, EXPERTS_TRITON, OF(MXFP4) | OF(NVFP4), AMD, ALL | SENT, FREELY}, /* emulated */
    {STACK_VLLM, EXPERTS_TRITON_OAI, OF(MXFP4), HOPPER_ON | AMD, ALL | SENT, FREELY},
    {STACK_VLLM, EXPERTS_CUTLASS, OF(FP8) | OF(FP8_CHANNEL), HOPPER_ON, ALL | SLOTS, FREELY},
    {STACK_VLLM, EXPERTS_CUTLASS, OF(FP8_BLOCK) | OF(MXFP4) | OF(NVFP4), SM100, ALL, FREELY},
    {STACK_VLLM, EXPERTS_CUTLASS, INT4S, SM90, ALL | SENT, FREELY}, /* W4A8 */
    {STACK_VLLM, EXPERTS_DEEPGEMM, OF(FP8_BLOCK), HOPPER_ON, ALL | SENT | SLOTS, FREELY},
    {STACK_VLLM, EXPERTS_DEEPGEMM, OF(MXFP8) | OF(MXFP4), SM100, ALL | SENT, FREELY},
    {STACK_VLLM, EXPERTS_MASKED, OF(FP8_BLOCK), HOPPER_ON, SLOTS, FREELY},
    {STACK_VLLM, EXPERTS_FLASHINFER, HALVES | OF(FP8) | OF(MXFP4), HOPPER_ON, ALL | SENT,
     FREELY},
    {STACK_VLLM, EXPERTS_FLASHINFER, OF(FP8_BLOCK), SM90, ALL | SENT, FREELY},
    {STACK_VLLM, EXPERTS_FLASHINFER, OF(NVFP4), SM100, ALL | SENT, FREELY},
    {STACK_VLLM, EXPERTS_TRTLLM_GEN, HALVES | OF(FP8) | OF(INT4_32), SM100, ALL,
     WITHOUT_COPIES},
    {STACK_VLLM, EXPERTS_TRTLLM_GEN, OF(FP8_BLOCK) | OF(MXFP8), SM100, ALL | SENT_V2,
     WITHOUT_COPIES},
    {STACK_VLLM, EXPERTS_TRTLLM_GEN, OF(MXFP4) | OF(NVFP4), SM100, ALL | SENT, FREELY},
    {STACK_VLLM, EXPERTS_MARLIN, FP8S | OF(MXFP8) | OF(MXFP4) | OF(NVFP4) | OF(INT8) | INT4S,
     NVIDIA, ALL | SENT | SLOTS, FREELY},
    {STACK_VLLM, EXPERTS_AUTO, HALVES | FP8S | OF(MXFP4) | OF(INT4_32), AMD, ALL | SENT,
     FREELY},
    {STACK_VLLM, EXPERTS_AUTO, OF(NVFP4), SM100, SLOTS, FREELY},

    {STACK_SGLANG, EXPERTS_TRITON,
     OF(F32) | HALVES | FP8S | OF(INT8) | INT4S | NF4S | OF(MXFP4), ANY, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_TRITON, OF(MXFP8), AMD, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_TRITON, HALVES, NVIDIA, SENT, FREELY}, /* before 0.5 */
    {STACK_SGLANG, EXPERTS_TRITON_OAI, HALVES | OF(MXFP4), ANY, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_CUTLASS, FP8S | OF(MXFP8), HOPPER_ON, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_CUTLASS, OF(NVFP4), SM100, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_CUTLASS, OF(INT4), HOPPER_ON, ALL | SENT | SLOTS, FREELY}, /* W4A8 */
    {STACK_SGLANG, EXPERTS_DEEPGEMM, HALVES | OF(FP8) | OF(FP8_BLOCK) | OF(MXFP8), HOPPER_ON,
     ALL | SENT | SLOTS, FREELY},
    {STACK_SGLANG, EXPERTS_DEEPGEMM, OF(MXFP4), SM100, ALL | SENT | SLOTS, WHEN_ASKED},
    {STACK_SGLANG, EXPERTS_MASKED, HALVES | OF(FP8) | OF(FP8_BLOCK) | OF(MXFP8), HOPPER_ON,
     ALL | SLOTS, FREELY},
    {STACK_SGLANG, EXPERTS_MASKED, OF(MXFP4), SM100, ALL | SLOTS, WHEN_ASKED},
    {STACK_SGLANG, EXPERTS_FLASHINFER, OF(NVFP4), SM100, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_FLASHINFER, HALVES | OF(FP8), HOPPER_ON, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_FLASHINFER, OF(MXFP4), SM90, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_TRTLLM_GEN,
     HALVES | FP8S | OF(MXFP8) | OF(MXFP4) | OF(NVFP4) | INT4S, SM100, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_MARLIN, FP8S | OF(NVFP4) | OF(INT8) | INT4S, NVIDIA, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_MARLIN, OF(MXFP4), HOPPER_ON, ALL, FREELY},
    /* Humming: rows in 16 bits as Marlin's, whose word it has here */
    {STACK_SGLANG, EXPERTS_MARLIN, FP8S | OF(MXFP8) | OF(MXFP4) | OF(NVFP4) | OF(INT8) | INT4S,
     NVIDIA, SENT | SLOTS, WHEN_ASKED},
    {STACK_SGLANG, EXPERTS_AUTO, HALVES | FP8S | OF(MXFP4) | INT4S, AMD, ALL | SENT | SLOTS,
     FREELY},
    {STACK_SGLANG, EXPERTS_AUTO, OF(MXFP8), SM100, ALL, FREELY},
    {STACK_SGLANG, EXPERTS_AUTO, OF(NVFP4), SM100, SLOTS, FREELY},

    {STACK_TRTLLM, EXPERTS_CUTLASS,
     OF(F32) | HALVES | OF(FP8_CHANNEL) | OF(NVFP4) | OF(INT8) | INT4S, NVIDIA,
     ALL | SENT | SLOTS, FREELY},
    {STACK_TRTLLM, EXPERTS_CUTLASS, OF(FP8) | OF(MXFP4), HOPPER_ON, ALL | SENT | SLOTS, FREELY},
    {STACK_TRTLLM, EXPERTS_CUTLASS, OF(FP8_BLOCK), SM90, ALL | SENT | SLOTS, FREELY},
    {STACK_TRTLLM, EXPERTS_CUTLASS, OF(MXFP8), SM100, ALL | SENT | SLOTS, FREELY},
    {STACK_TRTLLM, EXPERTS_TRITON, HALVES | OF(FP8) | OF(MXFP4), SM90, ALL, FREELY},
    {STACK_TRTLLM, EXPERTS_TRITON_OAI, HALVES | OF(FP8) | OF(MXFP4), SM90, ALL, FREELY},
    {STACK_TRTLLM, EXPERTS_DEEPGEMM, OF(FP8_BLOCK), SM100, ALL | SENT | SLOTS, FREELY},
    {STACK_TRTLLM, EXPERTS_MASKED, OF(FP8_BLOCK), SM100, ALL | SENT | SLOTS, FREELY},
    {STACK_TRTLLM, EXPERTS_TRTLLM_GEN,
     HALVES | OF(FP8_BLOCK) | OF(MXFP8) | OF(MXFP4) | OF(NVFP4), SM100, ALL | SENT | SLOTS,
     FREELY},
    {STACK_TRTLLM, EXPERTS_MARLIN, OF(NVFP4), SM90, ALL | SENT, FREELY},
};

bool engine_sends_slots(const struct plan *plan)
{
    return plan->parallel.ep > 1 && path_reads(plan->moe.path, READS_DISPATCH_TOKENS);
}

bool engine_sends_tokens(const struct plan *plan)
{
    return plan->parallel.ep > 1 && path_reads(plan->moe.path, READS_DEEPEP) &&
           !engine_sends_slots(plan);
}

bool plan_spreads_remainder(const struct plan *plan)
{
    return plan->stack.kind == STACK_VLLM && plan->workload.mode != MODE_TRAIN;
}

static uint32_t exchange_of(const struct plan *plan)
{
    if (engine_sends_tokens(plan))
        return plan->moe.library == LIBRARY_DEEPEP_V2 ? SENT_V2 : SENT_V1;
    return engine_sends_slots(plan) ? SLOTS : ALL;
}

bool engine_runs_experts(const struct plan *plan, enum expert_backend backend)
{
    const uint32_t device = 1u << plan_generation(plan), exchange = exchange_of(plan);
    const bool copies = plan->moe.redundant_experts > 0, own = backend == EXPERTS_AUTO;
    if (plan_generation(plan) == GENERATION_OTHER)
        return true; /* a device that the table does not know */
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct kernels *k = &kernels[i];
        bool named = own ? k->taken != WHEN_ASKED : backend == k->backend;
        bool fits = k->formats >> plan->precision.weights & 1 && k->devices & device &&
                    k->exchanges & exchange;
        if (k->stack == plan->stack.kind && named && fits &&
            !(copies && k->taken == WITHOUT_COPIES))
            return true;
    }
    return false;
}
