/* The Gaussian step: central limit theorem with Hajek's covariance; see rows.h.
 *
 * With runs of tokens routed alike the step has T R / run independent choices, each worth `run`
 * rows. Scarce experts are Poisson: a normal count would be negative there. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "work/rows/rows_parts.h"

bool rows_gauss_valid(const struct rows *rows)
{
    double choices = (double)rows_tokens(&rows->spec) / (double)rows->run;
    double rows_per_expert = choices * (double)rows->spec.top_k / (double)rows->spec.experts;
    return rows->kind != ROWS_RECORDED && rows_per_expert >= ROWS_FEW;
}

/* Poisson by multiplying uniform numbers; for small means. */
static double poisson(struct rng *rng, double mean)
{
    double limit = exp(-mean), product = 1;
    for (unsigned n = 0;; n++) {
        product *= rng_uniform(rng);
        if (product < limit)
            return n;
    }
}

struct gauss {
    const struct rows *rows;
    const struct rows_law *law;
    double choices; /* independent choices of the step */
    uint32_t step;
    double *value; /* [E] rows in units of runs */
    double *noise; /* [groups] */
};

/* Normal number of a random word: linear in the table of quantiles (1e-4 off at most), exact in
 * the outer bins. */
static inline double normal_of(const double *table, uint32_t word)
{
    enum { OUTER = 16, SHIFT = 22 }; /* 2^32 words over ROWS_BINS bins */
    uint32_t bin = word >> SHIFT;
    if (bin - OUTER >= ROWS_BINS - 2 * OUTER)
        return rng_normal_quantile(((double)word + 0.5) * 0x1p-32);
    double part = (double)(word & ((1u << SHIFT) - 1)) * (1.0 / (1u << SHIFT));
    return table[bin] + part * (table[bin + 1] - table[bin]);
}

void rows_normal_table(double *table)
{
    for (int i = 1; i < ROWS_BINS; i++)
        table[i] = rng_normal_quantile((double)i / ROWS_BINS);
}

/* Normal noise z_e - d_e sum(z) / sum(d) within each group. */
static void add_noise(struct gauss *g, const uint32_t *word)
{
    const struct rows_law *law = g->law;
    uint64_t groups = g->rows->groups, size = g->rows->spec.experts / groups;
    double root = sqrt(g->choices);
    for (uint64_t first = 0; first < groups * size; first += size) {
        double *value = g->value + first, sum = 0;
        const double *d = law->d + first, *pi = law->pi + first, *sd = law->root + first;
        for (uint64_t i = 0; i < size; i++) {
            value[i] = normal_of(g->rows->normal, word[first + i]) * sd[i];
            sum += value[i];
        }
        double sum_d = law->sum_d[first / size], back = sum_d > 0 ? sum / sum_d : 0;
        for (uint64_t i = 0; i < size; i++)
            value[i] = g->choices * pi[i] + root * (value[i] - d[i] * back);
    }
}

/* Noise common to the experts of a group, and to those of the hot rank. */
static void add_shared_noise(struct gauss *g, struct rng *rng)
{
    const struct rows_law *law = g->law;
    uint64_t groups = g->rows->groups, size = g->rows->spec.experts / groups;
    double root = sqrt(g->choices);
    if (law->lift) {
        double shift = root * rng_normal(rng);
        for (uint64_t e = 0; e < size * groups; e++)
            g->value[e] += shift * law->lift[e];
    }
    if (!law->group)
        return;
    for (uint64_t i = 0; i < groups; i++)
        g->noise[i] = rng_normal(rng);
    for (uint64_t i = 0; i < groups; i++) {
        double shift = 0, mean = law->mean[i];
        for (uint64_t j = 0; j <= i; j++)
            shift += law->group[i * groups + j] * g->noise[j];
        for (uint64_t e = i * size; mean > 0 && e < (i + 1) * size; e++)
            g->value[e] += root * shift * law->pi[e] / mean;
    }
}

/* Plain comparisons: fmin and fmax are calls, and there is no NaN here. */
static inline double within(double value, double most)
{
    value = value > 0 ? value : 0;
    return value < most ? value : most;
}

/* Redraws scarce experts (or nearly full ones, by the tokens that miss them) by Poisson's law,
 * then shares the surplus among the others in proportion to their variance. */
static void settle(struct gauss *g, struct rng *rng)
{
    const struct rows_law *law = g->law;
    uint64_t n = g->rows->spec.experts;
    double choices = g->choices, full = choices - ROWS_FEW;
    double surplus = -choices * (double)g->rows->spec.top_k, normal = 0;
    for (uint64_t e = 0; e < n; e++) {
        double mean = choices * law->pi[e], value = g->value[e];
        if (mean < ROWS_FEW)
            value = mean > 0 ? poisson(rng, mean) : 0;
        else if (mean > full)
            value = choices - (mean < choices ? poisson(rng, choices - mean) : 0);
        else
            normal += law->d[e];
        g->value[e] = within(value, choices);
        surplus += g->value[e];
    }
    double share = normal > 0 ? surplus / normal : 0;
    for (uint64_t e = 0; e < n; e++) {
        double mean = choices * law->pi[e];
        if (mean >= ROWS_FEW && mean <= full)
            g->value[e] = within(g->value[e] - share * law->d[e], choices);
    }
}

/* Rounds so that the sum is exactly T R K: each expert gets the step of the rounded running
 * sum, scaled to the total. */
static void round_rows(const struct gauss *g, uint64_t total, uint64_t *expert)
{
    uint64_t n = g->rows->spec.experts, given = 0;
    double sum = 0, running = 0;
    for (uint64_t e = 0; e < n; e++)
        sum += g->value[e];
    double scale = sum > 0 ? (double)total / sum : 0;
    for (uint64_t e = 0; e < n; e++) {
        running += g->value[e] * scale;
        uint64_t until = e + 1 == n ? total : (uint64_t)(running + 0.5);
        if (until > total)
            until = total;
        expert[e] = until > given ? until - given : 0;
        given += expert[e];
    }
}

static void spread(const struct rows *rows, struct rows_step *out)
{
    const struct expert_map *map = &rows->map;
    memset(out->rank, 0, rows->spec.ranks * sizeof *out->rank);
    for (uint64_t e = 0; map->replicas == map->experts && e < map->experts; e++) {
        uint32_t replica = map->replica[e];
        out->replica[replica] = out->expert[e];
        out->rank[map->rank[replica]] += out->expert[e];
    }
    if (map->replicas == map->experts)
        return;
    for (uint64_t e = 0; e < rows->spec.experts; e++)
        for (uint32_t j = 0; j < map->count[e]; j++) {
            uint32_t replica = map->replica[map->first[e] + j];
            out->replica[replica] = placement_share(out->expert[e], map->count[e], j);
            out->rank[map->rank[replica]] += out->replica[replica];
        }
}

/* What each of n places of `per` ranks receives: from its rows, and noise beside them. */
struct receivers {
    uint64_t n, per;
    const double *mean; /* rows that are expected */
    const double *touch, *slope, *residual;
    uint64_t *tokens;
};

/* count [n] is scratch. */
static void receive(const struct gauss *g, const struct receivers *at, struct rng *rng,
                    double *count, const struct rows_step *step)
{
    const struct rows *rows = g->rows;
    double tokens = (double)rows_tokens(&rows->spec);
    double noise = sqrt(g->choices) * (double)rows->run;
    memset(count, 0, at->n * sizeof *count);
    for (uint64_t r = 0; r < rows->spec.ranks; r++)
        count[r / at->per] += (double)step->rank[r];
    for (uint64_t r = 0; r < at->n; r++) {
        double got = tokens * at->touch[r];
        got += at->slope[r] * (count[r] - at->mean[r]);
        if (at->residual[r] > 0)
            got += at->residual[r] * noise * rng_normal(rng);
        double most = tokens < count[r] ? tokens : count[r];
        at->tokens[r] = (uint64_t)(within(got, most) + 0.5);
    }
}

/* mean [2 R] is scratch. */
static void receive_ranks(const struct gauss *g, struct rng *rng, double *mean,
                          struct rows_step *out)
{
    const struct rows_law *law = g->law;
    const struct expert_map *map = &g->rows->map;
    uint64_t ranks = g->rows->spec.ranks;
    double tokens = (double)rows_tokens(&g->rows->spec);
    const struct receivers at = {ranks,        1, mean, law->touch, law->slope, law->residual,
                                 out->received};
    memset(mean, 0, ranks * sizeof *mean);
    for (uint64_t i = 0; i < map->replicas; i++)
        mean[map->rank[i]] += tokens * law->pi[map->expert[i]] / map->count[map->expert[i]];
    receive(g, &at, rng, mean + ranks, out);
}

static void receive_nodes(const struct gauss *g, struct rng *rng, double *mean,
                          struct rows_step *out)
{
    const struct rows_law *law = g->law;
    uint64_t nodes = rows_nodes(g->rows), ranks = g->rows->spec.ranks;
    double tokens = (double)rows_tokens(&g->rows->spec);
    const struct receivers at = {
        nodes,           g->rows->spec.ranks_per_node, mean,     law->node_touch,
        law->node_slope, law->node_residual,           out->node};
    for (uint64_t n = 0; n < nodes; n++)
        mean[n] = tokens * law->node_mean[n];
    receive(g, &at, rng, mean + ranks, out);
}

void rows_gauss_step(const struct rows *rows, uint64_t step, struct rows_scratch *scratch,
                     struct rows_step *out)
{
    assert(!out->matrix && !out->pairs);
    struct gauss g = {.rows = rows,
                      .law = &rows->laws[step % rows->n_laws],
                      .step = (uint32_t)step,
                      .value = scratch->keys,
                      .noise = scratch->firsts};
    uint64_t tokens = rows_tokens(&rows->spec);
    g.choices = (double)tokens / (double)rows->run;
    struct rng rng;
    uint32_t blocks = (uint32_t)(rows->spec.experts + 3) / 4;
    rng_fill(rows->spec.routing.seed, ROWS_RNG_GAUSS, g.step, 0, 0, blocks, 0, 1,
             scratch->noise);
    rng_init(&rng, rows->spec.routing.seed, ROWS_RNG_GAUSS, g.step, 1, 0);
    add_noise(&g, scratch->noise);
    add_shared_noise(&g, &rng);
    settle(&g, &rng);
    round_rows(&g, tokens * rows->spec.top_k, out->expert);
    spread(rows, out);
    if (out->received)
        receive_ranks(&g, &rng, scratch->keys, out);
    if (out->node)
        receive_nodes(&g, &rng, scratch->keys, out);
    out->distinct_ranks = g.law->distinct_ranks;
    out->distinct_nodes = g.law->distinct_nodes;
}
