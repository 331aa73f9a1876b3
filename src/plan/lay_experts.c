/* See lay_experts.h. */
#include "plan/lay_experts.h"

#include "plan/derive.h"
#include "plan/engine.h"

/* What tensor-parallel ranks do with an expert. */
enum split {
    SPLIT_NEVER,  /* etp has to be asked for */
    SPLIT_LONE,   /* they split it, but not beside expert parallelism */
    SPLIT_ALWAYS, /* etp is tp unless it is given */
};

/* Megatron-LM's training/arguments.py, which Primus runs: expert_tensor_parallel_size is
 * tensor_model_parallel_size where it is None. torchtitan's expert_tensor_parallel_degree is 1;
 * without expert parallelism its plan for tensor parallelism cuts experts too (parallelize.py
 * of its models), as DeepSpeed's AutoTP does and the plans of transformers do that FSDP runs
 * beside. NxD's expert layers are of the tensor-parallel group where moe_ep_degree is 1
 * (neuronx_distributed_inference modules/moe_v2.py); beside it moe_tp_degree is given. */
static enum split split_of(const struct plan *plan)
{
    bool trains = plan->workload.mode == MODE_TRAIN;
    switch (plan->stack.kind) {
    case STACK_MEGATRON:
    case STACK_PRIMUS:
    case STACK_FSDP:
        return trains ? SPLIT_ALWAYS : SPLIT_NEVER;
    case STACK_TORCHTITAN:
    case STACK_DEEPSPEED:
        return trains ? SPLIT_LONE : SPLIT_NEVER;
    case STACK_NXD:
        return trains ? SPLIT_NEVER : SPLIT_LONE;
    case STACK_GENERIC:
    case STACK_HOST:
    case STACK_MAXTEXT:
    case STACK_VLLM:
    case STACK_SGLANG:
    case STACK_TRTLLM:
    case STACK_COUNT:
        break;
    }
    return SPLIT_NEVER;
}

bool experts_follow(const struct plan *plan)
{
    return plan_is_engine(plan) || split_of(plan) != SPLIT_NEVER;
}

uint64_t experts_split(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    enum split split = split_of(plan);
    bool splits = split == SPLIT_ALWAYS || (split == SPLIT_LONE && p->ep == 1);
    return splits && plan_is_routed(plan) ? p->tp : 1;
}

static unsigned lay_engine(struct plan *plan, unsigned given)
{
    struct parallel *p = &plan->parallel;
    uint64_t dp = plan_dp(plan), ranks = p->tp * dp;
    unsigned laid = 0;
    if (!ranks)
        return 0;
    if (!plan->model.moe.experts) { /* dp counts engines, each over its own tp ranks */
        p->etp = given & EXPERTS_ETP ? p->etp : p->tp;
        return given & EXPERTS_ETP || p->tp == 1 ? 0 : EXPERTS_ETP;
    }
    if (!(given & (EXPERTS_EP | EXPERTS_ETP)) && dp > 1 &&
        plan->model.moe.experts % ranks == 0) {
        p->ep = ranks;
        laid |= EXPERTS_EP;
    }
    if (!(given & EXPERTS_ETP) && p->ep == 1) {
        p->etp = ranks;
        laid |= EXPERTS_ETP;
    }
    if (!(given & EXPERTS_SP) && p->ep > 1 && p->tp > 1 && dp > 1) {
        p->sp = true;
        laid |= EXPERTS_SP;
    }
    return laid;
}

/* Megatron trains experts beside tensor parallelism in no other way (moe_layer.py, forward),
 * and torchtitan has none without (parallelize.py of its models). */
static bool shares_tokens(const struct plan *plan)
{
    bool always = plan->stack.kind == STACK_TORCHTITAN;
    return plan->workload.mode == MODE_TRAIN && plan->parallel.tp > 1 && !plan->parallel.sp &&
           (always || (plan_is_megatron(plan) && plan_is_routed(plan)));
}

unsigned experts_lay(struct plan *plan, unsigned given)
{
    if (plan_is_engine(plan))
        return lay_engine(plan, given);
    unsigned laid = 0;
    if (!(given & EXPERTS_ETP) && experts_split(plan) > 1) {
        plan->parallel.etp = experts_split(plan);
        laid |= EXPERTS_ETP;
    }
    if (!(given & EXPERTS_SP) && shares_tokens(plan)) {
        plan->parallel.sp = true;
        laid |= EXPERTS_SP;
    }
    return laid;
}
