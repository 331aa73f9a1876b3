/* Bytes of number formats; see dtype.h. */
#include "work/list/dtype.h"

#include "base/checked.h"

unsigned dtype_bits(enum dtype dtype)
{
    static const unsigned bits[DTYPE_COUNT] = {
        [DTYPE_NONE] = 0,       [DTYPE_F32] = 32,    [DTYPE_BF16] = 16,
        [DTYPE_F16] = 16,       [DTYPE_FP8] = 8,     [DTYPE_FP8_CHANNEL] = 8,
        [DTYPE_FP8_BLOCK] = 8,  [DTYPE_MXFP8] = 8,   [DTYPE_MXFP4] = 4,
        [DTYPE_NVFP4] = 4,      [DTYPE_INT8] = 8,    [DTYPE_I32] = 32,
        [DTYPE_INT4] = 4,       [DTYPE_INT4_32] = 4, [DTYPE_NF4] = 4,
        [DTYPE_NF4_DOUBLE] = 4, [DTYPE_I64] = 64,    [DTYPE_F64] = 64,
        [DTYPE_BOOL] = 8,
    };
    return bits[dtype];
}

bool dtype_is_plain(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_BF16 || dtype == DTYPE_F16;
}

bool dtype_is_int4(enum dtype dtype)
{
    return dtype == DTYPE_INT4 || dtype == DTYPE_INT4_32;
}

/* Bytes of n elements without their scales, up to a whole byte. */
static uint64_t unscaled_bytes(enum dtype dtype, uint64_t n)
{
    bool overflow = false;
    return ceil_div(checked_mul(n, dtype_bits(dtype), &overflow), 8);
}

struct dtype_scale dtype_scale(enum dtype dtype)
{
    static const struct dtype_scale scales[DTYPE_COUNT] = {
        [DTYPE_FP8_CHANNEL] = {UINT64_MAX, 1, 4},
        [DTYPE_FP8_BLOCK] = {128, 128, 4},
        [DTYPE_MXFP8] = {32, 1, 1},
        [DTYPE_MXFP4] = {32, 1, 1},
        [DTYPE_NVFP4] = {16, 1, 1},
        [DTYPE_INT4] = {128, 1, 2},
        [DTYPE_INT4_32] = {32, 1, 2},
        [DTYPE_NF4] = {64, 1, 4},
        [DTYPE_NF4_DOUBLE] = {64, 1, 1},
    };
    return scales[dtype];
}

static uint64_t scale_bytes(enum dtype dtype, uint64_t rows, uint64_t columns)
{
    struct dtype_scale s = dtype_scale(dtype);
    if (!s.bytes)
        return 0;
    uint64_t down = s.rows == UINT64_MAX ? 1 : ceil_div(rows, s.rows);
    uint64_t n = down * ceil_div(columns, s.columns);
    return s.bytes * n + (dtype == DTYPE_NF4_DOUBLE ? 4 * ceil_div(n, 256) : 0);
}

uint64_t dtype_matrix_bytes(enum dtype dtype, uint64_t rows, uint64_t columns)
{
    bool overflow = false;
    uint64_t elements = checked_mul(rows, columns, &overflow);
    return unscaled_bytes(dtype, elements) + scale_bytes(dtype, rows, columns);
}
