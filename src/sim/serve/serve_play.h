/* What requests see and a deployment answers: an engine's scheduler played over priced steps.
 *
 * In a closed loop (workload.concurrency) a finished request is replaced at once; in an open
 * one (request_rate) requests arrive as a Poisson process whether or not others are done, and
 * the queue is stable only below the deployment's capacity: what it answers while requests
 * wait for every slot. Profiles are fitted on closed loops; no public data judge an open one.
 * Pure. */
#ifndef MOEPLAN_SIM_SERVE_SERVE_PLAY_H
#define MOEPLAN_SIM_SERVE_SERVE_PLAY_H

#include "sim/time/rates.h"
#include "sim/serve/scheduler.h"
#include "sim/serve/serve.h"
#include "sim/serve/serve_apart.h"

struct serve_times {
    bool present;
    uint64_t replicas, sequences, waiting; /* of a replica: in its steps, in its queue */
    uint64_t step_tokens;                  /* most of a replica's step */
    uint64_t requests;                     /* played */
    const char *capped;                    /* what makes requests wait; NULL */
    /* the mean over a run that begins with all requests at once, as benchmarks report it (open
     * loop: over a queue in its steady state), and percentiles over its requests; low, high:
     * nominal 90 % of the mean. An overloaded queue grows without end: infinite, as all that
     * follows in seconds. */
    double ttft_s, ttft_p50_s, ttft_p95_s, ttft_p99_s, ttft_low_s, ttft_high_s;
    /* the median over requests, and tails; nominal 90 % of the median */
    double tpot_s, tpot_p95_s, tpot_p99_s, tpot_low_s, tpot_high_s;
    double latency_s, latency_p95_s, latency_p99_s; /* of a whole request; the median */
    double latency_mean_s; /* closed loop: of a steady one, concurrency / requests_per_s */
    double requests_per_s, tokens_per_s;  /* answered; tokens: of answers, of prompts
                                           * where a server prefills alone */
    double decode_step_s, prefill_step_s; /* all sequences; a full step of prompts */
    /* open loop; NAN, NULL, 0 in a closed one */
    double request_rate, capacity_per_s, utilization;
    const char *queue; /* "stable"; "marginal": by the interval of the capacity; "overloaded" */
    uint64_t
        deployments; /* fewest that share the rate within the limits; 0: none, or unasked */
    /* of workload.limit; NAN where it sets none, or the queue is overloaded */
    double within, goodput_per_s; /* part of the requests within all limits; of them a second */
    struct serve_apart apart;
};

struct serve_game {
    const struct plan *plan;
    const struct serve_load *load;
    const struct step_costs *costs;
    const struct rates *rates;
};

/* What serve_apart.h asks of a deployment. */
struct serve_apart_side serve_side(const struct serve_game *game);

/* Fills what requests see; the caller has set the load and the steps. */
void serve_play(const struct serve_game *game, struct serve_times *out);

/* Makes NAN of the times of further tokens where an answer of one token has none: when all that
 * follows from them is known. */
void serve_leave_out_further(const struct plan *plan, struct serve_times *times);

/* Whether requests keep workload.limit: of those that arrive the part that has to, of a stable
 * queue; of those in flight the mean. */
bool serve_keeps(const struct plan *plan, const struct serve_times *times);

#endif
