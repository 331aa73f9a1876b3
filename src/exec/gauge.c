/* See gauge.h. */
#include "exec/gauge.h"

#include <stdlib.h>

#include "base/pool.h"
#include "base/stat.h"
#include "exec/stopwatch.h"

enum { ALIGNMENT = 64, SHARE = 10 };

/* Of a worker: rows, a matrix, and the result of the wider product. */
static const size_t FLOATS = GAUGE_ROWS * GAUGE_WIDE * 2 + GAUGE_WIDE * GAUGE_NARROW;

struct product {
    const struct gauge *gauge;
    int depth, columns;
};

static void multiply(void *arg, size_t task, unsigned worker)
{
    const struct product *product = arg;
    (void)worker;
    float *rows = product->gauge->space + task * FLOATS,
          *weights = rows + GAUGE_ROWS * GAUGE_WIDE,
          *result = weights + GAUGE_WIDE * GAUGE_NARROW;
    blas_multiply(&product->gauge->session->blas, GAUGE_ROWS, product->depth, product->columns,
                  rows, weights, result);
}

bool gauge_open(struct gauge *gauge, const struct session *session)
{
    size_t floats = pool_size(session->pool) * FLOATS;
    *gauge = (struct gauge){.session = session,
                            .space = aligned_alloc(ALIGNMENT, floats * sizeof(float))};
    for (size_t i = 0; gauge->space && i < floats; i++)
        gauge->space[i] = 0.25F + 0.2F * (float)(i % 251) / 251; /* as the probe's */
    return gauge->space != NULL;
}

void gauge_close(struct gauge *gauge)
{
    if (gauge)
        free(gauge->space);
}

/* FLOP/s of a worker while all of them multiply. */
static double rate_of(struct gauge *gauge, int depth, int columns)
{
    struct product product = {gauge, depth, columns};
    double begin = stopwatch_now_s();
    pool_run(gauge->session->pool, pool_size(gauge->session->pool), multiply, &product);
    return 2.0 * GAUGE_ROWS * depth * columns / (stopwatch_now_s() - begin);
}

void gauge_read(struct gauge *gauge, bool due)
{
    if (!gauge || gauge->n == GAUGE_READINGS)
        return;
    double begin = stopwatch_now_s();
    if (!due && begin - gauge->ended_s < SHARE * (gauge->ended_s - gauge->began_s))
        return;
    gauge->rates[gauge->n++] =
        (rate_of(gauge, GAUGE_NARROW, GAUGE_WIDE) + rate_of(gauge, GAUGE_WIDE, GAUGE_NARROW)) /
        2;
    gauge->began_s = begin;
    gauge->ended_s = stopwatch_now_s();
}

double gauge_rate(struct gauge *gauge)
{
    if (!gauge || gauge->n == 0)
        return 0;
    stat_sort(gauge->rates, gauge->n);
    return stat_percentile(gauge->rates, gauge->n, 0.5);
}
