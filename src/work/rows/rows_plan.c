/* What a plan says about routing; see rows.h. */
#include <math.h>

#include "plan/derive.h"
#include "work/list/comm_place.h"
#include "work/rows/rows.h"
#include "work/stack/stack.h"

uint64_t rows_per_node(const struct plan *plan)
{
    return (uint64_t)fmax(1, comm_place(plan, GROUP_EP).inside);
}

void rows_spec_from_plan(const struct plan *plan, const struct routing_data *data,
                         struct rows_spec *spec)
{
    *spec = (struct rows_spec){
        .tokens = plan_joined_tokens(plan),
        .top_k = plan_choices(plan),
        .experts = plan->model.moe.experts,
        .ranks = plan->parallel.ep,
        .ranks_per_node = rows_per_node(plan),
        .redundant = plan->moe.redundant_experts,
        .router = plan->model.moe.router,
        .routing = plan->moe.routing,
        .scenario = plan->workload.scenario,
        .balanced = plan->moe.buffer == SIZING_BALANCED && stack_reads_buffer(plan),
    };
    if (data)
        spec->data = *data;
}
