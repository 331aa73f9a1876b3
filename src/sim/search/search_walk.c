/* What of a group of layouts may fit, bounded combination by combination; see search_hunt.h. */
#include <string.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/rule/rule.h"
#include "sim/search/search_hunt.h"
#include "work/stack/stack.h"

/* What needs more cannot even be marginal: total - limit <= error x temp has to hold. */
uint64_t search_most_bytes(const struct search_ask *ask, const struct plan *plan)
{
    double error = plan->stack.error < 0.9 ? plan->stack.error : 0.9;
    uint64_t most = (uint64_t)((double)verdict_limit(plan) / (1 - error)) + 1;
    return ask->at_most_bytes && ask->at_most_bytes < most ? ask->at_most_bytes : most;
}

/* Where a layout's walk stands, and since when nothing of it can fit. */
struct walk {
    const struct hunt *hunt;
    struct hunt_found *found;
    struct plan plan; /* at the present combination */
    struct search_bounds *bounds;
    struct search_place *place;
    uint8_t hopeless[SEARCH_KEYS];
    bool any_hopeless;
    uint64_t number;
};

/* The state of the first stage follows from the keys before the path alone: when it is too
 * large, so is everything. */
static bool is_hopeless(const struct walk *walk, const uint8_t index[SEARCH_KEYS])
{
    return walk->any_hopeless && memcmp(walk->hopeless, index, SEARCH_PATH) == 0;
}

static void append(struct hunt_found *f, const struct search_candidate *c)
{
    f->items = arena_grow(&f->arena, f->items, f->n, &f->capacity, sizeof *f->items);
    f->items[f->n++] = *c;
}

bool hunt_is_nearer(const struct search_candidate *one, const struct search_candidate *other)
{
    if (one->least_bytes != other->least_bytes)
        return one->least_bytes < other->least_bytes;
    return one->number < other->number;
}

/* ---- micro-batches ---- */

/* The bound of one micro-batch. */
struct bound {
    enum { BOUND_REFUSED, BOUND_LARGE, BOUND_FITS } is; /* refused: by a rule or the stack */
    uint64_t bytes, state_bytes;
};

/* A candidate of the walk's combination but for another micro-batch, at which its plan then
 * stands. */
static struct search_candidate candidate_at(struct walk *walk, const uint8_t index[SEARCH_KEYS],
                                            size_t micro)
{
    struct search_candidate c = {.number = walk->number + micro,
                                 .variant = (uint16_t)walk->hunt->variant};
    memcpy(c.index, index, sizeof c.index);
    c.index[SEARCH_MICRO_BATCH] = (uint8_t)micro;
    hunt_set_keys(walk->hunt, SEARCH_MICRO_BATCH, c.index, &walk->plan);
    return c;
}

/* By what does not follow from the micro-batch. */
static bool is_lawful(const struct walk *walk)
{
    const struct rule_parts *rules = &walk->hunt->rules;
    return rule_obeyed(rules->rest, rules->n_rest, &walk->plan);
}

/* By the rest, of a plan that is lawful. */
static bool is_allowed(const struct walk *walk)
{
    const struct rule_parts *rules = &walk->hunt->rules;
    return rule_obeyed(rules->naming, rules->n_naming, &walk->plan) &&
           (plan_names_path(&walk->plan) || stack_offers(&walk->plan));
}

static void note_nearest(struct hunt_found *found, const struct search_candidate *c)
{
    if (!found->any || hunt_is_nearer(c, &found->nearest))
        found->nearest = *c;
    found->any = true;
}

/* Of the candidate at which the walk's plan stands. */
static struct bound bound_of(struct walk *walk, struct search_candidate *c)
{
    struct refold_peak peak;
    if (!search_least_memory(walk->bounds, walk->place, &walk->plan, c->index, &peak))
        return (struct bound){.is = BOUND_REFUSED};
    c->least_bytes = peak.total_bytes;
    c->list = search_place_list(walk->place);
    note_nearest(walk->found, c);
    bool fits = c->least_bytes <= search_most_bytes(walk->hunt->ask, &walk->plan);
    return (struct bound){fits ? BOUND_FITS : BOUND_LARGE, peak.total_bytes, peak.state_bytes};
}

/* What fits, unless what was judged beats it: by what all paths take at least, or by more. */
static void keep_fitting(struct walk *walk, struct search_candidate *c)
{
    static const enum floor_part parts[] = {FLOOR_COMMON, FLOOR_WHOLE};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        c->seconds =
            search_least_seconds(walk->bounds, walk->place, &walk->plan, c->index, parts[i]);
        if (judge_beats(walk->hunt->judge, c->seconds, c->least_bytes))
            return;
    }
    append(walk->found, c);
}

static void keep(struct walk *walk, struct search_candidate *c, const struct bound *bound)
{
    if (bound->is == BOUND_FITS) {
        c->least_bytes = bound->bytes;
        keep_fitting(walk, c);
    }
    walk->found->too_large += bound->is == BOUND_LARGE;
    walk->found->invalid += bound->is == BOUND_REFUSED;
}

static void note_hopeless(struct walk *walk, const struct bound *first,
                          const uint8_t index[SEARCH_KEYS])
{
    if (first->is != BOUND_LARGE)
        return;
    walk->any_hopeless = first->state_bytes > search_most_bytes(walk->hunt->ask, &walk->plan);
    memcpy(walk->hopeless, index, sizeof walk->hopeless);
}

/* What follows the micro-batches of a combination that were bounded, upward. */
struct past {
    bool any;
    struct bound first, last;
    bool waits; /* one that is too large stands for all */
};

/* A larger one needs no less where search_rises: the rows of a micro-step grow with it, and in
 * flight are min(stages x micro-batch, batch). What an engine's cache does not hold of a batch
 * waits: the first that is too large is as good as all that are, and needs no less than the
 * smallest. */
static void visit_allowed(struct walk *walk, struct search_candidate *c, struct past *past)
{
    bool large = past->any && past->last.is == BOUND_LARGE &&
                 search_rises(walk->bounds, walk->place, &walk->plan, c->index);
    struct bound bound = large ? past->last : bound_of(walk, c);
    if (!past->any) {
        past->first = bound;
        note_hopeless(walk, &bound, c->index);
    }
    past->any = true;
    past->last = bound;
    if (bound.is == BOUND_LARGE && !past->waits && past->first.is == BOUND_FITS &&
        engine_queues(&walk->plan)) {
        past->waits = true;
        bound = past->first;
    }
    keep(walk, c, &bound);
}

/* All micro-batches of the combination. */
static void visit_micro(struct walk *walk, const uint8_t index[SEARCH_KEYS], size_t n)
{
    bool hopeless = !walk->hunt->nearest && is_hopeless(walk, index);
    struct past past = {.any = false};
    walk->found->points += n;
    if (!is_lawful(walk)) {
        walk->found->invalid += n;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct search_candidate c = candidate_at(walk, index, i);
        if (!is_allowed(walk))
            walk->found->invalid++;
        else if (hopeless)
            walk->found->too_large++;
        else
            visit_allowed(walk, &c, &past);
    }
}

/* Without bounds: what is allowed is evaluated exactly. */
static void visit_served(struct walk *walk, const uint8_t index[SEARCH_KEYS])
{
    struct hunt_found *found = walk->found;
    struct search_candidate c = candidate_at(walk, index, 0);
    found->points++;
    if (!is_lawful(walk) || !is_allowed(walk)) {
        found->invalid++;
        return;
    }
    note_nearest(found, &c);
    append(found, &c);
}

/* Combinations of numbers of one list. */
static uint64_t count_numbers(const struct walk *walk)
{
    return (uint64_t)hunt_n_values(walk->hunt, &walk->plan, SEARCH_CAPACITY) *
           hunt_n_values(walk->hunt, &walk->plan, SEARCH_MICRO_BATCH);
}

/* Numbers of one list: capacity factors and micro-batches. What a stack offers does not follow
 * from them, but where it chooses the path. */
static void walk_numbers(struct walk *walk, const uint8_t structure[SEARCH_KEYS])
{
    uint8_t index[SEARCH_KEYS];
    unsigned moved = HUNT_INNER;
    memcpy(index, structure, sizeof index);
    hunt_set_keys(walk->hunt, HUNT_INNER, index, &walk->plan);
    if (plan_names_path(&walk->plan) && !stack_offers(&walk->plan)) {
        uint64_t n = count_numbers(walk);
        walk->found->points += n;
        walk->found->invalid += n;
        walk->number += n;
        return;
    }
    do {
        size_t n = hunt_n_values(walk->hunt, &walk->plan, SEARCH_MICRO_BATCH);
        hunt_set_keys(walk->hunt, moved, index, &walk->plan);
        if (walk->plan.workload.mode == MODE_SERVE)
            visit_served(walk, index);
        else
            visit_micro(walk, index, n);
        walk->number += n;
        moved = hunt_turn(walk->hunt, &walk->plan, SEARCH_CAPACITY, SEARCH_MICRO_BATCH, index);
    } while (moved < SEARCH_KEYS);
}

void hunt_walk(void *arg, size_t task, unsigned worker)
{
    (void)worker;
    struct hunt *hunt = arg;
    const size_t *group = &hunt->groups[hunt->order[hunt->first + task]];
    size_t n = group[1] - group[0];
    const struct hunt_layout *layouts = &hunt->layouts[group[0]];
    struct arena arena = {0};
    struct search_bounds *bounds = search_bounds_create(hunt->ask, &arena);
    struct walk *walks = arena_alloc(&arena, n, sizeof *walks);
    uint8_t index[SEARCH_KEYS] = {0};
    for (size_t i = 0; i < n; i++) {
        walks[i] = (struct walk){.hunt = hunt,
                                 .found = &hunt->found[task],
                                 .plan = hunt->base,
                                 .bounds = bounds,
                                 .number = layouts[i].first};
        hunt_set_keys(hunt, 0, layouts[i].index, &walks[i].plan);
        walks[i].place = search_place_create(bounds, &walks[i].plan, layouts[i].index, &arena);
    }
    do {
        for (size_t i = 0; i < n; i++) {
            memcpy(index, layouts[i].index, HUNT_INNER);
            walk_numbers(&walks[i], index);
        }
    } while (hunt_turn(hunt, &walks[0].plan, HUNT_INNER, SEARCH_CAPACITY, index) < SEARCH_KEYS);
    search_bounds_release(bounds);
    arena_release(&arena);
}
