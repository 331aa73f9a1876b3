/* Search; see search.h. */
#include "sim/search/search_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/rule/rule.h"
#include "work/stack/stack.h"

enum { INNER = SEARCH_ZERO, LAYOUTS = 64 }; /* keys from INNER on vary inside a task */

/* A layout: the keys before INNER. Those that differ in vpp, and in training in pp, alone stand
 * together: they have the same lists, and other layers and micro-batches on their stages. */
struct layout {
    uint8_t index[SEARCH_KEYS];
    uint64_t first; /* number of its first combination */
};

/* What one task finds. */
struct found {
    struct arena arena;
    struct search_candidate *items;
    size_t n, capacity;
    uint64_t points, invalid, too_large;
    struct search_candidate nearest;
    bool any; /* nearest is set */
};

struct hunt {
    const struct search_ask *ask;
    struct plan base;
    struct layout *layouts;
    size_t n_layouts;
    size_t *groups, n_groups, first; /* first layouts of groups; first group of the batch */
    bool nearest;                    /* nothing fits: look at what cannot fit, too */
    struct found *found;             /* [LAYOUTS] of the batch */
};

/* ---- the enumeration ---- */

/* Keys that only some paths read; others keep the plan's value. */
static bool reads(const struct plan *plan, enum search_key key)
{
    enum moe_path path = stack_path(plan, NULL);
    if (key == SEARCH_CAPACITY)
        return path_reads(path, READS_CAPACITY_FACTOR);
    if (key == SEARCH_BLOCK)
        return path_reads(path, READS_BLOCK_SIZE);
    if (key == SEARCH_MICRO_BATCH)
        return plan->workload.mode != MODE_SERVE;
    return true;
}

/* How many values of a key a plan has to try, and the i-th. */
static size_t n_values(const struct hunt *hunt, const struct plan *plan, enum search_key key)
{
    return reads(plan, key) ? hunt->ask->space->n[key] : 1;
}

static double value_at(const struct hunt *hunt, const struct plan *plan, enum search_key key,
                       size_t i)
{
    return reads(plan, key) ? hunt->ask->space->value[key][i] : search_get(&hunt->base, key);
}

/* Sets the keys [from, SEARCH_KEYS); those before are set. */
static void set_keys(const struct hunt *hunt, unsigned from, const uint8_t index[SEARCH_KEYS],
                     struct plan *plan)
{
    for (unsigned key = from; key < SEARCH_KEYS; key++)
        search_set(plan, (enum search_key)key,
                   value_at(hunt, plan, (enum search_key)key, index[key]));
}

/* The next combination like an odometer over keys [from, to), of a plan that stands at the
 * present one. The first key that moved; SEARCH_KEYS when it wrapped. */
static unsigned turn(const struct hunt *hunt, const struct plan *plan, unsigned from,
                     unsigned to, uint8_t index[SEARCH_KEYS])
{
    for (unsigned key = to; key-- > from;) {
        if (++index[key] < n_values(hunt, plan, (enum search_key)key))
            return key;
        index[key] = 0;
    }
    return SEARCH_KEYS;
}

static void list_layouts(struct hunt *hunt, struct arena *arena)
{
    struct plan plan = hunt->base;
    uint8_t index[SEARCH_KEYS] = {0};
    size_t capacity = 0;
    uint64_t inner = 1;
    for (unsigned key = INNER; key < SEARCH_KEYS; key++)
        inner *= hunt->ask->space->n[key];
    do {
        for (unsigned key = 0; key < INNER; key++)
            search_set(&plan, (enum search_key)key, hunt->ask->space->value[key][index[key]]);
        if (!rule_check_layout(&plan))
            continue;
        hunt->layouts =
            arena_grow(arena, hunt->layouts, hunt->n_layouts, &capacity, sizeof *hunt->layouts);
        struct layout *layout = &hunt->layouts[hunt->n_layouts];
        *layout = (struct layout){.first = hunt->n_layouts * inner};
        memcpy(layout->index, index, sizeof index);
        hunt->n_layouts++;
    } while (turn(hunt, &plan, 0, INNER, index) < SEARCH_KEYS);
}

static void take_part(struct hunt *hunt)
{
    uint64_t first, end;
    if (!hunt->n_layouts) /* and no list of them */
        return;
    sweep_part_range(hunt->n_layouts, hunt->ask->part, &first, &end);
    hunt->layouts += first;
    hunt->n_layouts = (size_t)(end - first);
}

static int by_key(const struct layout *x, const struct layout *y, enum search_key key)
{
    return x->index[key] < y->index[key] ? -1 : x->index[key] > y->index[key];
}

static int by_group(const void *a, const void *b)
{
    static const enum search_key order[INNER] = {SEARCH_TP,  SEARCH_CP, SEARCH_EP,
                                                 SEARCH_ETP, SEARCH_PP, SEARCH_VPP};
    for (unsigned i = 0; i < INNER; i++) {
        int order_of = by_key(a, b, order[i]);
        if (order_of)
            return order_of;
    }
    return 0;
}

static bool same_group(const struct hunt *hunt, const struct layout *x, const struct layout *y)
{
    struct layout other = *y;
    other.index[SEARCH_VPP] = x->index[SEARCH_VPP];
    if (search_spans_pp(&hunt->base))
        other.index[SEARCH_PP] = x->index[SEARCH_PP];
    return by_group(x, &other) == 0;
}

static void group_layouts(struct hunt *hunt, struct arena *arena)
{
    struct layout *all = hunt->layouts;
    if (hunt->n_layouts)
        qsort(all, hunt->n_layouts, sizeof *all, by_group);
    hunt->groups = arena_alloc(arena, hunt->n_layouts + 1, sizeof *hunt->groups);
    for (size_t i = 0; i < hunt->n_layouts; i++)
        if (i == 0 || !same_group(hunt, &all[i - 1], &all[i]))
            hunt->groups[hunt->n_groups++] = i;
    hunt->groups[hunt->n_groups] = hunt->n_layouts;
}

/* ---- one layout ---- */

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
    struct found *found;
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

static void append(struct found *f, const struct search_candidate *c)
{
    f->items = arena_grow(&f->arena, f->items, f->n, &f->capacity, sizeof *f->items);
    f->items[f->n++] = *c;
}

/* Of equal ones the first of the enumeration. */
static bool is_nearer(const struct search_candidate *one, const struct search_candidate *other)
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
    struct search_candidate c = {.number = walk->number + micro};
    memcpy(c.index, index, sizeof c.index);
    c.index[SEARCH_MICRO_BATCH] = (uint8_t)micro;
    set_keys(walk->hunt, SEARCH_MICRO_BATCH, c.index, &walk->plan);
    return c;
}

static bool is_allowed(const struct plan *plan)
{
    return rule_check_run(plan) && (plan_names_path(plan) || stack_offers(plan));
}

static void note_nearest(struct found *found, const struct search_candidate *c)
{
    if (!found->any || is_nearer(c, &found->nearest))
        found->nearest = *c;
    found->any = true;
}

static struct bound bound_at(struct walk *walk, const uint8_t index[SEARCH_KEYS], size_t micro)
{
    struct search_candidate c = candidate_at(walk, index, micro);
    struct memory_peak peak;
    if (!search_least_memory(walk->bounds, walk->place, &walk->plan, c.index, &peak))
        return (struct bound){.is = BOUND_REFUSED};
    c.least_bytes = peak.total_bytes;
    c.list = search_place_list(walk->place, &walk->plan, c.index);
    note_nearest(walk->found, &c);
    bool fits = c.least_bytes <= search_most_bytes(walk->hunt->ask, &walk->plan);
    return (struct bound){fits ? BOUND_FITS : BOUND_LARGE, peak.total_bytes, peak.state_bytes};
}

/* Lists what fits, with the bytes that it or a smaller micro-batch needs. */
static void keep(struct walk *walk, const uint8_t index[SEARCH_KEYS], size_t micro,
                 const struct bound *bound)
{
    struct search_candidate c = candidate_at(walk, index, micro);
    if (bound->is == BOUND_FITS) {
        c.least_bytes = bound->bytes;
        c.list = search_place_list(walk->place, &walk->plan, c.index);
        c.seconds = search_least_seconds(walk->bounds, walk->place, &walk->plan, c.index);
        append(walk->found, &c);
    }
    walk->found->too_large += bound->is == BOUND_LARGE;
    walk->found->invalid += bound->is == BOUND_REFUSED;
}

/* Bounds of the allowed micro-batches micro[n], where a larger one needs no less: the rows of a
 * micro-step grow with it, and in flight are min(stages x micro-batch, batch). Between two that
 * fit all do, with the bytes of the smaller one; behind one that does not, none. */
static void bound_between(struct walk *walk, const uint8_t index[SEARCH_KEYS],
                          const uint8_t *micro, struct bound *bounds, size_t n)
{
    size_t low = 0, high = n - 1;
    bounds[0] = bound_at(walk, index, micro[0]);
    bounds[high] =
        bounds[0].is == BOUND_FITS && high ? bound_at(walk, index, micro[high]) : bounds[0];
    bool whole = bounds[high].is == bounds[0].is;
    for (size_t i = 1; whole && i < high; i++)
        bounds[i] = bounds[0];
    while (!whole && high - low > 1) {
        size_t middle = low + (high - low) / 2;
        bounds[middle] = bound_at(walk, index, micro[middle]);
        bool fits = bounds[middle].is == BOUND_FITS;
        for (size_t i = fits ? low + 1 : middle + 1; i < (fits ? middle : high); i++)
            bounds[i] = bounds[fits ? low : middle];
        low = fits ? middle : low;
        high = fits ? high : middle;
    }
}

/* What an engine's cache does not hold of a batch waits: the first that is too large is as good
 * as all that are, and needs no less than the smallest. */
static void let_wait(struct bound *bounds, size_t n)
{
    size_t i = 0;
    while (i < n && bounds[i].is != BOUND_LARGE)
        i++;
    if (i > 0 && i < n && bounds[0].is == BOUND_FITS)
        bounds[i] = bounds[0];
}

/* All micro-batches of the combination. Where a stack chooses between schedules, a larger one
 * may need less: each is bounded. */
static void visit_micro(struct walk *walk, const uint8_t index[SEARCH_KEYS], size_t n)
{
    uint8_t micro[SEARCH_VALUES];
    struct bound bounds[SEARCH_VALUES];
    size_t allowed = 0;
    for (size_t i = 0; i < n; i++) {
        candidate_at(walk, index, i);
        if (is_allowed(&walk->plan))
            micro[allowed++] = (uint8_t)i;
    }
    walk->found->points += n;
    walk->found->invalid += n - allowed;
    if (!allowed)
        return;
    if (!walk->hunt->nearest && is_hopeless(walk, index)) {
        walk->found->too_large += allowed;
        return;
    }
    if (search_rises(walk->bounds, walk->place, &walk->plan, index))
        bound_between(walk, index, micro, bounds, allowed);
    else
        for (size_t i = 0; i < allowed; i++)
            bounds[i] = bound_at(walk, index, micro[i]);
    if (engine_queues(&walk->plan))
        let_wait(bounds, allowed);
    for (size_t i = 0; i < allowed; i++)
        keep(walk, index, micro[i], &bounds[i]);
    if (bounds[0].is != BOUND_LARGE)
        return;
    walk->any_hopeless =
        bounds[0].state_bytes > search_most_bytes(walk->hunt->ask, &walk->plan);
    memcpy(walk->hopeless, index, sizeof walk->hopeless);
}

/* Without bounds: what is allowed is evaluated exactly. */
static void visit_served(struct walk *walk, const uint8_t index[SEARCH_KEYS])
{
    struct found *found = walk->found;
    struct search_candidate c = candidate_at(walk, index, 0);
    found->points++;
    if (!is_allowed(&walk->plan)) {
        found->invalid++;
        return;
    }
    note_nearest(found, &c);
    append(found, &c);
}

/* Combinations of numbers of one list. */
static uint64_t count_numbers(const struct walk *walk)
{
    return (uint64_t)n_values(walk->hunt, &walk->plan, SEARCH_CAPACITY) *
           n_values(walk->hunt, &walk->plan, SEARCH_MICRO_BATCH);
}

/* Numbers of one list: capacity factors and micro-batches. What a stack offers does not follow
 * from them, but where it chooses the path. */
static void walk_numbers(struct walk *walk, const uint8_t structure[SEARCH_KEYS])
{
    uint8_t index[SEARCH_KEYS];
    unsigned moved = INNER;
    memcpy(index, structure, sizeof index);
    set_keys(walk->hunt, INNER, index, &walk->plan);
    if (plan_names_path(&walk->plan) && !stack_offers(&walk->plan)) {
        uint64_t n = count_numbers(walk);
        walk->found->points += n;
        walk->found->invalid += n;
        walk->number += n;
        return;
    }
    do {
        size_t n = n_values(walk->hunt, &walk->plan, SEARCH_MICRO_BATCH);
        set_keys(walk->hunt, moved, index, &walk->plan);
        if (walk->plan.workload.mode == MODE_SERVE)
            visit_served(walk, index);
        else
            visit_micro(walk, index, n);
        walk->number += n;
        moved = turn(walk->hunt, &walk->plan, SEARCH_CAPACITY, SEARCH_MICRO_BATCH, index);
    } while (moved < SEARCH_KEYS);
}

static void run_group(void *arg, size_t task, unsigned worker)
{
    (void)worker;
    struct hunt *hunt = arg;
    const size_t *group = &hunt->groups[hunt->first + task];
    size_t n = group[1] - group[0];
    const struct layout *layouts = &hunt->layouts[group[0]];
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
        set_keys(hunt, 0, layouts[i].index, &walks[i].plan);
        walks[i].place = search_place_create(bounds, &walks[i].plan, &arena);
    }
    do {
        for (size_t i = 0; i < n; i++) {
            memcpy(index, layouts[i].index, INNER);
            walk_numbers(&walks[i], index);
        }
    } while (turn(hunt, &walks[0].plan, INNER, SEARCH_CAPACITY, index) < SEARCH_KEYS);
    search_bounds_release(bounds);
    arena_release(&arena);
}

/* ---- all of them ---- */

struct pile {
    struct arena arena;
    struct search_candidate *items;
    size_t n, room;
    struct search_candidate nearest;
    bool any;
};

static void pile_up(struct pile *pile, struct found *found, struct search_result *result)
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
    if (found->any && (!pile->any || is_nearer(&found->nearest, &pile->nearest)))
        pile->nearest = found->nearest;
    pile->any = pile->any || found->any;
    result->points += found->points;
    result->invalid += found->invalid;
    result->too_large += found->too_large;
    arena_release(&found->arena);
    *found = (struct found){0};
}

static void gather(struct hunt *hunt, struct pile *pile, struct search_result *result)
{
    const struct search_ask *ask = hunt->ask;
    struct found found[LAYOUTS] = {{.n = 0}};
    hunt->found = found;
    for (hunt->first = 0; hunt->first < hunt->n_groups; hunt->first += LAYOUTS) {
        size_t left = hunt->n_groups - hunt->first, n = left < LAYOUTS ? left : LAYOUTS;
        pool_run(ask->pool, n, run_group, hunt);
        for (size_t i = 0; i < n; i++)
            pile_up(pile, &found[i], result);
        if (ask->progress)
            ask->progress(ask->context,
                          SEARCH_BOUNDED * (double)(hunt->first + n) / (double)hunt->n_groups);
    }
}

static int by_bound(const void *a, const void *b)
{
    const struct search_candidate *x = a, *y = b;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    if (x->least_bytes != y->least_bytes)
        return x->least_bytes < y->least_bytes ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
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

static void fill(const void *context, const struct search_candidate *c, struct plan *plan)
{
    const struct hunt *hunt = context;
    *plan = hunt->base;
    set_keys(hunt, 0, c->index, plan);
}

enum status search_run(const struct search_ask *ask, struct arena *arena,
                       struct search_result *result, struct err *err)
{
    struct hunt hunt = {.ask = ask, .base = *ask->plan};
    struct pile pile = {0};
    struct search_result found = {0};
    loosen(ask, &hunt.base);
    list_layouts(&hunt, arena);
    take_part(&hunt);
    group_layouts(&hunt, arena);
    gather(&hunt, &pile, &found);
    if (pile.any && !pile.n) {
        struct search_result again = {0};
        hunt.nearest = true;
        gather(&hunt, &pile, &again);
    }
    if (!pile.any) {
        arena_release(&pile.arena);
        err_set(err, STATUS_INPUT, "no layout obeys the rules of %s", ask->plan->stack_name);
        return err_hint(err, "%llu combinations were tried; fix fewer keys",
                        (unsigned long long)found.points);
    }
    if (pile.n)
        qsort(pile.items, pile.n, sizeof *pile.items, by_bound);
    const struct search_bench bench = {.ask = ask,
                                       .fill = fill,
                                       .context = &hunt,
                                       .serves = hunt.base.workload.mode == MODE_SERVE};
    search_judge(&bench, pile.items, pile.n, &pile.nearest, arena, &found);
    arena_release(&pile.arena);
    *result = found;
    return STATUS_OK;
}
