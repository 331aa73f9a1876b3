/* Expert rows in f64; see oracle_expert.h. */
#include "exec/verify/oracle_expert.h"

#include <math.h>
#include <string.h>

#include "exec/kernels/format.h"
#include "work/list/dtype.h"

/* ---- matrices ---- */

struct origin {
    const struct inputs *inputs;
    enum fill fill;
    uint64_t number;
};

static void origin_column(const void *context, uint64_t c, uint64_t r0, uint64_t n, float *out)
{
    const struct origin *from = context;
    from->inputs->column(from->inputs, from->fill, from->number, c, r0, n, out);
}

static void load_quantised(struct oracle_matrix *m, enum dtype dtype, const struct origin *from)
{
    struct arena own = {0};
    uint64_t panel = m->rows > 128 * 128 ? m->rows : 128 * 128;
    unsigned char *bytes = arena_alloc(&own, dtype_matrix_bytes(dtype, m->rows, m->columns), 1);
    float *scratch = arena_alloc(&own, panel, sizeof *scratch);
    float *column = arena_alloc(&own, m->rows, sizeof *column);
    struct matrix_source source = {from, origin_column};
    format_encode_matrix(dtype, m->rows, m->columns, &source, scratch, bytes);
    for (uint64_t c = 0; c < m->columns; c++) {
        format_decode_columns(dtype, bytes, m->rows, m->columns, 0, m->rows, c, 1, column);
        if (m->pick)
            m->value[c] = column[m->pick[c]];
        for (uint64_t r = 0; !m->pick && r < m->rows; r++)
            m->value[r * m->columns + c] = column[r];
    }
    arena_release(&own);
}

static void load_plain(struct oracle_matrix *m, enum dtype dtype, const struct origin *from)
{
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        origin_column(from, c, m->pick[c], 1, &m->value[c]);
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        from->inputs->row(from->inputs, from->fill, from->number, r, 0, m->columns,
                          m->value + r * m->columns);
    format_round_all(dtype, m->pick ? m->columns : m->rows * m->columns, m->value);
}

static void load_matrix(struct oracle_matrix *m, const struct oracle_setup *setup,
                        enum fill fill, uint64_t number)
{
    struct origin from = {setup->inputs, fill, number};
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        m->pick[c] = inputs_pick(fill, number, c, m->rows);
    if (format_is_plain(setup->weight))
        load_plain(m, setup->weight, &from);
    else
        load_quantised(m, setup->weight, &from);
}

static void load_bias(float *bias, uint64_t n, const struct oracle_setup *setup, enum fill fill,
                      uint64_t number)
{
    if (bias)
        setup->inputs->row(setup->inputs, fill, number, 0, 0, n, bias);
}

static struct oracle_matrix make_matrix(uint64_t rows, uint64_t columns, bool picked,
                                        struct arena *arena)
{
    struct oracle_matrix m = {.rows = rows, .columns = columns};
    if (picked)
        m.pick = arena_alloc(arena, columns, sizeof *m.pick);
    m.value = arena_alloc(arena, picked ? columns : rows * columns, sizeof *m.value);
    return m;
}

void oracle_expert_init(struct oracle_expert *expert, const struct oracle_setup *setup,
                        uint64_t width, uint64_t inter, struct arena *arena)
{
    const struct model *model = &setup->plan->model;
    uint64_t wide = model->moe.glu ? 2 * inter : inter;
    bool picked = setup->inputs->picked;
    *expert = (struct oracle_expert){.setup = setup,
                                     .w13 = make_matrix(width, wide, picked, arena),
                                     .w2 = make_matrix(inter, width, picked, arena)};
    if (!model->moe.bias)
        return;
    expert->b13 = arena_alloc(arena, wide, sizeof *expert->b13);
    expert->b2 = arena_alloc(arena, width, sizeof *expert->b2);
}

void oracle_expert_load(struct oracle_expert *expert, uint64_t number)
{
    const struct oracle_setup *setup = expert->setup;
    load_matrix(&expert->w13, setup, FILL_W13, number);
    load_matrix(&expert->w2, setup, FILL_W2, number);
    load_bias(expert->b13, expert->w13.columns, setup, FILL_B13, number);
    load_bias(expert->b2, expert->w2.columns, setup, FILL_B2, number);
}

void oracle_expert_load_beside(struct oracle_expert *expert, enum fill fill13, enum fill fill2)
{
    load_matrix(&expert->w13, expert->setup, fill13, 0);
    load_matrix(&expert->w2, expert->setup, fill2, 0);
    expert->b13 = expert->b2 = NULL;
}

struct oracle_matrix oracle_matrix_of(const struct oracle_setup *setup, enum fill fill,
                                      uint64_t rows, uint64_t columns, struct arena *arena)
{
    struct oracle_matrix m = make_matrix(rows, columns, setup->inputs->picked, arena);
    load_matrix(&m, setup, fill, 0);
    return m;
}

/* y = x M */
void oracle_times(const struct oracle_matrix *m, const double *x, double *y)
{
    memset(y, 0, m->columns * sizeof *y);
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        y[c] = x[m->pick[c]] * (double)m->value[c];
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        for (uint64_t c = 0; c < m->columns; c++)
            y[c] += x[r] * (double)m->value[r * m->columns + c];
}

/* x = M y */
void oracle_times_column(const struct oracle_matrix *m, const double *y, double *x)
{
    memset(x, 0, m->rows * sizeof *x);
    for (uint64_t c = 0; m->pick && c < m->columns; c++)
        x[m->pick[c]] += y[c] * (double)m->value[c];
    for (uint64_t r = 0; !m->pick && r < m->rows; r++)
        for (uint64_t c = 0; c < m->columns; c++)
            x[r] += y[c] * (double)m->value[r * m->columns + c];
}

void oracle_add(double *sum, const double *values, uint64_t n, double factor)
{
    for (uint64_t i = 0; i < n; i++)
        sum[i] += factor * values[i];
}

double oracle_dot(const double *a, const double *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

double oracle_outer(const double *a, uint64_t n, const double *b, uint64_t m, double *sum)
{
    double of_a = 0, of_b = 0;
    for (uint64_t i = 0; i < n; i++) {
        of_a += a[i] * a[i];
        for (uint64_t j = 0; a[i] != 0 && j < m; j++)
            sum[i * m + j] += a[i] * b[j];
    }
    for (uint64_t j = 0; j < m; j++)
        of_b += b[j] * b[j];
    return of_a * of_b;
}

/* ---- activation, by definition ---- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

double oracle_gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static double gate_value(enum activation kind, double x)
{
    double low = x < 7 ? x : 7;
    switch (kind) {
    case ACTIVATION_SILU:
        return x * sigmoid(x);
    case ACTIVATION_GELU:
        return oracle_gelu(x);
    case ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ACTIVATION_SWIGLU_OAI:
        return low * sigmoid(1.702 * low);
    }
    return 0;
}

/* A central difference is enough for smooth curves and independent of the kernels' formulas. */
static double gate_slope(enum activation kind, double x)
{
    const double step = 1e-5;
    if (kind == ACTIVATION_RELU)
        return x > 0;
    return (gate_value(kind, x + step) - gate_value(kind, x - step)) / (2 * step);
}

static double up_value(enum activation kind, double up)
{
    if (kind != ACTIVATION_SWIGLU_OAI)
        return up;
    return (up > 7 ? 7 : up < -7 ? -7 : up) + 1;
}

static double up_slope(enum activation kind, double up)
{
    return kind == ACTIVATION_SWIGLU_OAI && fabs(up) >= 7 ? 0 : 1;
}

static enum activation kind_of(const struct oracle_expert *expert)
{
    return expert->setup->inputs->linear ? ACTIVATION_RELU
                                         : expert->setup->plan->model.moe.activation;
}

/* ---- rows ---- */

void oracle_row_init(struct oracle_row *row, const struct oracle_expert *expert,
                     struct arena *arena)
{
    uint64_t H = expert->w13.rows, GI = expert->w13.columns, I = expert->w2.rows;
    double *values = arena_alloc(arena, 4 * H + 2 * GI + 2 * I, sizeof *values);
    *row = (struct oracle_row){.x = values,
                               .y = values + H,
                               .dy = values + 2 * H,
                               .dx = values + 3 * H,
                               .h = values + 4 * H,
                               .dh = values + 4 * H + GI,
                               .a = values + 4 * H + 2 * GI,
                               .da = values + 4 * H + 2 * GI + I};
}

void oracle_row_forward(const struct oracle_expert *expert, struct oracle_row *row)
{
    enum activation kind = kind_of(expert);
    uint64_t I = expert->w2.rows;
    bool glu = expert->w13.columns > I;
    oracle_times(&expert->w13, row->x, row->h);
    for (uint64_t c = 0; expert->b13 && c < expert->w13.columns; c++)
        row->h[c] += (double)expert->b13[c];
    for (uint64_t i = 0; i < I; i++)
        row->a[i] = gate_value(kind, row->h[i]) * (glu ? up_value(kind, row->h[I + i]) : 1);
    oracle_times(&expert->w2, row->a, row->y);
    for (uint64_t c = 0; expert->b2 && c < expert->w2.columns; c++)
        row->y[c] += (double)expert->b2[c];
}

void oracle_row_backward(const struct oracle_expert *expert, struct oracle_row *row)
{
    enum activation kind = kind_of(expert);
    uint64_t I = expert->w2.rows;
    bool glu = expert->w13.columns > I;
    oracle_times_column(&expert->w2, row->dy, row->da);
    for (uint64_t i = 0; i < I; i++) {
        double up = glu ? row->h[I + i] : 0;
        row->dh[i] = row->da[i] * gate_slope(kind, row->h[i]) * (glu ? up_value(kind, up) : 1);
        if (glu)
            row->dh[I + i] = row->da[i] * gate_value(kind, row->h[i]) * up_slope(kind, up);
    }
    oracle_times_column(&expert->w13, row->dh, row->dx);
}
