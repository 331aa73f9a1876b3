/* What a deployment answers, in seconds and per second: decode and prefill steps priced by the
 * profile at several sizes, the engine's scheduler played over them. Pure. */
#ifndef MOEPLAN_SIM_SERVE_TIME_H
#define MOEPLAN_SIM_SERVE_TIME_H

#include "sim/scheduler.h"
#include "sim/serve.h"
#include "sim/step_time.h"

struct serve_times {
    bool present;
    uint64_t replicas, sequences, waiting; /* of a replica: in its steps, in its queue */
    uint64_t step_tokens;                  /* most of a replica's step */
    uint64_t requests;                     /* played */
    const char *capped;                    /* what makes requests wait; NULL */
    /* the mean over a run that begins with all requests at once, as benchmarks report it, and
     * percentiles over its requests; low, high: nominal 90 % of the mean */
    double ttft_s, ttft_p50_s, ttft_p95_s, ttft_p99_s, ttft_low_s, ttft_high_s;
    /* the median over requests, and tails; nominal 90 % of the median */
    double tpot_s, tpot_p95_s, tpot_p99_s, tpot_low_s, tpot_high_s;
    double latency_s;                     /* of a whole request */
    double requests_per_s, tokens_per_s;  /* answered; tokens: of the answers */
    double decode_step_s, prefill_step_s; /* all sequences; a full step of prompts */
};

struct serve_ask {
    const struct routing_data *routing; /* or NULL */
    const struct profile *profile;      /* NULL: the cluster's own rates */
};

/* The steps of a served plan, built once and priced at several sizes by any profile. */
struct serve_model {
    const struct plan *plan;
    struct serve_load load;
    struct serve_step *decode, *prefill;
    struct arena *arena;
};

/* Memory from the arena; serve_close frees the rest. The plan must live as long. STATUS_INPUT
 * when the stack refuses a step or routing cannot be sampled. */
enum status serve_open(struct serve_model *model, const struct plan *plan,
                       const struct serve_ask *ask, struct arena *arena, struct err *err);

/* `step`, or NULL: the decode step of all sequences. False when a size overflows. */
bool serve_time(struct serve_model *model, const struct profile *profile,
                struct serve_times *out, struct step_time *step);

void serve_close(struct serve_model *model);

/* All three. */
enum status serve_times_of(const struct plan *plan, const struct serve_ask *ask,
                           struct arena *arena, struct serve_times *out, struct step_time *step,
                           struct err *err);

#endif
