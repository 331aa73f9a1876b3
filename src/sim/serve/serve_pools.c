/* See serve_pools.h. */
#include "sim/serve/serve_pools.h"

#include <math.h>

#include "plan/derive.h"
#include "plan/pools.h"
#include "sim/serve/serve_play_parts.h"

/* Servers that are added one by one to two pools of which each keeps its limits alone. */
enum { MOST_ADDED = 32 };

/* So many servers of each pool. */
struct both {
    const struct serve_pools *pools;
    uint64_t prefill, decode;
    double rate, exposed_s;
};

void serve_pool_release(struct serve_pool *pool)
{
    arena_release(&pool->plays.arena);
}

static void find_capacity(struct serve_pool *pool)
{
    if (pool->plays.capacity_per_s > 0)
        return;
    pool->plays.game = &pool->game;
    pool->plays.capacity_per_s = serve_capacity(&pool->game, &pool->tokens);
}

void serve_pool_play(struct serve_pool *pool)
{
    find_capacity(pool);
    serve_fewest(&pool->plays);
}

/* ---- one request after the other ---- */

static bool keeps_up(const struct both *b, const struct serve_pool *pool, uint64_t n)
{
    return b->rate / (double)n < pool->plays.capacity_per_s;
}

/* Of so many servers each; false: a queue grows without end. */
static bool play(const struct both *b, uint64_t prefill, uint64_t decode, struct arena *arena,
                 struct scheduler_result *out)
{
    struct serve_pool *prompts = b->pools->prefill, *answers = b->pools->decode;
    if (!keeps_up(b, prompts, prefill) || !keeps_up(b, answers, decode))
        return false;
    const struct scheduler_result *p = &serve_plays_of(&prompts->plays, prefill)->result;
    struct scheduler_result d =
        serve_copy(&serve_plays_of(&answers->plays, decode)->result, arena);
    uint64_t n = p->n < d.n ? p->n : d.n;
    for (uint64_t i = 0; i < n; i++) {
        d.ttft_s[i] += p->ttft_s[i] + b->exposed_s;
        d.latency_s[i] += p->latency_s[i] + b->exposed_s;
    }
    d.input_tokens = p->input_tokens / p->n * n;
    d.output_tokens = d.output_tokens / d.n * n;
    d.n = n;
    *out = d;
    return true;
}

static double kept(const struct both *b, uint64_t prefill, uint64_t decode)
{
    struct arena arena = {0};
    struct scheduler_result r;
    double share = play(b, prefill, decode, &arena, &r)
                       ? serve_within(&b->pools->decode->game, &r, &arena)
                       : 0;
    arena_release(&arena);
    return share;
}

/* ---- how many of each ---- */

/* The fewest of each that keep the limits by themselves, then the one more that helps most for
 * its devices, until both together keep them. 0: none do. */
static void find_fewest(const struct both *b, const struct serve_apart *a, uint64_t *prefill,
                        uint64_t *decode)
{
    double wanted = b->pools->plan->workload.limit.share;
    uint64_t p = serve_fewest(&b->pools->prefill->plays);
    uint64_t d = serve_fewest(&b->pools->decode->plays);
    *prefill = *decode = 0;
    if (!p || !d)
        return;
    double share = serve_is_limited(b->pools->plan) ? kept(b, p, d) : wanted;
    for (unsigned i = 0; share < wanted; i++) {
        double more_p = kept(b, p + 1, d), more_d = kept(b, p, d + 1);
        bool first = (more_p - share) / (double)a->prefill_devices >=
                     (more_d - share) / (double)a->decode_devices;
        if (i == MOST_ADDED)
            return;
        p += first;
        d += !first;
        share = first ? more_p : more_d;
    }
    *prefill = p;
    *decode = d;
}

/* Where the plan leaves a number open: the fewest that will do, or at least keep up. */
static uint64_t number(uint64_t said, uint64_t fewest, const struct both *b,
                       const struct serve_pool *pool)
{
    uint64_t stable = (uint64_t)(b->rate / pool->plays.capacity_per_s) + 1;
    return said ? said : fewest ? fewest : stable;
}

/* ---- the open loop ---- */

static void report_rate(const struct both *b, struct serve_times *out)
{
    struct arena arena = {0};
    struct scheduler_result r;
    out->requests_per_s = b->rate;
    out->tokens_per_s = b->rate * b->pools->decode->tokens;
    if (!play(b, b->prefill, b->decode, &arena, &r)) {
        serve_overload(out, b->pools->decode->tokens);
    } else {
        if (serve_is_limited(b->pools->plan)) {
            out->within = serve_within(&b->pools->decode->game, &r, &arena);
            out->goodput_per_s = out->within * b->rate;
        }
        serve_report(&b->pools->decode->game, &r, out);
    }
    arena_release(&arena);
}

/* What all servers can do beside what arrives. */
static void report_queue(const struct both *b, struct serve_times *out)
{
    struct serve_apart *a = &out->apart;
    double links =
        fmin(a->link_per_s * (double)a->prefill, a->receive_per_s * (double)a->decode);
    double prompts = (double)b->prefill * b->pools->prefill->plays.capacity_per_s;
    double answers = (double)b->decode * b->pools->decode->plays.capacity_per_s;
    double error = b->pools->decode->game.rates->error;
    out->request_rate = b->rate;
    out->capacity_per_s = fmin(links, fmin(prompts, answers));
    out->utilization = b->rate / out->capacity_per_s;
    out->queue = out->utilization >= 1                 ? "overloaded"
                 : out->utilization * (1 + error) >= 1 ? "marginal"
                                                       : "stable";
    a->limited_by = answers <= fmin(prompts, links) ? "decode"
                    : links < prompts               ? "link"
                                                    : "prefill";
    a->prefill_busy = b->rate / prompts;
    a->decode_busy = b->rate / answers;
}

static void play_open(const struct serve_pools *g, const struct serve_apart_ask *ask,
                      struct serve_times *out)
{
    struct serve_apart *a = &out->apart;
    struct both b = {.pools = g};
    struct serve_apart_ask said = *ask;
    b.rate = g->plan->workload.request_rate;
    b.exposed_s = a->exposed_s;
    find_capacity(g->prefill);
    find_capacity(g->decode);
    uint64_t p, d;
    find_fewest(&b, a, &p, &d);
    said.n_prefill = b.prefill = number(ask->n_prefill, p, &b, g->prefill);
    said.n_decode = b.decode = number(ask->n_decode, d, &b, g->decode);
    serve_apart_of(&said, a);
    a->fewest_prefill = p;
    a->fewest_decode = d;
    report_queue(&b, out);
    if (out->utilization >= 1)
        serve_overload(out, g->decode->tokens);
    else
        report_rate(&b, out);
}

/* ---- the closed loop ---- */

static void settle_closed(const struct serve_pools *g, const struct serve_apart_ask *ask,
                          struct serve_times *out)
{
    struct serve_apart *a = &out->apart;
    struct serve_closed closed;
    const struct workload *w = &g->plan->workload;
    double *const unknown[] = {&out->ttft_p50_s,   &out->ttft_p95_s, &out->ttft_p99_s,
                               &out->tpot_p95_s,   &out->tpot_p99_s, &out->latency_p95_s,
                               &out->latency_p99_s};
    double in_flight = (double)w->concurrency * (double)(ask->n_decode ? 1 : a->decode);
    serve_apart_closed(ask, a, in_flight, &closed);
    for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++)
        *unknown[i] = (double)NAN;
    double output = closed.output, rate = closed.requests_per_s;
    out->requests_per_s = rate;
    out->tokens_per_s = rate * output;
    out->ttft_s = closed.ttft_s;
    out->tpot_s = closed.tpot_s;
    out->latency_s = out->latency_mean_s = closed.ttft_s + (output - 1) * closed.tpot_s;
    out->waiting = (uint64_t)closed.waiting;
    a->limited_by = closed.limited_by;
    a->prefill_busy = rate / ((double)a->prefill * a->prefill_per_s);
    a->decode_busy = rate / ((double)a->decode * a->decode_per_s);
}

void serve_pools_play(const struct serve_pools *g, struct serve_times *out)
{
    const struct serve_apart_ask ask = {
        .prefill = serve_side(&g->prefill->game),
        .decode = serve_side(&g->decode->game),
        .n_prefill = plan_deployments(g->plan, DUTY_PROMPTS),
        .n_decode = plan_deployments(g->plan, DUTY_ANSWERS),
    };
    struct serve_apart *a = &out->apart;
    out->request_rate = out->capacity_per_s = out->utilization = (double)NAN;
    out->within = out->goodput_per_s = (double)NAN;
    serve_apart_of(&ask, a);
    if (!a->present) {
        serve_overload(out, 0);
        return;
    }
    if (plan_arrives(g->plan))
        play_open(g, &ask, out);
    else
        settle_closed(g, &ask, out);
    serve_report_intervals(g->decode->game.rates, out);
    a->tokens_per_s_per_device = out->tokens_per_s / (double)(a->prefill * a->prefill_devices +
                                                              a->decode * a->decode_devices);
}
