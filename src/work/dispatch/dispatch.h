/* The routed part of an MoE layer as ops and buffers: router, dispatch, experts, combine.
 *
 * A stack calls dispatch_layer once for every kind of layer with experts. The path says which
 * tensors the layer makes and where rows come from; the style says how the stack's software
 * does it. Persistent communication buffers go to SEGMENT_STEP. Which tensors are saved,
 * recomputed or have gradients follows from the ops (work/pass/flow.h). */
#ifndef MOEPLAN_WORK_DISPATCH_DISPATCH_H
#define MOEPLAN_WORK_DISPATCH_DISPATCH_H

#include "base/err.h"
#include "plan/plan.h"
#include "work/pass/flow.h"

/* How a serving engine asks V1 for its queues. */
enum queue_hint {
    QUEUE_BF16,    /* the library's hint for 16-bit rows */
    QUEUE_ELEMENT, /* its hint by the bytes of the dispatched element (SGLang) */
    QUEUE_FIXED    /* VLLM_DEEPEP_BUFFER_SIZE_MB for each level */
};

/* Whose slots per expert path capacity takes. */
enum capacity_kind { CAPACITY_MAXTEXT, CAPACITY_MEGATRON, CAPACITY_NEURON, CAPACITY_TUTEL };

/* What computes the experts in inference: the workspaces it takes (dispatch_fused.c). */
enum expert_kernel {
    EXPERT_KERNEL_PLAIN,           /* each product writes its own tensor */
    EXPERT_KERNEL_TRITON,          /* fused_experts: padded ids, caches 1+3 and 2 */
    EXPERT_KERNEL_TRITON_MODULAR,  /* workspace13 of max(I, H), workspace2 of max(2 I, H) */
    EXPERT_KERNEL_TRITON_OAI,      /* OpenAI's triton_kernels: the activation */
    EXPERT_KERNEL_CUTLASS,         /* vLLM's own, fp8 and w4a8 */
    EXPERT_KERNEL_CUTLASS_FP4,     /* vLLM's own, nvfp4 and mxfp4 */
    EXPERT_KERNEL_CUTLASS_BATCHED, /* vLLM's own over the slots of low latency */
    EXPERT_KERNEL_DEEPGEMM,        /* rows aligned to 128: workspace13 and workspace2 */
    EXPERT_KERNEL_DEEPGEMM_FP8,    /* the same with one byte an element in the first */
    EXPERT_KERNEL_MASKED,          /* DeepGEMM or Triton over the slots of low latency */
    EXPERT_KERNEL_FLASHINFER,      /* FlashInfer's CUTLASS runner over all tokens seen */
    EXPERT_KERNEL_TRTLLM_GEN,      /* rows in tiles, a pool of its own */
    EXPERT_KERNEL_MARLIN,          /* as Triton's modular workspaces */
    /* from here on a tensor per product (dispatch_products.c) */
    EXPERT_KERNEL_TRITON_PLAIN, /* gate-up, activation and down, a tensor each */
    EXPERT_KERNEL_CONTIGUOUS,   /* DeepGEMM, a tensor each: rows received, aligned to 128 */
    EXPERT_KERNEL_COMPACT,      /* the same over tiles of all pairs, local or not */
    EXPERT_KERNEL_MASKED_256,   /* the same over (M / 256 + 1) 256 slots of every expert */
    EXPERT_KERNEL_MASKED_128,   /* the same over up(M, 128) slots */
    EXPERT_KERNEL_COUNT
};

struct dispatch_style {
    struct flow_style flow;
    enum moe_library library; /* resolved: not auto */
    enum queue_hint queues;
    enum capacity_kind capacity;
    enum expert_kernel kernel;
    uint64_t expert_chunk;     /* tokens the kernel takes at once; 0: all */
    bool keeps_workspaces;     /* the kernel's workspaces stay for good once they have grown */
    enum buffer_sizing sizing; /* rows a rank reserves: worst, exact, balanced, factor */
    bool scale_before_down;    /* gates multiply the activation: down's output not saved */
    bool split_gate_up;        /* gate and up are two products with outputs of their own */
    bool f32_combine;          /* weighted sum over an f32 copy of the returned rows */
    bool one_hot;              /* MaxText's einsums: capacity multiplies by [mb, S, E, C] masks,
                                * masked computes all experts at once */
    bool shared;               /* add the shared experts */
    uint64_t alignment;        /* rows of an expert are padded to this; 0: not */
    uint64_t
        low_latency_tokens; /* least num_max_dispatch_tokens_per_rank when the plan is silent */
    bool low_latency_rounds; /* more tokens go in rounds of so many, not in larger buffers */
    enum dtype scores;       /* router scores and gates */
};

/* What a stack without habits of its own does: by the plan's mode, recompute and buffer. */
struct dispatch_style dispatch_style_of(const struct plan *plan);

/* Adds the layer for the path, in the segment of its input; `input` is its [T, H] input, a
 * buffer the caller owns (the output of the norm before it), `*output` the [T, H] result.
 * STATUS_INPUT when the path cannot run the plan. */
enum status dispatch_layer(const struct plan *plan, struct work *work, enum moe_path path,
                           const struct dispatch_style *style, uint16_t input, uint16_t *output,
                           struct err *err);

/* The whole list of an eager stack around such a layer: state, attention, dense networks, head
 * as stack generic keeps them, with another style of experts. */
enum status generic_build(const struct plan *plan, struct work *work, enum moe_path path,
                          const struct dispatch_style *style, struct err *err);

#endif
