/* The routing sampler on DeepSeek-V3's shape: 32,768 tokens of 64 ranks, 8 of 256 experts.
 * Exact steps on two threads, Gaussian steps on one, and how well their fullest rank agrees;
 * figures of other laws beside them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pool.h"
#include "base/stat.h"
#include "bench/bench.h"
#include "work/rows/rows.h"

enum { STEPS = 1000, GAUSS_STEPS = 20000, GROUPED_STEPS = 20, WORKERS = 2, RUNS = 3 };

struct job {
    struct rows rows;
    struct rows_scratch scratch[WORKERS];
    struct rows_step step[WORKERS];
    double most[STEPS]; /* rows of the fullest rank */
};

static void prepare(struct job *job, double alpha, uint64_t groups, unsigned want,
                    struct arena *arena)
{
    struct err err = {0};
    struct rows_spec spec = {
        .tokens = 512,
        .top_k = 8,
        .experts = 256,
        .ranks = 64,
        .ranks_per_node = 8,
        .router = {.score = SCORE_SIGMOID,
                   .bias = true,
                   .groups = groups,
                   .top_groups = groups > 1 ? groups / 2 : 1},
        .routing = {.distribution = alpha > 0 ? DISTRIBUTION_ZIPF : DISTRIBUTION_UNIFORM,
                    .alpha = alpha,
                    .seed = 1},
    };
    if (rows_prepare(&spec, arena, &job->rows, &err) != STATUS_OK) {
        err_print(&err, stderr);
        exit(1);
    }
    for (int i = 0; i < WORKERS; i++) {
        rows_scratch_init(&job->rows, arena, &job->scratch[i]);
        rows_step_init(&job->rows, want, arena, &job->step[i]);
    }
}

static double fullest(const struct job *job, const struct rows_step *step)
{
    uint64_t most = 0;
    for (uint64_t r = 0; r < job->rows.spec.ranks; r++)
        most = step->rank[r] > most ? step->rank[r] : most;
    return (double)most;
}

static void exact_step(void *arg, size_t task, unsigned worker)
{
    struct job *job = arg;
    rows_sample_step(&job->rows, task, &job->scratch[worker], &job->step[worker]);
    job->most[task] = fullest(job, &job->step[worker]);
}

/* Median seconds of `steps` exact steps on the pool. */
static double exact_s(struct pool *pool, struct job *job, size_t steps)
{
    double samples[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = bench_now_s();
        pool_run(pool, steps, exact_step, job);
        samples[run] = bench_now_s() - start;
    }
    return bench_median(samples, RUNS);
}

/* Median seconds of one Gaussian step; *most: mean of the fullest rank. */
static double gauss_s(struct job *job, double *most)
{
    double samples[RUNS];
    struct stat stat = {0};
    for (int run = 0; run < RUNS; run++) {
        double start = bench_now_s();
        for (uint64_t s = 0; s < GAUSS_STEPS; s++)
            rows_gauss_step(&job->rows, s, job->scratch, job->step);
        samples[run] = (bench_now_s() - start) / GAUSS_STEPS;
    }
    for (uint64_t s = 0; s < GAUSS_STEPS; s++) {
        rows_gauss_step(&job->rows, s, job->scratch, job->step);
        stat_add(&stat, fullest(job, job->step));
    }
    *most = stat.mean;
    return bench_median(samples, RUNS);
}

static double mean_of(const double *values, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum / (double)n;
}

static void bench_law(struct bench *bench, struct pool *pool, const char *name, double alpha,
                      bool goals)
{
    struct arena arena = {0};
    struct job *job = arena_alloc(&arena, 1, sizeof *job);
    char row[96];
    double gauss_most;
    prepare(job, alpha, 1, 0, &arena);
    double exact = exact_s(pool, job, STEPS), exact_most = mean_of(job->most, STEPS);
    double gauss = gauss_s(job, &gauss_most);
    snprintf(row, sizeof row, "%s: 1000 exact steps, 2 threads", name);
    bench_row(bench, row, exact, "s", goals ? BENCH_AT_MOST : BENCH_SHOWN, 1);
    snprintf(row, sizeof row, "%s: a Gaussian step", name);
    bench_row(bench, row, 1e6 * gauss, "us", goals ? BENCH_AT_MOST : BENCH_SHOWN, 5);
    snprintf(row, sizeof row, "%s: fullest rank, Gaussian off exact", name);
    bench_row(bench, row, 100 * fabs(gauss_most / exact_most - 1), "%", BENCH_AT_MOST, 0.5);
    arena_release(&arena);
}

static void bench_more(struct bench *bench, struct pool *pool)
{
    struct arena arena = {0};
    struct job *job = arena_alloc(&arena, 1, sizeof *job);
    prepare(job, 0, 1, ROWS_WANT_RECEIVED, &arena);
    bench_row(bench, "uniform: exact step with tokens per rank",
              1e3 * WORKERS * exact_s(pool, job, 100) / 100, "ms of a core", BENCH_SHOWN, 0);
    prepare(job, 0, 8, 0, &arena);
    /* The floor is what sorting all scores took (reference figures: 25.6 ms, 17.5 when skewed).
     */
    bench_row(bench, "4 of 8 groups: exact step",
              1e3 * WORKERS * exact_s(pool, job, GROUPED_STEPS) / GROUPED_STEPS, "ms of a core",
              BENCH_SHOWN, 0);
    arena_release(&arena);
}

int main(void)
{
    struct bench bench = {0};
    struct pool *pool = pool_create(WORKERS);
    bench_law(&bench, pool, "uniform", 0, true);
    bench_law(&bench, pool, "zipf 1", 1, false);
    bench_more(&bench, pool);
    pool_free(pool);
    return bench_status(&bench);
}
