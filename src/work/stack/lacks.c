/* What of a plan its software has not, or has in some versions alone: such plans are priced and
 * told so, and searches pass by (stack_lacks). What every version refuses is a rule
 * (plan/rule/rule_train.c, rule_refused.c). */
#include "plan/derive.h"
#include "plan/engine.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/stack/stack.h"

static bool shards_states(const struct plan *plan)
{
    return plan->parallel.zero == 1 || plan->parallel.zero == 2;
}

static bool shards_gradients(const struct plan *plan)
{
    return plan->parallel.zero == 2;
}

static bool spreads_experts(const struct plan *plan)
{
    return plan->parallel.ep > 1;
}

static bool splits_experts(const struct plan *plan)
{
    return plan->parallel.etp > 1;
}

/* Over other ranks than the rest of a layer. */
static bool splits_experts_apart(const struct plan *plan)
{
    return plan->parallel.etp > 1 && plan->parallel.etp != plan->parallel.tp;
}

static bool has_stages(const struct plan *plan)
{
    return plan->parallel.pp > 1;
}

static bool trains(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN;
}

static bool graphs_whole_again(const struct plan *plan)
{
    return trains(plan) && plan->stack.graphs == GRAPHS_FULL &&
           plan->recompute.kind == RECOMPUTE_FULL;
}

/* Dispatchers wait on the host for how many rows come, but where slots or a buffer are as large
 * as they are said to be (token_dispatcher.py; HybridEP with a capacity of a rank). */
static bool graphs_wait(const struct plan *plan)
{
    bool room = plan->moe.library == LIBRARY_HYBRID_EP && plan->moe.buffer == SIZING_FACTOR;
    return trains(plan) && plan->stack.graphs == GRAPHS_FULL && plan_is_routed(plan) &&
           !path_reads(plan->moe.path, READS_CAPACITY_FACTOR) && !room;
}

static bool sends_wait(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return trains(plan) && p->vpp > 1 && p->pp == 2 && !plan->stack.overlap_pp;
}

static bool fuses_all_tokens(const struct plan *plan)
{
    return trains(plan) && plan->stack.overlap_tp && plan->parallel.tp > 1 &&
           !plan->parallel.sp;
}

static bool offloads_otherwise(const struct plan *plan)
{
    return trains(plan) && plan->optimizer.offload > 0 && !stack_offloads(plan);
}

/* Megatron's buffer asks V1 of DeepEP for its settings (fused_a2a.py, get_buffer). */
static bool has_no_queues(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    enum moe_library library = plan->moe.library;
    bool ports = library == LIBRARY_PRIMUS || plan->stack.kind == STACK_PRIMUS,
         first = library == LIBRARY_AUTO || library == LIBRARY_DEEPEP || ports;
    return trains(plan) && plan_is_routed(plan) && p->ep * p->etp > 1 && first &&
           path_reads(plan->moe.path, READS_DEEPEP) &&
           !path_reads(plan->moe.path, READS_DISPATCH_TOKENS) &&
           !deepep_config(ports ? DEEPEP_PRIMUS : DEEPEP_UPSTREAM, DEEPEP_DISPATCH,
                          p->ep * p->etp);
}

static bool shards_stages(const struct plan *plan)
{
    return trains(plan) && plan->parallel.zero >= 2 && plan->parallel.pp > 1;
}

/* Experts over ranks that are no whole groups of those that share a sequence, or a layer. */
static bool cuts_groups(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    uint64_t group = p->cp * (p->etp == 1 ? p->tp : 1);
    return trains(plan) && p->ep > 1 && plan_is_routed(plan) && p->ep % group != 0;
}

static bool replicates_beside(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return trains(plan) && p->zero == 0 && plan_dp(plan) > 1 &&
           (p->tp > 1 || p->pp > 1 || p->cp > 1);
}

static bool spreads_beside_tp(const struct plan *plan)
{
    return trains(plan) && plan->parallel.ep > 1 && plan->parallel.tp > 1;
}

static bool spreads_sharded(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return trains(plan) && p->ep > 1 && p->zero == 3 && (p->cp > 1 || p->hpz_shard > 0);
}

/* Dense layers in front stand outside MaxText's pipeline. */
static bool repeats_unevenly(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    const struct model *m = &plan->model;
    uint64_t front = m->moe_every == 1 && plan_is_routed(plan) ? m->dense_layers : 0;
    return trains(plan) && p->pp > 1 && (m->layers - front) % (p->pp * p->vpp) != 0;
}

/* Modules of transformers and torchtitan take a rank's columns for whole heads of keys. */
static bool cuts_kv_heads(const struct plan *plan)
{
    const struct model *m = &plan->model;
    uint64_t tp = plan->parallel.tp;
    bool window =
        plan_has_own_window(plan) && model_attention(m, MIXER_WINDOW).kv_heads % tp != 0;
    return m->attention.kind == ATTENTION_GQA && (m->attention.kv_heads % tp != 0 || window);
}

/* Only slices of TPUs have a mesh. */
static bool sends_by_gpu(const struct plan *plan)
{
    return plan->cluster.mesh.n > 0 && plan_is_routed(plan) &&
           path_reads(plan->moe.path, READS_DEEPEP);
}

#define ALL_STACKS UINT32_MAX
#define MEGATRONS (1u << STACK_MEGATRON | 1u << STACK_PRIMUS)

/* The newest release known is the one whose source was read for it. */
static bool splits_prompts_early(const struct plan *plan)
{
    return plan->parallel.cp > 1 && !engine_release(plan)->second_runner;
}

/* Sources: MaxText's mesh axes and shard_optimizer_over_data (configs/base.yml) and
 * configs/types.py, torchtitan's parallelize functions and distributed/parallel_dims.py,
 * Accelerate's FSDP plugin (fully_shard, reshard_after_forward), torch's offload policies
 * (distributed/fsdp/_fully_shard/_fsdp_api.py), DeepSpeed's (zero/config.py), transformers'
 * models under both of its trainers, DeepSpeed's docs of AutoEP, Megatron-LM
 * training/arguments.py, its guide of Megatron-FSDP and
 * examples/multimodal_dev/scripts/run_qwen35_vl.sh. What some of their versions check alone
 * stands here, not among the rules (plan/rule/rule_refused.c). */
static const struct {
    uint32_t stacks;
    const char *key;
    bool (*asks)(const struct plan *plan);
    const char *why;
} lacking[] = {
    {1u << STACK_MAXTEXT, "parallel.zero", shards_gradients,
     "MaxText shards the optimizer's states (1) or weights, gradients and states (3)"},
    {1u << STACK_MAXTEXT, "parallel.etp", splits_experts,
     "no axis of MaxText's mesh splits experts alone"},
    {1u << STACK_TORCHTITAN | 1u << STACK_FSDP, "parallel.zero", shards_states,
     "FSDP2 shards all (3) or nothing; parallel.reshard: never keeps weights until backward"},
    {1u << STACK_TORCHTITAN, "parallel.etp", splits_experts_apart,
     "torchtitan's expert_tensor_parallel_degree is 1 or tp"},
    {1u << STACK_FSDP | 1u << STACK_DEEPSPEED, "parallel.etp", splits_experts_apart,
     "experts of HuggingFace models are split as the rest of a layer is, over tp"},
    {1u << STACK_FSDP, "parallel.ep", spreads_experts,
     "HuggingFace models keep all experts of a rank; axolotl's plugin spreads them, by "
     "moe.path "
     "deepep and without tensor parallelism"},
    {1u << STACK_FSDP | 1u << STACK_DEEPSPEED, "parallel.pp", has_stages,
     "HuggingFace's trainers have no pipeline stages"},
    {MEGATRONS, "stack.graphs", graphs_whole_again,
     "Megatron-LM refuses full recomputation beside CUDA graphs, but for newer ones' graph of "
     "the whole iteration"},
    {1u << STACK_MEGATRON, "stack.graphs", graphs_wait,
     "no graph of the whole iteration waits on the host for the rows of experts: moe.path "
     "capacity, or moe.library hybrid_ep with moe.buffer as a factor"},
    {MEGATRONS, "stack.overlap.pp", sends_wait,
     "Megatron-LM asks for more than two stages where interleaved ones wait for their sends; "
     "Megatron-Bridge does not"},
    {MEGATRONS, "stack.overlap.tp", fuses_all_tokens,
     "--tp-comm-overlap goes with sequence parallelism alone: Megatron-LM refuses it without, "
     "Megatron-Bridge turns it off"},
    {MEGATRONS, "optimizer.offload", offloads_otherwise,
     "Megatron moves states to the host with Adam, zero 1, optimizer.precision_aware and "
     "weights in 16 bits"},
    {1u << STACK_FSDP | 1u << STACK_TORCHTITAN, "optimizer.offload", offloads_otherwise,
     "FSDP2's policy (CPUOffloadPolicy) moves weights, gradients and states together, under "
     "zero 3: optimizer.offload 1 and optimizer.offload_params"},
    {1u << STACK_DEEPSPEED, "optimizer.offload", offloads_otherwise,
     "DeepSpeed moves all states under ZeRO 1 to 3, a part of them and weights under 3 alone"},
    {MEGATRONS, "parallel.ep", has_no_queues,
     "DeepEP has settings for 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144 and 160 ranks, Primus' "
     "port for none of 48 and 96"},
    {MEGATRONS, "parallel.zero", shards_stages,
     "Megatron-FSDP (zero 2 and 3) is documented beside tp, cp and ep, not beside pp, and a "
     "launch of Megatron-LM's own turns it off there"},
    {1u << STACK_TORCHTITAN, "parallel.ep", cuts_groups,
     "torchtitan's ep is a multiple of cp and, where etp is 1, of cp x tp"},
    {1u << STACK_TORCHTITAN, "parallel.zero", replicates_beside,
     "torchtitan replicates whole weights beside no other degree, and cp shares weights out"},
    {1u << STACK_DEEPSPEED, "parallel.ep", spreads_beside_tp,
     "DeepSpeed's AutoEP goes without tensor parallelism"},
    {1u << STACK_DEEPSPEED, "parallel.ep", spreads_sharded,
     "DeepSpeed's AutoEP goes under ZeRO-3 without split sequences and without hpZ"},
    {1u << STACK_MAXTEXT, "parallel.pp", repeats_unevenly,
     "MaxText's pipeline has pp x vpp equal parts of the layers behind the dense ones; "
     "pipeline_parallel_layers leaves others outside it"},
    {1u << STACK_FSDP | 1u << STACK_TORCHTITAN, "parallel.tp", cuts_kv_heads,
     "tp ranks have whole heads of keys and values, and none is repeated (transformers "
     "issue 48307, torchtitan pull request 2577)"},
    {1u << STACK_VLLM, "parallel.cp", splits_prompts_early,
     "prompts are split over ranks as in vLLM 0.33 (v1/worker/gpu/pcp_manager.py); what "
     "earlier "
     "releases do was not read: stack.version 0.33"},
    {ALL_STACKS, "moe.path", sends_by_gpu,
     "DeepEP's kernels are for GPUs (deepseek-ai/DeepEP csrc/kernels, Primus-Turbo's in HIP), "
     "TPUs have none"},
};

const char *stack_lacks_next(const struct plan *plan, size_t *at, const char **key)
{
    for (; *at < sizeof lacking / sizeof *lacking; ++*at) {
        size_t i = *at;
        if (!(lacking[i].stacks >> plan->stack.kind & 1) || !lacking[i].asks(plan))
            continue;
        ++*at;
        *key = lacking[i].key;
        return lacking[i].why;
    }
    return NULL;
}

const char *stack_lacks(const struct plan *plan, const char **key)
{
    size_t at = 0;
    return stack_lacks_next(plan, &at, key);
}
