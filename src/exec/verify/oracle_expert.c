/* Expert rows in f64; see oracle_expert.h. */
#include "exec/verify/oracle_expert.h"

#include <math.h>

static void load_bias(float *bias, uint64_t n, const struct oracle_setup *setup, enum fill fill,
                      uint64_t number)
{
    if (bias)
        setup->inputs->row(setup->inputs, fill, number, 0, 0, n, bias);
}

void oracle_expert_init(struct oracle_expert *expert, const struct oracle_setup *setup,
                        uint64_t width, uint64_t inter, struct arena *arena)
{
    const struct model *model = &setup->plan->model;
    uint64_t wide = model->moe.glu ? 2 * inter : inter;
    bool picked = setup->inputs->picked;
    *expert = (struct oracle_expert){.setup = setup,
                                     .w13 = oracle_matrix_make(width, wide, picked, arena),
                                     .w2 = oracle_matrix_make(inter, width, picked, arena)};
    if (!model->moe.bias)
        return;
    expert->b13 = arena_alloc(arena, wide, sizeof *expert->b13);
    expert->b2 = arena_alloc(arena, width, sizeof *expert->b2);
}

void oracle_expert_load(struct oracle_expert *expert, uint64_t number)
{
    const struct oracle_setup *setup = expert->setup;
    oracle_matrix_load(&expert->w13, setup, FILL_W13, number);
    oracle_matrix_load(&expert->w2, setup, FILL_W2, number);
    load_bias(expert->b13, expert->w13.columns, setup, FILL_B13, number);
    load_bias(expert->b2, expert->w2.columns, setup, FILL_B2, number);
}

void oracle_expert_load_beside(struct oracle_expert *expert, enum fill fill13, enum fill fill2)
{
    oracle_matrix_load(&expert->w13, expert->setup, fill13, 0);
    oracle_matrix_load(&expert->w2, expert->setup, fill2, 0);
    expert->b13 = expert->b2 = NULL;
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

/* How far the slopes are from a jump. */
static double gate_jump(enum activation kind, double x)
{
    return kind == ACTIVATION_RELU         ? fabs(x)
           : kind == ACTIVATION_SWIGLU_OAI ? fabs(7 - x)
                                           : HUGE_VAL;
}

static double up_jump(enum activation kind, double up)
{
    return kind == ACTIVATION_SWIGLU_OAI ? fabs(7 - fabs(up)) : HUGE_VAL;
}

static double gate_bend(enum activation kind, double x)
{
    const double step = 1e-4;
    if (kind == ACTIVATION_RELU)
        return 0;
    return (gate_slope(kind, x + step) - gate_slope(kind, x - step)) / (2 * step);
}

static enum activation kind_of(const struct oracle_expert *expert)
{
    return expert->setup->inputs->linear ? ACTIVATION_RELU
                                         : expert->setup->plan->model.moe.activation;
}

/* ---- rows ---- */

static void set_row(struct oracle_row *row, const struct oracle_expert *expert,
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

void oracle_row_init(struct oracle_row *row, const struct oracle_expert *expert,
                     struct arena *arena)
{
    set_row(row, expert, arena);
    if (expert->setup->exact)
        return;
    row->squares = arena_alloc(arena, 1, sizeof *row->squares);
    set_row(row->squares, expert, arena);
}

static double square(double x)
{
    return x * x;
}

/* Of h, a and y, from those of x: an activation's errors are its arguments' times its slopes,
 * and that of storing it. */
static void forward_squares(const struct oracle_expert *expert, struct oracle_row *row)
{
    struct oracle_row *of = row->squares;
    enum activation kind = kind_of(expert);
    uint64_t I = expert->w2.rows;
    bool glu = expert->w13.columns > I;
    double least = expert->setup->least;
    oracle_times_squares(&expert->w13, least, of->x, row->h, of->h);
    for (uint64_t c = 0; expert->b13 && c < expert->w13.columns; c++)
        of->h[c] += square((double)expert->b13[c]);
    for (uint64_t i = 0; i < I; i++) {
        double h = row->h[i], up = glu ? row->h[I + i] : 0;
        of->a[i] = of->h[i] * square(gate_slope(kind, h) * (glu ? up_value(kind, up) : 1));
        if (glu)
            of->a[i] += of->h[I + i] * square(gate_value(kind, h) * up_slope(kind, up));
        of->a[i] = fmax(of->a[i], fmax(square(row->a[i]), least));
    }
    oracle_times_squares(&expert->w2, least, of->a, row->y, of->y);
    for (uint64_t c = 0; expert->b2 && c < expert->w2.columns; c++)
        of->y[c] += square((double)expert->b2[c]);
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
    if (row->squares)
        forward_squares(expert, row);
}

/* What a slope that jumps within the error of its argument adds: all of what it multiplies,
 * either way, by which elements several times the rms of their row may be multiplied. */
static double jump(const struct oracle_setup *setup, double distance, double argument2)
{
    double tolerance = setup->tolerance;
    return distance < tolerance * sqrt(argument2) ? square(4 / tolerance) : 0;
}

/* Of da, dh and dx, from those of dy and of the way forward. */
static void backward_squares(const struct oracle_expert *expert, struct oracle_row *row)
{
    const struct oracle_setup *setup = expert->setup;
    struct oracle_row *of = row->squares;
    enum activation kind = kind_of(expert);
    uint64_t I = expert->w2.rows;
    bool glu = expert->w13.columns > I;
    oracle_times_column_squares(&expert->w2, setup->least, of->dy, row->da, of->da);
    for (uint64_t i = 0; i < I; i++) {
        double h = row->h[i], h2 = of->h[i], up = glu ? row->h[I + i] : 0,
               up2 = glu ? of->h[I + i] : 0, value = glu ? up_value(kind, up) : 1;
        double slope = square(gate_slope(kind, h)) + h2 * square(gate_bend(kind, h)) +
                       jump(setup, gate_jump(kind, h), h2);
        double by_up = square(gate_slope(kind, h) * up_slope(kind, up)) * up2;
        of->dh[i] = fmax(of->da[i] * (slope * square(value) + by_up), setup->least);
        if (!glu)
            continue;
        double of_up = square(up_slope(kind, up)) + jump(setup, up_jump(kind, up), up2);
        double gate = square(gate_value(kind, h)) + square(gate_slope(kind, h)) * h2;
        of->dh[I + i] = fmax(of->da[i] * gate * of_up, setup->least);
    }
    oracle_times_column_squares(&expert->w13, setup->least, of->dh, row->dx, of->dx);
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
    if (row->squares)
        backward_squares(expert, row);
}

void oracle_add_weight_gradients(struct oracle *o, uint64_t number,
                                 const struct oracle_row *row, double n)
{
    const struct oracle_row *of = row->squares;
    uint64_t e = o->setup.sample->local, local = number / e, expert = number % e;
    struct oracle_kept kept13 = oracle_kept(o, o->dw13, e * o->W, o->GI, local),
                       kept2 = oracle_kept(o, o->dw2, e * o->I, o->W, local);
    kept13.first = expert * o->W;
    kept2.first = expert * o->I;
    oracle_outer(row->x, o->W, row->dh, o->GI, n, kept13);
    oracle_outer(row->a, o->I, row->dy, o->W, n, kept2);
    oracle_add(o->db13 + number * o->GI, row->dh, o->GI, n);
    oracle_add(o->db2 + number * o->W, row->dy, o->W, n);
    if (!of)
        return;
    oracle_outer_squares(of->x, o->W, of->dh, o->GI, n, o->squares.dw13 + number * o->GI);
    oracle_outer_squares(of->dy, o->W, of->a, o->I, n, o->squares.dw2 + number * o->I);
    oracle_add(o->squares.db13 + number * o->GI, of->dh, o->GI, n * n);
    oracle_add(o->squares.db2 + number * o->W, of->dy, o->W, n * n);
}
