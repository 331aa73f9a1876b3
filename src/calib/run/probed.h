/* What `probe` found on this machine, of a CPU's workers or of a GPU. */
#ifndef MOEPLAN_CALIB_RUN_PROBED_H
#define MOEPLAN_CALIB_RUN_PROBED_H

#include "exec/backend/machine.h"
#include "exec/probe.h"

struct probed {
    const struct machine *machine;
    const char *blas; /* "OpenBLAS 0.3.21 SkylakeX"; of a GPU where its kernels came from */
    const char *gpu;  /* "cuda:0, NVIDIA H200"; NULL: the CPU's workers were probed */
    uint64_t memory_bytes; /* of a device */
    const char *transport, *date;
    uint64_t ranks, workers;
    double preempted; /* how often others took a worker's CPU, a second of probing */
    const struct probe_point *points;
    size_t n;
};

/* Probes what the session has open, which has been set up; collective as probe_run. Everything
 * lives in the arena. */
enum status probed_take(struct session *session, struct arena *arena, struct probed *out,
                        struct err *err);

/* Whether other work had so much of the CPUs that rates are lower than the machine's own. */
bool probed_is_disturbed(const struct probed *probed);

#endif
