/* Rows packed for the wire: between plain formats, or one row as a matrix of one column in a
 * format with scales. A work-group a row. */

/* The bits of a block's scale, from its largest magnitude. */
DEVICE gpu_u32 scale_bits(const struct scheme *s, float largest)
{
    float limit = s->half_byte ? 6.0F : 448.0F;
    float scale = largest > 0 ? largest / limit : 1;
    if (s->scale == 4)
        return AS_BITS(scale);
    if (s->scale == 0)
        return 0;
    if (s->e4m3_scale)
        return narrow_encode(4, 3, 7, 448.0F, scale);
    int exponent = largest > 0 ? exponent_of(largest) - (s->half_byte ? 2 : 8) : 0;
    return exponent < -127 ? 0 : (gpu_u32)(exponent + 127);
}

DEVICE void put_scale(const struct scheme *s, gpu_u32 bits, GLOBAL gpu_u8 *at)
{
    for (int i = 0; i < s->scale; i++)
        at[i] = (gpu_u8)(bits >> 8 * i);
}

DEVICE gpu_u32 code_of(const struct scheme *s, float value, float scale)
{
    value = scale > 0 ? value / scale : 0;
    return s->half_byte ? narrow_encode(2, 1, 1, 6.0F, value)
                        : narrow_encode(4, 3, 7, 448.0F, value);
}

/* ---- eight elements an item: rows of whole eights, whose codes begin on words ---- */

DEVICE int codes_in_eights(struct tensor codes, gpu_u64 width)
{
    return (((gpu_u64)codes.data | codes.row_bytes) & 3) == 0 && width % 8 == 0;
}

DEVICE float largest_of(const float *v)
{
    float largest = 0;
    UNROLL
    for (int i = 0; i < 8; i++)
        largest = FMAXF(largest, FABSF(v[i]));
    return largest;
}

/* A word of n codes. */
DEVICE gpu_u32 codes_of(const struct scheme *s, const float *v, int n, float scale)
{
    gpu_u32 word = 0;
    UNROLL
    for (int i = 0; i < n; i++)
        word |= code_of(s, v[i], scale) << 32 / n * i;
    return word;
}

DEVICE void put_eight(const struct scheme *s, const float *v, float scale, gpu_u64 i,
                      GLOBAL gpu_u8 *out)
{
    GLOBAL gpu_u32 *to = (GLOBAL gpu_u32 *)(out + (s->half_byte ? i / 2 : i));
    if (s->half_byte) {
        to[0] = codes_of(s, v, 8, scale);
    } else {
        to[0] = codes_of(s, v, 4, scale);
        to[1] = codes_of(s, v + 4, 4, scale);
    }
}

DEVICE void get_eight(const struct scheme *s, const GLOBAL gpu_u8 *in, gpu_u64 i, float scale,
                      float *v)
{
    const GLOBAL gpu_u32 *from = (const GLOBAL gpu_u32 *)(in + (s->half_byte ? i / 2 : i));
    gpu_u32 low = from[0], high = s->half_byte ? 0 : from[1];
    UNROLL
    for (int b = 0; b < 8; b++)
        v[b] = scale * (s->half_byte
                            ? narrow_decode(2, 1, 1, low >> 4 * b & 15U)
                            : narrow_decode(4, 3, 7, (b < 4 ? low : high) >> b % 4 * 8 & 255U));
}

/* The blocks of a row, of eights: their items tell one another the largest they have, by turns
 * in two halves of `most`. All items come here, with as many rounds. */
DEVICE void pack_eights(const struct scheme *s, struct tensor src, gpu_u64 row, gpu_u32 rounds,
                        LOCAL float *most, GLOBAL gpu_u8 *out)
{
    gpu_u64 n = src.width, scales = scale_at(s, n, 1, 0, 0);
    gpu_u32 block = (gpu_u32)s->block_rows;
    for (gpu_u32 round = 0; round < rounds; round++) {
        LOCAL float *now = most + (round % 2) * ITEMS;
        gpu_u32 c = (round * ITEMS + ITEM) * 8;
        float v[8];
        UNROLL
        for (int i = 0; i < 8; i++)
            v[i] = 0;
        if (c < n)
            load_eight(src, row * n + c, v);
        now[ITEM] = largest_of(v);
        BARRIER();
        float largest = 0;
        c = (round * ITEMS + ITEM) * 8;
        gpu_u32 b = c / block, first = (b * block - round * ITEMS * 8) / 8;
        for (gpu_u32 i = 0; i < block / 8; i++)
            largest = FMAXF(largest, now[first + i]);
        gpu_u32 bits = scale_bits(s, largest);
        if (c < n && c % block == 0)
            put_scale(s, bits, out + scales + (gpu_u64)b * (gpu_u64)s->scale);
        if (c < n)
            put_eight(s, v, scale_of(s, bits), c, out);
    }
    BARRIER();
}

/* ---- element by element ---- */

/* The row's end is padded with zero. */
DEVICE void put_codes(const struct scheme *s, struct tensor src, gpu_u64 row, gpu_u64 begin,
                      gpu_u64 end, gpu_u64 step, float scale, GLOBAL gpu_u8 *out)
{
    gpu_u64 at = row * src.width;
    if (!s->half_byte) {
        for (gpu_u64 i = begin; i < end; i += step)
            out[i] = (gpu_u8)code_of(s, load(src, at + i), scale);
        return;
    }
    for (gpu_u64 i = begin; i < end; i += 2) { /* blocks begin at even elements */
        gpu_u32 high = i + 1 < end ? code_of(s, load(src, at + i + 1), scale) : 0;
        out[i / 2] = (gpu_u8)(code_of(s, load(src, at + i), scale) | high << 4);
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
        gpu_u32 bits = scale_bits(s, largest);
        put_scale(s, bits, out + scale_at(s, n, 1, b, 0));
        put_codes(s, src, row, begin, end, 1, scale_of(s, bits), out);
    }
}

/* The item's largest magnitude of a row. */
DEVICE float largest_of_row(struct tensor src, gpu_u64 row, int eights)
{
    gpu_u64 n = src.width;
    float largest = 0;
    for (gpu_u64 i = (gpu_u64)ITEM * 8; eights && i < n; i += (gpu_u64)ITEMS * 8) {
        float v[8];
        load_eight(src, row * n + i, v);
        largest = FMAXF(largest, largest_of(v));
    }
    for (gpu_u64 i = ITEM; !eights && i < n; i += ITEMS)
        largest = FMAXF(largest, FABSF(load(src, row * n + i)));
    return largest;
}

/* A row of one scale. */
DEVICE void put_row(const struct scheme *s, struct tensor src, gpu_u64 row, gpu_u32 bits,
                    int eights, GLOBAL gpu_u8 *out)
{
    gpu_u64 n = src.width;
    float scale = scale_of(s, bits);
    if (ITEM == 0)
        put_scale(s, bits, out + scale_at(s, n, 1, 0, 0));
    for (gpu_u64 i = (gpu_u64)ITEM * 8; eights && i < n; i += (gpu_u64)ITEMS * 8) {
        float v[8];
        load_eight(src, row * n + i, v);
        put_eight(s, v, scale, i, out);
    }
    if (!eights)
        put_codes(s, src, row, ITEM, n, ITEMS, scale, out);
}

/* Codes and scales of a row of n elements end here; what is behind them is zero. */
DEVICE gpu_u64 end_of(const struct scheme *s, gpu_u64 n)
{
    return scale_at(s, n, 1, s->block_rows ? (n + s->block_rows - 1) / s->block_rows : 1, 0);
}

/* A row that is one block has its largest found by all items. */
KERNEL(quantize, 64, 2 * 64 * 4)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    LOCAL float *most = (LOCAL float *)scratch;
    struct scheme s = scheme_of(dst.format);
    int plain = is_plain(dst.format), whole = !plain && !s.block_rows;
    gpu_u64 n = src.width, end = plain ? dst.row_bytes : end_of(&s, n);
    int eights = in_eights(src, 0, n) && codes_in_eights(dst, n);
    gpu_u32 rounds =
        plain || whole || !eights ? 0 : (gpu_u32)((n + ITEMS * 8 - 1) / (ITEMS * 8));
    for (gpu_u64 row = GROUP; row < src.rows; row += GROUPS) {
        GLOBAL gpu_u8 *out = (GLOBAL gpu_u8 *)row_of(dst, row);
        float largest = whole ? largest_of_row(src, row, eights) : 0;
        if (plain)
            scale_row(src, row, 1, dst, row);
        for (gpu_u64 i = end + ITEM; i < dst.row_bytes; i += ITEMS)
            out[i] = 0;
        pack_eights(&s, src, row, rounds, most, out);
        most[ITEM] = largest;
        BARRIER();
        for (gpu_u32 i = 0; i < ITEMS; i++)
            largest = FMAXF(largest, most[i]);
        if (whole)
            put_row(&s, src, row, scale_bits(&s, largest), eights, out);
        else if (!plain && rounds == 0)
            pack_blocks(&s, src, row, out);
        BARRIER();
    }
}

KERNEL(dequantize, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    struct scheme s = scheme_of(src.format);
    int plain = is_plain(src.format);
    gpu_u64 n = dst.width, scales = scale_at(&s, n, 1, 0, 0);
    int eights = in_eights(dst, 0, n) && codes_in_eights(src, n);
    for (gpu_u64 row = GROUP; row < src.rows; row += GROUPS) {
        const GLOBAL gpu_u8 *in = (const GLOBAL gpu_u8 *)row_of(src, row);
        if (plain)
            scale_row(src, row, 1, dst, row);
        for (gpu_u64 c = (gpu_u64)ITEM * 8; !plain && eights && c < n;
             c += (gpu_u64)ITEMS * 8) {
            gpu_u64 b = s.block_rows ? (gpu_u32)c / (gpu_u32)s.block_rows : 0;
            float scale = read_scale(&s, in + scales + b * (gpu_u64)s.scale), v[8];
            get_eight(&s, in, c, scale, v);
            store_eight(dst, row * n + c, v);
        }
        for (gpu_u64 c = ITEM; !plain && !eights && c < n; c += ITEMS)
            store(dst, row * n + c, scaled_at(src.format, row_of(src, row), n, 1, c, 0));
    }
}
