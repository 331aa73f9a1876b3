/* The table of paths, and the layer that every path shares; see dispatch.h. */
#include "work/stack/dispatch.h"

#include "work/stack/dispatch_deepep.h"
#include "work/stack/dispatch_paths.h"
#include "work/stack/stack.h"

/* alignment: rows of one expert; 0 where the path's software pads nothing */
static const struct {
    path_builder build;
    uint64_t alignment;
} paths[PATH_COUNT] = {
    [PATH_AUTO] = {path_ragged_a2a, 0},
    [PATH_CAPACITY] = {path_capacity, 0},
    [PATH_RAGGED_DOT] = {path_ragged_a2a, 0},
    [PATH_RAGGED_A2A] = {path_ragged_a2a, 0},
    [PATH_DEEPEP] = {path_deepep, 0},
    [PATH_DEEPEP_LL] = {path_deepep_ll, 0},
    [PATH_RDEP] = {path_rdep, 128},
    [PATH_BLOCKWISE] = {path_blockwise, 0},
    [PATH_SELECTIVE] = {path_selective, 0},
    [PATH_ALL_EXPERTS] = {path_all_experts, 0},
    [PATH_MASKED] = {path_masked, 0},
    [PATH_EXPERT_LOOP] = {path_expert_loop, 0},
    [PATH_CHUNKED_A2A] = {path_chunked_a2a, 0},
    [PATH_ALLGATHER] = {path_allgather, 0},
    [PATH_BLOCK_SPARSE] = {path_block_sparse, 128},
};

uint64_t dispatch_alignment(enum moe_path path)
{
    return paths[path].alignment ? paths[path].alignment : 1;
}

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

/* RDEP's trainer saves the layer's input and its routing, and runs dispatch and experts again.
 */
static void rdep_flow(struct flow_style *flow)
{
    static const char *const keep[] = {"router_scores", "topk_indices", "topk_gates", NULL};
    if (!flow->backward || flow->recompute)
        return;
    flow->recompute = true;
    flow->keep = keep;
}

enum status dispatch_layer(const struct plan *plan, struct work *work, enum moe_path path,
                           const struct dispatch_style *style, uint16_t input, uint16_t *output,
                           struct err *err)
{
    struct dispatch_style used = *style;
    if (!used.alignment)
        used.alignment = dispatch_alignment(path);
    if (path == PATH_RDEP)
        rdep_flow(&used.flow);
    struct hold_path p = {.plan = plan,
                          .style = &used,
                          .work = work,
                          .x = letters_over(&work->sizes, plan->parallel.ep),
                          .kind = path,
                          .dtype = plan->precision.activations,
                          .zero = size_const(&work->sizes, 0),
                          .input = input};
    flow_init(&p.flow, work, SEGMENT_MOE);
    flow_given(&p.flow, input, true);
    part_router(&p);
    part_shared(&p);
    TRY(paths[path].build(&p, output, err));
    flow_close(&p.flow, &used.flow);
    return STATUS_OK;
}
