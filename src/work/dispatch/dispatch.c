/* The layer that every path shares; see dispatch.h. */
#include "work/dispatch/dispatch.h"

#include "plan/derive.h"
#include "work/path/path.h"
#include "work/dispatch/dispatch_deepep.h"
#include "work/dispatch/dispatch_parts.h"
#include "work/stack/stack.h"

struct dispatch_style dispatch_style_of(const struct plan *plan)
{
    bool training = plan->workload.mode == MODE_TRAIN;
    return (struct dispatch_style){
        .flow = {.backward = training,
                 .recompute = training && plan->recompute.kind == RECOMPUTE_FULL},
        .library = plan->moe.library == LIBRARY_AUTO ? LIBRARY_DEEPEP : plan->moe.library,
        .capacity = plan->moe.capacity_scope == CAPACITY_SEQUENCE ? CAPACITY_MAXTEXT
                                                                  : CAPACITY_MEGATRON,
        .kernel = EXPERT_KERNEL_PLAIN,
        .sizing = stack_sizing(plan),
        .shared = true,
        .alignment = plan->moe.alignment,
        .low_latency_tokens = DEEPEP_LOW_LATENCY_TOKENS,
        .scores = DTYPE_F32,
    };
}

/* Where a path's trainer runs dispatch and experts again, only what it keeps is saved. */
static void keep_only(struct flow_style *flow, const char *const *keeps)
{
    if (!keeps || !flow->backward || flow->recompute)
        return;
    flow->recompute = true;
    flow->keep = keeps;
}

enum status dispatch_layer(const struct plan *plan, struct work *work, enum moe_path path,
                           const struct dispatch_style *style, uint16_t input, uint16_t *output,
                           struct err *err)
{
    struct dispatch_style used = *style;
    if (!used.alignment)
        used.alignment = path_alignment(path);
    keep_only(&used.flow, path_system_of(path)->keeps);
    struct hold_path p = {.plan = plan,
                          .style = &used,
                          .work = work,
                          .x = letters_over(&work->sizes, plan),
                          .path = path_system_of(path),
                          .dtype = plan->precision.activations,
                          .zero = size_const(&work->sizes, 0),
                          .input = input};
    flow_init(&p.flow, work, work->buffers[input].segment);
    flow_given(&p.flow, input, true);
    bool joins = plan_joined_replicas(plan) > 1, networks = plan_joins_networks(plan);
    struct size own = p.x.tokens;
    if (networks)
        part_join_input(&p);
    part_router(&p);
    struct row_dims tokens = rows_of(p.x.tokens, RULE_FIXED);
    if (part_has_shared(&p) && !plan_shared_gathered(plan)) /* else by the path */
        part_shared(&p, p.input, &tokens);
    part_latent_down(&p);
    if (joins && !networks)
        part_join_routed(&p);
    TRY(p.path->hold(&p, output, err));
    if (joins && !networks)
        part_own(&p, own, *output, output);
    part_latent_up(&p, output);
    if (networks)
        part_own(&p, own, *output, output);
    flow_close(&p.flow, &used.flow);
    return STATUS_OK;
}
