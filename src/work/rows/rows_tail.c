/* How unlikely a full rank is, beyond what samples can show; see rows.h.
 *
 * Hoeffding 1963, theorem 1 (inequality 2.1): of n independent variables within [0, b] with
 * mean m each, P(sum >= n q) <= exp(-n KL(q/b || m/b)) for q > m, KL the divergence of two
 * coins. A token brings a rank between 0 and b = min(K, experts of the rank) rows, so no
 * variance is assumed. With runs of tokens routed alike the independent choices are the runs.
 */
#include <math.h>

#include "work/rows/rows.h"

/* Quadrature gives chances to 1e-5, alias tables are true to E / 2^32. */
static const double mean_error = 1e-4;

/* Rare is not impossible: 0 is only said of what cannot be. */
static const double smallest = 1e-300;

/* a log(a / b), 0 at a = 0 */
static double surprise(double a, double b)
{
    return a > 0 ? a * log(a / b) : 0;
}

static double hoeffding(double n, double q, double m)
{
    if (q <= m)
        return 1;
    if (q > 1 || m <= 0)
        return 0;
    return fmax(exp(-n * (surprise(q, m) + surprise(1 - q, 1 - m))), smallest);
}

/* A rank's mean rows per token; `slack`: rows that a source's dealing to the replicas of an
 * expert can add to their even share. */
struct rank_mean {
    double rows;
    uint64_t experts, slack;
};

static struct rank_mean mean_of(const struct rows *rows, const struct rows_law *law,
                                uint64_t rank)
{
    const struct expert_map *map = &rows->map;
    struct rank_mean mean = {0};
    for (uint64_t i = 0; i < map->replicas; i++) {
        if (map->rank[i] != rank)
            continue;
        uint32_t copies = map->count[map->expert[i]];
        mean.rows += law->pi[map->expert[i]] / copies;
        mean.experts++;
        mean.slack += copies > 1 ? rows->spec.ranks : 0;
    }
    return mean;
}

static double rank_tail(const struct rows *rows, const struct rows_law *law, uint64_t rank,
                        uint64_t room)
{
    struct rank_mean mean = mean_of(rows, law, rank);
    uint64_t k = rows->spec.top_k, most = k < mean.experts ? k : mean.experts;
    if (mean.experts == 0)
        return 0;
    double tokens = (double)rows->spec.tokens * (double)rows->spec.ranks, b = (double)most;
    double left = (double)(room > mean.slack ? room - mean.slack : 0);
    if (left >= tokens * b)
        return 0;
    double q = (left + 1) / tokens; /* more than room: at least a row more */
    return hoeffding(tokens / (double)rows->run, q / b, mean.rows * (1 + mean_error) / b);
}

double rows_tail(const struct rows *rows, uint64_t room)
{
    double most = 0;
    bool drawn = rows_popularity_is_drawn(&rows->spec) && rows->n_laws > 1;
    bool piloted = rows->kind == ROWS_GROUPED && rows->alias;
    if (drawn || rows->kind == ROWS_RECORDED || piloted)
        return 1;
    for (unsigned law = 0; law < rows->n_laws; law++) {
        double sum = 0;
        for (uint64_t rank = 0; rank < rows->spec.ranks; rank++)
            sum += rank_tail(rows, &rows->laws[law], rank, room);
        most = fmax(most, sum);
    }
    return fmin(most, 1);
}
