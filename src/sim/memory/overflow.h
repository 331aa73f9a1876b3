/* Receive buffers of given size (moe.buffer a factor): how often routing asks for more rows
 * than they hold, what is lost then, and what that makes of a verdict. `run` asks the same
 * question of the very rows it is about to perform. Pure. */
#ifndef MOEPLAN_SIM_MEMORY_OVERFLOW_H
#define MOEPLAN_SIM_MEMORY_OVERFLOW_H

#include "sim/moe/demand.h"
#include "sim/memory/verdict.h"

struct overflow {
    bool bounded; /* the rest is set: some receive buffer has a given size */
    enum on_overflow policy;
    uint64_t room_rows;   /* what it holds */
    double probability;   /* of one step, in any layer, micro-step and rank */
    bool is_bound;        /* no sample had too many rows: probability is an upper bound */
    double drop_fraction; /* mean share of the routed rows that finds no room */
};

/* What samples and laws say of one layer. */
struct overflow_layer {
    struct demand_room room;
    uint64_t n, n_over; /* samples, and those with a rank that has no room */
    double lost, tail;  /* mean share of the rows; the bound where no sample says anything */
};

/* The room of a list whose sizes stand in `values`. */
struct demand_room overflow_room(const struct work *work, const uint64_t *values);

/* From samples that were taken with the list's room. */
struct overflow_layer overflow_sampled(const struct demand_source *source,
                                       const struct demand_spread *spread);

/* Over all layers of a step of the plan. */
void overflow_of(const struct plan *plan, const struct overflow_layer *layer,
                 struct overflow *out);

/* Software that ends on overflow: above 1 % a step it is as good as out of memory, above 1e-6
 * the verdict is marginal at best; one that drops is judged by its bytes. Only a chance that
 * samples show makes it oom. */
enum verdict overflow_verdict(const struct overflow *overflow, enum verdict by_bytes);

/* STATUS_NOFIT, with rows and room, when rank `rank` cannot take what a step sends it and the
 * plan's software does not drop. */
enum status overflow_check(const struct plan *plan, uint64_t rank, const struct demand *demand,
                           const struct demand_room *room, struct err *err);

#endif
