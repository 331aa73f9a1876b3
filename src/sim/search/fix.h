/* Fixes: the smallest changes of a plan that make it fit, each evaluated like the plan itself.
 */
#ifndef MOEPLAN_SIM_SEARCH_FIX_H
#define MOEPLAN_SIM_SEARCH_FIX_H

#include "base/arena.h"
#include "plan/data/profile.h"
#include "plan/data/trace.h"
#include "sim/memory/verdict.h"
#include "work/rows/rows.h"

/* What a fix costs: name in JSON, heading in text; the order in which they are offered. */
#define FIX_LIST(X)                                                                            \
    X(FREE, "free", "costs nothing")                                                           \
    X(LAYOUT, "layout", "another layout")                                                      \
    X(THROUGHPUT, "throughput", "costs throughput")                                            \
    X(NUMERICS, "numerics", "changes the result")                                              \
    X(DEVICES, "devices", "more devices")

enum fix_kind {
#define FIX_ENUM(name, text, help) FIX_##name,
    FIX_LIST(FIX_ENUM)
#undef FIX_ENUM
        FIX_KINDS
};

const char *fix_kind_name(enum fix_kind kind);  /* "free" */
const char *fix_kind_title(enum fix_kind kind); /* "costs nothing" */

/* A change that makes the plan fit (or marginal), tried and evaluated. */
struct fix {
    const char *set;      /* "workload.micro_batch=7"; "a=1 b=2" when it takes several keys */
    enum fix_kind kind;   /* of several keys the dearest */
    uint64_t total_bytes; /* with it */
    enum verdict verdict;
    double seconds_per_token;       /* device-seconds, by the profile (sim/step/time) */
    double tokens_per_s_per_device; /* 1 over it */
    double drop_fraction;           /* of the routed rows, with it */
    const char *note;               /* what it costs, in words */
};

/* Tries every kind of change (fix_moves.c), alone; two together when no change alone fits
 * without changing the result; up to four when two do not either; and more devices, the
 * smallest number that fits. Grouped by kind, in the order of enum fix_kind, best throughput
 * first within one; where all fixes but more devices change the result, those devices
 * come first. *n of them, memory from the arena. The plan obeys all rules.
 *
 * Of a plan whose prefill is apart: changes of the pool that does not fit, where neither does
 * each beside one of the other pool. Keys of servers that prefill are named prefill.KEY; where
 * those that decode change a key, prefill.KEY says beside it what the others had, which would
 * follow. Seconds are those of a server of the pool by itself.
 *
 * `known`: parts of laws of routing, or NULL. */
const struct fix *fix_find(const struct plan *plan, const struct routing_data *routing,
                           const struct profile *profile, struct rows_known *known,
                           struct arena *arena, size_t *n);

/* Of a served plan whose prefill is apart and whose requests miss workload.limit, as `times`
 * has them: the deployments of each pool that keep it, evaluated like the plan itself. In an
 * open loop they are the fewest (serve_pools.h); in a closed one more of what limits until the
 * limit is kept, then fewer of the others while it is, with all requests that are in flight as
 * workload.concurrency. *n is 0 or 1; memory from the arena. */
struct serve_times;
const struct fix *fix_limits(const struct plan *plan, const struct routing_data *routing,
                             const struct profile *profile, const struct serve_times *times,
                             struct arena *arena, size_t *n);

#endif
