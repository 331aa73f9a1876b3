/* Group-limited choice: DeepSeek's rule on Gumbel-perturbed popularity.
 *
 * Expert e arrives at time X_e, exponential with rate E p_e, so -log X_e is its popularity's
 * logarithm plus Gumbel noise: the router's logit. Score: sigmoid 1 / (1 + X), softmax 1 / X
 * (unnormalised, order only), sqrtsoftplus sqrt(log(1 + 1 / X)). A group's score is the sum of
 * its two best when the router has a bias, else its best; the best groups stay, and the top K
 * of their experts are chosen. Only the first arrivals of each group are ever needed: they are
 * drawn one by one (waiting time exponential in the mass left, expert by alias table), so a
 * token costs 2 groups + K waiting times and no sort over E. With equal popularity the mass
 * left does not depend on who arrived, and only the chosen experts are drawn. */
#include <math.h>

#include "base/rng.h"
#include "work/rows/rows_parts.h"

enum { GROUP_REJECTIONS = 32 };

struct grouped {
    const struct rows *rows;
    struct rows_scratch *scratch;
    const uint32_t *word, *end; /* words drawn ahead */
    struct rng rng;             /* the words after them */
    const double *time;         /* waiting times not yet used */
    const double *p;            /* popularity; NULL when equal */
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

/* An expert of the group that has not arrived, by popularity; leaves the mass. */
static int32_t draw_expert(struct grouped *g, uint64_t group, struct rows_head *head)
{
    struct rows_scratch *s = g->scratch;
    uint64_t base = group * g->size, e = base;
    int tries = 0;
    for (; tries < GROUP_REJECTIONS; tries++) {
        uint32_t word = next_word(g);
        e = base + (g->alias ? rows_alias_draw(g->alias, (uint32_t)base, word)
                             : (uint32_t)((uint64_t)word * g->size >> 32));
        if (s->stamp[e] != s->clock)
            break;
    }
    if (tries == GROUP_REJECTIONS)
        e = walk_to_expert(g, base, head->mass);
    s->stamp[e] = s->clock;
    if (g->p) /* else the mass already fell with the waiting times */
        head->mass -= popularity(g, e);
    return (int32_t)e;
}

/* Waiting time until the next of the experts left. */
static inline double wait(struct grouped *g, const struct rows_head *head)
{
    return *g->time++ / (head->mass > 1e-300 ? head->mass : 1e-300);
}

static inline double score(enum router_score kind, double time)
{
    if (kind == SCORE_SIGMOID)
        return 1 / (1 + time);
    double inverse = 1 / fmax(time, 1e-300);
    return kind == SCORE_SQRTSOFTPLUS ? sqrt(rng_log(1 + inverse)) : inverse;
}

/* First two arrivals of every group, and its score. */
static void first_arrivals(struct grouped *g)
{
    bool pairs = g->rows->spec.router.bias && g->size > 1;
    enum router_score kind = g->rows->spec.router.score;
    for (uint64_t group = 0; group < g->groups; group++) {
        struct rows_head *head = &g->scratch->heads[group];
        *head = (struct rows_head){.mass = g->mass[group], .expert = -1};
        double first = wait(g, head);
        if (g->p)
            head->expert = draw_expert(g, group, head);
        else
            head->mass -= 1;
        head->second = g->size > 1 ? first + wait(g, head) : HUGE_VAL;
        if (!g->p)
            head->mass -= 1;
        g->scratch->firsts[group] = first;
        g->scratch->costs[group] =
            -(score(kind, first) + (pairs ? score(kind, head->second) : 0));
    }
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

/* Keeps the best groups, those that fewer than `top` are better than, the first of equals:
 * their numbers and first arrivals stand in front, and the others never arrive again. */
static void keep_best(struct grouped *g, uint64_t top)
{
    const double *costs = g->scratch->costs;
    double *firsts = g->scratch->firsts;
    g->n_kept = 0;
    for (uint64_t group = 0; group < g->groups; group++) {
        uint64_t better = 0;
        for (uint64_t i = 0; i < group; i++)
            better += costs[i] <= costs[group];
        for (uint64_t i = group + 1; i < g->groups; i++)
            better += costs[i] < costs[group];
        if (better >= top)
            continue;
        g->scratch->kept[g->n_kept] = group;
        firsts[g->n_kept++] = firsts[group];
    }
}

/* The next arrival of all kept groups: its expert; the group moves on to its following one. */
static int32_t take_next(struct grouped *g)
{
    double *firsts = g->scratch->firsts;
    uint64_t best = least_of(firsts, g->n_kept), group = g->scratch->kept[best];
    struct rows_head *head = &g->scratch->heads[group];
    int32_t expert = head->expert >= 0 ? head->expert : draw_expert(g, group, head);
    head->expert = -1;
    firsts[best] = head->second;
    head->used++;
    if (head->used + 1 >= g->size) {
        head->second = HUGE_VAL;
        return expert;
    }
    if (g->p) /* the mass after the coming arrival is known once it is */
        head->expert = draw_expert(g, group, head);
    head->second = firsts[best] + wait(g, head);
    if (!g->p)
        head->mass -= 1;
    return expert;
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
    uint64_t seed = rows->spec.routing.seed;
    unsigned blocks = rows_blocks(rows), time_blocks = rows_time_blocks(rows);
    struct grouped g = {.rows = rows,
                        .scratch = scratch,
                        .p = rows->alias ? rows->p + law * rows->spec.experts : NULL,
                        .alias = rows->alias ? &rows->alias[law] : NULL,
                        .groups = rows->groups,
                        .size = rows->spec.experts / rows->groups,
                        .mass = scratch->keys};
    fill_masses(&g);
    rng_fill(seed, purpose, step, rank, first, n, 0, time_blocks, scratch->time_words);
    rng_fill(seed, purpose, step, rank, first, n, time_blocks, blocks, scratch->words);
    rng_exponentials(4ul * time_blocks * n, scratch->time_words, scratch->times);
    for (uint32_t t = 0; t < n; t++, ids += rows->spec.top_k) {
        g.time = scratch->times + 4ul * time_blocks * t;
        g.word = scratch->words + 4ul * blocks * t;
        g.end = g.word + 4ul * blocks;
        rng_init(&g.rng, seed, purpose, step, rank, first + t);
        g.rng.counter[3] += time_blocks + blocks;
        rows_tick(&scratch->clock, scratch->stamp, rows->spec.experts);
        first_arrivals(&g);
        keep_best(&g, rows->spec.router.top_groups);
        for (uint64_t k = 0; k < rows->spec.top_k; k++)
            ids[k] = take_next(&g);
    }
}
