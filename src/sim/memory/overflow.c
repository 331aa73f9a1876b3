/* Receive buffers of given size; see overflow.h. */
#include "sim/memory/overflow.h"

#include <inttypes.h>
#include <math.h>

#include "base/stat.h"
#include "plan/derive.h"

static const double too_often = 0.01, seldom = 1e-6;

struct demand_room overflow_room(const struct work *work, const uint64_t *values)
{
    const struct work_room *room = &work->room;
    return (struct demand_room){.set = room->set,
                                .padded = room->padded,
                                .rows = values[room->rows.node],
                                .tokens =
                                    room->tokens.node ? values[room->tokens.node] : UINT64_MAX};
}

/* Independent layers of a step: of the model, its micro-steps and its expert-parallel groups.
 */
static double layers_of_step(const struct plan *plan)
{
    uint64_t layers = plan_moe_layers(plan), groups = plan_expert_dp(plan);
    return (double)(layers ? layers : 1) * (double)plan_micro_batches(plan) *
           (double)(groups ? groups : 1);
}

/* Chance that at least one of n layers overflows, each with chance p. */
static double of_any(double p, double n)
{
    return p < 1 ? -expm1(n * log1p(-p)) : 1;
}

struct overflow_layer overflow_sampled(const struct demand_source *source,
                                       const struct demand_spread *spread)
{
    struct overflow_layer layer = {
        .room = spread->room, .n = spread->n, .n_over = spread->n_over, .lost = spread->lost};
    if (layer.room.set && layer.n_over == 0)
        layer.tail = demand_tail(source, &layer.room);
    return layer;
}

void overflow_of(const struct plan *plan, const struct overflow_layer *layer,
                 struct overflow *out)
{
    *out = (struct overflow){.bounded = layer->room.set,
                             .policy = plan->stack.on_overflow,
                             .room_rows = layer->room.rows,
                             .drop_fraction = layer->lost,
                             .is_bound = layer->n_over == 0};
    if (!out->bounded)
        return;
    double chance = stat_chance_bound(layer->n_over, layer->n);
    if (out->is_bound)
        chance = fmin(chance, layer->tail);
    out->probability = of_any(chance, layers_of_step(plan));
}

enum verdict overflow_verdict(const struct overflow *overflow, enum verdict by_bytes)
{
    if (!overflow->bounded || overflow->policy == OVERFLOW_DROP || by_bytes == VERDICT_OOM ||
        overflow->probability <= seldom)
        return by_bytes;
    return overflow->probability > too_often && !overflow->is_bound ? VERDICT_OOM
                                                                    : VERDICT_MARGINAL;
}

enum status overflow_check(const struct plan *plan, uint64_t rank, const struct demand *demand,
                           const struct demand_room *room, struct err *err)
{
    if (!demand_exceeds(demand, room) || plan->stack.on_overflow == OVERFLOW_DROP)
        return STATUS_OK;
    err_set(err, STATUS_NOFIT,
            "rank %" PRIu64 " receives %" PRIu64 " rows, its buffer holds %" PRIu64, rank,
            room->padded ? demand->padded : demand->rows, room->rows);
    return err_hint(err, "--set moe.buffer=exact or worst");
}
