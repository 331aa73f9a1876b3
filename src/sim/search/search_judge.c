/* What a search lists of the combinations that may fit; see search.h. In the order of their
 * bounds, a batch at a time: those of a batch that what is known cannot beat are evaluated by
 * the pool's threads, those of one list by one. A batch is the larger the more there were, so
 * what is evaluated does not depend on the number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/search/search_parts.h"
#include "sim/step/interval.h"
#include "work/stack/stack.h"

enum { BANKS = 64, BATCH_FIRST = 4, BATCH_MOST = 32768, SORT_FIRST = 1024, AT_ONCE = 4096 };

/* Of what was judged: hits in any order, the seconds of the fastest ones, each once, and those
 * that no other is as fast and as small as. */
struct judged {
    struct arena *arena;
    bool every; /* nothing is beaten */
    struct search_hit *hits;
    size_t n, capacity;
    double *fastest; /* ascending, [n_fastest] of at most `most` */
    size_t n_fastest, most;
    struct front {
        double score;
        uint64_t bytes;
    } * front; /* [n_front] rising in score, falling in bytes */
    size_t n_front, front_capacity;
    struct search_hit *left; /* [n_left] marginal ones that were not asked for */
    size_t n_left, left_capacity;
};

/* Candidates that a batch evaluates, and what it finds. */
struct task {
    const struct search_candidate *candidate;
    struct search_hit hit;
    bool exact, taken; /* exact: evaluated, not only known to be too large */
};

/* What one thread judges with. */
struct worker {
    struct evaluator evaluator;
    struct demand_bank banks[BANKS]; /* by routing: a search in the order of bounds comes back
                                        to each of them */
    uint64_t structure;              /* of the last candidate */
    struct arena names;              /* of walls */
};

struct judge {
    const struct search_bench *bench;
    struct arena arena;
    struct worker *workers;
    struct judged judged;
    struct task *tasks;     /* [BATCH_MOST] those of one list stand together */
    size_t n_tasks, batch;  /* batch: how many it may take */
    size_t n_judged;        /* in the batches before */
    size_t *lists, n_lists; /* [BATCH_MOST] first tasks of lists */
    size_t exact;           /* evaluated */
    struct search_hit nearest;
};

/* ---- what is known ---- */

/* How many on the front are as fast as that. */
static size_t faster(const struct judged *judged, double seconds)
{
    size_t low = 0, high = judged->n_front;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (judged->front[middle].score <= seconds)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether what takes so long and needs so much, at least, cannot be listed: it comes after the
 * fastest ones, and something is as fast and smaller. */
static bool is_beaten(const struct judged *judged, double seconds, uint64_t bytes)
{
    if (judged->every || judged->n_fastest < judged->most ||
        (judged->most && judged->fastest[judged->most - 1] >= seconds))
        return false;
    size_t n = faster(judged, seconds);
    return n && judged->front[n - 1].bytes <= bytes;
}

static void note_fastest(struct judged *judged, double seconds)
{
    size_t at = 0, wanted_n = judged->most;
    while (at < judged->n_fastest && judged->fastest[at] < seconds)
        at++;
    if (at == wanted_n || (at < judged->n_fastest && judged->fastest[at] == seconds))
        return;
    size_t moved = judged->n_fastest - at - (judged->n_fastest == wanted_n);
    memmove(&judged->fastest[at + 1], &judged->fastest[at], moved * sizeof *judged->fastest);
    judged->fastest[at] = seconds;
    judged->n_fastest += judged->n_fastest < wanted_n;
}

/* Those behind it that are no smaller leave the front. */
static void note_front(struct judged *judged, double score, uint64_t bytes)
{
    size_t at = faster(judged, score), end = at;
    if (at && judged->front[at - 1].bytes <= bytes)
        return;
    at -= at && judged->front[at - 1].score >= score;
    while (end < judged->n_front && judged->front[end].bytes >= bytes)
        end++;
    judged->front = arena_grow(judged->arena, judged->front, judged->n_front,
                               &judged->front_capacity, sizeof *judged->front);
    memmove(&judged->front[at + 1], &judged->front[end],
            (judged->n_front - end) * sizeof *judged->front);
    judged->front[at] = (struct front){score, bytes};
    judged->n_front = judged->n_front - end + at + 1;
}

static void note_left(struct judged *judged, const struct search_hit *hit)
{
    judged->left = arena_grow(judged->arena, judged->left, judged->n_left,
                              &judged->left_capacity, sizeof *judged->left);
    judged->left[judged->n_left++] = *hit;
}

static void note_hit(struct judged *judged, const struct search_hit *hit)
{
    judged->hits = arena_grow(judged->arena, judged->hits, judged->n, &judged->capacity,
                              sizeof *judged->hits);
    judged->hits[judged->n++] = *hit;
    note_fastest(judged, hit->score);
    note_front(judged, hit->score, hit->total_bytes);
}

/* ---- one candidate ---- */

static const struct search_ask *ask_of(const struct judge *judge,
                                       const struct search_candidate *c)
{
    return &judge->bench->asks[c->variant];
}

static bool wanted(const struct search_ask *ask, const struct evaluation *result)
{
    return result->valid && result->verdict != VERDICT_OOM &&
           (!ask->at_most_bytes || result->peak.total_bytes <= ask->at_most_bytes);
}

static void score_hit(const struct search_ask *ask, const struct plan *plan, bool timed,
                      struct search_hit *hit)
{
    struct plan resolved = *plan;
    hit->seconds_per_token = timed ? time_seconds_per_token(plan, &hit->time) : HUGE_VAL;
    resolved.moe.path = stack_path(plan, NULL);
    if (ask->profile)
        hit->error = time_error(ask->profile, &resolved, &hit->outside);
    hit->score = search_score(ask, hit);
}

static bool time_hit(const struct search_ask *ask, struct evaluator *e, const struct plan *plan,
                     bool valid, struct search_hit *hit)
{
    if (ask->alone)
        return valid && time_alone(e, plan, ask->profile, &hit->alone);
    bool timed = plan->workload.mode == MODE_SERVE
                     ? valid && time_serve(e, plan, ask->profile, &hit->time, &hit->serving)
                     : time_evaluated(e, plan, ask->profile, &hit->time);
    score_hit(ask, plan, timed, hit);
    return timed;
}

/* What needs more cannot be listed: it does not fit, is not wanted, or something is as fast and
 * no larger. */
static uint64_t most_bytes(const struct judge *judge, const struct plan *plan, double seconds)
{
    const struct judged *judged = &judge->judged;
    uint64_t most = search_most_bytes(judge->bench->asks, plan);
    if (!is_beaten(judged, seconds, UINT64_MAX))
        return most;
    uint64_t known = judged->front[faster(judged, seconds) - 1].bytes;
    return known < most ? known : most;
}

/* What a candidate takes at least, with its sharding of weights, which its bound leaves out. */
static double least_seconds(const struct judge *judge, struct worker *worker,
                            const struct plan *plan, const struct search_candidate *c)
{
    struct search_hit least = {.score = 0};
    const struct search_ask *ask = ask_of(judge, c);
    if (judge->bench->serves || judge->judged.every ||
        !time_least(&worker->evaluator, plan, worker->structure, ask->profile, &least.time))
        return c->seconds;
    score_hit(ask, plan, true, &least);
    return fmax(c->seconds, least.score);
}

static void note_memory(const struct plan *plan, const struct evaluation *result,
                        struct worker *worker, struct search_hit *hit)
{
    *hit = (struct search_hit){
        .total_bytes = result->peak.total_bytes,
        .state_bytes = result->peak.state_bytes,
        .limit_bytes = result->limit_bytes,
        .verdict = result->verdict,
        .splits = plan->parallel.sp && plan->parallel.tp > 1,
        .wall = result->wall ? arena_strdup(&worker->names, result->wall->name) : NULL};
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        hit->value[key] = search_get(plan, (enum search_key)key);
}

/* Cheapest first: most need not be sampled, and of those most not be timed. `always`: whatever
 * it needs. */
static void judge_task(const struct judge *judge, bool always, struct worker *worker,
                       struct task *task)
{
    struct plan plan;
    struct evaluation result;
    const struct search_candidate *c = task->candidate;
    const struct search_ask *ask = ask_of(judge, c);
    judge->bench->fill(judge->bench->context, c, &plan);
    struct evaluator *e = &worker->evaluator;
    task->hit = (struct search_hit){.score = 0};
    e->routing = ask->routing;
    e->banks = worker->banks;
    e->n_banks = BANKS;
    double seconds = always ? 0 : least_seconds(judge, worker, &plan, c);
    if (!always &&
        (is_beaten(&judge->judged, seconds, c->least_bytes) ||
         evaluate_exceeds(e, &plan, worker->structure, most_bytes(judge, &plan, seconds))))
        return;
    evaluate(e, &plan, worker->structure, &result);
    task->exact = true;
    bool fits = wanted(ask, &result);
    if (!always && (!fits || is_beaten(&judge->judged, seconds, result.peak.total_bytes)))
        return;
    note_memory(&plan, &result, worker, &task->hit);
    task->hit.number = c->number;
    task->hit.variant = c->variant;
    bool timed = time_hit(ask, e, &plan, result.valid, &task->hit);
    task->taken = timed && fits && search_is_soon(ask, &task->hit);
}

/* ---- batches ---- */

/* By what decides a list. */
static int compare_lists(const struct search_candidate *x, const struct search_candidate *y)
{
    static const enum search_key keys[] = {SEARCH_TP,   SEARCH_EP,        SEARCH_ZERO,
                                           SEARCH_PATH, SEARCH_RECOMPUTE, SEARCH_BLOCK};
    if (x->variant != y->variant)
        return x->variant < y->variant ? -1 : 1;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (x->index[keys[i]] != y->index[keys[i]])
            return x->index[keys[i]] < y->index[keys[i]] ? -1 : 1;
    return x->list < y->list ? -1 : x->list > y->list;
}

static int by_list(const void *a, const void *b)
{
    const struct search_candidate *x = ((const struct task *)a)->candidate,
                                  *y = ((const struct task *)b)->candidate;
    int order = compare_lists(x, y);
    if (order)
        return order;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void group_tasks(struct judge *judge)
{
    struct task *tasks = judge->tasks;
    bool serves = judge->bench->serves;
    if (judge->n_tasks && !serves)
        qsort(tasks, judge->n_tasks, sizeof *tasks, by_list);
    judge->n_lists = 0;
    for (size_t i = 0; i < judge->n_tasks; i++)
        if (!i || serves || compare_lists(tasks[i].candidate, tasks[i - 1].candidate))
            judge->lists[judge->n_lists++] = i;
}

static void run_list(void *arg, size_t number, unsigned worker)
{
    struct judge *judge = arg;
    size_t i = judge->lists[number],
           end = number + 1 < judge->n_lists ? judge->lists[number + 1] : judge->n_tasks;
    judge->workers[worker].structure++;
    for (; i < end; i++) {
        struct task *task = &judge->tasks[i];
        task->exact = task->taken = false;
        judge_task(judge, judge->bench->serves, &judge->workers[worker], task);
    }
}

static void take_task(struct judge *judge, const struct task *task)
{
    bool left = !judge->bench->asks->marginal && task->hit.verdict == VERDICT_MARGINAL;
    judge->exact += task->exact;
    if (task->taken && left)
        note_left(&judge->judged, &task->hit);
    if (task->taken && !left)
        note_hit(&judge->judged, &task->hit);
    else if (judge->bench->serves && task->hit.total_bytes - 1 < judge->nearest.total_bytes - 1)
        judge->nearest = task->hit; /* 0: none */
}

static void judge_batch(struct judge *judge)
{
    group_tasks(judge);
    pool_run(judge->bench->asks->pool, judge->n_lists, run_list, judge);
    for (size_t i = 0; i < judge->n_tasks; i++)
        take_task(judge, &judge->tasks[i]);
    judge->n_judged += judge->n_tasks;
    size_t half = judge->n_judged / 2;
    judge->batch = half < BATCH_FIRST ? BATCH_FIRST : half < BATCH_MOST ? half : BATCH_MOST;
    judge->n_tasks = 0;
}

/* Those of n candidates that may still be listed move together; returns how many. */
static size_t drop_beaten(const struct judge *judge, struct search_candidate *candidates,
                          size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_beaten(&judge->judged, candidates[i].seconds, candidates[i].least_bytes))
            candidates[kept++] = candidates[i];
    return kept;
}

static void judge_next(struct judge *judge, const struct search_candidate *c)
{
    if (is_beaten(&judge->judged, c->seconds, c->least_bytes))
        return;
    judge->tasks[judge->n_tasks++].candidate = c;
    if (judge->n_tasks == judge->batch)
        judge_batch(judge);
}

/* Most candidates are beaten by what comes first, whatever their order: no more of them are
 * sorted than are looked at. Returns how many are left behind the first `most` or so, which
 * then stand first. */
static size_t judge_some(struct judge *judge, struct search_candidate *candidates, size_t n,
                         size_t most, bool last)
{
    const struct search_ask *ask = judge->bench->asks;
    size_t at = 0;
    for (size_t wanted = SORT_FIRST; at < n && at < most; wanted *= 2) {
        size_t end = n - at < wanted ? n : at + wanted;
        search_order_first(candidates + at, n - at, end - at);
        for (; at < end; at++)
            judge_next(judge, &candidates[at]);
        n = end + drop_beaten(judge, candidates + end, n - end);
        if (last && ask->progress)
            ask->progress(ask->context,
                          SEARCH_BOUNDED + (1 - SEARCH_BOUNDED) * (double)at / (double)n);
    }
    judge_batch(judge);
    if (at < n)
        n = at + drop_beaten(judge, candidates + at, n - at);
    if (at < n)
        memmove(candidates, candidates + at, (n - at) * sizeof *candidates);
    return n - at;
}

bool judge_beats(const struct judge *judge, double seconds, uint64_t bytes)
{
    return is_beaten(&judge->judged, seconds, bytes);
}

size_t judge_first(struct judge *judge, struct search_candidate *candidates, size_t n)
{
    if (!n || judge->bench->serves || judge->judged.every)
        return n;
    return judge_some(judge, candidates, n, AT_ONCE, false);
}

/* ---- the lists ---- */

/* Faster first, then less memory. */
static int by_time(const void *a, const void *b)
{
    const struct search_hit *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    if (x->total_bytes != y->total_bytes)
        return x->total_bytes < y->total_bytes ? -1 : 1;
    int order = memcmp(x->value, y->value, sizeof x->value);
    return order ? order : (x->variant > y->variant) - (x->variant < y->variant);
}

/* The fastest, and those that need less than all before them. */
static void list_hits(const struct judged *judged, size_t wanted_n, struct arena *arena,
                      struct search_result *r)
{
    uint64_t least = UINT64_MAX;
    size_t capacity = 0;
    r->best = arena_alloc(arena, wanted_n + 1, sizeof *r->best);
    for (size_t i = 0; i < judged->n; i++) {
        const struct search_hit *hit = &judged->hits[i];
        if (i && hit->score == judged->hits[i - 1].score)
            continue;
        if (r->n_best < wanted_n)
            r->best[r->n_best++] = *hit;
        if (hit->total_bytes >= least)
            continue;
        least = hit->total_bytes;
        r->pareto = arena_grow(arena, r->pareto, r->n_pareto, &capacity, sizeof *hit);
        r->pareto[r->n_pareto++] = *hit;
    }
}

/* Those left out that would be listed beside what is: it takes no others to say so, as what
 * was not evaluated is beaten by what fits. */
static size_t count_left(const struct judged *judged)
{
    size_t n = 0;
    if (judged->n_left)
        qsort(judged->left, judged->n_left, sizeof *judged->left, by_time);
    for (size_t i = 0; i < judged->n_left; i++) {
        const struct search_hit *hit = &judged->left[i];
        bool again = i && hit->score == judged->left[i - 1].score;
        n += !again && !is_beaten(judged, hit->score, hit->total_bytes);
    }
    return n;
}

static int by_number(const void *a, const void *b)
{
    const struct search_hit *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void list_every(const struct judged *judged, struct arena *arena,
                       struct search_result *r)
{
    if (judged->n)
        qsort(judged->hits, judged->n, sizeof *judged->hits, by_number);
    r->best = arena_alloc(arena, judged->n + 1, sizeof *r->best);
    if (judged->n)
        memcpy(r->best, judged->hits, judged->n * sizeof *r->best);
    r->n_best = judged->n;
}

static void list_ranked(struct judged *judged, size_t wanted_n, struct arena *arena,
                        struct search_result *r)
{
    if (judged->n)
        qsort(judged->hits, judged->n, sizeof *judged->hits, by_time);
    list_hits(judged, wanted_n, arena, r);
    r->marginal = count_left(judged);
}

struct judge *judge_open(const struct search_bench *bench, struct arena *arena)
{
    struct judge *judge = arena_alloc(arena, 1, sizeof *judge);
    size_t wanted_n = bench->asks->best, workers = pool_size(bench->asks->pool);
    *judge = (struct judge){.bench = bench, .batch = BATCH_FIRST};
    judge->workers = arena_alloc(&judge->arena, workers, sizeof *judge->workers);
    judge->tasks = arena_alloc(&judge->arena, BATCH_MOST, sizeof *judge->tasks);
    judge->lists = arena_alloc(&judge->arena, BATCH_MOST, sizeof *judge->lists);
    judge->judged =
        (struct judged){.arena = &judge->arena,
                        .every = bench->asks->every,
                        .fastest = arena_alloc(&judge->arena, wanted_n + 1, sizeof(double)),
                        .most = wanted_n};
    return judge;
}

void judge_release(struct judge *judge)
{
    for (size_t i = 0; i < pool_size(judge->bench->asks->pool); i++) {
        evaluator_release(&judge->workers[i].evaluator);
        demand_banks_release(judge->workers[i].banks, BANKS);
        arena_release(&judge->workers[i].names);
    }
    arena_release(&judge->arena);
}

/* What is nearest to a limit that nothing keeps. */
static void judge_nearest(struct judge *judge, const struct search_candidate *nearest)
{
    struct task task = {.candidate = nearest};
    judge->workers->structure++;
    judge_task(judge, true, judge->workers, &task);
    judge->nearest = task.hit;
    judge->exact++;
}

void judge_close(struct judge *judge, struct search_candidate *candidates, size_t n,
                 const struct search_candidate *nearest, struct arena *arena,
                 struct search_result *result)
{
    const struct search_bench *bench = judge->bench;
    judge_some(judge, candidates, n, n, true);
    if (bench->asks->every)
        list_every(&judge->judged, arena, result);
    else
        list_ranked(&judge->judged, bench->asks->best, arena, result);
    result->missed = judge->judged.n == 0;
    if (result->missed && !bench->serves)
        judge_nearest(judge, nearest);
    result->exact = judge->exact;
    result->nearest = judge->nearest;
    if (result->nearest.wall)
        result->nearest.wall = arena_strdup(arena, result->nearest.wall);
}
