/* ragged_dot without a grouped kernel: one copy of the rows per group with all other rows zero,
 * and products over all of them (buffers.md 6). */
#include <string.h>

#include "exec/kernels/gemm_tile.h"

/* Group g's copy of a [e, M, k] tensor. */
static struct tensor copy_of(const struct tensor *wide, uint64_t g)
{
    struct tensor one = *wide;
    one.data = tensor_row(wide, g);
    one.rows = wide->dims[1];
    one.width = wide->dims[2];
    one.bytes = wide->bytes / wide->dims[0];
    return one;
}

static uint64_t expand_units(const struct call *call)
{
    return call->of[ROLE_DST].dims[0] * kernel_row_units(call->of[ROLE_DST].dims[1]);
}

static enum status expand_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const struct rows_args by_offsets = {.groups = {.n = 1}};
    uint64_t units = kernel_row_units(call->of[ROLE_DST].dims[1]), g = unit / units, begin, end;
    struct tensor dst = copy_of(&call->of[ROLE_DST], g);
    struct grouping grouping = kernel_grouping(call, &by_offsets, call->of[ROLE_SRC].rows);
    struct span_rows group = kernel_group(&grouping, g);
    kernel_rows_of(unit % units, dst.rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++) {
        if (row >= group.begin && row < group.end)
            memcpy(tensor_row(&dst, row), tensor_row(&call->of[ROLE_SRC], row),
                   tensor_row_bytes(&dst));
        else
            memset(tensor_row(&dst, row), 0, tensor_row_bytes(&dst));
    }
    return STATUS_OK;
}

/* ---- expanded_gemm ---- */

static struct tiling gemm_tiling(const struct call *call)
{
    return (struct tiling){.grouping = {.n = 1},
                           .fixed_rows = true,
                           .rows = call->of[ROLE_DST].rows,
                           .columns = call->of[ROLE_DST].width,
                           .row_tile = KERNEL_TILE_ROWS,
                           .column_tile = KERNEL_TILE_COLUMNS};
}

static uint64_t gemm_units(const struct call *call)
{
    struct tiling tiling = gemm_tiling(call);
    return tile_count(&tiling);
}

/* Adds group g's product to the tile. */
static void add_group(const struct call *call, const struct tile *tile, uint64_t g,
                      const struct scratch *scratch, struct gemm *gemm)
{
    struct tensor a = copy_of(&call->of[ROLE_SRC], g);
    struct matrix w = tile_matrix(&call->of[ROLE_WEIGHT], g);
    for (uint64_t d = 0; d < a.width; d += KERNEL_TILE_DEPTH) {
        uint64_t end = d + KERNEL_TILE_DEPTH < a.width ? d + KERNEL_TILE_DEPTH : a.width;
        struct span_rows depth = {d, end};
        gemm->k = (int)(end - d);
        gemm->beta = g > 0 || d > 0;
        gemm->a = tile_load_rows(&a, tile->rows, depth, scratch->a, &gemm->lda);
        tile_load_weight(&w, call->args.gemm.transposed, depth, tile->columns, scratch->b,
                         gemm);
        blas_gemm(call->task->blas, gemm);
    }
}

static enum status gemm_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct tiling tiling = gemm_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct scratch scratch = tile_scratch(memory);
    struct gemm gemm = {.m = (int)(tile.rows.end - tile.rows.begin),
                        .n = (int)(tile.columns.end - tile.columns.begin)};
    gemm.c = tile_result(&call->of[ROLE_DST], tile.rows, tile.columns, scratch.c, &gemm.ldc);
    for (uint64_t g = 0; g < call->of[ROLE_SRC].dims[0]; g++)
        add_group(call, &tile, g, &scratch, &gemm);
    tile_store(&call->of[ROLE_DST], tile.rows, tile.columns, gemm.c);
    return STATUS_OK;
}

static void gemm_count(const struct call *call, struct counts *counts)
{
    const struct tensor *a = &call->of[ROLE_SRC];
    counts->rows = a->dims[0] * a->dims[1];
    counts->flop = 2 * counts->rows * a->dims[2] * call->of[ROLE_DST].width;
}

/* ---- expanded_wgrad ---- */

static struct tiling wgrad_tiling(const struct call *call)
{
    return (struct tiling){.grouping = {.n = call->of[ROLE_SRC].dims[0]},
                           .fixed_rows = true,
                           .rows = call->of[ROLE_SRC].dims[2],
                           .columns = call->of[ROLE_D_DST].width,
                           .row_tile = KERNEL_TILE_ROWS,
                           .column_tile = KERNEL_TILE_COLUMNS};
}

static uint64_t wgrad_units(const struct call *call)
{
    struct tiling tiling = wgrad_tiling(call);
    return tile_count(&tiling);
}

static enum status wgrad_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct tiling tiling = wgrad_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct scratch scratch = tile_scratch(memory);
    struct tensor a = copy_of(&call->of[ROLE_SRC], tile.group);
    struct tensor dw = copy_of(&call->of[ROLE_D_WEIGHT], tile.group);
    struct gemm gemm = {.a_transposed = true,
                        .m = (int)(tile.rows.end - tile.rows.begin),
                        .n = (int)(tile.columns.end - tile.columns.begin)};
    gemm.c = tile_result(&dw, tile.rows, tile.columns, scratch.c, &gemm.ldc);
    uint64_t row = 0;
    do { /* once at least: the gradient of a rank without rows is zero */
        uint64_t end = row + KERNEL_TILE_DEPTH < a.rows ? row + KERNEL_TILE_DEPTH : a.rows;
        struct span_rows rows = {row, end};
        gemm.k = (int)(end - row);
        gemm.beta = row > 0;
        gemm.a = tile_load_rows(&a, rows, tile.rows, scratch.a, &gemm.lda);
        gemm.b =
            tile_load_rows(&call->of[ROLE_D_DST], rows, tile.columns, scratch.b, &gemm.ldb);
        blas_gemm(call->task->blas, &gemm);
        row = end;
    } while (row < a.rows);
    tile_store(&dw, tile.rows, tile.columns, gemm.c);
    return STATUS_OK;
}

static void wgrad_count(const struct call *call, struct counts *counts)
{
    const struct tensor *a = &call->of[ROLE_SRC];
    counts->flop = 2 * a->dims[0] * a->dims[1] * a->dims[2] * call->of[ROLE_D_DST].width;
}

void kernels_add_expand(struct kernels *kernels)
{
    kernels->table[KERNEL_EXPAND] = (struct kernel_ops){expand_units, expand_run, NULL};
    kernels->table[KERNEL_EXPANDED_GEMM] =
        (struct kernel_ops){gemm_units, gemm_run, gemm_count};
    kernels->table[KERNEL_EXPANDED_WGRAD] =
        (struct kernel_ops){wgrad_units, wgrad_run, wgrad_count};
}
