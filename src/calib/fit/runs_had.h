/* What the runs of a calibration had: their devices, models and the keys that decide how they
 * were laid out, as a profile says them (models/profiles/README.md). A plan of others has the
 * profile's wider interval, and is told so. */
#ifndef MOEPLAN_CALIB_FIT_RUNS_HAD_H
#define MOEPLAN_CALIB_FIT_RUNS_HAD_H

#include <stdio.h>

#include "plan/data/profile.h"

struct runs_had {
    struct text devices, models; /* "h100, b200", in the order of the runs */
    struct profile_run *runs;    /* of numbers one range, from the least to the most */
    size_t n_runs;
    struct arena *arena;
};

/* Empty; memory from the arena. */
void runs_had_init(struct runs_had *had, struct arena *arena);

/* Adds a run. Its path may be the stack's choice. */
void runs_had_add(struct runs_had *had, const struct plan *plan);

/* The profile's lines device, models and runs. */
void runs_had_write(FILE *out, const struct runs_had *had);

#endif
