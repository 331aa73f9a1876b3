/* Requests of a plan whose prefill and decode are apart: they wait for a prefill server, have
 * their prompt's cache sent, wait for a place on a decode server and are answered there.
 *
 * An open loop plays the engine's scheduler on one server of each pool, at the part of the rate
 * that each gets; a request's time is that of one play's request and the other's, which are
 * independent. A closed loop follows in the mean from what both do when they are full
 * (serve_apart_closed). Nothing public judges either. Pure. */
#ifndef MOEPLAN_SIM_SERVE_SERVE_POOLS_H
#define MOEPLAN_SIM_SERVE_SERVE_POOLS_H

#include "sim/serve/serve_plays.h"

/* One deployment of a pool, as plan_pool has it: with all of request_rate, with its part of
 * concurrency; and what was found of it in an open loop, which depends on nothing else. */
struct serve_pool {
    struct serve_game game;
    struct serve_plays plays; /* its capacity 0: not played yet */
    double tokens;            /* of an answer, the mean; once there is a capacity */
};

void serve_pool_release(struct serve_pool *pool);

/* Plays of an open loop what does not depend on the other pool, which is else played when it is
 * asked for first. */
void serve_pool_play(struct serve_pool *pool);

struct serve_pools {
    const struct plan *plan; /* of both */
    struct serve_pool *prefill, *decode;
};

/* Fills what requests see, apart included; present is the caller's, as are steps' seconds. */
void serve_pools_play(const struct serve_pools *pools, struct serve_times *out);

#endif
