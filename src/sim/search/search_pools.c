/* See search_pools.h. */
#include "sim/search/search_pools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/derive.h"
#include "plan/pools.h"

enum { BATCH = 16, MOST_TOGETHER = 16, AROUND = 2 };

/* A scheduler that is played may answer more than full steps do (serve_capacity beside
 * serve_alone): by so much a bound of what arrives is taken lower. */
static const double PLAYED_MORE = 1.1;

static const enum duty duties[] = {DUTY_PROMPTS, DUTY_ANSWERS};

/* One pool of one plan: what is asked of it, and the layouts that stayed. */
struct pool_found {
    struct plan plan; /* of a server by itself */
    struct search_ask ask;
    struct search_hit *front;
    size_t n;
    uint64_t devices; /* of a server */
};

struct pair {
    size_t variant;
    const struct search_hit *side[2];
    uint64_t count[2]; /* 0: as many as the plan's rate needs */
    double bound;      /* of its score */
    size_t number;     /* breaks ties */
};

struct task {
    const struct pair *pair;
    struct pools_hit hit;
    bool taken;
};

struct worker {
    struct evaluator evaluator;
    struct plan plan, prefill;
};

struct search {
    const struct pools_ask *asks;
    size_t n;
    uint64_t devices;              /* most of both pools; 0: few of both */
    struct pool_found (*found)[2]; /* [n] */
    struct arena *arena;
    struct pair *pairs;
    size_t n_pairs, capacity;
    struct task tasks[BATCH];
    struct worker *workers;
    struct pools_result *result;
};

/* ---- each pool alone ---- */

static void ask_pool(const struct pools_ask *ask, unsigned side, struct pool_found *out)
{
    plan_pool(ask->plan, duties[side], 1, &out->plan);
    out->devices = plan_devices(&out->plan);
    out->ask = (struct search_ask){.plan = &out->plan,
                                   .routing = ask->routing,
                                   .profile = ask->profile,
                                   .space = ask->space[side],
                                   .marginal = ask->marginal,
                                   .at_most_bytes = ask->at_most_bytes,
                                   .alone = true,
                                   .every = true,
                                   .pool = ask->pool};
}

/* By requests a second, then by who is sooner, then by less memory. */
static int by_rate(const void *a, const void *b)
{
    const struct search_hit *x = a, *y = b;
    if (x->alone.per_s != y->alone.per_s)
        return x->alone.per_s > y->alone.per_s ? -1 : 1;
    if (x->alone.latency_s != y->alone.latency_s)
        return x->alone.latency_s < y->alone.latency_s ? -1 : 1;
    if (x->total_bytes != y->total_bytes)
        return x->total_bytes < y->total_bytes ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Later than the limit by itself: beside others nothing is sooner than alone. */
static bool is_late(const struct plan *pool, const struct search_hit *hit)
{
    const struct limit *limit = &pool->workload.limit;
    bool prompts = pool->workload.role == DUTY_PROMPTS;
    double most = prompts ? limit->ttft_s : limit->tpot_s;
    return most > 0 && hit->alone.latency_s > most;
}

static void keep_front(struct pool_found *found, struct search_result *r)
{
    double soonest = HUGE_VAL;
    qsort(r->best, r->n_best, sizeof *r->best, by_rate);
    found->front = r->best;
    for (size_t i = 0; i < r->n_best; i++) {
        const struct search_hit *hit = &r->best[i];
        if (hit->alone.latency_s >= soonest || is_late(&found->plan, hit))
            continue;
        soonest = hit->alone.latency_s;
        found->front[found->n++] = *hit;
    }
}

static bool is_alike(const struct pool_found *a, const struct pool_found *b)
{
    return memcmp(&a->plan, &b->plan, sizeof a->plan) == 0 &&
           memcmp(a->ask.space, b->ask.space, sizeof *a->ask.space) == 0;
}

static enum status search_pool(struct search *s, size_t variant, unsigned side, struct err *err)
{
    struct pool_found *own = &s->found[variant][side];
    struct search_result r;
    struct err why = {0};
    ask_pool(&s->asks[variant], side, own);
    for (size_t i = 0; i < variant; i++) {
        const struct pool_found *other = &s->found[i][side];
        if (!is_alike(own, other))
            continue;
        own->front = other->front;
        own->n = other->n;
        return STATUS_OK;
    }
    enum status status = search_run(&own->ask, 1, s->arena, &r, &why);
    if (status != STATUS_OK)
        return err_set(err, status, "servers that %s: %s", side ? "decode" : "prefill",
                       why.text);
    keep_front(own, &r);
    struct search_result *sum = &s->result->side[side];
    sum->points += r.points;
    sum->invalid += r.invalid;
    sum->too_large += r.too_large;
    sum->exact += r.exact;
    s->result->front[side] += own->n;
    return STATUS_OK;
}

/* ---- pairs ---- */

static uint64_t devices_of(const struct search *s, const struct pair *pair)
{
    const struct pool_found *found = s->found[pair->variant];
    return pair->count[0] * found[0].devices + pair->count[1] * found[1].devices;
}

/* Devices that the score counts: those there are to be used, or those that are. */
static double counted(const struct search *s, const struct pools_ask *ask, uint64_t devices)
{
    bool all = s->devices && !plan_arrives(ask->plan);
    return (double)(all ? s->devices : devices);
}

/* Of what arrives the fewest servers that keep up; of requests in flight at most what both
 * pools do when they are full, and no more than if none of them waited. */
static double bound_of(const struct search *s, const struct pair *pair)
{
    const struct pools_ask *ask = &s->asks[pair->variant];
    const struct serve_alone *p = &pair->side[0]->alone, *d = &pair->side[1]->alone;
    double output = serve_apart_output(&ask->plan->workload),
           rate = ask->plan->workload.request_rate;
    struct pair least = *pair;
    if (ask->objective == SEARCH_BY_TPOT)
        return d->latency_s;
    if (ask->objective == SEARCH_BY_TTFT)
        return p->latency_s;
    if (plan_arrives(ask->plan)) {
        for (unsigned i = 0; i < 2; i++)
            if (!least.count[i])
                least.count[i] =
                    (uint64_t)(rate / (PLAYED_MORE * pair->side[i]->alone.per_s)) + 1;
        return counted(s, ask, devices_of(s, &least)) / (rate * output);
    }
    double full = fmin((double)pair->count[0] * p->per_s, (double)pair->count[1] * d->per_s);
    double alone_s = p->latency_s + (output - 1) * d->latency_s;
    rate = fmin(full, (double)ask->plan->workload.concurrency / alone_s);
    return counted(s, ask, devices_of(s, pair)) / (rate * output);
}

static void add_pair(struct search *s, struct pair pair)
{
    if (s->devices && devices_of(s, &pair) > s->devices)
        return;
    pair.bound = bound_of(s, &pair);
    pair.number = s->n_pairs;
    s->pairs = arena_grow(s->arena, s->pairs, s->n_pairs, &s->capacity, sizeof *s->pairs);
    s->pairs[s->n_pairs++] = pair;
}

/* Servers that decode beside so many that prefill: all that there is room for, or few around
 * the balance. */
static void add_beside(struct search *s, struct pair pair)
{
    const struct pool_found *found = s->found[pair.variant];
    if (s->devices) {
        uint64_t used = pair.count[0] * found[0].devices;
        pair.count[1] = used < s->devices ? (s->devices - used) / found[1].devices : 0;
        if (pair.count[1])
            add_pair(s, pair);
        return;
    }
    double balance =
        (double)pair.count[0] * pair.side[0]->alone.per_s / pair.side[1]->alone.per_s;
    uint64_t most = (uint64_t)fmin(floor(balance), 1e6) + AROUND;
    for (pair.count[1] = most > 2 * AROUND ? most - 2 * AROUND : 1; pair.count[1] <= most;
         pair.count[1]++)
        add_pair(s, pair);
}

static void add_before(struct search *s, struct pair pair)
{
    double balance =
        (double)pair.count[1] * pair.side[1]->alone.per_s / pair.side[0]->alone.per_s;
    uint64_t most = (uint64_t)fmin(floor(balance), 1e6) + AROUND;
    for (pair.count[0] = most > 2 * AROUND ? most - 2 * AROUND : 1; pair.count[0] <= most;
         pair.count[0]++)
        add_pair(s, pair);
}

/* With the numbers of servers that the plan says, unless devices do, or those worth trying. */
static void add_counts(struct search *s, struct pair pair)
{
    const struct pools_ask *ask = &s->asks[pair.variant];
    const struct pool_found *found = s->found[pair.variant];
    pair.count[0] = s->devices ? 0 : plan_deployments(ask->plan, DUTY_PROMPTS);
    pair.count[1] = s->devices ? 0 : plan_deployments(ask->plan, DUTY_ANSWERS);
    if (plan_arrives(ask->plan) || (pair.count[0] && pair.count[1])) {
        add_pair(s, pair);
    } else if (pair.count[0]) {
        add_beside(s, pair);
    } else if (pair.count[1]) {
        add_before(s, pair);
    } else {
        uint64_t most =
            s->devices ? s->devices / found[0].devices : (uint64_t)MOST_TOGETHER - 1;
        for (pair.count[0] = 1; pair.count[0] <= most; pair.count[0]++)
            add_beside(s, pair);
        pair.count[1] = 1; /* where many prefill for one */
        if (!s->devices && pair.side[1]->alone.per_s > (double)most * pair.side[0]->alone.per_s)
            add_before(s, pair);
    }
}

static void add_pairs(struct search *s)
{
    for (size_t v = 0; v < s->n; v++)
        for (size_t i = 0; i < s->found[v][0].n; i++)
            for (size_t j = 0; j < s->found[v][1].n; j++)
                add_counts(s, (struct pair){.variant = v,
                                            .side = {&s->found[v][0].front[i],
                                                     &s->found[v][1].front[j]}});
}

static int by_bound(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound < y->bound ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* ---- the plan of both ---- */

static void fill_plan(const struct search_ask asks[2], const struct search_hit *const side[2],
                      const uint64_t count[2], struct plan *prefill, struct plan *plan)
{
    search_plan(&asks[0], side[0], prefill);
    search_plan(&asks[1], side[1], plan);
    plan->prefill = prefill;
    plan->workload.disaggregated = true;
    plan->workload.deployments.prefill = count[0];
    plan->workload.deployments.decode = count[1];
}

void pools_plan(const struct pools_ask *ask, const struct pools_hit *hit, struct plan *prefill,
                struct plan *plan)
{
    struct pool_found pools[2];
    const struct serve_apart *a = &hit->serving.apart;
    for (unsigned i = 0; i < 2; i++)
        ask_pool(ask, i, &pools[i]);
    const struct search_ask asks[] = {pools[0].ask, pools[1].ask};
    const struct search_hit *const side[] = {&hit->side[0], &hit->side[1]};
    fill_plan(asks, side, (uint64_t[]){a->prefill, a->decode}, prefill, plan);
}

/* ---- exactly ---- */

static double score_of(const struct search *s, const struct pools_ask *ask,
                       const struct pools_hit *hit)
{
    const struct serve_times *t = &hit->serving;
    return ask->objective == SEARCH_BY_TPOT   ? t->tpot_s
           : ask->objective == SEARCH_BY_TTFT ? t->ttft_s
                                              : counted(s, ask, hit->devices) / t->tokens_per_s;
}

static void evaluate_pair(void *arg, size_t number, unsigned worker)
{
    struct search *s = arg;
    struct task *task = &s->tasks[number];
    struct worker *w = &s->workers[worker];
    const struct pair *pair = task->pair;
    const struct pools_ask *ask = &s->asks[pair->variant];
    const struct pool_found *found = s->found[pair->variant];
    struct step_time step;
    struct pools_hit *hit = &task->hit;
    fill_plan((const struct search_ask[]){found[0].ask, found[1].ask}, pair->side, pair->count,
              &w->prefill, &w->plan);
    w->evaluator.routing = ask->routing;
    *hit =
        (struct pools_hit){.variant = pair->variant, .side = {*pair->side[0], *pair->side[1]}};
    task->taken = time_serve(&w->evaluator, &w->plan, ask->profile, &step, &hit->serving) &&
                  hit->serving.apart.present && serve_keeps(&w->plan, &hit->serving);
    const struct serve_apart *a = &hit->serving.apart;
    hit->devices = a->prefill * a->prefill_devices + a->decode * a->decode_devices;
    hit->score = score_of(s, ask, hit);
    task->taken = task->taken && (!s->devices || hit->devices <= s->devices);
}

/* ---- the list ---- */

static int by_score(const void *a, const void *b)
{
    const struct pools_hit *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    if (x->devices != y->devices)
        return x->devices < y->devices ? -1 : 1;
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    for (unsigned i = 0; i < 2; i++)
        if (x->side[i].number != y->side[i].number)
            return x->side[i].number < y->side[i].number ? -1 : 1;
    return 0;
}

static bool is_same_pair(const struct pools_hit *a, const struct pools_hit *b)
{
    return a->variant == b->variant && a->side[0].number == b->side[0].number &&
           a->side[1].number == b->side[1].number;
}

/* Each pair of layouts once, with what is best of it. */
static void take(struct pools_result *r, const struct pools_hit *hit, size_t most)
{
    for (size_t i = 0; i < r->n_best; i++) {
        if (!is_same_pair(&r->best[i], hit))
            continue;
        if (by_score(hit, &r->best[i]) < 0)
            r->best[i] = *hit;
        qsort(r->best, r->n_best, sizeof *r->best, by_score);
        return;
    }
    r->best[r->n_best++] = *hit; /* one more than the most */
    qsort(r->best, r->n_best, sizeof *r->best, by_score);
    r->n_best = r->n_best > most ? most : r->n_best;
}

static void evaluate_pairs(struct search *s)
{
    struct pools_result *r = s->result;
    size_t most = s->asks->best;
    for (size_t i = 0; i < s->n_pairs;) {
        size_t n = s->n_pairs - i < BATCH ? s->n_pairs - i : BATCH;
        if (r->n_best == most && s->pairs[i].bound > r->best[most - 1].score)
            return;
        for (size_t j = 0; j < n; j++)
            s->tasks[j].pair = &s->pairs[i + j];
        pool_run(s->asks->pool, n, evaluate_pair, s);
        for (size_t j = 0; j < n; j++)
            if (s->tasks[j].taken)
                take(r, &s->tasks[j].hit, most);
        r->exact += n;
        i += n;
    }
}

/* A server's memory with its part of the requests. */
static void tell_memory(struct search *s, struct pools_hit *hit)
{
    struct worker *w = s->workers;
    struct plan *pool = arena_alloc(s->arena, 1, sizeof *pool);
    pools_plan(&s->asks[hit->variant], hit, &w->prefill, &w->plan);
    for (unsigned i = 0; i < 2; i++) {
        struct evaluation result;
        plan_pool(&w->plan, duties[i], plan_deployments(&w->plan, duties[i]), pool);
        evaluate(&w->evaluator, pool, 0, &result);
        hit->side[i].total_bytes = result.peak.total_bytes;
        hit->side[i].state_bytes = result.peak.state_bytes;
        hit->side[i].limit_bytes = result.limit_bytes;
        hit->side[i].verdict = result.verdict;
    }
}

/* Of the layouts that stayed, for a number of devices. */
static void pick(struct search *s, const struct pools_result *sides, uint64_t devices,
                 struct pools_result *result)
{
    *result = *sides;
    s->result = result;
    s->devices = devices;
    s->pairs = NULL;
    s->n_pairs = s->capacity = 0;
    add_pairs(s);
    result->pairs = s->n_pairs;
    result->best = arena_alloc(s->arena, s->asks->best + 1, sizeof *result->best);
    if (s->n_pairs)
        qsort(s->pairs, s->n_pairs, sizeof *s->pairs, by_bound);
    evaluate_pairs(s);
    for (size_t i = 0; i < result->n_best; i++)
        tell_memory(s, &result->best[i]);
}

enum status pools_search(const struct pools_ask *asks, size_t n, const uint64_t *devices,
                         size_t n_results, struct arena *arena, struct pools_result *results,
                         struct err *err)
{
    struct search *s = arena_alloc(arena, 1, sizeof *s);
    struct pools_result sides = {.n_best = 0};
    size_t workers = pool_size(asks->pool);
    s->asks = asks;
    s->n = n;
    s->arena = arena;
    s->result = &sides;
    s->found = arena_alloc(arena, n, sizeof *s->found);
    s->workers = arena_alloc(arena, workers, sizeof *s->workers);
    for (size_t i = 0; i < 2 * n; i++)
        TRY(search_pool(s, i / 2, i % 2, err));
    sides.missed = !sides.front[0] ? 1 : !sides.front[1] ? 2 : 0;
    for (size_t i = 0; i < n_results; i++)
        pick(s, &sides, devices[i], &results[i]);
    for (size_t i = 0; i < workers; i++)
        evaluator_release(&s->workers[i].evaluator);
    return STATUS_OK;
}
