/* Quantities that follow from a plan alone; see derive.h. */
#include "plan/derive.h"

#include "base/checked.h"

uint64_t plan_world(const struct plan *plan)
{
    const struct cluster *c = &plan->cluster;
    return c->nodes * c->node.devices * c->device.logical_cores;
}

uint64_t plan_dp(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return plan_world(plan) / (p->tp * p->pp * p->cp);
}

uint64_t plan_expert_dp(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return plan_world(plan) / (p->ep * p->etp * p->pp);
}

uint64_t plan_moe_layers(const struct plan *plan)
{
    return plan->model.layers - plan->model.dense_layers;
}

uint64_t plan_tokens(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    const struct parallel *p = &plan->parallel;
    if (w->mode == MODE_DECODE)
        return w->micro_batch * w->tokens_per_sequence;
    return ceil_div(w->micro_batch * w->sequence_length, p->cp * (p->sp ? p->tp : 1));
}

uint64_t plan_experts_total(const struct plan *plan)
{
    return plan->model.moe.experts + plan->moe.redundant_experts;
}

uint64_t plan_local_experts(const struct plan *plan)
{
    return ceil_div(plan_experts_total(plan), plan->parallel.ep);
}

/* Of the global batch; one micro-step when the plan names none. */
uint64_t plan_accumulation(const struct plan *plan)
{
    const struct workload *w = &plan->workload;
    uint64_t sequences = w->global_batch;
    if (!sequences && w->tokens_per_step)
        sequences = w->tokens_per_step / w->sequence_length;
    uint64_t each = plan_dp(plan) * w->micro_batch;
    return sequences > each ? ceil_div(sequences, each) : 1;
}

uint64_t plan_rank_memory(const struct plan *plan)
{
    return plan->cluster.device.memory_bytes / plan->cluster.device.logical_cores;
}
