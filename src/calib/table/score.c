/* Errors over tables; see score.h. */
#include "calib/table/score.h"

#include <math.h>
#include <stdlib.h>

#include "base/stat.h"
#include "base/text.h"

struct ranked {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value < y->value || x->value > y->value)
        return x->value < y->value ? -1 : 1;
    return 0;
}

/* Ranks with ties sharing their mean. */
static double *ranks_of(const double *values, size_t n, struct arena *arena)
{
    struct ranked *sorted = arena_alloc(arena, n, sizeof *sorted);
    double *ranks = arena_alloc(arena, n, sizeof *ranks);
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct ranked){values[i], i};
    qsort(sorted, n, sizeof *sorted, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(sorted[end].value > sorted[i].value);)
            end++;
        for (size_t k = i; k < end; k++)
            ranks[sorted[k].at] = (double)(i + end - 1) / 2;
    }
    return ranks;
}

static double correlation(const double *x, const double *y, size_t n)
{
    struct stat a = {0}, b = {0};
    double product = 0;
    for (size_t i = 0; i < n; i++) {
        stat_add(&a, x[i]);
        stat_add(&b, y[i]);
    }
    for (size_t i = 0; i < n; i++)
        product += (x[i] - a.mean) * (y[i] - b.mean) / (double)n;
    double scale = stat_sd(&a) * stat_sd(&b);
    return n >= 3 && scale > 0 ? product / scale : (double)NAN;
}

struct score score_of(const double *measured, const double *predicted, size_t n,
                      struct arena *arena)
{
    double *m = arena_alloc(arena, n + 1, sizeof *m), *p = arena_alloc(arena, n + 1, sizeof *p);
    double *error = arena_alloc(arena, n + 1, sizeof *error);
    struct stat size = {0};
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(predicted[i]) || !(measured[i] > 0))
            continue;
        m[kept] = measured[i];
        p[kept] = predicted[i];
        error[kept++] = 100 * (predicted[i] / measured[i] - 1);
    }
    if (kept == 0)
        return (struct score){.rank = (double)NAN};
    struct score score = {.n = kept};
    score.rank = correlation(ranks_of(m, kept, arena), ranks_of(p, kept, arena), kept);
    stat_sort(error, kept);
    score.bias = stat_percentile(error, kept, 0.5);
    for (size_t i = 0; i < kept; i++) {
        error[i] = fabs(error[i]);
        stat_add(&size, error[i]);
    }
    stat_sort(error, kept);
    score.mean = size.mean;
    score.max = size.max;
    score.median = stat_percentile(error, kept, 0.5);
    score.p90 = stat_percentile(error, kept, 0.9);
    return score;
}

void confusion_add(struct confusion *c, const char *published, const char *predicted)
{
    bool marginal = text_equal(predicted, "marginal"), oom = text_equal(predicted, "oom");
    if (text_equal(published, "oom"))
        *(marginal ? &c->oom_as_marginal : oom ? &c->oom_as_oom : &c->oom_as_fits) += 1;
    else
        *(marginal ? &c->fits_as_marginal : oom ? &c->fits_as_oom : &c->fits_as_fits) += 1;
}

double confusion_balanced_accuracy(const struct confusion *c)
{
    double fits = (double)(c->fits_as_fits + c->fits_as_marginal + c->fits_as_oom);
    double oom = (double)(c->oom_as_fits + c->oom_as_marginal + c->oom_as_oom);
    if (!(fits > 0) || !(oom > 0))
        return (double)NAN;
    return ((double)c->fits_as_fits / fits + (double)c->oom_as_oom / oom) / 2;
}
