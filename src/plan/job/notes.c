/* What of a job was not read, and what matters and is not modelled. */
#include <string.h>

#include "base/number.h"
#include "plan/job/reader.h"

enum { NEAR_NAME = 64 };

/* A name with dashes; false when it is longer than that. */
static bool dashed(const char *name, size_t length, char out[NEAR_NAME])
{
    if (length >= NEAR_NAME)
        return false;
    for (size_t i = 0; i < length; i++)
        out[i] = name[i] == '_' ? '-' : name[i];
    out[length] = '\0';
    return true;
}

/* Two edits away, or most of it: the parsers of Python's frameworks take a name's beginning,
 * and people write it out (max-model-length). */
static bool is_near(const struct job_flag *flag, const char *known, const char *name)
{
    size_t length = strlen(name), whole = strlen(known);
    if (whole > 4 && text_distance(known, name) <= 2)
        return true;
    if (flag->read == JOB_NEITHER)
        return false;
    if (length < whole)
        return text_starts(known, name) && 3 * length >= 2 * whole;
    return text_starts(name, known) && name[whole] != '.' && 3 * whole >= 2 * length;
}

/* The flag that an unknown one was meant to be, or NULL. */
static const char *near_flag(const struct job *job, const char *unknown)
{
    char name[NEAR_NAME], known[NEAR_NAME];
    size_t rows;
    if (strlen(unknown) <= 4 || !dashed(unknown, strlen(unknown), name))
        return NULL;
    const struct job_flag *const *flags = job_flags(job->framework, job->arena, &rows);
    for (size_t i = 0; i < rows; i++) {
        const struct job_flag *flag = flags[i];
        for (const char *at = flag->names; *at;) {
            size_t n = strcspn(at, " ");
            if (dashed(at, n, known) && is_near(flag, known, name))
                return arena_strndup(job->arena, at, n);
            at += n + (at[n] == ' ');
        }
    }
    return NULL;
}

/* A flag that is given as it is without being given: a switch is off unless its row says
 * "true", and a list that is empty. */
static bool says_default(const struct setting *s)
{
    const char *fallback = s->flag->fallback;
    bool no =
        s->n == 1 && (text_equal(s->values[0], "false") || text_equal(s->values[0], "False"));
    if (s->flag->shape == JOB_SWITCH)
        return (s->off || no) != (fallback && text_equal(fallback, "true"));
    if (s->flag->shape == JOB_LIST && s->n == 0)
        return true;
    return fallback && s->n == 1 && text_equal(s->values[0], fallback);
}

static bool matters(const struct job_flag *flag)
{
    return flag->read == JOB_MEMORY || flag->read == JOB_TIME;
}

static void warn_of(struct job *job, const struct setting *s, const char *said,
                    const struct job_flag *flag)
{
    job_warn(job, s->mark, "'%s' matters to %s and is not modelled%s%s", said,
             flag->read == JOB_MEMORY ? "memory" : "time", flag->note ? ": " : "",
             flag->note ? flag->note : "");
}

/* The mapping that an unknown entry stands in, where its row says that it matters: "a" of
 * "a.b.c"; *length: of its name. NULL: there is none. */
static const struct job_flag *mapping_of(const struct job *job, const struct setting *s,
                                         size_t *length)
{
    for (size_t n = strlen(s->name); n > 0; n--) {
        const struct job_flag *flag =
            s->name[n] == '.' ? job_flag_find(job->framework, s->name, n) : NULL;
        if (flag && matters(flag)) {
            *length = n;
            return flag;
        }
    }
    return NULL;
}

/* Once for all entries of a mapping; whether there is such a one. */
static bool warn_of_mapping(struct job *job, const struct setting *s)
{
    size_t length, other;
    const struct job_flag *flag = mapping_of(job, s, &length);
    if (!flag)
        return false;
    bool told = false;
    for (size_t i = 0; i < job->n_settings && !told; i++) {
        const struct setting *before = &job->settings[i];
        told = before->flag == flag || (before < s && !before->flag && !before->null &&
                                        mapping_of(job, before, &other) == flag);
    }
    if (!told)
        warn_of(job, s, arena_strndup(job->arena, s->name, length), flag);
    return true;
}

/* A word where a mapping is expected, which nobody read; a number is a level (-O 3). */
static bool lacks_mapping(const struct setting *s)
{
    double level;
    return s->flag->shape == JOB_JSON && s->flag->read == JOB_RULE && !s->off && !s->trouble &&
           !(s->n == 1 && number_real(s->values[0], &level));
}

static void note_setting(struct job *job, struct setting *s)
{
    const struct job_flag *flag = s->flag;
    s->used = true;
    if (!flag) {
        if (warn_of_mapping(job, s))
            return;
        const char *nearest = near_flag(job, s->name);
        if (nearest)
            job_warn(job, s->mark, "'%s' is not known; did you mean '%s'?", s->said, nearest);
        else
            job_note(job, false, s->mark, s->said);
        return;
    }
    if (matters(flag) && !says_default(s))
        warn_of(job, s, s->said, flag);
    else if (lacks_mapping(s))
        job_warn(job, s->mark, "'%s' is not read: it takes a mapping, '{\"key\": value}'",
                 s->said);
    else if (flag->read == JOB_NEITHER && flag->note)
        job_note(job, false, s->mark, arena_printf(job->arena, "%s: %s", s->said, flag->note));
    else
        job_note(job, false, s->mark, s->said);
}

/* What only the shell knows and nobody read stands as if it were not given: said, unless the
 * user gives its key. */
static void warn_of_trouble(struct job *job, const struct setting *s)
{
    const char *key = s->flag ? s->flag->key : NULL;
    bool read = s->flag && (s->flag->read <= JOB_RULE || s->flag->shape == JOB_JSON);
    if (!s->trouble || s->used || !read || (key && text_starts(key, "cluster")) ||
        (key && job_requested(job, key)))
        return;
    job_warn(job, s->mark, "'%s' is not known and left out: %s", s->name, s->trouble);
}

void job_note_rest(struct job *job)
{
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        bool later = false; /* only the one that holds is reported */
        for (size_t j = i + 1; j < job->n_settings && s->flag; j++)
            later = later || job->settings[j].flag == s->flag;
        if (later || s->null)
            continue;
        warn_of_trouble(job, s);
        if (!s->used || (s->flag && s->flag->read > JOB_RULE))
            note_setting(job, s);
    }
}
