/* Kinds of training runs, by one value of a key each: what a fit has not seen when all runs of
 * one kind are left out of it. */
#ifndef MOEPLAN_TESTS_SUPPORT_RUN_KINDS_H
#define MOEPLAN_TESTS_SUPPORT_RUN_KINDS_H

#include <stdbool.h>

#include "plan/plan.h"

enum { RUN_KINDS = 12 };

extern const struct run_kind {
    const char *name;
    bool (*is)(const struct plan *plan);
} run_kinds[RUN_KINDS];

#endif
