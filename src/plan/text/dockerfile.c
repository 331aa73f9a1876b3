/* The command that a container starts with: the last ENTRYPOINT and CMD of a Dockerfile, with
 * its ENV and ARG; see scripted.h. docs.docker.com/reference/dockerfile. */
#include <ctype.h>
#include <string.h>

#include "plan/text/container.h"
#include "plan/text/scripted.h"

struct instruction {
    const char *at, *end; /* behind its name; with its lines that are carried on */
    unsigned line;        /* of `at` */
};

struct reading {
    const char *at, *end;
    unsigned line;
};

bool dockerfile_is(const char *name, const char *text)
{
    static const char *const names[] = {"Dockerfile", "Containerfile"};
    const char *base = text_base_name(name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (text_starts(base, names[i]) && strchr(".-_", base[n]))
            return true;
    }
    if (text_ends(base, ".Dockerfile") || text_ends(base, ".dockerfile"))
        return true;
    while (*text == '#' || *text == '\n' || *text == '\r') {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return text_starts(text, "FROM ") && strchr(text, '\n');
}

/* ---- instructions ---- */

static const char *line_end(const struct reading *r)
{
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    return newline ? newline : r->end;
}

static bool is_comment(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at < end && *at == '#';
}

/* Is the line carried on? */
static bool continues(const char *at, const char *end)
{
    while (end > at && strchr(" \t\r", end[-1]))
        end--;
    return end > at && end[-1] == '\\';
}

/* The next instruction, its name in capitals; false: there is none. */
static bool next_instruction(struct reading *r, char name[16], struct instruction *found)
{
    for (; r->at < r->end; r->line++) {
        const char *end = line_end(r), *at = r->at;
        while (at < end && strchr(" \t\r", *at))
            at++;
        size_t n = 0;
        while (at + n < end && isalpha((unsigned char)at[n]) && n < 15) {
            name[n] = (char)toupper((unsigned char)at[n]);
            n++;
        }
        name[n] = '\0';
        *found = (struct instruction){at + n, end, r->line};
        r->at = end < r->end ? end + 1 : end;
        if (!n || is_comment(at, end))
            continue;
        bool more = continues(at, end);
        while (more && r->at < r->end) {
            const char *stop = line_end(r);
            more = is_comment(r->at, stop) || continues(r->at, stop);
            found->end = stop;
            r->at = stop < r->end ? stop + 1 : stop;
            r->line++;
        }
        r->line++;
        return true;
    }
    return false;
}

/* ---- words ---- */

/* Lines carried on stay on their lines; comments between them go. */
static void append_lines(const char *at, const char *end, struct text *out)
{
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        if (is_comment(at, stop))
            text_append(out, "\\");
        else
            text_append_n(out, at, (size_t)(stop - at));
        text_append(out, newline ? "\n" : "");
        at = newline ? newline + 1 : end;
    }
}

/* ["vllm", "serve"]: each a word as it stands, on its line. false: no such list. */
static bool append_list(const struct instruction *of, struct text *out)
{
    const char *at = of->at;
    while (at < of->end && isspace((unsigned char)*at))
        at++;
    if (at >= of->end || *at != '[')
        return false;
    for (at++; at < of->end && *at != ']'; at++) {
        if (*at == '\n')
            text_append(out, " \\\n");
        if (*at != '"')
            continue;
        text_append(out, " '");
        for (at++; at < of->end && *at != '"'; at++) {
            at += *at == '\\' && at + 1 < of->end;
            text_printf(out, *at == '\'' ? "'\\''" : *at == '\n' ? " " : "%c", *at);
        }
        text_append(out, "'");
    }
    return true;
}

static bool append_words(const struct instruction *of, struct text *out)
{
    bool list = append_list(of, out);
    if (!list)
        append_lines(of->at, of->end, out);
    return list;
}

/* ---- environment ---- */

static size_t name_length(const char *at, const char *end)
{
    size_t n = 0;
    while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_'))
        n++;
    return n;
}

/* "A=b C=d", and of ENV "A b". */
static void append_environment(const struct instruction *of, bool env, struct text *out)
{
    const char *at = of->at;
    while (at < of->end && (*at == ' ' || *at == '\t'))
        at++;
    size_t n = name_length(at, of->end);
    if (n && at + n < of->end && at[n] == '=') {
        text_append(out, "export ");
        append_lines(at, of->end, out);
    } else if (env && n && at + n < of->end && at[n] == ' ') {
        text_printf(out, "export %.*s=\"", (int)n, at);
        for (at += n + 1; at < of->end && *at != '\n'; at++)
            text_printf(out, strchr("\"`\\", *at) ? "\\%c" : "%c", *at);
        text_append(out, "\"");
    }
}

/* ---- the script ---- */

struct starts {
    struct instruction entry, command, image;
};

static void go_to(struct text *out, unsigned *line, unsigned to, const char *end)
{
    for (; *line < to; ++*line)
        text_append(out, end);
}

static unsigned lines_of(const char *at, const char *end)
{
    unsigned n = 0;
    for (; at < end; at++)
        n += *at == '\n';
    return n;
}

/* FROM's first word that is no option; `kept`: characters that a shell has other uses for, and
 * stay. */
static void append_image(const struct instruction *of, const char *kept, struct text *out)
{
    const char *at = of->at;
    while (at && at < of->end && (isspace((unsigned char)*at) || *at == '-'))
        if (isspace((unsigned char)*at))
            at++;
        else
            while (at < of->end && !isspace((unsigned char)*at))
                at++;
    for (; at && at < of->end && !isspace((unsigned char)*at); at++) {
        bool bare = !strchr("'\"$`\\;|&<>(){}#", *at) || strchr(kept, *at);
        text_printf(out, "%c", bare ? *at : '_');
    }
}

/* The release of an engine may be in its tag, "${TAG}" of an ARG in front. A stage's name has
 * neither folders nor a tag: the image that stands already holds. */
static void export_image(const struct instruction *of, struct text *out)
{
    struct text image = {.arena = out->arena};
    append_image(of, "${}", &image);
    const char *name = text_string(&image);
    if (strpbrk(name, "/:$"))
        text_printf(out, "export %s=\"%s\"", CONTAINER_IMAGE, name);
}

/* A stage begins without what the one before it starts. */
static void note(struct starts *starts, const char *name, const struct instruction *found)
{
    if (text_equal(name, "FROM"))
        *starts = (struct starts){.image = *found};
    if (text_equal(name, "ENTRYPOINT"))
        *starts = (struct starts){.image = starts->image, .entry = *found};
    if (text_equal(name, "CMD"))
        starts->command = *found;
}

/* An image that starts its own command gets CMD's words, as docker run's. */
static void write_start(const struct starts *starts, unsigned line, struct text *out)
{
    const struct instruction *entry = &starts->entry, *command = &starts->command;
    if (entry->at) {
        go_to(out, &line, entry->line, "\n");
        bool list = append_words(entry, out);
        line += lines_of(entry->at, entry->end);
        if (!list || !command->at)
            return;
        go_to(out, &line, command->line, " \\\n");
    } else if (command->at) {
        go_to(out, &line, command->line, "\n");
        text_append(out, "docker run ");
        append_image(&starts->image, "", out);
    } else {
        return;
    }
    append_words(command, out);
}

void dockerfile_script(const char *text, size_t length, struct text *script)
{
    struct reading r = {text, text + length, 1};
    struct starts starts = {0};
    struct instruction found;
    unsigned line = 1;
    char name[16];
    while (next_instruction(&r, name, &found)) {
        bool env = text_equal(name, "ENV"), image = text_equal(name, "FROM");
        note(&starts, name, &found);
        if (!env && !image && !text_equal(name, "ARG"))
            continue;
        go_to(script, &line, found.line, "\n");
        if (image) {
            export_image(&found, script);
            continue;
        }
        append_environment(&found, env, script);
        line += lines_of(found.at, found.end);
    }
    text_append(script, "\n");
    write_start(&starts, line + 1, script);
    text_append(script, "\n");
}
