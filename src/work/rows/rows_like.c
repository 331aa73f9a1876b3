/* Laws of popularities that are drawn by the hundred. The first ROWS_WORKED_OUT are worked out
 * in full (by quadrature, or from pilots); the others follow from what those show: chances by
 * Rosen's approximation, shares of router groups by one exponent on their popularity, ranks
 * touched as by independent arrivals, of which one number stands for K. */
#include <math.h>
#include <string.h>

#include "work/rows/rows_parts.h"

enum { HALVINGS = 40 };

static uint64_t node_of(const struct rows *rows, uint64_t replica)
{
    return rows->map.rank[replica] / rows->spec.ranks_per_node;
}

/* Experts of a place (rank, node) arrive at rate lambda = -log of the chance to miss, were they
 * independent. Given that K arrive in all, none is of the place with (1 - lambda / sum)^K. */
static void share_arrivals(double *rate, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += rate[i];
    for (uint64_t i = 0; i < n; i++)
        rate[i] = sum > 0 ? log1p(-fmin(rate[i] / sum, 1)) : 0;
}

/* Logarithms of one arrival's chance to miss each rank and each node. */
static void log_misses(const struct rows *rows, const double *pi, double *rank, double *node)
{
    const struct expert_map *map = &rows->map;
    memset(rank, 0, rows->spec.ranks * sizeof *rank);
    memset(node, 0, rows_nodes(rows) * sizeof *node);
    for (uint64_t i = 0; i < map->replicas; i++) {
        uint64_t e = map->expert[i];
        double rate = -log1p(-fmin(pi[e] / map->count[e], 1 - 1e-9));
        rank[map->rank[i]] += rate;
        node[node_of(rows, i)] += rate;
    }
    share_arrivals(rank, rows->spec.ranks);
    share_arrivals(node, rows_nodes(rows));
}

double rows_touch_by_power(const double *log_miss, uint64_t n, double power, double *touch)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        double chance = -expm1(power * log_miss[i]);
        if (touch)
            touch[i] = chance;
        sum += chance;
    }
    return sum;
}

double rows_touch_power(const double *log_miss, uint64_t n, double distinct, double most)
{
    double low = 0, high = most;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        bool less = rows_touch_by_power(log_miss, n, middle, NULL) < distinct;
        *(less ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

/* Popularity of the groups of a law; rows of a token in each when they share as
 * popularity^exponent; the sum over groups of log popularity x rows. */
static double share_groups(const struct rows *rows, unsigned number, double exponent,
                           double *mean)
{
    uint64_t groups = rows->groups, size = rows->spec.experts / groups;
    const double *p = rows->p + number * rows->spec.experts;
    double total = 0, score = 0;
    for (uint64_t g = 0; g < groups; g++) {
        double mass = 0;
        for (uint64_t e = g * size; e < (g + 1) * size; e++)
            mass += p[e];
        mean[g] = pow(mass, exponent);
        total += mean[g];
        score += mean[g] * log(fmax(mass, 1e-300));
    }
    for (uint64_t g = 0; g < groups; g++)
        mean[g] *= (double)rows->spec.top_k / total;
    return score * (double)rows->spec.top_k / total;
}

/* Rows of a token in each group, from chances that were worked out; their score as above. */
static double see_groups(const struct rows *rows, unsigned number, double *mean)
{
    uint64_t groups = rows->groups, size = rows->spec.experts / groups;
    const double *p = rows->p + number * rows->spec.experts, *pi = rows->laws[number].pi;
    double score = 0;
    for (uint64_t g = 0; g < groups; g++) {
        double mass = 0;
        mean[g] = 0;
        for (uint64_t e = g * size; e < (g + 1) * size; e++) {
            mass += p[e];
            mean[g] += pi[e];
        }
        score += mean[g] * log(fmax(mass, 1e-300));
    }
    return score;
}

/* The exponent at which the laws worked out have the scores that they show: the likeliest one
 * of a multinomial choice of groups. */
static double group_exponent(const struct rows *rows, double *mean)
{
    double seen = 0, low = 0, high = 8;
    for (unsigned i = 0; i < ROWS_WORKED_OUT; i++)
        seen += see_groups(rows, i, mean);
    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2, score = 0;
        for (unsigned law = 0; law < ROWS_WORKED_OUT; law++)
            score += share_groups(rows, law, middle, mean);
        *(score < seen ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

void rows_like_init(const struct rows *rows, struct arena *arena, struct rows_like *like)
{
    uint64_t ranks = rows->spec.ranks, nodes = rows_nodes(rows);
    double most = 8 * (double)rows->spec.top_k;
    *like = (struct rows_like){0};
    like->rank_miss = arena_alloc(arena, ranks, sizeof *like->rank_miss);
    like->node_miss = arena_alloc(arena, nodes, sizeof *like->node_miss);
    like->mean = arena_alloc(arena, rows->groups, sizeof *like->mean);
    like->worked_mean = arena_alloc(arena, rows->groups, sizeof *like->worked_mean);
    for (unsigned i = 0; i < ROWS_WORKED_OUT; i++) {
        const struct rows_law *law = &rows->laws[i];
        log_misses(rows, law->pi, like->rank_miss, like->node_miss);
        like->rank_power +=
            rows_touch_power(like->rank_miss, ranks, law->distinct_ranks, most) /
            ROWS_WORKED_OUT;
        if (!rows->spec.nodes_unread)
            like->node_power +=
                rows_touch_power(like->node_miss, nodes, law->distinct_nodes, most) /
                ROWS_WORKED_OUT;
    }
    if (rows->groups > 1)
        like->exponent = group_exponent(rows, like->mean);
}

/* Chances of experts inside groups that keep their share; d as Hajek's, given that the group
 * was kept; the groups' covariance in the proportions of a law that was worked out. */
static void fill_groups(const struct rows *rows, unsigned number, const struct rows_like *like,
                        struct arena *arena, struct rows_law *law)
{
    const struct rows_law *worked = &rows->laws[number % ROWS_WORKED_OUT];
    uint64_t groups = rows->groups;
    double kept = 0;
    share_groups(rows, number, like->exponent, like->mean);
    see_groups(rows, number % ROWS_WORKED_OUT, like->worked_mean);
    rows_share_groups(rows, like->mean, law->pi);
    law->kept = arena_alloc(arena, groups, sizeof *law->kept);
    law->group = arena_alloc(arena, groups * groups, sizeof *law->group);
    for (uint64_t g = 0; g < groups; g++)
        kept += worked->kept[g];
    for (uint64_t g = 0; g < groups; g++) {
        double grown = sqrt(like->mean[g] / fmax(like->worked_mean[g], 1e-12));
        law->kept[g] = fmin(like->mean[g] * kept / (double)rows->spec.top_k, 1);
        for (uint64_t h = 0; h < groups; h++)
            law->group[g * groups + h] = grown * worked->group[g * groups + h];
    }
    rows_hajek_groups(rows, law);
}

void rows_fill_like(const struct rows *rows, unsigned number, const struct rows_like *like,
                    struct arena *arena, struct rows_law *law)
{
    uint64_t n = rows->spec.experts;
    rows_rosen(rows->p + number * n, n, rows->spec.top_k, law->pi);
    if (rows->groups > 1)
        fill_groups(rows, number, like, arena, law);
    else
        law->sum_d[0] = rows_hajek(law->pi, n, law->d);
    log_misses(rows, law->pi, like->rank_miss, like->node_miss);
    law->distinct_ranks =
        rows_touch_by_power(like->rank_miss, rows->spec.ranks, like->rank_power, law->touch);
    if (!rows->spec.nodes_unread)
        rows_touch_by_power(like->node_miss, rows_nodes(rows), like->node_power,
                            law->node_touch);
}
