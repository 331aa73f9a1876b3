/* Plans around single parts of the catalogue. */
#ifndef MOEPLAN_SUPPORT_CATALOGUE_H
#define MOEPLAN_SUPPORT_CATALOGUE_H

#include "base/arena.h"
#include "plan/plan.h"

/* A plan of this model, cluster and stack, everything else by default; NULL takes a small one.
 * Fails the test with the error when it cannot be loaded. */
void catalogue_plan(const char *model, const char *cluster, const char *stack,
                    struct arena *arena, struct plan *plan);

/* The number a cell begins with; NAN when it begins with none. */
double catalogue_number(const char *cell);

#endif
