/* Preparing the sampler: kind, popularity, placement, alias tables, laws; see rows.h. */
#include "work/rows/rows.h"

#include "base/checked.h"
#include "plan/derive.h"
#include "work/rows/rows_parts.h"

static enum rows_kind kind_of(const struct rows_spec *spec)
{
    bool trace = spec->routing.distribution == DISTRIBUTION_TRACE;
    if (spec->balanced)
        return ROWS_BALANCED;
    if (spec->scenario == SCENARIO_PROFILE_RUN)
        return ROWS_FIXED;
    if (trace && spec->data.trace && spec->data.trace->ids)
        return ROWS_RECORDED;
    if (spec->routing.distribution == DISTRIBUTION_HOT_RANK && spec->scenario != SCENARIO_COLD)
        return ROWS_HOT;
    return spec->router.groups > 1 && spec->router.top_groups < spec->router.groups
               ? ROWS_GROUPED
               : ROWS_FLAT;
}

static enum status check_trace(const struct rows_spec *spec, struct err *err)
{
    const struct trace *trace = spec->data.trace;
    if (spec->routing.distribution != DISTRIBUTION_TRACE)
        return STATUS_OK;
    if (!trace)
        return err_set(err, STATUS_INPUT, "routing distribution 'trace' has no recorded data");
    if (trace->experts > spec->experts || (trace->counts && trace->experts != spec->experts))
        return err_set(err, STATUS_INPUT, "the trace has %llu experts, the model %llu",
                       (unsigned long long)trace->experts, (unsigned long long)spec->experts);
    if (trace->ids && trace->top_k != spec->top_k)
        return err_set(err, STATUS_INPUT,
                       "the trace has %llu experts per token, the model's top_k is %llu",
                       (unsigned long long)trace->top_k, (unsigned long long)spec->top_k);
    return STATUS_OK;
}

static enum status check(const struct rows_spec *spec, struct err *err)
{
    if (spec->top_k == 0 || spec->top_k > spec->experts)
        return err_set(err, STATUS_INPUT, "top_k %llu is not within 1 and experts %llu",
                       (unsigned long long)spec->top_k, (unsigned long long)spec->experts);
    if (spec->ranks == 0 || spec->ranks > UINT32_MAX || spec->tokens > PLAN_MOST_TOKENS ||
        spec->experts > UINT32_MAX / 2)
        return err_set(err, STATUS_INPUT,
                       "routing of %llu tokens to %llu experts on %llu ranks is out of range",
                       (unsigned long long)spec->tokens, (unsigned long long)spec->experts,
                       (unsigned long long)spec->ranks);
    if (kind_of(spec) == ROWS_GROUPED &&
        (spec->experts % spec->router.groups ||
         spec->router.top_groups * (spec->experts / spec->router.groups) < spec->top_k))
        return err_set(err, STATUS_INPUT,
                       "%llu of %llu router groups cannot give top_k %llu of %llu experts",
                       (unsigned long long)spec->router.top_groups,
                       (unsigned long long)spec->router.groups, (unsigned long long)spec->top_k,
                       (unsigned long long)spec->experts);
    return check_trace(spec, err);
}

/* Hierarchical EPLB wants a weight per expert: the chance of it being picked; the mean over the
 * layers of a trace. Rosen's form is close enough for placing. */
static double *placement_weights(const struct rows *rows, struct arena *arena)
{
    uint64_t n = rows->spec.experts;
    double *weight = arena_alloc(arena, n, sizeof *weight);
    double *pi = arena_alloc(arena, n, sizeof *pi);
    for (unsigned law = 0; law < rows->n_laws; law++) {
        rows_rosen(rows->p + law * n, n, rows->spec.top_k, pi);
        for (uint64_t e = 0; e < n; e++)
            weight[e] += pi[e] / rows->n_laws;
    }
    return weight;
}

static enum status place(struct rows *rows, struct arena *arena, struct err *err)
{
    const struct rows_spec *spec = &rows->spec;
    struct placement_ask ask = {
        .kind = spec->routing.placement,
        .experts = spec->experts,
        .ranks = spec->ranks,
        .redundant = spec->redundant,
        .groups = spec->router.groups,
        .nodes = ceil_div(spec->ranks, spec->ranks_per_node),
        .owner = spec->data.owner,
    };
    if (ask.kind == PLACEMENT_EPLB)
        ask.weight = placement_weights(rows, arena);
    if (ask.kind == PLACEMENT_TABLE && spec->data.n_owner != spec->experts)
        return err_set(err, STATUS_INPUT, "placement table has %llu experts, the model %llu",
                       (unsigned long long)spec->data.n_owner,
                       (unsigned long long)spec->experts);
    return placement_make(&ask, arena, &rows->map, err);
}

/* Experts of rank 0 first, each once. */
static void find_hot(struct rows *rows, struct arena *arena)
{
    const struct expert_map *map = &rows->map;
    bool *inside = arena_alloc(arena, map->experts, sizeof *inside);
    rows->hot = arena_alloc(arena, map->experts, sizeof *rows->hot);
    for (uint64_t i = 0; i < map->replicas; i++)
        if (map->rank[i] == 0 && !inside[map->expert[i]]) {
            inside[map->expert[i]] = true;
            rows->hot[rows->n_hot++] = (int32_t)map->expert[i];
        }
    uint64_t n = rows->n_hot;
    for (uint64_t e = 0; e < map->experts; e++)
        if (!inside[e])
            rows->hot[n++] = (int32_t)e;
    rows->hot_share = rows->kind == ROWS_FIXED ? 1 : rows->spec.routing.share;
}

static bool uniform_chances(const struct rows *rows)
{
    uint64_t n = rows->n_laws * rows->spec.experts;
    for (uint64_t e = 1; e < n; e++)
        if (rows->p[e] < rows->p[0] || rows->p[e] > rows->p[0])
            return false;
    return true;
}

static void make_alias(struct rows *rows, struct arena *arena)
{
    if (uniform_chances(rows))
        return;
    uint64_t n = rows->spec.experts;
    rows->alias = arena_alloc(arena, rows->n_laws, sizeof *rows->alias);
    for (unsigned law = 0; law < rows->n_laws; law++)
        rows_alias_make(rows->p + law * n, rows->groups, n / rows->groups, arena,
                        &rows->alias[law]);
}

bool rows_popularity_is_drawn(const struct rows_spec *spec)
{
    enum rows_kind kind = kind_of(spec);
    if (kind != ROWS_FLAT && kind != ROWS_GROUPED)
        return false;
    return spec->scenario == SCENARIO_COLD ||
           spec->routing.distribution == DISTRIBUTION_LOGNORMAL ||
           spec->routing.distribution == DISTRIBUTION_DIRICHLET;
}

/* Laws that the steps take in turn. */
static unsigned n_laws_of(const struct rows *rows)
{
    const struct rows_spec *spec = &rows->spec;
    const struct trace *trace = spec->data.trace;
    bool drawn = rows->kind == ROWS_FLAT || rows->kind == ROWS_GROUPED;
    if (drawn && spec->routing.distribution == DISTRIBUTION_TRACE && trace->counts)
        return (unsigned)trace->layers;
    if (spec->routing.popularity == POPULARITY_FIXED || !rows_popularity_is_drawn(spec))
        return 1;
    uint64_t n = spec->routing.samples;
    return n < 1 ? 1 : n < ROWS_DRAWS ? (unsigned)n : ROWS_DRAWS;
}

enum status rows_prepare(const struct rows_spec *spec, struct arena *arena, struct rows *out,
                         struct err *err)
{
    TRY(check(spec, err));
    struct rows rows = {.spec = *spec, .kind = kind_of(spec), .n_laws = 1, .groups = 1};
    if (rows.spec.ranks_per_node == 0 || rows.spec.ranks_per_node > spec->ranks)
        rows.spec.ranks_per_node = spec->ranks;
    if (rows.kind == ROWS_GROUPED)
        rows.groups = spec->router.groups;
    rows.n_laws = n_laws_of(&rows);
    bool bursts = spec->scenario == SCENARIO_BURST && rows.kind != ROWS_BALANCED;
    rows.run = bursts ? ROWS_BURST_RUN : 1;
    uint64_t n = rows.n_laws * spec->experts;
    rows.log_weight = arena_alloc(arena, n, sizeof *rows.log_weight);
    rows.p = arena_alloc(arena, n, sizeof *rows.p);
    TRY(rows_weights(&rows.spec, arena, rows.n_laws, rows.log_weight, rows.p, err));
    TRY(place(&rows, arena, err));
    make_alias(&rows, arena);
    if (rows.kind == ROWS_HOT || rows.kind == ROWS_FIXED)
        find_hot(&rows, arena);
    rows.node = arena_alloc(arena, spec->ranks, sizeof *rows.node);
    for (uint64_t r = 0; r < spec->ranks; r++)
        rows.node[r] = (uint32_t)(r / rows.spec.ranks_per_node);
    rows.normal = arena_alloc(arena, ROWS_BINS + 1, sizeof *rows.normal);
    rows_normal_table(rows.normal);
    rows_laws(&rows, arena);
    rows.spec.known = NULL;
    *out = rows;
    return STATUS_OK;
}

void rows_scratch_init(const struct rows *rows, struct arena *arena,
                       struct rows_scratch *scratch)
{
    uint64_t e = rows->spec.experts, r = rows->spec.ranks, k = rows->spec.top_k;
    *scratch = (struct rows_scratch){0};
    scratch->stamp = arena_alloc(arena, e, sizeof *scratch->stamp);
    scratch->rank_stamp = arena_alloc(arena, r, sizeof *scratch->rank_stamp);
    scratch->node_stamp = arena_alloc(arena, r, sizeof *scratch->node_stamp);
    scratch->counts = arena_alloc(arena, e, sizeof *scratch->counts);
    scratch->seen = arena_alloc(arena, e, sizeof *scratch->seen);
    scratch->words = arena_alloc(arena, ROWS_CHUNK * 8 * rows_blocks(rows), sizeof(uint32_t));
    scratch->noise = arena_alloc(arena, round_up(e, 4), sizeof *scratch->noise);
    scratch->ids = arena_alloc(arena, ROWS_CHUNK * k, sizeof *scratch->ids);
    scratch->replicas = arena_alloc(arena, ROWS_CHUNK * k, sizeof *scratch->replicas);
    scratch->keys = arena_alloc(arena, e > 2 * r ? e : 2 * r, sizeof *scratch->keys);
    scratch->heads = arena_alloc(arena, rows->groups, sizeof *scratch->heads);
    scratch->firsts = arena_alloc(arena, rows->groups, sizeof *scratch->firsts);
    scratch->arrivals = arena_alloc(arena, rows->groups, sizeof *scratch->arrivals);
    uint64_t times = rows->kind == ROWS_GROUPED ? ROWS_CHUNK * 4 * rows_time_blocks(rows) : 0;
    scratch->time_words = arena_alloc(arena, times, sizeof *scratch->time_words);
    scratch->times = arena_alloc(arena, times, sizeof *scratch->times);
}

void rows_step_init(const struct rows *rows, unsigned want, struct arena *arena,
                    struct rows_step *out)
{
    uint64_t e = rows->spec.experts, p = rows->map.replicas, r = rows->spec.ranks;
    *out = (struct rows_step){0};
    out->expert = arena_alloc(arena, e, sizeof *out->expert);
    out->replica = arena_alloc(arena, p, sizeof *out->replica);
    out->rank = arena_alloc(arena, r, sizeof *out->rank);
    if (want & ROWS_WANT_RECEIVED)
        out->received = arena_alloc(arena, r, sizeof *out->received);
    if (want & ROWS_WANT_MATRIX)
        out->matrix = arena_alloc(arena, r * p, sizeof *out->matrix);
    if (want & ROWS_WANT_NODES)
        out->node = arena_alloc(arena, rows_nodes(rows), sizeof *out->node);
    if (want & ROWS_WANT_PAIRS)
        out->pairs = arena_alloc(arena, r * r, sizeof *out->pairs);
}
