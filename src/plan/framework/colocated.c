/* See colocated.h. */
#include "plan/framework/colocated.h"

void away_add(struct job *job, struct away *away, const char *word, const char *flag)
{
    away->flags = away->n ? arena_printf(job->arena, "%s %s", away->flags, flag) : flag;
    away->words[away->n++] = word;
}

void away_set(struct job *job, const struct away *away)
{
    if (away->n)
        job_set_list(job, "workload.colocated.away", away->words, away->n, away->flags);
}

enum status colocated_read(struct job *job, struct engine_beside *engine)
{
    TRY(job_count(job, engine->tp_flag, &engine->tp));
    return job_real(job, engine->fraction_flag, &engine->fraction);
}

void colocated_set(struct job *job, const struct engine_beside *engine, struct away *away)
{
    job_set(job, "workload.colocated.engine", engine->sleeps ? "asleep" : "awake",
            engine->sleep_flags);
    job_set_count(job, "workload.colocated.tp", engine->tp, engine->tp_flag);
    job_set(job, "workload.colocated.fraction",
            arena_printf(job->arena, "%.9g", engine->fraction), engine->fraction_flag);
    if (engine->sleeps && engine->weights_flag)
        away_add(job, away, "weights", engine->weights_flag);
    if (engine->sleeps && engine->states_flag)
        away_add(job, away, "states", engine->states_flag);
    if (engine->sleeps && engine->kept_flag)
        away_add(job, away, "engine", engine->kept_flag);
}
