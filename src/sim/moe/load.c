/* Loads over steps; see load.h. */
#include "sim/moe/load.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "base/stat.h"

const char *load_method_name(enum load_method method)
{
    static const char *const names[] = {"gaussian", "exact sample"};
    return names[method];
}

enum load_method load_choose(const struct rows *rows, bool exact)
{
    return exact || !rows_gauss_valid(rows) ? LOAD_EXACT : LOAD_GAUSS;
}

/* ---- one step ---- */

enum { POINTS = 5 };
static const double points[POINTS] = {0.10, 0.50, 0.90, 0.99, 1};

/* The heaviest rank of one step. */
struct load_step {
    uint64_t rows;       /* rows of the fullest rank */
    uint64_t received;   /* tokens of the rank that receives most, one per token */
    uint64_t padded;     /* aligned rows of the rank that has most of them */
    uint64_t hot_expert; /* rows of the fullest physical expert */
    double imbalance;    /* fullest rank / mean */
};

/* Statistics of a step that are averaged. */
struct step_stats {
    double mean, cv, at[POINTS], exact, blocks, distinct_ranks, distinct_nodes;
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
                            &out->exact_padding,  &out->blocks,
                            &out->distinct_ranks, &out->distinct_nodes,
                            &out->rank_imbalance};
    for (uint64_t i = 0; i < n; i++) {
        const struct step_stats *t = &s->stats[i];
        const double values[] = {t->mean,
                                 t->cv,
                                 t->exact,
                                 t->blocks,
                                 t->distinct_ranks,
                                 t->distinct_nodes,
                                 s->steps[i].imbalance};
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
}

void load_of(const struct rows *rows, const struct load_ask *ask, struct arena *arena,
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
    *out = (struct load){.method = ask->method, .samples = n};
    ceilings(rows, ask, out);
    summarise(&s, n, arena, out);
}
