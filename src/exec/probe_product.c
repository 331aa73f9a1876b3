/* See probe_product.h. */
#include "exec/probe_product.h"

#include "work/list/dtype.h"

static struct tensor matrix(const void *data, enum dtype dtype, uint64_t rows, uint64_t width)
{
    union {
        const void *given;
        void *memory;
    } at = {data};
    return (struct tensor){.data = at.memory,
                           .dtype = dtype,
                           .dims = {rows, width},
                           .n_dims = 2,
                           .rows = rows,
                           .width = width,
                           .bytes = dtype_matrix_bytes(dtype, rows, width),
                           .copies = 1,
                           .present = true};
}

uint64_t probe_weight_bytes(const struct probe_point *at)
{
    return dtype_matrix_bytes(at->dtype, at->depth, at->columns);
}

uint64_t probe_gradient_bytes(const struct probe_point *at)
{
    return dtype_matrix_bytes(DTYPE_F32, at->depth, at->columns);
}

/* A gradient of a weight has the operands' depth in its rows: [depth, rows] x [rows, columns].
 */
void probe_product(const struct kernels *kernels, const struct blas *blas,
                   const struct probe_point *at, const struct probe_operands *operands,
                   float *scratch)
{
    bool back = at->kind == PROBE_DGRAD, gradient = at->kind == PROBE_WGRAD;
    const struct task task = {.blas = blas};
    const struct op op = {.kernel = gradient ? KERNEL_WGRAD : KERNEL_GEMM};
    struct call call = {.task = &task, .op = &op, .args.gemm = {.transposed = back}};
    call.of[ROLE_SRC] = matrix(operands->rows, at->dtype, at->rows, at->depth);
    if (gradient) {
        call.of[ROLE_D_DST] = matrix(operands->other, at->dtype, at->rows, at->columns);
        call.of[ROLE_D_WEIGHT] = matrix(operands->gradient, DTYPE_F32, at->depth, at->columns);
    } else {
        call.of[ROLE_WEIGHT] =
            matrix(operands->weight, at->dtype, back ? at->columns : at->depth,
                   back ? at->depth : at->columns);
        call.of[ROLE_DST] = matrix(operands->result, at->dtype, at->rows, at->columns);
    }
    const struct kernel_ops *kernel = &kernels->table[op.kernel];
    struct err err = {0};
    for (uint64_t unit = 0, n = kernel->units(&call); unit < n; unit++)
        kernel->run(&call, unit, scratch, &err); /* products have no way to fail */
}
