/* A probe and whose it is; see probed.h. */
#include "calib/run/probed.h"

#include <sys/resource.h>

#include "base/text.h"
#include "exec/probe_gpu.h"
#include "exec/stopwatch.h"

/* Preemptions of a worker in a second: 10 to 120 were seen on a machine of two CPUs with
 * nothing else to do, 1,400 beside one process that computes. */
static const double QUIET = 400;

static double preemptions(void)
{
    struct rusage usage = {0};
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (double)usage.ru_nivcsw : 0;
}

static void say_gpus(const struct session *session, struct arena *arena, struct probed *p)
{
    struct text name = {.arena = arena};
    char kernels[400];
    gpu_kernels_text(session->gpu, kernels, sizeof kernels);
    for (unsigned i = 0; i < session->gpus->n; i++)
        text_printf(&name, "%s, ", gpu_where(session->gpus->of[i]));
    text_append(&name, gpu_facts(session->gpu)->name);
    p->gpu = text_string(&name);
    p->blas = arena_strdup(arena, kernels);
    p->ranks = session->gpus->n;
    p->workers = 1;
    p->memory_bytes = gpu_facts(session->gpu)->memory_bytes;
}

static void say_workers(const struct session *session, struct arena *arena, struct probed *p)
{
    p->blas = arena_strdup(arena, session->blas.name);
    p->ranks = session->snapshot.ranks;
    p->workers = session->snapshot.workers;
    p->memory_bytes = p->machine->memory_bytes / (p->ranks ? p->ranks : 1);
}

enum status probed_take(struct session *session, struct arena *arena, struct probed *out,
                        struct err *err)
{
    struct machine *machine = arena_alloc(arena, 1, sizeof *machine);
    struct probe_point *points;
    machine_describe(machine);
    *out = (struct probed){.machine = machine,
                           .transport = session->snapshot.transport,
                           .date = text_today(arena)};
    double before = preemptions(), begin = stopwatch_now_s();
    if (session->gpu) {
        TRY(probe_gpu_run(session->gpus, arena, &points, &out->n, err));
        say_gpus(session, arena, out);
    } else {
        TRY(probe_run(session, arena, &points, &out->n, err));
        say_workers(session, arena, out);
    }
    out->points = points;
    out->preempted = (preemptions() - before) / (stopwatch_now_s() - begin) /
                     (double)session->snapshot.workers;
    return STATUS_OK;
}

bool probed_is_disturbed(const struct probed *probed)
{
    return !probed->gpu && probed->preempted > QUIET;
}
