/* See colocated.h. */
#include "plan/framework/colocated.h"

void colocated_set(struct job *job, const struct engine_beside *engine)
{
    if (engine->states != engine->weights)
        job_warn(
            job,
            job_setting(job, engine->states ? engine->states_flag : engine->weights_flag)->mark,
            "what waits in host memory while the engine generates matters to memory "
            "and is not modelled where it is %s alone: all stays on the device here",
            engine->states ? "the states" : "the parameters");
    if (engine->states && engine->weights && engine->sleeps)
        return;
    job_set(job, "workload.colocated.engine", engine->sleeps ? "asleep" : "awake",
            engine->sleep_flags);
    job_set_count(job, "workload.colocated.tp", engine->tp, engine->tp_flag);
    job_set(job, "workload.colocated.fraction",
            arena_printf(job->arena, "%.9g", engine->fraction), engine->fraction_flag);
}
