/* What plays of whole deployments and of pools of servers share; not for others. */
#ifndef MOEPLAN_SIM_SERVE_SERVE_PLAY_PARTS_H
#define MOEPLAN_SIM_SERVE_SERVE_PLAY_PARTS_H

#include "sim/serve/serve_play.h"

/* Whether the plan limits what requests see. */
bool serve_is_limited(const struct plan *plan);

/* Part of the requests within all limits; of a result that is not sorted. */
double serve_within(const struct serve_game *g, const struct scheduler_result *r,
                    struct arena *arena);

/* Times of requests; takes the result apart. */
void serve_report(const struct serve_game *g, struct scheduler_result *r,
                  struct serve_times *out);
void serve_report_intervals(const struct rates *rates, struct serve_times *out);

/* Requests per second of a deployment while others wait; *tokens: of an answer, the mean. */
double serve_capacity(const struct serve_game *g, double *tokens);

/* A steady state at a rate below the capacity. */
void serve_play_rate(const struct serve_game *g, double rate, double capacity_per_s,
                     struct arena *arena, struct scheduler_result *r);

/* What requests at a rate show: the part within all limits, those in flight in the mean. */
struct serve_shown {
    double within, others;
};

/* The fewest of these deployments that share the plan's rate out evenly and keep the limits;
 * without limits, a stable queue. 0: a request alone does not keep them. `one`: what one of
 * them shows at the plan's whole rate where that was played already, or NULL. */
uint64_t serve_fewest(const struct serve_game *g, double capacity_per_s,
                      const struct serve_shown *one);

/* A queue that grows without end. */
void serve_overload(struct serve_times *out, double tokens);

#endif
