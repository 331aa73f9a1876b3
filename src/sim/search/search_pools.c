/* See search_pools.h. */
#include "sim/search/search_pools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/data/profile.h"
#include "plan/derive.h"
#include "plan/pools.h"
#include "sim/search/search_servers.h"

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
    struct servers *servers; /* of each of them */
    uint64_t devices;        /* of a server */
};

struct pair {
    size_t variant;
    const struct search_hit *side[2];
    uint64_t count[2]; /* 0: as many as the plan's rate needs */
    double bound;      /* of its score */
    double least_s;    /* of its device_s_per_token */
    size_t number;     /* breaks ties */
};

/* A server that is to be filled, as one pair has it. */
struct task {
    const struct pair *pair;
    unsigned side;
    struct server_slot *slot;
};

struct worker {
    struct plan plan, prefill;
};

struct search {
    const struct pools_ask *asks;
    size_t n;
    uint64_t devices;              /* most of both pools; 0: few of both */
    struct pool_found (*found)[2]; /* [n] */
    struct arena *arena;
    struct pair *pairs;
    size_t n_pairs, capacity, pareto_room;
    struct task tasks[2 * BATCH];
    struct worker *workers;
    struct evaluator evaluator; /* of memory */
    struct pools_result *result;
};

/* ---- each pool alone ---- */

static void ask_pool(const struct pools_ask *ask, unsigned side, struct pool_found *out)
{
    plan_pool(ask->plan, duties[side], 1, &out->plan);
    out->devices = plan_devices(&out->plan);
    out->ask = (struct search_ask){.plan = &out->plan,
                                   .routing = ask->routing,
                                   .profile = profile_of_pool(ask->profile, duties[side]),
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

static void keep_front(struct pool_found *found, struct search_result *r, struct arena *arena)
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
    found->servers = arena_alloc(arena, 1, sizeof *found->servers);
    servers_init(found->servers, found->n, arena);
}

/* Of one plan, whose steps one profile prices. */
static bool is_alike(const struct pool_found *a, const struct pool_found *b)
{
    const struct profile *one = a->ask.profile, *other = b->ask.profile;
    bool shares = one == other || (one && other && text_equal(one->file, other->file));
    return shares && memcmp(&a->plan, &b->plan, sizeof a->plan) == 0 &&
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
        own->servers = other->servers;
        return STATUS_OK;
    }
    enum status status = search_run(&own->ask, 1, s->arena, &r, &why);
    if (status != STATUS_OK)
        return err_set(err, status, "servers that %s: %s", side ? "decode" : "prefill",
                       why.text);
    keep_front(own, &r, s->arena);
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
static double least_of(const struct search *s, const struct pair *pair)
{
    const struct pools_ask *ask = &s->asks[pair->variant];
    const struct serve_alone *p = &pair->side[0]->alone, *d = &pair->side[1]->alone;
    double output = serve_apart_output(&ask->plan->workload),
           rate = ask->plan->workload.request_rate;
    struct pair least = *pair;
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
    enum search_objective objective = s->asks[pair.variant].objective;
    if (s->devices && devices_of(s, &pair) > s->devices)
        return;
    pair.least_s = least_of(s, &pair);
    pair.bound = objective == SEARCH_BY_TPOT   ? pair.side[1]->alone.latency_s
                 : objective == SEARCH_BY_TTFT ? pair.side[0]->alone.latency_s
                                               : pair.least_s;
    pair.number = s->n_pairs;
    s->pairs = arena_grow(s->arena, s->pairs, s->n_pairs, &s->capacity, sizeof *s->pairs);
    s->pairs[s->n_pairs++] = pair;
}

/* Servers of a side beside so many of the other: few around the balance. */
static void add_around(struct search *s, struct pair pair, unsigned side)
{
    double balance = (double)pair.count[!side] * pair.side[!side]->alone.per_s /
                     pair.side[side]->alone.per_s;
    uint64_t most = (uint64_t)fmin(floor(balance), 1e6) + AROUND;
    uint64_t *count = &pair.count[side];
    for (*count = most > 2 * AROUND ? most - 2 * AROUND : 1; *count <= most; ++*count)
        add_pair(s, pair);
}

/* Servers that decode beside so many that prefill: all that there is room for. */
static void add_beside(struct search *s, struct pair pair)
{
    const struct pool_found *found = s->found[pair.variant];
    uint64_t used = pair.count[0] * found[0].devices;
    if (!s->devices) {
        add_around(s, pair, 1);
        return;
    }
    pair.count[1] = used < s->devices ? (s->devices - used) / found[1].devices : 0;
    if (pair.count[1])
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
        add_around(s, pair, 0);
    } else {
        uint64_t most =
            s->devices ? s->devices / found[0].devices : (uint64_t)MOST_TOGETHER - 1;
        for (pair.count[0] = 1; pair.count[0] <= most; pair.count[0]++)
            add_beside(s, pair);
        pair.count[1] = 1; /* where many prefill for one */
        if (!s->devices && pair.side[1]->alone.per_s > (double)most * pair.side[0]->alone.per_s)
            add_around(s, pair, 0);
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

/* The server of a pair's side, which others may have, too. */
static struct server_slot *slot_of(struct search *s, const struct pair *pair, unsigned side)
{
    const struct pool_found *found = &s->found[pair->variant][side];
    bool arrives = plan_arrives(s->asks[pair->variant].plan);
    size_t layout = (size_t)(pair->side[side] - found->front);
    return servers_slot(found->servers, layout, arrives ? 0 : pair->count[side], s->arena);
}

static void plan_of_pair(const struct search *s, const struct pair *pair, struct worker *w)
{
    const struct pool_found *found = s->found[pair->variant];
    fill_plan((const struct search_ask[]){found[0].ask, found[1].ask}, pair->side, pair->count,
              &w->prefill, &w->plan);
}

static void fill_slot(void *arg, size_t number, unsigned worker)
{
    struct search *s = arg;
    const struct task *task = &s->tasks[number];
    struct worker *w = &s->workers[worker];
    const struct pools_ask *ask = &s->asks[task->pair->variant];
    const struct serve_ask served = {.routing = ask->routing, .profile = ask->profile};
    plan_of_pair(s, task->pair, w);
    server_fill(task->slot, &w->plan, duties[task->side], &served);
}

static double score_of(const struct pools_ask *ask, const struct pools_hit *hit)
{
    const struct serve_times *t = &hit->serving;
    return ask->objective == SEARCH_BY_TPOT   ? t->tpot_s
           : ask->objective == SEARCH_BY_TTFT ? t->ttft_s
                                              : hit->device_s_per_token;
}

/* False: a server cannot be priced, or the pair does not keep its limits. */
static bool evaluate_pair(struct search *s, const struct pair *pair, struct pools_hit *hit)
{
    struct worker *w = s->workers;
    const struct pools_ask *ask = &s->asks[pair->variant];
    struct server_slot *prefill = slot_of(s, pair, 0), *decode = slot_of(s, pair, 1);
    if (!prefill->priced || !decode->priced)
        return false;
    *hit =
        (struct pools_hit){.variant = pair->variant, .side = {*pair->side[0], *pair->side[1]}};
    plan_of_pair(s, pair, w);
    serve_servers_time(&w->plan, &prefill->server, &decode->server, &hit->serving);
    const struct serve_apart *a = &hit->serving.apart;
    if (!a->present || !serve_keeps(&w->plan, &hit->serving))
        return false;
    hit->devices = a->prefill * a->prefill_devices + a->decode * a->decode_devices;
    hit->device_s_per_token = counted(s, ask, hit->devices) / hit->serving.tokens_per_s;
    hit->score = score_of(ask, hit);
    return !s->devices || hit->devices <= s->devices;
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

/* Whether a is as good as b may be in all that is weighed. */
static bool is_as_good(const struct pools_hit *a, double device_s, double ttft_s, double tpot_s)
{
    return a->device_s_per_token <= device_s && a->serving.ttft_s <= ttft_s &&
           a->serving.tpot_s <= tpot_s;
}

static bool beats(const struct pools_hit *a, const struct pools_hit *b)
{
    return is_as_good(a, b->device_s_per_token, b->serving.ttft_s, b->serving.tpot_s);
}

/* The first of those that are alike stays. */
static void take_pareto(struct search *s, const struct pools_hit *hit)
{
    struct pools_result *r = s->result;
    size_t n = 0;
    for (size_t i = 0; i < r->n_pareto; i++)
        if (beats(&r->pareto[i], hit))
            return;
    for (size_t i = 0; i < r->n_pareto; i++)
        if (!beats(hit, &r->pareto[i]))
            r->pareto[n++] = r->pareto[i];
    r->n_pareto = n;
    r->pareto =
        arena_grow(s->arena, r->pareto, r->n_pareto, &s->pareto_room, sizeof *r->pareto);
    r->pareto[r->n_pareto++] = *hit;
}

/* Whether a pair may be listed, by what it cannot be better than. */
static bool is_open(const struct search *s, const struct pair *pair)
{
    const struct pools_result *r = s->result;
    size_t most = s->asks->best;
    if (r->n_best < most || pair->bound <= r->best[most - 1].score)
        return true;
    for (size_t i = 0; s->asks->pareto && i < r->n_pareto; i++)
        if (is_as_good(&r->pareto[i], pair->least_s, pair->side[0]->alone.latency_s,
                       pair->side[1]->alone.latency_s))
            return false;
    return s->asks->pareto;
}

static void add_tasks(struct search *s, const struct pair *pair, size_t *n)
{
    for (unsigned side = 0; side < 2; side++) {
        struct server_slot *slot = slot_of(s, pair, side);
        if (!slot->asked)
            s->tasks[(*n)++] = (struct task){pair, side, slot};
        slot->asked = true;
    }
}

static void evaluate_batch(struct search *s, const struct pair *const pairs[BATCH], size_t n)
{
    struct pools_result *r = s->result;
    struct pools_hit hit;
    size_t tasks = 0;
    for (size_t i = 0; i < n; i++)
        add_tasks(s, pairs[i], &tasks);
    pool_run(s->asks->pool, tasks, fill_slot, s);
    for (size_t i = 0; i < n; i++) {
        if (!evaluate_pair(s, pairs[i], &hit))
            continue;
        take(r, &hit, s->asks->best);
        if (s->asks->pareto)
            take_pareto(s, &hit);
    }
    r->exact += n;
}

static void evaluate_pairs(struct search *s)
{
    const struct pair *pairs[BATCH];
    for (size_t i = 0, n = 0; i < s->n_pairs || n; n = 0) {
        for (; i < s->n_pairs && n < BATCH; i++)
            if (is_open(s, &s->pairs[i]))
                pairs[n++] = &s->pairs[i];
        if (!n)
            return;
        evaluate_batch(s, pairs, n);
    }
}

static int by_device_s(const void *a, const void *b)
{
    const struct pools_hit *x = a, *y = b;
    if (x->device_s_per_token != y->device_s_per_token)
        return x->device_s_per_token < y->device_s_per_token ? -1 : 1;
    return by_score(a, b);
}

/* The memory of the servers of a hit, of the numbers that it has. */
static void tell_memory(struct search *s, struct pools_hit *hit)
{
    struct worker *w = s->workers;
    const struct serve_apart *a = &hit->serving.apart;
    pools_plan(&s->asks[hit->variant], hit, &w->prefill, &w->plan);
    for (unsigned i = 0; i < 2; i++) {
        const struct pool_found *found = &s->found[hit->variant][i];
        size_t layout = 0;
        while (found->front[layout].number != hit->side[i].number)
            layout++;
        struct server_slot *slot =
            servers_slot(found->servers, layout, i ? a->decode : a->prefill, s->arena);
        const struct server_memory *m = server_size(slot, &w->plan, duties[i], &s->evaluator);
        hit->side[i].total_bytes = m->total_bytes;
        hit->side[i].state_bytes = m->state_bytes;
        hit->side[i].limit_bytes = m->limit_bytes;
        hit->side[i].verdict = m->verdict;
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
    s->pareto_room = 0;
    evaluate_pairs(s);
    if (result->n_pareto)
        qsort(result->pareto, result->n_pareto, sizeof *result->pareto, by_device_s);
    for (size_t i = 0; i < result->n_best; i++)
        tell_memory(s, &result->best[i]);
    for (size_t i = 0; i < result->n_pareto; i++)
        tell_memory(s, &result->pareto[i]);
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
    for (size_t i = 0; i < 2 * n; i++)
        servers_release(s->found[i / 2][i % 2].servers);
    evaluator_release(&s->evaluator);
    return STATUS_OK;
}
