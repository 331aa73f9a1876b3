/* Activations: one input, or gate and up side by side (h = [gate | up]). */

struct curve {
    float value, slope;
};

DEVICE struct curve curve_at(gpu_u32 kind, float x)
{
    struct curve c;
    if (kind == GPU_RELU) {
        c.value = x > 0 ? x : 0;
        c.slope = x > 0 ? 1 : 0;
    } else if (kind == GPU_GELU) { /* the tanh form */
        const float a = 0.7978845608F, b = 0.044715F;
        float t = TANHF(a * (x + b * x * x * x));
        float inner = a * (1 + 3 * b * x * x);
        c.value = 0.5F * x * (1 + t);
        c.slope = 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * inner;
    } else if (kind == GPU_SWIGLU_OAI) { /* gate clamped to 7 from above, slope 1.702 inside */
        float clamped = x < 7 ? x : 7, s = 1 / (1 + EXPF(-1.702F * clamped));
        c.value = clamped * s;
        c.slope = x < 7 ? s * (1 + 1.702F * clamped * (1 - s)) : 0;
    } else {
        float s = 1 / (1 + EXPF(-x));
        c.value = x * s;
        c.slope = s * (1 + x * (1 - s));
    }
    return c;
}

/* gpt-oss multiplies by up + 1, up within +-7 */
DEVICE struct curve up_at(gpu_u32 kind, float up)
{
    struct curve c;
    c.value = up;
    c.slope = 1;
    if (kind != GPU_SWIGLU_OAI)
        return c;
    if (FABSF(up) >= 7) {
        c.value = COPYSIGNF(7.0F, up);
        c.slope = 0;
    }
    c.value += 1;
    return c;
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
        for (gpu_u64 c = ITEM; c < inter; c += ITEMS) {
            float gate = load(src, row * src.width + c);
            float up =
                glu ? up_at(call->curve, load(src, row * src.width + inter + c)).value : 1;
            store(dst, row * inter + c, curve_at(call->curve, gate).value * up);
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
