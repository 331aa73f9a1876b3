/* Names of kernels; see kernel.h. */
#include "work/list/kernel.h"

static const struct {
    const char *name;
    enum op_kind kind;
} kernels[] = {
#define KERNEL_ROW(name, text, kind, operands) {text, OP_##kind},
    KERNEL_LIST(KERNEL_ROW)
#undef KERNEL_ROW
};

const char *kernel_name(enum kernel kernel)
{
    return kernels[kernel].name;
}

enum op_kind kernel_kind(enum kernel kernel)
{
    return kernels[kernel].kind;
}

enum schedule kernel_schedule(const struct op *op)
{
    return (enum schedule)(op->flags / KERNEL_SCHEDULE);
}

bool kernel_is_work(enum kernel kernel)
{
    static const enum kernel others[] = {KERNEL_FILL, KERNEL_SHARD, KERNEL_RESULT, KERNEL_WAIT};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (kernel == others[i])
            return false;
    return true;
}
