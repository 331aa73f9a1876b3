/* Plain formats and single narrow elements; see format.h. */
#include "exec/kernels/format.h"

#include <math.h>
#include <string.h>

const struct narrow format_e4m3 = {4, 3, 7, 448.0F, 8};
const struct narrow format_e2m1 = {2, 1, 1, 6.0F, 2};

static float from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

uint16_t format_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffU) > 0x7f800000U) /* NaN: keep it one */
        return (uint16_t)((bits >> 16) | 0x40U);
    return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

float format_decode(const struct narrow *format, unsigned code)
{
    unsigned magnitude = code & ((1U << (format->exponent_bits + format->mantissa_bits)) - 1);
    int exponent = (int)(magnitude >> format->mantissa_bits);
    unsigned fraction = magnitude & ((1U << format->mantissa_bits) - 1);
    if (exponent > 0)
        fraction += 1U << format->mantissa_bits;
    else
        exponent = 1;
    float value = ldexpf((float)fraction, exponent - format->bias - (int)format->mantissa_bits);
    return magnitude == code ? value : -value;
}

unsigned format_encode(const struct narrow *format, float value)
{
    unsigned sign = signbit(value) ? 1U << (format->exponent_bits + format->mantissa_bits) : 0;
    float size = fabsf(value);
    if (!(size < format->largest))
        size = format->largest;
    int smallest = 1 - format->bias, exponent = smallest;
    if (size > 0 && ilogbf(size) > smallest)
        exponent = ilogbf(size);
    int mantissa = (int)format->mantissa_bits;
    unsigned n = (unsigned)nearbyintf(ldexpf(size, mantissa - exponent));
    /* n in [0, 2^(m+1)]: adding it to the exponent field carries by itself, and a subnormal
     * keeps exponent field 0 */
    return sign | (((unsigned)(exponent - smallest) << format->mantissa_bits) + n);
}

static float from_f16(uint16_t bits)
{
    const struct narrow f16 = {5, 10, 15, 65504.0F, 15};
    return format_decode(&f16, bits);
}

static uint16_t to_f16(float value)
{
    const struct narrow f16 = {5, 10, 15, 65504.0F, 15};
    return (uint16_t)format_encode(&f16, value);
}

void format_load(enum dtype dtype, const void *data, uint64_t first, uint64_t n, float *out)
{
    if (dtype == DTYPE_F32) {
        memcpy(out, (const float *)data + first, n * sizeof *out);
        return;
    }
    const uint16_t *in = (const uint16_t *)data + first;
    if (dtype == DTYPE_BF16) {
        for (uint64_t i = 0; i < n; i++)
            out[i] = from_bf16(in[i]);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        out[i] = from_f16(in[i]);
}

void format_store(enum dtype dtype, void *data, uint64_t first, uint64_t n, const float *in)
{
    if (dtype == DTYPE_F32) {
        memcpy((float *)data + first, in, n * sizeof *in);
        return;
    }
    uint16_t *out = (uint16_t *)data + first;
    if (dtype == DTYPE_BF16) {
        for (uint64_t i = 0; i < n; i++)
            out[i] = format_to_bf16(in[i]);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        out[i] = to_f16(in[i]);
}

float format_round(enum dtype dtype, float value)
{
    if (dtype == DTYPE_BF16)
        return from_bf16(format_to_bf16(value));
    return dtype == DTYPE_F16 ? from_f16(to_f16(value)) : value;
}

void format_round_all(enum dtype dtype, uint64_t n, float *values)
{
    for (uint64_t i = 0; dtype != DTYPE_F32 && i < n; i++)
        values[i] = format_round(dtype, values[i]);
}
