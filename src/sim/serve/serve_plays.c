/* See serve_plays.h. */
#include "sim/serve/serve_plays.h"

#include <math.h>
#include <string.h>

#include "sim/serve/serve_play_parts.h"

/* A fleet in which a request meets fewer others than this is as fast as it gets; the most of
 * it. */
static const double alone = 0.01;
enum { MOST_DEPLOYMENTS = 1 << 20 };

/* Requests in flight in the mean, by Little's law over a sum of latencies. */
static double others_of(double rate, double latency_s, uint64_t n)
{
    return rate * latency_s / (double)n;
}

/* What a play at a rate shows of limits; of a result that is not sorted. */
static struct serve_shown shown_of(const struct serve_game *g, double rate,
                                   const struct scheduler_result *r, struct arena *arena)
{
    double sum = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += r->latency_s[i];
    return (struct serve_shown){serve_within(g, r, arena), others_of(rate, sum, r->n)};
}

/* What a play that is under way cannot undo: requests that are outside the limits whatever
 * comes, and the sum of latencies. */
struct outcome {
    const struct serve_game *game;
    double rate;
    uint64_t n, outside; /* n: of the whole play */
    double latency_s;
};

static struct serve_shown at_best(const struct outcome *o)
{
    return (struct serve_shown){(double)(o->n - o->outside) / (double)o->n,
                                others_of(o->rate, o->latency_s, o->n)};
}

/* Whether too many are outside and, in the whole play, others are there. Before the scheduler
 * has a request passes no less than request_s: serve_within adds more to its times. */
static bool is_hopeless(void *context, const struct scheduler_result *until)
{
    struct outcome *o = context;
    const struct limit *limit = &o->game->plan->workload.limit;
    double before = o->game->rates->request_s;
    size_t last = until->n - 1;
    o->outside += (limit->ttft_s > 0 && before + until->ttft_s[last] > limit->ttft_s) ||
                  (limit->tpot_s > 0 && until->tpot_s[last] > limit->tpot_s) ||
                  (limit->latency_s > 0 && before + until->latency_s[last] > limit->latency_s);
    o->latency_s += until->latency_s[last];
    const struct serve_shown best = at_best(o);
    return best.within < limit->share && best.others >= alone;
}

struct scheduler_result serve_copy(const struct scheduler_result *r, struct arena *arena)
{
    struct scheduler_result copy = *r;
    double **const times[] = {&copy.ttft_s, &copy.tpot_s, &copy.latency_s, &copy.ends_s};
    for (unsigned i = 0; i < sizeof times / sizeof *times; i++) {
        const double *from = *times[i];
        *times[i] = memcpy(arena_take(arena, r->n, sizeof *from), from, r->n * sizeof *from);
    }
    return copy;
}

/* The play of one of so many, all of it or until it is hopeless; false: it was. */
static bool play_part(struct serve_plays *plays, uint64_t deployments, bool to_the_end,
                      struct serve_shown *shown)
{
    const struct serve_game *g = plays->game;
    const struct rates *rates = g->rates;
    struct scheduler_result r;
    struct arena arena = {0};
    double rate = g->plan->workload.request_rate / (double)deployments;
    struct scheduler_ask ask = serve_rate_ask(g, rate, plays->capacity_per_s);
    struct outcome outcome = {.game = g, .rate = rate, .n = ask.requests};
    ask.context = &outcome;
    if (!to_the_end && rates->request_token_s >= 0 && rates->request_steps >= 0)
        ask.settled = is_hopeless;
    scheduler_play(&ask, &arena, &r);
    bool ended = r.n == ask.requests;
    *shown = at_best(&outcome);
    if (ended) {
        plays->items = arena_grow(&plays->arena, plays->items, plays->n, &plays->room,
                                  sizeof *plays->items);
        if (serve_is_limited(g->plan))
            *shown = shown_of(g, rate, &r, &arena);
        plays->items[plays->n++] =
            (struct serve_played){deployments, serve_copy(&r, &plays->arena), *shown};
    }
    arena_release(&arena);
    return ended;
}

static const struct serve_played *find_play(const struct serve_plays *plays,
                                            uint64_t deployments)
{
    for (size_t i = 0; i < plays->n; i++)
        if (plays->items[i].deployments == deployments)
            return &plays->items[i];
    return NULL;
}

const struct serve_played *serve_plays_of(struct serve_plays *plays, uint64_t deployments)
{
    struct serve_shown shown;
    if (!find_play(plays, deployments))
        play_part(plays, deployments, true, &shown);
    return find_play(plays, deployments);
}

/* Whether a deployment with a part of the rate answers enough requests within the limits;
 * *others: requests it has in flight in the mean, or at least. */
static bool suffices(struct serve_plays *plays, uint64_t deployments, double *others)
{
    const struct workload *w = &plays->game->plan->workload;
    const struct serve_played *played = find_play(plays, deployments);
    struct serve_shown shown;
    if (w->request_rate / (double)deployments >= plays->capacity_per_s)
        return false;
    if (played)
        shown = played->shown;
    else
        play_part(plays, deployments, false, &shown);
    *others = shown.others;
    return shown.within >= w->limit.share;
}

static uint64_t search_fewest(struct serve_plays *plays)
{
    double rate = plays->game->plan->workload.request_rate, others = HUGE_VAL;
    uint64_t below = (uint64_t)(rate / plays->capacity_per_s), n = below + 1;
    if (!serve_is_limited(plays->game->plan))
        return n;
    while (!suffices(plays, n, &others)) {
        if (others < alone || n > MOST_DEPLOYMENTS)
            return 0;
        below = n;
        n *= 2;
    }
    while (n - below > 1) {
        uint64_t half = below + (n - below) / 2;
        if (suffices(plays, half, &others))
            n = half;
        else
            below = half;
    }
    return n;
}

uint64_t serve_fewest(struct serve_plays *plays)
{
    if (!plays->searched)
        plays->fewest = search_fewest(plays);
    plays->searched = true;
    return plays->fewest;
}
