/* See recipe.h. */
#include "work/piece/recipe.h"

#include "work/piece/matrix.h"

/* A copy's scales: [ceil(m / down) rounded up to `high`, ceil(k / across) rounded up to
 * `wide`] of `bytes` each; a copy by columns is the same of the transposed matrix. */
struct scaling {
    uint64_t down, high, across, wide, bytes;
};

static struct size scale_bytes(struct sizes *z, struct scaling s, struct size m, struct size k)
{
    struct size rows = size_ceil_div(z, m, size_const(z, s.down));
    struct size columns = size_ceil_div(z, k, size_const(z, s.across));
    rows = size_round_up(z, rows, size_const(z, s.high));
    columns = size_round_up(z, columns, size_const(z, s.wide));
    return size_times(z, size_mul(z, rows, columns), s.bytes);
}

/* Of weights: f32 per 128 x 128, E8M0 per 32, E4M3 per 16; nothing that counts per tensor. */
static const struct scaling weight_scales[DTYPE_COUNT] = {
    [DTYPE_FP8_BLOCK] = {128, 1, 128, 4, 4},
    [DTYPE_MXFP8] = {1, 128, 32, 4, 1},
    [DTYPE_NVFP4] = {1, 128, 16, 4, 1},
};

static struct size data_bytes(struct sizes *z, enum dtype format, struct size m, struct size k)
{
    struct size elements = size_mul(z, m, k);
    return format == DTYPE_NVFP4 ? size_ceil_div(z, elements, size_const(z, 2)) : elements;
}

/* By columns mxfp8 scales 32 rows at once without transposing; the others store the transpose.
 */
static struct size column_scales(struct sizes *z, enum dtype format, struct size m,
                                 struct size k)
{
    static const struct scaling mxfp8 = {32, 4, 1, 128, 1};
    if (!weight_scales[format].bytes)
        return size_const(z, 0);
    if (format == DTYPE_MXFP8)
        return scale_bytes(z, mxfp8, m, k);
    return scale_bytes(z, weight_scales[format], k, m);
}

struct size recipe_matrix_bytes(const struct plan *plan, struct sizes *z, struct size out,
                                struct size in)
{
    enum dtype format = recipe_format(plan);
    struct size data = data_bytes(z, format, out, in);
    if (!weight_scales[format].bytes)
        return size_times(
            z, data,
            plan->cluster.device.fp8_transpose && !recipe_keeps_transposes(plan) ? 2 : 1);
    struct size scales = size_add(z, scale_bytes(z, weight_scales[format], out, in),
                                  column_scales(z, format, out, in));
    return size_add(z, size_times(z, data, 2), scales);
}

/* Inputs are scaled per 128 elements of a column where weights are per block; over experts the
 * rows count as one matrix, so the padding between experts is left out. */
struct size recipe_input_bytes(const struct plan *plan, struct sizes *z, struct size rows,
                               struct size width)
{
    enum dtype format = recipe_format(plan);
    struct size data = data_bytes(z, format, rows, width);
    static const struct scaling per_128 = {1, 1, 128, 4, 4};
    if (format == DTYPE_FP8_BLOCK)
        return size_add(z, data, scale_bytes(z, per_128, width, rows));
    return size_add(z, data, column_scales(z, format, rows, width));
}

struct recipe_sum recipe_matrices(const struct plan *plan, struct sizes *z)
{
    struct dims d;
    struct matrix_walk walk = {0};
    struct size zero = size_const(z, 0);
    struct recipe_sum sum = {{zero, zero}, {zero, zero}};
    dims_fill(&d, plan, z);
    while (matrix_next(&walk, &d)) {
        const struct layer_matrix *m = walk.matrix;
        struct size layers = walk.layers;
        if (m->op == MODULE_ROUTER || m->wide)
            continue;
        if (recipe_skips(plan))
            layers = size_sub(z, layers, matrix_layers_by(&walk, d, slot_kind_plain));
        struct size copies = m->expert ? size_mul(z, layers, d.letters.local) : layers;
        struct size out = d.width[m->out], in = d.width[m->in];
        unsigned part = m->expert;
        sum.bytes[part] = size_add(z, sum.bytes[part],
                                   size_mul(z, copies, recipe_matrix_bytes(plan, z, out, in)));
        sum.elements[part] =
            size_add(z, sum.elements[part], size_product(z, SIZES(copies, out, in)));
    }
    return sum;
}
