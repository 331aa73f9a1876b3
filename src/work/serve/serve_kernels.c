/* See serve_kernels.h. Sources: SGLang 0.5.9 models/deepseek_v2.py, layers/communicator.py,
 * server_args.py; TensorRT-LLM 1.2 _torch/models/modeling_deepseekv3.py, modeling_gpt_oss.py,
 * cpp/tensorrt_llm/kernels/trtllmGenKernels/blockScaleMoe/runner.cu
 * (flashinfer's csrc/trtllm_fused_moe_runner.cu is the same); vLLM models/deepseek_v2.py,
 * model_executor/layers/fused_moe. */
#include "work/serve/serve_kernels.h"

#include "base/text.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/list/kernel.h"
#include "work/path/path.h"
#include "work/stack/stack.h"

enum {
    VLLM = 1 << STACK_VLLM,
    SGLANG = 1 << STACK_SGLANG,
    TRTLLM = 1 << STACK_TRTLLM,
    ALL = VLLM | SGLANG | TRTLLM
};

/* Kernels of experts, as bits. */
enum {
    TRITON = 1 << EXPERTS_TRITON,
    TRITON_OAI = 1 << EXPERTS_TRITON_OAI,
    MARLIN = 1 << EXPERTS_MARLIN,
    GENERATED = 1 << EXPERTS_TRTLLM_GEN,
    CUTLASS = 1 << EXPERTS_CUTLASS | 1 << EXPERTS_FLASHINFER,
    ANY = ~0
};

enum condition { ALWAYS, ONE_SUM, NO_BLOCKS, NO_COPIES, NO_DISPATCH };

static const struct rule {
    const char *name;
    int stacks, experts;
    enum condition only;
    uint8_t done;
} rules[] = {
    /* shared and routed experts are added, then summed over the ranks once */
    {"reduce_shared_sum", ALL, ANY, ONE_SUM, DONE_NOWHERE},
    {"gather_shared", ALL, ANY, ONE_SUM, DONE_NOWHERE},
    {"scatter_shared", ALL, ANY, ONE_SUM, DONE_NOWHERE},
    /* collectives and dispatchers sum the ranks' parts; rows beyond the last are not touched */
    {"reduce_routed_out", ALL, ANY, ALWAYS, DONE_NOWHERE},
    {"mask_tail", ALL, ANY, ALWAYS, DONE_NOWHERE},
    /* a prompt in parts: step_prompt_in, step_prompt_out */
    {"take_prompt_part", SGLANG, ANY, ALWAYS, DONE_NOWHERE},
    {"gather_attention_sum", SGLANG, ANY, ALWAYS, DONE_NOWHERE},
    /* numbers of copies are those of experts where there are no copies */
    {"place", ALL, ANY, NO_COPIES, DONE_NOWHERE},
    /* products read rows where they lie, by sorted numbers */
    {"fan_out", ALL, TRITON | TRITON_OAI | MARLIN | GENERATED, ALWAYS, DONE_NOWHERE},
    /* one kernel chooses and sorts */
    {"topk", ALL, GENERATED, ALWAYS, DONE_ALONG | DONE_CALLED},
    /* of 8 bits with scales of blocks the activation is a kernel of its own */
    {"activation", ALL, TRITON_OAI | GENERATED, NO_BLOCKS, DONE_NOWHERE},
    /* residual and norm in one */
    {"add_mlp_input", ALL, ANY, ALWAYS, DONE_ALONG},
    {"add_layer_output", ALL, ANY, ALWAYS, DONE_ALONG},
    {"attention_norm", SGLANG | TRTLLM, ANY, ALWAYS, DONE_REDUCED},
    {"mlp_norm", SGLANG | TRTLLM, ANY, ALWAYS, DONE_REDUCED},
    /* one matrix for both latents of MLA, their norms side by side */
    {"kv_down", ALL, ANY, ALWAYS, DONE_ALONG},
    {"kv_latent_norm", SGLANG | TRTLLM, ANY, ALWAYS, DONE_BESIDE},
    {"shared_gate_up", ALL, ANY, NO_DISPATCH, DONE_BESIDE},
    {"shared_activation", ALL, ANY, NO_DISPATCH, DONE_BESIDE},
    {"shared_down", ALL, ANY, NO_DISPATCH, DONE_BESIDE},
    /* calls that launch several kernels */
    {"rope", TRTLLM, ANY, ALWAYS, DONE_CALLED},
    {"write_cache", TRTLLM, ANY, ALWAYS, DONE_ALONG},
    {"fan", TRTLLM, GENERATED | CUTLASS, ALWAYS, DONE_CALLED},
    {"fan_out", TRTLLM, CUTLASS, ALWAYS, DONE_CALLED},
    {"activation", TRTLLM, GENERATED | CUTLASS, ALWAYS, DONE_CALLED},
    {"down", TRTLLM, GENERATED | CUTLASS, ALWAYS, DONE_CALLED},
    {"fan_in", TRTLLM, GENERATED | CUTLASS, ALWAYS, DONE_CALLED},
};

/* Ranks of tensor and of expert parallelism are the same, and each has every token. */
static bool is_together(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return plan_is_engine(plan) && !p->sp && p->tp > 1 && p->ep * p->etp == p->tp;
}

/* Rows travel by DeepEP's kernels. */
static bool dispatches(const struct plan *plan)
{
    enum path_exchange exchange = path_system_of(plan->moe.path)->exchange;
    return exchange == EXCHANGE_TOKENS || exchange == EXCHANGE_MESSAGES;
}

static bool holds(const struct plan *plan, enum condition only)
{
    switch (only) {
    case ONE_SUM:
        return is_together(plan);
    case NO_BLOCKS:
        return plan->precision.weights != DTYPE_FP8_BLOCK;
    case NO_COPIES:
        return !plan->moe.redundant_experts;
    case NO_DISPATCH:
        return !dispatches(plan);
    case ALWAYS:
        break;
    }
    return true;
}

static uint8_t rules_of(const struct plan *plan, int experts, const struct op *op)
{
    uint8_t done = 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *r = &rules[i];
        if (r->stacks >> plan->stack.kind & 1 && r->experts & experts &&
            text_equal(r->name, op->name) && holds(plan, r->only))
            done |= r->done;
    }
    return done;
}

/* What a rank has of the tokens in the list stands for all of them. */
static bool is_everywhere(const struct plan *plan, const struct work *work, const struct op *op,
                          struct size local)
{
    uint16_t out = op_buffer(work, op, ROLE_DST);
    bool layer = segment_is_layer(op->segment) && op->group == GROUP_NONE;
    return layer && is_together(plan) && plan_token_ranks(plan) > 1 && out != WORK_NONE &&
           work->buffers[out].dims[0].node == local.node;
}

void serve_kernels(const struct plan *plan, struct work *work)
{
    struct size local = size_slot(&work->sizes, SLOT_TOKENS);
    if (plan->workload.mode == MODE_TRAIN)
        return;
    int experts = plan->model.moe.experts ? 1 << stack_experts(plan, NULL) : 0;
    for (size_t i = 0; i < work->n_ops; i++) {
        struct op *op = &work->ops[i];
        op->done = rules_of(plan, experts ? experts : ANY, op);
        if (is_everywhere(plan, work, op, local))
            op->done |= DONE_EVERYWHERE;
    }
}
