/* Moments of the choice of one token: closed forms where they exist, recorded or piloted
 * frequencies where they do not. Laws do not depend on T. */
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "work/rows/rows_parts.h"

static void allocate(const struct rows *rows, struct arena *arena, struct rows_law *law)
{
    uint64_t e = rows->spec.experts, r = rows->spec.ranks;
    *law = (struct rows_law){0};
    law->pi = arena_alloc(arena, e, sizeof *law->pi);
    law->d = arena_alloc(arena, e, sizeof *law->d);
    law->sum_d = arena_alloc(arena, rows->groups, sizeof *law->sum_d);
    law->root = arena_alloc(arena, e, sizeof *law->root);
    law->mean = arena_alloc(arena, rows->groups, sizeof *law->mean);
    law->touch = arena_alloc(arena, r, sizeof *law->touch);
    law->slope = arena_alloc(arena, r, sizeof *law->slope);
    law->residual = arena_alloc(arena, r, sizeof *law->residual);
    uint64_t nodes = rows_nodes(rows);
    law->node_mean = arena_alloc(arena, nodes, sizeof *law->node_mean);
    law->node_touch = arena_alloc(arena, nodes, sizeof *law->node_touch);
    law->node_slope = arena_alloc(arena, nodes, sizeof *law->node_slope);
    law->node_residual = arena_alloc(arena, nodes, sizeof *law->node_residual);
}

uint64_t rows_nodes(const struct rows *rows)
{
    return ceil_div(rows->spec.ranks, rows->spec.ranks_per_node);
}

/* ---- where tokens go ---- */

/* Experts on each rank and node for uniform choice, each expert once. */
static void count_held(const struct rows *rows, struct arena *arena, uint64_t **on_rank,
                       uint64_t **on_node)
{
    const struct expert_map *map = &rows->map;
    *on_rank = arena_alloc(arena, rows->spec.ranks, sizeof **on_rank);
    *on_node = arena_alloc(arena, rows_nodes(rows), sizeof **on_node);
    for (uint64_t i = 0; i < map->replicas; i++) {
        (*on_rank)[map->rank[i]]++;
        (*on_node)[map->rank[i] / rows->spec.ranks_per_node]++;
    }
}

static void touch_uniform(const struct rows *rows, struct arena *arena, uint64_t experts,
                          uint64_t k, double share, struct rows_law *law)
{
    uint64_t *on_rank, *on_node;
    count_held(rows, arena, &on_rank, &on_node);
    for (uint64_t r = 0; r < rows->spec.ranks; r++) {
        double touch = share * rows_touch_uniform(experts, k, on_rank[r]);
        law->touch[r] += touch;
        law->distinct_ranks += touch;
    }
    for (uint64_t node = 0; node < rows_nodes(rows); node++)
        law->node_touch[node] += share * rows_touch_uniform(experts, k, on_node[node]);
}

static uint32_t *numbers(uint64_t n, struct arena *arena)
{
    uint32_t *own = arena_alloc(arena, n, sizeof *own);
    for (uint64_t e = 0; e < n; e++)
        own[e] = (uint32_t)e;
    return own;
}

/* Exact chances by quadrature, of experts too where these are asked for: the replicas of an
 * expert count as experts that share its popularity. */
static void touch_weighted(const struct rows *rows, const double *p, double *pi,
                           struct arena *arena, struct rows_law *law)
{
    const struct expert_map *map = &rows->map;
    uint64_t n = map->replicas, experts = rows->spec.experts, k = rows->spec.top_k;
    double *share = arena_alloc(arena, n, sizeof *share);
    uint32_t *node_of = arena_alloc(arena, n, sizeof *node_of);
    for (uint64_t i = 0; i < n; i++) {
        share[i] = p[map->expert[i]] / map->count[map->expert[i]];
        node_of[i] = map->rank[i] / (uint32_t)rows->spec.ranks_per_node;
    }
    const struct rows_sets own = {pi ? numbers(experts, arena) : NULL, experts, pi};
    struct rows_sets sets[3] = {{map->rank, rows->spec.ranks, law->touch}};
    size_t n_sets = 1;
    bool alike = pi && n == experts && memcmp(share, p, n * sizeof *p) == 0;
    if (!rows->spec.nodes_unread)
        sets[n_sets++] = (struct rows_sets){node_of, rows_nodes(rows), law->node_touch};
    if (alike)
        sets[n_sets++] = own;
    rows_touch_known(rows->spec.known, share, n, k, sets, n_sets);
    if (pi && !alike)
        rows_touch_known(rows->spec.known, p, experts, k, &own, 1);
    for (uint64_t r = 0; r < rows->spec.ranks; r++)
        law->distinct_ranks += law->touch[r];
}

/* ---- one function per kind ---- */

typedef void fill_law(const struct rows *rows, unsigned number, struct arena *arena,
                      struct rows_law *law);

static void fill_flat(const struct rows *rows, unsigned number, struct arena *arena,
                      struct rows_law *law)
{
    uint64_t n = rows->spec.experts, k = rows->spec.top_k;
    const double *p = rows->p + number * n;
    for (uint64_t e = 0; !rows->alias && e < n; e++)
        law->pi[e] = (double)k / (double)n;
    if (!rows->alias && rows->map.replicas == n)
        touch_uniform(rows, arena, n, k, 1, law);
    else
        touch_weighted(rows, p, rows->alias ? law->pi : NULL, arena, law);
    law->sum_d[0] = rows_hajek(law->pi, n, law->d);
}

/* Chance by which a token of the hot rank, all of which reach its node, is not counted there
 * yet: `out` of its experts, uniformly of those beyond the rank, are. */
static double miss_hot_node(const struct rows *rows, struct arena *arena, uint64_t out)
{
    uint64_t *on_rank, *on_node;
    if (!out)
        return 1;
    count_held(rows, arena, &on_rank, &on_node);
    return 1 - rows_touch_uniform(rows->spec.experts - rows->n_hot, out, on_node[0]);
}

/* A mixture: with chance `share` min(K, h) of rank 0's h experts and the rest elsewhere, both
 * uniformly; otherwise uniform over all. */
static void fill_hot(const struct rows *rows, unsigned number, struct arena *arena,
                     struct rows_law *law)
{
    (void)number;
    uint64_t n = rows->spec.experts, k = rows->spec.top_k, h = rows->n_hot;
    uint64_t in = k < h ? k : h, out = k - in;
    double share = rows->hot_share, plain = (double)k / (double)n;
    double *hot = arena_alloc(arena, n, sizeof *hot), *d = arena_alloc(arena, n, sizeof *d);
    double *even = arena_alloc(arena, n, sizeof *even);
    law->lift = arena_alloc(arena, n, sizeof *law->lift);
    for (uint64_t i = 0; i < n; i++) {
        int32_t e = rows->hot[i];
        hot[e] = i < h ? (double)in / (double)h : (double)out / (double)(n - h);
        even[e] = plain;
        law->pi[e] = share * hot[e] + (1 - share) * plain;
        law->lift[e] = (hot[e] - plain) * sqrt(share * (1 - share));
    }
    rows_hajek(hot, n, d);
    rows_hajek(even, n, law->d);
    for (uint64_t e = 0; e < n; e++) {
        law->d[e] = share * d[e] + (1 - share) * law->d[e];
        law->sum_d[0] += law->d[e];
    }
    touch_uniform(rows, arena, n, k, 1 - share, law);
    if (out > 0)
        touch_uniform(rows, arena, n - h, out, share, law);
    law->distinct_ranks += share * (h ? 1 - (out ? rows_touch_uniform(n - h, out, h) : 0) : 0);
    law->touch[0] = share + (1 - share) * rows_touch_uniform(n, k, h);
    law->node_touch[0] += share * miss_hot_node(rows, arena, out);
}

/* Frequencies over a list of tokens: pi, touch, distinct counts; groups' second moments. */
struct frequencies {
    const struct rows *rows;
    struct rows_scratch scratch;
    struct rows_law *law;
    double *group_mean, *group_square; /* [groups], [groups][groups] */
    uint64_t *in_group;                /* [groups] of the present token */
};

static void frequencies_init(struct frequencies *f, const struct rows *rows,
                             struct arena *arena, struct rows_law *law)
{
    *f = (struct frequencies){.rows = rows, .law = law};
    rows_scratch_init(rows, arena, &f->scratch);
    f->group_mean = arena_alloc(arena, rows->groups, sizeof *f->group_mean);
    f->group_square = arena_alloc(arena, rows->groups * rows->groups, sizeof(double));
    f->in_group = arena_alloc(arena, rows->groups, sizeof *f->in_group);
}

static void see_destinations(struct frequencies *f, const int32_t *ids)
{
    const struct rows *rows = f->rows;
    struct rows_scratch *s = &f->scratch;
    rows_assign_replicas(rows, ids, 1, s->seen, s->replicas);
    uint32_t clock = rows_tick(&s->rank_clock, s->rank_stamp, rows->spec.ranks);
    for (uint64_t i = 0; i < rows->spec.top_k; i++) {
        uint32_t rank = rows->map.rank[s->replicas[i]];
        uint64_t node = rank / rows->spec.ranks_per_node;
        if (s->rank_stamp[rank] != clock) {
            f->law->touch[rank] += 1;
            f->law->distinct_ranks += 1;
        }
        f->law->node_touch[node] += s->node_stamp[node] != clock;
        s->rank_stamp[rank] = s->node_stamp[node] = clock;
    }
}

static void see_token(struct frequencies *f, const int32_t *ids)
{
    const struct rows *rows = f->rows;
    uint64_t groups = rows->groups, size = rows->spec.experts / groups;
    memset(f->in_group, 0, groups * sizeof *f->in_group);
    for (uint64_t i = 0; i < rows->spec.top_k; i++) {
        uint64_t e = (uint64_t)ids[i];
        f->law->pi[e] += 1;
        f->in_group[groups > 1 ? e / size : 0]++;
    }
    for (uint64_t g = 0; groups > 1 && g < groups; g++) {
        f->group_mean[g] += (double)f->in_group[g];
        for (uint64_t h = 0; f->in_group[g] && h < groups; h++)
            f->group_square[g * groups + h] += (double)(f->in_group[g] * f->in_group[h]);
    }
    see_destinations(f, ids);
}

static void finish_frequencies(struct frequencies *f, uint64_t tokens)
{
    const struct rows *rows = f->rows;
    double n = (double)tokens;
    uint64_t groups = rows->groups;
    for (uint64_t e = 0; e < rows->spec.experts; e++)
        f->law->pi[e] /= n;
    for (uint64_t r = 0; r < rows->spec.ranks; r++)
        f->law->touch[r] /= n;
    f->law->distinct_ranks /= n;
    for (uint64_t node = 0; node < rows_nodes(rows); node++)
        f->law->node_touch[node] /= n;
    for (uint64_t g = 0; g < groups; g++)
        f->group_mean[g] /= n;
    for (uint64_t g = 0; g < groups; g++)
        for (uint64_t h = 0; h < groups; h++) {
            double *square = &f->group_square[g * groups + h];
            *square = *square / n - f->group_mean[g] * f->group_mean[h];
        }
}

static void fill_fixed(const struct rows *rows, unsigned number, struct arena *arena,
                       struct rows_law *law)
{
    (void)number;
    struct frequencies f;
    frequencies_init(&f, rows, arena, law);
    see_token(&f, rows->hot);
    finish_frequencies(&f, 1);
}

static void fill_recorded(const struct rows *rows, unsigned number, struct arena *arena,
                          struct rows_law *law)
{
    (void)number;
    const struct trace *trace = rows->spec.data.trace;
    struct frequencies f;
    frequencies_init(&f, rows, arena, law);
    for (uint64_t t = 0; t < trace->tokens; t++)
        see_token(&f, trace->ids + t * trace->top_k);
    finish_frequencies(&f, trace->tokens);
    law->sum_d[0] = rows_hajek(law->pi, rows->spec.experts, law->d);
}

/* Lower Cholesky factor in place; a direction without variance gets a zero column. */
static void factor(double *a, uint64_t n)
{
    for (uint64_t j = 0; j < n; j++) {
        double pivot = a[j * n + j];
        for (uint64_t k = 0; k < j; k++)
            pivot -= a[j * n + k] * a[j * n + k];
        double root = pivot > 1e-9 ? sqrt(pivot) : 0;
        for (uint64_t i = 0; i < n; i++) {
            double sum = a[i * n + j];
            for (uint64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i >= j)
                a[i * n + j] = root > 0 ? (i == j ? root : sum / root) : 0;
        }
    }
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = i + 1; j < n; j++)
            a[i * n + j] = 0;
}

/* Uniform popularity makes all experts, and ranks of equal size, alike: use their means. */
static void even_out(const struct rows *rows, struct rows_law *law)
{
    uint64_t n = rows->spec.experts, r = rows->spec.ranks;
    for (uint64_t e = 0; e < n; e++)
        law->pi[e] = (double)rows->spec.top_k / (double)n;
    for (uint64_t i = 0; rows->map.most_local * r == rows->map.replicas && i < r; i++)
        law->touch[i] = law->distinct_ranks / (double)r;
    uint64_t nodes = rows_nodes(rows);
    double sum = 0;
    for (uint64_t i = 0; i < nodes; i++)
        sum += law->node_touch[i];
    for (uint64_t i = 0; r % rows->spec.ranks_per_node == 0 && i < nodes; i++)
        law->node_touch[i] = sum / (double)nodes;
}

void rows_share_groups(const struct rows *rows, const double *group_mean, double *pi)
{
    uint64_t groups = rows->groups, size = rows->spec.experts / groups;
    for (uint64_t g = 0; g < groups; g++) {
        double sum = 0;
        for (uint64_t e = g * size; e < (g + 1) * size; e++)
            sum += pi[e];
        for (uint64_t e = g * size; sum > 0 && e < (g + 1) * size; e++)
            pi[e] = fmin(pi[e] * group_mean[g] / sum, 1 - 1e-9);
    }
}

void rows_hajek_groups(const struct rows *rows, struct rows_law *law)
{
    uint64_t groups = rows->groups, size = rows->spec.experts / groups;
    for (uint64_t g = 0; g < groups; g++) {
        double chance = fmax(law->kept[g], 1.0 / ROWS_PILOT);
        double *pi = law->pi + g * size, *d = law->d + g * size;
        for (uint64_t i = 0; i < size; i++)
            pi[i] = fmin(pi[i] / chance, 1);
        law->sum_d[g] = chance * rows_hajek(pi, size, d);
        for (uint64_t i = 0; i < size; i++) {
            pi[i] *= chance;
            d[i] *= chance;
        }
    }
}

/* Of n places, `per` ranks each: shares of the experts' misses at which the pilot's sum stays.
 */
static void smooth_places(const struct rows *rows, uint64_t n, uint64_t per,
                          struct arena *arena, const double *pi, double *touch)
{
    const struct expert_map *map = &rows->map;
    double *log_miss = arena_alloc(arena, n, sizeof *log_miss), distinct = 0;
    for (uint64_t i = 0; i < n; i++)
        distinct += touch[i];
    for (uint64_t i = 0; i < map->replicas; i++)
        log_miss[map->rank[i] / per] += log1p(-pi[map->expert[i]] / map->count[map->expert[i]]);
    rows_touch_by_power(log_miss, n, rows_touch_power(log_miss, n, distinct, 8), touch);
}

/* Skewed popularity: the pilot's groups are well known, its single experts and ranks are not.
 * Inside a group experts share as Rosen's chances do; ranks and nodes share so that their
 * number per token is the pilot's. */
static void smooth(const struct rows *rows, unsigned number, const double *group_mean,
                   struct arena *arena, struct rows_law *law)
{
    uint64_t n = rows->spec.experts;
    rows_rosen(rows->p + number * n, n, rows->spec.top_k, law->pi);
    rows_share_groups(rows, group_mean, law->pi);
    smooth_places(rows, rows->spec.ranks, 1, arena, law->pi, law->touch);
    if (!rows->spec.nodes_unread)
        smooth_places(rows, rows_nodes(rows), rows->spec.ranks_per_node, arena, law->pi,
                      law->node_touch);
}

/* Experts of the pilot's tokens, [ROWS_PILOT][K]: they follow from seed, router and popularity.
 */
static const int32_t *pilot_of(const struct rows *rows, unsigned number,
                               struct rows_scratch *scratch, struct arena *arena)
{
    const struct rows_spec *spec = &rows->spec;
    uint64_t n = spec->experts, k = spec->top_k;
    const struct rows_key key = {.words = {ROWS_PART_PILOT, n, k, rows->groups, number,
                                           spec->routing.seed, rows->alias != NULL},
                                 .tables = {{rows->p + number * n, n * sizeof *rows->p},
                                            {&spec->router, sizeof spec->router}}};
    const int32_t *known = rows_known_find(spec->known, &key);
    if (known)
        return known;
    int32_t *ids = arena_take(arena, ROWS_PILOT * k, sizeof *ids);
    for (uint32_t t = 0; t < ROWS_PILOT; t += ROWS_CHUNK)
        rows_grouped_tokens(rows, number, ROWS_RNG_PILOT, number, 0, t, ROWS_CHUNK, scratch,
                            ids + t * k);
    rows_known_keep(spec->known, &key, ids, ROWS_PILOT * k * sizeof *ids);
    return ids;
}

/* Between groups the piloted covariance; within a group Hajek's, given that it was kept. */
static void fill_grouped(const struct rows *rows, unsigned number, struct arena *arena,
                         struct rows_law *law)
{
    uint64_t groups = rows->groups;
    struct frequencies f;
    law->kept = arena_alloc(arena, groups, sizeof *law->kept);
    frequencies_init(&f, rows, arena, law);
    const int32_t *ids = pilot_of(rows, number, &f.scratch, arena);
    for (uint32_t t = 0; t < ROWS_PILOT; t++) {
        see_token(&f, ids + t * rows->spec.top_k);
        for (uint64_t g = 0; g < groups; g++)
            law->kept[g] += f.in_group[g] > 0;
    }
    finish_frequencies(&f, ROWS_PILOT);
    if (rows->alias)
        smooth(rows, number, f.group_mean, arena, law);
    else
        even_out(rows, law);
    law->group = f.group_square;
    factor(law->group, groups);
    for (uint64_t g = 0; g < groups; g++)
        law->kept[g] /= ROWS_PILOT;
    rows_hajek_groups(rows, law);
}

/* Tokens dealt in turn: their E patterns are counted, and nothing varies. */
static void fill_balanced(const struct rows *rows, unsigned number, struct arena *arena,
                          struct rows_law *law)
{
    struct frequencies f;
    uint64_t k = rows->spec.top_k, experts = rows->spec.experts, stride = experts / k;
    (void)number;
    frequencies_init(&f, rows, arena, law);
    for (uint64_t token = 0; token < experts; token++) {
        for (uint64_t i = 0; i < k; i++)
            f.scratch.ids[i] = (int32_t)((token + i * stride) % experts);
        see_token(&f, f.scratch.ids);
    }
    finish_frequencies(&f, experts);
    memset(law->d, 0, experts * sizeof *law->d);
    law->sum_d[0] = 0;
}

static fill_law *const fillers[ROWS_KIND_COUNT] = {
    [ROWS_FLAT] = fill_flat,   [ROWS_GROUPED] = fill_grouped,   [ROWS_HOT] = fill_hot,
    [ROWS_FIXED] = fill_fixed, [ROWS_RECORDED] = fill_recorded, [ROWS_BALANCED] = fill_balanced,
};

/* ---- tokens received, given rows ---- */

/* Places that tokens go to, ranks or nodes: how many ranks each has, and what is told of them.
 */
struct places {
    uint64_t n, per;
    const double *touch;
    double *mean, *slope, *residual;
};

/* Variance per token of the rows of each place, from the law's covariance. */
static void place_variance(const struct rows *rows, const struct rows_law *law,
                           const struct places *at, struct arena *arena, double *variance)
{
    const struct expert_map *map = &rows->map;
    uint64_t groups = rows->groups, size = rows->spec.experts / groups;
    double *d = arena_alloc(arena, at->n * groups, sizeof *d);
    double *part = arena_alloc(arena, at->n * groups, sizeof *part);
    double *lift = arena_alloc(arena, at->n, sizeof *lift);
    const double *mean = law->mean;
    for (uint64_t i = 0; i < map->replicas; i++) {
        uint64_t e = map->expert[i], g = e / size, r = map->rank[i] / at->per;
        double share = 1.0 / map->count[e];
        d[r * groups + g] += share * law->d[e];
        part[r * groups + g] += mean[g] > 0 ? share * law->pi[e] / mean[g] : 0;
        lift[r] += law->lift ? share * law->lift[e] : 0;
    }
    for (uint64_t r = 0; r < at->n; r++) {
        variance[r] = lift[r] * lift[r];
        for (uint64_t g = 0; g < groups; g++) {
            double own = d[r * groups + g], sum = law->sum_d[g], across = 0;
            variance[r] += sum > 0 ? own - own * own / sum : 0;
            for (uint64_t h = 0; law->group && h < groups; h++)
                across += part[r * groups + h] * law->group[h * groups + g];
            variance[r] += across * across;
        }
    }
}

/* A token brings N rows to a place, or none: the covariance of N and of "some" is
 * E N (1 - q). */
static void fill_regression(const struct rows *rows, const struct rows_law *law,
                            const struct places *at, struct arena *arena)
{
    const struct expert_map *map = &rows->map;
    double *mean = at->mean;
    double *variance = arena_alloc(arena, at->n, sizeof *variance);
    for (uint64_t i = 0; i < map->replicas; i++)
        mean[map->rank[i] / at->per] += law->pi[map->expert[i]] / map->count[map->expert[i]];
    place_variance(rows, law, at, arena, variance);
    for (uint64_t r = 0; r < at->n; r++) {
        double q = at->touch[r], covariance = mean[r] * (1 - q), v = variance[r];
        at->slope[r] = v > 1e-12 ? covariance / v : 0;
        at->residual[r] = rows->kind == ROWS_BALANCED
                              ? 0
                              : sqrt(fmax(0, q * (1 - q) - covariance * at->slope[r]));
    }
}

static void fill_regressions(const struct rows *rows, struct arena *arena, struct rows_law *law)
{
    double *mean = arena_alloc(arena, rows->spec.ranks, sizeof *mean);
    const struct places ranks = {rows->spec.ranks, 1, law->touch, mean, law->slope,
                                 law->residual};
    const struct places nodes = {rows_nodes(rows), rows->spec.ranks_per_node,
                                 law->node_touch,  law->node_mean,
                                 law->node_slope,  law->node_residual};
    fill_regression(rows, law, &ranks, arena);
    if (nodes.n > 1 && !rows->spec.nodes_unread)
        fill_regression(rows, law, &nodes, arena);
}

void rows_laws(struct rows *rows, struct arena *arena)
{
    bool follow = rows_popularity_is_drawn(&rows->spec) && rows->n_laws > ROWS_WORKED_OUT;
    uint64_t size = rows->spec.experts / rows->groups;
    struct rows_like like;
    rows->laws = arena_alloc(arena, rows->n_laws, sizeof *rows->laws);
    for (unsigned i = 0; i < rows->n_laws; i++) {
        struct rows_law *law = &rows->laws[i];
        allocate(rows, arena, law);
        if (follow && i == ROWS_WORKED_OUT)
            rows_like_init(rows, arena, &like);
        if (follow && i >= ROWS_WORKED_OUT)
            rows_fill_like(rows, i, &like, arena, law);
        else
            fillers[rows->kind](rows, i, arena, law);
        for (uint64_t node = 0; node < rows_nodes(rows); node++)
            law->distinct_nodes += law->node_touch[node];
        for (uint64_t e = 0; e < rows->spec.experts; e++)
            law->mean[e / size] += law->pi[e];
        fill_regressions(rows, arena, law);
        for (uint64_t e = 0; e < rows->spec.experts; e++)
            law->root[e] = sqrt(law->d[e]);
    }
}
