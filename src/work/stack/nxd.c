/* Neuron (NxD): serving with static shapes, and training. Hidden states of the expert-parallel
 * group are gathered, computed blockwise, by selective loading or by all experts, and reduced.
 * In training the blockwise kernels keep every block's gate_up and down; the rest of the layer
 * is as stack generic keeps it.
 *
 * Sources: buffers.md 10.4, seed-systems.md B2 to B7 (neuronx-distributed
 * modules/moe/expert_mlps_v2.py, blockwise.py; nki-library moe kernels). */
#include "work/path/path.h"
#include "work/serve/serve.h"
#include "work/stack/stacks.h"

/* The all-to-all-v is announced (seed 002): a rank receives the tokens that use it, once. */
const struct stack_path stack_nxd_paths[] = {
    {"capacity", NULL},    {"blockwise", NULL}, {"selective", NULL},
    {"all_experts", NULL}, {"allgather", NULL}, {"deepep", "all-to-all-v, announced"},
    {NULL, NULL},
};

static enum status refuse(const struct plan *plan, enum moe_path path, struct err *err)
{
    TRY(stack_runs(plan, path, err));
    if (!path_system_of(path)->blocks || plan->model.hidden % 512 == 0)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "path blockwise needs hidden a multiple of 512, not %llu",
            (unsigned long long)plan->model.hidden);
    return err_hint(
        err, "its kernels pad the model: set model.hidden to %llu",
        (unsigned long long)(plan->model.hidden + 511 - (plan->model.hidden + 511) % 512));
}

static struct serve_style style_of(const struct plan *plan)
{
    struct serve_style style = {.moe = dispatch_style_of(plan), .cache_block = 1};
    style.moe.capacity = CAPACITY_NEURON;
    style.moe.scores = DTYPE_F64; /* affinities are computed in f64 */
    style.moe.sizing = SIZING_WORST;
    return style;
}

void stack_nxd_state(const struct plan *plan, struct work *work)
{
    struct serve_style style = style_of(plan);
    if (plan->workload.mode == MODE_TRAIN) {
        stack_generic_state(plan, work);
        return;
    }
    serve_weights(plan, work, &style);
    serve_cache(plan, work, style.cache_block);
}

enum status stack_nxd_build(const struct plan *plan, struct work *work, struct err *err)
{
    enum moe_path path = stack_path(plan, NULL);
    TRY(refuse(plan, path, err));
    struct serve_style style = style_of(plan);
    if (plan->workload.mode == MODE_TRAIN)
        return generic_build(plan, work, path, &style.moe, err);
    return serve_build(plan, work, path, &style, err);
}
