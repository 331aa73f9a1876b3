/* See gemm_tile.h. */
#include "exec/kernels/gemm_tile.h"

#include "base/checked.h"
#include "exec/kernels/format.h"
#include "work/list/dtype.h"

struct scratch tile_scratch(void *memory)
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

void tile_count_product(const struct call *call, uint64_t columns, struct counts *counts)
{
    struct grouping grouping =
        kernel_grouping(call, &call->args.gemm.rows, call->of[ROLE_SRC].rows);
    uint64_t rows = kernel_grouped_rows(&grouping);
    counts->rows = call->args.gemm.split ? rows / grouping.n : rows;
    counts->flop = 2 * rows * call->of[ROLE_SRC].width * columns;
}

bool tile_is_f32(const struct tensor *tensor)
{
    return tensor->dtype == DTYPE_F32;
}

static uint64_t result_rows(const struct tiling *t, uint64_t g)
{
    if (t->fixed_rows)
        return t->rows;
    struct span_rows span = kernel_group(&t->grouping, g);
    return span.end - span.begin;
}

uint64_t tile_count(const struct tiling *t)
{
    uint64_t tiles = 0, across = ceil_div(t->columns, t->column_tile);
    for (uint64_t g = 0; g < t->grouping.n; g++)
        tiles += ceil_div(result_rows(t, g), t->row_tile) * across;
    return tiles;
}

struct tile tile_at(const struct tiling *t, uint64_t unit)
{
    uint64_t across = ceil_div(t->columns, t->column_tile);
    for (uint64_t g = 0; g < t->grouping.n; g++) {
        uint64_t rows = result_rows(t, g), down = ceil_div(rows, t->row_tile);
        if (unit < down * across)
            return (struct tile){g, share(rows, down, unit / across),
                                 share(t->columns, across, unit % across)};
        unit -= down * across;
    }
    return (struct tile){0};
}

uint64_t tile_weight_number(const struct call *call, uint64_t group)
{
    if (call->op->kernel == KERNEL_CHUNK_GEMM)
        return (call->rank + call->iteration) % call->of[ROLE_WEIGHT].dims[0];
    uint64_t number = call->args.gemm.rows.turn ? call->iteration : group;
    return call->of[ROLE_MAP].present ? (uint64_t)tensor_i32(&call->of[ROLE_MAP])[number]
                                      : number;
}

struct matrix tile_matrix(const struct tensor *weights, uint64_t number)
{
    if (weights->n_dims == 2)
        return (struct matrix){weights->data, weights->dtype, weights->dims[0],
                               weights->dims[1]};
    return (struct matrix){tensor_row(weights, number), weights->dtype, weights->dims[1],
                           weights->dims[2]};
}

void tile_load_weight(const struct matrix *w, bool transposed, struct span_rows depth,
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
    if (dtype_is_plain(w->dtype)) {
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

const float *tile_load_rows(const struct tensor *tensor, struct span_rows rows,
                            struct span_rows columns, float *scratch, int *ld)
{
    uint64_t nc = columns.end - columns.begin;
    if (tile_is_f32(tensor) && tensor->data) { /* none of a rank without rows */
        *ld = (int)tensor->width;
        return tensor_f32(tensor) + rows.begin * tensor->width + columns.begin;
    }
    for (uint64_t r = rows.begin; r < rows.end; r++)
        tensor_load(tensor, r, columns.begin, nc, scratch + (r - rows.begin) * nc);
    *ld = (int)nc;
    return scratch;
}

float *tile_result(const struct tensor *c, struct span_rows rows, struct span_rows columns,
                   float *scratch, int *ld)
{
    if (!tile_is_f32(c)) {
        *ld = (int)(columns.end - columns.begin);
        return scratch;
    }
    *ld = (int)c->width;
    return tensor_f32(c) + rows.begin * c->width + columns.begin;
}

void tile_store(const struct tensor *c, struct span_rows rows, struct span_rows columns,
                const float *from)
{
    uint64_t nc = columns.end - columns.begin;
    for (uint64_t r = rows.begin; !tile_is_f32(c) && r < rows.end; r++)
        tensor_store(c, r, columns.begin, nc, from + (r - rows.begin) * nc);
}
