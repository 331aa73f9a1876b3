/* Gates by definition, gradients by central differences of the definition: independent of the
 * formulas of the kernels. */
#include "exec/verify/oracle_router.h"

#include <math.h>
#include <string.h>

#include "exec/verify/oracle_matrix.h"

static void load_factors(struct oracle_router *router, struct arena *arena)
{
    const struct inputs *inputs = router->setup->inputs;
    router->factor = arena_alloc(arena, router->experts, sizeof *router->factor);
    for (uint64_t e = 0; e < router->experts; e++) {
        float value = 1;
        if (router->scaled)
            inputs->row(inputs, FILL_GATE_SCALE, 0, 0, e, 1, &value);
        router->factor[e] = (double)value;
    }
}

void oracle_router_init(struct oracle_router *router, const struct oracle_setup *setup,
                        struct arena *arena)
{
    const struct model *model = &setup->plan->model;
    uint64_t H = model->hidden, E = model->moe.experts + model->moe.zero_experts;
    *router = (struct oracle_router){.setup = setup,
                                     .hidden = H,
                                     .experts = E,
                                     .top_k = setup->sample->K,
                                     .matrix = arena_alloc(arena, H * E, sizeof(float)),
                                     .bias = arena_alloc(arena, E, sizeof(float)),
                                     .logits = arena_alloc(arena, E, sizeof(double)),
                                     .dlogits = arena_alloc(arena, E, sizeof(double)),
                                     .squares = arena_alloc(arena, E, sizeof(double)),
                                     .input = arena_alloc(arena, H, sizeof(double)),
                                     .dinput = arena_alloc(arena, H, sizeof(double)),
                                     .x = arena_alloc(arena, H, sizeof(double)),
                                     .x2 = arena_alloc(arena, H, sizeof(double)),
                                     .dinput2 = arena_alloc(arena, H, sizeof(double)),
                                     .scaled = model->moe.router.learned_scale};
    const struct inputs *inputs = setup->inputs;
    for (uint64_t h = 0; !inputs->gate && h < H; h++)
        inputs->row(inputs, FILL_ROUTER, 0, h, 0, E, router->matrix + h * E);
    if (model->moe.router.linear_bias)
        inputs->row(inputs, FILL_LINEAR_BIAS, 0, 0, 0, E, router->bias);
    if (router->scaled)
        oracle_norm_init(&router->norm, setup, FILL_ROUTER_NORM, H, true, arena);
    load_factors(router, arena);
}

static double score_of(enum router_score kind, double logit, double denominator)
{
    if (kind == SCORE_SIGMOID)
        return 1 / (1 + exp(-logit));
    if (kind == SCORE_SQRTSOFTPLUS)
        return sqrt(log(1 + exp(logit)));
    return exp(logit) / denominator;
}

/* The sum a softmax divides by: over all experts, or over the chosen ones. */
static double denominator_of(const struct oracle_router *router, const int32_t *ids)
{
    const struct router *rule = &router->setup->plan->model.moe.router;
    double sum = 0;
    if (rule->order == ORDER_SCORE_THEN_TOPK)
        for (uint64_t e = 0; e < router->experts; e++)
            sum += exp(router->logits[e]);
    else
        for (uint64_t k = 0; k < router->top_k; k++)
            sum += exp(router->logits[ids[k]]);
    return sum;
}

static void gates_of(const struct oracle_router *router, const int32_t *ids, double *gates)
{
    const struct router *rule = &router->setup->plan->model.moe.router;
    double denominator = denominator_of(router, ids), sum = 0;
    for (uint64_t k = 0; k < router->top_k; k++)
        sum += gates[k] = score_of(rule->score, router->logits[ids[k]], denominator);
    for (uint64_t k = 0; k < router->top_k; k++)
        gates[k] *= rule->scale / (rule->normalize ? sum : 1) * router->factor[ids[k]];
}

void oracle_router_gates(struct oracle_router *router, const double *x, const int32_t *ids,
                         double *gates)
{
    for (uint64_t e = 0; e < router->experts; e++)
        router->logits[e] = (double)router->bias[e] - 3;
    for (uint64_t k = 0; k < router->top_k; k++)
        router->logits[ids[k]] += 6;
    if (router->scaled)
        oracle_norm_row(&router->norm, x, router->input, NULL, NULL);
    else
        memcpy(router->input, x, router->hidden * sizeof *x);
    for (uint64_t h = 0; h < router->hidden; h++)
        for (uint64_t e = 0; e < router->experts; e++)
            router->logits[e] +=
                router->input[h] * (double)router->matrix[h * router->experts + e];
    gates_of(router, ids, gates);
}

/* dot(dgates, gates) as a function of the logits, differentiated one logit at a time. */
static double loss(const struct oracle_router *router, const int32_t *ids, const double *dgates)
{
    double gates[PLAN_LIST], sum = 0;
    gates_of(router, ids, gates);
    for (uint64_t k = 0; k < router->top_k; k++)
        sum += dgates[k] * gates[k];
    return sum;
}

/* After oracle_router_gates of the same token: dlogits [experts] from dgates [K]. */
static void load_dlogits(struct oracle_router *router, const int32_t *ids, const double *dgates)
{
    const double step = 1e-5;
    for (uint64_t e = 0; e < router->experts; e++) {
        double logit = router->logits[e];
        router->logits[e] = logit + step;
        double above = loss(router, ids, dgates);
        router->logits[e] = logit - step;
        router->dlogits[e] = (above - loss(router, ids, dgates)) / (2 * step);
        router->logits[e] = logit;
    }
}

/* ---- what tokens make of its gradients ---- */

/* A softmax subtracts products of gates and their gradients, often to nothing at all. */
static double logit_square(const struct oracle *o, uint64_t n, const double *gates)
{
    double squares = 0;
    for (uint64_t k = 0; k < o->K; k++)
        squares += gates[k] * gates[k] * o->squares.dgates[n * o->K + k];
    return squares;
}

/* Gradients of the matrix and of its bias. */
static void add_matrix(struct oracle_router *router, struct oracle *o, uint64_t local)
{
    uint64_t H = o->H, E = o->E;
    if (!o->drouter)
        return;
    oracle_outer(router->input, H, router->dlogits, E, 1,
                 oracle_kept(o, o->drouter, H, E, local));
    oracle_add(o->dlinear_bias + local * E, router->dlogits, E, 1);
    if (!o->squares.drouter)
        return;
    oracle_squares_of(router->input, H, router->x2);
    oracle_outer_squares(router->x2, H, router->squares, E, 1, o->squares.drouter + local * E);
    oracle_add(o->squares.dlinear_bias + local * E, router->squares, E, 1);
}

/* dinput, of what the matrix multiplies, from dlogits; its squares from theirs. */
static void load_dinput(struct oracle_router *router, bool with_squares)
{
    uint64_t E = router->experts;
    for (uint64_t h = 0; h < router->hidden; h++) {
        const float *weight = router->matrix + h * E;
        router->dinput[h] = router->dinput2[h] = 0;
        for (uint64_t e = 0; e < E; e++)
            router->dinput[h] += router->dlogits[e] * (double)weight[e];
        for (uint64_t e = 0; with_squares && e < E; e++)
            router->dinput2[h] += router->squares[e] * (double)weight[e] * (double)weight[e];
    }
}

/* The gradient of the token, through its norm where it has one, and of that one's weights. */
static void add_input(struct oracle_router *router, struct oracle *o, uint64_t local,
                      uint64_t n)
{
    uint64_t H = o->H;
    bool squares = o->squares.dx != NULL;
    double *dinput2 = squares ? router->dinput2 : NULL;
    load_dinput(router, squares);
    oracle_squares_of(router->x, H, router->x2);
    if (router->scaled && o->drouter_norm)
        oracle_norm_weights(&router->norm, router->x, router->x2, router->dinput, dinput2,
                            o->drouter_norm + local * H,
                            squares ? o->squares.drouter_norm + local * H : NULL);
    if (router->scaled)
        oracle_norm_back(&router->norm, router->x, router->x2, router->dinput, dinput2);
    oracle_add(o->dx + n * H, router->dinput, H, 1);
    if (squares)
        oracle_add(o->squares.dx + n * H, dinput2, H, 1);
}

static void add_token(struct oracle_router *router, struct oracle *o, uint64_t local,
                      uint64_t n, const int32_t *ids)
{
    double gates[PLAN_LIST];
    oracle_router_gates(router, router->x, ids, gates);
    load_dlogits(router, ids, o->dgates + n * o->K);
    double square = o->squares.dx ? logit_square(o, n, gates) : 0;
    for (uint64_t e = 0; e < o->E; e++)
        router->squares[e] = square;
    add_matrix(router, o, local);
    add_input(router, o, local, n);
}

/* Gates are the factors times what they were before. */
static void add_factors(const struct oracle_router *router, struct oracle *o, uint64_t local,
                        uint64_t n, const int32_t *ids, const double *gates)
{
    for (uint64_t k = 0; k < o->K; k++) {
        uint64_t e = (uint64_t)ids[k];
        double before = gates[k] / router->factor[e];
        o->dgate_scale[local * o->E + e] += before * o->dgates[n * o->K + k];
        if (o->squares.dgate_scale)
            o->squares.dgate_scale[local * o->E + e] +=
                before * before * o->squares.dgates[n * o->K + k];
    }
}

void oracle_router_tokens(struct oracle_router *router, struct oracle *o,
                          const struct oracle_tokens *tokens)
{
    const struct layer_sample *s = o->setup.sample;
    for (uint64_t i = 0; i < o->setup.n_ranks; i++)
        for (uint64_t t = 0; t < s->T; t += o->setup.stride) {
            uint64_t rank = o->setup.first_rank + i, n = oracle_number(o, rank, t);
            uint64_t at = (rank * s->T + t) * s->K;
            tokens->load(tokens->context, FILL_X, rank, t, router->x);
            if (!o->setup.inputs->gate)
                add_token(router, o, i, n, s->ids + at);
            if (o->dgate_scale && router->scaled)
                add_factors(router, o, i, n, s->ids + at, tokens->gates + at);
        }
}
