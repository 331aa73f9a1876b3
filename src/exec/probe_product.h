/* Products of the probe, as run performs them: by its own kernels, one group of rows. */
#ifndef MOEPLAN_EXEC_PROBE_PRODUCT_H
#define MOEPLAN_EXEC_PROBE_PRODUCT_H

#include "exec/kernels/kernel.h"
#include "exec/probe.h"

/* Where a worker's operands lie. */
struct probe_operands {
    const char *rows;   /* [rows, depth] */
    const char *weight; /* [depth, columns]; of dgrad [columns, depth] */
    char *result;       /* [rows, columns] */
    const char *other;  /* wgrad: [rows, columns], the gradient of the result */
    char *gradient;     /* wgrad: of the weight, in f32 */
};

/* Bytes of a point's matrix as it is stored, and of its gradient in f32. */
uint64_t probe_weight_bytes(const struct probe_point *at);
uint64_t probe_gradient_bytes(const struct probe_point *at);

/* Performs the point's product once; `scratch` of KERNEL_SCRATCH_FLOATS floats. */
void probe_product(const struct kernels *kernels, const struct blas *blas,
                   const struct probe_point *at, const struct probe_operands *operands,
                   float *scratch);

#endif
