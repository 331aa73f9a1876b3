/* See colocated.h. */
#include "plan/framework/colocated.h"

#include <string.h>

#include "plan/params.h"

void away_add(struct job *job, struct away *away, const char *word, const char *flag)
{
    away->flags = away->n ? arena_printf(job->arena, "%s %s", away->flags, flag) : flag;
    away->words[away->n++] = word;
}

bool away_has(const struct away *away, const char *word)
{
    for (size_t i = 0; i < away->n; i++)
        if (text_equal(away->words[i], word))
            return true;
    return false;
}

uint64_t scorer_parameters(struct job *job, const char *path)
{
    const char *model = model_name_inside(path, job->arena);
    const struct model *scorer = model ? model_alone_read(model, job->arena) : NULL;
    struct params params;
    if (!scorer)
        return 0;
    params_count(scorer, &params);
    return params.parameters - params.head.matrices - params.head.biases + scorer->hidden;
}

bool models_are_alike(struct job *job, const char *one, const char *other)
{
    const char *names[] = {model_name_of_path(one, job->arena),
                           model_name_of_path(other, job->arena)};
    return text_equal(one, other) || (names[0] && names[1] && text_equal(names[0], names[1]));
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

enum status colocated_set_format(struct job *job, const char *flag, const char *fp8)
{
    const char *format = NULL;
    TRY(job_word(job, flag, &format));
    bool plain = !format || !format[0] || text_equal(format, "null") || strstr(format, "16");
    if (plain)
        return STATUS_OK;
    if (strstr(format, "fp8") || strstr(format, "FP8"))
        job_set(job, "workload.colocated.weights", fp8, flag);
    else
        job_warn(job, job_setting(job, flag)->mark,
                 "the engine's weights in '%s' matter to memory and are not modelled: 16 bits "
                 "stand in",
                 format);
    return STATUS_OK;
}

void colocated_set_reference(struct job *job, const char *flag, uint64_t passes)
{
    job_set_count(job, "workload.colocated.passes", passes, flag);
    if (!draft_find(&job->draft, "lora.rank"))
        job_set_count(job, "workload.colocated.reference", 1, flag);
}

void colocated_set_pairs(struct job *job, const char *flag, bool reference)
{
    uint64_t micro = job_drafted(job, "workload.micro_batch", 0);
    uint64_t global = job_drafted(job, "workload.global_batch", 0);
    if (micro && micro < 1000000000)
        job_set_count(job, "workload.micro_batch", 2 * micro, flag);
    if (global && global < 1000000000)
        job_set_count(job, "workload.global_batch", 2 * global, flag);
    if (reference)
        colocated_set_reference(job, flag, 1);
}
