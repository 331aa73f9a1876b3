/* What waits in host memory while a checkpoint is written behind the next steps. */
#include "base/text.h"
#include "plan/derive.h"
#include "work/piece/lora.h"
#include "work/piece/state_parts.h"

/* Of adapters a checkpoint has them and the modules trained whole; transposes are made again.
 */
static bool is_written(const struct plan *plan, const struct buffer *buffer)
{
    bool trained = text_starts(buffer->name, "adapters") ||
                   text_starts(buffer->name, "expert_adapters") ||
                   text_starts(buffer->name, "saved_modules");
    if (!buffer->state || buffer->category == CATEGORY_GRADIENTS ||
        text_equal(buffer->name, "fp8_transposes"))
        return false;
    return buffer->category != CATEGORY_WEIGHTS || trained || !lora_is_on(plan);
}

/* Megatron's ranks share out what each of them holds whole (--ckpt-fully-parallel-save, on
 * unless turned off); elsewhere a rank copies all it holds before it is planned who writes it.
 */
static bool is_shared_out(const struct plan *plan, const struct buffer *buffer)
{
    uint64_t sharded_from = buffer->category == CATEGORY_WEIGHTS ? 3 : 1;
    return plan_is_megatron(plan) && plan->parallel.zero < sharded_from;
}

static const char *writer_of(const struct plan *plan)
{
    enum stack_kind kind = plan->stack.kind;
    bool torch = kind == STACK_TORCHTITAN || kind == STACK_FSDP || kind == STACK_GENERIC;
    return plan_is_megatron(plan)  ? "Megatron filesystem_async.py preload_tensors"
           : kind == STACK_MAXTEXT ? "Orbax, asynchronous checkpoints"
           : torch                 ? "torch.distributed.checkpoint staging.py"
                                   : NULL;
}

/* One copy of the device's weights, masters and moments. Of what is in host memory already
 * Megatron makes none (tensor.to("cpu")); torch's stager does, and it is not counted. */
void step_checkpoint(const struct plan *plan, struct work *work, size_t first)
{
    if (!plan->workload.async_checkpoint || !writer_of(plan))
        return;
    struct sizes *z = &work->sizes;
    const struct shards ranks = step_sharers(plan, z);
    struct size sum = size_const(z, 0);
    for (size_t i = first; i < work->n_buffers; i++) {
        const struct buffer *buffer = &work->buffers[i];
        if (!is_written(plan, buffer))
            continue;
        struct size bytes = size_mul(z, buffer->bytes, buffer->count);
        bool experts = text_starts(buffer->name, "expert_");
        if (is_shared_out(plan, buffer))
            bytes = size_ceil_div(z, bytes, experts ? ranks.experts : ranks.dense);
        sum = size_add(z, sum, bytes);
    }
    work_host(work, "checkpoint_copy", sum, writer_of(plan));
}
