/* Recipes of Makefiles and justfiles as commands of a shell; see scripted.h. GNU make's manual,
 * "Recipe Syntax" and "Using Variables"; just.systems/man. What only make or just can work out,
 * $(shell ..) and functions, stays what a shell would have to. */
#include <ctype.h>
#include <string.h>

#include "plan/text/scripted.h"

bool makefile_is(const char *name)
{
    static const char *const names[] = {"Makefile", "makefile", "GNUmakefile"};
    const char *base = text_base_name(name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(base, names[i]))
            return true;
    return text_ends(base, ".mk") || text_starts(base, "Makefile.");
}

bool justfile_is(const char *name)
{
    static const char *const names[] = {"justfile", "Justfile", ".justfile"};
    const char *base = text_base_name(name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_equal(base, names[i]))
            return true;
    return text_ends(base, ".just");
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/* A name for a shell: what has '-' there has '_'. */
static void append_name(const char *at, size_t n, struct text *out)
{
    for (size_t i = 0; i < n; i++)
        text_printf(out, "%c", at[i] == '-' ? '_' : at[i]);
}

/* ---- make: words ---- */

/* "$(NAME)" and "$$" as a shell has them; in quotes where `quoted`. */
static void append_filled(const char *at, const char *end, bool quoted, struct text *out)
{
    for (; at < end; at++) {
        char next = at + 1 < end ? at[1] : '\0';
        if (*at == '$' && next == '$') {
            text_append(out, "$");
            at++;
        } else if (*at == '$' && (next == '(' || next == '{')) {
            size_t n = 0;
            while (at + 2 + n < end && is_name(at[2 + n]))
                n++;
            bool plain = n && at + 2 + n < end && at[2 + n] == (next == '(' ? ')' : '}');
            text_append(out, plain ? "${" : "$");
            if (plain)
                append_name(at + 2, n, out);
            text_append(out, plain ? "}" : "");
            at += plain ? n + 2 : 0;
        } else if (*at == '$') { /* $@ and its like: names of files */
            text_append(out, quoted ? "\\$" : "'$'");
        } else {
            text_printf(out, quoted && strchr("\"`\\", *at) ? "\\%c" : "%c", *at);
        }
    }
}

static const char *skip_blank(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *trim_end(const char *at, const char *end)
{
    while (end > at && strchr(" \t\r", end[-1]))
        end--;
    return end;
}

/* ---- make: lines outside of recipes ---- */

/* "NAME ?= value" and its like; false: another line. */
static bool append_variable(const char *at, const char *end, struct text *out)
{
    static const char *const words[] = {"export ", "override "};
    at = skip_blank(at, end);
    for (size_t i = 0; i < 2; i++)
        if ((size_t)(end - at) > strlen(words[i]) &&
            strncmp(at, words[i], strlen(words[i])) == 0)
            at = skip_blank(at + strlen(words[i]), end);
    size_t n = 0;
    while (at + n < end && is_name(at[n]))
        n++;
    const char *sign = skip_blank(at + n, end);
    bool keeps = sign < end && *sign == '?', adds = sign < end && *sign == '+';
    sign += keeps || adds;
    while (sign < end && *sign == ':')
        sign++;
    if (!n || sign >= end || *sign != '=' || isdigit((unsigned char)*at))
        return false;
    const char *value = skip_blank(sign + 1, end), *stop = value;
    while (stop < end && *stop != '#')
        stop++;
    stop = trim_end(value, stop);
    text_append(out, "export ");
    append_name(at, n, out);
    text_append(out, "=\"");
    if (keeps || adds) { /* what stands already, or a part of it */
        text_append(out, "${");
        append_name(at, n, out);
        text_append(out, keeps ? ":-" : ":-}");
        text_append(out, adds ? " " : "");
    }
    append_filled(value, stop, true, out);
    text_append(out, keeps ? "}\"" : "\"");
    return true;
}

/* ifeq (a,b), ifneq, ifdef, ifndef as tests; else and endif as they are. */
static bool append_condition(const char *at, const char *end, struct text *out)
{
    static const struct {
        const char *word, *head, *tail;
    } words[] = {{"ifeq", "if [ \"", "\" ]; then"},
                 {"ifneq", "if [ \"", "\" ]; then"},
                 {"ifdef", "if [ -n \"", "\" ]; then"},
                 {"ifndef", "if [ -z \"", "\" ]; then"},
                 {"else", "else", ""},
                 {"endif", "fi", ""}};
    at = skip_blank(at, end);
    end = trim_end(at, end);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(end - at) < n || strncmp(at, words[i].word, n) != 0 ||
            (at + n < end && is_name(at[n])))
            continue;
        const char *of = skip_blank(at + n, end);
        const char *comma = i < 2 ? memchr(of, ',', (size_t)(end - of)) : NULL;
        bool inner = i == 4 && of < end;
        text_append(out, inner ? "el" : words[i].head);
        if (inner)
            return append_condition(of, end, out);
        if (comma && *of == '(') {
            append_filled(of + 1, comma, true, out);
            text_append(out, i == 0 ? "\" = \"" : "\" != \"");
            append_filled(skip_blank(comma + 1, end), end - (end[-1] == ')'), true, out);
        } else if (i == 2 || i == 3) {
            text_append(out, "${");
            append_name(of, (size_t)(end - of), out);
            text_append(out, ":-}");
        }
        text_append(out, words[i].tail);
        return true;
    }
    return false;
}

/* ---- make ---- */

static bool carried_on(const char *at, const char *end)
{
    end = trim_end(at, end);
    return end > at && end[-1] == '\\';
}

/* A recipe's line without make's own '@', '-' and '+' in front. */
static void append_recipe(const char *at, const char *end, bool first, struct text *out)
{
    at = skip_blank(at, end);
    while (first && at < end && strchr("@-+", *at))
        at = skip_blank(at + 1, end);
    append_filled(at, end, false, out);
}

/* A value may use variables that stand behind it: all of those that no condition guards, in
 * front of the first line. */
static void append_variables(const char *text, const char *end, struct text *script)
{
    unsigned depth = 0;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        struct text ignored = {.arena = script->arena};
        size_t length = (size_t)(stop - at);
        bool opens = length > 2 && strncmp(skip_blank(at, stop), "if", 2) == 0;
        bool closes = length > 4 && strncmp(skip_blank(at, stop), "endif", 5) == 0;
        bool adds = memchr(at, '+', length) != NULL;
        depth += opens && append_condition(at, stop, &ignored);
        depth -= closes && depth;
        if (*at != '\t' && !depth && !adds && stop > at && stop[-1] != '\\' &&
            append_variable(at, stop, script))
            text_append(script, "; ");
        at = newline ? newline + 1 : end;
    }
}

void makefile_script(const char *text, size_t length, struct text *script)
{
    const char *end = text + length;
    bool more = false, recipe = false; /* the line before is carried on; it was a recipe's */
    append_variables(text, end, script);
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        recipe = more ? recipe : *at == '\t';
        if (recipe)
            append_recipe(at, stop, !more, script);
        else if (!more && !append_condition(at, stop, script))
            append_variable(at, stop, script);
        more = carried_on(at, stop);
        text_append(script, newline ? "\n" : "");
        at = newline ? newline + 1 : end;
    }
}

/* ---- just ---- */

/* "{{name}}" as a shell's variable; other expressions are worked out by just. */
static void append_just(const char *at, const char *end, struct text *out)
{
    while (at < end) {
        const char *open = at, *close;
        while (open + 1 < end && !(open[0] == '{' && open[1] == '{'))
            open++;
        if (open + 1 >= end) {
            text_append_n(out, at, (size_t)(end - at));
            return;
        }
        text_append_n(out, at, (size_t)(open - at));
        const char *name = skip_blank(open + 2, end);
        for (close = name; close < end && *close != '}';)
            close++;
        const char *stop = trim_end(name, close);
        size_t n = 0;
        while (name + n < stop && is_name(name[n]))
            n++;
        bool plain = n && name + n == stop;
        text_append(out, plain ? "${" : "$(just)");
        if (plain)
            append_name(name, n, out);
        text_append(out, plain ? "}" : "");
        at = close + 2 < end ? close + 2 : end;
    }
}

/* A string of just's as a word in single quotes; of env("X", "d") the last. false: other
 * expressions. */
static bool append_string(const char *at, const char *end, struct text *out)
{
    at = skip_blank(at, end);
    const char *last = NULL;
    bool call = (size_t)(end - at) > 3 && strncmp(at, "env", 3) == 0;
    for (const char *c = at; c < end; c++) {
        if (*c != '"' && *c != '\'')
            continue;
        const char *close = memchr(c + 1, *c, (size_t)(end - c - 1));
        if (!close || (!call && c != at))
            break;
        last = c;
        c = close;
        if (!call)
            break;
    }
    if (!last)
        return false;
    text_append(out, "'");
    for (const char *c = last + 1; c < end && *c != *last; c++)
        text_printf(out, *c == '\'' ? "'\\''" : "%c", *c);
    text_append(out, "'");
    return true;
}

static void append_assigned(const char *name, size_t n, const char *value, const char *end,
                            struct text *out)
{
    text_append(out, "export ");
    append_name(name, n, out);
    text_append(out, "=");
    if (!append_string(value, end, out))
        text_append(out, "$(just)");
    text_append(out, "; ");
}

/* "name := 'x'", or the head of a recipe with what its parameters are unless they are given. */
static void append_head(const char *at, const char *end, struct text *out)
{
    while (at < end) {
        size_t n = 0;
        at = skip_blank(at, end);
        while (at + n < end && is_name(at[n]))
            n++;
        const char *sign = skip_blank(at + n, end);
        bool assigns = sign + 1 < end && sign[0] == ':' && sign[1] == '=';
        if (n && assigns) {
            append_assigned(at, n, sign + 2, end, out);
            return;
        }
        if (sign < end && *sign == ':')
            return;
        if (n && sign < end && *sign == '=') {
            const char *value = skip_blank(sign + 1, end), *stop = value;
            char quote = stop < end && strchr("'\"", *stop) ? *stop++ : '\0';
            while (stop < end && (quote ? *stop != quote : !strchr(" \t:", *stop)))
                stop++;
            stop += quote && stop < end;
            append_assigned(at, n, value, stop, out);
            at = stop;
            continue;
        }
        at += n ? n : 1;
    }
}

void justfile_script(const char *text, size_t length, struct text *script)
{
    const char *end = text + length;
    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end, *line = skip_blank(at, stop);
        bool recipe = line > at, comment = line < stop && *line == '#';
        static const char *const words[] = {"export ", "set ", "alias ", "import ", "mod "};
        bool own = false;
        for (size_t i = 1; i < sizeof words / sizeof *words; i++)
            own = own || ((size_t)(stop - line) > strlen(words[i]) &&
                          strncmp(line, words[i], strlen(words[i])) == 0);
        if (!recipe && (size_t)(stop - line) > 7 && strncmp(line, words[0], 7) == 0)
            line += 7;
        line += recipe && line < stop && *line == '@';
        if (recipe && !comment)
            append_just(line, stop, script);
        else if (!recipe && !comment && !own && line < stop && *line != '[')
            append_head(line, stop, script);
        text_append(script, newline ? "\n" : "");
        at = newline ? newline + 1 : end;
    }
}
