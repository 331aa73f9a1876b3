/* Loss-free balancing, step by step; see balance.h. */
#include "sim/moe/balance.h"

#include "base/rng.h"
#include "work/rows/router.h"

enum { WINDOW = 10, BALANCE_PURPOSE = 16 };

struct recovery {
    const struct rows *rows;
    struct router router; /* with a bias, whatever the model's has */
    float *logits, *bias, *gates;
    double *scratch;
    int32_t *ids;
    uint64_t *counts; /* [E] of a step */
    uint64_t *window; /* [E] of ten steps */
};

static void recovery_init(struct recovery *r, const struct rows *rows, struct arena *arena)
{
    uint64_t e = rows->spec.experts, k = rows->spec.top_k;
    *r = (struct recovery){.rows = rows, .router = rows->spec.router};
    r->router.bias = true;
    r->router.order = ORDER_SCORE_THEN_TOPK;
    r->logits = arena_alloc(arena, e, sizeof *r->logits);
    r->bias = arena_alloc(arena, e, sizeof *r->bias);
    r->gates = arena_alloc(arena, k, sizeof *r->gates);
    r->scratch = arena_alloc(arena, 2 * e + rows->groups + r->router.groups, sizeof(double));
    r->ids = arena_alloc(arena, k, sizeof *r->ids);
    r->counts = arena_alloc(arena, e, sizeof *r->counts);
    r->window = arena_alloc(arena, e, sizeof *r->window);
}

/* Routes the tokens of a step into the counts. */
static void run_step(struct recovery *r, uint64_t step, uint64_t tokens)
{
    uint64_t experts = r->rows->spec.experts, k = r->rows->spec.top_k;
    for (uint64_t e = 0; e < experts; e++)
        r->counts[e] = 0;
    for (uint64_t t = 0; t < tokens; t++) {
        struct rng rng;
        rng_init(&rng, r->rows->spec.routing.seed, BALANCE_PURPOSE, (uint32_t)step, 0,
                 (uint32_t)t);
        for (uint64_t e = 0; e < experts; e++)
            r->logits[e] = (float)(r->rows->log_weight[e] - rng_log(rng_exponential(&rng)));
        router_choose(&r->router, experts, k, 1, r->logits, r->bias, r->scratch, r->ids,
                      r->gates);
        for (uint64_t i = 0; i < k; i++)
            r->counts[r->ids[i]]++;
    }
}

/* Fullest expert over mean of the window, which starts again. */
static double close_window(struct recovery *r)
{
    uint64_t experts = r->rows->spec.experts, most = 0, sum = 0;
    for (uint64_t e = 0; e < experts; e++) {
        most = r->window[e] > most ? r->window[e] : most;
        sum += r->window[e];
        r->window[e] = 0;
    }
    return sum ? (double)most * (double)experts / (double)sum : 1;
}

void balance_recover(const struct rows *rows, const struct balance_ask *ask,
                     struct arena *arena, struct balance *out)
{
    struct recovery r;
    recovery_init(&r, rows, arena);
    *out = (struct balance){0};
    for (uint64_t s = 1; s <= ask->steps; s++) {
        run_step(&r, s, ask->tokens);
        router_update_bias(r.bias, r.counts, rows->spec.experts, ask->rate);
        for (uint64_t e = 0; e < rows->spec.experts; e++)
            r.window[e] += r.counts[e];
        if (s % WINDOW)
            continue;
        out->after = close_window(&r);
        if (s == WINDOW)
            out->before = out->after;
        if (out->steps == 0 && out->after <= ask->goal)
            out->steps = s;
    }
}
