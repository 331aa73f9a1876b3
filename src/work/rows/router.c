/* Routers, loss-free balancing, capacity; see router.h. */
#include "work/rows/router.h"

#include <assert.h>
#include <math.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double sqrtsoftplus(double x)
{
    return sqrt(x > 30 ? x : log1p(exp(x)));
}

/* Scores of n logits, in place. */
static void score(enum router_score kind, double *values, uint64_t n)
{
    if (kind != SCORE_SOFTMAX) {
        for (uint64_t i = 0; i < n; i++)
            values[i] = kind == SCORE_SIGMOID ? sigmoid(values[i]) : sqrtsoftplus(values[i]);
        return;
    }
    double most = values[0], sum = 0;
    for (uint64_t i = 1; i < n; i++)
        most = values[i] > most ? values[i] : most;
    for (uint64_t i = 0; i < n; i++)
        sum += values[i] = exp(values[i] - most);
    for (uint64_t i = 0; i < n; i++)
        values[i] /= sum;
}

void router_top(const double *values, uint64_t n, uint64_t k, int32_t *best)
{
    assert(k <= n);
    for (uint64_t i = 0; i < k; i++) {
        uint64_t found = n;
        for (uint64_t e = 0; e < n; e++) {
            /* An expert stands behind those chosen when it is worse, or equal and later. */
            bool after = i == 0 || values[e] < values[best[i - 1]] ||
                         (!(values[e] > values[best[i - 1]]) && (int32_t)e > best[i - 1]);
            if (after && (found == n || values[e] > values[found]))
                found = e;
        }
        best[i] = (int32_t)found;
    }
}

/* The two best of n values added; the best alone when only one counts. */
static double group_score(const double *values, uint64_t n, bool two)
{
    double first = -HUGE_VAL, second = -HUGE_VAL;
    for (uint64_t i = 0; i < n; i++) {
        if (values[i] > first) {
            second = first;
            first = values[i];
        } else if (values[i] > second) {
            second = values[i];
        }
    }
    return two && n > 1 ? first + second : first;
}

/* Sets the experts of all but the best groups to -infinity. */
static void limit_groups(const struct router *router, uint64_t experts, double *choice,
                         double *groups)
{
    uint64_t size = experts / router->groups;
    for (uint64_t g = 0; g < router->groups; g++)
        groups[g] = group_score(choice + g * size, size, router->bias);
    for (uint64_t g = 0; g < router->groups; g++) {
        uint64_t better = 0;
        for (uint64_t h = 0; h < router->groups; h++)
            better += groups[h] > groups[g] || (h < g && !(groups[h] < groups[g]));
        for (uint64_t e = g * size; better >= router->top_groups && e < (g + 1) * size; e++)
            choice[e] = -HUGE_VAL;
    }
}

static void choose_one(const struct router *router, uint64_t experts, uint64_t k,
                       const float *logits, const float *bias, double *scratch, int32_t *ids,
                       float *gates)
{
    double *scores = scratch, *choice = scratch + experts, sum = 0;
    bool over_all = router->order == ORDER_SCORE_THEN_TOPK;
    for (uint64_t e = 0; e < experts; e++)
        scores[e] = (double)logits[e];
    if (over_all)
        score(router->score, scores, experts);
    for (uint64_t e = 0; e < experts; e++)
        choice[e] = scores[e] + (bias ? (double)bias[e] : 0);
    if (router->groups > 1)
        limit_groups(router, experts, choice, scratch + 2 * experts);
    router_top(choice, experts, k, ids);
    for (uint64_t i = 0; i < k; i++)
        choice[i] = scores[ids[i]];
    if (!over_all)
        score(router->score, choice, k);
    for (uint64_t i = 0; i < k; i++)
        sum += choice[i];
    double scale = router->scale > 0 ? router->scale : 1;
    if (router->normalize && k > 1)
        scale /= sum;
    for (uint64_t i = 0; i < k; i++)
        gates[i] = (float)(choice[i] * scale);
}

void router_choose(const struct router *router, uint64_t experts, uint64_t top_k, uint64_t n,
                   const float *logits, const float *bias, double *scratch, int32_t *ids,
                   float *gates)
{
    for (uint64_t t = 0; t < n; t++)
        choose_one(router, experts, top_k, logits + t * experts, bias, scratch, ids + t * top_k,
                   gates + t * top_k);
}

void router_update_bias(float *bias, const uint64_t *tokens, uint64_t experts, double rate)
{
    double mean = 0;
    for (uint64_t e = 0; e < experts; e++)
        mean += (double)tokens[e] / (double)experts;
    for (uint64_t e = 0; e < experts; e++) {
        double sign = (mean > (double)tokens[e]) - (mean < (double)tokens[e]);
        bias[e] = (float)((double)bias[e] + rate * sign);
    }
}

double router_slots(uint64_t tokens, uint64_t top_k, uint64_t experts, double factor)
{
    return ceil((double)tokens * (double)top_k * factor / (double)experts - 1e-9);
}

uint64_t router_capacity(uint64_t tokens, uint64_t top_k, uint64_t experts, double factor)
{
    double slots = router_slots(tokens, top_k, experts, factor);
    return slots < (double)tokens ? (uint64_t)slots : tokens;
}
