/* Samples of steps; see measure.h. */
#include "exec/measure.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/stat.h"
#include "exec/stopwatch.h"

/* ---- caches ---- */

static bool is_kept(const struct buffer *buffer)
{
    return buffer->life == LIFE_PERSISTENT && buffer->segment != SEGMENT_STEP;
}

static void flush_weights(const struct execution *x)
{
    for (size_t b = 0; b < x->work->n_buffers; b++) {
        if (!is_kept(&x->work->buffers[b]))
            continue;
        for (uint64_t i = 0; i < x->n_ranks; i++) {
            const struct tensor *tensor = &x->ranks[i].tensors[b];
            if (tensor->data)
                x->backend->flush(x->device, tensor->data, tensor->bytes * tensor->copies);
        }
    }
}

/* ---- samples ---- */

bool measure_is_work(const struct op *op)
{
    return kernel_is_work((enum kernel)op->kernel);
}

struct measuring {
    struct execution *x;
    struct measurement *out;
    double *step; /* [n_ops] of one step */
    double *sum;  /* [n_ops + 2] means of a sample, their sum, seconds since the beginning */
    struct gauge *gauge;
    double begin_s;
};

static void add(double *sum, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += values[i];
}

/* The slowest process counts; all processes learn the same numbers, so that all decide alike.
 */
static enum status take_sample(struct measuring *m, struct err *err)
{
    struct transport *transport = m->x->session->transport;
    size_t n = m->out->n_ops;
    memset(m->sum, 0, (n + 2) * sizeof *m->sum);
    for (uint64_t i = 0; i < m->out->steps; i++) {
        flush_weights(m->x);
        TRY(execution_step(m->x, NULL, m->step, err));
        add(m->sum, m->step, n);
    }
    for (size_t op = 0; op < n; op++) {
        m->sum[op] /= (double)m->out->steps;
        m->sum[n] += measure_is_work(&m->x->work->ops[op]) ? m->sum[op] : 0;
    }
    m->sum[n + 1] = stopwatch_now_s() - m->begin_s;
    TRY(transport->ops->max(transport, m->sum, n + 2, err));
    for (size_t op = 0; op < n; op++)
        m->out->op_s[op * MEASURE_SAMPLES + m->out->n_samples] = m->sum[op];
    m->out->step_s[m->out->n_samples++] = m->sum[n];
    return STATUS_OK;
}

static double elapsed_s(const struct measuring *m)
{
    return m->sum[m->out->n_ops + 1];
}

static double shortest_s(const struct measurement *out)
{
    double shortest = DBL_MAX;
    for (size_t i = 0; i < out->n_samples; i++)
        shortest = fmin(shortest, out->step_s[i] * (double)out->steps);
    return shortest;
}

/* Samples until there are n of them, or at least MEASURE_LEAST and the budget is spent. */
static enum status take_samples(struct measuring *m, size_t n, double budget_s, struct err *err)
{
    while (m->out->n_samples < n &&
           (m->out->n_samples < MEASURE_LEAST || elapsed_s(m) < budget_s)) {
        TRY(take_sample(m, err));
        gauge_read(m->gauge, false);
    }
    return STATUS_OK;
}

static enum status find_steps(struct measuring *m, double budget_s, double clock_s,
                              struct err *err)
{
    for (;;) {
        m->out->n_samples = 0;
        TRY(take_samples(m, MEASURE_FIRST, budget_s, err));
        if (shortest_s(m->out) >= MEASURE_FACTOR * clock_s || elapsed_s(m) >= budget_s / 2)
            return STATUS_OK;
        m->out->steps *= 2;
    }
}

static enum status take_all(struct measuring *m, const struct measure_options *options,
                            double clock_s, struct err *err)
{
    double budget_s = options->repeat ? DBL_MAX : options->budget_s;
    size_t wanted = options->repeat && options->repeat < MEASURE_SAMPLES
                        ? (size_t)options->repeat
                        : MEASURE_SAMPLES;
    m->begin_s = stopwatch_now_s();
    if (!options->repeat || options->repeat >= MEASURE_FIRST)
        TRY(find_steps(m, options->budget_s, clock_s, err));
    return take_samples(m, wanted, budget_s, err);
}

enum status measure_run(struct execution *x, const struct measure_options *options,
                        struct arena *arena, struct measurement *out, struct err *err)
{
    size_t n = x->work->n_ops;
    *out = (struct measurement){.n_ops = n, .steps = 1, .clock_s = stopwatch_step_s()};
    out->op_s = arena_alloc(arena, n * MEASURE_SAMPLES, sizeof *out->op_s);
    out->step_s = arena_alloc(arena, MEASURE_SAMPLES, sizeof *out->step_s);
    struct measuring m = {.x = x,
                          .out = out,
                          .step = arena_alloc(arena, n, sizeof *m.step),
                          .sum = arena_alloc(arena, n + 2, sizeof *m.sum),
                          .gauge = options->gauge};
    struct transport *transport = x->session->transport;
    double clock_s = out->clock_s;
    TRY(transport->ops->max(transport, &clock_s, 1, err));
    TRY(execution_step(x, NULL, m.step, err)); /* warms code, page tables and threads */
    gauge_read(m.gauge, true);
    TRY(take_all(&m, options, clock_s, err));
    gauge_read(m.gauge, true);
    return STATUS_OK;
}

/* ---- distributions ---- */

/* The largest j with P(B < j) <= 2.5 %, B the number of heads of n coins: the j-th smallest and
 * j-th largest samples enclose the median with 95 %. 0 when there are too few samples. */
static size_t interval_rank(size_t n)
{
    double term = exp2(-(double)n), below = term;
    size_t j = 0;
    while (j < n && below <= 0.025) {
        j++;
        term *= (double)(n - j + 1) / (double)j;
        below += term;
    }
    return j;
}

struct spread measure_spread(double *samples, size_t n)
{
    stat_sort(samples, n);
    size_t j = interval_rank(n), at = j ? j - 1 : 0;
    return (struct spread){.p50_s = stat_percentile(samples, n, 0.5),
                           .p99_s = stat_percentile(samples, n, 0.99),
                           .low_s = samples[at],
                           .high_s = samples[n - 1 - at]};
}
