/* The command that a unit of systemd starts, with its environment: ExecStart of a service, Exec
 * and Image of a container (podman's quadlets); see scripted.h. systemd.syntax(7),
 * systemd.service(5) "Command lines", systemd.exec(5) "Environment", podman-systemd.unit(5). */
#include <ctype.h>
#include <string.h>

#include "plan/text/container.h"
#include "plan/text/scripted.h"

/* "Key=value" with the lines that carry it on. */
struct entry {
    const char *key, *value, *end;
    size_t key_length;
    unsigned line; /* of its key */
};

struct reading {
    const char *at, *end;
    unsigned line;
};

static const char *line_end(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline : end;
}

/* Behind blanks, blank lines and comments. */
static const char *skip_comments(const char *at, const char *end)
{
    while (at < end && (isspace((unsigned char)*at) || *at == '#' || *at == ';'))
        at = isspace((unsigned char)*at) ? at + 1 : line_end(at, end);
    return at;
}

bool unit_file_is(const char *name, const char *text)
{
    static const char *const sections[] = {"[Unit]", "[Service]", "[Container]"};
    const char *at = skip_comments(text, text + strlen(text));
    if (text_ends(name, ".service") || text_ends(name, ".container"))
        return true;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (text_starts(at, sections[i]))
            return true;
    return false;
}

static bool is_comment(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at < end && (*at == '#' || *at == ';');
}

static bool carries_on(const char *at, const char *end)
{
    while (end > at && end[-1] == '\r')
        end--;
    return end > at && end[-1] == '\\';
}

/* The next entry; false: there is none. Comments between carried lines are passed over. */
static bool next_entry(struct reading *r, struct entry *found)
{
    while (r->at < r->end) {
        const char *at = r->at, *end = line_end(at, r->end);
        const char *equals = memchr(at, '=', (size_t)(end - at));
        bool more = carries_on(at, end), own = equals && !is_comment(at, end);
        while (own && at < equals && (*at == ' ' || *at == '\t'))
            at++;
        *found = (struct entry){at, own ? equals + 1 : end, end, 0, r->line};
        while (own && at + found->key_length < equals &&
               isalpha((unsigned char)at[found->key_length]))
            found->key_length++;
        for (;;) {
            r->at = end < r->end ? end + 1 : end;
            r->line++;
            if (!own || !more || r->at >= r->end)
                break;
            end = line_end(r->at, r->end);
            more = is_comment(r->at, end) || carries_on(r->at, end);
            found->end = end;
        }
        if (own)
            return true;
    }
    return false;
}

static bool is_key(const struct entry *e, const char *key)
{
    return strlen(key) == e->key_length && strncmp(e->key, key, e->key_length) == 0;
}

/* ---- words ---- */

/* Characters of a variable's name. */
static size_t name_length(const char *at, const char *end)
{
    size_t n = 0;
    bool starts = at < end && (isalpha((unsigned char)*at) || *at == '_');
    while (starts && at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_'))
        n++;
    return n;
}

/* Where words stand: only those of a command have variables (systemd.exec(5), Environment=). */
struct words {
    const char *start, *end; /* of the value */
    bool command;
    struct text *out;
};

/* "$NAME" that is a whole word, between the quotes that are open. */
static bool is_word(const struct words *w, const char *at, size_t name, char quote)
{
    const char *before = at - (quote != '\0'), *behind = at + 1 + name + (quote != '\0');
    bool starts = before == w->start || isspace((unsigned char)before[-1]);
    return name && starts && (behind >= w->end || isspace((unsigned char)*behind)) &&
           (!quote || (at[-1] == quote && behind[-1] == quote));
}

/* A dollar sign, whatever the quotes: "${NAME}" is a variable in any part of a word and one
 * word with all of its blanks, "$NAME" as a word of its own alone, "$$" is a sign. Returns the
 * last that was read. */
static const char *append_dollar(const struct words *w, const char *at, char quote)
{
    static const char *const signs[] = {"$", "\\$"};
    bool braces = at + 1 < w->end && at[1] == '{';
    size_t name = name_length(at + 1 + braces, w->end);
    const char *behind = at + 1 + braces + name;
    const char *cut = quote == '\'' ? "'" : ""; /* a shell's single quotes, left and taken up */
    if (w->command && braces && name && behind < w->end && *behind == '}') {
        const char *around = quote == '"' ? "" : "\"";
        text_printf(w->out, "%s%s${%.*s}%s%s", cut, around, (int)name, at + 2, around, cut);
        return behind;
    }
    if (w->command && !braces && is_word(w, at, name, quote)) {
        text_printf(w->out, "%s$%.*s%s", cut, (int)name, at + 1, cut);
        return behind - 1;
    }
    text_append(w->out, signs[quote != '\'']);
    return w->command && at + 1 < w->end && at[1] == '$' ? at + 1 : at;
}

/* One other character: "%%" stands for one, and what only a shell has another use for stands
 * for itself. */
static const char *append_one(const struct words *w, const char *at, char quote)
{
    bool special = quote != '\'' && (*at == '`' || (!quote && strchr("|&<>();*?~#!", *at)));
    if (*at == '$')
        return append_dollar(w, at, quote);
    text_printf(w->out, special ? "\\%c" : "%c", *at);
    return *at == '%' && at + 1 < w->end && at[1] == '%' ? at + 1 : at;
}

/* What stands on one line, between the quotes that are open. */
static void append_part(const struct words *w, const char *at, const char *end, char *quote)
{
    for (; at < end; at++) {
        bool inside = *quote == '\'' && *at != '\'';
        if (*at == '\\' && !inside && at + 1 < end) {
            text_printf(w->out, "\\%c", *++at);
            continue;
        }
        if (*at == *quote)
            *quote = '\0';
        else if (!*quote && (*at == '"' || *at == '\''))
            *quote = *at;
        at = append_one(w, at, *quote);
    }
}

/* As a shell has it, on the lines where it stands, or all on one. */
static void append_words(const struct entry *e, bool command, bool joined, struct text *out)
{
    const struct words w = {e->value, e->end, command, out};
    char quote = '\0';
    for (const char *at = e->value; at < e->end; at++) {
        const char *stop = line_end(at, e->end), *to = stop;
        while (to > at && to[-1] == '\r')
            to--;
        to -= to > at && to[-1] == '\\';
        if (at == e->value || !is_comment(at, stop))
            append_part(&w, at, to, &quote);
        if (stop < e->end)
            text_append(out, joined ? " " : " \\\n");
        at = stop;
    }
}

/* "A=b c" in quotes as a shell has it, A="b c"; on the same lines. */
static struct entry assignments(const struct entry *e, struct arena *arena)
{
    struct text text = {.arena = arena};
    struct entry moved = *e;
    char quote = '\0';
    for (const char *at = e->value; at < e->end; at++) {
        bool opens = !quote && (*at == '"' || *at == '\''), name = false;
        const char *equals = at + 1;
        if (opens && (at == e->value || isspace((unsigned char)at[-1])))
            while (equals < e->end && (isalnum((unsigned char)*equals) || *equals == '_'))
                equals++;
        name = opens && equals > at + 1 && equals < e->end && *equals == '=';
        if (name)
            text_append_n(&text, at + 1, (size_t)(equals - at));
        text_printf(&text, "%c", *at);
        quote = opens ? *at : *at == quote ? '\0' : quote;
        at = name ? equals : at;
    }
    moved.value = text_string(&text);
    moved.end = moved.value + text.length;
    return moved;
}

/* ---- the script ---- */

struct parts {
    struct entry command, image; /* key NULL: there is none */
};

static struct parts find_parts(const char *text, size_t length)
{
    struct reading r = {text, text + length, 1};
    struct parts parts = {0};
    struct entry e;
    while (next_entry(&r, &e)) {
        if (is_key(&e, "ExecStart") || is_key(&e, "Exec"))
            parts.command = e;
        if (is_key(&e, "Image"))
            parts.image = e;
    }
    return parts;
}

static unsigned lines_of(const struct entry *e)
{
    unsigned n = 0;
    for (const char *at = e->value; at < e->end; at++)
        n += *at == '\n';
    return n;
}

/* Variables that stand behind the command hold for it, too: in front of everything. */
static void export_variables(const char *text, size_t length, unsigned command, bool behind,
                             unsigned *line, struct text *out)
{
    struct reading r = {text, text + length, 1};
    struct entry e;
    while (next_entry(&r, &e)) {
        if (!is_key(&e, "Environment") || (e.line > command) != behind)
            continue;
        for (; !behind && *line < e.line; ++*line)
            text_append(out, "\n");
        text_append(out, "export ");
        e = assignments(&e, out->arena);
        append_words(&e, false, behind, out);
        text_append(out, behind ? "; " : "");
        *line += behind ? 0 : lines_of(&e);
    }
}

void unit_file_script(const char *text, size_t length, struct text *script)
{
    struct parts parts = find_parts(text, length);
    struct entry *command = &parts.command;
    static const char none[] = "";
    unsigned line = 1;
    if (!command->key && !parts.image.key)
        return;
    if (!command->key)
        *command =
            (struct entry){.key = none, .value = none, .end = none, .line = parts.image.line};
    export_variables(text, length, command->line, true, &line, script);
    export_variables(text, length, command->line, false, &line, script);
    for (; line < command->line; line++)
        text_append(script, "\n");
    if (!parts.image.key) { /* signs in front say how it is started */
        command->value += strspn(command->value, "@-:+!| \t");
    } else {
        text_append(script, "docker run ");
        append_words(&parts.image, true, true, script);
        text_append(script, " ");
    }
    append_words(command, true, false, script);
    text_append(script, "\n");
}
