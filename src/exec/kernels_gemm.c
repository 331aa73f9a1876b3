/* Products over groups of rows: forward and by the weight's transpose (gemm), and the weight's
 * gradient (wgrad), whose contracted dimension is the ragged one.
 *
 * A product is cut into tiles of at most TILE rows by columns of one group. Operands in f32 are
 * multiplied where they stand; others pass through the worker's scratch piece by piece, with
 * sums in f32. The reference multiplies element by element, the fast version by OpenBLAS; a
 * row's result is the same whatever tile it is in. */
#include "exec/kernel.h"

#include "base/checked.h"
#include "exec/format.h"

enum { DIRECT_ROWS = 512, DIRECT_COLUMNS = 1024 };

typedef void multiply_fn(const struct blas *blas, const struct gemm *gemm);

static void multiply_plain(const struct blas *blas, const struct gemm *gemm)
{
    (void)blas;
    blas_gemm_plain(gemm);
}

/* Where the operands of a tile lie once they are f32. */
struct scratch {
    float *a, *b, *c;
};

static struct scratch scratch_of(void *memory)
{
    float *a = memory, *b = a + KERNEL_TILE_ROWS * KERNEL_TILE_DEPTH;
    return (struct scratch){a, b, b + KERNEL_TILE_DEPTH * KERNEL_TILE_COLUMNS};
}

/* An even share of n: part i of `parts`. */
static struct span_rows share(uint64_t n, uint64_t parts, uint64_t i)
{
    uint64_t each = ceil_div(n, parts ? parts : 1), begin = i * each;
    return (struct span_rows){begin < n ? begin : n, begin + each < n ? begin + each : n};
}

static bool is_f32(const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_F32;
}

/* ---- tiles of a call ---- */

/* rows and columns of the result, per group; wgrad's rows are those of the matrix */
struct tiling {
    const struct call *call;
    uint64_t n_groups, columns, row_tile, column_tile;
    bool fixed_rows; /* every group's result has `rows` rows (wgrad) */
    uint64_t rows;
};

struct tile {
    uint64_t group;
    struct span_rows rows, columns; /* rows: inside the group */
};

static struct span_rows group_rows(const struct call *call, uint64_t g)
{
    return kernel_group(&call->in[2], &call->in[3], call->in[0].rows,
                        call->groups ? call->groups : 1, g);
}

static uint64_t n_groups(const struct call *call)
{
    if (call->in[2].present)
        return call->in[2].rows - 1;
    return call->groups ? call->groups : 1;
}

static uint64_t result_rows(const struct tiling *t, uint64_t g)
{
    if (t->fixed_rows)
        return t->rows;
    struct span_rows span = group_rows(t->call, g);
    return span.end - span.begin;
}

static uint64_t count_tiles(const struct tiling *t)
{
    uint64_t tiles = 0, across = ceil_div(t->columns, t->column_tile);
    for (uint64_t g = 0; g < t->n_groups; g++)
        tiles += ceil_div(result_rows(t, g), t->row_tile) * across;
    return tiles;
}

static struct tile tile_at(const struct tiling *t, uint64_t unit)
{
    uint64_t across = ceil_div(t->columns, t->column_tile);
    for (uint64_t g = 0; g < t->n_groups; g++) {
        uint64_t rows = result_rows(t, g), down = ceil_div(rows, t->row_tile);
        if (unit < down * across)
            return (struct tile){g, share(rows, down, unit / across),
                                 share(t->columns, across, unit % across)};
        unit -= down * across;
    }
    return (struct tile){0};
}

/* ---- gemm: (a, w, offsets?, rows?, map?, bias?) -> c ---- */

static bool gemm_is_direct(const struct call *call)
{
    return is_f32(&call->in[0]) && is_f32(&call->in[1]) && is_f32(&call->out[0]);
}

static struct tiling gemm_tiling(const struct call *call)
{
    bool direct = gemm_is_direct(call);
    return (struct tiling){.call = call,
                           .n_groups = n_groups(call),
                           .columns = call->out[0].width,
                           .row_tile = direct ? DIRECT_ROWS : KERNEL_TILE_ROWS,
                           .column_tile = direct ? DIRECT_COLUMNS : KERNEL_TILE_COLUMNS};
}

static uint64_t gemm_units(const struct call *call)
{
    struct tiling tiling = gemm_tiling(call);
    return count_tiles(&tiling);
}

/* One weight matrix [k, n]. */
struct matrix {
    const char *data;
    enum dtype dtype;
    uint64_t k, n;
};

static struct matrix weight_of(const struct call *call, uint64_t group)
{
    const struct tensor *w = &call->in[1];
    uint64_t number = group;
    if (call->op->flags & KERNEL_WEIGHT_I)
        number = call->iteration;
    else if (call->in[4].present)
        number = (uint64_t)tensor_i32(&call->in[4])[group];
    if (w->n_dims == 2)
        return (struct matrix){w->data, w->dtype, w->dims[0], w->dims[1]};
    return (struct matrix){tensor_row(w, number), w->dtype, w->dims[1], w->dims[2]};
}

/* The piece of the weight that `depth` x `columns` of a product needs, as B of a gemm. */
static void load_weight(const struct matrix *w, bool transposed, struct span_rows depth,
                        struct span_rows columns, float *scratch, struct gemm *gemm)
{
    struct span_rows rows = transposed ? columns : depth, cols = transposed ? depth : columns;
    uint64_t nr = rows.end - rows.begin, nc = cols.end - cols.begin;
    gemm->b_transposed = transposed;
    if (w->dtype == DTYPE_F32) {
        gemm->b = (const float *)(const void *)w->data + rows.begin * w->n + cols.begin;
        gemm->ldb = (int)w->n;
        return;
    }
    gemm->b = scratch;
    if (format_is_plain(w->dtype)) {
        for (uint64_t r = 0; r < nr; r++)
            format_load(w->dtype, w->data, (rows.begin + r) * w->n + cols.begin, nc,
                        scratch + r * nc);
        gemm->ldb = (int)nc;
        return;
    }
    format_decode_columns(w->dtype, w->data, w->k, w->n, rows.begin, nr, cols.begin, nc,
                          scratch);
    gemm->b_transposed = !transposed;
    gemm->ldb = (int)nr;
}

/* Rows x columns of a tensor as an operand: in place when f32. */
static const float *load_rows(const struct tensor *tensor, struct span_rows rows,
                              struct span_rows columns, float *scratch, int *ld)
{
    uint64_t nc = columns.end - columns.begin;
    if (is_f32(tensor)) {
        *ld = (int)tensor->width;
        return tensor_f32(tensor) + rows.begin * tensor->width + columns.begin;
    }
    for (uint64_t r = rows.begin; r < rows.end; r++)
        tensor_load(tensor, r, columns.begin, nc, scratch + (r - rows.begin) * nc);
    *ld = (int)nc;
    return scratch;
}

static void add_bias(const struct call *call, uint64_t group, struct span_rows columns,
                     float *c, int ldc, uint64_t rows)
{
    const struct tensor *bias = &call->in[5];
    if (!bias->present)
        return;
    uint64_t number = call->op->flags & KERNEL_WEIGHT_I ? call->iteration
                      : call->in[4].present ? (uint64_t)tensor_i32(&call->in[4])[group]
                                            : group;
    const float *add = tensor_f32(bias) + number * bias->width + columns.begin;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t j = 0; j < columns.end - columns.begin; j++)
            c[r * (uint64_t)ldc + j] += add[j];
}

/* The result's place: in place when f32, else scratch that store_result writes back. */
static float *result_of(const struct tensor *c, struct span_rows rows, struct span_rows columns,
                        float *scratch, int *ld)
{
    if (!is_f32(c)) {
        *ld = (int)(columns.end - columns.begin);
        return scratch;
    }
    *ld = (int)c->width;
    return tensor_f32(c) + rows.begin * c->width + columns.begin;
}

static void store_result(const struct tensor *c, struct span_rows rows,
                         struct span_rows columns, const float *from)
{
    uint64_t nc = columns.end - columns.begin;
    for (uint64_t r = rows.begin; !is_f32(c) && r < rows.end; r++)
        tensor_store(c, r, columns.begin, nc, from + (r - rows.begin) * nc);
}

static enum status gemm_tile(struct call *call, uint64_t unit, void *memory,
                             multiply_fn *multiply)
{
    struct tiling tiling = gemm_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct span_rows group = group_rows(call, tile.group), rows = tile.rows;
    rows.begin += group.begin;
    rows.end += group.begin;
    struct scratch scratch = scratch_of(memory);
    struct matrix w = weight_of(call, tile.group);
    struct gemm gemm = {.m = (int)(rows.end - rows.begin),
                        .n = (int)(tile.columns.end - tile.columns.begin)};
    gemm.c = result_of(&call->out[0], rows, tile.columns, scratch.c, &gemm.ldc);
    uint64_t all = call->in[0].width, step = gemm_is_direct(call) ? all : KERNEL_TILE_DEPTH;
    for (uint64_t d = 0; d < all; d += step) {
        struct span_rows depth = {d, d + step < all ? d + step : all};
        gemm.k = (int)(depth.end - depth.begin);
        gemm.beta = d > 0;
        gemm.a = load_rows(&call->in[0], rows, depth, scratch.a, &gemm.lda);
        load_weight(&w, call->op->flags & KERNEL_TRANSPOSED, depth, tile.columns, scratch.b,
                    &gemm);
        multiply(call->task->blas, &gemm);
    }
    add_bias(call, tile.group, tile.columns, gemm.c, gemm.ldc, rows.end - rows.begin);
    store_result(&call->out[0], rows, tile.columns, gemm.c);
    return STATUS_OK;
}

static enum status gemm_run_plain(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)err;
    return gemm_tile(call, unit, scratch, multiply_plain);
}

static enum status gemm_run_blas(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    (void)err;
    return gemm_tile(call, unit, scratch, blas_gemm);
}

static void gemm_count(const struct call *call, struct counts *counts)
{
    for (uint64_t g = 0; g < n_groups(call); g++) {
        struct span_rows span = group_rows(call, g);
        counts->rows += span.end - span.begin;
    }
    counts->flop = 2 * counts->rows * call->in[0].width * call->out[0].width;
}

/* ---- wgrad: (a, dc, offsets?, rows?, map?) -> (dw, dbias?) ---- */

static struct tiling wgrad_tiling(const struct call *call)
{
    return (struct tiling){.call = call,
                           .n_groups = n_groups(call),
                           .columns = call->in[1].width,
                           .row_tile = KERNEL_TILE_ROWS,
                           .column_tile = KERNEL_TILE_COLUMNS,
                           .fixed_rows = true,
                           .rows = call->in[0].width};
}

static uint64_t wgrad_units(const struct call *call)
{
    struct tiling tiling = wgrad_tiling(call);
    return count_tiles(&tiling);
}

/* The gradient of one matrix, seen as a tensor of its own. */
static struct tensor gradient_of(const struct call *call, uint64_t group)
{
    struct tensor dw = call->out[0];
    if (dw.n_dims == 2)
        return dw;
    uint64_t number = call->op->flags & KERNEL_WEIGHT_I ? call->iteration : group;
    dw.data = tensor_row(&call->out[0], number);
    dw.rows = dw.dims[1];
    dw.width = dw.dims[2];
    return dw;
}

static void bias_grad(const struct call *call, uint64_t group, struct span_rows rows,
                      struct span_rows columns)
{
    const struct tensor *dbias = &call->out[1];
    if (!dbias->present)
        return;
    uint64_t number = call->op->flags & KERNEL_WEIGHT_I ? call->iteration : group;
    float *sum = tensor_f32(dbias) + number * dbias->width;
    for (uint64_t j = columns.begin; j < columns.end; j++)
        sum[j] = 0;
    for (uint64_t r = rows.begin; r < rows.end; r++)
        for (uint64_t j = columns.begin; j < columns.end; j++) {
            float value;
            tensor_load(&call->in[1], r, j, 1, &value);
            sum[j] += value;
        }
}

static enum status wgrad_tile(struct call *call, uint64_t unit, void *memory,
                              multiply_fn *multiply)
{
    struct tiling tiling = wgrad_tiling(call);
    struct tile tile = tile_at(&tiling, unit);
    struct span_rows group = group_rows(call, tile.group);
    struct scratch scratch = scratch_of(memory);
    struct tensor dw = gradient_of(call, tile.group);
    struct gemm gemm = {.a_transposed = true,
                        .m = (int)(tile.rows.end - tile.rows.begin),
                        .n = (int)(tile.columns.end - tile.columns.begin)};
    gemm.c = result_of(&dw, tile.rows, tile.columns, scratch.c, &gemm.ldc);
    uint64_t row = group.begin;
    do { /* once at least: an empty group's gradient is zero */
        struct span_rows rows = {
            row, row + KERNEL_TILE_DEPTH < group.end ? row + KERNEL_TILE_DEPTH : group.end};
        gemm.k = (int)(rows.end - rows.begin);
        gemm.beta = row > group.begin;
        gemm.a = load_rows(&call->in[0], rows, tile.rows, scratch.a, &gemm.lda);
        gemm.b = load_rows(&call->in[1], rows, tile.columns, scratch.b, &gemm.ldb);
        multiply(call->task->blas, &gemm);
        row = rows.end;
    } while (row < group.end);
    store_result(&dw, tile.rows, tile.columns, gemm.c);
    if (tile.rows.begin == 0)
        bias_grad(call, tile.group, group, tile.columns);
    return STATUS_OK;
}

static enum status wgrad_run_plain(struct call *call, uint64_t unit, void *scratch,
                                   struct err *err)
{
    (void)err;
    return wgrad_tile(call, unit, scratch, multiply_plain);
}

static enum status wgrad_run_blas(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)err;
    return wgrad_tile(call, unit, scratch, blas_gemm);
}

static void wgrad_count(const struct call *call, struct counts *counts)
{
    uint64_t rows = 0;
    for (uint64_t g = 0; g < n_groups(call); g++) {
        struct span_rows span = group_rows(call, g);
        rows += span.end - span.begin;
    }
    counts->flop = 2 * rows * call->in[0].width * call->in[1].width;
}

void kernels_add_gemm(struct kernels *kernels, bool fast)
{
    kernels->table[KERNEL_GEMM] =
        (struct kernel_ops){gemm_units, fast ? gemm_run_blas : gemm_run_plain, gemm_count};
    kernels->table[KERNEL_WGRAD] =
        (struct kernel_ops){wgrad_units, fast ? wgrad_run_blas : wgrad_run_plain, wgrad_count};
}
