/* What the files of the sampler share; not for others. */
#ifndef MOEPLAN_WORK_ROWS_ROWS_PARTS_H
#define MOEPLAN_WORK_ROWS_ROWS_PARTS_H

#include "work/rows/rows.h"

/* Uses of random numbers under one seed. */
enum { ROWS_RNG_TOKENS = 1, ROWS_RNG_POPULARITY = 3, ROWS_RNG_GAUSS = 4, ROWS_RNG_PILOT = 5 };

enum { ROWS_CHUNK = 64 }; /* tokens sampled at a time */

/* Tokens side by side, in the lanes of a vector. */
enum { ROWS_LANES = 4 };
typedef double rows_lanes __attribute__((vector_size(8 * ROWS_LANES)));
typedef int64_t rows_masks __attribute__((vector_size(8 * ROWS_LANES)));

/* Arrivals of a group of experts, of tokens side by side (group-limited choice). */
struct rows_arrivals {
    rows_lanes first, second;   /* when its first two experts arrive */
    rows_lanes rest;            /* popularity of those that have not */
    rows_lanes cost;            /* its score */
    rows_masks better;          /* groups that are better */
    rows_masks kept;            /* of a window of groups, by number: those that stay, as bits */
    int32_t expert[ROWS_LANES]; /* the first one, where popularity differs */
};

/* Alias tables (Walker, Vose) of one law: group g's experts are g n .. g n + n - 1. The high
 * word of word x n picks a column, the low word decides between it and `other`: chances are
 * true to n / 2^32. */
struct rows_alias {
    uint32_t n;          /* experts of a group */
    uint32_t *threshold; /* [groups n] */
    uint32_t *other;     /* [groups n] numbers within the group */
};

void rows_alias_make(const double *p, uint64_t groups, uint64_t n, struct arena *arena,
                     struct rows_alias *out);

static inline uint32_t rows_alias_draw(const struct rows_alias *alias, uint32_t base,
                                       uint32_t word)
{
    uint64_t product = (uint64_t)word * alias->n;
    uint32_t column = (uint32_t)(product >> 32);
    return (uint32_t)product < alias->threshold[base + column] ? column
                                                               : alias->other[base + column];
}

/* Popularity of the experts: log weights and chances of every law. */
enum status rows_weights(const struct rows_spec *spec, struct arena *arena, unsigned n_laws,
                         double *log_weight, double *p, struct err *err);

/* Fills the laws of prepared rows. */
void rows_laws(struct rows *rows, struct arena *arena);

/* Chances of experts scaled, group by group, so that a token has group_mean[g] rows in each. */
void rows_share_groups(const struct rows *rows, const double *group_mean, double *pi);

/* Hajek's d and sum_d of every group, given that it was kept (law->kept). */
void rows_hajek_groups(const struct rows *rows, struct rows_law *law);

/* Chances that places whose experts miss a token with exp(log_miss), were they independent, are
 * touched, those raised to `power`: into touch (or NULL); their sum. And the power, up to
 * `most`, at which the sum is `distinct`. */
double rows_touch_by_power(const double *log_miss, uint64_t n, double power, double *touch);
double rows_touch_power(const double *log_miss, uint64_t n, double distinct, double most);

/* What a known part follows from, all of it: words, and tables of bytes. */
enum { ROWS_KEY_WORDS = 8, ROWS_KEY_TABLES = 2 };
enum rows_part_kind { ROWS_PART_TOUCH = 1, ROWS_PART_PILOT, ROWS_PART_DROPS };

struct rows_key {
    uint64_t words[ROWS_KEY_WORDS];
    struct {
        const void *bytes;
        size_t n;
    } tables[ROWS_KEY_TABLES];
};

/* NULL: not known; else until the next part is kept. Keeping copies. `known` may be NULL. */
const void *rows_known_find(const struct rows_known *known, const struct rows_key *key);
void rows_known_keep(struct rows_known *known, const struct rows_key *key, const void *value,
                     size_t bytes);

/* rows_touch_all of the partitions that are not known, at most four. */
void rows_touch_known(struct rows_known *known, const double *p, uint64_t n, uint64_t k,
                      const struct rows_sets *sets, size_t n_sets);

/* Of many drawn popularities so many laws are worked out in full; the others follow. */
enum { ROWS_WORKED_OUT = 3 };

struct rows_like {
    double rank_power, node_power, exponent;
    double *rank_miss, *node_miss; /* [R], [nodes] scratch */
    double *mean, *worked_mean;    /* [groups] scratch */
};

/* What the first ROWS_WORKED_OUT laws show, and a law like them for popularity `number`. */
void rows_like_init(const struct rows *rows, struct arena *arena, struct rows_like *like);
void rows_fill_like(const struct rows *rows, unsigned number, const struct rows_like *like,
                    struct arena *arena, struct rows_law *law);

/* Group-limited choice of one token (router.groups): the Gumbel top-K law after DeepSeek's
 * group rule. `purpose` keeps pilot tokens apart from real ones. */
void rows_grouped_tokens(const struct rows *rows, unsigned law, uint32_t purpose, uint32_t step,
                         uint32_t rank, uint32_t first, uint32_t n,
                         struct rows_scratch *scratch, int32_t *ids);

/* Blocks of random words that a token nearly always gets by with. */
unsigned rows_blocks(const struct rows *rows);

/* Blocks of waiting times of a group-limited token: two per group, one per choice. */
static inline unsigned rows_time_blocks(const struct rows *rows)
{
    return (unsigned)(2 * rows->groups + rows->spec.top_k + 3) / 4;
}

/* Fills a table of normal quantiles for rows.normal. */
void rows_normal_table(double *table);

/* Marks a new token in the stamps; returns its clock. */
static inline uint32_t rows_tick(uint32_t *clock, uint32_t *stamp, uint64_t n)
{
    if (++*clock == 0) {
        for (uint64_t i = 0; i < n; i++)
            stamp[i] = 0;
        *clock = 1;
    }
    return *clock;
}

#endif
