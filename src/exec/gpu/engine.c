/* See engine.h; sizes are those of the engines' sources. */
#include "exec/gpu/engine.h"

#include <string.h>

#include "base/checked.h"

static const struct engine engines[] = {
    {.name = "wgmma",
     .prefix = "s90",
     .architectures = " sm_90 ",
     .compile_for = "sm_90a",
     .source = GPU_SOURCE_peak_sm90,
     .items = 384,
     .local_bytes = 4 * 6 * 8192 + 4 * 8192 + 1024,
     .tile_rows = 128,
     .tile_columns = 256,
     .groups_a_unit = 1,
     .maps = true},
    {.name = "mma.sync",
     .prefix = "s80",
     .architectures = " sm_8 sm_9 sm_10 sm_11 sm_12 ",
     .source = GPU_SOURCE_peak_sm80,
     .items = 256,
     .local_bytes = 3 * 2 * 8192,
     .tile_rows = 128,
     .tile_columns = 128,
     .groups_a_unit = 1},
    {.name = "MFMA",
     .prefix = "cdna",
     .architectures = " gfx90a gfx942 gfx950 ",
     .source = GPU_SOURCE_peak_cdna,
     .items = 256,
     .tile_rows = 128,
     .tile_columns = 128,
     .groups_a_unit = 1},
};

/* One of the words of `beginnings` is how the name begins. */
static bool begins_as(const char *beginnings, const char *name)
{
    for (const char *at = beginnings + 1; *at; at += strcspn(at, " ") + 1)
        if (strncmp(at, name, strcspn(at, " ")) == 0)
            return true;
    return false;
}

const struct engine *engine_next(const struct engine *engine, const char *architecture)
{
    const struct engine *end = engines + sizeof engines / sizeof *engines;
    for (const struct engine *e = engine ? engine + 1 : engines; e < end; e++)
        if (begins_as(e->architectures, architecture))
            return e;
    return NULL;
}

/* ---- which products ---- */

static bool is_whole(const struct gpu_view *view, uint64_t width)
{
    return view->format == FORMAT_BF16 && width % 8 == 0 && width > 0 && view->rows > 0 &&
           view->offset % 16 == 0;
}

static bool is_result(const struct gpu_view *view)
{
    return (view->format == FORMAT_BF16 || view->format == FORMAT_F32) &&
           view->offset % 16 == 0;
}

/* Of a weight: elements of a row of its matrix. */
static uint64_t matrix_width(const struct gpu_view *view)
{
    return view->dims[view->n_dims == 2 ? 1 : 2];
}

/* Which of a call's views is the result, and what a gated product keeps. */
enum { KEPT = 7 };

static unsigned result_number(enum engine_kind kind)
{
    return kind == ENGINE_WGRAD ? 5 : 6;
}

const char *engine_kind_name(enum engine_kind kind)
{
    static const char *const names[ENGINE_KINDS] = {"gemm", "turned", "wgrad", "gated"};
    return names[kind];
}

bool engine_knows(enum kernel kernel)
{
    return kernel_is_product(kernel) || kernel == KERNEL_CHUNK_GEMM || kernel == KERNEL_WGRAD;
}

static enum engine_kind kind_of(enum kernel kernel, const struct gpu_call *call)
{
    if (kernel == KERNEL_WGRAD)
        return ENGINE_WGRAD;
    if (kernel == KERNEL_GATED_GEMM)
        return ENGINE_GATED;
    return call->args.gemm.transposed ? ENGINE_TURNED : ENGINE_GEMM;
}

/* An up for every gate, and both in the format of the result. */
static bool is_gated(const struct gpu_call *call)
{
    const struct gpu_view *kept = &call->view[KEPT], *result = &call->view[6];
    return matrix_width(&call->view[1]) == 2 * result->width && result->format == FORMAT_BF16 &&
           (!kept->present || is_whole(kept, kept->width));
}

bool engine_takes(enum kernel kernel, const struct gpu_call *call, enum engine_kind *kind)
{
    const struct gpu_view *src = &call->view[0], *other = &call->view[1];
    bool wgrad = kernel == KERNEL_WGRAD;
    if (!engine_knows(kernel))
        return false;
    *kind = kind_of(kernel, call);
    if (*kind == ENGINE_GATED && !is_gated(call))
        return false;
    if (wgrad && call->view[6].present)
        return false; /* a bias has its gradient in the portable kernel alone */
    const struct gpu_view *result = &call->view[result_number(*kind)];
    uint64_t width = wgrad ? other->width : matrix_width(other);
    return is_whole(src, src->width) && is_whole(other, width) && is_result(result) &&
           (wgrad || result->width % 8 == 0);
}

uint64_t engine_groups(const struct engine *engine, enum engine_kind kind,
                       const struct gpu_call *call, uint64_t units)
{
    bool wgrad = kind == ENGINE_WGRAD;
    uint64_t n = call->view[2].present ? call->view[2].rows - 1 : call->args.gemm.rows.groups.n;
    n = n ? n : 1;
    uint64_t rows = call->view[0].rows,
             columns = wgrad ? call->view[1].width : call->view[6].width;
    uint64_t down = wgrad ? ceil_div(call->view[0].width, engine->tile_rows) * n
                    : call->args.gemm.rows.shared ? ceil_div(rows, engine->tile_rows) * n
                                                  : ceil_div(rows, engine->tile_rows) + n;
    uint64_t across = kind == ENGINE_GATED ? engine->tile_columns / 2 : engine->tile_columns;
    uint64_t tiles = down * ceil_div(columns, across);
    uint64_t stay = units * engine->groups_a_unit;
    return stay && stay < tiles ? stay : tiles;
}

bool engine_maps(const struct gpu_call *call, enum engine_kind kind, unsigned operand)
{
    if (operand == ENGINE_KEPT)
        return kind == ENGINE_GATED && call->view[KEPT].present;
    return operand != ENGINE_RESULT || call->view[result_number(kind)].format == FORMAT_BF16;
}

struct gpu_matrix engine_matrix(const struct gpu_call *call, enum engine_kind kind,
                                unsigned operand, const uint64_t *memory)
{
    bool wgrad = kind == ENGINE_WGRAD, result = operand >= ENGINE_RESULT;
    unsigned number = operand == ENGINE_KEPT ? KEPT : result ? result_number(kind) : operand;
    const struct gpu_view *view = &call->view[number];
    bool weight = wgrad ? result : operand == 1, many = weight && view->n_dims > 2;
    uint64_t columns = weight ? matrix_width(view) : view->width;
    bool across = operand == 0 ? kind != ENGINE_WGRAD : kind == ENGINE_TURNED;
    return (struct gpu_matrix){.memory = memory[number] + view->offset,
                               .columns = columns,
                               .rows = many ? view->dims[1] : view->rows,
                               .matrices = many ? view->rows : 1,
                               .box_rows = result || !across ? 64
                                           : operand == 0    ? 128
                                                             : 256};
}
