/* Variables of a job's environment. */
#include <string.h>

#include "plan/job/reader.h"

/* "env NAME=value program", "eval NAME=value program": a word in front of the program. */
static const struct shell_variable *named_in_front(const struct job *job, const char *name)
{
    size_t n = strlen(name);
    size_t front = job->words ? (size_t)(job->words - job->command->items) + job->entry : 0;
    for (size_t i = front; i > 0; i--) {
        const struct shell_word *word = &job->command->items[i - 1];
        if (!text_starts(word->text, name) || word->text[n] != '=')
            continue;
        struct shell_variable *v = arena_alloc(job->arena, 1, sizeof *v);
        *v = (struct shell_variable){.name = name, .exported = true};
        struct shell_word value = *word;
        value.text += n + 1;
        shell_words_add(&v->value, value, job->arena);
        return v;
    }
    return NULL;
}

const struct shell_variable *job_environment(const struct job *job, const char *name)
{
    const struct shell_variable *front = named_in_front(job, name);
    if (front)
        return front;
    return job->shell ? shell_variable(job->shell, job->before, name, true) : NULL;
}

const struct shell_word *job_environment_word(const struct job *job, const char *name)
{
    const struct shell_variable *v = job_environment(job, name);
    if (!v || v->trouble || v->value.n != 1 || v->value.items[0].trouble)
        return NULL;
    return &v->value.items[0];
}
