/* Calls a kernel with the arguments that a launch points at. */
#include <string.h>

#include "exec/gpu/kernels/call.h"

#define MEMORY                                                                                 \
    char *m0, char *m1, char *m2, char *m3, char *m4, char *m5, char *m6, char *m7, char *space
typedef void kernel_fn(const struct gpu_call call, MEMORY);
typedef void engine_fn(const struct gpu_maps maps, const struct gpu_call call, MEMORY);

void emul_call(void *code, void **parameters, const struct gpu_maps *maps);

static char *memory(void **parameters, int i)
{
    return *(char **)parameters[i];
}

#define GIVEN                                                                                  \
    *(const struct gpu_call *)parameters[0], memory(parameters, 1), memory(parameters, 2),     \
        memory(parameters, 3), memory(parameters, 4), memory(parameters, 5),                   \
        memory(parameters, 6), memory(parameters, 7), memory(parameters, 8),                   \
        memory(parameters, 9)

void emul_call(void *code, void **parameters, const struct gpu_maps *maps)
{
    kernel_fn *kernel;
    engine_fn *engine;
    memcpy(&kernel, &code, sizeof code);
    memcpy(&engine, &code, sizeof code);
    if (maps)
        engine(*maps, GIVEN);
    else
        kernel(GIVEN);
}
