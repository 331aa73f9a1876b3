/* See python_set.h. */
#include "plan/job/python_set.h"

#include <ctype.h>
#include <string.h>

#include "plan/text/python_word.h"

/* A later assignment of the same field holds. */
static void add_setting(struct python_walk *walk, struct setting setting)
{
    struct job *job = walk->job;
    setting.flag = job_flag_find(job->framework, setting.name, strlen(setting.name));
    for (size_t i = 0; i < job->n_settings; i++)
        if (setting.flag && job->settings[i].flag == setting.flag)
            job->settings[i].used = true;
    setting.said = setting.name;
    setting.used = setting.null;
    job_add(job, setting);
}

/* A word as it stands, or NULL: not known. */
const char *python_set_known(const struct python_value *value)
{
    if (value->kind != PYTHON_WORD)
        return NULL;
    bool name = !value->quoted && !value->number && !text_equal(value->text, "true") &&
                !text_equal(value->text, "false");
    if (!name || text_starts(value->text, "torch."))
        return value->text;
    const char *last = python_last_part(value->text);
    bool member = last != value->text && isupper((unsigned char)value->text[0]);
    return member ? last : NULL; /* AttnBackend.auto */
}

static const char *trouble_of(struct job *job, const struct python_value *value)
{
    return arena_printf(job->arena, "'%.60s' is worked out when the script runs", value->text);
}

/* A list inside a list is its words with commas between. */
static const char *item_text(struct job *job, const struct python_value *value,
                             const char **trouble)
{
    struct text text = {.arena = job->arena};
    if (value->kind != PYTHON_LIST) {
        const char *known = python_set_known(value);
        *trouble = known ? *trouble : trouble_of(job, value);
        return known ? known : "";
    }
    for (size_t i = 0; i < value->n; i++) {
        const char *word = python_set_known(&value->items[i].value);
        *trouble = word ? *trouble : trouble_of(job, value);
        text_printf(&text, "%s%s", i ? "," : "", word ? word : "");
    }
    return text_string(&text);
}

static void add_list(struct python_walk *walk, const char *name,
                     const struct python_value *list, struct mark mark)
{
    const char **values = arena_alloc(walk->job->arena, list->n + 1, sizeof *values);
    struct setting setting = {.name = name, .mark = mark, .values = values, .n = list->n};
    for (size_t i = 0; i < list->n; i++)
        values[i] = item_text(walk->job, &list->items[i].value, &setting.trouble);
    add_setting(walk, setting);
}

void python_set_word(struct python_walk *walk, const char *name, const char *word,
                     const struct python_value *value, struct mark mark)
{
    const char **values = arena_alloc(walk->job->arena, 1, sizeof *values);
    values[0] = word ? word : "";
    add_setting(walk, (struct setting){.name = name,
                                       .mark = mark,
                                       .values = values,
                                       .n = 1,
                                       .trouble = word ? NULL : trouble_of(walk->job, value)});
}

void python_set_null(struct python_walk *walk, const char *name, struct mark mark)
{
    add_setting(walk, (struct setting){.name = name, .mark = mark, .null = true});
}

void python_set_arguments(struct python_walk *walk, const char *prefix,
                          const struct python_value *call, struct mark mark)
{
    for (size_t i = 0; i < call->n; i++) {
        const struct python_argument *a = &call->items[i];
        if (a->name)
            python_set(walk,
                       *prefix ? arena_printf(walk->job->arena, "%s.%s", prefix, a->name)
                               : a->name,
                       &a->value, mark);
    }
}

/* What was said of a part's fields is gone when another part takes its place. */
static void python_set_anew(struct python_walk *walk, const char *part)
{
    struct job *job = walk->job;
    size_t kept = 0, n = strlen(part);
    for (size_t i = 0; i < job->n_settings; i++) {
        const struct setting *s = &job->settings[i];
        bool below = text_starts(s->name, part) && s->name[n] == '.';
        if (s->layer != job->layer || (!below && (!s->null || !text_equal(s->name, part))))
            job->settings[kept++] = *s;
    }
    job->n_settings = kept;
}

const struct python_value *python_set_first(const struct python_value *call)
{
    return call->n && !call->items[0].name ? &call->items[0].value : NULL;
}

void python_set(struct python_walk *walk, const char *name, const struct python_value *value,
                struct mark mark)
{
    if (value->kind == PYTHON_NONE) {
        python_set_anew(walk, name);
        python_set_null(walk, name, mark);
    } else if (value->kind == PYTHON_LIST) {
        add_list(walk, name, value, mark);
    } else if (value->kind == PYTHON_CALL) {
        python_set_anew(walk, name);
        if (!walk->part || !walk->part(walk, name, value, mark))
            python_set_arguments(walk, name, value, mark);
    } else {
        const char *word = python_set_known(value);
        if (!word && value->kind == PYTHON_WORD && text_ends(name, "_func"))
            word = value->text; /* a function by its name: squared_relu, F.silu */
        python_set_word(walk, name, word, value, mark);
    }
}

bool python_set_matters(const struct python_walk *walk, const char *field)
{
    const struct job_framework *framework = walk->job->framework;
    const struct job_flag *flag = job_flag_find(framework, field, strlen(field));
    size_t n = strlen(field);
    if (flag)
        return flag->read != JOB_NEITHER;
    for (size_t i = 0; i < *framework->n_flags; i++)
        if (text_starts(framework->flags[i].names, field) &&
            framework->flags[i].names[n] == '.')
            return true;
    return false;
}
