/* How long a combination takes at least; see search_parts.h. */
#include "plan/derive.h"
#include "plan/speculation.h"
#include "sim/search/search_place.h"

/* Where a table has a combination: rows of path and recompute, in them block, capacity and
 * micro-batch; behind them, of what all paths have, rows of recompute, in them micro-batches.
 */
struct spot {
    size_t row, at, all;
};

static size_t n_rows(const struct search_bounds *b)
{
    return (b->ask->space->n[SEARCH_PATH] + 1) * b->ask->space->n[SEARCH_RECOMPUTE];
}

static struct spot spot_of(const struct search_bounds *b, const uint8_t index[SEARCH_KEYS],
                           enum floor_part part)
{
    const size_t *n = b->ask->space->n;
    bool common = part == FLOOR_COMMON;
    size_t path = common ? n[SEARCH_PATH] : index[SEARCH_PATH];
    struct spot spot = {.row = path * n[SEARCH_RECOMPUTE] + index[SEARCH_RECOMPUTE], .all = 1};
    for (unsigned key = common ? SEARCH_MICRO_BATCH : SEARCH_BLOCK; key < SEARCH_KEYS; key++) {
        spot.at = spot.at * n[key] + index[key];
        spot.all *= n[key];
    }
    return spot;
}

static struct search_crowd *crowd_of(struct search_bounds *b, const struct plan *plan)
{
    uint64_t cp = plan->parallel.cp;
    struct search_crowd *crowd = b->crowds;
    while (crowd && crowd->cp != cp)
        crowd = crowd->next;
    if (crowd)
        return crowd;
    crowd = arena_alloc(&b->arena, 1, sizeof *crowd);
    *crowd = (struct search_crowd){
        .next = b->crowds,
        .cp = cp,
        .floors = arena_alloc(&b->arena, n_rows(b), sizeof *crowd->floors)};
    return b->crowds = crowd;
}

void search_floor_open(struct search_bounds *b, const struct plan *plan,
                       struct search_place *place, struct arena *arena)
{
    place->crowd = crowd_of(b, plan);
    place->least_s = arena_alloc(arena, n_rows(b), sizeof *place->least_s);
}

static struct step_floor **floor_at(struct search_bounds *b, const struct search_place *place,
                                    const struct spot *spot)
{
    struct step_floor ***floors = place->crowd->floors;
    if (!floors[spot->row])
        floors[spot->row] = arena_alloc(&b->arena, spot->all, sizeof **floors);
    return &floors[spot->row][spot->at];
}

static bool price_list(struct search_bounds *b, struct search_list *list,
                       const struct plan *plan)
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
                                         const uint8_t index[SEARCH_KEYS], enum floor_part part,
                                         const struct spot *spot)
{
    struct step_floor **floor = floor_at(b, place, spot);
    if (*floor && step_floor_holds(*floor, &place->chunks))
        return *floor;
    struct search_list *list = search_list_of(b, place, plan, index);
    if (!price_list(b, list, plan))
        return NULL;
    if (!*floor)
        *floor = arena_alloc(&b->arena, 1, sizeof **floor);
    return step_floor_of(&list->stepper, part, *floor) ? *floor : NULL;
}

/* What a step takes at least, whatever its sharding of weights; 0 where nothing is known. */
static double least_step_s(struct search_bounds *b, struct search_place *place,
                           const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                           enum floor_part part, const struct spot *spot)
{
    if (!place->chunks.n)
        floor_chunks_of(plan, &b->arena, &place->chunks);
    const struct step_floor *floor = floor_of(b, place, plan, index, part, spot);
    return floor ? step_floor_s(floor, plan, &place->chunks) : 0;
}

double search_least_seconds(struct search_bounds *b, struct search_place *place,
                            const struct plan *plan, const uint8_t index[SEARCH_KEYS],
                            enum floor_part part)
{
    if (plan->workload.mode != MODE_TRAIN && plan_speculates(plan)) /* more tokens a step */
        return 0;
    if (part == FLOOR_COMMON && !b->alike)
        return 0;
    struct spot spot = spot_of(b, index, part);
    double **row = &place->least_s[spot.row];
    if (!*row)
        *row = arena_alloc(&b->arena, spot.all, sizeof **row);
    if ((*row)[spot.at] <= 0)
        (*row)[spot.at] = least_step_s(b, place, plan, index, part, &spot);
    double seconds = (*row)[spot.at];
    if (seconds <= 0)
        return 0;
    struct step_time step = {.step_s = seconds,
                             .beat_s = seconds,
                             .micro_batches = (double)plan_micro_batches(plan)};
    step.tokens = step_tokens(plan) * step.micro_batches;
    return time_seconds_per_token(plan, &step) * (1 + search_error(b->errors, plan));
}
