/* How a run fills and checks what it performs, by the plan's block: an MoE layer, or a
 * collective matmul. What it performs is a slice of the list (sim/step/slice.h). */
#ifndef MOEPLAN_CALIB_RUN_RUN_BLOCK_H
#define MOEPLAN_CALIB_RUN_RUN_BLOCK_H

#include "exec/verify/verify.h"
#include "sim/step/slice.h"

struct run_block {
    /* Random inputs, to be timed. */
    void (*make_inputs)(const struct plan *plan, struct arena *arena, struct inputs *inputs);
    enum status (*verify)(struct execution *x, const struct verify_options *options,
                          struct arena *arena, struct checks *checks, struct err *err);
};

const struct run_block *run_block_of(const struct plan *plan);

#endif
