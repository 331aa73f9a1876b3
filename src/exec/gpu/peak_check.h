/* Known answers: products of integers at the edges of tiles and groups, by an engine and by the
 * portable kernels on the same device. */
#ifndef MOEPLAN_EXEC_GPU_PEAK_CHECK_H
#define MOEPLAN_EXEC_GPU_PEAK_CHECK_H

#include "exec/gpu/peak.h"

/* *agrees: every byte is the same, of results and of the guard behind them, and in a repeat. */
enum status peak_check(struct peak *peak, struct gpu *gpu, double limit_s, bool *agrees,
                       struct err *err);

/* A product on the engine at hand, whatever is known of it (peak.c), as a device of so many
 * units would do it; 0: as this one does. */
enum status peak_try(struct peak *peak, enum kernel kernel, const struct gpu_call *call,
                     const uint64_t *memory, uint64_t units, double limit_s, double *seconds,
                     struct err *err);

#endif
