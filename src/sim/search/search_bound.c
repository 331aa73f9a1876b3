/* What a combination needs at least; see search_parts.h. */
#include <string.h>

#include "plan/derive.h"
#include "sim/search/search_place.h"
#include "work/stack/stack.h"

void search_bounds_release(struct search_bounds *b)
{
    for (unsigned i = 0; i < SEARCH_KINDS; i++) {
        stepper_release(&b->lists[i].stepper);
        arena_release(&b->lists[i].arena);
    }
    arena_release(&b->arena);
}

/* Builders ask of pp, vpp and the copies they leave whether there is more than one; all else of
 * them is in slots (property/test_search_bound holds lists against each other). */
static unsigned kind_of(const struct plan *plan)
{
    return (plan->parallel.pp > 1 ? 1u : 0) | (plan_dp(plan) * plan->parallel.cp > 1 ? 2u : 0) |
           (plan_expert_dp(plan) > 1 ? 4u : 0);
}

/* The first stage, the first of those with the most experts and layers, and the last: which of
 * them is the fullest depends on what is sharded and run again. Any is a bound. */
static void list_stages(const struct plan *plan, struct search_place *place)
{
    struct stage stage;
    uint64_t pp = plan->parallel.pp, most_moe = 0, most = 0, fullest = 0;
    for (uint64_t i = 0; i < pp; i++) {
        stage_layers(plan, i, &stage);
        uint64_t layers = stage.moe_layers + stage.dense_layers;
        if (stage.moe_layers < most_moe || (stage.moe_layers == most_moe && layers <= most))
            continue;
        most_moe = stage.moe_layers;
        most = layers;
        fullest = i;
    }
    place->stages[place->n_stages++] = 0;
    if (fullest)
        place->stages[place->n_stages++] = fullest;
    if (pp - 1 > fullest)
        place->stages[place->n_stages++] = pp - 1;
}

struct search_place *search_place_create(struct search_bounds *b, const struct plan *plan,
                                         const uint8_t index[SEARCH_KEYS], struct arena *arena)
{
    struct search_place *place = arena_alloc(arena, 1, sizeof *place);
    size_t n = b->ask->space->n[SEARCH_MICRO_BATCH];
    place->family = search_family(plan, index);
    place->kind = kind_of(plan);
    place->numbers = arena_alloc(arena, n, sizeof *place->numbers);
    place->fullest = arena_alloc(
        arena, b->ask->space->n[SEARCH_ZERO] * b->ask->space->n[SEARCH_RECOMPUTE], 1);
    list_stages(plan, place);
    search_floor_open(b, plan, place, arena);
    for (size_t i = 0; i < n; i++)
        place->numbers[i].stages =
            arena_alloc(arena, place->n_stages, sizeof *place->numbers[i].stages);
    return place;
}

/* Engines' lists and those whose copies share weights in parts are of one pp and cp. */
bool search_spans(const struct plan *plan)
{
    return plan->workload.mode == MODE_TRAIN && !plan->parallel.dp_shard;
}

/* Builders ask of cp whether there is more than one; all else of it is in slots. (Not so of tp,
 * ep and etp: matrices of one shape share buffers.) */
uint32_t search_family(const struct plan *plan, const uint8_t index[SEARCH_KEYS])
{
    uint32_t etp = index[SEARCH_ETP];
    if (search_spans(plan))
        return 2 * etp + (plan->parallel.cp > 1);
    return index[SEARCH_PP] + SEARCH_VALUES * (index[SEARCH_CP] + SEARCH_VALUES * etp);
}

uint32_t search_place_list(const struct search_place *place)
{
    return place->family * SEARCH_KINDS + place->kind;
}

/* ---- lists ---- */

struct search_list *search_list_of(struct search_bounds *b, const struct search_place *place,
                                   const struct plan *plan, const uint8_t index[SEARCH_KEYS])
{
    struct err err = {0};
    struct search_list *list = &b->lists[place->kind];
    size_t n = SEARCH_CAPACITY - SEARCH_ZERO;
    enum moe_path path = stack_path(plan, NULL);
    if (list->built && list->path == path &&
        memcmp(&list->of[SEARCH_ZERO], &index[SEARCH_ZERO], n) == 0)
        return list;
    memcpy(list->of, index, sizeof list->of);
    arena_clear(&list->arena);
    list->built = true;
    list->path = path;
    list->listed = list->timeless = false;
    list->refused = work_build(plan, &list->arena, &list->work, &err) != STATUS_OK;
    if (list->refused)
        return list;
    list->values = arena_alloc(&list->arena, list->work.sizes.n, sizeof *list->values);
    list->routed = evaluate_is_routed(plan, &list->work);
    list->refold = refold_create(
        &list->work, b->ask->space->n[SEARCH_CAPACITY] * b->ask->space->n[SEARCH_MICRO_BATCH],
        &list->arena);
    return list;
}

/* ---- bytes ---- */

/* The slots that layout and micro-batch decide are the same for all else: sharding, what runs
 * again, and what `numbers` names; a capacity factor is a slot. */
static struct search_numbers *numbers_of(struct search_place *place, const struct plan *plan,
                                         const uint8_t index[SEARCH_KEYS], bool routed)
{
    struct search_numbers *n = &place->numbers[index[SEARCH_MICRO_BATCH]];
    const uint8_t of[] = {index[SEARCH_PATH], index[SEARCH_BLOCK], routed};
    if (!n->known)
        slots_from_plan(plan, &n->slots); /* at the first stage */
    else if (memcmp(n->of, of, sizeof of) != 0)
        slots_set_numbers(plan, &n->slots);
    n->known = true;
    memcpy(n->of, of, sizeof of);
    n->slots.real[REAL_CAPACITY_FACTOR] = plan->moe.capacity_factor;
    return n;
}

static void stand_at(const struct search_place *place, const struct plan *plan, unsigned which,
                     struct search_numbers *n)
{
    struct stage *stage = &n->stages[which];
    if (n->at == which)
        return;
    if (!stage->moments)
        stage_at(plan, place->stages[which], 0, &n->slots.params, stage);
    slots_take_stage(stage, &n->slots);
    n->at = which;
}

static bool fold_list(const struct search_bounds *b, struct search_list *list,
                      const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                      const struct slots *slots, struct refold_peak *out)
{
    struct memory_peak peak;
    size_t point = index[SEARCH_CAPACITY] * b->ask->space->n[SEARCH_MICRO_BATCH] +
                   index[SEARCH_MICRO_BATCH];
    if (list->refold)
        return refold_peak(list->refold, point, slots, out);
    if (!sizes_eval(&list->work.sizes, slots, list->values))
        return false;
    verdict_fold(plan, &list->work, list->values, &peak);
    *out = (struct refold_peak){peak.total_bytes, peak.state_bytes};
    return true;
}

/* The fullest rank holds the mean of the rows, and its own tokens once. */
static void set_least(struct slots *slots)
{
    uint64_t rows = slots->value[SLOT_ROWS], local = slots->value[SLOT_LOCAL_EXPERTS];
    const struct demand least = {.rows = rows,
                                 .received = slots->value[SLOT_TOKENS],
                                 .padded = rows,
                                 .hot = local ? rows / local : 0};
    demand_to_slots(&least, slots);
}

/* The fullest of the stages, which is noted. */
static bool fold_stages(const struct search_bounds *b, const struct search_place *place,
                        struct search_list *list, const struct plan *plan,
                        const uint8_t index[SEARCH_KEYS], struct search_numbers *n,
                        uint8_t *fullest, struct refold_peak *peak)
{
    *peak = (struct refold_peak){0};
    for (unsigned i = 0; i < place->n_stages; i++) {
        struct refold_peak one;
        stand_at(place, plan, i, n);
        if (!fold_list(b, list, plan, index, &n->slots, &one))
            return false;
        if (i && one.total_bytes <= peak->total_bytes)
            continue;
        *peak = one;
        *fullest = (uint8_t)(1 + i);
    }
    return true;
}

/* Larger micro-batches are bounded at the stage that smaller ones were (search_rises). */
bool search_least_memory(struct search_bounds *b, struct search_place *place,
                         const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                         struct refold_peak *peak)
{
    struct search_list *list = search_list_of(b, place, plan, index);
    if (list->refused)
        return false;
    struct search_numbers *n = numbers_of(place, plan, index, list->routed);
    uint8_t *fullest = &place->fullest[index[SEARCH_ZERO] * b->ask->space->n[SEARCH_RECOMPUTE] +
                                       index[SEARCH_RECOMPUTE]];
    if (list->routed)
        set_least(&n->slots);
    if (!*fullest)
        return fold_stages(b, place, list, plan, index, n, fullest, peak);
    stand_at(place, plan, *fullest - 1u, n);
    return fold_list(b, list, plan, index, &n->slots, peak);
}

/* Whether as many micro-batches are in flight as with smaller ones, whatever the schedule
 * holds. Where they are fewer, one large micro-batch may need less than several small ones. */
static bool flight_stays(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return p->pp == 1 ||
           (p->schedule != PIPELINE_GPIPE && plan_micro_batches(plan) >= 3 * p->pp);
}

/* Engines' limits follow from what a step holds. */
bool search_rises(struct search_bounds *b, const struct search_place *place,
                  const struct plan *plan, const uint8_t index[SEARCH_KEYS])
{
    const struct search_list *list = search_list_of(b, place, plan, index);
    return plan->workload.mode == MODE_TRAIN && !list->refused && list->work.n_schedules == 1 &&
           flight_stays(plan);
}

/* ---- all of them ---- */

/* Whether no constant of the profile is of one path alone, but of moves (stretches_common). */
static bool same_for_all_paths(const struct profile *profile)
{
    for (size_t i = 0; profile && i < profile->n; i++)
        if (profile->constants[i].path != PROFILE_ANY &&
            profile->constants[i].of != PROFILE_MOVE)
            return false;
    return true;
}

struct search_bounds *search_bounds_create(const struct search_ask *ask, struct arena *arena)
{
    struct search_bounds *b = arena_alloc(arena, 1, sizeof *b);
    b->ask = ask;
    for (unsigned i = 0; i < SEARCH_KINDS; i++)
        b->lists[i].stepper.bound = true;
    b->errors = search_errors_create(ask, arena);
    b->alike = same_for_all_paths(ask->profile);
    return b;
}
