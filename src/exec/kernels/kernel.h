/* The kernel table: what performs each kernel of work/list/kernel.h on the CPU.
 *
 * Kernels are plain C, but that products go to BLAS where there is one. A kernel's work is cut
 * into units that are independent of each other and of the number of workers; units of
 * all ranks of a process form one batch. Kernels allocate nothing and keep no state: all they
 * know is in the call. */
#ifndef MOEPLAN_EXEC_KERNELS_KERNEL_H
#define MOEPLAN_EXEC_KERNELS_KERNEL_H

#include "base/err.h"
#include "exec/kernels/blas.h"
#include "exec/kernels/inputs.h"
#include "plan/plan.h"
#include "work/list/kernel.h"
#include "work/layer/layer_sample.h"

/* A buffer of one rank. data NULL: absent, or of zero bytes. */
struct tensor {
    void *data;
    enum dtype dtype;
    uint64_t dims[WORK_DIMS];
    unsigned n_dims;
    uint64_t rows, width; /* dims[0], and the product of the others */
    uint64_t bytes;       /* of one copy */
    uint64_t copies;      /* turned through by the iterations of a loop */
    bool present;
};

/* What a call did, counted while it runs. Units of one call may run at the same time: only
 * count() and single-unit kernels write here. */
struct counts {
    uint64_t flop;
    uint64_t rows; /* rows of expert work, padding included */
    uint64_t dropped;
    uint64_t blocks;  /* of path blockwise, begun */
    uint64_t loads;   /* matrices or token rows fetched for a core or a token */
    uint64_t fetched; /* their bytes as they are stored */
    uint64_t crossed; /* bytes that one core of the rank took from the other */
};

/* What all calls of a run share. */
struct task {
    const struct plan *plan;
    const struct layer_sample *sample;
    const struct inputs *inputs;
    const struct blas *blas;
    uint64_t step; /* number of the present step: the generation of handles */
};

struct call {
    const struct task *task;
    const struct op *op;
    uint64_t rank;
    union args args;              /* the op's, evaluated */
    uint64_t iteration;           /* of its loop */
    struct tensor of[ROLE_COUNT]; /* operands; those the op has not are not present */
    struct counts counts;
    bool skipped;               /* the rank has no such iteration */
    uint64_t first_unit, units; /* among those of all ranks; the launch's */
};

struct kernel_ops {
    /* Units of the call, 0 when there is nothing to do. NULL: one. */
    uint64_t (*units)(const struct call *call);
    /* scratch: KERNEL_SCRATCH_FLOATS floats of this worker, aligned to 64 */
    enum status (*run)(struct call *call, uint64_t unit, void *scratch, struct err *err);
    /* What the call will do, from its operands; NULL: nothing is counted. */
    void (*count)(const struct call *call, struct counts *counts);
};

/* A whole table, so that tests can replace a row by a wrong kernel. Exchanges have no row: the
 * transport performs them. */
struct kernels {
    struct kernel_ops table[KERNEL_COUNT];
};

/* The kernels there are. Products are the session's BLAS, or plain C. */
void kernels_cpu(struct kernels *kernels);

/* ---- pieces that kernels share ---- */

enum { CHUNK_ROWS = 32 }; /* rows of a unit of row-wise kernels */

uint64_t kernel_row_units(uint64_t rows);
/* The rows [*begin, *end) of a unit. */
void kernel_rows_of(uint64_t unit, uint64_t rows, uint64_t *begin, uint64_t *end);

int32_t *tensor_i32(const struct tensor *tensor);
int64_t *tensor_i64(const struct tensor *tensor);
float *tensor_f32(const struct tensor *tensor);
uint64_t tensor_row_bytes(const struct tensor *tensor);
char *tensor_row(const struct tensor *tensor, uint64_t row);
/* to = factor * row of `from`, of one width */
void tensor_scale_row(const struct tensor *from, uint64_t row, float factor,
                      const struct tensor *to, uint64_t to_row);
/* Elements [column, column + n) of a row of a plain format, as f32. */
void tensor_load(const struct tensor *tensor, uint64_t row, uint64_t column, uint64_t n,
                 float *out);
void tensor_store(const struct tensor *tensor, uint64_t row, uint64_t column, uint64_t n,
                  const float *in);

/* Row `row_b` of the sum: row `row_a` of a added to row `row_b` of b. */
void kernel_add_row(const struct tensor *a, uint64_t row_a, const struct tensor *b,
                    uint64_t row_b, const struct tensor *sum);

/* How a call's rows are grouped, from its operands `offsets` and `sizes`, either absent. */
struct span_rows {
    uint64_t begin, end;
};
struct grouping {
    const struct tensor *offsets, *rows;
    uint64_t total; /* rows of the buffer */
    uint64_t n;     /* groups; without offsets they share the rows evenly */
    bool one;       /* in a loop: the first rows[iteration] rows, or all */
    bool shared;    /* every group is all rows */
    uint64_t iteration;
    uint64_t first; /* of the groups of this iteration, among `rows` */
};
struct grouping kernel_grouping(const struct call *call, const struct rows_args *args,
                                uint64_t total);
struct span_rows kernel_group(const struct grouping *grouping, uint64_t g);
uint64_t kernel_grouped_rows(const struct grouping *grouping); /* in all groups together */
/* Whether a row belongs to a group. */
bool kernel_in_group(const struct grouping *grouping, uint64_t row);

/* gate = activation(gate) * up of the model's experts, n of each; up NULL: they have none. */
void kernel_activate(const struct call *call, float *gate, const float *up, uint64_t n);
/* The gradients of gates and ups in their place, from those of what they became. */
void kernel_activate_back(const struct call *call, float *gate, float *up, const float *da,
                          uint64_t n);

/* The part of an index that a call of a loop works on: [begin, end) of the map, padded with -1
 * up to the rows of the result. */
struct span_rows kernel_index_part(const struct call *call, const struct part_args *args,
                                   const struct tensor *index, const struct tensor *offsets);

/* ---- the files of the table ---- */

void kernels_add_data(struct kernels *kernels);
void kernels_add_router(struct kernels *kernels);
void kernels_add_sort(struct kernels *kernels);
void kernels_add_fan(struct kernels *kernels);
void kernels_add_blocks(struct kernels *kernels);
void kernels_add_cores(struct kernels *kernels);
void kernels_add_rows(struct kernels *kernels);
void kernels_add_combine(struct kernels *kernels);
void kernels_add_gemm(struct kernels *kernels);
void kernels_add_gated(struct kernels *kernels);
void kernels_add_expand(struct kernels *kernels);
void kernels_add_sparse(struct kernels *kernels);
void kernels_add_activation(struct kernels *kernels);
void kernels_add_chunks(struct kernels *kernels);
void kernels_add_norm(struct kernels *kernels);

#endif
