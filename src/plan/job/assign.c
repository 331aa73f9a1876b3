/* Keys of the plan that a job's settings give, with the flag that each comes from; notes. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "plan/job/reader.h"

void job_note(struct job *job, bool warning, struct mark mark, const char *text)
{
    struct job_notes *notes = &job->notes;
    notes->items =
        arena_grow(job->arena, notes->items, notes->n, &notes->capacity, sizeof *notes->items);
    notes->items[notes->n++] = (struct job_note){warning, mark, text};
}

void job_warn(struct job *job, struct mark mark, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    job_note(job, true, mark, arena_strdup(job->arena, text));
}

/* The setting that decides: the first of the flags ("a b") that the job gives in its own words.
 */
static const struct setting *deciding(struct job *job, const char *flags)
{
    for (const char *at = flags; *at;) {
        size_t n = strcspn(at, " ");
        const struct setting *s = job_setting(job, arena_strndup(job->arena, at, n));
        if (s && !(s->n == 1 && text_equal(s->values[0], "auto")))
            return s;
        at += n + (at[n] == ' ');
    }
    return NULL;
}

static struct mark place_of(const struct setting *s)
{
    return s ? s->mark : (struct mark){0};
}

static const char *origin_of(struct job *job, const struct setting *s)
{
    return s ? s->said : arena_printf(job->arena, "default of %s", job->framework->name);
}

void job_set(struct job *job, const char *key, const char *value, const char *flags)
{
    const struct setting *s = deciding(job, flags);
    draft_set(&job->draft, key, value, place_of(s), origin_of(job, s));
}

void job_set_count(struct job *job, const char *key, uint64_t value, const char *flags)
{
    job_set(job, key, arena_printf(job->arena, "%" PRIu64, value), flags);
}

void job_set_list(struct job *job, const char *key, const char *const *words, size_t n,
                  const char *flags)
{
    const struct setting *s = deciding(job, flags);
    draft_set_list(&job->draft, key, words, n, place_of(s), origin_of(job, s));
}

void job_set_rows(struct job *job, const char *format, const char *flags)
{
    static const char *const keys[] = {"precision.activations", "precision.dispatch",
                                       "precision.combine"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        job_set(job, keys[i], format, flags);
}

enum status job_path(struct job *job, const char *flag, const char **path)
{
    const struct setting *s = job_setting(job, flag);
    const char *text = s && s->trouble && s->n == 1 ? s->values[0] : "";
    text = text_without_slashes(text, job->arena);
    const char *slash = strrchr(text, '/');
    if (!slash || !model_name_from(NAMES_HUB, slash + 1, job->arena))
        return job_word(job, flag, path);
    *path = slash + 1;
    return STATUS_OK;
}

enum status job_set_model(struct job *job, const char *flag)
{
    const char *path = NULL;
    TRY(job_path(job, flag, &path));
    if (!path || draft_find(&job->draft, "model"))
        return STATUS_OK;
    const char *model = model_name_or_folder(path, job->arena);
    if (!model)
        return job->described ? STATUS_OK
                              : job_unknown_model(job, job_setting(job, flag)->mark, path);
    job_set(job, "model", model, flag);
    return STATUS_OK;
}

enum status job_set_optimizer(struct job *job, const char *flag, const char *words)
{
    const char *name = NULL;
    TRY(job_word(job, flag, &name));
    if (!name)
        return STATUS_OK;
    const char *kind = job_convert(job, words, name);
    if (!kind)
        job_warn(job, job_setting(job, flag)->mark,
                 "optimizer '%s' matters to memory and is not modelled: Adam's states stand in",
                 name);
    else if (!text_equal(kind, "adam"))
        job_set(job, "optimizer.kind", kind, flag);
    return STATUS_OK;
}

enum status job_set_checkpoint(struct job *job, const char *writes, bool written,
                               const char *behind, bool asynchronous)
{
    TRY(job_switch(job, writes, &written));
    TRY(job_switch(job, behind, &asynchronous));
    if (written && asynchronous)
        job_set(job, "workload.async_checkpoint", "true", behind);
    return STATUS_OK;
}
