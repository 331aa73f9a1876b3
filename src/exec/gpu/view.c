/* See view.h. */
#include "exec/gpu/view.h"

static uint64_t element_bytes(enum gpu_format format)
{
    return format == FORMAT_BF16 ? 2 : format == FORMAT_I64 ? 8 : 4;
}

struct gpu_view gpu_view_rows(uint64_t rows, uint64_t width, enum gpu_format format)
{
    return (struct gpu_view){.rows = rows,
                             .width = width,
                             .row_bytes = width * element_bytes(format),
                             .dims = {rows, width},
                             .format = format,
                             .n_dims = 2,
                             .present = 1};
}

struct gpu_view gpu_view_matrices(uint64_t n, uint64_t rows, uint64_t columns,
                                  enum gpu_format format)
{
    struct gpu_view view = gpu_view_rows(n, rows * columns, format);
    view.dims[1] = rows;
    view.dims[2] = columns;
    view.n_dims = 3;
    return view;
}
