/* A TOML reader; see toml.h. */
#include "plan/text/toml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/encoding.h"

enum { TOML_KEYS = 4096 };

struct toml {
    const char *at, *end;
    struct mark mark;
    struct arena *arena;
    struct err *err;
    size_t n_keys;
    unsigned depth;
};

static enum status read_value(struct toml *toml, struct node **value);

static char peek(const struct toml *toml)
{
    return toml->at < toml->end ? *toml->at : '\0';
}

static void step(struct toml *toml)
{
    bool newline = *toml->at++ == '\n';
    toml->mark.line += newline;
    toml->mark.column = newline ? 1 : toml->mark.column + 1;
}

static void skip_blank(struct toml *toml)
{
    while (toml->at < toml->end && strchr(" \t\r", *toml->at))
        step(toml);
}

static void skip_comment(struct toml *toml)
{
    while (toml->at < toml->end && *toml->at != '\n')
        step(toml);
}

/* Blanks, newlines and comments, as between the items of an array. */
static void skip_lines(struct toml *toml)
{
    for (;;) {
        skip_blank(toml);
        if (peek(toml) == '#')
            skip_comment(toml);
        if (peek(toml) != '\n')
            return;
        step(toml);
    }
}

static enum status unexpected(struct toml *toml, const char *wanted)
{
    if (toml->at == toml->end)
        return err_at(toml->err, toml->mark, "the text ends where %s is expected", wanted);
    if (*toml->at == '\n')
        return err_at(toml->err, toml->mark, "the line ends where %s is expected", wanted);
    return err_at(toml->err, toml->mark, "'%c' stands where %s is expected", *toml->at, wanted);
}

static struct node *new_node(struct toml *toml, enum node_kind kind)
{
    struct node *node = arena_alloc(toml->arena, 1, sizeof *node);
    *node = (struct node){.kind = kind, .mark = toml->mark, .text = ""};
    return node;
}

static void append(struct node *parent, struct node *child)
{
    struct node **link = &parent->first;
    while (*link)
        link = &(*link)->next;
    *link = child;
    parent->n++;
}

static enum status count_key(struct toml *toml)
{
    if (toml->n_keys++ < TOML_KEYS)
        return STATUS_OK;
    return err_at(toml->err, toml->mark, "more than the limit of %d values", TOML_KEYS);
}

/* ---- strings ---- */

static bool starts(const struct toml *toml, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(toml->end - toml->at) >= length && memcmp(toml->at, text, length) == 0;
}

static enum status read_escape(struct toml *toml, struct text *out)
{
    static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
    const char *known = peek(toml) ? strchr(from, peek(toml)) : NULL;
    if (known) {
        text_append_n(out, &to[known - from], 1);
        step(toml);
        return STATUS_OK;
    }
    if (peek(toml) == '\n' || peek(toml) == '\r') { /* a continued line */
        while (toml->at < toml->end && strchr(" \t\r\n", *toml->at))
            step(toml);
        return STATUS_OK;
    }
    return unexpected(toml, "one of the escapes \\n \\t \\\" \\\\");
}

static enum status read_string(struct toml *toml, const char **text)
{
    static const char *const marks[] = {"\"\"\"", "'''", "\"", "'"};
    struct mark mark = toml->mark;
    size_t kind = 0;
    while (!starts(toml, marks[kind]))
        kind++;
    bool lines = kind < 2, escapes = marks[kind][0] == '"';
    struct text out = {.arena = toml->arena};
    for (size_t i = 0; i < strlen(marks[kind]); i++)
        step(toml);
    if (lines && peek(toml) == '\n')
        step(toml);
    while (!starts(toml, marks[kind])) {
        if (toml->at == toml->end || (!lines && *toml->at == '\n'))
            return err_at(toml->err, mark, "a string is not closed");
        bool escape = escapes && *toml->at == '\\';
        if (!escape)
            text_append_n(&out, toml->at, 1);
        step(toml);
        if (escape)
            TRY(read_escape(toml, &out));
    }
    for (size_t i = 0; i < strlen(marks[kind]); i++)
        step(toml);
    *text = text_string(&out);
    return STATUS_OK;
}

/* ---- keys ---- */

static bool is_bare(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static enum status read_key_part(struct toml *toml, const char **key)
{
    skip_blank(toml);
    if (peek(toml) == '"' || peek(toml) == '\'')
        return read_string(toml, key);
    const char *start = toml->at;
    while (toml->at < toml->end && is_bare(*toml->at))
        step(toml);
    if (toml->at == start)
        return unexpected(toml, "a key");
    *key = arena_strndup(toml->arena, start, (size_t)(toml->at - start));
    return STATUS_OK;
}

/* The table under a key, made when there is none; the last one of an array of tables. */
static enum status open_table(struct toml *toml, struct node **table, const char *key,
                              struct mark mark)
{
    struct node *child = node_get(*table, key);
    if (child && child->kind == NODE_SEQUENCE && child->first) {
        child = child->first;
        while (child->next)
            child = child->next;
    }
    if (child && child->kind != NODE_MAPPING)
        return err_at(toml->err, mark, "'%s' is a value, not a table", key);
    if (!child) {
        TRY(count_key(toml));
        child = new_node(toml, NODE_MAPPING);
        child->mark = child->key_mark = mark;
        child->key = key;
        append(*table, child);
    }
    *table = child;
    return STATUS_OK;
}

/* "a.b.c": opens a and b below *table; *key is the last part. */
static enum status read_key(struct toml *toml, struct node **table, const char **key,
                            struct mark *mark)
{
    for (unsigned depth = 0;; depth++) {
        skip_blank(toml);
        *mark = toml->mark;
        TRY(read_key_part(toml, key));
        skip_blank(toml);
        if (peek(toml) != '.')
            return STATUS_OK;
        if (depth == SOURCE_DEPTH / 2)
            return err_at(toml->err, *mark, "a key has too many parts");
        step(toml);
        TRY(open_table(toml, table, *key, *mark));
    }
}

/* ---- values ---- */

static enum status enter(struct toml *toml)
{
    if (toml->depth++ < SOURCE_DEPTH / 2)
        return STATUS_OK;
    return err_at(toml->err, toml->mark, "nested deeper than the limit of %d levels",
                  SOURCE_DEPTH / 2);
}

static enum status read_entry(struct toml *toml, struct node *table)
{
    const char *key;
    struct mark mark;
    struct node *value = NULL;
    TRY(read_key(toml, &table, &key, &mark));
    const struct node *first = node_get(table, key);
    if (first)
        return err_at(toml->err, mark, "key '%s' is given twice, first on line %u, column %u",
                      key, first->key_mark.line, first->key_mark.column);
    if (peek(toml) != '=')
        return unexpected(toml, "'='");
    step(toml);
    skip_blank(toml);
    TRY(count_key(toml));
    TRY(read_value(toml, &value));
    value->key = key;
    value->key_mark = mark;
    append(table, value);
    return STATUS_OK;
}

static enum status read_array(struct toml *toml, struct node *array)
{
    step(toml);
    for (;;) {
        struct node *item = NULL;
        skip_lines(toml);
        if (peek(toml) == ']')
            break;
        TRY(count_key(toml));
        TRY(read_value(toml, &item));
        append(array, item);
        skip_lines(toml);
        if (peek(toml) == ',')
            step(toml);
        else if (peek(toml) != ']')
            return unexpected(toml, "',' or ']'");
    }
    step(toml);
    return STATUS_OK;
}

static enum status read_inline(struct toml *toml, struct node *table)
{
    step(toml);
    for (;;) {
        skip_lines(toml);
        if (peek(toml) == '}')
            break;
        TRY(read_entry(toml, table));
        skip_lines(toml);
        if (peek(toml) == ',')
            step(toml);
        else if (peek(toml) != '}')
            return unexpected(toml, "',' or '}'");
    }
    step(toml);
    return STATUS_OK;
}

/* Numbers, true, false, dates: a word without its underscores. */
static enum status read_plain(struct toml *toml, struct node *node)
{
    struct text text = {.arena = toml->arena};
    bool number = isdigit((unsigned char)peek(toml)) || strchr("+-", peek(toml));
    while (toml->at < toml->end && (is_bare(*toml->at) || strchr("+.:", *toml->at))) {
        if (!number || *toml->at != '_')
            text_append_n(&text, toml->at, 1);
        step(toml);
    }
    if (text.length == 0)
        return unexpected(toml, "a value");
    node->text = text_string(&text);
    return STATUS_OK;
}

static enum status read_value(struct toml *toml, struct node **value)
{
    char c = peek(toml);
    struct node *node = new_node(toml, c == '['   ? NODE_SEQUENCE
                                       : c == '{' ? NODE_MAPPING
                                                  : NODE_SCALAR);
    TRY(enter(toml));
    node->quoted = c == '"' || c == '\'';
    if (c == '[')
        TRY(read_array(toml, node));
    else if (c == '{')
        TRY(read_inline(toml, node));
    else if (node->quoted)
        TRY(read_string(toml, &node->text));
    else
        TRY(read_plain(toml, node));
    toml->depth--;
    *value = node;
    return STATUS_OK;
}

/* ---- lines ---- */

/* "[a.b]" or "[[a.b]]" */
static enum status read_header(struct toml *toml, struct node *root, struct node **table)
{
    const char *key;
    struct mark mark;
    step(toml);
    bool array = peek(toml) == '[';
    if (array)
        step(toml);
    *table = root;
    TRY(read_key(toml, table, &key, &mark));
    if (array) {
        struct node *list = node_get(*table, key);
        if (list && list->kind != NODE_SEQUENCE)
            return err_at(toml->err, mark, "'%s' is no array of tables", key);
        if (!list) {
            TRY(count_key(toml));
            list = new_node(toml, NODE_SEQUENCE);
            list->key = key;
            list->key_mark = mark;
            append(*table, list);
        }
        TRY(count_key(toml));
        *table = new_node(toml, NODE_MAPPING);
        append(list, *table);
    } else {
        TRY(open_table(toml, table, key, mark));
    }
    for (int i = 0; i < 1 + array; i++) {
        if (peek(toml) != ']')
            return unexpected(toml, "']'");
        step(toml);
    }
    return STATUS_OK;
}

static enum status read_lines(struct toml *toml, struct node *root)
{
    struct node *table = root;
    for (;;) {
        skip_lines(toml);
        if (toml->at == toml->end)
            return STATUS_OK;
        if (*toml->at == '[')
            TRY(read_header(toml, root, &table));
        else
            TRY(read_entry(toml, table));
        skip_blank(toml);
        if (peek(toml) == '#')
            skip_comment(toml);
        if (toml->at < toml->end && *toml->at != '\n')
            return unexpected(toml, "the end of the line");
    }
}

enum status toml_read(const char *name, const char *text, size_t length, struct arena *arena,
                      struct node **root, struct err *err)
{
    const char *file = arena_strdup(arena, name);
    struct toml toml = {
        .at = text, .end = text + length, .mark = {file, 1, 1}, .arena = arena, .err = err};
    TRY(encoding_check(file, false, text, length, err));
    struct node *table = new_node(&toml, NODE_MAPPING);
    TRY(read_lines(&toml, table));
    *root = table;
    return STATUS_OK;
}
