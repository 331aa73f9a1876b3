/* One list's peak for many plans: what memory_fold says, at a fraction of its work where plans
 * differ in the pipeline and in the copies of weights alone.
 *
 * A layer's tensors do not follow from the stages or the copies (the slots that move, below),
 * so their sizes, and which moment of a layer holds most, are kept by point: a point stands for
 * all that does decide them. What is left of a fold is the state, the numbers of layers and how
 * many copies of each are alive. For one thread. Pure. */
#ifndef MOEPLAN_SIM_MEMORY_REFOLD_H
#define MOEPLAN_SIM_MEMORY_REFOLD_H

#include "sim/memory/memory.h"

struct refold;

/* Of a list that work_index saw, which has to stay, with one schedule and nothing that waits in
 * host memory for a while; else NULL. Memory from the arena. */
struct refold *refold_create(const struct work *work, size_t n_points, struct arena *arena);

struct refold_peak {
    uint64_t total_bytes, state_bytes;
};

/* As sizes_eval and memory_fold with these slots; `point` < n_points is where slots of the same
 * tensors are looked for: any is right, and evaluates all sizes where it last stood for others.
 * False when a size overflows 64 bits. */
bool refold_peak(struct refold *refold, size_t point, const struct slots *slots,
                 struct refold_peak *out);

#endif
