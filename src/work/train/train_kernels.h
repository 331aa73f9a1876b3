/* Which kernels of eager PyTorch do the ops of a HuggingFace model's list, where they are more
 * than one or none. Only prices read it (sim/time). */
#ifndef MOEPLAN_WORK_TRAIN_TRAIN_KERNELS_H
#define MOEPLAN_WORK_TRAIN_TRAIN_KERNELS_H

#include "work/list/work.h"

/* Sets `launches` and `done` of the ops of loops over experts, and what their host waits for.
 */
void train_kernels(const struct plan *plan, struct work *work);

#endif
