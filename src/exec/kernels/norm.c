/* Norms: y = f w x, where f is one over the root of the mean square of the row x, [n], and w
 * are learned weights (1 without them); with args.root f is divided by the root of n, too.
 *
 *   dx = f (w dy - x f^2 / n sum(w dy x)),  f^2 / n being f^2 with args.root;  dw = sum(f x dy)
 *
 * Sums are f64, rounded once: in any order they are the same f32. Inputs that are whole stay
 * so: f is 1 there, a number like any other to the gradient. */
#include "exec/kernels/kernel.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

enum { PIECE = 256 };

/* A walk through pieces of rows: x, the weights (or ones), and gradients that arrived. */
struct piece {
    uint64_t first, n;
    float x[PIECE], w[PIECE], d[PIECE];
};

static bool piece_next(const struct call *call, uint64_t row, struct piece *p)
{
    const struct tensor *src = &call->of[ROLE_SRC], *weight = &call->of[ROLE_WEIGHT],
                        *d = &call->of[ROLE_D_DST];
    p->first += p->n;
    p->n = src->width - p->first < PIECE ? src->width - p->first : PIECE;
    tensor_load(src, row, p->first, p->n, p->x);
    for (uint64_t i = 0; i < p->n; i++)
        p->w[i] = 1;
    if (weight->present)
        tensor_load(weight, 0, p->first, p->n, p->w);
    if (d->present)
        tensor_load(d, row, p->first, p->n, p->d);
    return p->n > 0;
}

static float factor_of(const struct call *call, uint64_t row)
{
    double n = (double)call->of[ROLE_SRC].width, squares = 0;
    struct piece p = {.n = 0};
    if (call->task->inputs->linear)
        return 1;
    while (piece_next(call, row, &p))
        for (uint64_t i = 0; i < p.n; i++)
            squares += (double)p.x[i] * (double)p.x[i];
    double factor = 1 / sqrt(squares / n + NORM_EPSILON);
    return (float)(call->args.norm.root ? factor / sqrt(n) : factor);
}

static uint64_t row_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_SRC].rows);
}

static enum status norm_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_SRC].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++) {
        float factor = factor_of(call, row);
        struct piece p = {.n = 0};
        while (piece_next(call, row, &p)) {
            for (uint64_t i = 0; i < p.n; i++)
                p.x[i] *= factor * p.w[i];
            tensor_store(&call->of[ROLE_DST], row, p.first, p.n, p.x);
        }
        if (call->of[ROLE_FACTOR].present)
            tensor_f32(&call->of[ROLE_FACTOR])[row] = factor;
    }
    return STATUS_OK;
}

/* By what x is taken off. */
static float along_of(const struct call *call, uint64_t row, float factor)
{
    double n = (double)call->of[ROLE_SRC].width, sum = 0;
    struct piece p = {.n = 0};
    if (call->task->inputs->linear)
        return 0;
    while (piece_next(call, row, &p))
        for (uint64_t i = 0; i < p.n; i++)
            sum += (double)p.w[i] * (double)p.d[i] * (double)p.x[i];
    double square = (double)factor * (double)factor;
    return (float)(sum * (call->args.norm.root ? square : square / n));
}

static enum status norm_grad_run(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_SRC].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++) {
        float factor = tensor_f32(&call->of[ROLE_FACTOR])[row];
        float along = along_of(call, row, factor);
        struct piece p = {.n = 0};
        while (piece_next(call, row, &p)) {
            for (uint64_t i = 0; i < p.n; i++)
                p.x[i] = factor * (p.w[i] * p.d[i] - along * p.x[i]);
            tensor_store(&call->of[ROLE_DST], row, p.first, p.n, p.x);
        }
    }
    return STATUS_OK;
}

/* A unit is a piece of the columns, over all rows. */
static uint64_t column_units(const struct call *call)
{
    return ceil_div(call->of[ROLE_SRC].width, PIECE);
}

static enum status norm_wgrad_run(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)err;
    const struct tensor *src = &call->of[ROLE_SRC];
    const float *factor = tensor_f32(&call->of[ROLE_FACTOR]);
    uint64_t first = unit * PIECE, n = src->width - first < PIECE ? src->width - first : PIECE;
    float x[PIECE], d[PIECE];
    double *sum = scratch;
    memset(sum, 0, n * sizeof *sum);
    for (uint64_t row = 0; row < src->rows; row++) {
        tensor_load(src, row, first, n, x);
        tensor_load(&call->of[ROLE_D_DST], row, first, n, d);
        for (uint64_t i = 0; i < n; i++)
            sum[i] += (double)factor[row] * (double)x[i] * (double)d[i];
    }
    for (uint64_t i = 0; i < n; i++)
        x[i] = (float)sum[i];
    tensor_store(&call->of[ROLE_D_WEIGHT], 0, first, n, x);
    return STATUS_OK;
}

void kernels_add_norm(struct kernels *kernels)
{
    kernels->table[KERNEL_NORM] = (struct kernel_ops){row_units, norm_run, NULL};
    kernels->table[KERNEL_NORM_GRAD] = (struct kernel_ops){row_units, norm_grad_run, NULL};
    kernels->table[KERNEL_NORM_WGRAD] = (struct kernel_ops){column_units, norm_wgrad_run, NULL};
}
