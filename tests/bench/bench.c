/* See bench.h. */
#include "bench/bench.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

double bench_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_user_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, compare);
    return n % 2 ? samples[n / 2] : 0.5 * (samples[n / 2 - 1] + samples[n / 2]);
}

double bench_ratio(const double *samples, const double *others, size_t n)
{
    double ratios[BENCH_PAIRS];
    assert(n <= BENCH_PAIRS);
    for (size_t i = 0; i < n; i++)
        ratios[i] = samples[i] / others[i];
    return bench_median(ratios, n);
}

void bench_row(struct bench *bench, const char *name, double figure, const char *unit,
               enum bench_goal goal, double limit)
{
    if (goal == BENCH_SHOWN) {
        printf("%-48s %10.4g %-12s\n", name, figure, unit);
    } else {
        bool reached = goal == BENCH_AT_MOST ? figure <= limit : figure >= limit;
        bench->missed += !reached;
        printf("%-48s %10.4g %-12s %s %-8.4g %s\n", name, figure, unit,
               goal == BENCH_AT_MOST ? "<=" : ">=", limit, reached ? "reached" : "MISSED");
    }
    fflush(stdout);
}

int bench_status(const struct bench *bench)
{
    return bench->missed != 0;
}
