/* fused: every rank has the tokens before the layer begins, so nothing is exchanged; one kernel
 * reads the rows of its experts through sorted ids, and the partial sums are reduced after it
 * (vLLM and SGLang on one device, under tensor parallelism, and under tensor and expert
 * parallelism over the same ranks). What stacks hold: the kernel's workspaces. */
#include "plan/derive.h"
#include "work/path/path.h"
#include "work/layer/layer.h"
#include "work/dispatch/dispatch_parts.h"

static enum status refuse(const struct plan *plan, struct err *err)
{
    const struct parallel *p = &plan->parallel;
    if (p->ep == 1 || (plan_tokens_everywhere(plan) && p->ep * p->etp == p->tp))
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "path fused cannot run with parallel.ep %llu over tp %llu",
            (unsigned long long)p->ep, (unsigned long long)p->tp);
    return err_hint(err, "its tokens are on every rank already; with others take moe.path "
                         "allgather or deepep");
}

/* Without such a kernel: the rows of the rank's experts, sorted, and summed again. */
static uint16_t plain(struct hold_path *p, const struct row_dims *all)
{
    struct row_dims rows = part_expert_rows(p, p->style->alignment);
    uint16_t local = part_rows(p, "local_rows", CATEGORY_DISPATCH, &rows, p->x.hidden);
    flow_op(&p->flow, part_move(p, "permute", OP_PERMUTE), FLOW(p->input, p->indices),
            FLOW(local));
    uint16_t y = part_experts(p, local, &rows, WORK_NONE, OP_GROUPED_GEMM);
    uint16_t out = part_rows(p, "unpermuted", CATEGORY_DISPATCH, all, p->x.hidden);
    flow_op(&p->flow, part_move(p, "unpermute", OP_COMBINE), FLOW(y, p->gates), FLOW(out));
    return out;
}

static enum status hold(struct hold_path *p, uint16_t *output, struct err *err)
{
    TRY(refuse(p->plan, err));
    struct row_dims all = rows_of(rows_worst_tokens(&p->x), RULE_FIXED);
    bool kernel = p->style->kernel != EXPERT_KERNEL_PLAIN;
    *output = kernel ? part_fused(p, p->input, &all) : plain(p, &all);
    return STATUS_OK;
}

const struct path_system path_fused = {
    .backward = true,
    .build = layer_routed_everywhere,
    .hold = hold,
    .align = align_by_stack,
    .exchange = EXCHANGE_EVERYONE,
};
