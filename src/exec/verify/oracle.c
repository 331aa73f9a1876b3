/* The layer, token by token, in f64; see oracle.h. */
#include "exec/verify/oracle.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "exec/kernels/format.h"
#include "exec/verify/oracle_absent.h"
#include "exec/verify/oracle_expert.h"
#include "exec/verify/oracle_latent.h"
#include "exec/verify/oracle_router.h"
#include "plan/derive.h"
#include "plan/layers.h"
#include "work/list/dtype.h"

double oracle_flop(const struct plan *plan, const struct layer_sample *sample, uint64_t n_ranks)
{
    const struct model_moe *moe = &plan->model.moe;
    double rows = (double)(n_ranks * sample->T * sample->K);
    double width = (double)model_row_width(&plan->model), hidden = (double)plan->model.hidden;
    double down = moe->latent_size ? 2 * hidden * width : 0; /* of every row, not token */
    return rows * ((moe->glu ? 6 : 4) * width * (double)moe->intermediate + down);
}

/* What the computation walks with: buffers of one row, the rows by expert. */
struct walk {
    struct oracle *o;
    struct oracle_expert expert;
    struct oracle_router router;
    struct oracle_row row;
    struct oracle_latent latent; /* where the model has one */
    double *token, *dtoken;      /* [H] of the token at hand */
    struct oracle_absent absent; /* when alone */
    double *gates;               /* [R, T, K] */
    bool *dropped;               /* [R, T, K] */
    uint64_t *rows;              /* slots (r, t, k), by logical expert */
    uint64_t *starts;            /* [E + 1] into rows */
    double *unscaled; /* [W] the row at hand before its gate, where gates scale the input */
    float *wire_in, *wire_out;
    unsigned char *wire_bytes;
};

/* ---- routing ---- */

static void mark_dropped(struct walk *w, uint64_t rank, uint64_t *used)
{
    const struct oracle_setup *setup = &w->o->setup;
    const struct layer_sample *s = setup->sample;
    uint64_t at = rank * s->T * s->K, part = s->T / setup->drop_groups * s->K;
    for (uint64_t i = 0; i < s->T * s->K; i++) {
        if (i % part == 0)
            memset(used, 0, s->R * s->local * sizeof *used);
        w->dropped[at + i] = used[s->phys[at + i]]++ >= setup->drop_capacity;
    }
}

static void sort_by_expert(struct walk *w, uint64_t *cursor)
{
    const struct layer_sample *s = w->o->setup.sample;
    uint64_t n = s->R * s->T * s->K;
    for (uint64_t i = 0; i < n; i++)
        w->starts[s->ids[i] + 1]++;
    for (uint64_t e = 0; e < s->logical; e++) {
        w->starts[e + 1] += w->starts[e];
        cursor[e] = w->starts[e];
    }
    for (uint64_t i = 0; i < n; i++)
        w->rows[cursor[s->ids[i]]++] = i;
}

static bool has_latent(const struct oracle *o)
{
    return o->setup.plan->model.moe.latent_size > 0;
}

static void walk_init(struct walk *w, struct oracle *o, struct arena *arena)
{
    const struct layer_sample *s = o->setup.sample;
    uint64_t n = s->R * s->T * s->K, wide = o->H > o->W ? o->H : o->W;
    *w = (struct walk){.o = o,
                       .gates = arena_alloc(arena, n, sizeof *w->gates),
                       .dropped = arena_alloc(arena, n, sizeof *w->dropped),
                       .rows = arena_alloc(arena, n, sizeof *w->rows),
                       .starts = arena_alloc(arena, s->logical + 1, sizeof *w->starts),
                       .token = arena_alloc(arena, o->H, sizeof(double)),
                       .dtoken = arena_alloc(arena, o->H, sizeof(double)),
                       .unscaled = arena_alloc(arena, o->W, sizeof(double)),
                       .wire_in = arena_alloc(arena, wide, sizeof(float)),
                       .wire_out = arena_alloc(arena, o->W + 128 * 128, sizeof(float)),
                       .wire_bytes = arena_alloc(arena, o->W + 1, 8)};
    oracle_expert_init(&w->expert, &o->setup, o->W, o->I, arena);
    if (has_latent(o))
        oracle_latent_init(&w->latent, &o->setup, arena);
    oracle_router_init(&w->router, &o->setup, arena);
    oracle_row_init(&w->row, &w->expert, arena);
    uint64_t *scratch = arena_alloc(arena, s->R * s->local + s->logical, sizeof *scratch);
    for (uint64_t rank = 0; o->setup.drop_capacity && rank < s->R; rank++)
        mark_dropped(w, rank, scratch);
    sort_by_expert(w, scratch);
}

static bool is_local(const struct oracle *o, uint64_t rank)
{
    return rank >= o->setup.first_rank && rank < o->setup.first_rank + o->setup.n_ranks;
}

static bool is_checked(const struct oracle *o, uint64_t rank, uint64_t t)
{
    return is_local(o, rank) && t % o->setup.stride == 0;
}

static uint64_t number_of(const struct oracle *o, uint64_t rank, uint64_t t)
{
    return (rank - o->setup.first_rank) * o->n_tokens + t / o->setup.stride;
}

/* ---- data ---- */

static void load_token(void *context, enum fill fill, uint64_t rank, uint64_t t, double *out)
{
    struct walk *w = context;
    const struct oracle *o = w->o;
    const struct inputs *inputs = o->setup.inputs;
    inputs->row(inputs, fill, 0, rank * o->setup.sample->T + t, 0, o->H, w->wire_in);
    for (uint64_t h = 0; h < o->H; h++)
        out[h] = (double)format_round(o->setup.activation, w->wire_in[h]);
}

/* What is routed of a token, [W]: itself or, where experts work on a latent width, its
 * projection; of a gradient likewise. */
static void load_routed(void *context, enum fill fill, uint64_t rank, uint64_t t, double *out)
{
    struct walk *w = context;
    bool latent = has_latent(w->o);
    load_token(w, fill, rank, t, latent ? w->token : out);
    if (latent)
        oracle_latent_row(&w->latent, fill, w->token, out);
}

/* A row as experts see it: after its trip through the wire's format. */
static void through_wire(void *context, double *x)
{
    struct walk *w = context;
    const struct oracle *o = w->o;
    enum dtype wire = o->setup.wire;
    for (uint64_t h = 0; h < o->W; h++)
        w->wire_in[h] = (float)x[h];
    if (format_is_plain(wire)) {
        for (uint64_t h = 0; h < o->W; h++)
            w->wire_out[h] = format_round(wire, w->wire_in[h]);
    } else {
        struct matrix_source source = format_row_source(w->wire_in);
        memset(w->wire_bytes, 0, dtype_matrix_bytes(wire, o->W, 1));
        format_encode_matrix(wire, o->W, 1, &source, w->wire_out, w->wire_bytes);
        format_decode_columns(wire, w->wire_bytes, o->W, 1, 0, o->W, 0, 1, w->wire_out);
    }
    for (uint64_t h = 0; h < o->W; h++)
        x[h] = (double)format_round(o->setup.activation, w->wire_out[h]);
}

/* Gates of every token that is checked or, for weight gradients, of every token. */
static void compute_gates(struct walk *w)
{
    struct oracle *o = w->o;
    const struct layer_sample *s = o->setup.sample;
    const struct inputs *inputs = o->setup.inputs;
    for (uint64_t i = 0; i < s->R * s->T; i++) {
        uint64_t rank = i / s->T, t = i % s->T;
        bool absent = o->setup.alone && !is_local(o, rank);
        for (uint64_t k = 0; absent && k < s->K; k++)
            w->gates[i * s->K + k] = oracle_absent_gate(o, rank);
        for (uint64_t k = 0; inputs->gate && !absent && k < s->K; k++)
            w->gates[i * s->K + k] = (double)inputs->gate(inputs, i, k);
        bool needed = o->setup.alone || o->dw13 || is_checked(o, rank, t);
        if (inputs->gate || absent || !needed)
            continue;
        load_token(w, FILL_X, rank, t, w->token);
        oracle_router_gates(&w->router, w->token, s->ids + i * s->K, w->gates + i * s->K);
    }
}

/* ---- routed experts ---- */

/* Gradients of the matrices of the local expert that computed a row. */
static void add_weight_gradients(struct walk *w, uint64_t slot)
{
    struct oracle *o = w->o;
    const struct layer_sample *s = o->setup.sample;
    uint64_t physical = (uint64_t)s->phys[slot];
    if (!o->dw13 || !is_local(o, physical / s->local))
        return;
    uint64_t number = physical - o->setup.first_rank * s->local;
    struct oracle_terms *terms = &o->terms[number / s->local];
    terms->dw13 +=
        oracle_outer(w->row.x, o->W, w->row.dh, o->GI, o->dw13 + number * o->W * o->GI);
    terms->dw2 += oracle_outer(w->row.a, o->I, w->row.dy, o->W, o->dw2 + number * o->I * o->W);
    oracle_add(o->db13 + number * o->GI, w->row.dh, o->GI, 1);
    oracle_add(o->db2 + number * o->W, w->row.dy, o->W, 1);
}

static bool scales_input(const struct walk *w)
{
    return w->o->setup.plan->model.moe.scale == GATE_PRE;
}

static void scale_input(struct walk *w, double gate)
{
    const struct oracle *o = w->o;
    for (uint64_t h = 0; h < o->W; h++) {
        w->unscaled[h] = w->row.x[h];
        w->row.x[h] = (double)format_round(o->setup.activation, (float)(gate * w->row.x[h]));
    }
}

/* What an expert sees of a slot. */
static void load_row(struct walk *w, uint64_t slot, uint64_t rank, uint64_t t)
{
    const struct oracle *o = w->o;
    bool scales = scales_input(w);
    load_routed(w, FILL_X, rank, t, w->row.x);
    if (scales && o->setup.scaled_first)
        scale_input(w, w->gates[slot]);
    through_wire(w, w->row.x);
    if (scales && !o->setup.scaled_first)
        scale_input(w, w->gates[slot]);
}

static void compute_row(struct walk *w, uint64_t slot)
{
    struct oracle *o = w->o;
    const struct layer_sample *s = o->setup.sample;
    uint64_t k = slot % s->K, t = slot / s->K % s->T, rank = slot / s->K / s->T;
    bool checked = is_checked(o, rank, t),
         here = is_local(o, (uint64_t)s->phys[slot] / s->local);
    bool owned = o->dw13 && here;
    if (w->dropped[slot] || !(checked || owned))
        return;
    if (o->setup.alone && !(here && is_local(o, rank)))
        return; /* oracle_absent.c's */
    bool pre = scales_input(w);
    double in = pre ? w->gates[slot] : 1, out = pre ? 1 : w->gates[slot];
    load_row(w, slot, rank, t);
    oracle_row_forward(&w->expert, &w->row);
    uint64_t n = checked ? number_of(o, rank, t) : 0;
    if (checked)
        oracle_add(o->routed + n * o->W, w->row.y, o->W, out);
    if (!o->setup.backward)
        return;
    load_routed(w, FILL_DOUT, rank, t, w->row.dy);
    if (checked && !pre)
        o->dgates[n * o->K + k] = oracle_dot(w->row.y, w->row.dy, o->W);
    for (uint64_t h = 0; h < o->W; h++)
        w->row.dy[h] *= out;
    oracle_row_backward(&w->expert, &w->row);
    if (checked)
        oracle_add(o->drouted + n * o->W, w->row.dx, o->W, in);
    if (checked && pre)
        o->dgates[n * o->K + k] = oracle_dot(w->row.dx, w->unscaled, o->W);
    add_weight_gradients(w, slot);
}

static void compute_experts(struct walk *w)
{
    const struct layer_sample *s = w->o->setup.sample;
    bool alone = w->o->setup.alone;
    for (uint64_t e = 0; e < s->logical; e++) {
        bool idle = w->starts[e] == w->starts[e + 1];
        if (alone ? !oracle_absent_holds(&w->absent, e) : idle)
            continue;
        oracle_expert_load(&w->expert, e);
        for (uint64_t i = w->starts[e]; i < w->starts[e + 1]; i++)
            compute_row(w, w->rows[i]);
        if (alone)
            oracle_absent_expert(&w->absent, &w->expert, e, &w->row);
    }
    if (alone)
        oracle_absent_tokens(&w->absent);
}

static void init_absent(struct walk *w, struct arena *arena)
{
    struct oracle_tokens tokens = {w, load_routed, through_wire, w->gates, w->dropped};
    if (w->o->setup.alone)
        oracle_absent_init(&w->absent, w->o, &tokens, arena);
}

/* ---- the way up from latent rows ---- */

static void compute_latent(struct walk *w)
{
    struct oracle *o = w->o;
    for (uint64_t i = 0; has_latent(o) && i < o->setup.n_ranks; i++)
        for (uint64_t t = 0; t < o->setup.sample->T; t += o->setup.stride) {
            uint64_t rank = o->setup.first_rank + i;
            load_token(w, FILL_X, rank, t, w->token);
            load_token(w, FILL_DOUT, rank, t, w->dtoken);
            oracle_latent_token(&w->latent, o, i, number_of(o, rank, t), w->token, w->dtoken);
        }
}

/* ---- networks that every token passes, and the router ---- */

struct beside {
    struct oracle_expert expert;
    struct oracle_row row;
    double *gate;     /* [H]: the output is multiplied by sigmoid(x gate); NULL: by 1 */
    double *d13, *d2; /* sums over the tokens of the rank at hand; NULL: not wanted */
    double *dgate;    /* [H] */
    struct oracle_beside_terms *terms;
};

static void beside_row(struct walk *w, struct beside *b, uint64_t rank, uint64_t t)
{
    struct oracle *o = w->o;
    struct oracle_row *row = &b->row;
    uint64_t n = number_of(o, rank, t);
    load_token(w, FILL_X, rank, t, row->x);
    oracle_row_forward(&b->expert, row);
    double logit = b->gate ? oracle_dot(row->x, b->gate, o->H) : 0;
    double gate = b->gate ? 1 / (1 + exp(-logit)) : 1;
    oracle_add(o->out + n * o->H, row->y, o->H, gate);
    if (!o->setup.backward)
        return;
    load_token(w, FILL_DOUT, rank, t, row->dy);
    double dgate = oracle_dot(row->y, row->dy, o->H);
    double slope = exp(-logit) / ((1 + exp(-logit)) * (1 + exp(-logit)));
    double squares = 0; /* of the terms of dgate, which may cancel each other */
    for (uint64_t h = 0; h < o->H; h++) {
        squares += row->y[h] * row->dy[h] * row->y[h] * row->dy[h];
        row->dy[h] *= gate;
    }
    oracle_row_backward(&b->expert, row);
    oracle_add(o->dx + n * o->H, row->dx, o->H, 1);
    if (b->gate)
        oracle_add(o->dx + n * o->H, b->gate, o->H, dgate * slope);
    if (!b->d13)
        return;
    b->terms->d13 += oracle_outer(row->x, o->H, row->dh, b->expert.w13.columns, b->d13);
    b->terms->d2 += oracle_outer(row->a, b->expert.w2.rows, row->dy, o->H, b->d2);
    if (!b->gate)
        return;
    oracle_add(b->dgate, row->x, o->H, dgate * slope);
    b->terms->dgate += slope * slope * squares * oracle_dot(row->x, row->x, o->H);
}

/* All checked tokens of this process through a network of width `inter`. */
static void compute_beside(struct walk *w, struct beside *b, uint64_t inter, enum fill fill13,
                           enum fill fill2, double **d13, double **d2, struct arena *arena)
{
    struct oracle *o = w->o;
    oracle_expert_init(&b->expert, &o->setup, o->H, inter, arena);
    oracle_row_init(&b->row, &b->expert, arena);
    oracle_expert_load_beside(&b->expert, fill13, fill2);
    uint64_t each13 = o->H * b->expert.w13.columns, each2 = inter * o->H;
    if (o->dw13) {
        *d13 = arena_alloc(arena, o->setup.n_ranks * each13, sizeof(double));
        *d2 = arena_alloc(arena, o->setup.n_ranks * each2, sizeof(double));
    }
    for (uint64_t i = 0; i < o->setup.n_ranks; i++) {
        b->d13 = *d13 ? *d13 + i * each13 : NULL;
        b->d2 = *d2 ? *d2 + i * each2 : NULL;
        b->dgate = o->dshared_gate ? o->dshared_gate + i * o->H : NULL;
        b->terms =
            o->terms ? (fill13 == FILL_SHARED_13 ? &o->terms[i].shared : &o->terms[i].residual)
                     : NULL;
        for (uint64_t t = 0; t < o->setup.sample->T; t += o->setup.stride)
            beside_row(w, b, o->setup.first_rank + i, t);
    }
}

static double *load_shared_gate(struct oracle *o, struct arena *arena)
{
    const struct inputs *inputs = o->setup.inputs;
    double *gate = arena_alloc(arena, o->H, sizeof *gate);
    for (uint64_t h = 0; h < o->H; h++) {
        float value;
        inputs->row(inputs, FILL_SHARED_GATE, 0, h, 0, 1, &value);
        gate[h] = (double)value;
    }
    if (o->dw13)
        o->dshared_gate = arena_alloc(arena, o->setup.n_ranks * o->H, sizeof(double));
    return gate;
}

static void compute_all_beside(struct walk *w, struct arena *arena)
{
    struct oracle *o = w->o;
    const struct plan *plan = o->setup.plan;
    uint64_t shared_width = plan_shared_width(plan), width = plan_residual_width(plan);
    struct beside shared = {.gate = NULL}, residual = {.gate = NULL};
    if (shared_width && plan->model.moe.shared_gate)
        shared.gate = load_shared_gate(o, arena);
    if (shared_width)
        compute_beside(w, &shared, shared_width, FILL_SHARED_13, FILL_SHARED_2, &o->dshared13,
                       &o->dshared2, arena);
    if (width)
        compute_beside(w, &residual, width, FILL_RESIDUAL_13, FILL_RESIDUAL_2, &o->dresidual13,
                       &o->dresidual2, arena);
}

static void router_row(struct walk *w, uint64_t rank, uint64_t t)
{
    struct oracle *o = w->o;
    const struct layer_sample *s = o->setup.sample;
    uint64_t n = number_of(o, rank, t), at = (rank * s->T + t) * s->K;
    struct oracle_router *router = &w->router;
    load_token(w, FILL_X, rank, t, w->token);
    oracle_router_gates(router, w->token, s->ids + at, w->gates + at);
    oracle_router_backward(router, s->ids + at, o->dgates + n * o->K);
    for (uint64_t h = 0; h < o->H; h++)
        for (uint64_t e = 0; e < o->E; e++)
            o->dx[n * o->H + h] += router->dlogits[e] * (double)router->matrix[h * o->E + e];
    if (!o->drouter)
        return;
    uint64_t local = rank - o->setup.first_rank;
    oracle_outer(w->token, o->H, router->dlogits, o->E, o->drouter + local * o->H * o->E);
    oracle_add(o->dlinear_bias + local * o->E, router->dlogits, o->E, 1);
    /* a softmax subtracts products of gates and their gradients, often to nothing at all */
    double squares = 0;
    for (uint64_t k = 0; k < s->K; k++)
        squares += pow(w->gates[at + k] * o->dgates[n * o->K + k], 2);
    o->terms[local].drouter += squares * oracle_dot(w->token, w->token, o->H);
    o->terms[local].dlinear_bias += squares;
}

static void compute_router(struct walk *w)
{
    const struct oracle *o = w->o;
    if (!o->setup.backward || o->setup.inputs->gate)
        return;
    for (uint64_t i = 0; i < o->setup.n_ranks; i++)
        for (uint64_t t = 0; t < o->setup.sample->T; t += o->setup.stride)
            router_row(w, o->setup.first_rank + i, t);
}

/* ---- the whole ---- */

static void allocate_results(struct oracle *o, struct arena *arena)
{
    const struct layer_sample *s = o->setup.sample;
    uint64_t n = o->setup.n_ranks * o->n_tokens;
    bool latent = has_latent(o);
    o->out = arena_alloc(arena, n * o->H, sizeof(double));
    o->routed = latent ? arena_alloc(arena, n * o->W, sizeof(double)) : o->out;
    if (!o->setup.backward)
        return;
    o->dx = arena_alloc(arena, n * o->H, sizeof(double));
    o->drouted = latent ? arena_alloc(arena, n * o->W, sizeof(double)) : o->dx;
    o->dgates = arena_alloc(arena, n * o->K, sizeof(double));
    if (o->setup.stride != 1)
        return;
    uint64_t experts = o->setup.n_ranks * s->local;
    o->dw13 = arena_alloc(arena, experts * o->W * o->GI, sizeof(double));
    o->dw2 = arena_alloc(arena, experts * o->I * o->W, sizeof(double));
    o->db13 = arena_alloc(arena, experts * o->GI, sizeof(double));
    o->db2 = arena_alloc(arena, experts * o->W, sizeof(double));
    o->dlinear_bias = arena_alloc(arena, o->setup.n_ranks * o->E, sizeof(double));
    o->drouter = arena_alloc(arena, o->setup.n_ranks * o->H * o->E, sizeof(double));
    uint64_t projections = latent ? o->setup.n_ranks * o->H * o->W : 0;
    o->dlatent_down = latent ? arena_alloc(arena, projections, sizeof(double)) : NULL;
    o->dlatent_up = latent ? arena_alloc(arena, projections, sizeof(double)) : NULL;
    o->terms = arena_alloc(arena, o->setup.n_ranks, sizeof *o->terms);
}

void oracle_compute(struct oracle *o, const struct oracle_setup *setup, struct arena *arena)
{
    const struct model *model = &setup->plan->model;
    uint64_t inter = plan_expert_width(setup->plan);
    *o = (struct oracle){.setup = *setup,
                         .n_tokens = ceil_div(setup->sample->T, setup->stride),
                         .H = model->hidden,
                         .W = model_row_width(model),
                         .I = inter,
                         .GI = model->moe.glu ? 2 * inter : inter,
                         .K = setup->sample->K,
                         .E = setup->sample->logical};
    allocate_results(o, arena);
    struct walk w;
    walk_init(&w, o, arena);
    init_absent(&w, arena);
    compute_gates(&w);
    compute_experts(&w);
    compute_latent(&w);
    compute_all_beside(&w, arena);
    compute_router(&w);
}
