/* See sweep_keep.h. */
#include "sim/search/sweep_keep.h"

#include <stdlib.h>

unsigned sweep_verdict(const struct evaluation *result)
{
    return result->valid ? (unsigned)result->verdict : SWEEP_INVALID;
}

bool sweep_can_be_best(const struct sweep_keep *keep, const struct evaluation *result)
{
    unsigned verdict = sweep_verdict(result);
    return verdict == VERDICT_FITS || (keep->marginal && verdict == VERDICT_MARGINAL);
}

static int by_point(const struct sweep_best *a, const struct sweep_best *b)
{
    return a->point < b->point ? -1 : a->point > b->point;
}

static int by_speed(const void *a, const void *b)
{
    const struct sweep_best *x = a, *y = b;
    if (x->speed != y->speed)
        return x->speed > y->speed ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return by_point(x, y);
}

static int by_bytes(const void *a, const void *b)
{
    const struct sweep_best *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->speed != y->speed)
        return x->speed > y->speed ? -1 : 1;
    return by_point(x, y);
}

static size_t cut_pareto(struct sweep_best *points, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct sweep_best point = points[i];
        if (kept && point.speed <= points[kept - 1].speed)
            continue;
        points[i] = points[kept]; /* what is cut still has its row to be freed */
        points[kept++] = point;
    }
    return kept;
}

size_t sweep_best_cut(const struct sweep_keep *keep, struct sweep_best *points, size_t n)
{
    bool pareto = keep->reduce == REDUCE_PARETO;
    if (n)
        qsort(points, n, sizeof *points, pareto ? by_bytes : by_speed);
    if (pareto)
        return cut_pareto(points, n);
    return n < keep->top ? n : (size_t)keep->top;
}

bool sweep_best_loses(const struct sweep_keep *keep, const struct sweep_best *cut, size_t n,
                      const struct sweep_best *point)
{
    if (keep->reduce != REDUCE_PARETO)
        return n == keep->top && n && by_speed(&cut[n - 1], point) < 0;
    size_t low = 0, high = n; /* the first that needs more bytes */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cut[middle].bytes <= point->bytes)
            low = middle + 1;
        else
            high = middle;
    }
    return low && cut[low - 1].speed >= point->speed;
}
