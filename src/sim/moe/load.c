/* Loads over steps; see load.h. */
#include "sim/moe/load.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/stat.h"

const char *load_method_name(enum load_method method)
{
    static const char *const names[] = {"closed form", "gaussian", "exact sample"};
    return names[method];
}

enum load_method load_choose(const struct rows *rows, bool exact)
{
    return exact || !rows_gauss_valid(rows) ? LOAD_EXACT : LOAD_GAUSS;
}

/* ---- one step ---- */

enum { POINTS = 5 };
static const double points[POINTS] = {0.10, 0.50, 0.90, 0.99, 1};

/* Statistics of a step that are averaged. */
struct step_stats {
    double mean, cv, at[POINTS], rank_cv, exact, blocks, distinct_ranks, distinct_nodes;
};

struct sampling {
    const struct rows *rows;
    const struct load_ask *ask;
    struct rows_scratch *scratch; /* [workers] */
    struct rows_step *step;       /* [workers] */
    double **sorted;              /* [workers][P] */
    struct load_step *steps;
    struct step_stats *stats;
};

static uint64_t largest(const uint64_t *values, uint64_t n)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

/* Rows of n experts, ascending, as stat_sort would have them: few rows are counted instead. */
static void sort_rows(const uint64_t *rows, uint64_t n, double *sorted)
{
    enum { BINS = 512 };
    uint32_t bins[BINS] = {0};
    uint64_t most = largest(rows, n), used = 0;
    if (most >= BINS) {
        for (uint64_t i = 0; i < n; i++)
            sorted[i] = (double)rows[i];
        stat_sort(sorted, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        bins[rows[i]]++;
    for (uint64_t value = 0; value <= most; value++)
        for (uint32_t k = 0; k < bins[value]; k++)
            sorted[used++] = (double)value;
}

static void expert_stats(const struct sampling *s, const struct rows_step *step, double *sorted,
                         struct step_stats *out)
{
    uint64_t n = s->rows->map.replicas;
    struct stat stat = {0};
    for (uint64_t i = 0; i < n; i++)
        stat_add(&stat, (double)step->replica[i]);
    sort_rows(step->replica, n, sorted);
    out->mean = stat.mean;
    out->cv = stat_cv(&stat);
    for (int i = 0; i < POINTS; i++)
        out->at[i] = stat_percentile(sorted, n, points[i]);
}

/* Aligned rows: of every rank, the most of a rank, blocks per rank. aligned [R] is scratch. */
static void padding_stats(const struct sampling *s, const struct rows_step *step,
                          double *aligned, struct step_stats *out, struct load_step *most)
{
    const struct rows *rows = s->rows;
    uint64_t total = 0, blocks = 0, ranks = rows->spec.ranks, align = s->ask->align;
    memset(aligned, 0, ranks * sizeof *aligned);
    for (uint64_t i = 0; i < rows->map.replicas; i++) {
        uint64_t padded = align_exact(s->ask->align_kind, &step->replica[i], 1, align);
        aligned[rows->map.rank[i]] += (double)padded;
        total += padded;
        blocks += ceil_div(step->replica[i], align);
    }
    double fullest = 0;
    for (uint64_t r = 0; r < ranks; r++)
        fullest = aligned[r] > fullest ? aligned[r] : fullest;
    uint64_t all = rows->spec.tokens * ranks * rows->spec.top_k;
    out->exact = all ? (double)total / (double)all : 1;
    out->blocks = (double)blocks / (double)ranks;
    most->padded = (uint64_t)fullest;
}

static void run_step(void *arg, size_t task, unsigned worker)
{
    struct sampling *s = arg;
    const struct rows *rows = s->rows;
    struct rows_step *step = &s->step[worker];
    struct step_stats *stats = &s->stats[task];
    struct load_step *most = &s->steps[task];
    uint64_t ranks = rows->spec.ranks;
    if (worker == 0)
        progress_tell(s->ask->progress, task, s->ask->samples);
    if (s->ask->method == LOAD_EXACT)
        rows_sample_step(rows, task, &s->scratch[worker], step);
    else
        rows_gauss_step(rows, task, &s->scratch[worker], step);
    expert_stats(s, step, s->sorted[worker], stats);
    most->rows = most->padded = largest(step->rank, ranks);
    most->received = largest(step->received, ranks);
    most->hot_expert = (uint64_t)(stats->at[POINTS - 1] + 0.5);
    stats->exact = 1;
    if (s->ask->align)
        padding_stats(s, step, s->sorted[worker], stats, most);
    struct stat rank = {0};
    for (uint64_t r = 0; r < ranks; r++)
        stat_add(&rank, (double)step->rank[r]);
    stats->rank_cv = stat_cv(&rank);
    most->imbalance = rank.mean > 0 ? rank.max / rank.mean : 1;
    stats->distinct_ranks = step->distinct_ranks;
    stats->distinct_nodes = step->distinct_nodes;
}

/* ---- over steps ---- */

static void ceilings(const struct rows *rows, const struct load_ask *ask, struct load *out)
{
    struct rows_ceilings most = rows_ceilings(rows->spec.tokens, rows->spec.ranks,
                                              rows->spec.top_k, rows->map.most_local);
    out->rows = rows->spec.tokens * rows->spec.ranks * rows->spec.top_k;
    out->heaviest.worst = most.rows;
    out->received.worst = out->hot_expert.worst = most.tokens;
    out->padded.worst = most.rows;
    if (ask->align) {
        struct align_ask worst = {.rows = most.rows,
                                  .tokens = rows->spec.tokens,
                                  .top_k = rows->spec.top_k,
                                  .ranks = rows->spec.ranks,
                                  .experts = rows->map.most_local,
                                  .align = ask->align};
        out->padded.worst = align_allocated(ask->align_kind, &worst);
    }
}

/* Mean and 99th percentile over the steps of a field of struct load_step. */
static void range_of(const struct load_step *steps, uint64_t n, size_t offset, double *sorted,
                     struct load_range *out)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value;
        memcpy(&value, (const char *)&steps[i] + offset, sizeof value);
        sorted[i] = (double)value;
        sum += sorted[i];
    }
    stat_sort(sorted, n);
    out->expected = (uint64_t)(sum / (double)n + 0.5);
    out->p99 = (uint64_t)(stat_percentile(sorted, n, 0.99) + 0.5);
}

static void average(const struct sampling *s, uint64_t n, struct load *out)
{
    double at[POINTS] = {0}, steps = (double)n;
    double *const sums[] = {&out->mean,           &out->cv,
                            &out->rank_cv,        &out->exact_padding,
                            &out->blocks,         &out->distinct_ranks,
                            &out->distinct_nodes, &out->rank_imbalance};
    for (uint64_t i = 0; i < n; i++) {
        const struct step_stats *t = &s->stats[i];
        const double values[] = {t->mean,           t->cv,
                                 t->rank_cv,        t->exact,
                                 t->blocks,         t->distinct_ranks,
                                 t->distinct_nodes, s->steps[i].imbalance};
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            *sums[v] += values[v];
        for (int p = 0; p < POINTS; p++)
            at[p] += t->at[p];
    }
    for (size_t v = 0; v < sizeof sums / sizeof *sums; v++)
        *sums[v] /= steps;
    out->p10 = at[0] / steps;
    out->p50 = at[1] / steps;
    out->p90 = at[2] / steps;
    out->p99 = at[3] / steps;
    out->max = at[4] / steps;
    out->rank_mean = (double)out->rows / (double)s->rows->spec.ranks;
}

static void summarise(const struct sampling *s, uint64_t n, struct arena *arena,
                      struct load *out)
{
    double *sorted = arena_alloc(arena, n, sizeof *sorted);
    average(s, n, out);
    range_of(s->steps, n, offsetof(struct load_step, rows), sorted, &out->heaviest);
    range_of(s->steps, n, offsetof(struct load_step, received), sorted, &out->received);
    range_of(s->steps, n, offsetof(struct load_step, padded), sorted, &out->padded);
    range_of(s->steps, n, offsetof(struct load_step, hot_expert), sorted, &out->hot_expert);
    for (uint64_t i = 0; i < n; i++)
        sorted[i] = s->steps[i].imbalance;
    stat_sort(sorted, n);
    out->imbalance_p99 = stat_percentile(sorted, n, 0.99);
    out->steps = s->steps;
}

static void sample(const struct rows *rows, const struct load_ask *ask, struct arena *arena,
                   struct load *out)
{
    unsigned workers = pool_size(ask->pool);
    uint64_t n = ask->samples ? ask->samples : 1, p = rows->map.replicas;
    uint64_t wide = p > rows->spec.ranks ? p : rows->spec.ranks;
    struct sampling s = {.rows = rows, .ask = ask};
    s.scratch = arena_alloc(arena, workers, sizeof *s.scratch);
    s.step = arena_alloc(arena, workers, sizeof *s.step);
    s.sorted = arena_alloc(arena, workers, sizeof *s.sorted);
    s.steps = arena_alloc(arena, n, sizeof *s.steps);
    s.stats = arena_alloc(arena, n, sizeof *s.stats);
    for (unsigned w = 0; w < workers; w++) {
        rows_scratch_init(rows, arena, &s.scratch[w]);
        rows_step_init(rows, ROWS_WANT_RECEIVED, arena, &s.step[w]);
        s.sorted[w] = arena_alloc(arena, wide, sizeof **s.sorted);
    }
    pool_run(ask->pool, n, run_step, &s);
    out->samples = n;
    summarise(&s, n, arena, out);
}

/* ---- closed forms ---- */

/* Means and standard deviations of n groups of replicas over a step; group_of NULL: each its
 * own. */
static void moments(const struct rows *rows, const uint32_t *group_of, uint64_t n,
                    struct arena *arena, double *mean, double *sd)
{
    const struct rows_law *law = &rows->laws[0];
    const struct expert_map *map = &rows->map;
    uint64_t groups = rows->groups, size = rows->spec.experts / groups;
    double tokens = (double)rows->spec.tokens * (double)rows->spec.ranks;
    double *d = arena_alloc(arena, n * groups, sizeof *d);
    double *lift = arena_alloc(arena, n, sizeof *lift);
    memset(mean, 0, n * sizeof *mean);
    for (uint64_t i = 0; i < map->replicas; i++) {
        uint64_t e = map->expert[i], at = group_of ? group_of[i] : i;
        double share = 1.0 / map->count[e];
        mean[at] += tokens * share * law->pi[e];
        d[at * groups + e / size] += share * law->d[e];
        lift[at] += law->lift ? share * law->lift[e] : 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        double variance = lift[i] * lift[i];
        for (uint64_t g = 0; g < groups; g++) {
            double own = d[i * groups + g], sum = law->sum_d[g], part = 0;
            variance += sum > 0 ? own - own * own / sum : 0;
            for (uint64_t h = 0; law->group && h < groups && own > 0; h++)
                part += law->group[g * groups + h] * law->group[g * groups + h];
            double in_group = 0;
            for (uint64_t e = g * size; law->group && own > 0 && e < (g + 1) * size; e++)
                in_group += law->pi[e];
            double fraction = in_group > 0 ? mean[i] / tokens / in_group : 0;
            variance += part * fraction * fraction;
        }
        sd[i] = sqrt(variance * tokens * (double)rows->run);
    }
}

static void closed(const struct rows *rows, struct arena *arena, struct load *out)
{
    uint64_t p = rows->map.replicas, ranks = rows->spec.ranks, n = p > ranks ? p : ranks;
    const struct rows_law *law = &rows->laws[0];
    double *mean = arena_alloc(arena, n, sizeof *mean), *sd = arena_alloc(arena, n, sizeof *sd);
    double tokens = (double)rows->spec.tokens * (double)ranks, high;
    struct stat spread = {0}, noise = {0};
    moments(rows, NULL, p, arena, mean, sd);
    for (uint64_t i = 0; i < p; i++) {
        stat_add(&spread, mean[i]);
        stat_add(&noise, sd[i] * sd[i]);
    }
    out->mean = spread.mean;
    out->cv = spread.mean > 0 ? sqrt(stat_variance(&spread) + noise.mean) / spread.mean : 0;
    double *const at[POINTS] = {&out->p10, &out->p50, &out->p90, &out->p99, &out->max};
    for (int i = 0; i < POINTS; i++)
        *at[i] = load_normal_percentile(mean, sd, p, points[i]);
    out->hot_expert.expected = (uint64_t)(load_normal_maximum(mean, sd, p, &high) + 0.5);
    out->hot_expert.p99 = (uint64_t)(high + 0.5);
    moments(rows, rows->map.rank, ranks, arena, mean, sd);
    out->rank_mean = tokens * (double)rows->spec.top_k / (double)ranks;
    double most = load_normal_maximum(mean, sd, ranks, &high);
    out->rank_imbalance = out->rank_mean > 0 ? most / out->rank_mean : 1;
    out->imbalance_p99 = out->rank_mean > 0 ? high / out->rank_mean : 1;
    out->heaviest.expected = (uint64_t)(most + 0.5);
    out->heaviest.p99 = (uint64_t)(high + 0.5);
    for (uint64_t r = 0; r < ranks; r++) {
        mean[r] = tokens * law->touch[r];
        sd[r] = sqrt(fmax(0, tokens * (double)rows->run * law->touch[r] * (1 - law->touch[r])));
    }
    out->received.expected = (uint64_t)(load_normal_maximum(mean, sd, ranks, &high) + 0.5);
    out->received.p99 = (uint64_t)(fmin(high, tokens) + 0.5);
    out->distinct_ranks = law->distinct_ranks;
    out->distinct_nodes = law->distinct_nodes;
    out->padded = out->heaviest;
    out->exact_padding = 1;
}

void load_of(const struct rows *rows, const struct load_ask *ask, struct arena *arena,
             struct load *out)
{
    *out = (struct load){.method = ask->method};
    ceilings(rows, ask, out);
    if (ask->method == LOAD_CLOSED)
        closed(rows, arena, out);
    else
        sample(rows, ask, arena, out);
}
