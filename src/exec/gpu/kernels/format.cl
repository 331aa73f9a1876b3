/* Formats with scales, element by element; the device's side of exec/kernels/format_block.c.
 *
 * A matrix is [rows, columns], elements column by column, then its scales. */
/* Elements share a scale over block_rows x block_columns; 0 rows: the whole column. */
struct scheme {
    gpu_u64 block_rows, block_columns;
    int scale; /* bytes of one: 0 none, 4 f32, 1 */
    int half_byte, e4m3_scale;
};

DEVICE struct scheme scheme_of(gpu_u32 format)
{
    struct scheme s;
    s.block_rows = format == FORMAT_FP8_BLOCK                         ? 128
                   : format == FORMAT_NVFP4                           ? 16
                   : format == FORMAT_MXFP8 || format == FORMAT_MXFP4 ? 32
                                                                      : 0;
    s.block_columns = format == FORMAT_FP8_BLOCK ? 128 : 1;
    s.scale = format == FORMAT_FP8                                         ? 0
              : format == FORMAT_FP8_CHANNEL || format == FORMAT_FP8_BLOCK ? 4
                                                                           : 1;
    s.half_byte = format == FORMAT_MXFP4 || format == FORMAT_NVFP4;
    s.e4m3_scale = format == FORMAT_NVFP4;
    return s;
}

DEVICE int is_plain(gpu_u32 format)
{
    return format == FORMAT_F32 || format == FORMAT_BF16 || format == FORMAT_F16;
}

DEVICE gpu_u64 scale_at(const struct scheme *s, gpu_u64 rows, gpu_u64 columns,
                        gpu_u64 block_row, gpu_u64 column)
{
    gpu_u64 n = rows * columns, elements = s->half_byte ? (n + 1) / 2 : n;
    gpu_u64 down = s->block_rows ? (rows + s->block_rows - 1) / s->block_rows : 1;
    return elements + (column / s->block_columns * down + block_row) * (gpu_u64)s->scale;
}

/* A scale of its bits. */
DEVICE float scale_of(const struct scheme *s, gpu_u32 bits)
{
    if (s->scale == 4)
        return AS_FLOAT(bits);
    if (s->scale == 0)
        return 1;
    if (s->e4m3_scale)
        return narrow_decode(4, 3, 7, bits);
    return AS_FLOAT(bits ? bits << 23 : 0x400000U); /* 2^(code - 127) */
}

DEVICE float read_scale(const struct scheme *s, const GLOBAL gpu_u8 *at)
{
    gpu_u32 bits = 0;
    for (int i = 0; i < s->scale; i++)
        bits |= (gpu_u32)at[i] << 8 * i;
    return scale_of(s, bits);
}

/* Element (row, column) of a [rows, columns] matrix of a format with scales. */
DEVICE float scaled_at(gpu_u32 format, const GLOBAL char *matrix, gpu_u64 rows, gpu_u64 columns,
                       gpu_u64 row, gpu_u64 column)
{
    struct scheme s = scheme_of(format);
    const GLOBAL gpu_u8 *in = (const GLOBAL gpu_u8 *)matrix;
    gpu_u64 i = column * rows + row;
    gpu_u64 block_row = s.block_rows ? row / s.block_rows : 0;
    float scale = read_scale(&s, in + scale_at(&s, rows, columns, block_row, column));
    gpu_u32 code = s.half_byte ? (gpu_u32)in[i / 2] >> (i % 2 ? 4 : 0) & 15U : (gpu_u32)in[i];
    float value = s.half_byte ? narrow_decode(2, 1, 1, code) : narrow_decode(4, 3, 7, code);
    return value * scale;
}
