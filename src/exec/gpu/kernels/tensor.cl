/* Tensors on a device: elements, rows and groups of rows; the device's side of kernel.h. */
struct tensor {
    GLOBAL char *data;
    gpu_u64 rows, width, row_bytes, dim1, dim2;
    gpu_u32 format, n_dims;
    int present;
};

struct memory {
    GLOBAL char *of[8];
    GLOBAL char *space;
};

struct span {
    gpu_u64 begin, end;
};

/* A kernel: its work-group's items, bytes of work-group memory, and then its body, which is
 * given `call`, `memory` and `scratch`. */
#define KERNEL(name, items, bytes)                                                             \
    DEVICE void body_##name(const struct gpu_call *call, const struct memory *memory,          \
                            LOCAL char *scratch);                                              \
    ENTRY(items)                                                                               \
    void k_##name(const struct gpu_call call, GLOBAL char *m0, GLOBAL char *m1,                \
                  GLOBAL char *m2, GLOBAL char *m3, GLOBAL char *m4, GLOBAL char *m5,          \
                  GLOBAL char *m6, GLOBAL char *m7, GLOBAL char *space)                        \
    {                                                                                          \
        LOCAL_MEMORY(scratch, (bytes) + 8);                                                    \
        struct memory memory;                                                                  \
        memory.of[0] = m0;                                                                     \
        memory.of[1] = m1;                                                                     \
        memory.of[2] = m2;                                                                     \
        memory.of[3] = m3;                                                                     \
        memory.of[4] = m4;                                                                     \
        memory.of[5] = m5;                                                                     \
        memory.of[6] = m6;                                                                     \
        memory.of[7] = m7;                                                                     \
        memory.space = space;                                                                  \
        body_##name(&call, &memory, (LOCAL char *)scratch);                                    \
    }                                                                                          \
    DEVICE void body_##name(const struct gpu_call *call, const struct memory *memory,          \
                            LOCAL char *scratch)

/* The kernel's n-th operand, in the order of its row in the host's table. */
DEVICE struct tensor tensor_at(const struct gpu_call *call, const struct memory *memory, int n)
{
    struct tensor t;
    t.data = memory->of[n] + call->view[n].offset;
    t.rows = call->view[n].rows;
    t.width = call->view[n].width;
    t.row_bytes = call->view[n].row_bytes;
    t.dim1 = call->view[n].dims[1];
    t.dim2 = call->view[n].dims[2];
    t.format = call->view[n].format;
    t.n_dims = call->view[n].n_dims;
    t.present = call->view[n].present != 0;
    return t;
}

#define TENSOR(name, n) const struct tensor name = tensor_at(call, memory, n)
#define I32(t) ((GLOBAL gpu_i32 *)(t).data)
#define I64(t) ((GLOBAL gpu_i64 *)(t).data)
#define F32(t) ((GLOBAL float *)(t).data)

/* The first of all items that finds something says what; a few numbers about it. */
DEVICE void report(const struct memory *memory, gpu_i32 what, gpu_u64 a, gpu_u64 b)
{
    GLOBAL gpu_i64 *words = (GLOBAL gpu_i64 *)memory->space;
    if (TAKE_FLAG(memory->space)) {
        words[1] = what;
        words[2] = (gpu_i64)a;
        words[3] = (gpu_i64)b;
    }
}

/* ---- elements ---- */

/* 2^n, n in [-126, 127]. */
DEVICE float power_of_two(int n)
{
    return AS_FLOAT((gpu_u32)(n + 127) << 23);
}

/* The exponent of a number's binade; -127 for what is smaller than all of them. */
DEVICE int exponent_of(float value)
{
    return (int)(AS_BITS(value) >> 23 & 255U) - 127;
}

/* An element narrower than 16 bits, and f16: 1 sign, exponent, mantissa; by bits. */
DEVICE float narrow_decode(gpu_u32 exponent_bits, gpu_u32 mantissa_bits, int bias, gpu_u32 code)
{
    gpu_u32 magnitude = code & ((1U << (exponent_bits + mantissa_bits)) - 1);
    gpu_u32 fraction = magnitude & ((1U << mantissa_bits) - 1);
    int exponent = (int)(magnitude >> mantissa_bits);
    float value = exponent == 0 ? (float)fraction * power_of_two(1 - bias - (int)mantissa_bits)
                                : AS_FLOAT((gpu_u32)(exponent - bias + 127) << 23 |
                                           fraction << (23 - mantissa_bits));
    return magnitude == code ? value : -value;
}

/* To nearest, ties to even; what is larger than the largest becomes it. */
DEVICE gpu_u32 narrow_encode(gpu_u32 exponent_bits, gpu_u32 mantissa_bits, int bias,
                             float largest, float value)
{
    const float whole = 8388608.0F; /* added to a smaller number it leaves an integer */
    gpu_u32 sign = AS_BITS(value) >> 31 ? 1U << (exponent_bits + mantissa_bits) : 0;
    float size = AS_FLOAT(AS_BITS(value) & 0x7fffffffU);
    if (!(size < largest))
        size = largest;
    int smallest = 1 - bias, exponent = exponent_of(size);
    if (exponent < smallest)
        exponent = smallest;
    gpu_u32 n = AS_BITS(size * power_of_two((int)mantissa_bits - exponent) + whole) & 0x7fffffU;
    return sign | (((gpu_u32)(exponent - smallest) << mantissa_bits) + n);
}

DEVICE float bf16_decode(gpu_u16 bits)
{
    return AS_FLOAT((gpu_u32)bits << 16);
}

/* To nearest, ties to even; a NaN stays one. */
DEVICE gpu_u16 bf16_encode(float value)
{
    gpu_u32 bits = AS_BITS(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return (gpu_u16)((bits >> 16) | 0x40U);
    return (gpu_u16)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/* Plain formats of 16 bits. */
DEVICE float half_decode(gpu_u32 format, gpu_u32 bits)
{
    return format == FORMAT_BF16 ? bf16_decode((gpu_u16)bits)
                                 : narrow_decode(5, 10, 15, bits & 0xffffU);
}

DEVICE gpu_u16 half_encode(gpu_u32 format, float value)
{
    return format == FORMAT_BF16 ? bf16_encode(value)
                                 : (gpu_u16)narrow_encode(5, 10, 15, 65504.0F, value);
}

/* Element i of a plain format. */
DEVICE float load(struct tensor t, gpu_u64 i)
{
    return t.format == FORMAT_F32 ? F32(t)[i]
                                  : half_decode(t.format, ((GLOBAL gpu_u16 *)t.data)[i]);
}

DEVICE void store(struct tensor t, gpu_u64 i, float value)
{
    if (t.format == FORMAT_F32)
        F32(t)[i] = value;
    else
        ((GLOBAL gpu_u16 *)t.data)[i] = half_encode(t.format, value);
}

/* What a plain format makes of it. */
DEVICE float rounded(gpu_u32 format, float value)
{
    return format == FORMAT_F32 ? value : half_decode(format, half_encode(format, value));
}

/* ---- eight elements of a plain format at once ---- */

/* As they stand in memory; those of 16 bits are `low` alone. */
struct eight {
    gpu_u32x4 low, high;
};

/* From element `at` on there are whole eights, which begin on 16 bytes. */
DEVICE int in_eights(struct tensor t, gpu_u64 at, gpu_u64 width)
{
    return ((gpu_u64)t.data & 15) == 0 && ((at | width) & 7) == 0;
}

DEVICE struct eight eight_at(struct tensor t, gpu_u64 i)
{
    const GLOBAL gpu_u32x4 *at =
        (const GLOBAL gpu_u32x4 *)(t.data + (t.format == FORMAT_F32 ? i * 4 : i * 2));
    struct eight e;
    e.low = at[0];
    e.high = e.low;
    if (t.format == FORMAT_F32)
        e.high = at[1];
    return e;
}

DEVICE void two_of(gpu_u32 format, gpu_u32 word, float *v)
{
    v[0] = half_decode(format, word & 0xffffU);
    v[1] = half_decode(format, word >> 16);
}

DEVICE void four_of(gpu_u32x4 words, float *v)
{
    v[0] = AS_FLOAT(words.x);
    v[1] = AS_FLOAT(words.y);
    v[2] = AS_FLOAT(words.z);
    v[3] = AS_FLOAT(words.w);
}

DEVICE void floats_of(gpu_u32 format, struct eight e, float *v)
{
    if (format == FORMAT_F32) {
        four_of(e.low, v);
        four_of(e.high, v + 4);
    } else {
        two_of(format, e.low.x, v);
        two_of(format, e.low.y, v + 2);
        two_of(format, e.low.z, v + 4);
        two_of(format, e.low.w, v + 6);
    }
}

DEVICE void load_eight(struct tensor t, gpu_u64 i, float *v)
{
    floats_of(t.format, eight_at(t, i), v);
}

DEVICE gpu_u32 word_of(gpu_u32 format, const float *v)
{
    return (gpu_u32)half_encode(format, v[0]) | (gpu_u32)half_encode(format, v[1]) << 16;
}

DEVICE gpu_u32x4 words_of(const float *v)
{
    gpu_u32x4 words;
    words.x = AS_BITS(v[0]);
    words.y = AS_BITS(v[1]);
    words.z = AS_BITS(v[2]);
    words.w = AS_BITS(v[3]);
    return words;
}

DEVICE void store_eight(struct tensor t, gpu_u64 i, const float *v)
{
    if (t.format == FORMAT_F32) {
        GLOBAL gpu_u32x4 *at = (GLOBAL gpu_u32x4 *)(t.data + i * 4);
        at[0] = words_of(v);
        at[1] = words_of(v + 4);
    } else {
        gpu_u32x4 words;
        words.x = word_of(t.format, v);
        words.y = word_of(t.format, v + 2);
        words.z = word_of(t.format, v + 4);
        words.w = word_of(t.format, v + 6);
        *(GLOBAL gpu_u32x4 *)(t.data + i * 2) = words;
    }
}

/* ---- rows: all items of a group together ---- */

/* What an item copies in words of one width: four are on their way at once. */
#define COPY_IN(word)                                                                          \
    do {                                                                                       \
        GLOBAL word *out = (GLOBAL word *)to;                                                  \
        const GLOBAL word *in = (const GLOBAL word *)from;                                     \
        gpu_u64 n = bytes / sizeof(word), step = ITEMS, i = ITEM;                              \
        for (; i + 3 * step < n; i += 4 * step) {                                              \
            word a = in[i], b = in[i + step], c = in[i + 2 * step], d = in[i + 3 * step];      \
            out[i] = a;                                                                        \
            out[i + step] = b;                                                                 \
            out[i + 2 * step] = c;                                                             \
            out[i + 3 * step] = d;                                                             \
        }                                                                                      \
        for (; i < n; i += step)                                                               \
            out[i] = in[i];                                                                    \
    } while (0)

/* In the widest words on which both begin. */
DEVICE void copy_bytes(GLOBAL char *to, const GLOBAL char *from, gpu_u64 bytes)
{
    gpu_u64 both = (gpu_u64)to | (gpu_u64)from | bytes;
    if (both % 16 == 0)
        COPY_IN(gpu_u32x4);
    else if (both % 4 == 0)
        COPY_IN(gpu_u32);
    else if (both % 2 == 0)
        COPY_IN(gpu_u16);
    else
        COPY_IN(gpu_u8);
}

DEVICE void zero_bytes(GLOBAL char *to, gpu_u64 bytes)
{
    gpu_u32x4 none;
    none.x = none.y = none.z = none.w = 0;
    if (((gpu_u64)to | bytes) % 16 == 0) {
        for (gpu_u64 i = ITEM; i < bytes / 16; i += ITEMS)
            ((GLOBAL gpu_u32x4 *)to)[i] = none;
    } else {
        for (gpu_u64 i = ITEM; i < bytes; i += ITEMS)
            to[i] = 0;
    }
}

DEVICE GLOBAL char *row_of(struct tensor t, gpu_u64 row)
{
    return t.data + row * t.row_bytes;
}

/* to = factor * from: `width` elements from one element of each on. */
DEVICE void scale_run(struct tensor from, gpu_u64 at, float factor, struct tensor to,
                      gpu_u64 to_at, gpu_u64 width)
{
    if (in_eights(from, at, width) && in_eights(to, to_at, width)) {
        for (gpu_u64 c = (gpu_u64)ITEM * 8; c < width; c += (gpu_u64)ITEMS * 8) {
            float v[8];
            load_eight(from, at + c, v);
            UNROLL
            for (int i = 0; i < 8; i++)
                v[i] *= factor;
            store_eight(to, to_at + c, v);
        }
        return;
    }
    for (gpu_u64 c = ITEM; c < width; c += ITEMS)
        store(to, to_at + c, load(from, at + c) * factor);
}

/* The same of a row each, of one width. */
DEVICE void scale_row(struct tensor from, gpu_u64 row, float factor, struct tensor to,
                      gpu_u64 to_row)
{
    scale_run(from, row * from.width, factor, to, to_row * to.width, to.width);
}

/* to = to + factor * from; f32 is added to */
DEVICE void add_scaled(struct tensor from, gpu_u64 at, float factor, struct tensor to,
                       gpu_u64 to_at, gpu_u64 width)
{
    if (in_eights(from, at, width) && in_eights(to, to_at, width)) {
        for (gpu_u64 c = (gpu_u64)ITEM * 8; c < width; c += (gpu_u64)ITEMS * 8) {
            float v[8], sum[8];
            load_eight(from, at + c, v);
            load_eight(to, to_at + c, sum);
            UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += factor * v[i];
            store_eight(to, to_at + c, sum);
        }
        return;
    }
    for (gpu_u64 c = ITEM; c < width; c += ITEMS)
        F32(to)[to_at + c] += factor * load(from, at + c);
}

/* ---- groups of rows; as kernel_grouping of the host ---- */

struct grouping {
    struct tensor offsets, sizes;
    gpu_u64 total, n, first, iteration;
    int one, shared;
};

DEVICE struct grouping grouping_of(const struct gpu_call *call, struct rows_args args,
                                   struct tensor offsets, struct tensor sizes, gpu_u64 total)
{
    struct grouping g;
    gpu_u64 even = args.groups.n ? args.groups.n : 1;
    g.offsets = offsets;
    g.sizes = sizes;
    g.total = total;
    g.one = args.turn && !offsets.present;
    g.n = offsets.present ? offsets.rows - 1 : g.one ? 1 : even;
    g.shared = args.shared;
    g.iteration = call->iteration;
    g.first = args.parts ? call->iteration * g.n : 0;
    return g;
}

DEVICE struct span group_at(const struct grouping *g, gpu_u64 number)
{
    struct span s;
    s.begin = 0;
    s.end = g->total;
    if (g->one) {
        if (g->sizes.present)
            s.end = (gpu_u64)I64(g->sizes)[g->iteration];
        return s;
    }
    if (g->shared)
        return s;
    if (!g->offsets.present) {
        gpu_u64 each = g->total / g->n;
        s.begin = number * each;
        s.end = s.begin + each;
        return s;
    }
    s.begin = (gpu_u64)I64(g->offsets)[number];
    s.end = g->sizes.present ? s.begin + (gpu_u64)I64(g->sizes)[g->first + number]
                             : (gpu_u64)I64(g->offsets)[number + 1];
    return s;
}

DEVICE int in_group(const struct grouping *g, gpu_u64 row)
{
    if (g->one)
        return row < group_at(g, 0).end;
    if (!g->offsets.present)
        return 1;
    if (!g->sizes.present)
        return row < (gpu_u64)I64(g->offsets)[g->n];
    for (gpu_u64 i = 0; i < g->n; i++) {
        struct span s = group_at(g, i);
        if (row >= s.begin && row < s.end)
            return 1;
    }
    return 0;
}

/* The part of an index that a call of a loop works on. */
DEVICE struct span index_part(const struct gpu_call *call, struct part_args args,
                              struct tensor index, struct tensor offsets)
{
    struct span s;
    s.begin = 0;
    s.end = index.rows;
    if (!args.by_iteration)
        return s;
    s.begin = call->iteration * args.rows.n;
    s.end = s.begin + args.rows.n;
    if (offsets.present) {
        s.begin = (gpu_u64)I64(offsets)[call->iteration];
        s.end = (gpu_u64)I64(offsets)[call->iteration + 1];
    }
    return s;
}

/* The sum of all items' parts, by every item, in their order; parts: a place for each. */
DEVICE double sum_of_items(double part, LOCAL double *parts)
{
    double sum = 0;
    parts[ITEM] = part;
    BARRIER();
    for (gpu_u32 i = 0; i < ITEMS; i++)
        sum += parts[i];
    BARRIER();
    return sum;
}
