/* Which layouts a search tries, in which groups; see search_hunt.h. */
#include <stdlib.h>
#include <string.h>

#include "plan/lay_experts.h"
#include "plan/rule/rule.h"
#include "sim/search/search_hunt.h"
#include "work/stack/stack.h"

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

size_t hunt_n_values(const struct hunt *hunt, const struct plan *plan, enum search_key key)
{
    return reads(plan, key) ? hunt->ask->space->n[key] : 1;
}

static double value_at(const struct hunt *hunt, const struct plan *plan, enum search_key key,
                       size_t i)
{
    return reads(plan, key) ? hunt->ask->space->value[key][i] : search_get(&hunt->base, key);
}

/* What an engine has beside the degrees of a layout (experts_lay), once they are set. */
static void follow(const struct hunt *hunt, struct plan *plan)
{
    if (!hunt->lays)
        return;
    plan->parallel.sp = false;
    experts_lay(plan, plan->model.moe.experts ? EXPERTS_EP | EXPERTS_ETP : EXPERTS_EP);
}

void hunt_set_keys(const struct hunt *hunt, unsigned from, const uint8_t index[SEARCH_KEYS],
                   struct plan *plan)
{
    for (unsigned key = from; key < SEARCH_KEYS; key++)
        search_set(plan, (enum search_key)key,
                   value_at(hunt, plan, (enum search_key)key, index[key]));
    if (from < HUNT_INNER)
        follow(hunt, plan);
}

void hunt_plan(const struct hunt *hunt, const double value[SEARCH_KEYS], struct plan *plan)
{
    *plan = hunt->base;
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        search_set(plan, (enum search_key)key, value[key]);
    follow(hunt, plan);
}

unsigned hunt_turn(const struct hunt *hunt, const struct plan *plan, unsigned from, unsigned to,
                   uint8_t index[SEARCH_KEYS])
{
    for (unsigned key = to; key-- > from;) {
        if (++index[key] < hunt_n_values(hunt, plan, (enum search_key)key))
            return key;
        index[key] = 0;
    }
    return SEARCH_KEYS;
}

/* `first`: the number of its first combination. Returns the one behind its last. */
static uint64_t list_layouts(struct hunt *hunt, uint64_t first, struct arena *arena)
{
    struct plan plan = hunt->base;
    uint8_t index[SEARCH_KEYS] = {0};
    size_t capacity = 0;
    uint64_t inner = 1;
    for (unsigned key = HUNT_INNER; key < SEARCH_KEYS; key++)
        inner *= hunt->ask->space->n[key];
    do {
        for (unsigned key = 0; key < HUNT_INNER; key++)
            search_set(&plan, (enum search_key)key, hunt->ask->space->value[key][index[key]]);
        follow(hunt, &plan);
        if (!rule_check_layout(&plan))
            continue;
        hunt->layouts =
            arena_grow(arena, hunt->layouts, hunt->n_layouts, &capacity, sizeof *hunt->layouts);
        struct hunt_layout *layout = &hunt->layouts[hunt->n_layouts];
        *layout = (struct hunt_layout){.first = first + hunt->n_layouts * inner,
                                       .family = search_family(&plan, index)};
        memcpy(layout->index, index, sizeof index);
        hunt->n_layouts++;
    } while (hunt_turn(hunt, &plan, 0, HUNT_INNER, index) < SEARCH_KEYS);
    return first + hunt->n_layouts * inner;
}

/* Of n_all layouts that all plans have one after the other. */
static void take_part(struct hunt *hunts, size_t n, size_t n_all)
{
    uint64_t first, end;
    size_t before = 0;
    sweep_part_range(n_all, hunts->ask->part, &first, &end);
    for (size_t i = 0; i < n; i++) {
        size_t own = hunts[i].n_layouts;
        size_t from = first > before ? first - before : 0, to = end > before ? end - before : 0;
        from = from < own ? from : own;
        to = to < own ? to : own;
        if (own) /* else there is no list */
            hunts[i].layouts += from;
        hunts[i].n_layouts = to - from;
        before += own;
    }
}

static int by_key(const struct hunt_layout *x, const struct hunt_layout *y, enum search_key key)
{
    return x->index[key] < y->index[key] ? -1 : x->index[key] > y->index[key];
}

/* Those of one group stand by what decides the sizes of a layer, which is cp. */
static int by_group(const void *a, const void *b)
{
    static const enum search_key order[] = {SEARCH_CP, SEARCH_PP, SEARCH_VPP};
    const struct hunt_layout *x = a, *y = b;
    int tp = by_key(x, y, SEARCH_TP), ep = by_key(x, y, SEARCH_EP);
    if (tp || ep)
        return tp ? tp : ep;
    if (x->family != y->family)
        return x->family < y->family ? -1 : 1;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int order_of = by_key(x, y, order[i]);
        if (order_of)
            return order_of;
    }
    return 0;
}

static bool same_group(const struct hunt_layout *x, const struct hunt_layout *y)
{
    return by_key(x, y, SEARCH_TP) == 0 && by_key(x, y, SEARCH_EP) == 0 &&
           x->family == y->family;
}

static void group_layouts(struct hunt *hunt, struct arena *arena)
{
    struct hunt_layout *all = hunt->layouts;
    if (hunt->n_layouts)
        qsort(all, hunt->n_layouts, sizeof *all, by_group);
    hunt->groups = arena_alloc(arena, hunt->n_layouts + 1, sizeof *hunt->groups);
    for (size_t i = 0; i < hunt->n_layouts; i++)
        if (i == 0 || !same_group(&all[i - 1], &all[i]))
            hunt->groups[hunt->n_groups++] = i;
    hunt->groups[hunt->n_groups] = hunt->n_layouts;
}

static void order_groups(struct hunt *hunt, struct arena *arena)
{
    size_t stride = (hunt->n_groups + HUNT_FIRST - 1) / HUNT_FIRST, n = 0;
    hunt->order = arena_alloc(arena, hunt->n_groups + 1, sizeof *hunt->order);
    for (size_t first = 0; first < stride; first++)
        for (size_t i = first; i < hunt->n_groups; i += stride)
            hunt->order[n++] = i;
}

size_t hunt_list(struct hunt *hunts, size_t n, struct arena *arena)
{
    uint64_t number = 0;
    size_t n_all = 0;
    for (size_t i = 0; i < n; i++) {
        number = list_layouts(&hunts[i], number, arena);
        n_all += hunts[i].n_layouts;
    }
    if (n_all)
        take_part(hunts, n, n_all);
    for (size_t i = 0; i < n; i++) {
        group_layouts(&hunts[i], arena);
        order_groups(&hunts[i], arena);
    }
    return n_all;
}
