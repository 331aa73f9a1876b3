/* The curves of activations, with their slopes. */

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

/* What becomes of a gate and its up; an up of 1 where there are none. */
DEVICE float gated(gpu_u32 kind, float gate, float up, int glu)
{
    return curve_at(kind, gate).value * (glu ? up_at(kind, up).value : 1);
}
