/* A probe that is kept; see run_probe.h.
 *
 * Cluster and profile are one pair: they stand in a folder of their own that is written beside
 * its place and renamed, so that no process reads the rates of one probe and the shares of
 * another. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "calib/run/run_probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/hash.h"
#include "calib/run/probe_write.h"
#include "exec/gauge.h"
#include "exec/gpu/group.h"
#include "exec/memory_left.h"
#include "plan/read/load.h"

static const char CLUSTER[] = "cluster.yaml", PROFILE[] = "this-machine.yaml";

/* A pair of files made anew for each of them. */
static const struct {
    const char *name;
    void (*write)(FILE *out, const struct probed *probed);
} files[] = {{CLUSTER, probe_write_cluster}, {PROFILE, probe_write_profile}};

enum { FILES = sizeof files / sizeof *files };

/* ---- reading ---- */

static char *inside(const char *folder, const char *name, struct arena *arena)
{
    return arena_printf(arena, "%s/%s", folder, name);
}

bool run_probe_read(const char *folder, struct arena *arena, struct run_probe *out)
{
    static const char text[] = "model: {layers: 1, hidden: 64, dense_intermediate: 64, "
                               "vocab: 64, attention: {heads: 1}}\ncluster: ./cluster.yaml\n";
    struct err err = {0};
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct profile *profile = arena_alloc(arena, 1, sizeof *profile);
    struct origins origins;
    if (access(inside(folder, PROFILE, arena), R_OK) != 0 ||
        plan_load_text(inside(folder, "plan", arena), text, sizeof text - 1, NULL, 0, arena,
                       plan, &origins, &err) != STATUS_OK ||
        profile_read(inside(folder, PROFILE, arena), arena, profile, &err) != STATUS_OK)
        return false;
    out->cluster = plan->cluster;
    out->profile = profile;
    return true;
}

/* ---- keeping ---- */

/* Of everything that a rate depends on and that is not in the file. */
static uint64_t hash_of(const struct session *session)
{
    uint64_t hash = hash_text(HASH_START, MOEPLAN_VERSION), workers = pool_size(session->pool);
    char kernels[400];
    struct machine machine;
    machine_describe(&machine);
    hash = hash_text(hash_text(hash, machine.cpu), machine.system);
    hash = hash_text(hash, session->blas.name);
    for (unsigned kind = 0; kind < PROBE_KINDS; kind++) /* what a probe knew to measure */
        hash = hash_text(hash, probe_kind_name((enum probe_kind)kind));
    if (!session->gpus)
        return hash_bytes(hash, &workers, sizeof workers);
    gpu_kernels_text(session->gpu, kernels, sizeof kernels);
    hash = hash_text(hash, kernels);
    for (unsigned i = 0; i < session->gpus->n; i++) {
        const struct gpu_facts *facts = gpu_facts(session->gpus->of[i]);
        hash = hash_text(hash_text(hash, facts->name), facts->driver);
    }
    return hash;
}

static char *kept_folder(const struct session *session, struct arena *arena)
{
    char folder[3000];
    if (!cache_folder(folder, sizeof folder))
        return NULL;
    return arena_printf(arena, "%s/probe-%016" PRIx64, folder, hash_of(session));
}

static void remove_pair(const char *folder, struct arena *arena)
{
    for (unsigned i = 0; i < FILES; i++)
        remove(inside(folder, files[i].name, arena));
    rmdir(folder);
}

static bool write_pair(const char *folder, const struct probed *probed, struct arena *arena)
{
    bool good = true;
    for (unsigned i = 0; i < FILES && good; i++) {
        FILE *file = fopen(inside(folder, files[i].name, arena), "wx");
        if (!file)
            return false;
        files[i].write(file, probed);
        good = !ferror(file);
        good = fclose(file) == 0 && good;
    }
    return good;
}

/* A new folder that no other process has. */
static char *new_folder(const char *kept, struct arena *arena)
{
    char *folder = kept ? arena_printf(arena, "%s.XXXXXX", kept) : NULL;
    if (folder && mkdtemp(folder))
        return folder;
    folder = inside(temporary_folder(), "moeplan-XXXXXX", arena);
    return mkdtemp(folder);
}

/* In place of what was kept before. What another process puts there first stays. */
static bool move_pair(const char *made, const char *kept, struct arena *arena)
{
    if (rename(made, kept) == 0)
        return true;
    remove_pair(kept, arena);
    return rename(made, kept) == 0;
}

bool run_probe_keep(const struct probed *probed, const char *kept, struct arena *arena,
                    struct run_probe *out)
{
    char *made = new_folder(kept, arena);
    bool good = made && write_pair(made, probed, arena) && run_probe_read(made, arena, out);
    bool moved = good && kept && move_pair(made, kept, arena);
    if (made && !moved)
        remove_pair(made, arena);
    return moved;
}

double run_probe_products(const struct profile *profile, const struct cluster *cluster)
{
    const struct constant *c = profile
                                   ? profile_find(profile, PROFILE_PRODUCT, PROFILE_EFFICIENCY,
                                                  PROFILE_ANY, COMPUTE_F32, PROFILE_ANY)
                                   : NULL;
    bool probed = c && c->compute == COMPUTE_F32 && c->by == PROFILE_BY_ROWS &&
                  c->x[c->n - 1] >= GAUGE_ROWS;
    return probed ? profile_value(c, GAUGE_ROWS, NULL) * cluster->device.peak_f32 : 0;
}

/* ---- probing ---- */

/* Two ranks of a process: what they exchange is measured between them, or between devices. */
static enum status probe(const struct session *like, const char *device, struct arena *arena,
                         struct probed *out, struct err *err)
{
    const struct session_options open = {.transport = TRANSPORT_LOCAL,
                                         .ranks = 2,
                                         .workers = pool_size(like->pool),
                                         .gpu = like->gpus != NULL,
                                         .device = device};
    struct session session = {0};
    enum status status = session_open(&session, &open, err);
    if (status == STATUS_OK)
        status = session_setup(&session, 0, err);
    if (status == STATUS_OK)
        status = probed_take(&session, arena, out, err);
    session_close(&session);
    return status;
}

static void take(const struct session *session, const char *device, const char *kept,
                 struct arena *arena, struct run_probe *out)
{
    struct probed probed;
    struct err err = {0};
    *out = (struct run_probe){0}; /* nothing of what was kept */
    if (probe(session, device, arena, &probed, &err) != STATUS_OK) {
        out->origin = arena_printf(arena, "this machine was not probed: %s", err.text);
        return;
    }
    bool disturbed = probed_is_disturbed(&probed);
    bool is_kept = run_probe_keep(&probed, disturbed ? NULL : kept, arena, out);
    if (!out->profile)
        out->origin = "this machine was not probed: no folder can be written";
    else if (disturbed)
        out->origin = "probed just now beside other work, not kept";
    else
        out->origin =
            is_kept ? "probed just now and kept" : "probed just now, no folder to keep it in";
}

/* What is kept was measured while the machine was slower than it is now: others had a share of
 * it that no counter of ours shows. */
static bool is_outdone(const struct run_probe *kept, const struct session *session)
{
    enum { READINGS = 3 };
    static const double FASTER = 1.25;
    double probed = run_probe_products(kept->profile, &kept->cluster);
    struct gauge gauge;
    if (session->gpus || !(probed > 0) || !gauge_open(&gauge, session))
        return false;
    for (unsigned i = 0; i < READINGS; i++)
        gauge_read(&gauge, true);
    double now = gauge_rate(&gauge);
    gauge_close(&gauge);
    return now > FASTER * probed;
}

/* Under a limit on address space (ulimit -v) what a probe leaves behind in libraries would be
 * taken from the run. */
void run_probe(enum run_probe_use use, const struct session *session, const char *device,
               struct arena *arena, struct run_probe *out)
{
    *out = (struct run_probe){0};
    if (use == RUN_PROBE_NEVER)
        return;
    char *kept = kept_folder(session, arena);
    bool have = kept && use != RUN_PROBE_AGAIN && run_probe_read(kept, arena, out);
    bool limited = memory_left_address_bytes() != UINT64_MAX;
    if (have && (limited || !is_outdone(out, session)))
        out->origin = arena_printf(arena, "%s, kept", out->profile->calibration);
    else if (use == RUN_PROBE_AUTO && limited)
        out->origin = "this machine was not probed: address space is limited";
    else
        take(session, device, kept, arena, out);
}

void run_probe_rates(const struct run_probe *probe, struct plan *plan)
{
    const struct device *from = &probe->cluster.device;
    const struct cluster_node *node = &probe->cluster.node;
    struct cluster *to = &plan->cluster;
    to->device.memory_bandwidth = from->memory_bandwidth;
    to->device.peak_f32 = from->peak_f32;
    to->device.peak_bf16 = from->peak_bf16;
    to->device.peak_fp8 = from->peak_fp8;
    to->device.peak_fp4 = from->peak_fp4;
    to->node.link_bandwidth = to->network.bandwidth = node->link_bandwidth;
    to->node.link_latency = to->network.latency = node->link_latency;
}
