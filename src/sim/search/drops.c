/* See drops.h. */
#include "sim/search/drops.h"

#include <string.h>

#include "plan/derive.h"
#include "plan/paths.h"
#include "sim/moe/predict_moe.h"
#include "work/stack/stack.h"

struct drops_known {
    struct drops_known *next;
    struct demand_key of;
    uint64_t tokens; /* of a rank */
    struct drops_unit unit;
    double share;
};

static double share_of(struct drops *drops, const struct plan *plan, const struct rows *rows)
{
    const struct drops_unit unit = predict_unit(plan, rows);
    struct demand_key key;
    demand_key_of(plan, drops->evaluator->routing, &key);
    for (const struct drops_known *d = drops->known; d; d = d->next)
        if (d->tokens == rows->spec.tokens && d->unit.tokens == unit.tokens &&
            d->unit.slots == unit.slots && memcmp(&d->of, &key, sizeof key) == 0)
            return d->share;
    struct drops_known *known = arena_alloc(drops->arena, 1, sizeof *known);
    memcpy(&known->of, &key, sizeof key);
    known->tokens = rows->spec.tokens;
    known->unit = unit;
    const struct drops_from from = {&known->of, drops->evaluator->rows_known};
    known->share = predict_drops(rows, &unit, &from, drops->arena);
    known->next = drops->known;
    drops->known = known;
    return known->share;
}

double drops_of(struct drops *drops, const struct plan *plan)
{
    struct rows rows;
    bool can = path_reads(stack_path(plan, NULL), READS_CAPACITY_FACTOR) &&
               plan_is_routed(plan) && evaluate_rows(drops->evaluator, plan, &rows);
    return can ? share_of(drops, plan, &rows) : 0;
}
