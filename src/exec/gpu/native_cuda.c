/* See native_cuda.h; names and numbers are those of cuda.h. */
#include "exec/gpu/native_cuda.h"

#include <string.h>

/* The function of this name into *to; false: there is none. */
static bool bind(void *library, const char *name, void *to)
{
    void *symbol = gpu_library_find(library, name);
    memcpy(to, &symbol, sizeof symbol);
    return symbol != NULL;
}

int cuda_allow_local(void *library, void *function, uint32_t bytes)
{
    enum { MOST = 48 << 10, DYNAMIC_BYTES = 8 };
    int (*set)(void *kernel, int attribute, int value);
    if (bytes <= MOST)
        return 0;
    return bind(library, "cuFuncSetAttribute", &set) ? set(function, DYNAMIC_BYTES, (int)bytes)
                                                     : CUDA_LACKS;
}

uint64_t cuda_units_of(void *library, int device)
{
    enum { MULTIPROCESSORS = 16 };
    int (*get)(int *value, int attribute, int device);
    int units = 0;
    if (!bind(library, "cuDeviceGetAttribute", &get) ||
        get(&units, MULTIPROCESSORS, device) != 0 || units < 0)
        return 0;
    return (uint64_t)units;
}

int cuda_encode(void *library, const struct gpu_matrix *m, unsigned char map[128])
{
    enum { BF16 = 9, PLAIN = 0, SWIZZLE_128 = 3, FETCH_256 = 3, ZEROS = 0, WIDE = 64 };
    int (*encode)(void *map, int type, uint32_t dims, uint64_t memory, const uint64_t *sizes,
                  const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                  int interleave, int swizzle, int fetch, int outside);
    _Alignas(64) unsigned char made[128] = {0};
    uint64_t row = m->columns * 2, sizes[] = {m->columns, m->rows, m->matrices},
             strides[] = {row, row * m->rows};
    uint32_t box[] = {WIDE, m->box_rows, 1}, steps[] = {1, 1, 1};
    if (!bind(library, "cuTensorMapEncodeTiled", &encode))
        return CUDA_LACKS;
    int code = encode(made, BF16, 3, m->memory, sizes, strides, box, steps, PLAIN, SWIZZLE_128,
                      FETCH_256, ZEROS);
    memcpy(map, made, sizeof made);
    return code;
}
