/* Fixes: the smallest changes of a plan that make it fit, each evaluated like the plan itself.
 */
#ifndef MOEPLAN_SIM_FIX_H
#define MOEPLAN_SIM_FIX_H

#include "base/arena.h"
#include "plan/trace.h"
#include "sim/verdict.h"

/* A change that makes the plan fit (or marginal), tried and evaluated. */
struct fix {
    const char *set;      /* "workload.micro_batch=7"; "a=1 b=2" when it takes several keys */
    uint64_t total_bytes; /* with it */
    enum verdict verdict;
    double seconds_per_token; /* by sim/cost: ranks the fixes, best first */
};

/* Tries every kind of change (a table in fix.c) and returns those that work, best throughput by
 * sim/cost first; when none works alone, up to four together, each of them needed; *n of them,
 * memory from the arena. The plan obeys all rules. */
const struct fix *fix_find(const struct plan *plan, const struct routing_data *routing,
                           struct arena *arena, size_t *n);

#endif
