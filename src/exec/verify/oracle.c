/* The layer, token by token, in f64; see oracle.h. */
#include "exec/verify/oracle.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "exec/kernels/format.h"
#include "exec/verify/oracle_absent.h"
#include "exec/verify/oracle_beside.h"
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
    double *token2;              /* squares of what is routed of it */
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
                       .token2 = arena_alloc(arena, wide, sizeof(double)),
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

uint64_t oracle_number(const struct oracle *o, uint64_t rank, uint64_t t)
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

/* Whose sums of rows the gradient of a norm behind them needs, and where they stand: of the
 * one rank that is there, of all ranks for the gradients of experts, or of checked tokens. */
static bool is_summed(const struct oracle *o, uint64_t rank, uint64_t t)
{
    return o->setup.alone ? is_local(o, rank) : o->dw13 || is_checked(o, rank, t);
}

static uint64_t sum_place(const struct oracle *o, uint64_t rank, uint64_t t)
{
    if (o->setup.alone)
        return t;
    return o->dw13 ? rank * o->setup.sample->T + t : oracle_number(o, rank, t);
}

static uint64_t sum_places(const struct oracle *o)
{
    const struct layer_sample *s = o->setup.sample;
    if (o->setup.alone)
        return s->T;
    return o->dw13 ? s->R * s->T : o->setup.n_ranks * o->n_tokens;
}

/* What is routed of a token, [W], and its squares: itself or, where experts work on a latent
 * width, its projection; of a gradient likewise. */
static void load_routed(void *context, enum fill fill, uint64_t rank, uint64_t t, double *out,
                        double *squares)
{
    struct walk *w = context;
    bool latent = has_latent(w->o);
    load_token(w, fill, rank, t, latent ? w->token : out);
    if (latent)
        oracle_latent_row(&w->latent, fill, w->token, out, squares);
    else if (squares)
        oracle_squares_of(out, w->o->H, squares);
    if (latent && w->latent.normed && fill == FILL_DOUT)
        oracle_latent_back(&w->latent, sum_place(w->o, rank, t), out, squares);
}

/* A row as experts see it: after its trip through the wire's format. */
static void through_wire(void *context, double *x)
{
    struct walk *w = context;
    const struct oracle *o = w->o;
    enum dtype wire = o->setup.wire;
    for (uint64_t h = 0; h < o->W; h++)
        w->wire_in[h] = (float)x[h];
    if (dtype_is_plain(wire)) {
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
            w->gates[i * s->K + k] =
                (double)inputs->gate(inputs, i, k) * w->router.factor[s->ids[i * s->K + k]];
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
    if (o->dw13 && is_local(o, physical / s->local))
        oracle_add_weight_gradients(o, physical - o->setup.first_rank * s->local, &w->row, 1);
}

struct gates {
    double in, out; /* of the expert's input and of its output */
};

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
        if (w->row.squares)
            w->row.squares->x[h] = fmax(gate * gate * w->row.squares->x[h], o->setup.least);
    }
}

/* What an expert sees of a slot. */
static void load_row(struct walk *w, uint64_t slot, uint64_t rank, uint64_t t)
{
    const struct oracle *o = w->o;
    bool scales = scales_input(w);
    load_routed(w, FILL_X, rank, t, w->row.x, w->row.squares ? w->row.squares->x : NULL);
    if (scales && o->setup.scaled_first)
        scale_input(w, w->gates[slot]);
    through_wire(w, w->row.x);
    if (scales && !o->setup.scaled_first)
        scale_input(w, w->gates[slot]);
}

/* The gate's gradient is a product of two rows. */
static void set_gate_gradient(struct walk *w, uint64_t at, const double *a, const double *a2,
                              const double *b, const double *b2)
{
    struct oracle *o = w->o;
    o->dgates[at] = oracle_dot(a, b, o->W);
    if (o->squares.dgates)
        o->squares.dgates[at] = fmax(oracle_dot(a2, b2, o->W), o->dgates[at] * o->dgates[at]);
}

/* y is there; n: number of the token, if it is a checked one. */
static void backward_row(struct walk *w, uint64_t slot, const struct gates *gates, bool checked,
                         uint64_t n)
{
    struct oracle *o = w->o;
    const struct layer_sample *s = o->setup.sample;
    struct oracle_row *row = &w->row, *of = row->squares;
    uint64_t k = slot % s->K, t = slot / s->K % s->T, rank = slot / s->K / s->T;
    bool pre = scales_input(w);
    load_routed(w, FILL_DOUT, rank, t, row->dy, of ? of->dy : NULL);
    if (checked && !pre)
        set_gate_gradient(w, n * o->K + k, row->y, of ? of->y : NULL, row->dy,
                          of ? of->dy : NULL);
    for (uint64_t h = 0; h < o->W; h++)
        row->dy[h] *= gates->out;
    for (uint64_t h = 0; of && h < o->W; h++)
        of->dy[h] *= gates->out * gates->out;
    oracle_row_backward(&w->expert, row);
    if (checked)
        oracle_add(o->drouted + n * o->W, row->dx, o->W, gates->in);
    if (checked && of)
        oracle_add(o->squares.drouted + n * o->W, of->dx, o->W, gates->in * gates->in);
    if (of && pre)
        oracle_squares_of(w->unscaled, o->W, w->token2);
    if (checked && pre)
        set_gate_gradient(w, n * o->K + k, row->dx, of ? of->dx : NULL, w->unscaled, w->token2);
    add_weight_gradients(w, slot);
}

static void compute_row(struct walk *w, uint64_t slot)
{
    struct oracle *o = w->o;
    const struct layer_sample *s = o->setup.sample;
    uint64_t t = slot / s->K % s->T, rank = slot / s->K / s->T;
    bool checked = is_checked(o, rank, t),
         here = is_local(o, (uint64_t)s->phys[slot] / s->local);
    bool owned = o->dw13 && here;
    if (w->dropped[slot] || !(checked || owned))
        return;
    if (o->setup.alone && !(here && is_local(o, rank)))
        return; /* oracle_absent.c's */
    bool pre = scales_input(w);
    struct gates gates = {pre ? w->gates[slot] : 1, pre ? 1 : w->gates[slot]};
    load_row(w, slot, rank, t);
    oracle_row_forward(&w->expert, &w->row);
    uint64_t n = checked ? oracle_number(o, rank, t) : 0;
    if (checked)
        oracle_add(o->routed + n * o->W, w->row.y, o->W, gates.out);
    if (checked && w->row.squares)
        oracle_add(o->squares.routed + n * o->W, w->row.squares->y, o->W,
                   gates.out * gates.out);
    if (o->setup.backward)
        backward_row(w, slot, &gates, checked, n);
}

/* The row of a slot as part of its token's sum, before all that needs the sum. */
static void sum_row(struct walk *w, uint64_t slot)
{
    const struct oracle *o = w->o;
    const struct layer_sample *s = o->setup.sample;
    uint64_t t = slot / s->K % s->T, rank = slot / s->K / s->T;
    bool here = is_local(o, (uint64_t)s->phys[slot] / s->local);
    if (w->dropped[slot] || !is_summed(o, rank, t) || (o->setup.alone && !here))
        return;
    uint64_t at = sum_place(o, rank, t) * o->W;
    double gate = scales_input(w) ? 1 : w->gates[slot];
    load_row(w, slot, rank, t);
    oracle_row_forward(&w->expert, &w->row);
    oracle_add(w->latent.sums + at, w->row.y, o->W, gate);
    if (w->row.squares)
        oracle_add(w->latent.sums2 + at, w->row.squares->y, o->W, gate * gate);
}

/* What is done with every expert and its rows. */
struct pass {
    void (*row)(struct walk *w, uint64_t slot);
    void (*expert)(struct oracle_absent *absent, const struct oracle_expert *expert,
                   uint64_t number, struct oracle_row *row); /* when alone; NULL: nothing */
};

static void each_expert(struct walk *w, struct pass pass)
{
    const struct layer_sample *s = w->o->setup.sample;
    bool alone = w->o->setup.alone;
    for (uint64_t e = 0; e < s->logical; e++) {
        bool idle = w->starts[e] == w->starts[e + 1];
        if (alone ? !oracle_absent_holds(&w->absent, e) : idle)
            continue;
        oracle_expert_load(&w->expert, e);
        for (uint64_t i = w->starts[e]; i < w->starts[e + 1]; i++)
            pass.row(w, w->rows[i]);
        if (alone && pass.expert)
            pass.expert(&w->absent, &w->expert, e, &w->row);
    }
}

/* Whole numbers are not divided: their gradients need no sums. */
static void compute_sums(struct walk *w, struct arena *arena)
{
    const struct oracle *o = w->o;
    if (!has_latent(o) || !w->latent.normed || !o->setup.backward || o->setup.inputs->linear)
        return;
    oracle_latent_sums(&w->latent, o, sum_places(o), arena);
    each_expert(w, (struct pass){sum_row, NULL});
    if (o->setup.alone)
        oracle_absent_sums(&w->absent, w->latent.sums, w->latent.sums2);
    oracle_latent_store(&w->latent, sum_places(o));
}

static void compute_experts(struct walk *w)
{
    each_expert(w, (struct pass){compute_row, oracle_absent_expert});
    if (w->o->setup.alone)
        oracle_absent_tokens(&w->absent);
}

static struct oracle_tokens tokens_of(struct walk *w)
{
    return (struct oracle_tokens){w,        load_token, load_routed, through_wire,
                                  w->gates, w->dropped};
}

static void init_absent(struct walk *w, struct arena *arena)
{
    struct oracle_tokens tokens = tokens_of(w);
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
            oracle_latent_token(&w->latent, o, i, oracle_number(o, rank, t), w->token,
                                w->dtoken);
        }
}

/* ---- the whole ---- */

static double *doubles(struct arena *arena, bool wanted, uint64_t n)
{
    return wanted ? arena_alloc(arena, n, sizeof(double)) : NULL;
}

/* n: checked tokens; what is of parameters only where all tokens are. */
static void allocate_squares(struct oracle *o, uint64_t n, struct arena *arena)
{
    struct oracle_squares *of = &o->squares;
    bool latent = has_latent(o), backward = o->setup.backward, all = o->dw13;
    uint64_t R = o->setup.n_ranks, experts = R * o->setup.sample->local;
    of->out = doubles(arena, true, n * o->H);
    of->routed = latent ? doubles(arena, true, n * o->W) : of->out;
    of->dx = doubles(arena, backward, n * o->H);
    of->drouted = latent ? doubles(arena, backward, n * o->W) : of->dx;
    of->dgates = doubles(arena, backward, n * o->K);
    of->dw13 = doubles(arena, all, experts * o->GI);
    of->dw2 = doubles(arena, all, experts * o->I);
    of->db13 = doubles(arena, all, experts * o->GI);
    of->db2 = doubles(arena, all, experts * o->W);
    of->dlinear_bias = doubles(arena, all, R * o->E);
    of->drouter = doubles(arena, all, R * o->E);
    of->dlatent_down = doubles(arena, all && latent, R * o->W);
    of->dlatent_up = doubles(arena, all && latent, R * o->W);
    of->dlatent_norm = doubles(arena, all && latent, R * o->W);
    of->drouter_norm = doubles(arena, all, R * o->H);
    of->dgate_scale = doubles(arena, all, R * o->E);
}

static void allocate_gradients(struct oracle *o, struct arena *arena)
{
    uint64_t R = o->setup.n_ranks, experts = R * o->setup.sample->local;
    bool latent = has_latent(o);
    uint64_t e = o->setup.sample->local;
    o->dw13 = doubles(arena, true, R * oracle_kept_rows(o, e * o->W) * o->GI);
    o->dw2 = doubles(arena, true, R * oracle_kept_rows(o, e * o->I) * o->W);
    o->db13 = doubles(arena, true, experts * o->GI);
    o->db2 = doubles(arena, true, experts * o->W);
    o->dlinear_bias = doubles(arena, true, R * o->E);
    o->drouter = doubles(arena, true, R * oracle_kept_rows(o, o->H) * o->E);
    o->dlatent_down = doubles(arena, latent, R * oracle_kept_rows(o, o->H) * o->W);
    o->dlatent_up = doubles(arena, latent, R * oracle_kept_rows(o, o->W) * o->H);
    o->dlatent_norm = doubles(arena, latent, R * o->W);
    o->drouter_norm = doubles(arena, true, R * o->H);
    o->dgate_scale = doubles(arena, true, R * o->E);
}

static void allocate_results(struct oracle *o, struct arena *arena)
{
    uint64_t n = o->setup.n_ranks * o->n_tokens;
    bool latent = has_latent(o), backward = o->setup.backward;
    o->out = doubles(arena, true, n * o->H);
    o->routed = latent ? doubles(arena, true, n * o->W) : o->out;
    o->dx = doubles(arena, backward, n * o->H);
    o->drouted = latent ? doubles(arena, backward, n * o->W) : o->dx;
    o->dgates = doubles(arena, backward, n * o->K);
    if (backward && o->setup.stride == 1)
        allocate_gradients(o, arena);
    if (!o->setup.exact)
        allocate_squares(o, n, arena);
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
                         .E = setup->sample->logical + model->moe.zero_experts};
    allocate_results(o, arena);
    struct walk w;
    walk_init(&w, o, arena);
    init_absent(&w, arena);
    compute_gates(&w);
    compute_sums(&w, arena);
    compute_experts(&w);
    compute_latent(&w);
    struct oracle_tokens tokens = tokens_of(&w);
    oracle_beside(o, &tokens, arena);
    if (setup->backward)
        oracle_router_tokens(&w.router, o, &tokens);
}
