/* MaxText's capacity path moves rows by products with one-hot masks [B, S, E, C]: what a list
 * calls gathers and sums is an einsum of 2 S E C H FLOP a sequence, more than the experts
 * themselves (training-model.md section 3: forward two, recomputation one, whose combine nobody
 * reads, backward three, the masks being without gradient). Source: MaxText layers/moe.py,
 * generate_masks and dense_matmul. */
#include "work/list/kernel.h"
#include "work/path/path.h"
#include "work/stack/stacks.h"

/* Kernels by which a path fills, empties and undoes slots. */
static bool moves_slots(const struct op *op)
{
    static const enum kernel moves[] = {KERNEL_GATHER, KERNEL_COMBINE, KERNEL_SPREAD,
                                        KERNEL_GATE_GRAD};
    if (!segment_has_experts(op->segment) ||
        (op->phase == PHASE_RECOMPUTE && op->kernel == KERNEL_COMBINE))
        return false;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (op->kernel == moves[i])
            return true;
    return false;
}

/* Slots and tokens stand in the rows of the op's matrices [rows, H]: the larger are slots. */
static struct size slots_of(struct work *work, const struct op *op, struct size hidden)
{
    struct size most = size_const(&work->sizes, 0);
    for (unsigned i = 0; i < op->n_operands; i++) {
        const struct buffer *b = &work->buffers[op_operands(work, op)[i].buffer];
        if (b->n_dims == 2 && b->dims[1].node == hidden.node)
            most = size_max(&work->sizes, most, b->dims[0]);
    }
    return most;
}

void stack_maxtext_realise(const struct plan *plan, struct work *work)
{
    struct sizes *z = &work->sizes;
    if (path_system_of(plan->moe.path)->exchange != EXCHANGE_CAPACITY)
        return;
    bool split = plan->moe.capacity_scope == CAPACITY_SEQUENCE;
    struct size groups = split ? size_slot(z, SLOT_MICRO_BATCH) : size_const(z, 1);
    struct size tokens = size_slot(z, SLOT_TOKENS), hidden = size_slot(z, SLOT_HIDDEN);
    for (size_t i = 0; i < work->n_ops; i++) {
        struct op *op = &work->ops[i];
        if (!moves_slots(op))
            continue;
        struct size slots = size_div(z, slots_of(work, op, hidden), groups);
        const struct size factors[] = {tokens, slots, hidden};
        op->kind = OP_BATCHED_GEMM;
        op->groups = groups;
        op->n = hidden;
        op->k = slots;
        op->flop = size_times(z, size_product(z, 3, factors), 2);
    }
}
