/* Statements of Python scripts; see python.h. */
#include "plan/text/python.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/encoding.h"
#include "plan/text/python_value.h"

enum { STATEMENTS = 20000, BLOCKS = 64, CONDITIONS = 16, TARGET = 256 };

struct block {
    size_t indent;
    bool nested;
    size_t function,
        names; /* from 1, and the names that were bound before it; 0: no function */
    struct python_condition conditions[CONDITIONS]; /* of its own */
    size_t n;
};

struct reader {
    const char *name, *at, *end;
    struct mark mark;
    struct arena *arena;
    struct err *err;
    struct python_scope scope;
    size_t made; /* of the scope */
    struct python *python;
    size_t capacity, n_blocks, functions, imports;
    struct block blocks[BLOCKS];
    struct block closed; /* the last one, for an "else" behind it */
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
            return err_at(r->err, r->mark, "a string is not closed");
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
        return err_at(r->err, mark, "a bracket is not closed");
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

/* To the last character of a string that begins here; false: none does, and brackets count. */
static bool passes_string(const char *begin, const char **at, const char *end, int *depth)
{
    const char *c = *at;
    bool name = c > begin && (isalnum((unsigned char)c[-1]) || c[-1] == '_');
    size_t length = name ? 0 : python_string_length(c, end);
    *at = length ? c + length - 1 : c;
    *depth += !length && strchr("([{", *c) != NULL;
    *depth -= !length && strchr(")]}", *c) != NULL;
    return length > 0;
}

/* The condition of "if x > 1: y = 2", without its word and what stands behind it. */
static const char *condition_text(struct reader *r, const char *text)
{
    const char *begin = text + strcspn(text, " ("), *end = text + strlen(text);
    int depth = 0;
    begin += strspn(begin, " ");
    for (const char *at = begin; at < end; at++) {
        if (passes_string(begin, &at, end, &depth))
            continue;
        if (*at == ':' && depth == 0)
            return python_on_one_line(r->arena,
                                      arena_strndup(r->arena, begin, (size_t)(at - begin)));
    }
    return NULL;
}

/* "elif" and "else" stand where what is before them does not hold. */
static void set_conditions(struct reader *r, const char *text, struct block *block)
{
    bool otherwise = begins_word(text, "elif") || begins_word(text, "else");
    const struct block *before = &r->closed;
    bool known = begins_word(text, "if");
    if (otherwise && before->n && before->n < CONDITIONS && before->indent == block->indent &&
        before->conditions[before->n - 1].text) {
        memcpy(block->conditions, before->conditions, before->n * sizeof *before->conditions);
        block->n = before->n;
        block->conditions[block->n - 1].holds = false;
        known = begins_word(text, "elif");
        if (!known)
            return;
    }
    block->conditions[block->n++] =
        (struct python_condition){known ? condition_text(r, text) : NULL, true};
}

static void add_function(struct reader *r, const char *text, struct mark mark,
                         struct block *block)
{
    struct python *python = r->python;
    const char *name = strstr(text, "def ") + 4;
    size_t n = python_name_length(name += strspn(name, " "));
    python->functions = arena_grow(r->arena, python->functions, python->n_functions,
                                   &r->functions, sizeof *python->functions);
    struct python_function *f = &python->functions[python->n_functions++];
    *f = (struct python_function){
        .name = arena_strndup(r->arena, name, n), .mark = mark, .last_line = mark.line};
    block->function = python->n_functions;
    block->names = r->scope.n;
    name += n + strspn(name + n, " ");
    if (*name == '(')
        python_parameters(&r->scope, name, text, mark, f);
    for (size_t i = 0; i < f->n; i++) /* a name of its own, whatever is called so outside */
        python_bind(&r->scope, f->parameters[i].name,
                    (struct python_value){.kind = PYTHON_WORD, .text = f->parameters[i].name});
}

/* A header opens a block; a deeper one than BLOCKS is taken for part of the last. */
static bool open_block(struct reader *r, const char *text, size_t indent, struct mark mark)
{
    static const char *const conditional[] = {"if",    "elif",   "else",  "for",
                                              "while", "except", "match", NULL};
    static const char *const plain[] = {"def",     "class", "with", "try",
                                        "finally", "async", NULL};
    bool nested = begins_any(text, conditional) && !strstr(text, "__name__");
    if (!nested && !begins_any(text, plain) && !strstr(text, "__name__"))
        return false;
    if (r->n_blocks == BLOCKS)
        return true;
    struct block *block = &r->blocks[r->n_blocks++];
    *block = (struct block){.indent = indent, .nested = nested};
    bool function = text_starts(text, "def ") || text_starts(text, "async def ");
    if (nested)
        set_conditions(r, text, block);
    else if (function)
        add_function(r, text, mark, block);
    return true;
}

/* Ends blocks that a line of this indent is no part of; names of a function end with it. */
static void close_blocks(struct reader *r, size_t indent)
{
    r->closed = (struct block){0};
    while (r->n_blocks && r->blocks[r->n_blocks - 1].indent >= indent) {
        r->closed = r->blocks[--r->n_blocks];
        if (r->closed.function)
            r->scope.n = r->closed.names;
    }
}

static size_t function_of(const struct reader *r)
{
    for (size_t i = r->n_blocks; i > 0; i--)
        if (r->blocks[i - 1].function)
            return r->blocks[i - 1].function;
    return 0;
}

/* What has to hold inside all blocks that are open. */
static const struct python_condition *conditions_here(struct reader *r, size_t *n)
{
    size_t capacity = 0;
    struct python_condition *all = NULL;
    *n = 0;
    for (size_t i = 0; i < r->n_blocks; i++)
        for (size_t j = 0; j < r->blocks[i].n; j++) {
            all = arena_grow(r->arena, all, *n, &capacity, sizeof *all);
            all[(*n)++] = r->blocks[i].conditions[j];
        }
    return all;
}

static void add_return(struct reader *r, struct python_value value, struct mark mark)
{
    size_t function = function_of(r);
    if (!function)
        return;
    struct python_function *f = &r->python->functions[function - 1];
    struct python_return one = {.value = value, .mark = mark, .before = r->python->n};
    one.conditions = conditions_here(r, &one.n_conditions);
    f->returns =
        arena_grow(r->arena, f->returns, f->n_returns, &f->capacity, sizeof *f->returns);
    f->returns[f->n_returns++] = one;
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
        if (passes_string(text, &at, end, &depth))
            continue;
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
        return err_at(r->err, statement.mark, "more than the limit of %d statements",
                      STATEMENTS);
    python->statements = arena_grow(r->arena, python->statements, python->n, &r->capacity,
                                    sizeof *python->statements);
    statement.function = function_of(r);
    if (statement.nested)
        statement.conditions = conditions_here(r, &statement.n_conditions);
    python->statements[python->n++] = statement;
    return STATUS_OK;
}

static void add_import(struct reader *r, struct python_import import)
{
    struct python *python = r->python;
    python->imports = arena_grow(r->arena, python->imports, python->n_imports, &r->imports,
                                 sizeof *python->imports);
    python->imports[python->n_imports++] = import;
}

/* "from a import b as c, d": c is b. "import a.b as c" is of the module itself. */
static void read_import(struct reader *r, const char *text)
{
    const char *names = strstr(text, " import "), *module = NULL;
    if (begins_word(text, "from")) {
        const char *at = text + 4 + strspn(text + 4, " ");
        module = arena_strndup(r->arena, at, strcspn(at, " "));
    }
    for (const char *at = names ? names + 8 : module ? "" : text + 6; *at;) {
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
        if (*name)
            add_import(
                r, (struct python_import){alias, module ? module : name, module ? name : NULL});
        if (module && *name && !text_equal(name, alias))
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

/* "a = b = 1": b = 1 as well, which gives a its value. */
static enum status read_chained(struct reader *r, const char *text, const char **equals,
                                struct mark mark);

static enum status read_statement(struct reader *r, const char *text, struct mark mark)
{
    bool changes;
    const char *equals = find_equals(text, &changes);
    const char *first = equals;
    TRY(read_chained(r, text, &equals, mark));
    struct python_statement statement = {
        .mark = mark, .said = python_on_one_line(r->arena, text), .nested = is_nested(r)};
    if (equals)
        statement.target = target_of(r, text, (size_t)(first - text) - changes);
    bool returns = begins_word(text, "return");
    statement.target = returns ? NULL : statement.target;
    equals = returns ? text + strlen("return") - 1 : equals;
    statement.value = python_value(&r->scope, equals ? equals + 1 : text, text, mark);
    statement.returns = returns;
    if (returns)
        add_return(r, statement.value, mark);
    if (returns)
        return statement.value.kind == PYTHON_CALL ? add(r, statement) : STATUS_OK;
    if (equals && !statement.target)
        return read_several(r, text, (size_t)(first - text), statement);
    bool adds = changes && first > text && first[-1] == '+';
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

static enum status read_chained(struct reader *r, const char *text, const char **equals,
                                struct mark mark)
{
    bool changes;
    const char *behind = *equals ? *equals + 1 + strspn(*equals + 1, " \n") : NULL;
    const char *next = behind && !begins_word(text, "return") && !begins_word(behind, "lambda")
                           ? find_equals(behind, &changes)
                           : NULL;
    if (!next || changes || !target_of(r, behind, (size_t)(next - behind)))
        return STATUS_OK;
    TRY(read_statement(r, behind, mark));
    for (; next; next = find_equals(next + 1, &changes))
        *equals = next;
    return STATUS_OK;
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
    close_blocks(r, indent);
    for (size_t i = 0; i < r->n_blocks; i++)
        if (r->blocks[i].function)
            r->python->functions[r->blocks[i].function - 1].last_line = r->mark.line;
    if (begins_word(text, "from") || begins_word(text, "import")) {
        read_import(r, python_on_one_line(r->arena, text));
        return STATUS_OK;
    }
    if (text[0] == '@')
        return read_decorator(r, text, mark);
    if (!open_block(r, text, indent, mark))
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
    r.scope.made = &r.made;
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
