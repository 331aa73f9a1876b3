/* Measuring steps: how long each op takes, once its results are known to be right.
 *
 * A sample is one step, or as many as it takes to leave the clock's resolution behind (FFTW's
 * rule: doubled until the shortest of eight samples is long enough, or time is up). Before each
 * step the weights are flushed from the caches, as the layers of a model between two uses of
 * this one would. Buffers are allocated and poisoned between the ops, never inside what is
 * timed. Every process of a group measures, and the slowest one counts, op by op. */
#ifndef MOEPLAN_EXEC_MEASURE_H
#define MOEPLAN_EXEC_MEASURE_H

#include "exec/execute.h"
#include "exec/gauge.h"

enum {
    MEASURE_SAMPLES = 64, /* most; fewer when the budget ends before */
    MEASURE_FIRST = 8,    /* decide how many steps a sample takes */
    MEASURE_LEAST = 3,    /* whatever the budget */
    MEASURE_FACTOR = 1000 /* a sample is at least so many steps of the clock */
};

struct measure_options {
    uint64_t repeat;     /* samples; 0: as many as fit into the budget */
    double budget_s;     /* of all samples together, preparation and flushing included */
    struct gauge *gauge; /* read before, between and behind the samples; NULL: none */
};

struct measurement {
    size_t n_ops, n_samples;
    uint64_t steps; /* in a sample; its values are means over them */
    double *op_s;   /* [n_ops][MEASURE_SAMPLES] seconds of an op, its loops summed */
    double *step_s; /* [MEASURE_SAMPLES] the ops of a step that are work */
    double clock_s; /* smallest step of the clock */
};

/* False for ops that stand for the world around the layer: making inputs, looking at results.
 */
bool measure_is_work(const struct op *op);

/* Measures steps of an execution that has begun. Memory from the arena. */
enum status measure_run(struct execution *x, const struct measure_options *options,
                        struct arena *arena, struct measurement *out, struct err *err);

/* A distribution: median with its 95 % interval from order statistics (distribution-free; the
 * extremes when there are too few samples), 99th percentile. */
struct spread {
    double p50_s, p99_s, low_s, high_s;
};

/* Sorts the samples; n > 0. */
struct spread measure_spread(double *samples, size_t n);

#endif
