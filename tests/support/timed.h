/* A plan's step, timed by the profile it takes. */
#ifndef MOEPLAN_TESTS_SUPPORT_TIMED_H
#define MOEPLAN_TESTS_SUPPORT_TIMED_H

#include "sim/time/step_time.h"

struct timed {
    struct arena arena;
    struct plan plan;
    struct profile profile;
    struct stepper s;
    struct step_time step;
};

/* The step of the plan of `text` with the settings of `set` (support/plans.h), on balanced
 * routing. Fails where it has none; timed_close frees it. */
void timed_open(struct timed *t, const char *text, const char *set);
void timed_close(struct timed *t);

#endif
