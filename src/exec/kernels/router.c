/* The router: scores, top-k, their gradient, and replicas. Rules: seed-systems.md B1; ties go
 * to the lowest index. Scores are computed in f64 and rounded once. */
#include "exec/kernels/kernel.h"

#include <math.h>
#include <string.h>

/* Lifts the wanted experts over the others by more than logits differ. */
static const double router_lift = 3;

/* One token's view. score and key: [E]; key is what experts are chosen by. */
struct token {
    const struct router *router;
    uint64_t experts, top_k;
    double *score, *key;
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Scores of n logits, in place. */
static void score(enum router_score kind, double *values, uint64_t n)
{
    double largest = -HUGE_VAL, sum = 0;
    for (uint64_t i = 0; i < n; i++)
        largest = fmax(largest, values[i]);
    for (uint64_t i = 0; i < n; i++) {
        if (kind == SCORE_SIGMOID)
            values[i] = sigmoid(values[i]);
        else if (kind == SCORE_SQRTSOFTPLUS)
            values[i] = sqrt(log1p(exp(values[i])));
        else
            sum += values[i] = exp(values[i] - largest);
    }
    for (uint64_t i = 0; kind == SCORE_SOFTMAX && i < n; i++)
        values[i] /= sum;
}

static uint64_t largest_of(const double *key, uint64_t begin, uint64_t end)
{
    uint64_t best = begin;
    for (uint64_t i = begin + 1; i < end; i++)
        if (key[i] > key[best])
            best = i;
    return best;
}

/* The sum of a group's two largest keys. */
static double group_score(const double *key, uint64_t begin, uint64_t end)
{
    uint64_t first = largest_of(key, begin, end);
    double second = -HUGE_VAL;
    for (uint64_t i = begin; i < end; i++)
        if (i != first)
            second = fmax(second, key[i]);
    return key[first] + second;
}

/* Keeps the best top_groups groups; the keys of the others become -inf. `kept` has one value
 * per group. */
static void limit_groups(const struct token *token, double *kept)
{
    uint64_t groups = token->router->groups, size = token->experts / groups;
    for (uint64_t g = 0; g < groups; g++)
        kept[g] = group_score(token->key, g * size, (g + 1) * size);
    for (uint64_t i = 0; i < token->router->top_groups; i++)
        kept[largest_of(kept, 0, groups)] = -HUGE_VAL;
    for (uint64_t g = 0; g < groups; g++)
        for (uint64_t e = g * size; kept[g] > -HUGE_VAL && e < (g + 1) * size; e++)
            token->key[e] = -HUGE_VAL;
}

static void choose(const struct token *token, int32_t *ids)
{
    for (uint64_t k = 0; k < token->top_k; k++) {
        uint64_t best = largest_of(token->key, 0, token->experts);
        ids[k] = (int32_t)best;
        token->key[best] = -HUGE_VAL;
    }
}

/* Scores of the chosen experts, before normalisation. */
static void chosen_scores(const struct token *token, const int32_t *ids, double *chosen)
{
    for (uint64_t k = 0; k < token->top_k; k++)
        chosen[k] = token->score[ids[k]];
    if (token->router->order == ORDER_TOPK_THEN_SCORE)
        score(token->router->score, chosen, token->top_k);
}

static void write_gates(const struct token *token, const double *chosen, float *gates)
{
    double sum = 0;
    for (uint64_t k = 0; k < token->top_k; k++)
        sum += chosen[k];
    double factor = token->router->scale / (token->router->normalize ? sum : 1);
    for (uint64_t k = 0; k < token->top_k; k++)
        gates[k] = (float)(chosen[k] * factor);
}

/* scratch: score [E], key [E], and [E] for groups or chosen scores */
static struct token token_of(const struct call *call, void *scratch)
{
    double *values = scratch;
    uint64_t experts = call->of[ROLE_LOGITS].width;
    return (struct token){&call->task->plan->model.moe.router, experts, call->task->sample->K,
                          values, values + experts};
}

static void load_scores(const struct call *call, const struct token *token, uint64_t t,
                        const int32_t *wanted, const struct tensor *bias)
{
    const float *logits = tensor_f32(&call->of[ROLE_LOGITS]) + t * token->experts;
    for (uint64_t e = 0; e < token->experts; e++)
        token->score[e] = (double)logits[e] - router_lift;
    for (uint64_t k = 0; k < token->top_k; k++)
        token->score[wanted[k]] += 2 * router_lift;
    if (token->router->order == ORDER_SCORE_THEN_TOPK)
        score(token->router->score, token->score, token->experts);
    for (uint64_t e = 0; e < token->experts; e++)
        token->key[e] = token->score[e] + (bias->present ? (double)tensor_f32(bias)[e] : 0);
}

static bool same_set(const int32_t *a, const int32_t *b, uint64_t n)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < n; j++)
            found += a[i] == b[j];
    return found == n;
}

static bool route(const struct call *call, uint64_t t, void *scratch)
{
    uint64_t K = call->task->sample->K;
    const int32_t *wanted = tensor_i32(&call->of[ROLE_WANTED]) + t * K;
    int32_t *ids = tensor_i32(&call->of[ROLE_IDS]) + t * K;
    float *gates = tensor_f32(&call->of[ROLE_GATES]) + t * K;
    const struct inputs *inputs = call->task->inputs;
    if (inputs->gate) {
        memcpy(ids, wanted, K * sizeof *ids);
        for (uint64_t k = 0; k < K; k++)
            gates[k] = inputs->gate(inputs, call->rank * call->task->sample->T + t, k);
        return true;
    }
    struct token token = token_of(call, scratch);
    double *rest = token.key + token.experts;
    load_scores(call, &token, t, wanted, &call->of[ROLE_BIAS]);
    if (token.router->groups > 1)
        limit_groups(&token, rest);
    choose(&token, ids);
    chosen_scores(&token, ids, rest);
    write_gates(&token, rest, gates);
    return same_set(ids, wanted, K);
}

static uint64_t token_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_LOGITS].rows);
}

static enum status topk_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_IDS].rows, &begin, &end);
    for (uint64_t t = begin; t < end; t++)
        if (!route(call, t, scratch))
            return err_set(err, STATUS_MISMATCH,
                           "token %llu of rank %llu: the router chose other experts than the "
                           "routing sample",
                           (unsigned long long)t, (unsigned long long)call->rank);
    return STATUS_OK;
}

/* ---- gradient ---- */

/* d score / d logit, from the logit and its score (softmax apart). */
static double slope(enum router_score kind, double logit, double value)
{
    if (kind == SCORE_SIGMOID)
        return value * (1 - value);
    return value > 0 ? sigmoid(logit) / (2 * value) : 0;
}

/* ds from dg: g = scale s / sum(s), or scale s. In place. */
static void unnormalize(const struct router *router, const double *s, double *ds, uint64_t n)
{
    double sum = 0, dot = 0;
    for (uint64_t k = 0; k < n; k++) {
        sum += s[k];
        dot += ds[k] * s[k];
    }
    for (uint64_t k = 0; k < n; k++)
        ds[k] = router->normalize ? router->scale * (ds[k] / sum - dot / (sum * sum))
                                  : router->scale * ds[k];
}

/* Adds the gradient of the scores to that of the logits. */
static void logits_grad(const struct token *token, const struct call *call, uint64_t t,
                        const int32_t *ids, const double *s, const double *ds, float *dlogits)
{
    enum router_score kind = token->router->score;
    double dot = 0;
    for (uint64_t k = 0; k < token->top_k; k++)
        dot += ds[k] * s[k];
    bool all = kind == SCORE_SOFTMAX && token->router->order == ORDER_SCORE_THEN_TOPK;
    for (uint64_t e = 0; all && e < token->experts; e++)
        dlogits[e] = (float)(-token->score[e] * dot);
    for (uint64_t k = 0; k < token->top_k; k++) {
        double logit =
            (double)tensor_f32(&call->of[ROLE_LOGITS])[t * token->experts + (uint64_t)ids[k]];
        double grad = kind == SCORE_SOFTMAX ? s[k] * (ds[k] - dot)
                                            : ds[k] * slope(kind, logit + router_lift, s[k]);
        dlogits[ids[k]] = (float)grad;
    }
}

static enum status topk_grad_run(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    (void)err;
    struct token token = token_of(call, scratch);
    struct tensor no_bias = {.present = false};
    double *s = token.key + token.experts, *ds = s + token.top_k;
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    for (uint64_t t = begin; t < end; t++) {
        float *dlogits = tensor_f32(&call->of[ROLE_DST]) + t * token.experts;
        memset(dlogits, 0, token.experts * sizeof *dlogits);
        if (call->task->inputs->gate)
            continue; /* the gates were given: nothing flows through the router */
        const int32_t *ids = tensor_i32(&call->of[ROLE_IDS]) + t * token.top_k;
        const float *dgates = tensor_f32(&call->of[ROLE_D_GATES]) + t * token.top_k;
        load_scores(call, &token, t, ids, &no_bias);
        chosen_scores(&token, ids, s);
        for (uint64_t k = 0; k < token.top_k; k++)
            ds[k] = (double)dgates[k];
        unnormalize(token.router, s, ds, token.top_k);
        logits_grad(&token, call, t, ids, s, ds, dlogits);
    }
    return STATUS_OK;
}

/* ---- factors of gates ---- */

static uint64_t gate_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_GATES].rows);
}

static enum status scale_gates_run(struct call *call, uint64_t unit, void *scratch,
                                   struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t K = call->of[ROLE_GATES].width, begin, end;
    const float *gates = tensor_f32(&call->of[ROLE_GATES]),
                *weight = tensor_f32(&call->of[ROLE_WEIGHT]);
    const int32_t *ids = tensor_i32(&call->of[ROLE_IDS]);
    kernel_rows_of(unit, call->of[ROLE_GATES].rows, &begin, &end);
    for (uint64_t i = begin * K; i < end * K; i++)
        tensor_f32(&call->of[ROLE_DST])[i] = gates[i] * weight[ids[i]];
    return STATUS_OK;
}

/* One unit: an expert's slots may be anywhere. */
static enum status scale_gates_wgrad_run(struct call *call, uint64_t unit, void *scratch,
                                         struct err *err)
{
    (void)unit;
    (void)err;
    const struct tensor *gates = &call->of[ROLE_GATES], *out = &call->of[ROLE_D_WEIGHT];
    const float *d = tensor_f32(&call->of[ROLE_D_GATES]);
    const int32_t *ids = tensor_i32(&call->of[ROLE_IDS]);
    double *sum = scratch;
    memset(sum, 0, out->width * sizeof *sum);
    for (uint64_t i = 0; i < gates->rows * gates->width; i++)
        sum[ids[i]] += (double)tensor_f32(gates)[i] * (double)d[i];
    for (uint64_t e = 0; e < out->width; e++)
        tensor_f32(out)[e] = (float)sum[e];
    return STATUS_OK;
}

/* ---- replicas ---- */

static enum status place_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)unit;
    (void)err;
    struct layer_sample tables = *call->task->sample;
    tables.start = tensor_i32(&call->of[ROLE_START]);
    tables.replica = tensor_i32(&call->of[ROLE_REPLICA]);
    memset(scratch, 0, tables.logical * sizeof(uint64_t));
    layer_sample_place(&tables, tensor_i32(&call->of[ROLE_IDS]), call->of[ROLE_IDS].rows,
                       scratch, tensor_i32(&call->of[ROLE_PHYS]));
    return STATUS_OK;
}

void kernels_add_router(struct kernels *kernels)
{
    kernels->table[KERNEL_TOPK] = (struct kernel_ops){token_units, topk_run, NULL};
    kernels->table[KERNEL_TOPK_GRAD] = (struct kernel_ops){token_units, topk_grad_run, NULL};
    kernels->table[KERNEL_SCALE_GATES] = (struct kernel_ops){gate_units, scale_gates_run, NULL};
    kernels->table[KERNEL_SCALE_GATES_WGRAD] =
        (struct kernel_ops){NULL, scale_gates_wgrad_run, NULL};
    kernels->table[KERNEL_PLACE] = (struct kernel_ops){NULL, place_run, NULL};
}
