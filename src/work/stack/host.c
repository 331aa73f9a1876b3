/* host: moeplan's own executor. It has no libraries and no habits: beside the state it holds
 * what the ops of the step read and write, for as long as data needs it. Of the list, `run`
 * performs the slice of one routed layer (sim/step/slice.h), op by op. */
#include "plan/plan.h"
#include "work/pass/fuse.h"
#include "work/pass/lives.h"
#include "work/piece/segments.h"
#include "work/piece/state.h"
#include "work/serve/serve.h"
#include "work/stack/stacks.h"

enum status stack_host_build(const struct plan *plan, struct work *work, struct err *err)
{
    if (plan->workload.mode == MODE_TRAIN)
        TRY(stack_check_saved_ops(plan, err));
    segments_use(plan, work);
    stack_generic_state(plan, work);
    work->alternating = plan->model.moe_every > 1 || plan->model.layer_types.n;
    TRY(work_ops(plan, work, err));
    lives_from_use(work);
    return STATUS_OK;
}

void stack_host_realise(const struct plan *plan, struct work *work)
{
    if (plan->moe.fuse_activation)
        fuse_activations(work);
}
