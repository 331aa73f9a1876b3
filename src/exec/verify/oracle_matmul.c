/* See oracle_matmul.h. */
#include "exec/verify/oracle_matmul.h"

#include "base/checked.h"
#include "exec/kernels/format.h"
#include "exec/verify/oracle_expert.h"
#include "plan/derive.h"

/* Columns first .. first + width - 1 of one matrix [rows, .]. */
struct factor {
    enum fill role;
    uint64_t rows, first, width;
};

uint64_t oracle_matmul_columns(const struct plan *plan)
{
    bool scatters =
        plan->block.kind == BLOCK_REDUCE_SCATTER_MATMUL || plan->block.kind == BLOCK_MLP;
    return scatters ? plan->model.hidden : plan->model.dense_intermediate;
}

double oracle_matmul_flop(const struct oracle_matmul *o)
{
    double t = (double)plan_tokens(o->plan), h = (double)o->plan->model.hidden,
           f = (double)o->plan->model.dense_intermediate, width = (double)o->width;
    if (o->plan->block.kind == BLOCK_MLP)
        return 2 * t * f * (h + width);
    return 2 * t * width * (o->plan->block.kind == BLOCK_REDUCE_SCATTER_MATMUL ? f : h);
}

/* A row of an operand as its format holds it; `piece` is scratch. */
static void load_row(const struct oracle_matmul *o, enum fill role, uint64_t row,
                     uint64_t first, uint64_t n, float *piece, double *out)
{
    enum dtype dtype =
        role == FILL_X ? o->plan->precision.activations : o->plan->precision.weights;
    o->inputs->row(o->inputs, role, 0, row, first, n, piece);
    for (uint64_t i = 0; i < n; i++)
        out[i] = (double)format_round(dtype, piece[i]);
}

/* x[n, factor->rows] times the factor */
static double *multiply(const struct oracle_matmul *o, const double *x, uint64_t n,
                        const struct factor *factor, struct arena *arena)
{
    double *out = arena_alloc(arena, n * factor->width, sizeof *out);
    double *w = arena_alloc(arena, factor->width, sizeof *w);
    float *piece = arena_alloc(arena, factor->width, sizeof *piece);
    for (uint64_t k = 0; k < factor->rows; k++) {
        load_row(o, factor->role, k, factor->first, factor->width, piece, w);
        for (uint64_t i = 0; i < n; i++) {
            double a = x[i * factor->rows + k];
            for (uint64_t c = 0; c < factor->width; c++)
                out[i * factor->width + c] += a * w[c];
        }
    }
    return out;
}

static double *load_tokens(const struct oracle_matmul *o, uint64_t n, uint64_t width,
                           struct arena *arena)
{
    double *x = arena_alloc(arena, n * width, sizeof *x);
    float *piece = arena_alloc(arena, width, sizeof *piece);
    for (uint64_t i = 0; i < n; i++)
        load_row(o, FILL_X, i * o->stride, 0, width, piece, x + i * width);
    return x;
}

double *oracle_matmul_compute(const struct oracle_matmul *o, struct arena *arena)
{
    uint64_t n = ceil_div(plan_tokens(o->plan), o->stride), h = o->plan->model.hidden,
             f = o->plan->model.dense_intermediate;
    struct factor in = {FILL_W13, h, o->first, o->width},
                  out = {FILL_W2, f, o->first, o->width};
    if (o->plan->block.kind == BLOCK_REDUCE_SCATTER_MATMUL)
        return multiply(o, load_tokens(o, n, f, arena), n, &out, arena);
    double *x = load_tokens(o, n, h, arena);
    if (o->plan->block.kind != BLOCK_MLP)
        return multiply(o, x, n, &in, arena);
    struct factor all = {FILL_W13, h, 0, f};
    double *a = multiply(o, x, n, &all, arena);
    for (uint64_t i = 0; i < n * f; i++)
        a[i] = o->inputs->linear ? (a[i] > 0 ? a[i] : 0) : oracle_gelu(a[i]);
    return multiply(o, a, n, &out, arena);
}
