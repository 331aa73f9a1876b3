/* Where a plan's ops lie outside the sizes that a profile's constants were fitted on. */
#ifndef MOEPLAN_SIM_STEP_RANGE_H
#define MOEPLAN_SIM_STEP_RANGE_H

#include "base/arena.h"
#include "sim/time/price.h"

/* "experts at 65536 tokens, fitted on 1 to 16384; all_gather ...": the families with an op of a
 * size that their row's `within` leaves out, each with the size that is furthest. NULL: none.
 * The text lives in the arena. */
const char *range_outside(const struct profile *profile, const struct pricing *pricing,
                          const struct work *work, const uint64_t *values, struct arena *arena);

#endif
