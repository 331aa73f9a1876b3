/* gated_gemm: a product by gate and up and the activation of its rows, tile by tile.
 *
 * A tile has the gates of its columns and, beside them, their ups. Sums are rounded to the
 * result's format before the activation takes them, as when they pass through memory: the bits
 * are those of the two ops. */
#include "exec/kernels/format.h"
#include "exec/kernels/gemm_tile.h"

enum { MOST_COLUMNS = KERNEL_TILE_COLUMNS / 2 };

/* Of the result's width: 2 where there is an up for every gate. */
static uint64_t parts_of(const struct call *call)
{
    return call->of[ROLE_WEIGHT].dims[call->of[ROLE_WEIGHT].n_dims - 1] /
           call->of[ROLE_DST].width;
}

static struct tiling gated_tiling(const struct call *call)
{
    return (struct tiling){
        .grouping = kernel_grouping(call, &call->args.gemm.rows, call->of[ROLE_SRC].rows),
        .columns = call->of[ROLE_DST].width,
        .row_tile = KERNEL_TILE_ROWS,
        .column_tile = MOST_COLUMNS};
}

static uint64_t gated_units(const struct call *call)
{
    struct tiling tiling = gated_tiling(call);
    return tile_count(&tiling);
}

/* Rows of the operand by `columns` of the weight, to `c`, its rows `ldc` apart. */
static void multiply(const struct call *call, uint64_t number, struct span_rows from,
                     struct span_rows columns, struct scratch scratch, float *c, uint64_t ldc)
{
    struct matrix w = tile_matrix(&call->of[ROLE_WEIGHT], number);
    uint64_t all = call->of[ROLE_SRC].width;
    struct gemm gemm = {.m = (int)(from.end - from.begin),
                        .n = (int)(columns.end - columns.begin),
                        .c = c,
                        .ldc = (int)ldc};
    for (uint64_t d = 0; d < all; d += KERNEL_TILE_DEPTH) {
        struct span_rows depth = {d, d + KERNEL_TILE_DEPTH < all ? d + KERNEL_TILE_DEPTH : all};
        gemm.k = (int)(depth.end - depth.begin);
        gemm.beta = d > 0;
        gemm.a = tile_load_rows(&call->of[ROLE_SRC], from, depth, scratch.a, &gemm.lda);
        tile_load_weight(&w, false, depth, columns, scratch.b, &gemm);
        blas_gemm(call->task->blas, &gemm);
    }
}

/* n sums of a row: with their bias, rounded, and kept where that is asked for. */
static void finish(const struct call *call, uint64_t number, uint64_t row, uint64_t column,
                   uint64_t n, float *sums)
{
    const struct tensor *bias = &call->of[ROLE_BIAS], *rows = &call->of[ROLE_OTHER];
    const float *add = bias->present ? tensor_f32(bias) + number * bias->width + column : NULL;
    for (uint64_t i = 0; i < n; i++)
        sums[i] = format_round(call->of[ROLE_DST].dtype, sums[i] + (add ? add[i] : 0));
    if (rows->present)
        tensor_store(rows, row, column, n, sums);
}

static enum status gated_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct tiling tiling = gated_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct span_rows group = kernel_group(&tiling.grouping, tile.group);
    struct span_rows from = {group.begin + tile.rows.begin, group.begin + tile.rows.end};
    struct scratch scratch = tile_scratch(memory);
    const struct tensor *dst = &call->of[ROLE_DST];
    uint64_t number = tile_weight_number(call, tile.group), parts = parts_of(call),
             shift = tiling.grouping.shared ? tile.group * call->of[ROLE_SRC].rows : 0,
             first = tile.columns.begin, n = tile.columns.end - first;
    for (uint64_t p = 0; p < parts; p++) {
        struct span_rows columns = {first + p * dst->width, first + n + p * dst->width};
        multiply(call, number, from, columns, scratch, scratch.c + p * n, parts * n);
    }
    for (uint64_t r = 0; r < from.end - from.begin; r++) {
        float *sums = scratch.c + r * parts * n;
        uint64_t row = from.begin + shift + r;
        for (uint64_t p = 0; p < parts; p++)
            finish(call, number, row, first + p * dst->width, n, sums + p * n);
        kernel_activate(call, sums, parts == 2 ? sums + n : NULL, n);
        tensor_store(dst, row, first, n, sums);
    }
    return STATUS_OK;
}

static void gated_count(const struct call *call, struct counts *counts)
{
    tile_count_product(call, parts_of(call) * call->of[ROLE_DST].width, counts);
}

void kernels_add_gated(struct kernels *kernels)
{
    kernels->table[KERNEL_GATED_GEMM] =
        (struct kernel_ops){gated_units, gated_run, gated_count};
}
