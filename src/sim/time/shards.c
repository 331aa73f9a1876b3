/* See shards.h. */
#include "sim/time/shards.h"

#include <math.h>

#include "base/text.h"
#include "plan/derive.h"
#include "work/layer/layer.h"
#include "work/list/kernel.h"
#include "work/stack/stack.h"

/* FSDP's backward_prefetch (torch distributed/fsdp/api.py, BackwardPrefetch): pre gathers the
 * next layer before the gradients of the one at hand, beside them; post behind them, so that
 * the next layer waits for it; none gathers when the layer is there, behind the reduction of
 * the one before it, which the same communicator carries first. */
static bool fsdp_waits(const struct plan *plan, const struct op *op, enum profile_item item)
{
    enum prefetch when = plan->parallel.prefetch;
    if (plan->stack.kind != STACK_FSDP || op->phase == PHASE_FORWARD)
        return false;
    return when == PREFETCH_NONE || (when == PREFETCH_POST && item == PROFILE_ALL_GATHER);
}

bool shards_in_layers(const struct plan *plan, const struct op *op, enum profile_item item)
{
    return plan->stack.overlap_dp && !fsdp_waits(plan, op, item);
}

/* Where gradients need no sync none is reduced, and no copy of the shards added up (torch
 * _fsdp_param_group.py, post_backward). Stages of torch's pipelines share nothing out again
 * between micro-batches (distributed/pipelining/stage.py, backward_maybe_with_nosync:
 * set_reshard_after_backward), so that what forward keeps is gathered once. */
bool shards_once(const struct plan *plan, const struct op *op)
{
    if (op->phase == PHASE_UPDATE)
        return true;
    if (op->kernel != KERNEL_COLLECTIVE || !process_group_is_data(op->group))
        return false;
    bool gathers = op->args.collective.how == ALL_GATHER;
    if (op->phase == PHASE_FORWARD ? !gathers : gathers)
        return false;
    bool once = gathers ? plan->parallel.pp > 1 && stack_keeps_gathered(plan)
                        : stack_accumulates_in(plan) != DTYPE_NONE;
    return once && plan_micro_batches(plan) > 1;
}

/* Stages reduce when the backward of their last micro-batch is done. */
bool shards_hide(const struct plan *plan, const struct op *op, enum profile_item item)
{
    bool behind = op->phase == PHASE_BACKWARD && plan->parallel.pp > 1;
    return !behind && shards_in_layers(plan, op, item);
}

/* DeepSpeed reduces on a stream of its own with overlap_comm alone, which is off under zero 1
 * and 2 unless asked for (runtime/zero/config.py, overlap_comm_valid; engine.py,
 * allreduce_gradients, without zero at the end of backward), and gathers weights at the end of
 * its step (runtime/zero/stage_1_and_2.py, step). */
bool shards_of_step(const struct plan *plan, enum update_part part)
{
    bool deepspeed = plan->stack.kind == STACK_DEEPSPEED;
    if (!plan->stack.overlap_dp || part == UPDATE_WORK)
        return false;
    if (!deepspeed)
        return true;
    bool asked = plan->parallel.zero > 0 && plan->parallel.overlap_reduce;
    return part == UPDATE_REDUCE && (asked || plan->parallel.zero >= 3);
}

/* runtime/engine.py: "stage >= 2 communicates during non gradient accumulation boundaries as
 * well"; zero/stage_1_and_2.py, reduce_ready_partitions_and_remove_grads. */
uint64_t shards_reductions(const struct plan *plan)
{
    bool each = plan->stack.kind == STACK_DEEPSPEED && plan->parallel.zero == 2;
    return each ? plan_micro_batches(plan) : 1;
}

/* On the stream that reduces them: DeepSpeed runtime/zero/stage_1_and_2.py,
 * async_inplace_copy_grad_to_fp32_buffer_from_gpu, and stage3.py; FSDP2 _fsdp_collectives.py,
 * foreach_reduce. Megatron's HybridDeviceOptimizer copies them in its step. */
bool shards_go_in_backward(const struct plan *plan, const struct op *op)
{
    const enum stack_kind kind = plan->stack.kind;
    bool has = kind == STACK_DEEPSPEED || kind == STACK_FSDP || kind == STACK_TORCHTITAN;
    return has && shards_of_step(plan, UPDATE_REDUCE) &&
           text_equal(op->name, "offload_gradients");
}

bool shards_at_end(const struct op *op, enum profile_item item)
{
    bool gathers = item == PROFILE_ALL_GATHER;
    return segment_is_layer(op->segment) && gathers == (op->phase == PHASE_FORWARD);
}

/* Elements of a bucket: Megatron distributed_data_parallel.py (ddp_bucket_size unset),
 * DeepSpeed reduce_bucket_size, torch's DistributedDataParallel bucket_cap_mb of 25, 100 in
 * torchtitan (apply_ddp). Of other stacks none is known, and nothing is left. */
static double bucket_elements(const struct plan *plan, unsigned bits)
{
    const double mib = 1024 * 1024 * 8.0 / bits;
    const enum stack_kind kind = plan->stack.kind;
    if (plan_is_megatron(plan))
        return fmax(40e6, 1e6 * (double)plan_dp(plan));
    if (kind == STACK_DEEPSPEED)
        return plan->parallel.reduce_bucket ? (double)plan->parallel.reduce_bucket : 5e8;
    return kind == STACK_FSDP ? 25 * mib : kind == STACK_TORCHTITAN ? 100 * mib : 0;
}

double shards_last(const struct plan *plan, double elements, unsigned bits)
{
    return elements > 0 && bits ? fmin(1, bucket_elements(plan, bits) / elements) : 0;
}
