/* How many deployments share a rate: each number is played once, and no further than to where
 * it cannot keep the limits. Pure. */
#ifndef MOEPLAN_SIM_SERVE_SERVE_PLAYS_H
#define MOEPLAN_SIM_SERVE_SERVE_PLAYS_H

#include "sim/serve/serve_play.h"

/* What requests at a rate show: the part within all limits, those in flight in the mean. */
struct serve_shown {
    double within, others;
};

/* A deployment of so many that share the plan's rate, in its steady state. */
struct serve_played {
    uint64_t deployments;
    struct scheduler_result result; /* not sorted */
    struct serve_shown shown;       /* of a plan that limits what requests see */
};

/* Each of them is played once. The game and what the deployment can do stay as they are. */
struct serve_plays {
    const struct serve_game *game;
    double capacity_per_s;
    struct arena arena;
    struct serve_played *items;
    size_t n, room;
    bool searched; /* for the fewest */
    uint64_t fewest;
};

/* The play of one of so many, whose rate is below the capacity; until the next call. */
const struct serve_played *serve_plays_of(struct serve_plays *plays, uint64_t deployments);

/* The fewest of these deployments that share the plan's rate out evenly and keep the limits;
 * without limits, a stable queue. 0: a request alone does not keep them. */
uint64_t serve_fewest(struct serve_plays *plays);

/* A copy, whose times may be changed. */
struct scheduler_result serve_copy(const struct scheduler_result *result, struct arena *arena);

#endif
