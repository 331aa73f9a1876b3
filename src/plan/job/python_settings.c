/* Values of a script in Python as settings; see reader.h. */
#include <string.h>

#include "plan/job/reader.h"
#include "plan/text/python_word.h"

void job_add_python(struct job *job, const struct python *python, const char *name,
                    const struct python_value *value, struct mark mark)
{
    bool list = value->kind == PYTHON_LIST;
    size_t n = list ? value->n : 1;
    const char **words = arena_alloc(job->arena, n + 1, sizeof *words);
    struct setting setting = {.name = name, .mark = mark, .values = words, .n = n};
    if (value->kind == PYTHON_NONE)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct python_value *item = list ? &value->items[i].value : value;
        const char *word = python_word(python, item, job->arena, &setting.trouble);
        words[i] = word ? word : "";
    }
    setting.flag = job_flag_find(job->framework, name, strlen(name));
    setting.said = arena_printf(job->arena, "%s=%s", name,
                                setting.trouble ? "?"
                                : list          ? "[..]"
                                                : words[0]);
    job_add(job, setting);
}
