/* Statements of Python scripts; see python.h. */
#include "plan/text/python.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/encoding.h"
#include "plan/text/python_value.h"

enum { STATEMENTS = 20000, BLOCKS = 64, TARGET = 256 };

struct block {
    size_t indent;
    bool nested;
};

struct reader {
    const char *name, *at, *end;
    struct mark mark;
    struct arena *arena;
    struct err *err;
    struct python_scope scope;
    struct python *python;
    size_t capacity, n_blocks;
    struct block blocks[BLOCKS];
};

/* ---- logical lines ---- */

static void step(struct reader *r)
{
    bool newline = *r->at++ == '\n';
    r->mark.line += newline;
    r->mark.column = newline ? 1 : r->mark.column + 1;
}

/* Copies a string as it stands. */
static enum status copy_string(struct reader *r, size_t length, struct text *line)
{
    text_append_n(line, r->at, length);
    for (size_t i = 0; i < length; i++)
        step(r);
    return STATUS_OK;
}

/* Is what ends here the end of a name? A prefix of a string is not one. */
static bool in_name(const struct text *line)
{
    char last = line->length ? line->data[line->length - 1] : ' ';
    return isalnum((unsigned char)last) || last == '_';
}

/* One statement without its comments, with its lines where brackets or "\" go on; *more:
 * another one may follow on the same line, behind a semicolon. */
static enum status read_line(struct reader *r, struct text *line)
{
    int depth = 0;
    struct mark mark = r->mark;
    while (r->at < r->end) {
        size_t length = in_name(line) ? 0 : python_string_length(r->at, r->end);
        if (length) {
            TRY(copy_string(r, length, line));
            continue;
        }
        char c = *r->at;
        if (c == '\'' || c == '"')
            return err_at(r->err, STATUS_INPUT, r->mark, "a string is not closed");
        if (c == '#') {
            while (r->at < r->end && *r->at != '\n')
                step(r);
            continue;
        }
        if (c == '\\' && r->at + 1 < r->end && r->at[1] == '\n') {
            step(r);
            step(r);
            text_append(line, "\n");
            continue;
        }
        depth += strchr("([{", c) != NULL;
        depth -= strchr(")]}", c) != NULL;
        step(r);
        if ((c == '\n' || c == ';') && depth <= 0)
            return STATUS_OK;
        text_append_n(line, c == '\r' ? " " : &c, 1);
    }
    if (depth > 0)
        return err_at(r->err, STATUS_INPUT, mark, "a bracket is not closed");
    return STATUS_OK;
}

/* ---- blocks ---- */

static bool begins_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncmp(text, word, n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '_';
}

static bool begins_any(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (begins_word(text, *words))
            return true;
    return false;
}

static bool is_nested(const struct reader *r)
{
    for (size_t i = 0; i < r->n_blocks; i++)
        if (r->blocks[i].nested)
            return true;
    return false;
}

/* A header opens a block; a deeper one than BLOCKS is taken for part of the last. */
static bool open_block(struct reader *r, const char *text, size_t indent)
{
    static const char *const conditional[] = {"if",    "elif",   "else",  "for",
                                              "while", "except", "match", NULL};
    static const char *const plain[] = {"def",     "class", "with", "try",
                                        "finally", "async", NULL};
    bool nested = begins_any(text, conditional) && !strstr(text, "__name__");
    if (!nested && !begins_any(text, plain) && !strstr(text, "__name__"))
        return false;
    if (r->n_blocks < BLOCKS)
        r->blocks[r->n_blocks++] = (struct block){indent, nested};
    return true;
}

/* ---- statements ---- */

/* Where an assignment's '=' stands, on no level of brackets; NULL: there is none. *changes: it
 * is one of "+=" and its likes. */
static const char *find_equals(const char *text, bool *changes)
{
    const char *end = text + strlen(text);
    int depth = 0;
    *changes = false;
    for (const char *at = text; at < end; at++) {
        bool name = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        size_t length = name ? 0 : python_string_length(at, end);
        if (length) {
            at += length - 1;
            continue;
        }
        depth += strchr("([{", *at) != NULL;
        depth -= strchr(")]}", *at) != NULL;
        if (*at != '=' || depth > 0)
            continue;
        if (at[1] == '=' || (at > text && strchr("=!<>:", at[-1])))
            return NULL;
        *changes = at > text && strchr("+-*/%&|^@", at[-1]);
        return at;
    }
    return NULL;
}

/* "cfg.model.x" of what stands before '=', without its annotation; NULL: no such name. */
static const char *target_of(struct reader *r, const char *text, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."
                                  "0123456789";
    size_t n = 0;
    while (n < length && strchr(letters, text[n]))
        n++;
    size_t blank = n + strspn(text + n, " ");
    if (!n || n > TARGET || isdigit((unsigned char)text[0]) ||
        (blank < length && text[blank] != ':'))
        return NULL;
    return arena_strndup(r->arena, text, n);
}

static enum status add(struct reader *r, struct python_statement statement)
{
    struct python *python = r->python;
    if (python->n == STATEMENTS)
        return err_at(r->err, STATUS_INPUT, statement.mark,
                      "more than the limit of %d statements", STATEMENTS);
    python->statements = arena_grow(r->arena, python->statements, python->n, &r->capacity,
                                    sizeof *python->statements);
    python->statements[python->n++] = statement;
    return STATUS_OK;
}

/* "from a import b as c, d": c is b. */
static void read_import(struct reader *r, const char *text)
{
    const char *names = strstr(text, " import ");
    for (const char *at = names ? names + 8 : ""; *at;) {
        at += strspn(at, " (),");
        size_t n = strcspn(at, " (),");
        const char *name = arena_strndup(r->arena, at, n), *alias = name;
        at += n + strspn(at + n, " ");
        if (begins_word(at, "as")) {
            at += 2 + strspn(at + 2, " ");
            n = strcspn(at, " (),");
            alias = arena_strndup(r->arena, at, n);
            at += n;
        }
        if (*name && !text_equal(name, alias))
            python_bind(&r->scope, alias,
                        (struct python_value){.kind = PYTHON_WORD, .text = name});
    }
}

/* "a, b.c = 1, 2": each of its own; what is not a list of as many is not known, and a call is
 * one by itself. */
static enum status read_several(struct reader *r, const char *text, size_t length,
                                struct python_statement like)
{
    const struct python_value all = like.value;
    size_t commas = 0, i = 0;
    if (all.kind == PYTHON_CALL) {
        like.target = NULL;
        TRY(add(r, like));
    }
    for (size_t at = 0; at < length; at++) {
        if (strchr("([{'\"", text[at]))
            return STATUS_OK;
        commas += text[at] == ',';
    }
    bool each = all.kind == PYTHON_LIST && all.n == commas + 1;
    for (const char *at = text; at < text + length; i++) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ",=");
        n = at + n > text + length ? (size_t)(text + length - at) : n;
        struct python_statement one = like;
        one.target = target_of(r, at, n);
        one.value =
            each && i < all.n ? all.items[i].value : (struct python_value){.text = all.text};
        if (one.target)
            TRY(add(r, one));
        at += n + 1;
    }
    return STATUS_OK;
}

/* "x += [..]", "x.append(..)" and "x.extend([..])" of a list. Under a condition nobody knows
 * what is added. */
static void grow_list(struct reader *r, const struct python_statement *s, bool adds)
{
    const char *callee = s->value.kind == PYTHON_CALL && !s->target ? s->value.callee : "";
    bool appends = text_ends(callee, ".append"), extends = text_ends(callee, ".extend");
    struct python_value more = s->value;
    if (appends || extends)
        more = s->value.n == 1 ? s->value.items[0].value
                               : (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""};
    else if (!adds || !s->target)
        return;
    const char *name =
        adds ? s->target : arena_strndup(r->arena, callee, strlen(callee) - strlen(".append"));
    if (s->nested)
        more = (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""};
    python_grow(&r->scope, name, more, !appends && !s->nested);
}

static enum status read_statement(struct reader *r, const char *text, struct mark mark)
{
    bool changes;
    const char *equals = find_equals(text, &changes);
    struct python_statement statement = {
        .mark = mark, .said = python_on_one_line(r->arena, text), .nested = is_nested(r)};
    if (equals)
        statement.target = target_of(r, text, (size_t)(equals - text) - changes);
    bool returns = begins_word(text, "return");
    statement.target = returns ? NULL : statement.target;
    equals = returns ? text + strlen("return") - 1 : equals;
    statement.value = python_value(&r->scope, equals ? equals + 1 : text, text, mark);
    if (returns)
        return statement.value.kind == PYTHON_CALL ? add(r, statement) : STATUS_OK;
    if (equals && !statement.target)
        return read_several(r, text, (size_t)(equals - text), statement);
    bool adds = changes && equals > text && equals[-1] == '+';
    grow_list(r, &statement, adds);
    if (changes)
        statement.value.kind = PYTHON_UNKNOWN;
    if (adds && statement.target && python_is_list(&r->scope, statement.target))
        return add(r, statement);
    bool plain = statement.target && !strchr(statement.target, '.');
    if (plain && (statement.value.kind == PYTHON_CALL || statement.nested))
        python_bind(&r->scope, statement.target,
                    (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""});
    else if (plain)
        python_bind(&r->scope, statement.target, statement.value);
    return statement.target || statement.value.kind == PYTHON_CALL ? add(r, statement)
                                                                   : STATUS_OK;
}

static enum status read_decorator(struct reader *r, const char *text, struct mark mark)
{
    const struct python_statement statement = {
        .mark = mark,
        .said = python_on_one_line(r->arena, text),
        .value = python_value(&r->scope, text + 1, text, mark),
        .decorates = true};
    return statement.value.kind == PYTHON_CALL ? add(r, statement) : STATUS_OK;
}

/* "if x: y = 1" on one line: what stands behind the colon is inside. */
static const char *behind_colon(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && colon[1 + strspn(colon + 1, " ")] ? colon + 1 + strspn(colon + 1, " ")
                                                      : NULL;
}

static enum status read_logical(struct reader *r, const char *text, size_t indent,
                                struct mark mark)
{
    while (r->n_blocks && r->blocks[r->n_blocks - 1].indent >= indent)
        r->n_blocks--;
    if (begins_word(text, "from") || begins_word(text, "import")) {
        read_import(r, python_on_one_line(r->arena, text));
        return STATUS_OK;
    }
    if (text[0] == '@')
        return read_decorator(r, text, mark);
    if (!open_block(r, text, indent))
        return read_statement(r, text, mark);
    const char *inside = begins_word(text, "def") ? NULL : behind_colon(text);
    return inside && find_equals(inside, &(bool){false}) ? read_statement(r, inside, mark)
                                                         : STATUS_OK;
}

enum status python_read(const char *name, const char *text, size_t length, struct arena *arena,
                        struct python *python, struct err *err)
{
    const char *file = arena_strdup(arena, name);
    struct reader r = {.name = file,
                       .at = text,
                       .end = text + length,
                       .mark = {file, 1, 1},
                       .arena = arena,
                       .err = err,
                       .scope = {.arena = arena},
                       .python = python};
    *python = (struct python){0};
    TRY(encoding_check(file, false, text, length, err));
    while (r.at < r.end) {
        struct text line = {.arena = arena};
        size_t indent = 0;
        for (; r.at < r.end && strchr(" \t", *r.at); indent++)
            step(&r);
        struct mark mark = r.mark;
        TRY(read_line(&r, &line));
        size_t n = line.length;
        while (n && strchr(" \t", line.data[n - 1]))
            n--;
        if (n)
            TRY(read_logical(&r, arena_strndup(arena, line.data, n), indent, mark));
    }
    return STATUS_OK;
}
