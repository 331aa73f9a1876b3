/* See oracle_matmul.h. */
#include "exec/verify/oracle_matmul.h"

#include "base/checked.h"
#include "exec/kernels/format.h"
#include "exec/verify/oracle_expert.h"
#include "exec/verify/oracle_matrix.h"
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

/* Rows and the squares of them (oracle.h). */
struct rows {
    double *is, *squares;
};

static struct rows rows_alloc(uint64_t n, struct arena *arena)
{
    return (struct rows){arena_alloc(arena, n, sizeof(double)),
                         arena_alloc(arena, n, sizeof(double))};
}

/* x[n, factor->rows] times the factor */
static struct rows multiply(const struct oracle_matmul *o, const struct rows *x, uint64_t n,
                            const struct factor *factor, struct arena *arena)
{
    uint64_t width = factor->width;
    struct rows out = rows_alloc(n * width, arena);
    double *w = arena_alloc(arena, width, sizeof *w);
    float *piece = arena_alloc(arena, width, sizeof *piece);
    for (uint64_t k = 0; k < factor->rows; k++) {
        load_row(o, factor->role, k, factor->first, width, piece, w);
        for (uint64_t i = 0; i < n; i++) {
            double a = x->is[i * factor->rows + k], a2 = x->squares[i * factor->rows + k];
            for (uint64_t c = 0; c < width; c++) {
                out.is[i * width + c] += a * w[c];
                out.squares[i * width + c] += a2 * w[c] * w[c];
            }
        }
    }
    oracle_squares_least(out.squares, out.is, n * width, o->least);
    return out;
}

static struct rows load_tokens(const struct oracle_matmul *o, uint64_t n, uint64_t width,
                               struct arena *arena)
{
    struct rows x = rows_alloc(n * width, arena);
    float *piece = arena_alloc(arena, width, sizeof *piece);
    for (uint64_t i = 0; i < n; i++)
        load_row(o, FILL_X, i * o->stride, 0, width, piece, x.is + i * width);
    oracle_squares_of(x.is, n * width, x.squares);
    return x;
}

/* In place. Its slope is at most 1.13. */
static void activate(const struct oracle_matmul *o, uint64_t n, struct rows *a)
{
    for (uint64_t i = 0; i < n; i++)
        a->is[i] = o->inputs->linear ? (a->is[i] > 0 ? a->is[i] : 0) : oracle_gelu(a->is[i]);
}

static struct rows compute(const struct oracle_matmul *o, struct arena *arena)
{
    uint64_t n = ceil_div(plan_tokens(o->plan), o->stride), h = o->plan->model.hidden,
             f = o->plan->model.dense_intermediate;
    struct factor in = {FILL_W13, h, o->first, o->width},
                  out = {FILL_W2, f, o->first, o->width}, all = {FILL_W13, h, 0, f};
    bool scatters = o->plan->block.kind == BLOCK_REDUCE_SCATTER_MATMUL;
    struct rows x = load_tokens(o, n, scatters ? f : h, arena);
    if (o->plan->block.kind != BLOCK_MLP)
        return multiply(o, &x, n, scatters ? &out : &in, arena);
    struct rows a = multiply(o, &x, n, &all, arena);
    activate(o, n * f, &a);
    return multiply(o, &a, n, &out, arena);
}

double *oracle_matmul_compute(const struct oracle_matmul *o, struct arena *arena,
                              double **squares)
{
    struct rows rows = compute(o, arena);
    *squares = rows.squares;
    return rows.is;
}
