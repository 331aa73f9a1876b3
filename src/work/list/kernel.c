/* Names of kernels; see kernel.h. */
#include "work/list/kernel.h"

enum {
    NUMBERS_none,
#define NUMBERS_ENUM(family, numbers) NUMBERS_##family = numbers,
    ARGS_LIST(NUMBERS_ENUM)
#undef NUMBERS_ENUM
};

static const struct {
    const char *name, *operands;
    enum op_kind kind;
    unsigned numbers;
} kernels[] = {
#define KERNEL_ROW(name, text, kind, args, operands)                                           \
    {text, operands, OP_##kind, NUMBERS_##args},
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

const char *kernel_operands(enum kernel kernel)
{
    return kernels[kernel].operands;
}

unsigned kernel_numbers(enum kernel kernel)
{
    return kernels[kernel].numbers;
}

bool kernel_is_product(enum kernel kernel)
{
    return kernel == KERNEL_GEMM || kernel == KERNEL_GATED_GEMM;
}

bool kernel_is_work(enum kernel kernel)
{
    static const enum kernel others[] = {KERNEL_FILL, KERNEL_SHARD, KERNEL_RESULT, KERNEL_WAIT};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (kernel == others[i])
            return false;
    return true;
}
