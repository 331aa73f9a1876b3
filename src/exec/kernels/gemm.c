/* Products over groups of rows: forward and by the weight's transpose (gemm), and the weight's
 * gradient (wgrad), whose contracted dimension is the ragged one.
 *
 * A product is cut into tiles of at most TILE rows by columns of one group. Operands in f32 are
 * multiplied where they stand; others pass through the worker's scratch piece by piece, with
 * sums in f32. By plain C a row's result is the same whatever tile it is in. */
#include "exec/kernels/gemm_tile.h"

enum { DIRECT_ROWS = 512, DIRECT_COLUMNS = 1024, TURN_PARTS = 2, LINE = 16 };

/* A loop's turn is one expert of each rank: its products come in parts, so that no worker goes
 * without while another has the expert with most rows. */
static uint64_t direct_columns(const struct call *call, uint64_t columns)
{
    if (!call->args.gemm.rows.turn)
        return DIRECT_COLUMNS;
    uint64_t part = ((columns + TURN_PARTS - 1) / TURN_PARTS + LINE - 1) / LINE * LINE;
    return part < DIRECT_COLUMNS ? part : DIRECT_COLUMNS;
}

/* ---- gemm, chunk_gemm ---- */

static bool gemm_is_direct(const struct call *call)
{
    return tile_is_f32(&call->of[ROLE_SRC]) && tile_is_f32(&call->of[ROLE_WEIGHT]) &&
           tile_is_f32(&call->of[ROLE_DST]);
}

static struct tiling gemm_tiling(const struct call *call)
{
    bool direct = gemm_is_direct(call);
    uint64_t columns = call->of[ROLE_DST].width;
    return (struct tiling){
        .grouping = kernel_grouping(call, &call->args.gemm.rows, call->of[ROLE_SRC].rows),
        .columns = columns,
        .row_tile = direct ? DIRECT_ROWS : KERNEL_TILE_ROWS,
        .column_tile = direct ? direct_columns(call, columns) : KERNEL_TILE_COLUMNS};
}

static uint64_t gemm_units(const struct call *call)
{
    struct tiling tiling = gemm_tiling(call);
    return tile_count(&tiling);
}

static void add_bias(const struct call *call, uint64_t group, struct span_rows columns,
                     float *c, int ldc, uint64_t rows)
{
    const struct tensor *bias = &call->of[ROLE_BIAS];
    if (!bias->present)
        return;
    uint64_t number = tile_weight_number(call, group);
    const float *add = tensor_f32(bias) + number * bias->width + columns.begin;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t j = 0; j < columns.end - columns.begin; j++)
            c[r * (uint64_t)ldc + j] += add[j];
}

/* The sum so far; true when the tile's product is added to it. */
static bool load_sum(const struct call *call, struct span_rows rows, struct span_rows columns,
                     float *to)
{
    const struct tensor *c = &call->of[ROLE_DST];
    if (call->op->kernel != KERNEL_CHUNK_GEMM || call->iteration == 0)
        return false;
    uint64_t n = columns.end - columns.begin;
    for (uint64_t r = rows.begin; !tile_is_f32(c) && r < rows.end; r++)
        tensor_load(c, r, columns.begin, n, to + (r - rows.begin) * n);
    return true;
}

static enum status gemm_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct tiling tiling = gemm_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct span_rows group = kernel_group(&tiling.grouping, tile.group);
    struct span_rows from = {group.begin + tile.rows.begin, group.begin + tile.rows.end};
    uint64_t shift = tiling.grouping.shared ? tile.group * call->of[ROLE_SRC].rows : 0;
    struct span_rows rows = {from.begin + shift, from.end + shift};
    struct scratch scratch = tile_scratch(memory);
    struct matrix w = tile_matrix(&call->of[ROLE_WEIGHT], tile_weight_number(call, tile.group));
    struct gemm gemm = {.m = (int)(rows.end - rows.begin),
                        .n = (int)(tile.columns.end - tile.columns.begin)};
    gemm.c = tile_result(&call->of[ROLE_DST], rows, tile.columns, scratch.c, &gemm.ldc);
    bool adds = load_sum(call, rows, tile.columns, gemm.c);
    uint64_t all = call->of[ROLE_SRC].width,
             step = gemm_is_direct(call) ? all : KERNEL_TILE_DEPTH;
    for (uint64_t d = 0; d < all; d += step) {
        struct span_rows depth = {d, d + step < all ? d + step : all};
        gemm.k = (int)(depth.end - depth.begin);
        gemm.beta = adds || d > 0;
        gemm.a = tile_load_rows(&call->of[ROLE_SRC], from, depth, scratch.a, &gemm.lda);
        tile_load_weight(&w, call->args.gemm.transposed, depth, tile.columns, scratch.b, &gemm);
        blas_gemm(call->task->blas, &gemm);
    }
    add_bias(call, tile.group, tile.columns, gemm.c, gemm.ldc, rows.end - rows.begin);
    tile_store(&call->of[ROLE_DST], rows, tile.columns, gemm.c);
    return STATUS_OK;
}

static void gemm_count(const struct call *call, struct counts *counts)
{
    tile_count_product(call, call->of[ROLE_DST].width, counts);
}

/* ---- wgrad ---- */

static bool wgrad_is_direct(const struct call *call)
{
    return tile_is_f32(&call->of[ROLE_SRC]) && tile_is_f32(&call->of[ROLE_D_DST]) &&
           tile_is_f32(&call->of[ROLE_D_WEIGHT]);
}

static struct tiling wgrad_tiling(const struct call *call)
{
    bool direct = wgrad_is_direct(call);
    return (struct tiling){
        .grouping = kernel_grouping(call, &call->args.gemm.rows, call->of[ROLE_SRC].rows),
        .columns = call->of[ROLE_D_DST].width,
        .row_tile = direct ? DIRECT_ROWS : KERNEL_TILE_ROWS,
        .column_tile = direct ? DIRECT_COLUMNS : KERNEL_TILE_COLUMNS,
        .fixed_rows = true,
        .rows = call->of[ROLE_SRC].width};
}

static uint64_t wgrad_units(const struct call *call)
{
    struct tiling tiling = wgrad_tiling(call);
    return tile_count(&tiling);
}

/* The gradient of one matrix, seen as a tensor of its own. */
static struct tensor gradient_of(const struct call *call, uint64_t group)
{
    struct tensor dw = call->of[ROLE_D_WEIGHT];
    if (dw.n_dims == 2)
        return dw;
    dw.data = tensor_row(&call->of[ROLE_D_WEIGHT], tile_weight_number(call, group));
    dw.rows = dw.dims[1];
    dw.width = dw.dims[2];
    return dw;
}

static void bias_grad(const struct call *call, uint64_t group, struct span_rows rows,
                      struct span_rows columns)
{
    const struct tensor *dbias = &call->of[ROLE_D_BIAS];
    if (!dbias->present)
        return;
    float *sum = tensor_f32(dbias) + tile_weight_number(call, group) * dbias->width;
    for (uint64_t j = columns.begin; !call->args.gemm.sum && j < columns.end; j++)
        sum[j] = 0;
    for (uint64_t r = rows.begin; r < rows.end; r++)
        for (uint64_t j = columns.begin; j < columns.end; j++) {
            float value;
            tensor_load(&call->of[ROLE_D_DST], r, j, 1, &value);
            sum[j] += value;
        }
}

static enum status wgrad_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct tiling tiling = wgrad_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct span_rows group = kernel_group(&tiling.grouping, tile.group);
    if (call->of[ROLE_MAP].present && group.begin == group.end)
        return STATUS_OK; /* the map gives its matrix to another group */
    struct scratch scratch = tile_scratch(memory);
    struct tensor dw = gradient_of(call, tile.group);
    uint64_t shift = tiling.grouping.shared ? tile.group * call->of[ROLE_SRC].rows : 0;
    bool sum = call->args.gemm.sum;
    struct gemm gemm = {.a_transposed = true,
                        .m = (int)(tile.rows.end - tile.rows.begin),
                        .n = (int)(tile.columns.end - tile.columns.begin)};
    gemm.c = tile_result(&dw, tile.rows, tile.columns, scratch.c, &gemm.ldc);
    uint64_t row = group.begin;
    do { /* once at least: an empty group's gradient is zero */
        struct span_rows rows = {
            row, row + KERNEL_TILE_DEPTH < group.end ? row + KERNEL_TILE_DEPTH : group.end};
        gemm.k = (int)(rows.end - rows.begin);
        gemm.beta = sum || row > group.begin;
        gemm.a = tile_load_rows(&call->of[ROLE_SRC], rows, tile.rows, scratch.a, &gemm.lda);
        struct span_rows from = {rows.begin + shift, rows.end + shift};
        gemm.b =
            tile_load_rows(&call->of[ROLE_D_DST], from, tile.columns, scratch.b, &gemm.ldb);
        blas_gemm(call->task->blas, &gemm);
        row = rows.end;
    } while (row < group.end);
    tile_store(&dw, tile.rows, tile.columns, gemm.c);
    struct span_rows of_bias = {group.begin + shift, group.end + shift};
    if (tile.rows.begin == 0)
        bias_grad(call, tile.group, of_bias, tile.columns);
    return STATUS_OK;
}

static void wgrad_count(const struct call *call, struct counts *counts)
{
    struct grouping grouping =
        kernel_grouping(call, &call->args.gemm.rows, call->of[ROLE_SRC].rows);
    counts->flop = 2 * kernel_grouped_rows(&grouping) * call->of[ROLE_SRC].width *
                   call->of[ROLE_D_DST].width;
}

void kernels_add_gemm(struct kernels *kernels)
{
    kernels->table[KERNEL_GEMM] = (struct kernel_ops){gemm_units, gemm_run, gemm_count};
    kernels->table[KERNEL_CHUNK_GEMM] = kernels->table[KERNEL_GEMM];
    kernels->table[KERNEL_WGRAD] = (struct kernel_ops){wgrad_units, wgrad_run, wgrad_count};
}
