/* Settings of a launch that stand in a file beside it. */
#include <string.h>

#include "base/number.h"
#include "plan/job/reader.h"

void writer_setting(struct job_writer *writer, const char *name, const char *value)
{
    text_printf(&writer->settings, "%s: %s\n", name, value ? value : "true");
}

enum { INDENT = 2, SETTINGS = 128 };

struct pair {
    const char *name, *value;
    size_t length; /* of the name */
};

struct tree {
    const struct pair *pairs;
    size_t n;
    bool json;
    struct text *out;
};

static bool stands_bare(const char *value)
{
    double number;
    return number_real(value, &number) || text_equal(value, "true") ||
           text_equal(value, "false");
}

/* JSON's commas stand in front of what follows. */
static void begin(const struct tree *t, const char *name, size_t length, size_t depth,
                  bool first)
{
    const char *quote = t->json ? "\"" : "";
    text_printf(t->out, "%s%*s%s%.*s%s:", t->json && !first ? ",\n" : "", (int)(depth * INDENT),
                "", quote, (int)length, name, quote);
}

static void scalar(const struct tree *t, const char *value)
{
    const char *quote = t->json && !stands_bare(value) ? "\"" : "";
    text_printf(t->out, " %s%s%s%s", quote, value, quote, t->json ? "" : "\n");
}

static bool below(const struct pair *pair, const char *prefix, size_t length)
{
    return pair->length > length && strncmp(pair->name, prefix, length) == 0;
}

/* Characters of the group that stands behind the prefix, its dot included; 0: a value does. */
static size_t group_of(const struct pair *pair, size_t length)
{
    const char *dot = memchr(pair->name + length, '.', pair->length - length);
    return dot ? (size_t)(dot - pair->name) - length + 1 : 0;
}

static bool is_first(const struct tree *t, size_t i, size_t length)
{
    for (size_t j = 0; j < i; j++)
        if (below(&t->pairs[j], t->pairs[i].name, length))
            return false;
    return true;
}

/* Everything whose name begins with this, values before groups. */
static void print(const struct tree *t, const char *prefix, size_t length, size_t depth)
{
    bool first = true;
    for (int groups = 0; groups < 2; groups++)
        for (size_t i = 0; i < t->n; i++) {
            const struct pair *pair = &t->pairs[i];
            size_t group = below(pair, prefix, length) ? group_of(pair, length) : 0;
            if (!below(pair, prefix, length) || (group > 0) != (groups == 1) ||
                (group && !is_first(t, i, length + group)))
                continue;
            begin(t, pair->name + length, group ? group - 1 : pair->length - length, depth,
                  first);
            first = false;
            if (!group) {
                scalar(t, pair->value);
                continue;
            }
            text_append(t->out, t->json ? " {\n" : "\n");
            print(t, pair->name, length + group, depth + 1);
            if (t->json)
                text_printf(t->out, "\n%*s}", (int)(depth * INDENT), "");
        }
}

bool writer_settings(const struct job_writer *writer, bool json, struct text *out)
{
    struct pair pairs[SETTINGS];
    struct tree t = {.pairs = pairs, .json = json, .out = out};
    for (const char *at = text_string(&writer->settings); *at && t.n < SETTINGS;) {
        size_t end = strcspn(at, "\n"), length = strcspn(at, ":");
        pairs[t.n++] = (struct pair){
            at, arena_strndup(writer->arena, at + length + 2, end - length - 2), length};
        at += end + 1;
    }
    if (t.n == 0)
        return false;
    text_append(out, json ? "{\n" : "");
    print(&t, "", 0, json ? 1 : 0);
    text_append(out, json ? "\n}\n" : "");
    return true;
}
