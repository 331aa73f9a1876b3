/* An engine that generates on the devices that train (RL), as verl and ms-swift have it. */
#ifndef MOEPLAN_PLAN_FRAMEWORK_COLOCATED_H
#define MOEPLAN_PLAN_FRAMEWORK_COLOCATED_H

#include "plan/job/reader.h"

struct engine_beside {
    bool sleeps;          /* its memory is free while the trainer steps */
    bool states, weights; /* of the trainer wait in host memory while it generates */
    uint64_t tp;          /* devices that share one copy of its weights */
    double fraction;      /* of a device, while it generates */
    const char *sleep_flags, *states_flag, *weights_flag, *tp_flag, *fraction_flag;
};

/* workload.colocated.engine, tp and fraction; nothing where trainer and engine take turns,
 * which is where both let go of the device. */
void colocated_set(struct job *job, const struct engine_beside *engine);

#endif
