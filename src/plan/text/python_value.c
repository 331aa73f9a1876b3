/* Expressions of Python; see python.h. */
#include "plan/text/python_value.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"

enum { PYTHON_NESTING = 24, PYTHON_LARGEST = 1000000000 };

struct parser {
    struct python_scope *scope;
    const char *at;
    unsigned depth;
    bool failed;
    const char *begin, *counted; /* of the statement, and up to where its place is known */
    struct mark first, mark;     /* of either */
};

static struct python_value parse(struct parser *p);
static struct python_value parse_atom(struct parser *p);

static const struct python_value unknown = {.kind = PYTHON_UNKNOWN, .text = ""};

void python_bind(struct python_scope *scope, const char *name, struct python_value value)
{
    scope->names = arena_grow(scope->arena, scope->names, scope->n, &scope->capacity,
                              sizeof *scope->names);
    scope->names[scope->n++] = (struct python_name){name, value};
}

static void skip(struct parser *p)
{
    p->at += strspn(p->at, " \t\r\n\\");
}

static bool take(struct parser *p, const char *token)
{
    skip(p);
    if (!text_starts(p->at, token))
        return false;
    p->at += strlen(token);
    return true;
}

static struct python_value fail(struct parser *p)
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
        return fail(p);
    struct python_value number = word(text);
    number.number = true;
    return number;
}

/* ---- lists and calls ---- */

/* "name=" of an argument; NULL: by its place. */
static const char *argument_name(struct parser *p)
{
    skip(p);
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
    struct python_value value = parse(p);
    skip(p);
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

static void parse_items(struct parser *p, char close, bool named, struct python_value *out)
{
    size_t capacity = 0;
    for (;;) {
        skip(p);
        if (*p->at == close) {
            p->at++;
            return;
        }
        struct python_argument item = {.mark = place(p, p->at)};
        item.name = named ? argument_name(p) : NULL;
        bool all = !named && take(p, "*");
        bool each = named || close == ']'; /* of which the others are known */
        item.value = each ? parse_argument(p, close) : parse(p);
        bool made = !named && item.value.kind == PYTHON_UNKNOWN && item.value.text &&
                    strstr(item.value.text, " for ");
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
        skip(p);
        if (*p->at == ',')
            p->at++;
        else if (*p->at != close) {
            p->failed = true;
            return;
        }
    }
}

/* int(x) is x, os.environ.get("A", x) x: the environment is not asked. */
static struct python_value simplify(struct python_value call)
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
    return call;
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
    struct python_value of = parse_atom(p);
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
            return fail(p);
    for (size_t i = 0; i < 2; i++)
        if (text_equal(name, constants[i][0]))
            return word(constants[i][1]);
    if (text_equal(name, "not"))
        return parse_not(p);
    if (text_equal(name, "None"))
        return (struct python_value){.kind = PYTHON_NONE, .text = "null"};
    if (*p->at != '(') {
        const struct python_value *value = python_look_up(p->scope, name);
        struct python_value is = value ? *value : word(name);
        if (is.kind == PYTHON_UNKNOWN)
            is.text = name;
        return is;
    }
    struct python_value call = {.kind = PYTHON_CALL, .callee = imported(p, name), .text = ""};
    p->at++;
    parse_items(p, ')', true, &call);
    if (!p->failed)
        skip_chain(p);
    return p->failed ? unknown : simplify(call);
}

/* {"a": 1} is dict(a=1). */
static struct python_value parse_mapping(struct parser *p)
{
    struct python_value call = {.kind = PYTHON_CALL, .callee = "dict", .text = ""};
    size_t capacity = 0;
    for (skip(p); *p->at != '}'; skip(p)) {
        size_t length = python_string_length(p->at, p->at + strlen(p->at));
        struct python_value key = length ? parse_string(p, length) : fail(p);
        if (key.kind != PYTHON_WORD || !take(p, ":") || call.n == PYTHON_ITEMS)
            return fail(p);
        call.items =
            arena_grow(p->scope->arena, call.items, call.n, &capacity, sizeof *call.items);
        call.items[call.n] =
            (struct python_argument){.name = key.text, .mark = place(p, p->at)};
        call.items[call.n++].value = parse_argument(p, '}');
        if (*p->at != '}' && !take(p, ","))
            return fail(p);
    }
    p->at++;
    return call;
}

/* " ".join(list), "a b".split(). */
static struct python_value apply_method(struct parser *p, struct python_value text)
{
    struct arena *arena = p->scope->arena;
    struct python_value items = {.kind = PYTHON_LIST, .text = ""};
    bool join = take(p, ".join(");
    if (!join && !take(p, ".split("))
        return text;
    parse_items(p, ')', true, &items);
    if (p->failed || !text.quoted || items.n != join)
        return unknown;
    return join ? python_join(arena, text, items.items[0].value) : python_split(arena, text);
}

/* "a" "b" is one text. */
static struct python_value parse_strings(struct parser *p, size_t length)
{
    struct python_value text = parse_string(p, length);
    for (;;) {
        const char *before = p->at;
        skip(p);
        length = python_string_length(p->at, p->at + strlen(p->at));
        if (!length) {
            p->at = before;
            break;
        }
        text = python_joined(p->scope->arena, text, parse_string(p, length));
    }
    return apply_method(p, text);
}

static struct python_value parse_atom(struct parser *p)
{
    skip(p);
    size_t length = python_string_length(p->at, p->at + strlen(p->at));
    if (length)
        return parse_strings(p, length);
    if (isdigit((unsigned char)*p->at) || (*p->at == '.' && isdigit((unsigned char)p->at[1])))
        return parse_number(p);
    if (python_name_length(p->at))
        return parse_name(p);
    if (take(p, "-")) {
        struct python_value value = parse_atom(p);
        if (!value.number)
            return unknown;
        value.text = arena_printf(p->scope->arena, "-%s", value.text);
        return value;
    }
    if (take(p, "{"))
        return parse_mapping(p);
    if (*p->at != '[' && *p->at != '(')
        return fail(p);
    bool list = *p->at == '[';
    const char *begin = p->at++;
    struct python_value value = {.kind = PYTHON_LIST, .text = ""};
    parse_items(p, list ? ']' : ')', false, &value);
    bool tuple = list || (p->at > begin + 2 && p->at[-2] == ',');
    return !p->failed && !tuple && value.n == 1 ? value.items[0].value : value;
}

/* ---- sums and products ---- */

static struct python_value repeat(struct parser *p, const struct python_value *list,
                                  const struct python_value *more, uint64_t times)
{
    size_t n = list->n * times, extra = more ? more->n : 0;
    struct python_value out = {.kind = PYTHON_LIST, .text = "", .n = n + extra};
    if (list->n > PYTHON_ITEMS || times > PYTHON_ITEMS || out.n > PYTHON_ITEMS)
        return fail(p);
    out.items = arena_alloc(p->scope->arena, out.n + 1, sizeof *out.items);
    for (size_t i = 0; i < n; i++)
        out.items[i] = list->items[i % list->n];
    for (size_t i = 0; i < extra; i++)
        out.items[n + i] = more->items[i];
    return out;
}

static bool whole(const struct python_value *value, uint64_t *number)
{
    return value->number && number_count(value->text, number) && *number <= PYTHON_LARGEST;
}

static struct python_value combine(struct parser *p, struct python_value a,
                                   const char *operation, struct python_value b)
{
    uint64_t x = 0, y = 0;
    bool first = whole(&a, &x), second = whole(&b, &y);
    if (a.kind == PYTHON_LIST && b.kind == PYTHON_LIST && *operation == '+')
        return repeat(p, &a, &b, 1);
    if (a.quoted && b.quoted && *operation == '+')
        return python_joined(p->scope->arena, a, b);
    if (a.kind == PYTHON_LIST && second && text_equal(operation, "*"))
        return repeat(p, &a, NULL, y);
    bool divides = text_equal(operation, "//");
    if (!first || !second || (divides && !y) || (*operation == '-' && y > x) ||
        text_equal(operation, "/"))
        return unknown;
    uint64_t value = divides             ? x / y
                     : *operation == '*' ? x * y
                     : *operation == '+' ? x + y
                                         : x - y;
    struct python_value out = word(arena_printf(p->scope->arena, "%" PRIu64, value));
    out.number = true;
    return out;
}

/* Operators of one rank, left to right. */
static struct python_value parse_operators(struct parser *p, const char *const *operators,
                                           struct python_value (*operand)(struct parser *))
{
    struct python_value value = operand(p);
    for (size_t i = 0; operators[i] && !p->failed;) {
        skip(p);
        bool power = text_starts(p->at, "**");
        if (power || !take(p, operators[i])) {
            i++;
            continue;
        }
        struct python_value other = operand(p);
        value = combine(p, value, operators[i], other);
        i = 0;
    }
    return value;
}

static struct python_value parse_product(struct parser *p)
{
    static const char *const operators[] = {"//", "*", "/", NULL};
    return parse_operators(p, operators, parse_atom);
}

static bool takes_word(struct parser *p, const char *name)
{
    skip(p);
    size_t n = strlen(name);
    if (python_name_length(p->at) != n || !text_starts(p->at, name))
        return false;
    p->at += n;
    return true;
}

/* "a if b else c" where b is True or False. */
static struct python_value choose(struct parser *p, struct python_value yes)
{
    static const char *const operators[] = {"+", "-", NULL};
    struct python_value condition = parse_operators(p, operators, parse_product);
    if (p->failed || !takes_word(p, "else"))
        return fail(p);
    struct python_value no = parse(p);
    bool known = condition.kind == PYTHON_WORD && !condition.quoted && !condition.number;
    if (known && text_equal(condition.text, "true"))
        return yes;
    return known && text_equal(condition.text, "false") ? no : unknown;
}

static struct python_value parse(struct parser *p)
{
    static const char *const operators[] = {"+", "-", NULL};
    if (p->failed || p->depth++ == PYTHON_NESTING)
        return fail(p);
    struct python_value value = parse_operators(p, operators, parse_product);
    if (!p->failed && takes_word(p, "if"))
        value = choose(p, value);
    p->depth--;
    return value;
}

struct python_value python_value(struct python_scope *scope, const char *text,
                                 const char *statement, struct mark mark)
{
    struct parser p = {
        .scope = scope, .at = text + strspn(text, " \n"), .begin = statement, .first = mark};
    text = p.at;
    struct python_value value = parse(&p);
    skip(&p);
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
