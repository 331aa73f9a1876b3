/* Block-sparse products over rows padded to blocks of B (MegaBlocks): sdd makes sparse from
 * dense, dsd dense from sparse, and the weight's gradient contracts the blocks of an expert.
 *
 * Only an expert's own columns exist, so the sparse matrix is stored block by block, row blocks
 * first: block u = row block * across + column block, `across` = ceil(I / B). With a gated
 * activation a block is [B, 2 B]: its gate part, then its up part. Columns behind I are zero.
 */
#include <string.h>

#include "base/checked.h"
#include "exec/kernels/gemm_tile.h"

/* The sparse operand's geometry. */
struct sparse {
    uint64_t B, inter, across, parts; /* parts: 2 when gate and up stand side by side */
};

static struct sparse sparse_of(const struct tensor *blocks, const struct call *call)
{
    uint64_t B = call->args.sparse.block.n, inter = call->args.sparse.inter.n;
    return (struct sparse){B, inter, ceil_div(inter, B), blocks->width / B};
}

/* The expert whose rows a row block is of; n experts when it is behind them all. */
static uint64_t expert_of(const struct tensor *offsets, uint64_t row)
{
    const int64_t *starts = tensor_i64(offsets);
    uint64_t g = 0;
    while (g + 1 < offsets->rows && row >= (uint64_t)starts[g + 1])
        g++;
    return g;
}

/* Columns of W that part p of column block cb covers. */
static struct span_rows columns_of(const struct sparse *s, uint64_t p, uint64_t cb)
{
    uint64_t begin = cb * s->B, end = begin + s->B < s->inter ? begin + s->B : s->inter;
    return (struct span_rows){p * s->inter + begin, p * s->inter + end};
}

/* Adds an expert's bias, the operand after the topology, to `rows` rows of a product. */
static void add_bias(const struct call *call, uint64_t expert, struct span_rows columns,
                     float *c, uint64_t ldc, uint64_t rows)
{
    const struct tensor *bias = &call->of[ROLE_BIAS];
    for (uint64_t i = 0; bias->present && i < rows; i++)
        for (uint64_t j = 0; j < columns.end - columns.begin; j++)
            c[i * ldc + j] += tensor_f32(bias)[expert * bias->width + columns.begin + j];
}

/* -1 behind the last block. */
static enum status map_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)scratch;
    (void)err;
    const struct tensor *offsets = &call->of[ROLE_OFFSETS];
    uint64_t across = ceil_div(call->args.sparse.inter.n, call->args.sparse.block.n);
    uint64_t valid =
        (uint64_t)tensor_i64(offsets)[offsets->rows - 1] / call->args.sparse.block.n * across;
    for (uint64_t u = 0; u < call->of[ROLE_ROW_BLOCK].rows; u++) {
        tensor_i32(&call->of[ROLE_ROW_BLOCK])[u] = u < valid ? (int32_t)(u / across) : -1;
        tensor_i32(&call->of[ROLE_COLUMN_BLOCK])[u] = u < valid ? (int32_t)(u % across) : -1;
    }
    return STATUS_OK;
}

/* ---- sdd ---- */

static uint64_t map_units(const struct call *call)
{
    return call->of[ROLE_ROW_BLOCK].rows;
}

/* Part p of block u: rows of a times columns of W (or, transposed, rows of W). */
static void sdd_part(const struct call *call, const struct sparse *s, uint64_t u, uint64_t p,
                     const struct scratch *scratch)
{
    uint64_t row = (uint64_t)tensor_i32(&call->of[ROLE_ROW_BLOCK])[u] * s->B;
    struct span_rows rows = {row, row + s->B};
    struct span_rows columns =
        columns_of(s, p, (uint64_t)tensor_i32(&call->of[ROLE_COLUMN_BLOCK])[u]);
    struct matrix w =
        tile_matrix(&call->of[ROLE_WEIGHT], expert_of(&call->of[ROLE_OFFSETS], row));
    struct gemm gemm = {.m = (int)s->B,
                        .n = (int)(columns.end - columns.begin),
                        .c = scratch->c,
                        .ldc = (int)s->B};
    memset(scratch->c, 0, s->B * s->B * sizeof *scratch->c);
    for (uint64_t d = 0; d < call->of[ROLE_SRC].width; d += KERNEL_TILE_DEPTH) {
        uint64_t end = d + KERNEL_TILE_DEPTH;
        struct span_rows depth = {d, end < call->of[ROLE_SRC].width ? end
                                                                    : call->of[ROLE_SRC].width};
        gemm.k = (int)(depth.end - depth.begin);
        gemm.beta = d > 0;
        gemm.a = tile_load_rows(&call->of[ROLE_SRC], rows, depth, scratch->a, &gemm.lda);
        tile_load_weight(&w, call->args.sparse.transposed, depth, columns, scratch->b, &gemm);
        blas_gemm(call->task->blas, &gemm);
    }
    add_bias(call, expert_of(&call->of[ROLE_OFFSETS], row), columns, scratch->c, s->B, s->B);
    for (uint64_t i = 0; i < s->B; i++)
        tensor_store(&call->of[ROLE_DST], u * s->B + i, p * s->B, s->B, scratch->c + i * s->B);
}

static enum status sdd_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct sparse s = sparse_of(&call->of[ROLE_DST], call);
    struct scratch scratch = tile_scratch(memory);
    if (tensor_i32(&call->of[ROLE_ROW_BLOCK])[unit] < 0)
        return STATUS_OK;
    for (uint64_t p = 0; p < s.parts; p++)
        sdd_part(call, &s, unit, p, &scratch);
    return STATUS_OK;
}

/* ---- dsd ---- */

static struct tiling dsd_tiling(const struct call *call)
{
    const struct tensor *offsets = &call->of[ROLE_OFFSETS];
    return (struct tiling){.grouping = {.n = 1},
                           .fixed_rows = true,
                           .rows = (uint64_t)tensor_i64(offsets)[offsets->rows - 1],
                           .columns = call->of[ROLE_DST].width,
                           .row_tile = call->args.sparse.block.n,
                           .column_tile = KERNEL_TILE_COLUMNS};
}

static uint64_t dsd_units(const struct call *call)
{
    struct tiling tiling = dsd_tiling(call);
    return tile_count(&tiling);
}

static enum status dsd_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct sparse s = sparse_of(&call->of[ROLE_SRC], call);
    struct tiling tiling = dsd_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct scratch scratch = tile_scratch(memory);
    struct matrix w = tile_matrix(&call->of[ROLE_WEIGHT],
                                  expert_of(&call->of[ROLE_OFFSETS], tile.rows.begin));
    struct gemm gemm = {.m = (int)s.B, .n = (int)(tile.columns.end - tile.columns.begin)};
    gemm.c = tile_result(&call->of[ROLE_DST], tile.rows, tile.columns, scratch.c, &gemm.ldc);
    for (uint64_t i = 0; i < s.parts * s.across; i++) {
        uint64_t p = i / s.across, cb = i % s.across;
        struct span_rows depth = columns_of(&s, p, cb);
        uint64_t first = (tile.rows.begin / s.B * s.across + cb) * s.B;
        struct span_rows rows = {first, first + s.B};
        gemm.k = (int)(depth.end - depth.begin);
        struct span_rows inside = {p * s.B, p * s.B + (uint64_t)gemm.k};
        gemm.beta = i > 0;
        gemm.a = tile_load_rows(&call->of[ROLE_SRC], rows, inside, scratch.a, &gemm.lda);
        tile_load_weight(&w, call->args.sparse.transposed, depth, tile.columns, scratch.b,
                         &gemm);
        blas_gemm(call->task->blas, &gemm);
    }
    add_bias(call, expert_of(&call->of[ROLE_OFFSETS], tile.rows.begin), tile.columns, gemm.c,
             (uint64_t)gemm.ldc, s.B);
    tile_store(&call->of[ROLE_DST], tile.rows, tile.columns, gemm.c);
    return STATUS_OK;
}

/* ---- sparse_wgrad ----
 * d_weight[e,I,h] of src, the sparse one, and other[M,h], or transposed [e,h,parts*I]; and the
 * bias' gradient, the sum of the result's rows */

static struct sparse wgrad_sparse(const struct call *call)
{
    return sparse_of(&call->of[ROLE_SRC], call);
}

static uint64_t wgrad_tiles(const struct call *call)
{
    return ceil_div(call->of[ROLE_OTHER].width, KERNEL_TILE_ROWS);
}

static uint64_t wgrad_units(const struct call *call)
{
    struct sparse s = wgrad_sparse(call);
    return call->of[ROLE_D_WEIGHT].dims[0] * s.parts * s.across * wgrad_tiles(call);
}

/* One tile: part p, column block cb, a span of the dense width, summed over row blocks. */
struct wgrad_tile {
    uint64_t expert, p, cb;
    struct span_rows dense, columns;
};

static struct wgrad_tile wgrad_tile_at(const struct call *call, const struct sparse *s,
                                       uint64_t unit)
{
    uint64_t tiles = wgrad_tiles(call), width = call->of[ROLE_OTHER].width;
    uint64_t begin = unit % tiles * KERNEL_TILE_ROWS, end = begin + KERNEL_TILE_ROWS;
    unit /= tiles;
    struct wgrad_tile t = {.cb = unit % s->across,
                           .p = unit / s->across % s->parts,
                           .expert = unit / s->across / s->parts,
                           .dense = {begin, end < width ? end : width}};
    t.columns = columns_of(s, t.p, t.cb);
    return t;
}

/* Sums columns of the rows of an expert: [column, column + n) of `from` into dbias at `at`. */
static void sum_columns(const struct call *call, uint64_t expert, const struct tensor *from,
                        struct span_rows rows, uint64_t column, struct span_rows at)
{
    float *sum = tensor_f32(&call->of[ROLE_D_BIAS]) + expert * call->of[ROLE_D_BIAS].width;
    for (uint64_t r = rows.begin; r < rows.end; r++) {
        for (uint64_t j = at.begin; j < at.end; j++) {
            float value;
            tensor_load(from, r, column + j - at.begin, 1, &value);
            sum[j] += value;
        }
    }
}

/* The tiles of the first columns of the other operand sum the bias' gradient. */
static void bias_grad(const struct call *call, const struct sparse *s,
                      const struct wgrad_tile *t)
{
    bool transposed = call->args.sparse.transposed;
    const int64_t *starts = tensor_i64(&call->of[ROLE_OFFSETS]);
    struct span_rows at = transposed ? t->columns : t->dense;
    if (!call->of[ROLE_D_BIAS].present || (transposed ? t->dense.begin > 0 : t->cb + t->p > 0))
        return;
    for (uint64_t j = at.begin; j < at.end; j++)
        tensor_f32(&call->of[ROLE_D_BIAS])[t->expert * call->of[ROLE_D_BIAS].width + j] = 0;
    for (int64_t row = starts[t->expert]; row < starts[t->expert + 1]; row += (int64_t)s->B) {
        uint64_t first = ((uint64_t)row / s->B * s->across + t->cb) * s->B;
        struct span_rows block = {first, first + s->B};
        struct span_rows dense = {(uint64_t)row, (uint64_t)row + s->B};
        if (transposed)
            sum_columns(call, t->expert, &call->of[ROLE_SRC], block, t->p * s->B, at);
        else
            sum_columns(call, t->expert, &call->of[ROLE_OTHER], dense, at.begin, at);
    }
}

static enum status wgrad_run(struct call *call, uint64_t unit, void *memory, struct err *err)
{
    (void)err;
    struct sparse s = wgrad_sparse(call);
    struct wgrad_tile t = wgrad_tile_at(call, &s, unit);
    struct scratch scratch = tile_scratch(memory);
    bool transposed = call->args.sparse.transposed;
    const int64_t *starts = tensor_i64(&call->of[ROLE_OFFSETS]);
    struct tensor dw = call->of[ROLE_D_WEIGHT];
    dw.data = tensor_row(&call->of[ROLE_D_WEIGHT], t.expert);
    dw.rows = dw.dims[1];
    dw.width = dw.dims[2];
    struct span_rows rows = transposed ? t.dense : t.columns;
    struct span_rows columns = transposed ? t.columns : t.dense;
    struct gemm gemm = {.a_transposed = true,
                        .m = (int)(rows.end - rows.begin),
                        .n = (int)(columns.end - columns.begin)};
    gemm.c = tile_result(&dw, rows, columns, scratch.c, &gemm.ldc);
    uint64_t row = (uint64_t)starts[t.expert], end = (uint64_t)starts[t.expert + 1];
    do { /* once at least: the gradient of an expert without rows is zero */
        struct span_rows dense = {row, row < end ? row + s.B : row};
        uint64_t first = (row / s.B * s.across + t.cb) * s.B;
        struct span_rows block = {first, first + (dense.end - dense.begin)};
        struct span_rows inside = {t.p * s.B, t.p * s.B + t.columns.end - t.columns.begin};
        const float *sparse_rows, *dense_rows;
        int sparse_ld, dense_ld;
        sparse_rows = tile_load_rows(&call->of[ROLE_SRC], block, inside, scratch.a, &sparse_ld);
        dense_rows =
            tile_load_rows(&call->of[ROLE_OTHER], dense, t.dense, scratch.b, &dense_ld);
        gemm.k = (int)(dense.end - dense.begin);
        gemm.beta = row > (uint64_t)starts[t.expert];
        gemm.a = transposed ? dense_rows : sparse_rows;
        gemm.lda = transposed ? dense_ld : sparse_ld;
        gemm.b = transposed ? sparse_rows : dense_rows;
        gemm.ldb = transposed ? sparse_ld : dense_ld;
        blas_gemm(call->task->blas, &gemm);
        row += s.B;
    } while (row < end);
    tile_store(&dw, rows, columns, gemm.c);
    bias_grad(call, &s, &t);
    return STATUS_OK;
}

/* ---- the table ---- */

/* 2 x padded rows x both widths of the product */
static void count_products(const struct call *call, const struct tensor *offsets,
                           const struct tensor *dense, const struct tensor *blocks,
                           struct counts *counts)
{
    struct sparse s = sparse_of(blocks, call);
    counts->rows = (uint64_t)tensor_i64(offsets)[offsets->rows - 1];
    counts->flop = 2 * counts->rows * dense->width * s.parts * s.inter;
}

static void sdd_count(const struct call *call, struct counts *counts)
{
    count_products(call, &call->of[ROLE_OFFSETS], &call->of[ROLE_SRC], &call->of[ROLE_DST],
                   counts);
}

static void dsd_count(const struct call *call, struct counts *counts)
{
    count_products(call, &call->of[ROLE_OFFSETS], &call->of[ROLE_DST], &call->of[ROLE_SRC],
                   counts);
}

static void wgrad_count(const struct call *call, struct counts *counts)
{
    count_products(call, &call->of[ROLE_OFFSETS], &call->of[ROLE_OTHER], &call->of[ROLE_SRC],
                   counts);
    counts->rows = 0;
}

void kernels_add_sparse(struct kernels *kernels)
{
    kernels->table[KERNEL_SPARSE_MAP] = (struct kernel_ops){NULL, map_run, NULL};
    kernels->table[KERNEL_SDD] = (struct kernel_ops){map_units, sdd_run, sdd_count};
    kernels->table[KERNEL_DSD] = (struct kernel_ops){dsd_units, dsd_run, dsd_count};
    kernels->table[KERNEL_SPARSE_WGRAD] =
        (struct kernel_ops){wgrad_units, wgrad_run, wgrad_count};
}
