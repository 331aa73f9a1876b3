/* See run_block.h. */
#include "calib/run/run_block.h"

#include "exec/verify/inputs_matmul.h"
#include "exec/verify/verify_matmul.h"

static void layer_inputs(const struct plan *plan, struct arena *arena, struct inputs *inputs)
{
    struct inputs_shape *shape = arena_alloc(arena, 1, sizeof *shape);
    *shape = inputs_shape_of(plan);
    inputs_random(inputs, shape, plan->moe.routing.seed);
}

static void matmul_inputs(const struct plan *plan, struct arena *arena, struct inputs *inputs)
{
    struct inputs_matmul *context = arena_alloc(arena, 1, sizeof *context);
    inputs_matmul_random(inputs, context, plan, plan->moe.routing.seed);
}

const struct run_block *run_block_of(const struct plan *plan)
{
    static const struct run_block layer = {layer_inputs, verify_run};
    static const struct run_block matmul = {matmul_inputs, verify_matmul};
    return plan->block.kind == BLOCK_MOE ? &layer : &matmul;
}
