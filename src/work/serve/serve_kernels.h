/* Which kernels of vLLM, SGLang and TensorRT-LLM do the ops of a step's list: the list is of
 * what is computed, the engines fuse, share out and leave away. Only prices read it (sim/time).
 */
#ifndef MOEPLAN_WORK_SERVE_SERVE_KERNELS_H
#define MOEPLAN_WORK_SERVE_SERVE_KERNELS_H

#include "work/list/work.h"

/* Sets `done` of every op of a served step's list; of training nothing. */
void serve_kernels(const struct plan *plan, struct work *work);

#endif
