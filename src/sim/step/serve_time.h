/* What a deployment answers, in seconds and per second: decode and prefill steps priced by the
 * profile at several sizes, the engine's scheduler played over them. Pure. */
#ifndef MOEPLAN_SIM_STEP_SERVE_TIME_H
#define MOEPLAN_SIM_STEP_SERVE_TIME_H

#include "sim/serve/serve_pools.h"
#include "sim/time/step_time.h"

struct serve_ask {
    const struct routing_data *routing; /* or NULL */
    const struct profile *profile;      /* NULL: the cluster's own rates */
    const struct rows *rows; /* the plan's laws of routing when they stand, or NULL */
    bool alone;              /* of a pool's server what the pool does, no more: by its role */
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

/* One server of a pool of a plan whose prefill is apart, priced, with all that was found of it:
 * it depends on the pool's keys, on what requests are and, where they are in flight, on how
 * many servers the plan says that the pool has; not on the other pool. Not to be moved. */
struct serve_server {
    struct plan plan; /* plan_pool */
    struct serve_load load;
    struct rates rates;
    struct step_costs costs;
    struct serve_times times; /* of its load alone */
    struct step_time step;    /* decode, all sequences */
    double prefill_s;         /* a full step of prompts */
    struct serve_pool pool;   /* to be released, once it is priced */
};

/* Laws of routing of the ask are not read: they are of other tokens. The profile must live as
 * long. STATUS_INPUT as serve_open, and when a size overflows. */
enum status serve_server_price(const struct plan *plan, enum duty duty,
                               const struct serve_ask *ask, struct serve_server *out,
                               struct err *err);

/* Both together as the plan of both says; what was played for other such plans is not again. */
void serve_servers_time(const struct plan *plan, struct serve_server *prefill,
                        struct serve_server *decode, struct serve_times *out);

/* All three; of a plan whose prefill is apart of both pools (sim/serve/serve_pools.h), `step`
 * that of one that decodes. */
enum status serve_times_of(const struct plan *plan, const struct serve_ask *ask,
                           struct arena *arena, struct serve_times *out, struct step_time *step,
                           struct err *err);

/* One server of a pool by itself (plan_pool, with its role), when it is full. */
enum status serve_alone_times(const struct plan *plan, const struct serve_ask *ask,
                              struct arena *arena, struct serve_alone *out, struct err *err);

#endif
