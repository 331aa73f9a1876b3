/* What a GPU can do, measured through the kernels that `run` performs: products by rows,
 * copying, reading, writing and gathering of rows, the cost of a launch. Times are the device's
 * own, but that of a launch, which is the host's from the call to its end. Of several devices
 * the first is measured, and what they exchange (probe_links.h). */
#ifndef MOEPLAN_EXEC_PROBE_GPU_H
#define MOEPLAN_EXEC_PROBE_GPU_H

#include "exec/gpu/group.h"
#include "exec/probe.h"

/* As probe_run; points that a slow device takes too long for are left out. */
enum status probe_gpu_run(struct gpu_group *gpus, struct arena *arena,
                          struct probe_point **points, size_t *n, struct err *err);

#endif
