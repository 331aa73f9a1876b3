/* An engine that generates on the devices that train (RL), as verl, slime, ms-swift and TRL
 * have it, and what waits in host memory for its turn. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_COLOCATED_H
#define MOEPLAN_PLAN_FRAMEWORK_COLOCATED_H

#include "plan/job/reader.h"

/* Words of workload.colocated.away, and the flags that they come of. */
struct away {
    const char *words[5], *flags;
    size_t n;
};

void away_add(struct job *job, struct away *away, const char *word, const char *flag);
/* The key, where anything waits. */
void away_set(struct job *job, const struct away *away);

struct engine_beside {
    bool sleeps;     /* its memory is free while the trainer steps */
    uint64_t tp;     /* devices that share one copy of its weights */
    double fraction; /* of a device, while it generates */
    const char *sleep_flags, *tp_flag, *fraction_flag;
    const char *weights_flag, *states_flag; /* that are on: of the trainer they wait; or NULL */
    const char *kept_flag; /* by which its own weights do, while it sleeps; or NULL */
};

/* tp and fraction, where their flags are given. */
enum status colocated_read(struct job *job, struct engine_beside *engine);

/* workload.colocated.engine, tp and fraction; what of the trainer gives way to an engine that
 * does to it goes to `away`. */
void colocated_set(struct job *job, const struct engine_beside *engine, struct away *away);

#endif
