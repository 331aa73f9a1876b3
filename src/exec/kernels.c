/* The table and what its kernels share; see kernel.h. */
#include "exec/kernel.h"

#include <string.h>

#include "base/checked.h"
#include "exec/format.h"

static void add_all(struct kernels *kernels, bool fast)
{
    memset(kernels, 0, sizeof *kernels);
    kernels_add_data(kernels);
    kernels_add_router(kernels);
    kernels_add_sort(kernels);
    kernels_add_rows(kernels);
    kernels_add_combine(kernels);
    kernels_add_gemm(kernels, fast);
    kernels_add_activation(kernels);
}

void kernels_reference(struct kernels *kernels)
{
    add_all(kernels, false);
}

void kernels_fast(struct kernels *kernels)
{
    add_all(kernels, true);
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
    return tensor->rows ? tensor->bytes / tensor->rows : 0;
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

struct span_rows kernel_group(const struct tensor *offsets, const struct tensor *rows,
                              uint64_t total, uint64_t n_groups, uint64_t g)
{
    if (!offsets->present) {
        uint64_t each = n_groups ? total / n_groups : 0;
        return (struct span_rows){g * each, (g + 1) * each};
    }
    const int64_t *starts = offsets->data;
    uint64_t begin = (uint64_t)starts[g];
    uint64_t n =
        rows->present ? (uint64_t)tensor_i64(rows)[g] : (uint64_t)(starts[g + 1] - starts[g]);
    return (struct span_rows){begin, begin + n};
}

uint64_t kernel_groups_end(const struct tensor *offsets, uint64_t total)
{
    return offsets->present ? (uint64_t)tensor_i64(offsets)[offsets->rows - 1] : total;
}
