/* Group-limited choice: DeepSeek's rule on Gumbel-perturbed popularity.
 *
 * Expert e arrives at time X_e, exponential with rate E p_e, so -log X_e is its popularity's
 * logarithm plus Gumbel noise: the router's logit. Score: sigmoid 1 / (1 + X), softmax 1 / X
 * (unnormalised, order only), sqrtsoftplus sqrt(log(1 + 1 / X)). A group's score is the sum of
 * its two best when the router has a bias, else its best; the best groups stay, and the top K
 * of their experts are chosen. Only the first arrivals of each group are ever needed: they are
 * drawn one by one (waiting time exponential in the mass left, expert by alias table), so a
 * token costs 2 groups + K waiting times and no sort over E. With equal popularity the mass
 * left does not depend on who arrived, and only the chosen experts are drawn.
 *
 * Until its groups are chosen a token goes the same way as every other: four go side by side,
 * in the lanes of vectors, each with the numbers it would have alone. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/rng.h"
#include "work/rows/rows_parts.h"

enum { GROUP_REJECTIONS = 32, WINDOW = 64 };

#define INLINE static inline __attribute__((always_inline))

typedef rows_lanes lanes;
typedef rows_masks masks;

static const double LEAST_MASS = 1e-300, LEAST_TIME = 1e-300;

struct grouped {
    const struct rows *rows;
    struct rows_scratch *scratch;
    const uint32_t *word, *end; /* of the token at hand: words drawn ahead */
    struct rng rng;             /* the words after them */
    const double *time;         /* its waiting times not yet used, each so far from the other */
    size_t stride;
    const double *p; /* popularity; NULL when equal */
    const struct rows_alias *alias;
    uint64_t groups, size; /* size: experts of a group */
    double *mass;          /* [groups] popularity, in units of an average expert */
    uint64_t n_kept;       /* groups that stay for the token at hand */
};

static inline uint32_t next_word(struct grouped *g)
{
    return g->word < g->end ? *g->word++ : rng_u32(&g->rng);
}

static inline double popularity(const struct grouped *g, uint64_t e)
{
    return g->p ? g->p[e] * (double)(g->groups * g->size) : 1;
}

/* The first expert whose running popularity passes a random share of the mass left. */
static uint64_t walk_to_expert(struct grouped *g, uint64_t base, double mass)
{
    const struct rows_scratch *s = g->scratch;
    double left = ((double)next_word(g) + 0.5) * 0x1p-32 * mass;
    uint64_t last = base;
    for (uint64_t e = base; e < base + g->size; e++) {
        if (s->stamp[e] == s->clock)
            continue;
        last = e;
        left -= popularity(g, e);
        if (left < 0)
            break;
    }
    return last;
}

/* `even`: popularity is equal. */
INLINE uint64_t expert_of(const struct grouped *g, uint64_t base, uint32_t word, bool even)
{
    return base + (even ? (uint32_t)((uint64_t)word * g->size >> 32)
                        : rows_alias_draw(g->alias, (uint32_t)base, word));
}

/* An expert of the group that has not arrived, by popularity; leaves the mass. */
INLINE int32_t draw_expert(struct grouped *g, struct rows_head *head, bool even)
{
    struct rows_scratch *s = g->scratch;
    uint64_t e = head->base;
    int tries = 0;
    for (; tries < GROUP_REJECTIONS; tries++) {
        e = expert_of(g, head->base, next_word(g), even);
        if (s->stamp[e] != s->clock)
            break;
    }
    if (tries == GROUP_REJECTIONS)
        e = walk_to_expert(g, head->base, head->mass);
    s->stamp[e] = s->clock;
    if (!even) /* else the mass already fell with the waiting times */
        head->mass -= popularity(g, e);
    return (int32_t)e;
}

/* Waiting time until the next of the experts left. */
static inline double wait(struct grouped *g, const struct rows_head *head)
{
    double time = *g->time;
    g->time += g->stride;
    return time / (head->mass > LEAST_MASS ? head->mass : LEAST_MASS);
}

/* ---- four tokens side by side ---- */

INLINE void floored(lanes *values, double least)
{
    lanes floor = {0};
    floor += least;
    masks above = (masks)(*values > floor);
    *values = (lanes)(((masks)*values & above) | ((masks)floor & ~above));
}

INLINE void score(enum router_score kind, const lanes *time, lanes *out)
{
    if (kind == SCORE_SIGMOID) {
        *out = 1 / (1 + *time);
        return;
    }
    lanes at = *time;
    floored(&at, LEAST_TIME);
    *out = 1 / at;
    for (unsigned i = 0; kind == SCORE_SQRTSOFTPLUS && i < ROWS_LANES; i++)
        (*out)[i] = sqrt(rng_log(1 + (*out)[i]));
}

/* Experts that arrive first in a group: each token's next word draws one, since none of the
 * group has arrived. */
INLINE void draw_firsts(const struct grouped *g, uint64_t group, const uint32_t *word,
                        size_t stride, struct rows_arrivals *at)
{
    for (unsigned i = 0; i < ROWS_LANES; i++) {
        uint64_t e = expert_of(g, group * g->size, word[i * stride], false);
        at->expert[i] = (int32_t)e;
        at->rest[i] -= popularity(g, e);
    }
}

/* First two arrivals of every group, and its score. `time`: of the first token; `word`: its
 * first, those of the next token so far behind it. */
INLINE void first_arrivals(const struct grouped *g, const double *time, const uint32_t *word,
                           size_t words)
{
    bool pairs = g->rows->spec.router.bias && g->size > 1;
    enum router_score kind = g->rows->spec.router.score;
    for (uint64_t group = 0; group < g->groups; group++) {
        struct rows_arrivals *at = &g->scratch->arrivals[group];
        lanes mass = {0}, wait, second;
        mass += g->mass[group];
        at->rest = mass;
        floored(&mass, LEAST_MASS);
        memcpy(&wait, time, sizeof wait);
        time += g->stride;
        at->first = wait / mass;
        score(kind, &at->first, &at->cost);
        if (g->p)
            draw_firsts(g, group, word + group, words, at);
        else
            at->rest -= 1;
        if (g->size == 1)
            continue;
        mass = at->rest;
        floored(&mass, LEAST_MASS);
        memcpy(&wait, time, sizeof wait);
        time += g->stride;
        at->second = at->first + wait / mass;
        score(kind, &at->second, &second);
        if (pairs)
            at->cost += second;
        if (!g->p)
            at->rest -= 1;
    }
}

/* Of every token the best groups, those that fewer than `top` are better than, the first of
 * equals: as bits, a window of groups in each word. */
INLINE void choose_groups(const struct grouped *g, uint64_t top)
{
    struct rows_arrivals *all = g->scratch->arrivals;
    for (uint64_t group = 0; group < g->groups; group++) {
        struct rows_arrivals *at = &all[group];
        at->better = (masks){0};
        for (uint64_t i = 0; i < group; i++) {
            masks before = (masks)(all[i].cost >= at->cost); /* -1 where it is better */
            at->better -= before;
            all[i].better += 1 + before;
        }
    }
    for (uint64_t first = 0; first < g->groups; first += WINDOW) {
        masks bits = {0}, bit = {1, 1, 1, 1};
        for (uint64_t i = first; i < g->groups && i < first + WINDOW; i++, bit <<= 1)
            bits |= bit & (masks)(all[i].better < (int64_t)top);
        all[first / WINDOW].kept = bits;
    }
}

INLINE void arrive_inline(const struct grouped *g, const double *time, const uint32_t *word,
                          size_t words)
{
    first_arrivals(g, time, word, words);
    choose_groups(g, g->rows->spec.router.top_groups);
}

typedef void arrive_function(const struct grouped *g, const double *time, const uint32_t *word,
                             size_t words);

static void arrive_plain(const struct grouped *g, const double *time, const uint32_t *word,
                         size_t words)
{
    arrive_inline(g, time, word, words);
}

#if defined __x86_64__
__attribute__((target("avx2"))) static void
arrive_avx2(const struct grouped *g, const double *time, const uint32_t *word, size_t words)
{
    arrive_inline(g, time, word, words);
}
#endif

static arrive_function *best_arrive(void)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return arrive_avx2;
#endif
    return arrive_plain;
}

/* ---- one token ---- */

/* The groups that stay stand in front; the others never arrive again. */
static void keep_groups(struct grouped *g, unsigned lane)
{
    struct rows_scratch *s = g->scratch;
    g->n_kept = 0;
    for (uint64_t first = 0; first < g->groups; first += WINDOW)
        for (uint64_t left = (uint64_t)s->arrivals[first / WINDOW].kept[lane]; left;
             left &= left - 1) {
            uint64_t group = first + (uint64_t)__builtin_ctzll(left);
            const struct rows_arrivals *at = &s->arrivals[group];
            s->firsts[g->n_kept] = at->first[lane];
            s->heads[g->n_kept++] =
                (struct rows_head){.second = g->size > 1 ? at->second[lane] : HUGE_VAL,
                                   .mass = at->rest[lane],
                                   .base = group * g->size,
                                   .expert = g->p ? at->expert[lane] : -1};
        }
}

/* Experts that have arrived, where popularity differs; of groups that are not kept nobody asks.
 */
static void stamp_firsts(struct grouped *g)
{
    struct rows_scratch *s = g->scratch;
    for (uint64_t i = 0; g->p && i < g->n_kept; i++)
        s->stamp[s->heads[i].expert] = s->clock;
}

/* The first of the least of n values. Any of them may be: nothing is left to be guessed. */
static inline uint64_t least_of(const double *values, uint64_t n)
{
    uint64_t at = 0;
    double least = values[0];
    for (uint64_t i = 1; i < n; i++) {
        at = values[i] < least ? i : at;
        least = values[i] < least ? values[i] : least;
    }
    return at;
}

/* The next arrival of all kept groups: its expert; the group moves on to its following one. */
INLINE int32_t take_next(struct grouped *g, bool even)
{
    double *firsts = g->scratch->firsts;
    uint64_t best = least_of(firsts, g->n_kept);
    struct rows_head *head = &g->scratch->heads[best];
    bool drawn = !even && head->expert >= 0;
    int32_t expert = drawn ? head->expert : draw_expert(g, head, even);
    double second = head->second;
    head->expert = -1;
    firsts[best] = second;
    if (++head->used + 1 >= g->size) {
        head->second = HUGE_VAL;
        return expert;
    }
    if (!even) /* the mass after the coming arrival is known once it is */
        head->expert = draw_expert(g, head, false);
    head->second = second + wait(g, head);
    if (even)
        head->mass -= 1;
    return expert;
}

INLINE void take_all(struct grouped *g, bool even, int32_t *ids)
{
    for (uint64_t k = 0; k < g->rows->spec.top_k; k++)
        ids[k] = take_next(g, even);
}

static void fill_masses(struct grouped *g)
{
    for (uint64_t group = 0; group < g->groups; group++) {
        g->mass[group] = 0;
        for (uint64_t e = group * g->size; e < (group + 1) * g->size; e++)
            g->mass[group] += popularity(g, e);
    }
}

void rows_grouped_tokens(const struct rows *rows, unsigned law, uint32_t purpose, uint32_t step,
                         uint32_t rank, uint32_t first, uint32_t n,
                         struct rows_scratch *scratch, int32_t *ids)
{
    uint64_t seed = rows->spec.routing.seed, size = rows->spec.experts / rows->groups;
    unsigned blocks = rows_blocks(rows), time_blocks = rows_time_blocks(rows);
    struct grouped g = {.rows = rows,
                        .scratch = scratch,
                        .p = rows->alias ? rows->p + law * rows->spec.experts : NULL,
                        .alias = rows->alias ? &rows->alias[law] : NULL,
                        .groups = rows->groups,
                        .size = size,
                        .stride = round_up(n, ROWS_LANES),
                        .mass = scratch->keys};
    size_t words = 4ul * blocks, times_before = (size > 1 ? 2 : 1) * rows->groups * g.stride;
    arrive_function *arrive = best_arrive();
    fill_masses(&g);
    rng_fill_across(seed, purpose, step, rank, first, n, 0, time_blocks, scratch->time_words);
    rng_fill(seed, purpose, step, rank, first, n, time_blocks, blocks, scratch->words);
    rng_exponentials(4ul * time_blocks * g.stride, scratch->time_words, scratch->times);
    for (uint32_t t = 0; t < n; t++, ids += rows->spec.top_k) {
        if (t % ROWS_LANES == 0)
            arrive(&g, scratch->times + t, scratch->words + words * t, words);
        g.time = scratch->times + times_before + t;
        g.word = scratch->words + words * t + (g.p ? g.groups : 0);
        g.end = scratch->words + words * (t + 1);
        rng_init(&g.rng, seed, purpose, step, rank, first + t);
        g.rng.counter[3] += time_blocks + blocks;
        rows_tick(&scratch->clock, scratch->stamp, rows->spec.experts);
        keep_groups(&g, t % ROWS_LANES);
        stamp_firsts(&g);
        if (g.p)
            take_all(&g, false, ids);
        else
            take_all(&g, true, ids);
    }
}
