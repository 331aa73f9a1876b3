/* The kernels that GPUs have: for every kernel of the work list its source, its operands in the
 * order the device takes them, and how many work-groups it wants. */
#ifndef MOEPLAN_EXEC_GPU_KERNELS_H
#define MOEPLAN_EXEC_GPU_KERNELS_H

#include "exec/gpu/driver.h"
#include "exec/kernels/kernel.h"

/* Files of kernels, each a program with the headers before it. */
#define GPU_SOURCES(X)                                                                         \
    X(rows)                                                                                    \
    X(convert)                                                                                 \
    X(router)                                                                                  \
    X(maps)                                                                                    \
    X(blocks)                                                                                  \
    X(combine)                                                                                 \
    X(activation)                                                                              \
    X(norm)                                                                                    \
    X(product)                                                                                 \
    X(peak_sm80)                                                                               \
    X(peak_sm90)                                                                               \
    X(peak_cdna)

enum gpu_source {
#define GPU_SOURCE_ENUM(name) GPU_SOURCE_##name,
    GPU_SOURCES(GPU_SOURCE_ENUM)
#undef GPU_SOURCE_ENUM
        GPU_SOURCE_COUNT
};

struct gpu_kernel {
    const char *name; /* NULL: the device has none */
    enum gpu_source source;
    uint32_t items; /* of a work-group, as its source says */
    uint8_t roles[GPU_TENSORS];
    unsigned n_roles;
    uint64_t (*groups)(const struct call *call);
};

const struct gpu_kernel *gpu_kernel_of(enum kernel kernel);

/* Work-groups of a product of n groups, with `rows` in all of them, which the device alone can
 * tell apart: the most tiles there can be; and of one with so many rows in each result. */
uint64_t gpu_gemm_groups(uint64_t rows, uint64_t n, uint64_t columns);
uint64_t gpu_wgrad_groups(uint64_t rows, uint64_t n, uint64_t columns);

/* A launch before a kernel's own, where several work-groups share its slots (tally.cl). */
struct gpu_phase {
    const char *name; /* NULL: behind the last */
    enum gpu_source source;
    uint32_t items;
    bool by_bin; /* work-groups: one a bin; otherwise as many as the kernel's own */
};

enum { GPU_PHASES = 2 };

/* A kernel's launches before its own; NULL: it has none. */
const struct gpu_phase *gpu_phases_of(enum kernel kernel);

/* How a call is shared: sets its pieces and bins, which fit into its workspace, and returns its
 * work-groups. MOEPLAN_GPU_PIECE: slots of a piece, for tests. */
uint64_t gpu_share(const struct call *call, struct gpu_call *device);

/* The texts of a program, in order: [*n] of them. */
const struct gpu_text *gpu_source_texts(enum gpu_source source, unsigned *n);

#endif
