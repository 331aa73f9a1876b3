/* Gates by definition, gradients by central differences of the definition: independent of the
 * formulas of the kernels. */
#include "exec/verify/oracle_router.h"

#include <math.h>

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
                                     .squares = arena_alloc(arena, E, sizeof(double))};
    const struct inputs *inputs = setup->inputs;
    for (uint64_t h = 0; !inputs->gate && h < H; h++)
        inputs->row(inputs, FILL_ROUTER, 0, h, 0, E, router->matrix + h * E);
    if (model->moe.router.linear_bias)
        inputs->row(inputs, FILL_LINEAR_BIAS, 0, 0, 0, E, router->bias);
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
        gates[k] *= rule->scale / (rule->normalize ? sum : 1);
}

void oracle_router_gates(struct oracle_router *router, const double *x, const int32_t *ids,
                         double *gates)
{
    for (uint64_t e = 0; e < router->experts; e++)
        router->logits[e] = (double)router->bias[e] - 3;
    for (uint64_t k = 0; k < router->top_k; k++)
        router->logits[ids[k]] += 6;
    for (uint64_t h = 0; h < router->hidden; h++)
        for (uint64_t e = 0; e < router->experts; e++)
            router->logits[e] += x[h] * (double)router->matrix[h * router->experts + e];
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

void oracle_router_backward(struct oracle_router *router, const int32_t *ids,
                            const double *dgates)
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
