/* The work list of a plan's MoE layer or matmul, evaluated for the ranks of one process. */
#ifndef MOEPLAN_CALIB_RUN_CASE_H
#define MOEPLAN_CALIB_RUN_CASE_H

#include "calib/run_routing.h"
#include "sim/memory.h"
#include "work/list/work.h"

struct run_case {
    const struct plan *plan;
    struct run_routing routing;
    const struct layer_sample *sample; /* of routing; NULL: nothing is routed */
    struct work work;
    uint64_t first, n; /* ranks first .. first + n - 1 */
    uint64_t workers;
    struct slots *slots; /* [n] */
    uint64_t **values;   /* [n] of the list's sizes */
};

struct run_ranks {
    uint64_t first, n, workers;
};

/* Builds the list and evaluates it for routing step 0. The plan is one of run_host_plan and
 * must live as long. Memory from the arena. */
enum status run_case_init(const struct plan *plan, const struct routing_data *data,
                          bool backward, struct run_ranks ranks, struct arena *arena,
                          struct run_case *out, struct err *err);

/* Evaluates it for another routing step. */
enum status run_case_step(struct run_case *c, uint64_t step, struct err *err);

/* Predicted peak of the process. */
void run_case_peak(const struct run_case *c, struct arena *arena, struct memory_peak *peak);

/* Bytes of the largest exchange of a rank. */
uint64_t run_case_exchange_bytes(const struct run_case *c);

#endif
