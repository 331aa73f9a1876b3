/* What settings of a job say: numbers, words, switches, and errors at their places. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "plan/job/reader.h"

struct setting *job_setting(struct job *job, const char *name)
{
    const struct job_flag *flag = job_flag_find(job->framework, name, strlen(name));
    struct setting *best = NULL;
    for (size_t i = 0; i < job->n_settings && flag; i++) {
        struct setting *s = &job->settings[i];
        if (s->flag != flag)
            continue;
        s->used = true;
        if (!best || s->layer >= best->layer)
            best = s;
    }
    return best && best->null ? NULL : best;
}

bool job_given(struct job *job, const char *name)
{
    return job_setting(job, name) != NULL;
}

__attribute__((format(printf, 3, 0))) static enum status
fail_at(struct job *job, struct mark mark, const char *format, va_list arguments)
{
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    return err_at(job->err, mark, "%s", text);
}

enum status job_fail(struct job *job, const char *flag, const char *format, ...)
{
    const struct setting *s = job_setting(job, flag);
    va_list arguments;
    va_start(arguments, format);
    enum status status = fail_at(job, s ? s->mark : job_place(job), format, arguments);
    va_end(arguments);
    return status;
}

enum status job_refuse(struct job *job, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum status status = fail_at(job, job_place(job), format, arguments);
    va_end(arguments);
    return status;
}

struct mark job_place(const struct job *job)
{
    return job->mark.file ? job->mark : (struct mark){.file = job->file};
}

/* The setting, unless only running the job tells it and the user says what it stands for. */
static const struct setting *readable(struct job *job, const char *name)
{
    const struct setting *s = job_setting(job, name);
    bool said = s && s->trouble && s->flag && s->flag->key && job_requested(job, s->flag->key);
    return said ? NULL : s;
}

static enum status wrong(struct job *job, const struct setting *s, const char *takes)
{
    if (s->trouble) {
        err_at(job->err, s->mark, "'%s' is not known: %s", s->name, s->trouble);
        bool python = s->mark.file && text_ends(s->mark.file, ".py");
        const char *key = s->flag ? s->flag->key : NULL;
        if (python && key)
            return err_hint(job->err,
                            "a script is read and not run: write the value, a default as in "
                            "os.environ.get(\"TP\", 8), or --set %s=",
                            key);
        return err_hint(job->err,
                        "a job file is read and not run: write the value, or a default "
                        "as in %s%s",
                        python                          ? "os.environ.get(\"TP\", 8)"
                        : job->framework == &job_primus ? "${TP:8}"
                                                        : "${TP:-8}",
                        job->shell ? job_given_hint(job, s->trouble) : "");
    }
    if (s->n > 1)
        return err_at(job->err, s->mark, "'%s' takes %s, not a list", s->name, takes);
    return err_at(job->err, s->mark, "'%s' takes %s, not '%s'", s->name, takes,
                  s->n ? s->values[0] : "");
}

/* 4096, 4_096, 4096.0; of engines 8K = 8192, 8k = 8000, which trainers take for no number */
static bool parse_count(const struct job *job, const char *text, uint64_t *value)
{
    const struct job_framework *of = job->framework;
    bool engine = of == &job_vllm || of == &job_sglang || of == &job_trtllm;
    char digits[32];
    size_t n = 0;
    const char *at = text;
    for (; (*at >= '0' && *at <= '9') || (*at == '_' && n); at++)
        if (*at != '_' && n + 1 < sizeof digits)
            digits[n++] = *at;
    digits[n] = '\0';
    uint64_t factor = 1;
    static const char letters[] = "kKmMgG";
    static const uint64_t factors[] = {1000,        1024,       1000000,
                                       1024 * 1024, 1000000000, 1024 * 1024 * 1024};
    const char *letter = engine && *at && at[1] == '\0' ? strchr(letters, *at) : NULL;
    if (letter)
        factor = factors[letter - letters];
    bool rest =
        *at == '\0' || letter || (*at == '.' && at[1] && strspn(at + 1, "0") == strlen(at + 1));
    if (n == 0 || n > 15 || !rest)
        return false;
    uint64_t count;
    return number_count(digits, &count) && !__builtin_mul_overflow(count, factor, value);
}

enum status job_count(struct job *job, const char *name, uint64_t *value)
{
    const struct setting *s = readable(job, name);
    if (!s)
        return STATUS_OK;
    if (s->trouble || s->n != 1 || !parse_count(job, s->values[0], value))
        return wrong(job, s, "a whole number");
    return STATUS_OK;
}

enum status job_integer(struct job *job, const char *name, int64_t *value)
{
    const struct setting *s = readable(job, name);
    uint64_t size;
    if (!s)
        return STATUS_OK;
    bool negative = s->n == 1 && s->values[0][0] == '-';
    if (s->trouble || s->n != 1 || !parse_count(job, s->values[0] + negative, &size) ||
        size > INT64_MAX)
        return wrong(job, s, "a whole number");
    *value = negative ? -(int64_t)size : (int64_t)size;
    return STATUS_OK;
}

enum status job_real(struct job *job, const char *name, double *value)
{
    const struct setting *s = readable(job, name);
    if (!s)
        return STATUS_OK;
    if (s->trouble || s->n != 1 || !number_real(s->values[0], value))
        return wrong(job, s, "a number");
    return STATUS_OK;
}

enum status job_word(struct job *job, const char *name, const char **value)
{
    const struct setting *s = readable(job, name);
    if (!s)
        return STATUS_OK;
    if (s->trouble || s->n != 1)
        return wrong(job, s, "one word");
    *value = s->values[0];
    return STATUS_OK;
}

static bool is_word(const char *text, const char *const words[3])
{
    for (size_t i = 0; i < 3; i++)
        if (text_equal(text, words[i]))
            return true;
    return false;
}

enum status job_switch(struct job *job, const char *name, bool *value)
{
    static const char *const yes[] = {"true", "True", "1"}, *const no[] = {"false", "False",
                                                                           "0"};
    const struct setting *s = readable(job, name);
    if (!s)
        return STATUS_OK;
    if (s->trouble || s->n > 1)
        return wrong(job, s, "true or false");
    if (s->n && !is_word(s->values[0], yes) && !is_word(s->values[0], no))
        return wrong(job, s, "true or false");
    *value = (s->n == 0 || is_word(s->values[0], yes)) != s->off;
    return STATUS_OK;
}

uint64_t job_drafted(const struct job *job, const char *key, uint64_t fallback)
{
    const struct draft_item *item = draft_find(&job->draft, key);
    uint64_t value;
    return item && !item->list && item->n == 1 && parse_count(job, item->words[0], &value)
               ? value
               : fallback;
}
