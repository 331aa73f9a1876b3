/* Activations: one input, or gate and up side by side (h = [gate | up]). */

/* In place of gates what becomes of them; the most frequent curve is chosen once for all eight.
 */
DEVICE void gated_eight(gpu_u32 kind, float *gate, const float *up, int glu)
{
    if (kind == GPU_SILU && glu) {
        UNROLL
        for (int i = 0; i < 8; i++)
            gate[i] = gated(GPU_SILU, gate[i], up[i], 1);
        return;
    }
    UNROLL
    for (int i = 0; i < 8; i++)
        gate[i] = gated(kind, gate[i], up[i], glu);
}

/* A row whose gates, ups and results are whole eights. */
DEVICE void activate_eights(gpu_u32 kind, struct tensor src, struct tensor dst, gpu_u64 row,
                            int glu)
{
    gpu_u64 inter = dst.width, from = row * src.width;
    for (gpu_u64 c = (gpu_u64)ITEM * 8; c < inter; c += (gpu_u64)ITEMS * 8) {
        struct eight gates = eight_at(src, from + c);
        struct eight ups = eight_at(src, from + (glu ? inter : 0) + c);
        float gate[8], up[8];
        floats_of(src.format, gates, gate);
        floats_of(src.format, ups, up);
        gated_eight(kind, gate, up, glu);
        store_eight(dst, row * inter + c, gate);
    }
}

KERNEL(activation, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(offsets, 1);
    TENSOR(sizes, 2);
    TENSOR(dst, 3);
    struct grouping g = grouping_of(call, call->args.activation.rows, offsets, sizes, dst.rows);
    gpu_u64 inter = dst.width;
    int glu = src.width == 2 * inter;
    for (gpu_u64 row = GROUP; row < dst.rows; row += GROUPS) {
        if (!in_group(&g, row))
            continue;
        if (in_eights(src, 0, src.width) && in_eights(dst, 0, inter)) {
            activate_eights(call->curve, src, dst, row, glu);
            continue;
        }
        for (gpu_u64 c = ITEM; c < inter; c += ITEMS) {
            float gate = load(src, row * src.width + c);
            float up = glu ? load(src, row * src.width + inter + c) : 1;
            store(dst, row * inter + c, gated(call->curve, gate, up, glu));
        }
    }
}

/* The gradients of a gate and its up; an up of 1 where there are none. */
DEVICE void gated_slopes(gpu_u32 kind, float da, float *gate, float *up, int glu)
{
    struct curve g = curve_at(kind, *gate), u;
    u.value = 1;
    u.slope = 0;
    if (glu)
        u = up_at(kind, *up);
    *gate = da * u.value * g.slope;
    *up = da * g.value * u.slope;
}

DEVICE void slope_eights(gpu_u32 kind, struct tensor src, struct tensor d_dst,
                         struct tensor dst, gpu_u64 row, int glu)
{
    gpu_u64 inter = d_dst.width, from = row * src.width, ups_from = from + (glu ? inter : 0);
    for (gpu_u64 c = (gpu_u64)ITEM * 8; c < inter; c += (gpu_u64)ITEMS * 8) {
        struct eight gates = eight_at(src, from + c);
        struct eight ups = eight_at(src, ups_from + c);
        struct eight grads = eight_at(d_dst, row * inter + c);
        float gate[8], up[8], da[8];
        floats_of(src.format, gates, gate);
        floats_of(src.format, ups, up);
        floats_of(d_dst.format, grads, da);
        UNROLL
        for (int i = 0; i < 8; i++)
            gated_slopes(kind, da[i], &gate[i], &up[i], glu);
        store_eight(dst, row * dst.width + c, gate);
        if (glu)
            store_eight(dst, row * dst.width + inter + c, up);
    }
}

KERNEL(activation_grad, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(d_dst, 1);
    TENSOR(offsets, 2);
    TENSOR(sizes, 3);
    TENSOR(dst, 4);
    struct grouping g = grouping_of(call, call->args.activation.rows, offsets, sizes, dst.rows);
    gpu_u64 inter = d_dst.width;
    int glu = src.width == 2 * inter;
    for (gpu_u64 row = GROUP; row < dst.rows; row += GROUPS) {
        if (!in_group(&g, row))
            continue;
        if (in_eights(src, 0, src.width) && in_eights(dst, 0, dst.width) &&
            in_eights(d_dst, 0, inter)) {
            slope_eights(call->curve, src, d_dst, dst, row, glu);
            continue;
        }
        for (gpu_u64 c = ITEM; c < inter; c += ITEMS) {
            float gate = load(src, row * src.width + c);
            float up = glu ? load(src, row * src.width + inter + c) : 1;
            gated_slopes(call->curve, load(d_dst, row * inter + c), &gate, &up, glu);
            store(dst, row * dst.width + c, gate);
            if (glu)
                store(dst, row * dst.width + inter + c, up);
        }
    }
}

KERNEL(sigmoid, 64, 0)
{
    TENSOR(src, 0);
    TENSOR(dst, 1);
    for (gpu_u64 i = GROUP * ITEMS + ITEM; i < dst.rows * dst.width; i += GROUPS * ITEMS)
        F32(dst)[i] = 1 / (1 + EXPF(-F32(src)[i]));
}

KERNEL(sigmoid_grad, 64, 0)
{
    TENSOR(gates, 0);
    TENSOR(d_gates, 1);
    TENSOR(dst, 2);
    for (gpu_u64 i = GROUP * ITEMS + ITEM; i < dst.rows * dst.width; i += GROUPS * ITEMS) {
        float gate = F32(gates)[i];
        F32(dst)[i] = F32(d_gates)[i] * gate * (1 - gate);
    }
}
