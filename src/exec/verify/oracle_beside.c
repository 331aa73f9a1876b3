/* See oracle_beside.h. */
#include "exec/verify/oracle_beside.h"

#include <math.h>

#include "exec/verify/oracle_expert.h"
#include "plan/derive.h"

/* Sums over the tokens of a rank, and their squares; NULL: not wanted. */
struct sums {
    double *d13, *d2, *dgate;
    double *d13_squares, *d2_squares, *dgate_square;
};

struct beside {
    struct oracle *o;
    const struct oracle_tokens *tokens;
    struct oracle_expert expert;
    struct oracle_row row;
    double *gate;     /* [H]: the output is multiplied by sigmoid(x gate); NULL: by 1 */
    struct sums sums; /* of the first rank */
};

/* The gate of the token at hand. */
struct sigmoid {
    double is, slope, logit_square;
};

static double square(double x)
{
    return x * x;
}

static struct sigmoid sigmoid_of(const struct beside *b)
{
    if (!b->gate)
        return (struct sigmoid){.is = 1};
    struct sigmoid s = {.logit_square = 0};
    double logit = oracle_dot(b->row.x, b->gate, b->o->H);
    for (uint64_t h = 0; h < b->o->H; h++)
        s.logit_square += square(b->row.x[h] * b->gate[h]);
    s.is = 1 / (1 + exp(-logit));
    s.slope = exp(-logit) * square(s.is);
    return s;
}

static double gate_square(const struct sigmoid *s)
{
    return square(s->is) + square(s->slope) * s->logit_square;
}

/* The gradient of the gate's logit, y dy times its slope, and the square of it. */
struct logit {
    double is, square;
};

static struct logit logit_of(const struct beside *b, const struct sigmoid *s)
{
    const struct oracle_row *row = &b->row, *of = row->squares;
    double dgate = oracle_dot(row->y, row->dy, b->o->H);
    struct logit logit = {.is = dgate * s->slope};
    if (of)
        logit.square = square(s->slope) * (oracle_dot(of->y, of->dy, b->o->H) +
                                           square(dgate) * (1 + s->logit_square));
    return logit;
}

/* Adds what token n and the gradient of its gate's logit make of the inputs and the gate. */
static void add_gate(struct beside *b, uint64_t n, const struct sums *sums,
                     const struct logit *logit)
{
    struct oracle *o = b->o;
    if (!b->gate)
        return;
    oracle_add(o->dx + n * o->H, b->gate, o->H, logit->is);
    for (uint64_t h = 0; o->squares.dx && h < o->H; h++)
        o->squares.dx[n * o->H + h] += logit->square * square(b->gate[h]);
    if (!sums->dgate)
        return;
    oracle_add(sums->dgate, b->row.x, o->H, logit->is);
    if (sums->dgate_square)
        oracle_outer_squares(b->row.squares->x, o->H, &logit->square, 1, 1, sums->dgate_square);
}

static void add_matrices(struct beside *b, const struct sums *sums)
{
    const struct oracle_row *row = &b->row, *of = row->squares;
    uint64_t H = b->o->H, columns = b->expert.w13.columns, inter = b->expert.w2.rows;
    if (!sums->d13)
        return;
    oracle_outer(row->x, H, row->dh, columns, 1,
                 (struct oracle_kept){0, b->o->setup.gradient_stride, sums->d13});
    oracle_outer(row->a, inter, row->dy, H, 1,
                 (struct oracle_kept){0, b->o->setup.gradient_stride, sums->d2});
    if (!of)
        return;
    oracle_outer_squares(of->x, H, of->dh, columns, 1, sums->d13_squares);
    oracle_outer_squares(of->dy, H, of->a, inter, 1, sums->d2_squares);
}

static void backward(struct beside *b, uint64_t rank, uint64_t t, const struct sums *sums,
                     const struct sigmoid *s)
{
    struct oracle *o = b->o;
    struct oracle_row *row = &b->row, *of = row->squares;
    uint64_t n = oracle_number(o, rank, t);
    b->tokens->load(b->tokens->context, FILL_DOUT, rank, t, row->dy);
    if (of)
        oracle_squares_of(row->dy, o->H, of->dy);
    struct logit logit = logit_of(b, s);
    for (uint64_t h = 0; h < o->H; h++)
        row->dy[h] *= s->is;
    for (uint64_t h = 0; of && h < o->H; h++)
        of->dy[h] *= gate_square(s);
    oracle_row_backward(&b->expert, row);
    oracle_add(o->dx + n * o->H, row->dx, o->H, 1);
    if (of)
        oracle_add(o->squares.dx + n * o->H, of->dx, o->H, 1);
    add_gate(b, n, sums, &logit);
    add_matrices(b, sums);
}

static void token_through(struct beside *b, uint64_t rank, uint64_t t, const struct sums *sums)
{
    struct oracle *o = b->o;
    struct oracle_row *row = &b->row, *of = row->squares;
    uint64_t n = oracle_number(o, rank, t);
    b->tokens->load(b->tokens->context, FILL_X, rank, t, row->x);
    if (of)
        oracle_squares_of(row->x, o->H, of->x);
    oracle_row_forward(&b->expert, row);
    struct sigmoid s = sigmoid_of(b);
    oracle_add(o->out + n * o->H, row->y, o->H, s.is);
    if (of)
        oracle_add(o->squares.out + n * o->H, of->y, o->H, gate_square(&s));
    if (o->setup.backward)
        backward(b, rank, t, sums, &s);
}

/* Those of the i-th rank. */
static double *part(double *all, uint64_t i, uint64_t each)
{
    return all ? all + i * each : NULL;
}

static struct sums sums_of(const struct beside *b, uint64_t i)
{
    uint64_t H = b->o->H, columns = b->expert.w13.columns, inter = b->expert.w2.rows;
    return (struct sums){.d13 = part(b->sums.d13, i, oracle_kept_rows(b->o, H) * columns),
                         .d2 = part(b->sums.d2, i, oracle_kept_rows(b->o, inter) * H),
                         .dgate = part(b->sums.dgate, i, H),
                         .d13_squares = part(b->sums.d13_squares, i, columns),
                         .d2_squares = part(b->sums.d2_squares, i, inter),
                         .dgate_square = part(b->sums.dgate_square, i, 1)};
}

static void make_sums(struct beside *b, struct arena *arena)
{
    uint64_t R = b->o->setup.n_ranks, H = b->o->H;
    uint64_t columns = b->expert.w13.columns, inter = b->expert.w2.rows;
    if (!b->o->dw13)
        return;
    b->sums.d13 = arena_alloc(arena, R * oracle_kept_rows(b->o, H) * columns, sizeof(double));
    b->sums.d2 = arena_alloc(arena, R * oracle_kept_rows(b->o, inter) * H, sizeof(double));
    if (b->gate)
        b->sums.dgate = arena_alloc(arena, R * H, sizeof(double));
    if (b->o->setup.exact)
        return;
    b->sums.d13_squares = arena_alloc(arena, R * columns, sizeof(double));
    b->sums.d2_squares = arena_alloc(arena, R * inter, sizeof(double));
    if (b->gate)
        b->sums.dgate_square = arena_alloc(arena, R, sizeof(double));
}

/* All checked tokens of this process through a network of width `inter`. */
static struct sums through(struct beside *b, uint64_t inter, enum fill fill13, enum fill fill2,
                           struct arena *arena)
{
    struct oracle *o = b->o;
    oracle_expert_init(&b->expert, &o->setup, o->H, inter, arena);
    oracle_row_init(&b->row, &b->expert, arena);
    oracle_expert_load_beside(&b->expert, fill13, fill2);
    make_sums(b, arena);
    for (uint64_t i = 0; i < o->setup.n_ranks; i++) {
        struct sums sums = sums_of(b, i);
        for (uint64_t t = 0; t < o->setup.sample->T; t += o->setup.stride)
            token_through(b, o->setup.first_rank + i, t, &sums);
    }
    return b->sums;
}

static double *load_gate(const struct oracle *o, struct arena *arena)
{
    const struct inputs *inputs = o->setup.inputs;
    double *gate = arena_alloc(arena, o->H, sizeof *gate);
    for (uint64_t h = 0; h < o->H; h++) {
        float value;
        inputs->row(inputs, FILL_SHARED_GATE, 0, h, 0, 1, &value);
        gate[h] = (double)value;
    }
    return gate;
}

void oracle_beside(struct oracle *o, const struct oracle_tokens *tokens, struct arena *arena)
{
    const struct plan *plan = o->setup.plan;
    uint64_t shared_width = plan_shared_width(plan), width = plan_residual_width(plan);
    struct beside shared = {.o = o, .tokens = tokens}, residual = shared;
    struct sums sums;
    if (shared_width && plan->model.moe.shared_gate)
        shared.gate = load_gate(o, arena);
    if (shared_width) {
        sums = through(&shared, shared_width, FILL_SHARED_13, FILL_SHARED_2, arena);
        o->dshared13 = sums.d13;
        o->dshared2 = sums.d2;
        o->dshared_gate = sums.dgate;
        o->squares.dshared13 = sums.d13_squares;
        o->squares.dshared2 = sums.d2_squares;
        o->squares.dshared_gate = sums.dgate_square;
    }
    if (width) {
        sums = through(&residual, width, FILL_RESIDUAL_13, FILL_RESIDUAL_2, arena);
        o->dresidual13 = sums.d13;
        o->dresidual2 = sums.d2;
        o->squares.dresidual13 = sums.d13_squares;
        o->squares.dresidual2 = sums.d2_squares;
    }
}
