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

/* The play of a steady state at a rate below the capacity. */
struct scheduler_ask serve_rate_ask(const struct serve_game *g, double rate,
                                    double capacity_per_s);

/* A queue that grows without end. */
void serve_overload(struct serve_times *out, double tokens);

#endif
