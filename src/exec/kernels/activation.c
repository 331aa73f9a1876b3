/* Activations: one input, or gate and up side by side (h = [gate | up]). */
#include "exec/kernels/kernel.h"

#include <math.h>

enum { PIECE = 256 };

/* The value and, for the gradient, its derivative. */
struct curve {
    float value, slope;
};

static struct curve silu(float x)
{
    float s = 1 / (1 + expf(-x));
    return (struct curve){x * s, s * (1 + x * (1 - s))};
}

/* The tanh form that frameworks call gelu_tanh. */
static struct curve gelu(float x)
{
    const float a = 0.7978845608F, b = 0.044715F;
    float t = tanhf(a * (x + b * x * x * x));
    float inner = a * (1 + 3 * b * x * x);
    return (struct curve){0.5F * x * (1 + t), 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * inner};
}

static struct curve relu(float x)
{
    return (struct curve){x > 0 ? x : 0, x > 0 ? 1 : 0};
}

/* gpt-oss: gate clamped to 7 from above, slope 1.702 inside. */
static struct curve swiglu_oai(float x)
{
    float clamped = x < 7 ? x : 7, s = 1 / (1 + expf(-1.702F * clamped));
    float slope = s * (1 + 1.702F * clamped * (1 - s));
    return (struct curve){clamped * s, x < 7 ? slope : 0};
}

struct shape_of {
    struct curve (*curve)(float x);
    float up_shift, up_limit; /* gpt-oss multiplies by up + 1, up within +-7; 0: no limit */
};

static const struct shape_of shapes[] = {
    [ACTIVATION_SILU] = {silu, 0, 0},
    [ACTIVATION_GELU] = {gelu, 0, 0},
    [ACTIVATION_RELU] = {relu, 0, 0},
    [ACTIVATION_SWIGLU_OAI] = {swiglu_oai, 1, 7},
};

/* Of the model's experts; inputs that are whole stay so. */
static struct shape_of model_shape(const struct call *call)
{
    return shapes[call->task->inputs->linear ? ACTIVATION_RELU
                                             : call->task->plan->model.moe.activation];
}

static struct shape_of shape_of(const struct call *call)
{
    bool gelu = call->args.activation.gelu && !call->task->inputs->linear;
    return gelu ? shapes[ACTIVATION_GELU] : model_shape(call);
}

static struct curve up_curve(const struct shape_of *shape, float up)
{
    if (shape->up_limit > 0 && fabsf(up) >= shape->up_limit)
        return (struct curve){copysignf(shape->up_limit, up) + shape->up_shift, 0};
    return (struct curve){up + shape->up_shift, 1};
}

static void activate(const struct shape_of *shape, float *gate, const float *up, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        gate[i] = shape->curve(gate[i]).value * (up ? up_curve(shape, up[i]).value : 1);
}

/* Of da, the gradients of gates and ups in their place. */
static void activate_back(const struct shape_of *shape, float *gate, float *up, const float *da,
                          uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        struct curve g = shape->curve(gate[i]);
        struct curve u = up ? up_curve(shape, up[i]) : (struct curve){1, 0};
        gate[i] = da[i] * u.value * g.slope;
        if (up)
            up[i] = da[i] * g.value * u.slope;
    }
}

void kernel_activate_back(const struct call *call, float *gate, float *up, const float *da,
                          uint64_t n)
{
    struct shape_of shape = model_shape(call);
    activate_back(&shape, gate, up, da, n);
}

void kernel_activate(const struct call *call, float *gate, const float *up, uint64_t n)
{
    struct shape_of shape = model_shape(call);
    activate(&shape, gate, up, n);
}

static void forward_row(const struct call *call, const struct shape_of *shape, uint64_t row)
{
    uint64_t inter = call->of[ROLE_DST].width;
    bool glu = call->of[ROLE_SRC].width == 2 * inter;
    float gate[PIECE], up[PIECE];
    for (uint64_t c = 0; c < inter; c += PIECE) {
        uint64_t n = inter - c < PIECE ? inter - c : PIECE;
        tensor_load(&call->of[ROLE_SRC], row, c, n, gate);
        if (glu)
            tensor_load(&call->of[ROLE_SRC], row, inter + c, n, up);
        activate(shape, gate, glu ? up : NULL, n);
        tensor_store(&call->of[ROLE_DST], row, c, n, gate);
    }
}

static void backward_row(const struct call *call, const struct shape_of *shape, uint64_t row)
{
    uint64_t inter = call->of[ROLE_D_DST].width;
    bool glu = call->of[ROLE_SRC].width == 2 * inter;
    float gate[PIECE], up[PIECE], da[PIECE];
    for (uint64_t c = 0; c < inter; c += PIECE) {
        uint64_t n = inter - c < PIECE ? inter - c : PIECE;
        tensor_load(&call->of[ROLE_SRC], row, c, n, gate);
        tensor_load(&call->of[ROLE_D_DST], row, c, n, da);
        if (glu)
            tensor_load(&call->of[ROLE_SRC], row, inter + c, n, up);
        activate_back(shape, gate, glu ? up : NULL, da, n);
        tensor_store(&call->of[ROLE_DST], row, c, n, gate);
        if (glu)
            tensor_store(&call->of[ROLE_DST], row, inter + c, n, up);
    }
}

static uint64_t row_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_DST].rows);
}

static void each_row(const struct call *call, uint64_t unit,
                     void (*of_row)(const struct call *call, const struct shape_of *shape,
                                    uint64_t row))
{
    struct shape_of shape = shape_of(call);
    struct grouping grouping =
        kernel_grouping(call, &call->args.activation.rows, call->of[ROLE_DST].rows);
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        if (kernel_in_group(&grouping, row))
            of_row(call, &shape, row);
}

static enum status activation_run(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)scratch;
    (void)err;
    each_row(call, unit, forward_row);
    return STATUS_OK;
}

static enum status activation_grad_run(struct call *call, uint64_t unit, void *scratch,
                                       struct err *err)
{
    (void)scratch;
    (void)err;
    each_row(call, unit, backward_row);
    return STATUS_OK;
}

/* ---- gates of their own ---- */

static enum status sigmoid_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end, width = call->of[ROLE_DST].width;
    kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    for (uint64_t i = begin * width; i < end * width; i++)
        tensor_f32(&call->of[ROLE_DST])[i] =
            1 / (1 + expf(-tensor_f32(&call->of[ROLE_SRC])[i]));
    return STATUS_OK;
}

static enum status sigmoid_grad_run(struct call *call, uint64_t unit, void *scratch,
                                    struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end, width = call->of[ROLE_DST].width;
    kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    for (uint64_t i = begin * width; i < end * width; i++) {
        float gate = tensor_f32(&call->of[ROLE_GATES])[i];
        tensor_f32(&call->of[ROLE_DST])[i] =
            tensor_f32(&call->of[ROLE_D_GATES])[i] * gate * (1 - gate);
    }
    return STATUS_OK;
}

void kernels_add_activation(struct kernels *kernels)
{
    kernels->table[KERNEL_SIGMOID] = (struct kernel_ops){row_units, sigmoid_run, NULL};
    kernels->table[KERNEL_SIGMOID_GRAD] =
        (struct kernel_ops){row_units, sigmoid_grad_run, NULL};
    kernels->table[KERNEL_ACTIVATION] = (struct kernel_ops){row_units, activation_run, NULL};
    kernels->table[KERNEL_ACTIVATION_GRAD] =
        (struct kernel_ops){row_units, activation_grad_run, NULL};
}
