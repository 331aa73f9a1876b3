/* Rows packed for the wire: between plain formats, or one row as a matrix of one column in a
 * format with scales. A work-group a row. */

/* The scale of a block from its largest magnitude, stored; as it will be read back. */
DEVICE float write_scale(const struct scheme *s, float largest, GLOBAL gpu_u8 *at)
{
    float limit = s->half_byte ? 6.0F : 448.0F;
    float scale = largest > 0 ? largest / limit : 1;
    if (s->scale == 4) {
        gpu_u32 bits = AS_BITS(scale);
        for (int i = 0; i < 4; i++)
            at[i] = (gpu_u8)(bits >> 8 * i);
    } else if (s->scale == 1 && s->e4m3_scale) {
        *at = (gpu_u8)narrow_encode(4, 3, 7, 448.0F, scale);
    } else if (s->scale == 1) {
        int exponent = largest > 0 ? exponent_of(largest) - (s->half_byte ? 2 : 8) : 0;
        *at = (gpu_u8)(exponent < -127 ? 0 : exponent + 127);
    }
    return read_scale(s, at);
}

/* The code of an element divided by its scale; the row's end is padded with zero. */
DEVICE gpu_u32 code_of(const struct scheme *s, struct tensor src, gpu_u64 row, gpu_u64 i,
                       float scale)
{
    float value = scale > 0 ? load(src, row * src.width + i) / scale : 0;
    return s->half_byte ? narrow_encode(2, 1, 1, 6.0F, value)
                        : narrow_encode(4, 3, 7, 448.0F, value);
}

DEVICE void put_codes(const struct scheme *s, struct tensor src, gpu_u64 row, gpu_u64 begin,
                      gpu_u64 end, gpu_u64 step, float scale, GLOBAL gpu_u8 *out)
{
    if (!s->half_byte) {
        for (gpu_u64 i = begin; i < end; i += step)
            out[i] = (gpu_u8)code_of(s, src, row, i, scale);
        return;
    }
    for (gpu_u64 i = begin; i < end; i += 2) { /* blocks begin at even elements */
        gpu_u32 high = i + 1 < end ? code_of(s, src, row, i + 1, scale) : 0;
        out[i / 2] = (gpu_u8)(code_of(s, src, row, i, scale) | high << 4);
    }
}

/* A block an item. */
DEVICE void pack_blocks(const struct scheme *s, struct tensor src, gpu_u64 row,
                        GLOBAL gpu_u8 *out)
{
    gpu_u64 n = src.width;
    for (gpu_u64 b = ITEM; b * s->block_rows < n; b += ITEMS) {
        gpu_u64 begin = b * s->block_rows;
        gpu_u64 end = begin + s->block_rows < n ? begin + s->block_rows : n;
        float largest = 0;
        for (gpu_u64 i = begin; i < end; i++)
            largest = FMAXF(largest, FABSF(load(src, row * n + i)));
        float scale = write_scale(s, largest, out + scale_at(s, n, 1, b, 0));
        put_codes(s, src, row, begin, end, 1, scale, out);
    }
}

/* A row that is one block has its largest found by all items. */
KERNEL(quantize, 64, 64 * 4)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    LOCAL float *most = (LOCAL float *)scratch;
    struct scheme s = scheme_of(dst.format);
    int plain = is_plain(dst.format), whole = !plain && !s.block_rows;
    gpu_u64 n = src.width;
    for (gpu_u64 row = GROUP; row < src.rows; row += GROUPS) {
        GLOBAL gpu_u8 *out = (GLOBAL gpu_u8 *)row_of(dst, row);
        float largest = 0;
        if (plain)
            scale_row(src, row, 1, dst, row);
        else
            zero_bytes(row_of(dst, row), dst.row_bytes);
        for (gpu_u64 i = ITEM; whole && i < n; i += ITEMS)
            largest = FMAXF(largest, FABSF(load(src, row * n + i)));
        most[ITEM] = largest;
        BARRIER();
        for (gpu_u32 i = 0; i < ITEMS; i++)
            largest = FMAXF(largest, most[i]);
        BARRIER();
        if (whole && ITEM == 0)
            most[0] = write_scale(&s, largest, out + scale_at(&s, n, 1, 0, 0));
        if (!plain && !whole)
            pack_blocks(&s, src, row, out);
        BARRIER();
        if (whole)
            put_codes(&s, src, row, ITEM, n, ITEMS, most[0], out);
        BARRIER();
    }
}

KERNEL(dequantize, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    for (gpu_u64 row = GROUP; row < src.rows; row += GROUPS)
        for (gpu_u64 c = ITEM; c < dst.width; c += ITEMS)
            store(dst, row * dst.width + c,
                  is_plain(src.format)
                      ? load(src, row * dst.width + c)
                      : scaled_at(src.format, row_of(src, row), dst.width, 1, c, 0));
}
