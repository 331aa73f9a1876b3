/* See operand.h. */
#include <assert.h>

#include "work/list/work.h"

const char *role_name(enum role role)
{
    static const char *const names[] = {
#define ROLE_TEXT(name, text) text,
        ROLE_LIST(ROLE_TEXT)
#undef ROLE_TEXT
    };
    return names[role];
}

void work_operands(struct work *work, struct op *op, const struct operand *operands)
{
    op->first_operand = (uint32_t)work->n_operands;
    op->n_operands = 0;
    for (; operands->role != ROLE_COUNT; operands++) {
        if (operands->buffer == WORK_NONE)
            continue;
        assert(operands->role == ROLE_RESULT ||
               op_buffer(work, op, (enum role)operands->role) == WORK_NONE);
        work->operands = arena_grow(work->arena, work->operands, work->n_operands,
                                    &work->operand_capacity, sizeof *operands);
        work->operands[work->n_operands++] = *operands;
        op->n_operands++;
    }
}

struct operand *op_operands(const struct work *work, const struct op *op)
{
    return op->n_operands ? work->operands + op->first_operand : NULL;
}

uint16_t op_buffer(const struct work *work, const struct op *op, enum role role)
{
    const struct operand *operands = op_operands(work, op);
    for (unsigned i = 0; i < op->n_operands; i++)
        if (operands[i].role == role)
            return operands[i].buffer;
    return WORK_NONE;
}

bool op_reads(const struct work *work, const struct op *op, uint16_t buffer)
{
    const struct operand *operands = op_operands(work, op);
    for (unsigned i = 0; i < op->n_operands; i++)
        if (operands[i].read && operands[i].buffer == buffer)
            return true;
    return false;
}

bool op_writes(const struct work *work, const struct op *op, uint16_t buffer)
{
    const struct operand *operands = op_operands(work, op);
    for (unsigned i = 0; i < op->n_operands; i++)
        if (operands[i].written && operands[i].buffer == buffer)
            return true;
    return false;
}
