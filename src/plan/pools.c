/* See pools.h. */
#include "plan/pools.h"

#include "base/checked.h"

bool plan_is_apart(const struct plan *plan)
{
    return plan->prefill || (plan->workload.mode == MODE_SERVE && plan->workload.disaggregated);
}

uint64_t plan_deployments(const struct plan *plan, enum duty duty)
{
    return duty == DUTY_PROMPTS ? plan->workload.deployments.prefill
                                : plan->workload.deployments.decode;
}

/* What requests are, and how many, is said once for both. */
static void take_requests(const struct workload *all, struct workload *own)
{
    own->concurrency = all->concurrency;
    own->request_rate = all->request_rate;
    own->input_length = all->input_length;
    own->output_length = all->output_length;
    own->length_spread = all->length_spread;
    own->limit = all->limit;
}

void plan_pool(const struct plan *plan, enum duty duty, uint64_t deployments, struct plan *out)
{
    struct workload *w = &out->workload;
    *out = duty == DUTY_PROMPTS ? *plan->prefill : *plan;
    out->prefill = NULL;
    w->disaggregated = false;
    w->deployments.prefill = w->deployments.decode = 0;
    take_requests(&plan->workload, w);
    if (deployments < 2)
        return;
    w->concurrency = ceil_div(w->concurrency, deployments);
    w->request_rate /= (double)deployments;
}
