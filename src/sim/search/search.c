/* Search; see search.h. */
#include "sim/search/search.h"

#include <string.h>

#include "plan/engine.h"
#include "plan/lay_experts.h"
#include "sim/search/drops.h"
#include "sim/search/search_hunt.h"
#include "sim/search/search_savers.h"

/* ---- all of them ---- */

struct pile {
    struct arena arena;
    struct search_candidate *items;
    size_t n, room;
    struct search_candidate nearest;
    bool any;
};

static void pile_up(struct pile *pile, struct hunt_found *found, struct search_result *result)
{
    if (pile->n + found->n > pile->room) {
        pile->room = 2 * (pile->n + found->n);
        struct arena larger = {0};
        struct search_candidate *items = arena_alloc(&larger, pile->room, sizeof *items);
        if (pile->n)
            memcpy(items, pile->items, pile->n * sizeof *items);
        arena_release(&pile->arena);
        pile->arena = larger;
        pile->items = items;
    }
    if (found->n)
        memcpy(pile->items + pile->n, found->items, found->n * sizeof *found->items);
    pile->n += found->n;
    if (found->any && (!pile->any || hunt_is_nearer(&found->nearest, &pile->nearest)))
        pile->nearest = found->nearest;
    pile->any = pile->any || found->any;
    result->points += found->points;
    result->invalid += found->invalid;
    result->too_large += found->too_large;
    arena_release(&found->arena);
    *found = (struct hunt_found){0};
}

/* One search: its plans' layouts, and who judges them all. */
struct search {
    const struct search_ask *asks;
    struct hunt *hunts;
    size_t n, n_all; /* plans; layouts, beside those of the asked part */
    struct judge *judge;
};

/* What is judged of one batch need not be kept, nor what it beats of the next. */
static void gather_one(struct search *search, struct hunt *hunt, struct pile *pile,
                       struct search_result *result)
{
    const struct search_ask *ask = hunt->ask;
    struct hunt_found found[HUNT_GROUPS] = {{.n = 0}};
    hunt->found = found;
    for (size_t end = 0; end < hunt->n_groups;) {
        size_t left = hunt->n_groups - end, most = end ? HUNT_GROUPS : HUNT_FIRST;
        size_t n = left < most ? left : most;
        hunt->first = end;
        end += n;
        pool_run(ask->pool, n, hunt_walk, hunt);
        for (size_t i = 0; i < n; i++)
            pile_up(pile, &found[i], result);
        pile->n = judge_first(search->judge, pile->items, pile->n);
        double share = (double)end / (double)hunt->n_groups;
        if (ask->progress)
            ask->progress(ask->context,
                          SEARCH_BOUNDED * ((double)hunt->variant + share) / (double)search->n);
    }
    hunt->found = NULL;
}

static void gather(struct search *search, bool nearest, struct pile *pile,
                   struct search_result *result)
{
    for (size_t i = 0; i < search->n; i++) {
        search->hunts[i].judge = search->judge;
        search->hunts[i].nearest = nearest;
        gather_one(search, &search->hunts[i], pile, result);
    }
}

/* What follows from the layout rather than deciding it. Whoever takes up tensor parallelism in
 * training splits the sequence over it, too. */
static void loosen(const struct search_ask *ask, struct plan *base)
{
    bool stages = ask->space->n[SEARCH_PP] > 1 || ask->space->n[SEARCH_VPP] > 1;
    base->parallel.dp = 0;
    base->parallel.attention_dp = 0;
    base->parallel.stage = 0;
    base->parallel.sp =
        base->parallel.sp || (base->workload.mode == MODE_TRAIN && base->parallel.tp == 1);
    base->parallel.stages.n = stages ? 0 : base->parallel.stages.n;
}

/* Whether the plan splits an engine's sequences as its own layout has it; where it states them
 * otherwise, all layouts have them so. */
static bool lays_experts(const struct plan *plan)
{
    struct plan other = *plan;
    other.parallel.sp = false;
    experts_lay(&other, EXPERTS_EP | EXPERTS_ETP);
    return plan_is_engine(plan) && other.parallel.sp == plan->parallel.sp;
}

static void fill(const void *context, const struct search_candidate *c, struct plan *plan)
{
    const struct search *search = context;
    const struct hunt *hunt = &search->hunts[c->variant];
    *plan = hunt->base;
    hunt_set_keys(hunt, 0, c->index, plan);
}

static bool any_fits(const struct search_result *r)
{
    return r->points > r->invalid + r->too_large;
}

/* No layout obeys all rules. Of a part of them, others may. */
static enum status refuse(const struct search *search, struct search_result *result,
                          struct arena *arena, struct err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < search->n; i++)
        n += search->hunts[i].n_layouts;
    result->missed = true;
    if (search->asks->every && n < search->n_all)
        return STATUS_OK;
    return search_refused(search->hunts, search->n, result->points, arena, err);
}

static void hunt_open(const struct search_ask *ask, size_t variant, struct hunt *hunt)
{
    *hunt = (struct hunt){
        .ask = ask, .variant = variant, .base = *ask->plan, .lays = lays_experts(ask->plan)};
    loosen(ask, &hunt->base);
}

void search_plan(const struct search_ask *ask, const struct search_hit *hit, struct plan *plan)
{
    struct hunt hunt;
    hunt_open(ask, hit->variant, &hunt);
    hunt_plan(&hunt, hit->value, plan);
}

static void begin(struct search *search, struct arena *arena)
{
    const char *micro_batch = search_key_full(SEARCH_MICRO_BATCH);
    search->hunts = arena_alloc(arena, search->n, sizeof *search->hunts);
    for (size_t i = 0; i < search->n; i++) {
        struct hunt *hunt = &search->hunts[i];
        hunt_open(&search->asks[i], i, hunt);
        rule_parts_of(&micro_batch, 1, &hunt->rules);
    }
    search->n_all = hunt_list(search->hunts, search->n, arena);
}

/* What other keys than a layout's make the nearest miss fit. */
static void mend(const struct search *search, struct arena *arena, struct search_result *result)
{
    const struct search_hit *nearest = &result->nearest;
    const struct search_ask *ask = &search->asks[nearest->variant];
    if (!ask->fixes || !result->missed || nearest->total_bytes <= nearest->limit_bytes)
        return;
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct rows_known known = {0};
    hunt_plan(&search->hunts[nearest->variant], nearest->value, plan);
    result->fixes = fix_find(plan, ask->routing, ask->profile, &known, arena, &result->n_fixes);
    rows_known_release(&known);
    search_save(search->asks, search->n, plan, arena, result);
}

/* What the layouts that are listed by rank drop. */
static void tell_drops(const struct search *search, struct search_hit *hits, size_t n,
                       struct evaluator *evaluator, struct arena *arena)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    for (size_t i = 0; i < n; i++) {
        evaluator->routing = search->asks[hits[i].variant].routing;
        hunt_plan(&search->hunts[hits[i].variant], hits[i].value, plan);
        hits[i].drop_fraction = drops_of(evaluator, plan, arena);
    }
}

static void tell_all_drops(const struct search *search, struct arena *arena,
                           struct search_result *result)
{
    struct rows_known known = {0};
    struct evaluator evaluator = {.rows_known = &known};
    if (search->asks->every || search->asks->alone)
        return;
    tell_drops(search, result->best, result->n_best, &evaluator, arena);
    tell_drops(search, result->pareto, result->n_pareto, &evaluator, arena);
    if (result->missed)
        tell_drops(search, &result->nearest, 1, &evaluator, arena);
    evaluator_release(&evaluator);
    rows_known_release(&known);
}

enum status search_run(const struct search_ask *asks, size_t n, struct arena *arena,
                       struct search_result *result, struct err *err)
{
    struct search search = {.asks = asks, .n = n};
    struct pile pile = {0};
    enum status status = STATUS_OK;
    *result = (struct search_result){0};
    begin(&search, arena);
    const struct search_bench bench = {.asks = asks,
                                       .fill = fill,
                                       .context = &search,
                                       .serves = asks->plan->workload.mode == MODE_SERVE};
    search.judge = judge_open(&bench, arena);
    gather(&search, false, &pile, result);
    if (pile.any && !any_fits(result) && asks->fits_only) {
        result->missed = true;
        pile.any = false;
    } else if (pile.any && !any_fits(result)) {
        struct search_result again = {0};
        gather(&search, true, &pile, &again);
    }
    if (pile.any)
        judge_close(search.judge, pile.items, pile.n, &pile.nearest, arena, result);
    else if (!result->missed)
        status = refuse(&search, result, arena, err);
    judge_release(search.judge);
    arena_release(&pile.arena);
    if (pile.any) {
        tell_all_drops(&search, arena, result);
        mend(&search, arena, result);
    }
    return status;
}
