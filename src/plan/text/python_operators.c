/* Operators of Python's expressions; see python_parser.h. */
#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "plan/text/python_parser.h"

enum { PYTHON_LARGEST = 1000000000 };

static const struct python_value unknown = {.kind = PYTHON_UNKNOWN, .text = ""};

static struct python_value word(const char *text)
{
    return (struct python_value){.kind = PYTHON_WORD, .text = text};
}

/* ---- sums and products ---- */

static struct python_value repeat(struct parser *p, const struct python_value *list,
                                  const struct python_value *more, uint64_t times)
{
    size_t n = list->n * times, extra = more ? more->n : 0;
    struct python_value out = {.kind = PYTHON_LIST, .text = "", .n = n + extra};
    if (list->n > PYTHON_ITEMS || times > PYTHON_ITEMS || out.n > PYTHON_ITEMS)
        return python_fail(p);
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
        return python_joined(p->scope, a, b);
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
        python_skip(p);
        bool power = text_starts(p->at, "**");
        if (power || !python_take(p, operators[i])) {
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
    return parse_operators(p, operators, python_parse_atom);
}

static bool takes_word(struct parser *p, const char *name)
{
    python_skip(p);
    size_t n = strlen(name);
    if (python_name_length(p->at) != n || !text_starts(p->at, name))
        return false;
    p->at += n;
    return true;
}

struct python_value python_extreme(const struct python_value *call)
{
    const struct python_value *best = NULL;
    double most = 0, number;
    bool least = text_equal(call->callee, "min");
    for (size_t i = 0; i < call->n; i++) {
        const struct python_value *v = &call->items[i].value;
        if (!v->number || !number_real(v->text, &number) || call->items[i].name)
            return *call;
        if (!best || (least ? number < most : number > most)) {
            best = v;
            most = number;
        }
    }
    return best ? *best : *call;
}

/* ---- truth ---- */

struct python_value python_truth_word(bool truth)
{
    return word(truth ? "true" : "false");
}

static bool is_truth(const struct python_value *v)
{
    return v->kind == PYTHON_WORD && !v->quoted && !v->number &&
           (text_equal(v->text, "true") || text_equal(v->text, "false"));
}

/* A text, a number, True, False or None, and no name. */
static bool is_plain(const struct python_value *v)
{
    return v->kind == PYTHON_NONE || is_truth(v) ||
           (v->kind == PYTHON_WORD && (v->quoted || v->number));
}

bool python_value_truth(const struct python_value *value, bool *truth)
{
    double number = 0;
    if (value->kind == PYTHON_LIST)
        *truth = value->n > 0;
    else if (!is_plain(value))
        return false;
    else if (value->kind == PYTHON_NONE)
        *truth = false;
    else if (value->number)
        *truth = number_real(value->text, &number) && number != 0;
    else
        *truth = value->quoted ? value->text[0] != '\0' : text_equal(value->text, "true");
    return true;
}

struct python_value python_plain(struct arena *arena, const char *text)
{
    double number;
    struct python_value value = word(arena_strdup(arena, text));
    value.number = number_real(text, &number);
    value.quoted = !value.number && !text_equal(text, "true") && !text_equal(text, "false");
    return value;
}

/* ---- comparisons ---- */

enum comparison { EQUAL, UNEQUAL, LESS, MORE, AT_MOST, AT_LEAST, IN, NOT_IN, IS, IS_NOT };

/* Whether two are the same; false: that is not known. */
static bool same(const struct python_value *a, const struct python_value *b, bool *equal)
{
    double x = 0, y = 0;
    if (a->kind == PYTHON_LIST && b->kind == PYTHON_LIST) {
        *equal = a->n == b->n;
        for (size_t i = 0; *equal && i < a->n; i++)
            if (!same(&a->items[i].value, &b->items[i].value, equal))
                return false;
        return true;
    }
    if (a->kind == PYTHON_NONE || b->kind == PYTHON_NONE) {
        const struct python_value *other = a->kind == PYTHON_NONE ? b : a;
        *equal = other->kind == PYTHON_NONE;
        return *equal || is_plain(other) || other->kind == PYTHON_LIST;
    }
    if (!is_plain(a) || !is_plain(b))
        return false;
    if (a->number && b->number)
        *equal = number_real(a->text, &x) && number_real(b->text, &y) && !(x < y) && !(y < x);
    else
        *equal =
            a->number == b->number && a->quoted == b->quoted && text_equal(a->text, b->text);
    return true;
}

static struct python_value is_in(const struct python_scope *scope, const struct python_value *a,
                                 const struct python_value *all, bool in)
{
    bool dict = all->kind == PYTHON_CALL && text_equal(all->callee, "dict");
    if (all->kind != PYTHON_LIST && !dict)
        return unknown;
    for (size_t i = 0; i < all->n; i++) {
        const char *key = dict ? python_key(scope, a) : NULL;
        bool equal = dict && key && all->items[i].name && text_equal(all->items[i].name, key);
        if (dict ? !key : !same(a, &all->items[i].value, &equal))
            return unknown;
        if (equal)
            return python_truth_word(in);
    }
    return python_truth_word(!in);
}

static struct python_value compare(const struct python_scope *scope,
                                   const struct python_value *a, enum comparison how,
                                   const struct python_value *b)
{
    double x = 0, y = 0;
    bool equal;
    if (how == IN || how == NOT_IN)
        return is_in(scope, a, b, how == IN);
    if (how == EQUAL || how == UNEQUAL || how == IS || how == IS_NOT)
        return same(a, b, &equal) ? python_truth_word(equal == (how == EQUAL || how == IS))
                                  : unknown;
    if (!a->number || !b->number || !number_real(a->text, &x) || !number_real(b->text, &y))
        return unknown;
    return python_truth_word(how == LESS      ? x < y
                             : how == MORE    ? x > y
                             : how == AT_MOST ? x <= y
                                              : x >= y);
}

static struct python_value parse_sum(struct parser *p)
{
    static const char *const operators[] = {"+", "-", NULL};
    return parse_operators(p, operators, parse_product);
}

static bool take_comparison(struct parser *p, enum comparison *how)
{
    static const struct {
        const char *sign;
        enum comparison how;
    } signs[] = {{"==", EQUAL},    {"!=", UNEQUAL}, {"<=", AT_MOST},
                 {">=", AT_LEAST}, {"<", LESS},     {">", MORE}};
    const char *before = p->at;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (python_take(p, signs[i].sign)) {
            *how = signs[i].how;
            return true;
        }
    bool not = takes_word(p, "not");
    if (takes_word(p, "in")) {
        *how = not ? NOT_IN : IN;
        return true;
    }
    if (!not &&takes_word(p, "is")) {
        *how = takes_word(p, "not") ? IS_NOT : IS;
        return true;
    }
    p->at = before;
    return false;
}

static struct python_value parse_comparison(struct parser *p)
{
    struct python_value value = parse_sum(p);
    enum comparison how;
    if (p->failed || !take_comparison(p, &how))
        return value;
    struct python_value other = parse_sum(p);
    return p->failed ? unknown : compare(p->scope, &value, how, &other);
}

/* "a and b" is a where a is false, else b; the other way round "a or b". What cannot be known
 * of one of them may not matter for the other. */
static struct python_value parse_and(struct parser *p)
{
    struct python_value value = parse_comparison(p);
    while (!p->failed && takes_word(p, "and")) {
        struct python_value other = parse_comparison(p);
        bool first = false, second = false, known = python_value_truth(&value, &first);
        bool off = python_value_truth(&other, &second) && !second;
        value = known ? (first ? other : value) : off ? python_truth_word(false) : unknown;
    }
    return value;
}

static struct python_value parse_or(struct parser *p)
{
    struct python_value value = parse_and(p);
    while (!p->failed && takes_word(p, "or")) {
        struct python_value other = parse_and(p);
        bool first = false, known = python_value_truth(&value, &first);
        value = known ? (first ? value : other) : unknown;
    }
    return value;
}

/* "a if b else c" where b is known. */
static struct python_value choose(struct parser *p, struct python_value yes)
{
    struct python_value condition = parse_or(p);
    bool truth = false;
    if (p->failed || !takes_word(p, "else"))
        return python_fail(p);
    struct python_value no = python_parse(p);
    return !python_value_truth(&condition, &truth) ? unknown : truth ? yes : no;
}

struct python_value python_parse(struct parser *p)
{
    if (p->failed || p->depth++ == PYTHON_NESTING)
        return python_fail(p);
    struct python_value value = parse_or(p);
    if (!p->failed && takes_word(p, "if"))
        value = choose(p, value);
    p->depth--;
    return value;
}
