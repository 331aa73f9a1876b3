/* Variables and arguments of a script that the user gives; see reader.h. */
#include <ctype.h>
#include <string.h>

#include "plan/job/reader.h"

enum { GIVEN = 64 };

const char *job_given_name(const char *key)
{
    static const char head[] = "job.";
    return text_starts(key, head) ? key + sizeof head - 1 : NULL;
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* "NNODES", "1", or "@", all arguments. */
static bool is_name(const char *name)
{
    size_t digits = strspn(name, "0123456789"), n = 0;
    if (text_equal(name, "@") || (digits && !name[digits]))
        return true;
    while (is_letter(name[n]))
        n++;
    return !digits && n && !name[n];
}

/* A script has a name as a word of its own, numbers and '@' behind '$' or "${". */
static bool mentions(const char *script, const char *name)
{
    size_t n = strlen(name);
    bool argument = !is_letter(name[0]) || isdigit((unsigned char)name[0]);
    for (const char *at = script; (at = strstr(at, name)); at++) {
        char before = at > script ? at[-1] : ' ';
        bool behind = before == '$' || (before == '{' && at > script + 1 && at[-2] == '$');
        bool line = before == '.' && at > script + 4 && strncmp(at - 4, "job.", 4) == 0;
        bool whole = !is_letter(before) && !is_letter(at[n]) && !line;
        if (argument ? behind && !isdigit((unsigned char)at[n]) : whole)
            return true;
    }
    return false;
}

struct giving {
    struct job *job;
    const char *script;
    struct shell_given *items;
    size_t n;
};

static void set_words(struct job *job, const char *value, bool several, struct mark mark,
                      struct shell_words *words)
{
    struct shell_word word = {.text = value, .mark = mark};
    while (several && *value) {
        size_t blank = strspn(value, " \t"), n = strcspn(value + blank, " \t");
        word.text = arena_strndup(job->arena, value + blank, n);
        if (n)
            shell_words_add(words, word, job->arena);
        value += blank + n;
    }
    if (!several)
        shell_words_add(words, word, job->arena);
}

/* `said`: the option or the line, which an error stands at. */
static enum status give(struct giving *g, const char *name, const char *value, struct mark mark,
                        const char *said)
{
    struct err *err = g->job->err;
    if (!is_name(name)) {
        err_at(err, mark, "'%s' names no variable", said);
        return err_hint(err, "a name, a number or @, as in job.NNODES=4, job.1=8, "
                             "job.@=\"--tp 8\"");
    }
    if (!mentions(g->script, name))
        return err_at(err, mark, "'%s': the job's script has no '%s%s'", said,
                      is_letter(name[0]) && !isdigit((unsigned char)name[0]) ? "" : "$", name);
    if (g->n == GIVEN)
        return err_at(err, mark, "more than %d variables are given", GIVEN);
    g->items[g->n].name = name;
    set_words(g->job, value, name[0] == '@', mark, &g->items[g->n++].value);
    return STATUS_OK;
}

/* "#moeplan job.NAME=VALUE" */
static enum status give_lines(struct giving *g, const char *text, size_t length)
{
    static const char head[] = "#moeplan job.";
    struct mark mark = {g->job->file, 1, 1};
    const char *end = text + length;
    for (const char *line = text; line < end; mark.line++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        line += strspn(line, " \t");
        size_t n = stop > line ? (size_t)(stop - line) : 0;
        while (n && strchr(" \r", line[n - 1]))
            n--;
        const char *said = arena_strndup(g->job->arena, line, n);
        const char *equals = strchr(said, '=');
        if (text_starts(said, head) && equals) {
            const char *name = said + sizeof head - 1;
            TRY(give(g, arena_strndup(g->job->arena, name, (size_t)(equals - name)), equals + 1,
                     mark, said));
        }
        line = newline ? newline + 1 : end;
    }
    return STATUS_OK;
}

enum status job_given_values(struct job *job, const char *text, size_t length,
                             const char *script, const struct shell_given **given, size_t *n)
{
    struct giving g = {.job = job, .script = script};
    g.items = arena_alloc(job->arena, GIVEN, sizeof *g.items);
    TRY(give_lines(&g, text, length));
    for (size_t i = 0; i < job->request->n_sets; i++) { /* later ones hold */
        const struct override *set = &job->request->sets[i];
        const char *name = job_given_name(set->key);
        if (name)
            TRY(give(&g, name, set->value, (struct mark){.file = set->option}, set->option));
    }
    *given = g.items;
    *n = g.n;
    return STATUS_OK;
}

const char *job_given_hint(struct job *job, const char *trouble)
{
    static const char *const heads[] = {"variable '", "the script's argument $", "argument $"};
    for (size_t i = 0; trouble && i < sizeof heads / sizeof *heads; i++) {
        const char *name = trouble + strlen(heads[i]);
        if (text_starts(trouble, heads[i]))
            return arena_printf(job->arena, ", or give it: --set job.%.*s=..",
                                (int)strcspn(name, "' "), name);
    }
    return "";
}
