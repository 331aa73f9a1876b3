/* Formats with scales: FP8 per tensor, channel or 128x128 block, MXFP8, MXFP4, NVFP4. */
#include "exec/kernels/format.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

enum scale_kind { SCALE_ONE, SCALE_F32, SCALE_E8M0, SCALE_E4M3 };

/* Elements share a scale over block_rows x block_columns; 0 rows: the whole column. */
struct scheme {
    const struct narrow *element;
    enum scale_kind scale;
    uint64_t block_rows, block_columns;
};

static const struct scheme schemes[DTYPE_COUNT] = {
    [DTYPE_FP8] = {&format_e4m3, SCALE_ONE, 0, 1},
    [DTYPE_FP8_CHANNEL] = {&format_e4m3, SCALE_F32, 0, 1},
    [DTYPE_FP8_BLOCK] = {&format_e4m3, SCALE_F32, 128, 128},
    [DTYPE_MXFP8] = {&format_e4m3, SCALE_E8M0, 32, 1},
    [DTYPE_MXFP4] = {&format_e2m1, SCALE_E8M0, 32, 1},
    [DTYPE_NVFP4] = {&format_e2m1, SCALE_E4M3, 16, 1},
};

static const unsigned scale_bytes[] = {
    [SCALE_ONE] = 0, [SCALE_F32] = 4, [SCALE_E8M0] = 1, [SCALE_E4M3] = 1};

static bool is_half_byte(const struct scheme *scheme)
{
    return scheme->element == &format_e2m1;
}

static uint64_t element_bytes(const struct scheme *scheme, uint64_t n)
{
    return is_half_byte(scheme) ? ceil_div(n, 2) : n;
}

static uint64_t blocks_per_column(const struct scheme *scheme, uint64_t rows)
{
    return scheme->block_rows ? ceil_div(rows, scheme->block_rows) : 1;
}

/* Where the scale of block (block row, column) stands, behind the elements. */
static uint64_t scale_at(const struct scheme *scheme, uint64_t rows, uint64_t columns,
                         uint64_t block_row, uint64_t column)
{
    uint64_t number =
        column / scheme->block_columns * blocks_per_column(scheme, rows) + block_row;
    return element_bytes(scheme, rows * columns) + number * scale_bytes[scheme->scale];
}

static float read_scale(const struct scheme *scheme, const unsigned char *at)
{
    float scale;
    switch (scheme->scale) {
    case SCALE_F32:
        memcpy(&scale, at, sizeof scale);
        return scale;
    case SCALE_E8M0:
        return ldexpf(1, (int)*at - 127);
    case SCALE_E4M3:
        return format_decode(&format_e4m3, *at);
    case SCALE_ONE:
        break;
    }
    return 1;
}

/* Chooses the scale of a block from its largest magnitude and stores it; returns the scale as
 * it will be read back. */
static float write_scale(const struct scheme *scheme, float largest, unsigned char *at)
{
    float scale = largest > 0 ? largest / scheme->element->largest : 1;
    int exponent = largest > 0 ? ilogbf(largest) - scheme->element->largest_exponent : 0;
    switch (scheme->scale) {
    case SCALE_F32:
        memcpy(at, &scale, sizeof scale);
        break;
    case SCALE_E8M0:
        *at = (unsigned char)(exponent < -127 ? 0 : exponent + 127);
        break;
    case SCALE_E4M3:
        *at = (unsigned char)format_encode(&format_e4m3, scale);
        break;
    case SCALE_ONE:
        break;
    }
    return read_scale(scheme, at);
}

static void put_element(const struct scheme *scheme, unsigned char *out, uint64_t i,
                        float value)
{
    unsigned code = format_encode(scheme->element, value);
    if (!is_half_byte(scheme)) {
        out[i] = (unsigned char)code;
        return;
    }
    unsigned shift = i % 2 ? 4 : 0, other = out[i / 2] & (i % 2 ? 15U : 240U);
    out[i / 2] = (unsigned char)(other | code << shift);
}

static unsigned get_code(const struct scheme *scheme, const unsigned char *in, uint64_t i)
{
    if (!is_half_byte(scheme))
        return in[i];
    unsigned pair = in[i / 2];
    return i % 2 ? pair >> 4 : pair & 15U;
}

/* A block's place in its matrix. */
struct part {
    uint64_t rows, columns; /* of the matrix */
    uint64_t r0, nr, c0, nc;
};

static float largest_of(const float *values, uint64_t n)
{
    float largest = 0;
    for (uint64_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(values[i]));
    return largest;
}

/* values: column by column, nr each */
static void encode_block(const struct scheme *scheme, const float *values, struct part part,
                         unsigned char *out)
{
    uint64_t block_row = scheme->block_rows ? part.r0 / scheme->block_rows : 0;
    float scale =
        write_scale(scheme, largest_of(values, part.nr * part.nc),
                    out + scale_at(scheme, part.rows, part.columns, block_row, part.c0));
    for (uint64_t c = 0; c < part.nc; c++) {
        for (uint64_t r = 0; r < part.nr; r++) {
            float value = scale > 0 ? values[c * part.nr + r] / scale : 0;
            put_element(scheme, out, (part.c0 + c) * part.rows + part.r0 + r, value);
        }
    }
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void row_column(const void *context, uint64_t c, uint64_t r0, uint64_t n, float *out)
{
    const float *values = context;
    (void)c;
    memcpy(out, values + r0, n * sizeof *out);
}

struct matrix_source format_row_source(const float *values)
{
    return (struct matrix_source){values, row_column};
}

void format_encode_matrix(enum dtype dtype, uint64_t rows, uint64_t columns,
                          const struct matrix_source *source, float *scratch, void *out)
{
    const struct scheme *scheme = &schemes[dtype];
    uint64_t step = scheme->block_rows ? scheme->block_rows : rows;
    for (uint64_t c0 = 0; c0 < columns; c0 += scheme->block_columns) {
        for (uint64_t r0 = 0; r0 < rows; r0 += step) {
            struct part part = {rows, columns,
                                r0,   at_most(rows - r0, step),
                                c0,   at_most(columns - c0, scheme->block_columns)};
            for (uint64_t c = 0; c < part.nc; c++)
                source->column(source->context, c0 + c, r0, part.nr, scratch + c * part.nr);
            encode_block(scheme, scratch, part, out);
        }
    }
}

/* Every value an element code can have; 16 or 256 entries. */
static void value_table(const struct scheme *scheme, float table[256])
{
    unsigned n = is_half_byte(scheme) ? 16 : 256;
    for (unsigned code = 0; code < n; code++)
        table[code] = format_decode(scheme->element, code);
}

void format_decode_columns(enum dtype dtype, const void *matrix, uint64_t rows,
                           uint64_t columns, uint64_t r0, uint64_t nr, uint64_t c0, uint64_t nc,
                           float *out)
{
    const struct scheme *scheme = &schemes[dtype];
    const unsigned char *in = matrix;
    uint64_t step = scheme->block_rows ? scheme->block_rows : rows;
    float table[256];
    value_table(scheme, table);
    for (uint64_t c = c0; c < c0 + nc; c++) {
        for (uint64_t r = r0; r < r0 + nr;) {
            uint64_t end = (r / step + 1) * step < r0 + nr ? (r / step + 1) * step : r0 + nr;
            float scale = read_scale(scheme, in + scale_at(scheme, rows, columns, r / step, c));
            for (; r < end; r++)
                out[(c - c0) * nr + (r - r0)] =
                    table[get_code(scheme, in, c * rows + r)] * scale;
        }
    }
}
