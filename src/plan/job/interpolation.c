/* What settings say by way of others: OmegaConf's "${a.b}" and "${mul:${a.b},2}", Primus's
 * "${NAME:default}". Environments are not asked: their defaults stand in. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "plan/job/reader.h"

enum { NESTING = 12, RESOLVED = 4096, TERMS = 2, LOOK_UPS = 20000 };

const char *job_unquoted(struct job *job, const char *text, size_t length)
{
    bool quotes = length > 1 && strchr("\"'", text[0]) && text[length - 1] == text[0];
    return arena_strndup(job->arena, text + quotes, length - 2 * quotes);
}

/* ---- when a setting is read ---- */

/* "${oc.env:NAME,default}" of OmegaConf: the default, since the environment is not asked. */
static const char *resolve_omega(struct job *job, const char *text, const char **trouble)
{
    static const char prefix[] = "${oc.env:";
    size_t length = strlen(text), head = sizeof prefix - 1;
    if (!text_starts(text, "${"))
        return text;
    const char *comma = strchr(text, ',');
    if (length > head && text_starts(text, prefix) && comma && text[length - 1] == '}') {
        comma += 1 + strspn(comma + 1, " ");
        return arena_strndup(job->arena, comma, (size_t)(text + length - 1 - comma));
    }
    *trouble = arena_printf(job->arena, "'%.60s' is worked out when the job starts", text);
    return text;
}

/* "${NAME:default}" of Primus, anywhere in a text: the default likewise. NULL: there is none.
 */
static const char *resolve_named(struct job *job, const char *text)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    struct text out = {.arena = job->arena};
    bool found = false;
    while (*text) {
        size_t name = text_starts(text, "${") ? strspn(text + 2, capitals) : 0;
        const char *end = name && text[2 + name] == ':' ? strchr(text, '}') : NULL;
        if (!end) {
            text_printf(&out, "%c", *text++);
            continue;
        }
        const char *value = text + 3 + name;
        text_append(&out, job_unquoted(job, value, (size_t)(end - value)));
        text = end + 1;
        found = true;
    }
    return found ? text_string(&out) : NULL;
}

const char *job_resolve_text(struct job *job, const char *text, const char **trouble)
{
    const char *named = strchr(text, '$') ? resolve_named(job, text) : NULL;
    return named ? named : resolve_omega(job, text, trouble);
}

/* ---- when all of them are known ---- */

/* A text in the making; `name` is the setting that it belongs to. */
struct resolver {
    struct job *job;
    const char *name;
    unsigned depth, *left; /* look-ups that all settings of the job have */
};

static bool resolve(struct resolver in, const char *text, size_t length, struct text *out);

/* The setting of that very name which holds, whether its flag is known or not; or NULL. */
static const struct setting *setting_of(const struct job *job, const char *name)
{
    const struct setting *best = NULL;
    for (size_t i = 0; i < job->n_settings; i++) {
        const struct setting *s = &job->settings[i];
        if (text_equal(s->name, name) && (!best || s->layer >= best->layer))
            best = s;
    }
    return best;
}

/* ".x" of a.b is a.x, "..x" x. */
static const char *absolute(struct resolver in, const char *key)
{
    size_t dots = strspn(key, "."), length = strlen(in.name);
    for (size_t i = 0; i < dots; i++)
        while (length > 0 && in.name[--length] != '.')
            continue;
    return dots && length > 0
               ? arena_printf(in.job->arena, "%.*s.%s", (int)length, in.name, key + dots)
               : key + dots;
}

static bool look_up(struct resolver in, const char *key, struct text *out)
{
    const char *name = absolute(in, key);
    if (!*in.left)
        return false;
    --*in.left;
    const struct setting *s = setting_of(in.job, name);
    if (!s || s->null || s->n != 1)
        return false;
    const struct resolver inner = {in.job, name, in.depth + 1, in.left};
    return resolve(inner, s->values[0], strlen(s->values[0]), out);
}

/* Characters up to `stop` on the level of brackets where the text begins; all: there is none.
 */
static size_t until(const char *text, size_t length, char stop)
{
    size_t depth = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == stop && depth == 0)
            return i;
        depth += text[i] == '{';
        depth -= text[i] == '}' && depth > 0;
    }
    return length;
}

/* The resolvers of NeMo-RL (nemo_rl/utils/config.py), on two numbers each. */
static bool calculate(const char *word, double a, double b, double *value)
{
    static const char *const words[] = {"add", "sub", "mul", "div", "max", "min"};
    const double values[] = {a + b,         a - b,        a * b, b != 0 ? a / b : 0,
                             a > b ? a : b, a < b ? a : b};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(word, words[i])) {
            *value = values[i];
            return i != 3 || b != 0;
        }
    return false;
}

static bool call(struct resolver in, const char *word, const char *text, size_t length,
                 struct text *out)
{
    double terms[TERMS], value;
    for (size_t i = 0; i < TERMS; i++) {
        struct text term = {.arena = in.job->arena};
        size_t n = until(text, length, ','), blank = n ? strspn(text, " ") : 0;
        if (blank >= n || !resolve(in, text + blank, n - blank, &term) ||
            !number_real(text_string(&term), &terms[i]))
            return false;
        text += n + (n < length);
        length -= n + (n < length);
    }
    if (length || !calculate(word, terms[0], terms[1], &value) || !(fabs(value) < 1e15))
        return false;
    text_printf(out, value == floor(value) ? "%.0f" : "%.9g", value);
    return true;
}

/* What stands between "${" and "}". */
static bool resolve_one(struct resolver in, const char *text, size_t length, struct text *out)
{
    size_t colon = until(text, length, ':');
    if (colon < length)
        return call(in, arena_strndup(in.job->arena, text, colon), text + colon + 1,
                    length - colon - 1, out);
    return look_up(in, arena_strndup(in.job->arena, text, length), out);
}

static bool resolve(struct resolver in, const char *text, size_t length, struct text *out)
{
    if (in.depth++ == NESTING)
        return false;
    while (length) {
        bool opens = length > 2 && text[0] == '$' && text[1] == '{';
        size_t n = opens ? until(text + 2, length - 2, '}') : 0;
        if (out->length > RESOLVED || (opens && n == length - 2) ||
            (opens && !resolve_one(in, text + 2, n, out)))
            return false;
        if (!opens)
            text_append_n(out, text, 1);
        size_t used = opens ? n + 3 : 1;
        text += used;
        length -= used;
    }
    return true;
}

static bool resolve_values(struct job *job, struct setting *s, unsigned *left)
{
    const char **values = arena_alloc(job->arena, s->n + 1, sizeof *values);
    for (size_t i = 0; i < s->n; i++) {
        struct text out = {.arena = job->arena};
        const struct resolver in = {job, s->name, 0, left};
        if (!resolve(in, s->values[i], strlen(s->values[i]), &out))
            return false;
        values[i] = text_string(&out);
    }
    s->values = values;
    return true;
}

void job_interpolate(struct job *job)
{
    unsigned left = LOOK_UPS;
    for (size_t i = 0; i < job->n_settings; i++) {
        struct setting *s = &job->settings[i];
        bool any = false;
        for (size_t j = 0; j < s->n; j++)
            any = any || strstr(s->values[j], "${");
        if (!any || !resolve_values(job, s, &left))
            continue;
        s->trouble = NULL;
        s->null = s->n == 1 && text_equal(s->values[0], "null");
    }
}
