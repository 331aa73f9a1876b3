/* What the timed programs of this folder share: a clock, a median, and rows of one table with
 * the figure that has to be reached beside the figure that was measured. */
#ifndef MOEPLAN_BENCH_BENCH_H
#define MOEPLAN_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>

enum bench_goal { BENCH_AT_MOST, BENCH_AT_LEAST, BENCH_SHOWN };

struct bench {
    unsigned missed; /* rows whose goal was not reached */
};

/* Seconds since some moment, from a clock that only goes forward. */
double bench_now_s(void);

/* Seconds that this process's threads have computed, which other processes do not lengthen as
 * they do the clock's. */
double bench_user_s(void);

/* Median of n samples; sorts them. */
double bench_median(double *samples, size_t n);

/* Median of samples[i] / others[i], taken in turns: between two neighbours the machine changes
 * less than over a run. At most BENCH_PAIRS pairs. */
enum { BENCH_PAIRS = 64 };
double bench_ratio(const double *samples, const double *others, size_t n);

/* Prints "name  figure unit  goal  verdict"; with BENCH_SHOWN there is no goal. */
void bench_row(struct bench *bench, const char *name, double figure, const char *unit,
               enum bench_goal goal, double limit);

/* Exit status of the program: 0 when all goals were reached. */
int bench_status(const struct bench *bench);

#endif
