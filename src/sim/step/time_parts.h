/* What the files of time_of share: a report under way, and what tells why its step takes what
 * it takes. */
#ifndef MOEPLAN_SIM_STEP_TIME_PARTS_H
#define MOEPLAN_SIM_STEP_TIME_PARTS_H

#include "sim/step/time.h"

struct time_telling {
    const struct plan *plan;
    const struct time_ask *ask;
    struct arena *arena;
    struct stepper *stepper; /* built; op_s of the demand that was timed last */
    struct demand_spread spread;
    bool routed; /* spread is there */
    struct time_report *out;
};

/* The demand in the mean; NULL: nothing is routed. */
static inline const struct demand *time_expected(const struct time_telling *c)
{
    return c->routed ? &c->spread.expected : NULL;
}

/* The longest ops on the way of the step that was timed last, out->path. */
void time_path(struct time_telling *c);

/* What the step takes if the machine or the routing were another, out->whatifs, and which
 * constants of the profile move it, out->constants. The stepper times other steps. False when a
 * size overflows 64 bits. */
bool time_why(struct time_telling *c);

#endif
