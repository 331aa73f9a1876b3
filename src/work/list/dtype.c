/* Bytes of number formats; see dtype.h. */
#include "work/list/dtype.h"

#include "base/checked.h"

unsigned dtype_bits(enum dtype dtype)
{
    static const unsigned bits[DTYPE_COUNT] = {
        [DTYPE_NONE] = 0,  [DTYPE_F32] = 32,        [DTYPE_BF16] = 16,     [DTYPE_F16] = 16,
        [DTYPE_FP8] = 8,   [DTYPE_FP8_CHANNEL] = 8, [DTYPE_FP8_BLOCK] = 8, [DTYPE_MXFP8] = 8,
        [DTYPE_MXFP4] = 4, [DTYPE_NVFP4] = 4,       [DTYPE_INT8] = 8,      [DTYPE_I32] = 32,
        [DTYPE_I64] = 64,  [DTYPE_F64] = 64,        [DTYPE_BOOL] = 8,
    };
    return bits[dtype];
}

uint64_t dtype_bytes(enum dtype dtype, uint64_t n)
{
    bool overflow = false;
    return ceil_div(checked_mul(n, dtype_bits(dtype), &overflow), 8);
}

static uint64_t scale_bytes(enum dtype dtype, uint64_t rows, uint64_t columns)
{
    if (dtype == DTYPE_FP8_CHANNEL)
        return 4 * columns;
    if (dtype == DTYPE_FP8_BLOCK)
        return 4 * ceil_div(rows, 128) * ceil_div(columns, 128);
    if (dtype == DTYPE_MXFP8 || dtype == DTYPE_MXFP4)
        return ceil_div(rows, 32) * columns;
    return dtype == DTYPE_NVFP4 ? ceil_div(rows, 16) * columns : 0;
}

uint64_t dtype_matrix_bytes(enum dtype dtype, uint64_t rows, uint64_t columns)
{
    bool overflow = false;
    uint64_t elements = checked_mul(rows, columns, &overflow);
    return dtype_bytes(dtype, elements) + scale_bytes(dtype, rows, columns);
}
