/* See oracle_absent.h. */
#include "exec/verify/oracle_absent.h"

#include <math.h>
#include <string.h>

#include "exec/kernels/format.h"
#include "work/path/path.h"
/* ---- begin ---- */

/* How rows return by what crossed. */
static enum oracle_returns returns_of(enum path_exchange exchange)
{
    static const enum oracle_returns returns[] = {
        [EXCHANGE_ROWS] = RETURNS_SLOTS,        [EXCHANGE_TOKENS] = RETURNS_OWNERS,
        [EXCHANGE_MESSAGES] = RETURNS_SLOTS,    [EXCHANGE_CAPACITY] = RETURNS_SLOTS,
        [EXCHANGE_CHUNKS] = RETURNS_SLOTS,      [EXCHANGE_GATHER] = RETURNS_EVERYONE,
        [EXCHANGE_EVERYONE] = RETURNS_EVERYONE,
    };
    return returns[exchange];
}

static void expect(struct oracle_absent *a, enum absent_row which, uint64_t width,
                   uint64_t stride, struct arena *arena)
{
    uint64_t R = a->o->setup.sample->R;
    struct oracle_sent *sent = &a->o->sent[which];
    *sent = (struct oracle_sent){.width = width,
                                 .stride = stride,
                                 .sum = arena_alloc(arena, R * width, sizeof(double)),
                                 .rows = arena_alloc(arena, R, sizeof(uint64_t))};
    if (!a->o->setup.exact)
        sent->sizes = arena_alloc(arena, R * width, sizeof(double));
}

static void count_rows(struct oracle_absent *a)
{
    const struct layer_sample *s = a->o->setup.sample;
    for (uint64_t i = 0; i < s->R * s->T * s->K; i++) {
        uint64_t from = i / (s->T * s->K), expert = (uint64_t)s->phys[i];
        if (from != a->rank && expert / s->local == a->rank && !a->tokens.dropped[i])
            a->rows[(from * s->local + expert % s->local) * s->K + i % s->K]++;
    }
}

void oracle_absent_init(struct oracle_absent *a, struct oracle *o,
                        const struct oracle_tokens *tokens, struct arena *arena)
{
    const struct layer_sample *s = o->setup.sample;
    const struct path_system *path = path_system_of(o->setup.plan->moe.path);
    *a = (struct oracle_absent){.o = o,
                                .tokens = *tokens,
                                .returns = returns_of(path->exchange),
                                .gates_return = path->returns_gates,
                                .scales_input = o->setup.plan->model.moe.scale == GATE_PRE,
                                .rank = o->setup.first_rank,
                                .rows =
                                    arena_alloc(arena, s->R * s->local * s->K, sizeof *a->rows),
                                .outputs = arena_alloc(arena, s->R * o->W, sizeof *a->outputs),
                                .back = arena_alloc(arena, s->R * o->W, sizeof *a->back),
                                .x = arena_alloc(arena, o->W, sizeof *a->x),
                                .sent = arena_alloc(arena, o->W, sizeof *a->sent),
                                .dout = arena_alloc(arena, o->W, sizeof *a->dout),
                                .x2 = arena_alloc(arena, o->W, sizeof *a->x2),
                                .sent2 = arena_alloc(arena, o->W, sizeof *a->sent2),
                                .dout2 = arena_alloc(arena, o->W, sizeof *a->dout2),
                                .values = arena_alloc(arena, o->W, sizeof *a->values)};
    for (uint64_t p = 0; p < s->R; p++) {
        inputs_absent(o->setup.inputs, ABSENT_OUTPUTS, p, o->W, a->outputs + p * o->W);
        inputs_absent(o->setup.inputs, ABSENT_X_GRADIENTS, p, o->W, a->back + p * o->W);
    }
    count_rows(a);
    expect(a, ABSENT_TOKENS, o->W, 1, arena);
    expect(a, ABSENT_OUTPUTS, o->W, o->setup.peer_stride, arena);
    if (!o->setup.backward)
        return;
    expect(a, ABSENT_GRADIENTS, o->W, 1, arena);
    expect(a, ABSENT_X_GRADIENTS, o->W, o->setup.peer_stride, arena);
    if (a->returns != RETURNS_SLOTS)
        expect(a, ABSENT_GATE_GRADIENTS, o->K, o->setup.peer_stride, arena);
}

bool oracle_absent_holds(const struct oracle_absent *a, uint64_t number)
{
    const struct layer_sample *s = a->o->setup.sample;
    for (int32_t i = s->start[number]; i < s->start[number + 1]; i++)
        if ((uint64_t)s->replica[i] / s->local == a->rank)
            return true;
    return false;
}

/* ---- pieces ---- */

/* What an absent rank returned, added to a token's sum [W] and the squares of it. */
static void add_row(const struct oracle *o, uint64_t n, double *sums, double *squares,
                    const float *values, double factor)
{
    for (uint64_t i = 0; i < o->W; i++) {
        double term = factor * (double)values[i];
        sums[n * o->W + i] += term;
        if (squares)
            squares[n * o->W + i] += term * term;
    }
}

/* Errors of rows that are alike are, too: their sizes add up. */
static void add_sent(struct oracle_absent *a, enum absent_row which, uint64_t to,
                     const double *values, const double *squares, double factor)
{
    struct oracle_sent *sent = &a->o->sent[which];
    oracle_add(sent->sum + to * sent->width, values, sent->width, factor);
    for (uint64_t i = 0; sent->sizes && i < sent->width; i++)
        sent->sizes[to * sent->width + i] += fabs(factor) * sqrt(squares[i]);
}

static void load_absent(struct oracle_absent *a, enum absent_row which, uint64_t from,
                        double *out)
{
    inputs_absent(a->o->setup.inputs, which, from, a->o->W, a->values);
    for (uint64_t h = 0; h < a->o->W; h++)
        out[h] = (double)a->values[h];
}

static double absent_number(const struct oracle *o, enum absent_row which, uint64_t from)
{
    float value;
    inputs_absent(o->setup.inputs, which, from, 1, &value);
    return (double)value;
}

double oracle_absent_gate(const struct oracle *o, uint64_t rank)
{
    return absent_number(o, ABSENT_GATES, rank);
}

/* ---- rows of absent ranks at local experts ---- */

static const double *squares_y(const struct oracle_row *row)
{
    return row->squares ? row->squares->y : NULL;
}

/* Slots that stay empty are computed too: rows of zeros, which a bias makes something of. */
static void add_empty(struct oracle_absent *a, const struct oracle_expert *expert,
                      struct oracle_row *row, uint64_t to, uint64_t n)
{
    if (n == 0)
        return;
    a->o->sent[ABSENT_OUTPUTS].rows[to] += n;
    if (!expert->b13)
        return;
    memset(row->x, 0, a->o->W * sizeof *row->x);
    if (row->squares)
        memset(row->squares->x, 0, a->o->W * sizeof *row->x);
    oracle_row_forward(expert, row);
    add_sent(a, ABSENT_OUTPUTS, to, row->y, squares_y(row), (double)n);
}

/* n rows of an absent rank at a local expert. Owners apply the gates unless every slot returns
 * alone: then they are the tokens' ranks' business, and 1 here. */
struct absent_rows {
    uint64_t from, local, n;
    double in, out; /* gates of the expert's input and output */
};

static struct absent_rows rows_of(const struct oracle_absent *a, uint64_t from, uint64_t local)
{
    const struct oracle *o = a->o;
    struct absent_rows rows = {.from = from, .local = local, .in = 1, .out = 1};
    for (uint64_t k = 0; k < o->K; k++)
        rows.n += a->rows[(from * o->setup.sample->local + local) * o->K + k];
    if (a->returns != RETURNS_SLOTS)
        *(a->scales_input ? &rows.in : &rows.out) = oracle_absent_gate(o, from);
    return rows;
}

/* A gate's gradient is a product of two rows, most of which may cancel. */
static void add_gate_gradients(struct oracle_absent *a, const struct absent_rows *rows,
                               const double *row, const double *row2, const double *with,
                               const double *with2)
{
    struct oracle *o = a->o;
    struct oracle_sent *sent = &o->sent[ABSENT_GATE_GRADIENTS];
    const uint64_t *slots =
        a->rows + (rows->from * o->setup.sample->local + rows->local) * o->K;
    if (!sent->sum)
        return;
    double dgate = oracle_dot(row, with, o->W);
    double size = sent->sizes ? sqrt(oracle_dot(row2, with2, o->W)) : 0;
    for (uint64_t k = 0; k < o->K; k++) {
        sent->sum[rows->from * o->K + k] += (double)slots[k] * dgate;
        if (sent->sizes)
            sent->sizes[rows->from * o->K + k] += (double)slots[k] * size;
    }
    sent->rows[rows->from] += rows->n;
}

/* y of the row is there, and in a->x the row before its gate. */
static void backward_rows(struct oracle_absent *a, const struct oracle_expert *expert,
                          struct oracle_row *row, const struct absent_rows *rows)
{
    struct oracle *o = a->o;
    struct oracle_row none = {.x = NULL}, *of = row->squares ? row->squares : &none;
    load_absent(a, ABSENT_GRADIENTS, rows->from, row->dy);
    if (row->squares)
        oracle_squares_of(row->dy, o->W, of->dy);
    if (!a->scales_input)
        add_gate_gradients(a, rows, row->y, of->y, row->dy, of->dy);
    for (uint64_t h = 0; h < o->W; h++)
        row->dy[h] *= rows->out;
    if (row->squares)
        oracle_squares_of(row->dy, o->W, of->dy);
    oracle_row_backward(expert, row);
    if (a->scales_input)
        add_gate_gradients(a, rows, row->dx, of->dx, a->x, a->x2);
    add_sent(a, ABSENT_X_GRADIENTS, rows->from, row->dx, of->dx, (double)rows->n * rows->in);
    o->sent[ABSENT_X_GRADIENTS].rows[rows->from] += rows->n;
    if (o->dw13)
        oracle_add_weight_gradients(o, rows->local, row, (double)rows->n);
}

/* As it came through the wire, in a->x, and as the expert sees it. */
static void load_input(struct oracle_absent *a, const struct absent_rows *rows,
                       struct oracle_row *row)
{
    const struct oracle *o = a->o;
    load_absent(a, ABSENT_TOKENS, rows->from, a->x);
    a->tokens.through_wire(a->tokens.context, a->x);
    oracle_squares_of(a->x, o->W, a->x2);
    for (uint64_t h = 0; h < o->W; h++)
        row->x[h] = (double)format_round(o->setup.activation, (float)(rows->in * a->x[h]));
    if (row->squares)
        oracle_squares_of(row->x, o->W, row->squares->x);
}

static void add_rows(struct oracle_absent *a, const struct oracle_expert *expert,
                     struct oracle_row *row, uint64_t from, uint64_t local)
{
    struct oracle *o = a->o;
    struct absent_rows rows = rows_of(a, from, local);
    if (o->setup.pair_slots)
        add_empty(a, expert, row, from, o->setup.pair_slots - rows.n);
    if (rows.n == 0)
        return;
    load_input(a, &rows, row);
    oracle_row_forward(expert, row);
    add_sent(a, ABSENT_OUTPUTS, from, row->y, squares_y(row), (double)rows.n * rows.out);
    o->sent[ABSENT_OUTPUTS].rows[from] += rows.n;
    if (o->setup.backward)
        backward_rows(a, expert, row, &rows);
}

void oracle_absent_expert(struct oracle_absent *a, const struct oracle_expert *expert,
                          uint64_t number, struct oracle_row *row)
{
    const struct layer_sample *s = a->o->setup.sample;
    uint64_t stride = a->o->dw13 ? 1 : a->o->setup.peer_stride;
    for (int32_t i = s->start[number]; i < s->start[number + 1]; i++) {
        uint64_t physical = (uint64_t)s->replica[i];
        for (uint64_t n = 1; physical / s->local == a->rank && n < s->R; n += stride)
            add_rows(a, expert, row, (a->rank + n) % s->R, physical % s->local);
    }
}

/* ---- rows of local tokens at absent experts ---- */

/* The token at hand as it leaves: scaled where its rank does that, then encoded. */
static void load_sent(struct oracle_absent *a, double gate)
{
    const struct oracle *o = a->o;
    for (uint64_t h = 0; h < o->W; h++) {
        a->sent[h] = (double)format_round(o->setup.activation, (float)(gate * a->x[h]));
        a->sent2[h] = gate * gate * a->x2[h];
    }
    a->tokens.through_wire(a->tokens.context, a->sent);
}

struct token {
    uint64_t t, n; /* number among the checked ones */
    bool checked;
};

/* A row of the token that rank `to` gets, a->sent, and what it returns, times gates: 1 where
 * the owner applies them. */
static void exchange_row(struct oracle_absent *a, const struct token *token, uint64_t to,
                         double in, double out)
{
    struct oracle *o = a->o;
    if (a->sums) {
        add_row(o, token->t, a->sums, a->sums2, a->outputs + to * o->W, out);
        return;
    }
    add_sent(a, ABSENT_TOKENS, to, a->sent, a->sent2, 1);
    o->sent[ABSENT_TOKENS].rows[to]++;
    if (token->checked)
        add_row(o, token->n, o->routed, o->squares.routed, a->outputs + to * o->W, out);
    if (!o->setup.backward)
        return;
    add_sent(a, ABSENT_GRADIENTS, to, a->dout, a->dout2, out);
    o->sent[ABSENT_GRADIENTS].rows[to]++;
    if (token->checked)
        add_row(o, token->n, o->drouted, o->squares.drouted, a->back + to * o->W, in);
}

/* The gate's gradient is the product of what came back and of the token's own row. */
static void add_own_gate(struct oracle_absent *a, const struct token *token, uint64_t to,
                         uint64_t k)
{
    struct oracle *o = a->o;
    bool pre = a->scales_input;
    const float *row = (pre ? a->back : a->outputs) + to * o->W;
    const double *with = pre ? a->x : a->dout, *with2 = pre ? a->x2 : a->dout2;
    uint64_t at = token->n * o->K + k;
    for (uint64_t h = 0; h < o->W; h++)
        o->dgates[at] += (double)row[h] * with[h];
    for (uint64_t h = 0; o->squares.dgates && h < o->W; h++)
        o->squares.dgates[at] += (double)row[h] * (double)row[h] * with2[h];
}

static void exchange_slot(struct oracle_absent *a, const struct token *token, uint64_t to,
                          uint64_t k)
{
    struct oracle *o = a->o;
    const struct layer_sample *s = o->setup.sample;
    bool pre = a->scales_input;
    double own = a->tokens.gates[(a->rank * s->T + token->t) * s->K + k];
    load_sent(a, pre ? own : 1);
    if (pre)
        exchange_row(a, token, to, own, 1);
    else
        exchange_row(a, token, to, 1, a->gates_return ? oracle_absent_gate(o, to) : own);
    if (o->setup.backward && token->checked && !a->sums)
        add_own_gate(a, token, to, k);
}

/* One row for all slots that rank `to` has or, gathered, might have. */
static void exchange_token(struct oracle_absent *a, const struct token *token, uint64_t to)
{
    struct oracle *o = a->o;
    uint64_t at = token->n * o->K;
    exchange_row(a, token, to, 1, 1);
    for (uint64_t k = 0; o->setup.backward && token->checked && !a->sums && k < o->K; k++) {
        double dgate = absent_number(o, ABSENT_GATE_GRADIENTS, to);
        o->dgates[at + k] += dgate;
        if (o->squares.dgates)
            o->squares.dgates[at + k] += dgate * dgate;
    }
}

static bool is_first(const int32_t *phys, uint64_t k, uint64_t local)
{
    for (uint64_t i = 0; i < k; i++)
        if ((uint64_t)phys[i] / local == (uint64_t)phys[k] / local)
            return false;
    return true;
}

static void exchange_owners(struct oracle_absent *a, const struct token *token)
{
    const struct layer_sample *s = a->o->setup.sample;
    uint64_t at = (a->rank * s->T + token->t) * s->K;
    for (uint64_t k = 0; k < s->K; k++) {
        uint64_t owner = (uint64_t)s->phys[at + k] / s->local;
        if (owner == a->rank || a->tokens.dropped[at + k])
            continue;
        if (a->returns == RETURNS_SLOTS)
            exchange_slot(a, token, owner, k);
        else if (is_first(s->phys + at, k, s->local))
            exchange_token(a, token, owner);
    }
}

static void exchange_rows(struct oracle_absent *a, const struct token *token)
{
    if (a->returns != RETURNS_EVERYONE)
        exchange_owners(a, token);
    for (uint64_t to = 0; a->returns == RETURNS_EVERYONE && to < a->o->setup.sample->R; to++)
        if (to != a->rank)
            exchange_token(a, token, to);
}

void oracle_absent_sums(struct oracle_absent *a, double *sums, double *squares)
{
    a->sums = sums;
    a->sums2 = squares;
    for (uint64_t t = 0; t < a->o->setup.sample->T; t++)
        exchange_rows(a, &(struct token){.t = t});
    a->sums = a->sums2 = NULL;
}

void oracle_absent_tokens(struct oracle_absent *a)
{
    const struct oracle *o = a->o;
    for (uint64_t t = 0; t < o->setup.sample->T; t++) {
        struct token token = {t, t / o->setup.stride, t % o->setup.stride == 0};
        a->tokens.load_routed(a->tokens.context, FILL_X, a->rank, t, a->x, a->x2);
        load_sent(a, 1);
        if (o->setup.backward)
            a->tokens.load_routed(a->tokens.context, FILL_DOUT, a->rank, t, a->dout, a->dout2);
        exchange_rows(a, &token);
    }
}
