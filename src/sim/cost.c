/* Costs by FLOPs and bytes; see cost.h. Formulas: training-model.md section 3. */
#include "sim/cost.h"

#include "plan/derive.h"
#include "work/dtype.h"
#include "work/params.h"
#include "work/stack.h"

/* Executed over useful FLOPs of the expert products. */
static double expert_factor(const struct plan *plan, enum moe_path path)
{
    const struct model_moe *moe = &plan->model.moe;
    if (path == PATH_CAPACITY)
        return plan->moe.capacity_factor;
    if (path == PATH_MASKED || path == PATH_ALL_EXPERTS)
        return (double)moe->experts / (double)moe->top_k;
    if (path == PATH_RAGGED_DOT || plan->moe.matmul == MATMUL_RAGGED_DOT)
        return (double)plan_local_experts(plan);
    return 1;
}

static double expert_forward_flop(const struct plan *plan)
{
    const struct model *model = &plan->model;
    double matrices = model->moe.glu ? 3 : 2;
    return 2 * matrices * (double)model->hidden * (double)model->moe.intermediate *
           (double)model->moe.top_k * (double)plan_moe_layers(plan);
}

/* One-hot einsums of the capacity path: 2 K S H cf per token and layer, six of them in a
 * rematerialised step (forward 2, recompute 1, backward 3), two when serving. */
static double mask_flop(const struct plan *plan, enum moe_path path, bool training)
{
    if (path != PATH_CAPACITY || plan->stack.kind != STACK_MAXTEXT)
        return 0;
    return (training ? 6 : 2) * 2 * (double)plan->model.moe.top_k *
           (double)plan->workload.sequence_length * (double)plan->model.hidden *
           plan->moe.capacity_factor * (double)plan_moe_layers(plan);
}

static double executed_flop(const struct plan *plan, enum moe_path path)
{
    static const double passes[] = {[RECOMPUTE_NONE] = 3,
                                    [RECOMPUTE_SELECTIVE] = 3.25,
                                    [RECOMPUTE_FULL] = 4,
                                    [RECOMPUTE_SAVE] = 3.75};
    bool training = plan->workload.mode == MODE_TRAIN;
    double times = training ? passes[plan->recompute.kind] : 1;
    double forward =
        (double)params_forward_flop_per_token(&plan->model, plan->workload.sequence_length);
    double experts = expert_forward_flop(plan);
    return times * (forward + experts * (expert_factor(plan, path) - 1)) +
           mask_flop(plan, path, training);
}

/* Two all-gathers of weights and a reduce-scatter of gradients per micro-step. */
static double shard_bytes(const struct plan *plan)
{
    if (plan->workload.mode != MODE_TRAIN || plan->parallel.zero < 3)
        return 0;
    struct params params;
    params_count(&plan->model, &params);
    double width = dtype_bits(plan->precision.weights) / 8.0;
    double experts = (double)params.routed / (double)(plan->parallel.ep * plan->parallel.etp);
    double dense = (double)(params.parameters - params.routed) / (double)plan->parallel.tp;
    return 3 * width * (experts + dense) / (double)plan->parallel.pp;
}

static double exchange_bytes(const struct plan *plan, enum moe_path path)
{
    double ranks = (double)plan->parallel.ep;
    double copies = (double)plan->model.moe.top_k;
    if (path == PATH_DEEPEP || path == PATH_ALLGATHER)
        copies = copies < ranks ? copies : ranks;
    if (path == PATH_CAPACITY)
        copies *= plan->moe.capacity_factor;
    double times = plan->workload.mode == MODE_TRAIN ? 4 : 2;
    return times * copies * (double)plan->model.hidden *
           (dtype_bits(plan->precision.dispatch) / 8.0) * (ranks - 1) / ranks *
           (double)plan_moe_layers(plan);
}

void cost_of(const struct plan *plan, struct cost *cost)
{
    enum moe_path path = stack_path(plan, NULL);
    const struct cluster *c = &plan->cluster;
    double sharers = (double)(plan->parallel.tp * plan->parallel.pp * plan->parallel.cp);
    double tokens = (double)plan_tokens(plan);
    cost->flop_per_token = executed_flop(plan, path);
    cost->exchange_bytes_per_token = exchange_bytes(plan, path);
    cost->shard_bytes_per_token = shard_bytes(plan) / tokens;
    bool inside = plan->parallel.ep <= c->node.devices * c->device.logical_cores;
    double exchange_rate = inside ? c->node.link_bandwidth : c->network.bandwidth;
    double shard_rate = c->nodes > 1 ? c->network.bandwidth : c->node.link_bandwidth;
    double peak =
        plan->precision.compute == COMPUTE_FP8 ? c->device.peak_fp8 : c->device.peak_bf16;
    cost->seconds_per_token = cost->flop_per_token / sharers / peak;
    if (exchange_rate > 0)
        cost->seconds_per_token += cost->exchange_bytes_per_token / exchange_rate;
    if (shard_rate > 0)
        cost->seconds_per_token += cost->shard_bytes_per_token / shard_rate;
}
