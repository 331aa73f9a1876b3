/* What was probed as files: a cluster whose devices are this machine's workers, and the profile
 * of stack host on it. Shares of the profile are of the cluster's own rates. */
#ifndef MOEPLAN_CALIB_RUN_PROBE_WRITE_H
#define MOEPLAN_CALIB_RUN_PROBE_WRITE_H

#include <stdio.h>

#include "exec/backend/machine.h"
#include "exec/probe.h"

struct probed {
    const struct machine *machine;
    const char *blas; /* "OpenBLAS 0.3.21 SkylakeX"; of a GPU where its kernels came from */
    const char *gpu;  /* "cuda:0, NVIDIA H200"; NULL: the CPU's workers were probed */
    uint64_t memory_bytes; /* of a device */
    const char *transport, *date;
    uint64_t ranks, workers;
    const struct probe_point *points;
    size_t n;
};

void probe_write_cluster(FILE *out, const struct probed *probed);
void probe_write_profile(FILE *out, const struct probed *probed);

#endif
