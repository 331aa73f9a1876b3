/* Files of the catalogue for tests that need no whole plan. */
#ifndef MOEPLAN_SUPPORT_CATALOGUE_H
#define MOEPLAN_SUPPORT_CATALOGUE_H

#include "base/arena.h"
#include "plan/plan.h"

/* Sets a plan to its defaults and reads one file into a group of it ("model", "cluster",
 * "stack"); fails the test with the error when a key or value is wrong. */
void catalogue_read(const char *path, const char *group, struct arena *arena,
                    struct plan *plan);

/* The number a cell begins with; NAN when it begins with none. */
double catalogue_number(const char *cell);

#endif
