/* Rows of a framework's table and of those it shares, their words, and settings that a reader
 * adds. */
#include <string.h>

#include "plan/job/reader.h"

static size_t count_rows(const struct job_framework *framework)
{
    size_t n = *framework->n_flags;
    for (size_t i = 0; framework->shares && framework->shares[i]; i++)
        n += count_rows(framework->shares[i]);
    return n;
}

/* Rows of `from` that a name of `framework` leads to. */
static size_t take_rows(const struct job_framework *framework, const struct job_framework *from,
                        const struct job_flag **rows)
{
    size_t n = 0;
    for (size_t i = 0; i < *from->n_flags; i++) {
        const struct job_flag *row = &from->flags[i];
        if (!framework->shares ||
            job_flag_find(framework, row->names, strcspn(row->names, " ")) == row)
            rows[n++] = row;
    }
    for (size_t i = 0; from->shares && from->shares[i]; i++)
        n += take_rows(framework, from->shares[i], rows + n);
    return n;
}

const struct job_flag *const *job_flags(const struct job_framework *framework,
                                        struct arena *arena, size_t *n)
{
    const struct job_flag **rows = arena_alloc(arena, count_rows(framework), sizeof *rows);
    *n = take_rows(framework, framework, rows);
    return rows;
}

const char *job_convert(const struct job *job, const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " "), left = strcspn(at, "= ");
        if (left == length && strncmp(at, word, left) == 0 && at[left] == '=')
            return arena_strndup(job->arena, at + left + 1, n - left - 1);
        at += n + (at[n] == ' ');
    }
    return NULL;
}

static void add(struct job *job, const char *flag, const char *value, const char *said,
                struct mark mark, unsigned layer)
{
    const char **values = arena_alloc(job->arena, 2, sizeof *values);
    unsigned before = job->layer;
    values[0] = value;
    job->layer = layer;
    job_add(job, (struct setting){.flag = job_flag_find(job->framework, flag, strlen(flag)),
                                  .name = flag,
                                  .said = said,
                                  .mark = mark,
                                  .values = values,
                                  .n = 1,
                                  .used = true}); /* not the user's: no note where unread */
    job->layer = before;
}

void job_assume(struct job *job, const char *flag, const char *value, const char *said)
{
    if (!job_given(job, flag))
        add(job, flag, value, said, job_place(job), JOB_FILE);
}

void job_retell(struct job *job, const char *from, const char *flag, const char *value)
{
    const struct setting *of = job_setting(job, from);
    if (of)
        add(job, flag, value, of->said, of->mark, of->layer + 1);
}

void job_raise(struct job *job, unsigned layer)
{
    for (size_t i = 0; i < job->n_settings; i++)
        if (job->settings[i].layer < layer)
            job->settings[i].layer = layer;
}
