/* Routing of a run: the sampler's tokens of a step as what the executor performs and the sizes
 * are evaluated with. */
#ifndef MOEPLAN_SIM_MOE_ROUTE_H
#define MOEPLAN_SIM_MOE_ROUTE_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "work/layer/layer_sample.h"
#include "work/rows/rows.h"

struct route {
    struct arena *arena;
    struct rows rows;
    struct rows_scratch scratch;
    struct layer_sample sample; /* of the step last taken */
    int32_t *ids;               /* [R, T, K], the sample's */
};

/* STATUS_INPUT when the plan's routing cannot be sampled. data: files the plan names, or NULL;
 * rows: its laws as rows_prepare made them, or NULL. Memory from the arena. */
enum status route_init(const struct plan *plan, const struct routing_data *data,
                       const struct rows *rows, struct arena *arena, struct route *routing,
                       struct err *err);

/* Bytes that the sample of a plan's group takes. */
uint64_t route_bytes(const struct plan *plan);

/* Samples a step of the whole group into routing->sample, in place of the one before. */
void route_step(struct route *routing, uint64_t step);

#endif
