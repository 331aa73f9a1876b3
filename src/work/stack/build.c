/* A plan's list built: what its stack holds, and rows of layers that are routed apart. */
#include "plan/derive.h"
#include "work/list/work.h"
#include "work/piece/lora.h"
#include "work/stack/stack.h"

/* Whether what layers save differs from layer to layer: their shapes follow routing, and each
 * is routed for itself. What the host performs is one layer with the rows that it has. */
static bool routed_apart(const struct plan *plan)
{
    return plan_is_routed(plan) && plan->moe.routing.layers == ROUTING_INDEPENDENT &&
           !plan->stack.static_shapes && plan->stack.kind != STACK_HOST;
}

/* What layers save goes by the mean of their rows: L copies of it are what they hold together.
 */
static void hold_apart(struct work *work)
{
    struct sizes *z = &work->sizes;
    for (size_t i = 0; i < work->n_buffers; i++) {
        struct buffer *buffer = &work->buffers[i];
        if (buffer->life != LIFE_SAVED || buffer->rule != RULE_ROUTING)
            continue;
        buffer->bytes = size_of_slots(z, buffer->bytes, slot_held);
        buffer->count = size_of_slots(z, buffer->count, slot_held);
        for (unsigned dim = 0; dim < buffer->n_dims; dim++)
            buffer->dims[dim] = size_of_slots(z, buffer->dims[dim], slot_held);
    }
}

enum status work_build(const struct plan *plan, struct arena *arena, struct work *work,
                       struct err *err)
{
    work_init(work, arena);
    TRY(lora_check(plan, &work->sizes, err));
    TRY(stack_mixes(plan, err));
    TRY(stack_system(plan->stack.kind)->build(plan, work, err));
    work->apart = routed_apart(plan);
    if (work->apart)
        hold_apart(work);
    work_index(work);
    return STATUS_OK;
}
