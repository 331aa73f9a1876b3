/* Popularity of experts by distribution: one function each, in a table. */
#include <math.h>

#include "base/rng.h"
#include "work/rows/rows_parts.h"

/* Stands for the logarithm of 0: exp of it is 0, and comparisons still order. */
static const double log_never = -1e4;

/* Half of the variance of an untrained router's logits is a direction all tokens share; the
 * other half is the Gumbel noise of the draws, whose standard deviation is pi / sqrt 6. */
static const double cold_sigma = 1.28254983016186409554;

typedef void fill_weights(const struct rows_spec *spec, struct rng *rng, double *log_weight);

static void fill_uniform(const struct rows_spec *spec, struct rng *rng, double *log_weight)
{
    (void)rng;
    for (uint64_t e = 0; e < spec->experts; e++)
        log_weight[e] = 0;
}

static void fill_zipf(const struct rows_spec *spec, struct rng *rng, double *log_weight)
{
    (void)rng;
    for (uint64_t e = 0; e < spec->experts; e++)
        log_weight[e] = -spec->routing.alpha * rng_log((double)(e + 1));
}

static void fill_lognormal(const struct rows_spec *spec, struct rng *rng, double *log_weight)
{
    double sigma = spec->scenario == SCENARIO_COLD ? cold_sigma : spec->routing.sigma;
    for (uint64_t e = 0; e < spec->experts; e++)
        log_weight[e] = sigma * rng_normal(rng);
}

static void fill_dirichlet(const struct rows_spec *spec, struct rng *rng, double *log_weight)
{
    for (uint64_t e = 0; e < spec->experts; e++) {
        double gamma = rng_gamma(rng, spec->routing.concentration);
        log_weight[e] = gamma > 0 ? rng_log(gamma) : log_never;
    }
}

/* Indexed by enum distribution; a hot rank's own law is uniform within and without. */
static fill_weights *const fillers[] = {
    [DISTRIBUTION_UNIFORM] = fill_uniform,     [DISTRIBUTION_ZIPF] = fill_zipf,
    [DISTRIBUTION_LOGNORMAL] = fill_lognormal, [DISTRIBUTION_DIRICHLET] = fill_dirichlet,
    [DISTRIBUTION_HOT_RANK] = fill_uniform,    [DISTRIBUTION_TRACE] = fill_uniform,
};

/* exp(log weight), summing to 1. */
static void normalise(uint64_t n, const double *log_weight, double *p)
{
    double most = log_weight[0], sum = 0;
    for (uint64_t e = 1; e < n; e++)
        most = fmax(most, log_weight[e]);
    for (uint64_t e = 0; e < n; e++) {
        p[e] = exp(log_weight[e] - most);
        sum += p[e];
    }
    for (uint64_t e = 0; e < n; e++)
        p[e] /= sum;
}

/* Inclusion chances of recorded counts, each at most 1 - 1e-4, summing to K as far as that
 * allows. */
static void inclusion_of_counts(const uint64_t *counts, uint64_t n, uint64_t k, double *pi)
{
    double total = 0, most = 1 - 1e-4;
    for (uint64_t e = 0; e < n; e++)
        total += (double)counts[e];
    for (uint64_t e = 0; e < n; e++)
        pi[e] = fmin(most, (double)k * (double)counts[e] / total);
}

/* Weights whose inclusion chances are those recorded: Rosen's relation inverted, then corrected
 * by the exact chances. */
static void fit_counts(const struct rows_spec *spec, const uint64_t *counts,
                       struct arena *arena, double *log_weight, double *p)
{
    enum { CORRECTIONS = 3 };
    uint64_t n = spec->experts;
    double *want = arena_alloc(arena, n, sizeof *want);
    double *got = arena_alloc(arena, n, sizeof *got);
    uint32_t *own = arena_alloc(arena, n, sizeof *own);
    inclusion_of_counts(counts, n, spec->top_k, want);
    for (uint64_t e = 0; e < n; e++) {
        own[e] = (uint32_t)e;
        log_weight[e] = want[e] > 0 ? rng_log(-log1p(-want[e])) : log_never;
    }
    for (int i = 0; i < CORRECTIONS; i++) {
        normalise(n, log_weight, p);
        rows_touch(p, n, spec->top_k, own, n, got);
        for (uint64_t e = 0; e < n; e++)
            if (want[e] > 0 && got[e] < 1)
                log_weight[e] += rng_log(log1p(-want[e]) / log1p(-got[e]));
    }
    normalise(n, log_weight, p);
}

static enum status fill_counts(const struct rows_spec *spec, struct arena *arena,
                               double *log_weight, double *p, struct err *err)
{
    const struct trace *trace = spec->data.trace;
    for (uint64_t layer = 0; layer < trace->layers; layer++) {
        const uint64_t *counts = trace->counts + layer * trace->experts;
        uint64_t used = 0;
        for (uint64_t e = 0; e < trace->experts; e++)
            used += counts[e] > 0;
        if (used < spec->top_k)
            return err_set(err, STATUS_INPUT,
                           "layer %llu of the trace uses %llu experts, fewer than top_k %llu",
                           (unsigned long long)layer, (unsigned long long)used,
                           (unsigned long long)spec->top_k);
        fit_counts(spec, counts, arena, log_weight + layer * spec->experts,
                   p + layer * spec->experts);
    }
    return STATUS_OK;
}

enum status rows_weights(const struct rows_spec *spec, struct arena *arena, unsigned n_laws,
                         double *log_weight, double *p, struct err *err)
{
    const struct trace *trace = spec->data.trace;
    enum distribution distribution = spec->routing.distribution;
    if (distribution == DISTRIBUTION_TRACE && trace->counts && n_laws == trace->layers)
        return fill_counts(spec, arena, log_weight, p, err);
    if (spec->scenario == SCENARIO_COLD)
        distribution = DISTRIBUTION_LOGNORMAL;
    if (spec->balanced)
        distribution = DISTRIBUTION_UNIFORM;
    for (uint64_t law = 0; law < n_laws; law++) {
        struct rng rng;
        rng_init(&rng, spec->routing.seed, ROWS_RNG_POPULARITY, (uint32_t)law, 0, 0);
        fillers[distribution](spec, &rng, log_weight + law * spec->experts);
        normalise(spec->experts, log_weight + law * spec->experts, p + law * spec->experts);
    }
    return STATUS_OK;
}
