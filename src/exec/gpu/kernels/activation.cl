/* Activations: one input, or gate and up side by side (h = [gate | up]). */

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
        for (gpu_u64 c = ITEM; c < inter; c += ITEMS) {
            float gate = load(src, row * src.width + c);
            float up = glu ? load(src, row * src.width + inter + c) : 1;
            store(dst, row * inter + c, gated(call->curve, gate, up, glu));
        }
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
        for (gpu_u64 c = ITEM; c < inter; c += ITEMS) {
            float da = load(d_dst, row * inter + c);
            struct curve gate = curve_at(call->curve, load(src, row * src.width + c)), up;
            up.value = 1;
            up.slope = 0;
            if (glu)
                up = up_at(call->curve, load(src, row * src.width + inter + c));
            store(dst, row * dst.width + c, da * up.value * gate.slope);
            if (glu)
                store(dst, row * dst.width + inter + c, da * gate.value * up.slope);
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
