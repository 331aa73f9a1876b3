/* What a plan says about routing; see rows.h. */
#include "plan/derive.h"
#include "work/rows/rows.h"
#include "work/stack/stack.h"

uint64_t rows_per_node(const struct plan *plan)
{
    uint64_t nodes = plan->cluster.nodes ? plan->cluster.nodes : 1;
    uint64_t node_ranks = plan_world(plan) / nodes;
    uint64_t inner = plan->parallel.tp * plan->parallel.cp; /* default order: ep beyond them */
    uint64_t ep_per_node = node_ranks / (inner ? inner : 1);
    return ep_per_node ? ep_per_node : 1;
}

void rows_spec_from_plan(const struct plan *plan, const struct routing_data *data,
                         struct rows_spec *spec)
{
    *spec = (struct rows_spec){
        .tokens = plan_joined_tokens(plan),
        .top_k = plan->model.moe.top_k,
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
