/* Routing slots of one rank from one sampled step; see ops.h. */
#include <math.h>

#include "base/checked.h"
#include "plan/derive.h"
#include "sim/step/ops.h"
#include "sim/moe/route.h"
#include "sim/moe/skew.h"
#include "work/layer/layer.h"
#include "work/rows/rows.h"

/* Choices of a step that are sampled token by token while a prediction has to answer at once.
 */
enum { EXACT_CHOICES = 1 << 18 };

enum status ops_check(const struct plan *plan, const struct ops_ask *ask, struct err *err)
{
    uint64_t ranks = plan->parallel.ep;
    if (!ask->named || ask->rank < ranks)
        return STATUS_OK;
    err_set(err, STATUS_INPUT, "--rank %llu: the expert-parallel group has ranks 0 to %llu",
            (unsigned long long)ask->rank, (unsigned long long)(ranks - 1));
    return err_hint(err, "parallel.ep is %llu", (unsigned long long)ranks);
}

static uint64_t fullest(const uint64_t *rows, uint64_t ranks)
{
    uint64_t most = 0;
    for (uint64_t r = 1; r < ranks; r++)
        most = rows[r] > rows[most] ? r : most;
    return most;
}

/* What crosses the links of a step whose fullest rank is looked at; `exact` steps are sampled
 * for it. Memory from the arena. */
static void tell_links(const struct plan *plan, const struct ops_ask *ask,
                       const struct rows *rows, bool exact, struct arena *arena,
                       struct ops_report *out)
{
    struct crossing_map map;
    struct crossing crossing;
    struct rows_step step;
    struct rows_scratch scratch;
    if (ask->named || !crossing_map_of(plan, &map))
        return;
    rows_scratch_init(rows, arena, &scratch);
    rows_step_init(rows, ROWS_WANT_RECEIVED | ROWS_WANT_NODES, arena, &step);
    if (exact) {
        crossing_init(&map, arena, &crossing);
        step.crossing = &crossing;
    }
    (exact ? rows_sample_step : rows_gauss_step)(rows, ask->sample, &scratch, &step);
    const uint64_t *units = map.rows ? step.rank : step.received;
    out->links = demand_links_of(&map, &step, units[fullest(units, map.ranks)]);
}

static enum status exact(const struct plan *plan, const struct ops_ask *ask,
                         struct arena *arena, struct slots *slots, struct ops_report *out,
                         struct err *err)
{
    struct route route;
    TRY(route_init(plan, ask->data, ask->rows, arena, &route, err));
    route_step(&route, ask->sample);
    const struct layer_sample *s = &route.sample;
    uint64_t *rows = arena_alloc(arena, s->R, sizeof *rows), experts = s->R * s->local;
    for (uint64_t source = 0; source < s->R; source++)
        for (uint64_t e = 0; e < experts; e++)
            rows[e / s->local] += s->rows[source * experts + e];
    out->rank = ask->named ? ask->rank : fullest(rows, s->R);
    out->method = "exact sample";
    layer_sample_plan_slots(plan, s, out->rank, 1, slots);
    tell_links(plan, ask, &route.rows, true, arena, out);
    return STATUS_OK;
}

/* Rows of every expert of the rank, from the step's counts. */
static void count_experts(const struct rows *rows, const struct rows_step *step, uint64_t rank,
                          uint64_t *v)
{
    const struct expert_map *map = &rows->map;
    v[SLOT_PADDED_ROWS] = v[SLOT_HIT_EXPERTS] = v[SLOT_BLOCKS] = v[SLOT_HOT_EXPERT] = 0;
    for (uint64_t i = 0; i < map->replicas; i++) {
        uint64_t n = step->replica[i];
        if (map->rank[i] != rank)
            continue;
        v[SLOT_PADDED_ROWS] += round_up(n, v[SLOT_ALIGNMENT]);
        v[SLOT_HIT_EXPERTS] += n > 0;
        v[SLOT_BLOCKS] += v[SLOT_BLOCK] ? ceil_div(n, v[SLOT_BLOCK]) : 0;
        v[SLOT_HOT_EXPERT] = n > v[SLOT_HOT_EXPERT] ? n : v[SLOT_HOT_EXPERT];
    }
}

/* Which source a row came from is not sampled: every source sends alike, so of what a rank
 * receives (R - 1) / R came over a link, and of its own rows as many stay as came from it. */
static void count_links(const struct rows *rows, const struct rows_step *step, uint64_t rank,
                        uint64_t *v)
{
    uint64_t R = rows->spec.ranks, T = rows->spec.tokens, K = rows->spec.top_k;
    uint64_t received = step->rank[rank], tokens = step->received[rank];
    uint64_t out = (uint64_t)llround((double)T * step->distinct_ranks);
    v[SLOT_ROWS] = received;
    v[SLOT_RECEIVED] = tokens;
    v[SLOT_ROWS_FROM] = skew_share(received, R - 1, R);
    v[SLOT_TOKENS_FROM] = skew_share(tokens, R - 1, R);
    v[SLOT_ROWS_SENT] = T * K - skew_share(received, 1, R);
    v[SLOT_TOKENS_OUT] = out;
    v[SLOT_TOKENS_SENT] = out - skew_share(tokens, 1, R);
}

static void count_rounds(const struct rows *rows, const struct rows_step *step, uint64_t *v)
{
    uint64_t most = 0, R = rows->spec.ranks;
    for (uint64_t i = 0; i < rows->map.replicas; i++)
        most = step->replica[i] > most ? step->replica[i] : most;
    v[SLOT_ROUNDS] = v[SLOT_CHUNK] ? ceil_div(ceil_div(most, R), v[SLOT_CHUNK]) : 0;
    v[SLOT_WEIGHT_LOADS] = v[SLOT_HIT_EXPERTS];
}

static enum status counted(const struct plan *plan, const struct ops_ask *ask,
                           struct arena *arena, struct slots *slots, struct ops_report *out,
                           struct err *err)
{
    struct rows_spec spec;
    struct rows rows;
    struct rows_scratch scratch;
    struct rows_step step;
    rows_spec_from_plan(plan, ask->data, &spec);
    if (ask->rows)
        rows = *ask->rows;
    else
        TRY(rows_prepare(&spec, arena, &rows, err));
    rows_scratch_init(&rows, arena, &scratch);
    rows_step_init(&rows, ROWS_WANT_RECEIVED, arena, &step);
    bool gaussian = rows_gauss_valid(&rows);
    (gaussian ? rows_gauss_step : rows_sample_step)(&rows, ask->sample, &scratch, &step);
    out->rank = ask->named ? ask->rank : fullest(step.rank, spec.ranks);
    out->method = gaussian ? "gaussian" : "exact counts";
    slots_from_plan(plan, slots);
    slots->value[SLOT_ALIGNMENT] = layer_alignment(plan);
    slots->value[SLOT_LOCAL_EXPERTS] = rows.map.most_local;
    count_experts(&rows, &step, out->rank, slots->value);
    count_links(&rows, &step, out->rank, slots->value);
    slots->value[SLOT_PADDED_ROWS] = layer_computed_rows(plan->moe.path, plan, slots->value);
    count_rounds(&rows, &step, slots->value);
    tell_links(plan, ask, &rows, !gaussian, arena, out);
    return STATUS_OK;
}

enum status ops_slots(const struct plan *resolved, const struct ops_ask *ask,
                      struct arena *arena, struct slots *slots, struct ops_report *out,
                      struct err *err)
{
    bool overflow = false;
    uint64_t ranks = resolved->parallel.ep;
    uint64_t choices = checked_mul(checked_mul(ranks, plan_joined_tokens(resolved), &overflow),
                                   resolved->model.moe.top_k, &overflow);
    out->sample = ask->sample;
    out->rank = 0;
    out->method = "balanced";
    slots_from_plan(resolved, slots);
    TRY(ops_check(resolved, ask, err));
    if (!plan_is_routed(resolved) || choices == 0)
        return STATUS_OK;
    return !overflow && choices <= EXACT_CHOICES
               ? exact(resolved, ask, arena, slots, out, err)
               : counted(resolved, ask, arena, slots, out, err);
}
