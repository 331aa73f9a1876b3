/* Backend "null": every op is called and none does anything, so what is timed is the harness:
 * preparing calls, waking workers, reading the clock. */
#include "exec/kernels/kernel.h"

#include <string.h>

static enum status null_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)call;
    (void)unit;
    (void)scratch;
    (void)err;
    return STATUS_OK;
}

void kernels_null(struct kernels *kernels)
{
    memset(kernels, 0, sizeof *kernels);
    kernels->null = true;
    for (size_t i = 0; i < KERNEL_COUNT; i++)
        kernels->table[i] = (struct kernel_ops){NULL, null_run, NULL};
}
