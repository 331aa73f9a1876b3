/* $((...)) and expr with + - * / % and brackets over integers and variables of the script. */
#include <string.h>

#include "plan/text/shell_expand.h"

enum { DEPTH = 16 };
#define LIMIT INT64_C(1000000000000000)

struct arithmetic {
    const struct shell *shell;
    const char *at, *end;
    unsigned depth;
    bool failed;
};

static int64_t sum(struct arithmetic *a);

static char peek(struct arithmetic *a)
{
    while (a->at < a->end && strchr(" \t\n", *a->at))
        a->at++;
    return a->at < a->end ? *a->at : '\0';
}

static int64_t bounded(struct arithmetic *a, double exact, int64_t value)
{
    if (exact > (double)LIMIT || exact < -(double)LIMIT)
        a->failed = true;
    return a->failed ? 0 : value;
}

static int64_t number(struct arithmetic *a)
{
    int64_t value = 0;
    while (a->at < a->end && *a->at >= '0' && *a->at <= '9' && !a->failed)
        value = bounded(a, (double)value * 10, value * 10 + (*a->at++ - '0'));
    return value;
}

/* A variable's text is an expression of its own. */
static int64_t variable(struct arithmetic *a)
{
    size_t length = shell_name_length(a->at, a->end);
    char name[64] = "";
    if (length == 0 || length >= sizeof name || a->depth == DEPTH) {
        a->failed = true;
        return 0;
    }
    memcpy(name, a->at, length);
    a->at += length;
    const struct shell_variable *v =
        shell_variable(a->shell, a->shell->n_variables, name, false);
    if (!v || v->trouble || v->value.n != 1 || !v->value.items[0].text[0]) {
        a->failed = true;
        return 0;
    }
    const char *text = v->value.items[0].text;
    struct arithmetic inner = {a->shell, text, text + strlen(text), a->depth + 1, false};
    int64_t value = sum(&inner);
    a->failed = a->failed || inner.failed || peek(&inner) != '\0';
    return value;
}

static int64_t atom(struct arithmetic *a)
{
    char c = peek(a);
    if (a->failed || ++a->depth > DEPTH) {
        a->failed = true;
        return 0;
    }
    int64_t value = 0;
    if (c == '-' || c == '(') {
        a->at++;
        value = c == '-' ? -atom(a) : sum(a);
        if (c == '(' && peek(a) != ')')
            a->failed = true;
        else
            a->at += c == '(';
    } else if (c >= '0' && c <= '9') {
        value = number(a);
    } else {
        bool dollar = c == '$', brace = dollar && a->at + 1 < a->end && a->at[1] == '{';
        a->at += (size_t)dollar + brace;
        value = variable(a);
        if (brace && peek(a) != '}')
            a->failed = true;
        a->at += brace && !a->failed;
    }
    a->depth--;
    return value;
}

static int64_t product(struct arithmetic *a)
{
    int64_t value = atom(a);
    for (char c; (c = peek(a)) && strchr("*/%", c) && !a->failed;) {
        a->at++;
        int64_t by = atom(a);
        if (c != '*' && by == 0)
            a->failed = true;
        else if (c == '*' && !a->failed)
            value = bounded(a, (double)value * (double)by,
                            (int64_t)((uint64_t)value * (uint64_t)by));
        else if (!a->failed)
            value = c == '/' ? value / by : value % by;
    }
    return value;
}

static int64_t sum(struct arithmetic *a)
{
    int64_t value = product(a);
    for (char c; ((c = peek(a)) == '+' || c == '-') && !a->failed;) {
        a->at++;
        int64_t more = product(a);
        value =
            bounded(a, (double)value + (double)more, c == '+' ? value + more : value - more);
    }
    return value;
}

bool shell_arithmetic(const struct shell *shell, const char *text, size_t length,
                      int64_t *value)
{
    struct arithmetic a = {shell, text, text + length, 0, false};
    int64_t result = sum(&a);
    if (a.failed || peek(&a) != '\0')
        return false;
    *value = result;
    return true;
}
