/* What a GPU can do, measured through the kernels that `run` performs: products by rows,
 * copying, writing and gathering of rows, the cost of a launch. Times are the device's own, but
 * that of a launch, which is the host's from the call to its end. */
#ifndef MOEPLAN_EXEC_PROBE_GPU_H
#define MOEPLAN_EXEC_PROBE_GPU_H

#include "exec/gpu/device.h"
#include "exec/probe.h"

/* As probe_run, of one device; points that a slow device takes too long for are left out. */
enum status probe_gpu_run(struct gpu *gpu, struct arena *arena, struct probe_point **points,
                          size_t *n, struct err *err);

#endif
