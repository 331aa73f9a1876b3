/* What this machine reaches, for `run` of a plan that names no profile: probed once, and kept
 * in the user's cache folder: of a CPU by BLAS and workers, of GPUs by driver and kernels. */
#ifndef MOEPLAN_CALIB_RUN_RUN_PROBE_H
#define MOEPLAN_CALIB_RUN_RUN_PROBE_H

#include "base/arena.h"
#include "calib/run/probed.h"
#include "exec/session.h"
#include "plan/data/profile.h"

enum run_probe_use {
    RUN_PROBE_AUTO,  /* what is kept, unless the machine is faster now; else a probe */
    RUN_PROBE_NEVER, /* nothing */
    RUN_PROBE_AGAIN  /* a new probe in place of what is kept */
};

struct run_probe {
    const struct profile *profile; /* NULL: there is none */
    const char *origin;            /* "probed on 2026-01-31, kept"; or why there is none */
    struct cluster cluster; /* whose rates the profile's shares are of; a device is a worker */
};

/* With a profile where one was kept or could be made; nothing that fails here keeps a run from
 * being performed. The session is open, of ranks of one process on CPU or GPUs; `device` is
 * what it opened, as options name it, or NULL. Everything lives in the arena. */
void run_probe(enum run_probe_use use, const struct session *session, const char *device,
               struct arena *arena, struct run_probe *out);

/* Reads what stands in a folder: false where no whole pair of cluster and profile does. */
bool run_probe_read(const char *folder, struct arena *arena, struct run_probe *out);

/* Writes a probe as that pair, all of it or nothing, in place of what `folder` held (NULL: it
 * is kept nowhere), and reads it: out->profile stays NULL where nothing can be written. True:
 * it stands there now. */
bool run_probe_keep(const struct probed *probed, const char *folder, struct arena *arena,
                    struct run_probe *out);

/* FLOP/s that a worker's f32 products of GAUGE_ROWS rows reach by a profile with a probe's
 * curve, on the cluster that it is of; 0 by any other. */
double run_probe_products(const struct profile *profile, const struct cluster *cluster);

/* The rates of the plan's cluster become those that were probed; counts and bytes stay. */
void run_probe_rates(const struct run_probe *probe, struct plan *plan);

#endif
