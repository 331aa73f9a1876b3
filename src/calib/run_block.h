/* What a run performs, by the plan's block: an MoE layer, or a collective matmul. The rest of a
 * run is the same for both. */
#ifndef MOEPLAN_CALIB_RUN_BLOCK_H
#define MOEPLAN_CALIB_RUN_BLOCK_H

#include "calib/run_case.h"
#include "exec/verify/verify.h"

struct run_block {
    const char *axis; /* of the group that performs it: "ep", "tp" */
    bool routed;      /* tokens go to experts: there are rows, and samples of routing */
    uint64_t (*ranks)(const struct plan *plan);
    uint64_t (*tokens)(const struct plan *plan); /* of a step of the group */
    /* STATUS_INPUT when there is nothing of the kind in the plan; resolves what stacks leave
     * open. */
    enum status (*resolve)(struct plan *plan, struct err *err);
    /* The list, and what its slots are filled from; memory from the arena. */
    enum status (*build)(struct run_case *c, const struct routing_data *data, bool backward,
                         struct arena *arena, struct err *err);
    /* Fills the slots of all ranks for a sample. */
    void (*fill_slots)(struct run_case *c, uint64_t step);
    /* Random inputs, to be timed. */
    void (*make_inputs)(const struct plan *plan, struct arena *arena, struct inputs *inputs);
    enum status (*verify)(struct execution *x, const struct verify_options *options,
                          struct arena *arena, struct checks *checks, struct err *err);
};

const struct run_block *run_block_of(const struct plan *plan);

#endif
