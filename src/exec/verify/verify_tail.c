/* See verify_tail.h. */
#include "exec/verify/verify_tail.h"

/* The offsets of the groups that rows of a buffer are multiplied by, or WORK_NONE. Groups with
 * row counts of their own leave holes by design. */
static uint16_t groups_of(const struct work *work, uint16_t buffer)
{
    for (size_t i = 0; i < work->n_ops; i++) {
        const struct op *op = &work->ops[i];
        bool product = kernel_is_product((enum kernel)op->kernel) && op->phase == PHASE_FORWARD;
        if (product && op_buffer(work, op, ROLE_SRC) == buffer &&
            op_buffer(work, op, ROLE_SIZES) == WORK_NONE)
            return op_buffer(work, op, ROLE_OFFSETS);
    }
    return WORK_NONE;
}

static bool is_zero(const char *row, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        if (row[i] != 0)
            return false;
    return true;
}

bool verify_tail(const struct execution *x, const struct rank_state *rank, const struct op *op,
                 uint64_t *dirty)
{
    uint16_t offsets = WORK_NONE;
    if (op->kernel == KERNEL_MASK)
        offsets = op_buffer(x->work, op, ROLE_OFFSETS);
    if (op->kernel == KERNEL_GATHER && !op->loop && op->phase == PHASE_FORWARD)
        offsets = groups_of(x->work, op_buffer(x->work, op, ROLE_DST));
    if (offsets == WORK_NONE)
        return false;
    const struct tensor *rows = &rank->tensors[op_buffer(x->work, op, ROLE_DST)];
    const struct tensor *starts = &rank->tensors[offsets];
    uint64_t bytes = tensor_row_bytes(rows);
    struct arena arena = {0};
    char *row = arena_alloc(&arena, bytes, 1);
    int64_t end;
    execution_counts(x, starts, starts->rows - 1, 1, &end);
    *dirty = 0;
    for (uint64_t i = (uint64_t)end; i < rows->rows; i++) {
        execution_copy(x, tensor_row(rows, i), bytes, row);
        *dirty += !is_zero(row, bytes);
    }
    arena_release(&arena);
    return true;
}
