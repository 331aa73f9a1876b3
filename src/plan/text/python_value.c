/* Expressions of Python; see python.h. */
#include "plan/text/python_parser.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/text/python_word.h"

static const struct python_value unknown = {.kind = PYTHON_UNKNOWN, .text = ""};

void python_bind(struct python_scope *scope, const char *name, struct python_value value)
{
    scope->names = arena_grow(scope->arena, scope->names, scope->n, &scope->capacity,
                              sizeof *scope->names);
    scope->names[scope->n++] = (struct python_name){name, value};
}

void python_skip(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n\\");
}

bool python_take(struct parser *p, const char *token)
{
    python_skip(p);
    if (!text_starts(p->at, token))
        return false;
    p->at += strlen(token);
    return true;
}

struct python_value python_fail(struct parser *p)
{
    p->failed = true;
    return unknown;
}

const char *python_on_one_line(struct arena *arena, const char *text)
{
    char *line = arena_strdup(arena, text);
    for (char *at = line; *at; at++)
        *at = *at == '\n' ? ' ' : *at;
    return line;
}

/* Where something stands; places are asked for one after the other. */
static struct mark place(struct parser *p, const char *at)
{
    if (!p->counted || at < p->counted) {
        p->counted = p->begin;
        p->mark = p->first;
    }
    for (; p->counted < at; p->counted++) {
        bool newline = *p->counted == '\n';
        p->mark.line += newline;
        p->mark.column = newline ? 1 : p->mark.column + 1;
    }
    return p->mark;
}

/* ---- literals ---- */

size_t python_string_length(const char *at, const char *end)
{
    static const char prefixes[] = "rRbBuUfF";
    const char *begin = at;
    while (at < end && at - begin < 2 && strchr(prefixes, *at))
        at++;
    if (at >= end || !strchr("'\"", *at))
        return 0;
    char quote = *at;
    size_t marks = end - at > 2 && at[1] == quote && at[2] == quote ? 3 : 1;
    for (at += marks; at < end; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
            continue;
        }
        if (*at == '\n' && marks == 1)
            return 0;
        bool closes =
            *at == quote && (marks == 1 || (end - at > 2 && at[1] == quote && at[2] == quote));
        if (closes)
            return (size_t)(at - begin) + marks;
    }
    return 0;
}

static struct python_value word(const char *text)
{
    return (struct python_value){.kind = PYTHON_WORD, .text = text};
}

static struct python_value parse_string(struct parser *p, size_t length)
{
    const char *text = p->at;
    size_t prefix = strcspn(text, "'\"");
    bool made = strpbrk(arena_strndup(p->scope->arena, text, prefix), "fF") != NULL;
    size_t marks = length - prefix >= 6 && text[prefix + 1] == text[prefix] &&
                           text[prefix + 2] == text[prefix]
                       ? 3
                       : 1;
    bool raw = strpbrk(arena_strndup(p->scope->arena, text, prefix), "rR") != NULL;
    struct text out = {.arena = p->scope->arena};
    p->at += length;
    if (!python_read_text(p->scope, text + prefix + marks, text + length - marks, raw, made,
                          &out))
        return unknown;
    struct python_value value = word(text_string(&out));
    value.quoted = true;
    return value;
}

static struct python_value parse_number(struct parser *p)
{
    struct text digits = {.arena = p->scope->arena};
    double value;
    while (isalnum((unsigned char)*p->at) || strchr("._", *p->at) ||
           (strchr("+-", *p->at) && digits.length &&
            strchr("eE", digits.data[digits.length - 1]))) {
        if (!*p->at)
            break;
        if (*p->at != '_')
            text_append_n(&digits, p->at, 1);
        p->at++;
    }
    const char *text = text_string(&digits);
    if (!number_real(text, &value))
        return python_fail(p);
    struct python_value number = word(text);
    number.number = true;
    return number;
}

/* What a name stands for, as an expression that is nothing but it. */
static struct python_value name_value(struct parser *p, const char *name)
{
    const struct python_value *bound = python_look_up(p->scope, name);
    struct python_value is = bound ? *bound : word(name), found;
    bool open = is.kind == PYTHON_WORD && !is.quoted && !is.number;
    if (open && p->scope->find && p->scope->find(p->scope->context, is.text, &found))
        return found;
    if (is.kind == PYTHON_UNKNOWN)
        is.text = name;
    return is;
}

/* ---- lists and calls ---- */

/* "name=" of an argument; NULL: by its place. */
static const char *argument_name(struct parser *p)
{
    python_skip(p);
    size_t n = python_name_length(p->at), blank = n ? strspn(p->at + n, " \t\n") : 0;
    if (!n || p->at[n + blank] != '=' || p->at[n + blank + 1] == '=')
        return NULL;
    const char *name = arena_strndup(p->scope->arena, p->at, n);
    p->at += n + blank + 1;
    return name;
}

/* To the comma or the bracket that ends an argument. */
static void skip_argument(struct parser *p)
{
    const char *begin = p->at, *end = begin + strlen(begin);
    int depth = 0;
    while (p->at < end) {
        bool name = p->at > begin && (isalnum((unsigned char)p->at[-1]) || p->at[-1] == '_');
        size_t length = name ? 0 : python_string_length(p->at, end);
        if (length) {
            p->at += length;
            continue;
        }
        if (depth == 0 && strchr(",)]}", *p->at))
            return;
        depth += strchr("([{", *p->at) != NULL;
        depth -= strchr(")]}", *p->at) != NULL;
        p->at++;
    }
}

/* An argument of a call: of one that is not understood the others still say what they do. */
static struct python_value parse_argument(struct parser *p, char close)
{
    const char *begin = p->at;
    const unsigned depth = p->depth;
    struct python_value value = python_parse(p);
    python_skip(p);
    if (p->failed || (*p->at != ',' && *p->at != close)) {
        p->failed = false;
        p->depth = depth;
        p->at = begin;
        skip_argument(p);
        value = unknown;
    }
    begin += strspn(begin, " \t\n");
    if (value.kind == PYTHON_UNKNOWN && p->at > begin)
        value.text = python_on_one_line(
            p->scope->arena, arena_strndup(p->scope->arena, begin, (size_t)(p->at - begin)));
    return value;
}

/* "list(x) for x in y" and "x for x in y" make a list like y. */
static bool copies(struct parser *p, const char *text, struct python_value *out)
{
    char item[64], each[64], of[64];
    int end = 0;
    bool plain = sscanf(text, "%63[A-Za-z0-9_] for %63[A-Za-z0-9_] in %63[A-Za-z0-9_]%n", item,
                        each, of, &end) == 3;
    if (!plain && sscanf(text, "list(%63[A-Za-z0-9_]) for %63[A-Za-z0-9_] in %63[A-Za-z0-9_]%n",
                         item, each, of, &end) != 3)
        return false;
    struct python_value value = name_value(p, arena_strdup(p->scope->arena, of));
    if (text[end] || !text_equal(item, each) || value.kind != PYTHON_LIST)
        return false;
    *out = value;
    return true;
}

static void parse_items(struct parser *p, char close, bool named, struct python_value *out)
{
    size_t capacity = 0;
    for (;;) {
        python_skip(p);
        if (*p->at == close) {
            p->at++;
            return;
        }
        struct python_argument item = {.mark = place(p, p->at)};
        item.name = named ? argument_name(p) : NULL;
        bool all = !named && python_take(p, "*");
        bool each = named || close == ']'; /* of which the others are known */
        item.value = each ? parse_argument(p, close) : python_parse(p);
        bool made = !named && item.value.kind == PYTHON_UNKNOWN && item.value.text &&
                    strstr(item.value.text, " for ");
        if (made && !out->n && *p->at == close && copies(p, item.value.text, out)) {
            p->at++;
            return;
        }
        p->failed = p->failed || made;
        size_t n = all && item.value.kind == PYTHON_LIST ? item.value.n : 1;
        if (p->failed || out->n + n > PYTHON_ITEMS) {
            p->failed = true;
            return;
        }
        for (size_t i = 0; i < n; i++) {
            out->items =
                arena_grow(p->scope->arena, out->items, out->n, &capacity, sizeof *out->items);
            out->items[out->n++] =
                all && item.value.kind == PYTHON_LIST ? item.value.items[i] : item;
        }
        python_skip(p);
        if (*p->at == ',')
            p->at++;
        else if (*p->at != close) {
            p->failed = true;
            return;
        }
    }
}

/* isinstance(x, str) and its like, of literals. */
static struct python_value is_instance(const struct python_value *call)
{
    const struct python_value *v = &call->items[0].value, *type = &call->items[1].value;
    bool truth = false, known = v->kind == PYTHON_NONE || v->kind == PYTHON_LIST || v->quoted ||
                                v->number || python_value_truth(v, &truth);
    if (!known || type->kind != PYTHON_WORD)
        return unknown;
    bool logical = !v->quoted && !v->number && v->kind == PYTHON_WORD;
    return python_truth_word((v->quoted && text_equal(type->text, "str")) ||
                             ((v->number || logical) && text_equal(type->text, "int")) ||
                             (logical && text_equal(type->text, "bool")) ||
                             (v->kind == PYTHON_LIST && text_equal(type->text, "list")));
}

/* x.lower() of a text. */
static struct python_value lowered(struct parser *p, struct python_value call)
{
    size_t n = strlen(call.callee) - strlen(".lower");
    struct python_value of = name_value(p, arena_strndup(p->scope->arena, call.callee, n));
    if (of.kind != PYTHON_WORD || !of.quoted)
        return call;
    char *text = arena_strdup(p->scope->arena, of.text);
    for (char *at = text; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    of.text = text;
    return of;
}

/* getattr(a, "b", c) is a.b, where that is known. */
static struct python_value attribute(struct parser *p, const struct python_value *call)
{
    const struct python_value *of = &call->items[0].value, *name = &call->items[1].value;
    struct python_value found;
    if (of->kind != PYTHON_WORD || of->quoted || !name->quoted || !p->scope->find ||
        !p->scope->find(p->scope->context,
                        arena_printf(p->scope->arena, "%s.%s", of->text, name->text), &found))
        return unknown;
    return found;
}

/* int(x) is x, os.environ.get("A", x) x: the environment is not asked. */
static struct python_value simplify(struct parser *p, struct python_value call)
{
    static const char *const same[] = {"int", "float", "str", "bool", "list", "tuple"};
    static const char *const defaults[] = {"os.environ.get", "os.getenv", "environ.get",
                                           "getenv"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (text_equal(call.callee, same[i]))
            return call.n == 1 && !call.items[0].name ? call.items[0].value : unknown;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (text_equal(call.callee, defaults[i]))
            return call.n == 2 ? call.items[1].value : unknown;
    if (text_equal(call.callee, "isinstance") && call.n == 2)
        return is_instance(&call);
    if (text_equal(call.callee, "getattr") && call.n >= 2)
        return attribute(p, &call);
    if (text_equal(call.callee, "max") || text_equal(call.callee, "min"))
        return python_extreme(&call);
    return text_ends(call.callee, ".lower") && !call.n ? lowered(p, call) : call;
}

/* What follows a call is of what it gives: it stays the call. */
static void skip_chain(struct parser *p)
{
    for (;;) {
        size_t n = *p->at == '.' ? python_name_length(p->at + 1) : 0;
        struct python_value ignored = {0};
        if (!n)
            return;
        p->at += 1 + n;
        if (*p->at != '(')
            continue;
        p->at++;
        parse_items(p, ')', true, &ignored);
        if (p->failed)
            return;
    }
}

/* A function by the name it was imported as. */
static const char *imported(struct parser *p, const char *name)
{
    const struct python_value *value = python_look_up(p->scope, name);
    return value && value->kind == PYTHON_WORD && !value->number && !value->quoted ? value->text
                                                                                   : name;
}

/* "not f()" is a call of "not"; of True it is false. */
static struct python_value parse_not(struct parser *p)
{
    struct python_value of = python_parse_atom(p);
    struct python_value call = {.kind = PYTHON_CALL, .callee = "not", .text = "", .n = 1};
    if (of.kind == PYTHON_WORD && !of.quoted && text_equal(of.text, "true"))
        return word("false");
    if (of.kind == PYTHON_WORD && !of.quoted && text_equal(of.text, "false"))
        return word("true");
    if (of.kind != PYTHON_CALL)
        return unknown;
    call.items = arena_alloc(p->scope->arena, 1, sizeof *call.items);
    call.items[0] = (struct python_argument){.value = of};
    return call;
}

/* x[0] of a list, x["a"] and x[(4, 1)] of a mapping. */
static struct python_value parse_subscript(struct parser *p, struct python_value of)
{
    struct python_value key = {.kind = PYTHON_LIST, .text = ""};
    uint64_t at;
    p->at++;
    parse_items(p, ']', false, &key);
    if (p->failed || key.n != 1)
        return python_fail(p);
    const struct python_value *one = &key.items[0].value;
    if (of.kind == PYTHON_LIST && one->number && number_count(one->text, &at) && at < of.n)
        return of.items[at].value;
    const char *name = of.kind == PYTHON_CALL && text_equal(of.callee, "dict")
                           ? python_key(p->scope, one)
                           : NULL;
    const struct python_value *named = name ? python_named(&of, name) : NULL;
    return named ? *named : unknown;
}

static struct python_value parse_name(struct parser *p)
{
    static const char *const constants[][2] = {{"True", "true"}, {"False", "false"}};
    static const char *const words[] = {"lambda", "await", "yield"};
    size_t n = python_name_length(p->at);
    while (p->at[n] == '.' && python_name_length(p->at + n + 1))
        n += 1 + python_name_length(p->at + n + 1);
    const char *name = arena_strndup(p->scope->arena, p->at, n);
    p->at += n;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_equal(name, words[i]))
            return python_fail(p);
    for (size_t i = 0; i < 2; i++)
        if (text_equal(name, constants[i][0]))
            return word(constants[i][1]);
    if (text_equal(name, "not"))
        return parse_not(p);
    if (text_equal(name, "None"))
        return (struct python_value){.kind = PYTHON_NONE, .text = "null"};
    if (*p->at == '[')
        return parse_subscript(p, name_value(p, name));
    if (*p->at != '(')
        return name_value(p, name);
    struct python_value call = {
        .kind = PYTHON_CALL, .callee = imported(p, name), .written = name, .text = ""};
    p->at++;
    parse_items(p, ')', true, &call);
    if (!p->failed)
        skip_chain(p);
    return p->failed ? unknown : simplify(p, call);
}

const char *python_key(const struct python_scope *scope, const struct python_value *key)
{
    struct text text = {.arena = scope->arena};
    if (key->kind == PYTHON_WORD)
        return key->quoted || key->number ? key->text : NULL;
    if (key->kind != PYTHON_LIST)
        return NULL;
    for (size_t i = 0; i < key->n; i++) {
        const char *part = python_key(scope, &key->items[i].value);
        if (!part)
            return NULL;
        text_printf(&text, "%s%s", i ? "," : "", part);
    }
    return text_string(&text);
}

/* A key: a text, or what else one may be. */
static const char *parse_key(struct parser *p)
{
    size_t length = python_string_length(p->at, p->at + strlen(p->at));
    struct python_value key = length           ? parse_string(p, length)
                              : p->scope->find ? python_parse(p)
                                               : python_fail(p);
    return python_key(p->scope, &key);
}

/* {"a": 1} is dict(a=1). */
static struct python_value parse_mapping(struct parser *p)
{
    struct python_value call = {.kind = PYTHON_CALL, .callee = "dict", .text = ""};
    size_t capacity = 0;
    for (python_skip(p); *p->at != '}'; python_skip(p)) {
        const char *key = parse_key(p);
        if (!key || !python_take(p, ":") || call.n == PYTHON_ITEMS)
            return python_fail(p);
        call.items =
            arena_grow(p->scope->arena, call.items, call.n, &capacity, sizeof *call.items);
        call.items[call.n] = (struct python_argument){.name = key, .mark = place(p, p->at)};
        call.items[call.n++].value = parse_argument(p, '}');
        if (*p->at != '}' && !python_take(p, ","))
            return python_fail(p);
    }
    p->at++;
    return call;
}

/* " ".join(list), "a b".split(). */
static struct python_value apply_method(struct parser *p, struct python_value text)
{
    struct python_value items = {.kind = PYTHON_LIST, .text = ""};
    bool join = python_take(p, ".join(");
    if (!join && !python_take(p, ".split("))
        return text;
    parse_items(p, ')', true, &items);
    if (p->failed || !text.quoted || items.n != join)
        return unknown;
    return join ? python_join(p->scope, text, items.items[0].value)
                : python_split(p->scope->arena, text);
}

/* "a" "b" is one text. */
static struct python_value parse_strings(struct parser *p, size_t length)
{
    struct python_value text = parse_string(p, length);
    for (;;) {
        const char *before = p->at;
        python_skip(p);
        length = python_string_length(p->at, p->at + strlen(p->at));
        if (!length) {
            p->at = before;
            break;
        }
        text = python_joined(p->scope, text, parse_string(p, length));
    }
    return apply_method(p, text);
}

static struct python_value parse_atom(struct parser *p)
{
    python_skip(p);
    size_t length = python_string_length(p->at, p->at + strlen(p->at));
    if (length)
        return parse_strings(p, length);
    if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1])))
        return parse_number(p);
    if (python_name_length(p->at))
        return parse_name(p);
    if (python_take(p, "-")) {
        struct python_value value = python_parse_atom(p);
        if (!value.number)
            return unknown;
        value.text = arena_printf(p->scope->arena, "-%s", value.text);
        return value;
    }
    if (python_take(p, "{"))
        return parse_mapping(p);
    if (*p->at != '[' && *p->at != '(')
        return python_fail(p);
    bool list = *p->at == '[';
    const char *begin = p->at++;
    struct python_value value = {.kind = PYTHON_LIST, .text = ""};
    parse_items(p, list ? ']' : ')', false, &value);
    bool tuple = list || (p->at > begin + 2 && p->at[-2] == ',');
    return !p->failed && !tuple && value.n == 1 ? value.items[0].value : value;
}

struct python_value python_parse_atom(struct parser *p)
{
    if (p->failed || p->depth++ == PYTHON_NESTING)
        return python_fail(p);
    struct python_value value = parse_atom(p);
    p->depth--;
    return python_is_large(&value) ? python_fail(p) : value;
}

struct python_value python_value(struct python_scope *scope, const char *text,
                                 const char *statement, struct mark mark)
{
    struct parser p = {
        .scope = scope, .at = text + strspn(text, " \n"), .begin = statement, .first = mark};
    text = p.at;
    struct python_value value = python_parse(&p);
    python_skip(&p);
    if (!p.failed && *p.at == ',') { /* a tuple without brackets */
        struct python_value list = {.kind = PYTHON_LIST, .text = text};
        p.at = text;
        parse_items(&p, '\0', false, &list);
        value = list;
        p.at = p.failed ? p.at : "";
    }
    if (p.failed || *p.at)
        value = unknown;
    if (value.kind != PYTHON_WORD && value.kind != PYTHON_NONE)
        value.text = python_on_one_line(scope->arena, text);
    return value;
}

void python_parameters(struct python_scope *scope, const char *text, const char *statement,
                       struct mark mark, struct python_function *function)
{
    struct parser p = {.scope = scope, .at = text + 1, .begin = statement, .first = mark};
    size_t capacity = 0;
    for (python_skip(&p); *p.at && *p.at != ')'; python_skip(&p)) {
        size_t n = python_name_length(p.at);
        struct python_argument parameter = {.name = arena_strndup(scope->arena, p.at, n),
                                            .value = unknown};
        parameter.mark = place(&p, p.at);
        p.at += n;
        python_skip(&p);
        if (*p.at == ':') /* its type, whose brackets may have commas */
            for (p.at++; *p.at && !strchr(",=)", *p.at);)
                p.at += *p.at == '[' ? strcspn(p.at, "]") : 1;
        if (python_take(&p, "="))
            parameter.value = parse_argument(&p, ')');
        if (n) {
            function->parameters = arena_grow(scope->arena, function->parameters, function->n,
                                              &capacity, sizeof *function->parameters);
            function->parameters[function->n++] = parameter;
        } else {
            skip_argument(&p); /* "*", "**rest", "/" */
        }
        if (*p.at == ',')
            p.at++;
        else if (*p.at != ')')
            return;
    }
}
