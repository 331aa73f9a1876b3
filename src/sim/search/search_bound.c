/* What a combination needs at least; see search_parts.h. */
#include <string.h>

#include "plan/derive.h"
#include "plan/speculation.h"
#include "sim/search/search_parts.h"
#include "sim/time/step_floor.h"
#include "work/piece/stage.h"
#include "work/stack/stack.h"

enum { KINDS = 8 };

/* A work list, and what prices it. */
struct list {
    struct arena arena;
    uint8_t of[SEARCH_KEYS]; /* the keys from zero to block_size that it was built for */
    enum moe_path path;
    bool built, refused, routed;
    struct work work;
    uint64_t *values;
    struct refold *refold; /* or NULL */
    struct stepper stepper;
    bool listed, timeless; /* its ops were listed; could not be */
};

/* Places of one cp, whose layers take the same time. */
struct crowd {
    struct crowd *next;
    uint64_t cp;
    struct step_floor ***floors; /* by path and recompute; block, capacity, micro-batch */
};

struct search_bounds {
    const struct search_ask *ask;
    struct arena arena;
    struct list lists[KINDS];
    struct search_errors *errors;
    struct crowd *crowds;
};

/* The slots of a layout and micro-batch, and what decides them besides (slots_set_numbers): the
 * places of path and block size in the space, and whether rows are routed. */
struct numbers {
    bool known;
    uint8_t of[3];
    struct slots slots;
};

struct search_place {
    uint32_t family;
    unsigned kind;
    struct crowd *crowd;
    struct numbers *numbers;    /* by micro-batch */
    struct floor_chunks chunks; /* n 0: not asked for yet */
    double **least_s;           /* steps by path and recompute, as floors are; 0: not known */
};

void search_bounds_release(struct search_bounds *b)
{
    for (unsigned i = 0; i < KINDS; i++) {
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

static size_t n_rows(const struct search_bounds *b)
{
    return b->ask->space->n[SEARCH_PATH] * b->ask->space->n[SEARCH_RECOMPUTE];
}

static struct crowd *crowd_of(struct search_bounds *b, const struct plan *plan)
{
    uint64_t cp = plan->parallel.cp;
    struct crowd *crowd = b->crowds;
    while (crowd && crowd->cp != cp)
        crowd = crowd->next;
    if (crowd)
        return crowd;
    crowd = arena_alloc(&b->arena, 1, sizeof *crowd);
    *crowd = (struct crowd){.next = b->crowds,
                            .cp = cp,
                            .floors = arena_alloc(&b->arena, n_rows(b), sizeof *crowd->floors)};
    return b->crowds = crowd;
}

struct search_place *search_place_create(struct search_bounds *b, const struct plan *plan,
                                         const uint8_t index[SEARCH_KEYS], struct arena *arena)
{
    struct search_place *place = arena_alloc(arena, 1, sizeof *place);
    size_t n = b->ask->space->n[SEARCH_MICRO_BATCH];
    place->family = search_family(plan, index);
    place->kind = kind_of(plan);
    place->crowd = crowd_of(b, plan);
    place->numbers = arena_alloc(arena, n, sizeof *place->numbers);
    place->least_s = arena_alloc(arena, n_rows(b), sizeof *place->least_s);
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
    return place->family * KINDS + place->kind;
}

/* ---- lists ---- */

static struct list *list_of(struct search_bounds *b, const struct search_place *place,
                            const struct plan *plan, const uint8_t index[SEARCH_KEYS])
{
    struct err err = {0};
    struct list *list = &b->lists[place->kind];
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
static struct slots *slots_of(struct search_place *place, const struct plan *plan,
                              const uint8_t index[SEARCH_KEYS], bool routed)
{
    struct numbers *n = &place->numbers[index[SEARCH_MICRO_BATCH]];
    const uint8_t of[] = {index[SEARCH_PATH], index[SEARCH_BLOCK], routed};
    if (!n->known)
        slots_from_plan(plan, &n->slots);
    else if (memcmp(n->of, of, sizeof of) != 0)
        slots_set_numbers(plan, &n->slots);
    n->known = true;
    memcpy(n->of, of, sizeof of);
    n->slots.real[REAL_CAPACITY_FACTOR] = plan->moe.capacity_factor;
    return &n->slots;
}

static bool fold_list(const struct search_bounds *b, struct list *list, const struct plan *plan,
                      const uint8_t index[SEARCH_KEYS], const struct slots *slots,
                      struct refold_peak *out)
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

bool search_least_memory(struct search_bounds *b, struct search_place *place,
                         const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                         struct refold_peak *peak)
{
    struct list *list = list_of(b, place, plan, index);
    if (list->refused)
        return false;
    struct slots *slots = slots_of(place, plan, index, list->routed);
    uint64_t rows = slots->value[SLOT_ROWS], local = slots->value[SLOT_LOCAL_EXPERTS];
    const struct demand least = {.rows = rows,
                                 .received = slots->value[SLOT_TOKENS],
                                 .padded = rows,
                                 .hot = local ? rows / local : 0};
    if (list->routed)
        demand_to_slots(&least, slots);
    return fold_list(b, list, plan, index, slots, peak);
}

/* Whether as many micro-batches are in flight as with smaller ones, whatever the schedule
 * holds. Where they are fewer, one large micro-batch may need less than several small ones. */
static bool flight_stays(const struct plan *plan)
{
    const struct parallel *p = &plan->parallel;
    return p->pp == 1 ||
           (p->schedule != PIPELINE_GPIPE && stage_micro_batches(plan) >= 3 * p->pp);
}

/* Engines' limits follow from what a step holds. */
bool search_rises(struct search_bounds *b, const struct search_place *place,
                  const struct plan *plan, const uint8_t index[SEARCH_KEYS])
{
    const struct list *list = list_of(b, place, plan, index);
    return plan->workload.mode == MODE_TRAIN && !list->refused && list->work.n_schedules == 1 &&
           flight_stays(plan);
}

/* ---- seconds ---- */

/* Where a table by path and recompute, then by block, capacity and micro-batch has a row. */
struct spot {
    size_t row, at, all;
};

static struct spot spot_of(const struct search_bounds *b, const uint8_t index[SEARCH_KEYS])
{
    const size_t *n = b->ask->space->n;
    struct spot spot = {
        .row = index[SEARCH_PATH] * n[SEARCH_RECOMPUTE] + index[SEARCH_RECOMPUTE], .all = 1};
    for (unsigned key = SEARCH_BLOCK; key < SEARCH_KEYS; key++) {
        spot.at = spot.at * n[key] + index[key];
        spot.all *= n[key];
    }
    return spot;
}

static struct step_floor **floor_at(struct search_bounds *b, const struct search_place *place,
                                    const struct spot *spot)
{
    struct step_floor ***floors = place->crowd->floors;
    if (!floors[spot->row])
        floors[spot->row] = arena_alloc(&b->arena, spot->all, sizeof **floors);
    return &floors[spot->row][spot->at];
}

static bool price_list(struct search_bounds *b, struct list *list, const struct plan *plan)
{
    struct err err = {0};
    if (list->listed)
        stepper_turn(&list->stepper, plan);
    else
        list->timeless = stepper_share(&list->stepper, plan, &list->work, b->ask->profile,
                                       &list->arena, &err) != STATUS_OK;
    list->listed = true;
    return !list->timeless;
}

static const struct step_floor *floor_of(struct search_bounds *b, struct search_place *place,
                                         const struct plan *plan,
                                         const uint8_t index[SEARCH_KEYS],
                                         const struct spot *spot)
{
    struct step_floor **floor = floor_at(b, place, spot);
    list_of(b, place, plan, index);
    struct list *list = &b->lists[place->kind];
    if (*floor && step_floor_holds(*floor, &place->chunks))
        return *floor;
    if (!price_list(b, list, plan))
        return NULL;
    if (!*floor)
        *floor = arena_alloc(&b->arena, 1, sizeof **floor);
    return step_floor_of(&list->stepper, *floor) ? *floor : NULL;
}

/* What a step takes at least, whatever its sharding of weights; 0 where nothing is known. */
static double least_step_s(struct search_bounds *b, struct search_place *place,
                           const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                           const struct spot *spot)
{
    if (!place->chunks.n)
        floor_chunks_of(plan, &b->arena, &place->chunks);
    const struct step_floor *floor = floor_of(b, place, plan, index, spot);
    return floor ? step_floor_s(floor, plan, &place->chunks) : 0;
}

double search_least_seconds(struct search_bounds *b, struct search_place *place,
                            const struct plan *plan, const uint8_t index[SEARCH_KEYS])
{
    if (plan->workload.mode != MODE_TRAIN && plan_speculates(plan)) /* more tokens a step */
        return 0;
    struct spot spot = spot_of(b, index);
    double **row = &place->least_s[spot.row];
    if (!*row)
        *row = arena_alloc(&b->arena, spot.all, sizeof **row);
    if ((*row)[spot.at] <= 0)
        (*row)[spot.at] = least_step_s(b, place, plan, index, &spot);
    double seconds = (*row)[spot.at];
    if (seconds <= 0)
        return 0;
    struct step_time step = {.step_s = seconds,
                             .beat_s = seconds,
                             .micro_batches = (double)step_micro_batches(plan)};
    step.tokens = step_tokens(plan) * step.micro_batches;
    return time_seconds_per_token(plan, &step) * (1 + search_error(b->errors, plan, index));
}

struct search_bounds *search_bounds_create(const struct search_ask *ask, struct arena *arena)
{
    struct search_bounds *b = arena_alloc(arena, 1, sizeof *b);
    b->ask = ask;
    for (unsigned i = 0; i < KINDS; i++)
        b->lists[i].stepper.bound = true;
    b->errors = search_errors_create(ask, arena);
    return b;
}
