/* The table and what its kernels share; see kernel.h. */
#include "exec/kernels/kernel.h"

#include <string.h>

#include "base/checked.h"
#include "exec/kernels/format.h"
#include "work/list/dtype.h"

void kernels_cpu(struct kernels *kernels)
{
    memset(kernels, 0, sizeof *kernels);
    kernels_add_data(kernels);
    kernels_add_router(kernels);
    kernels_add_sort(kernels);
    kernels_add_fan(kernels);
    kernels_add_blocks(kernels);
    kernels_add_cores(kernels);
    kernels_add_rows(kernels);
    kernels_add_combine(kernels);
    kernels_add_gemm(kernels);
    kernels_add_gated(kernels);
    kernels_add_expand(kernels);
    kernels_add_sparse(kernels);
    kernels_add_activation(kernels);
    kernels_add_chunks(kernels);
    kernels_add_norm(kernels);
}

uint64_t kernel_row_units(uint64_t rows)
{
    return ceil_div(rows, CHUNK_ROWS);
}

void kernel_rows_of(uint64_t unit, uint64_t rows, uint64_t *begin, uint64_t *end)
{
    *begin = unit * CHUNK_ROWS;
    *end = *begin + CHUNK_ROWS < rows ? *begin + CHUNK_ROWS : rows;
}

int32_t *tensor_i32(const struct tensor *tensor)
{
    return tensor->data;
}

int64_t *tensor_i64(const struct tensor *tensor)
{
    return tensor->data;
}

float *tensor_f32(const struct tensor *tensor)
{
    return tensor->data;
}

uint64_t tensor_row_bytes(const struct tensor *tensor)
{
    return tensor->rows ? tensor->bytes / tensor->rows
                        : dtype_matrix_bytes(tensor->dtype, tensor->width, 1);
}

char *tensor_row(const struct tensor *tensor, uint64_t row)
{
    return (char *)tensor->data + row * tensor_row_bytes(tensor);
}

void tensor_load(const struct tensor *tensor, uint64_t row, uint64_t column, uint64_t n,
                 float *out)
{
    format_load(tensor->dtype, tensor->data, row * tensor->width + column, n, out);
}

void tensor_store(const struct tensor *tensor, uint64_t row, uint64_t column, uint64_t n,
                  const float *in)
{
    format_store(tensor->dtype, tensor->data, row * tensor->width + column, n, in);
}

void tensor_scale_row(const struct tensor *from, uint64_t row, float factor,
                      const struct tensor *to, uint64_t to_row)
{
    enum { PIECE = 256 };
    float values[PIECE];
    for (uint64_t c = 0; c < to->width; c += PIECE) {
        uint64_t n = to->width - c < PIECE ? to->width - c : PIECE;
        tensor_load(from, row, c, n, values);
        for (uint64_t i = 0; i < n; i++)
            values[i] *= factor;
        tensor_store(to, to_row, c, n, values);
    }
}

struct grouping kernel_grouping(const struct call *call, const struct rows_args *args,
                                uint64_t total)
{
    const struct tensor *offsets = &call->of[ROLE_OFFSETS];
    bool one = args->turn && !offsets->present;
    uint64_t even = args->groups.n ? args->groups.n : 1;
    struct grouping grouping = {.offsets = offsets,
                                .rows = &call->of[ROLE_SIZES],
                                .total = total,
                                .n = offsets->present ? offsets->rows - 1
                                     : one            ? 1
                                                      : even,
                                .one = one,
                                .shared = args->shared,
                                .iteration = call->iteration};
    if (args->parts)
        grouping.first = call->iteration * grouping.n;
    return grouping;
}

struct span_rows kernel_group(const struct grouping *grouping, uint64_t g)
{
    const int64_t *rows = grouping->rows->present ? tensor_i64(grouping->rows) : NULL;
    if (grouping->one)
        return (struct span_rows){0,
                                  rows ? (uint64_t)rows[grouping->iteration] : grouping->total};
    if (grouping->shared)
        return (struct span_rows){0, grouping->total};
    if (!grouping->offsets->present) {
        uint64_t each = grouping->total / grouping->n;
        return (struct span_rows){g * each, (g + 1) * each};
    }
    const int64_t *starts = tensor_i64(grouping->offsets);
    uint64_t begin = (uint64_t)starts[g];
    return (struct span_rows){begin, rows ? begin + (uint64_t)rows[grouping->first + g]
                                          : (uint64_t)starts[g + 1]};
}

uint64_t kernel_grouped_rows(const struct grouping *grouping)
{
    uint64_t rows = 0;
    for (uint64_t g = 0; g < grouping->n; g++) {
        struct span_rows span = kernel_group(grouping, g);
        rows += span.end - span.begin;
    }
    return rows;
}

bool kernel_in_group(const struct grouping *grouping, uint64_t row)
{
    if (grouping->one)
        return row < kernel_group(grouping, 0).end;
    if (!grouping->offsets->present)
        return true;
    if (!grouping->rows->present)
        return row < (uint64_t)tensor_i64(grouping->offsets)[grouping->n];
    for (uint64_t g = 0; g < grouping->n; g++) {
        struct span_rows span = kernel_group(grouping, g);
        if (row >= span.begin && row < span.end)
            return true;
    }
    return false;
}

struct span_rows kernel_index_part(const struct call *call, const struct part_args *args,
                                   const struct tensor *index, const struct tensor *offsets)
{
    if (!args->by_iteration)
        return (struct span_rows){0, index->rows};
    if (!offsets->present)
        return (struct span_rows){call->iteration * args->rows.n,
                                  (call->iteration + 1) * args->rows.n};
    const int64_t *starts = tensor_i64(offsets);
    return (struct span_rows){(uint64_t)starts[call->iteration],
                              (uint64_t)starts[call->iteration + 1]};
}
