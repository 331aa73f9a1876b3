/* See value.h. */
#include "lib/value.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blank(const char *at)
{
    return at + strspn(at, " \n");
}

static const char *skip_string(const char *at)
{
    for (at++; *(at += strcspn(at, "\"\\")) && *at != '"'; at++)
        at += at[1] != '\0';
    return *at ? at + 1 : at;
}

static const char *skip_brackets(const char *at)
{
    unsigned depth = 0;
    while (*(at += strcspn(at, "\"{}[]"))) {
        if (*at == '"') {
            at = skip_string(at);
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
        if (depth == 0)
            break;
    }
    return at;
}

const char *value_end(const char *at)
{
    if (*at == '"')
        return skip_string(at);
    if (*at == '{' || *at == '[')
        return skip_brackets(at);
    return at + strcspn(at, ",]} \n");
}

/* From the bracket to the first member, or from behind one value to the next; NULL at the end.
 */
static const char *next(const char *at)
{
    at = skip_blank(at);
    if (*at == '{' || *at == '[' || *at == ',')
        at = skip_blank(at + 1);
    return *at == '}' || *at == ']' || !*at ? NULL : at;
}

/* The value behind a member's key. */
static const char *behind_key(const char *at)
{
    return skip_blank(skip_blank(skip_string(at)) + 1);
}

static const char *member(const char *object, const char *name, size_t length)
{
    for (const char *at = next(object); at; at = next(value_end(behind_key(at))))
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '"')
            return behind_key(at);
    return NULL;
}

static const char *item(const char *list, const char *name, size_t length)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    if (end != name + length || name[0] == '-' || name[0] == '+')
        return NULL;
    const char *at = next(list);
    for (; at && number; number--)
        at = next(value_end(at));
    return at;
}

const char *value_find(const char *json, const char *name)
{
    const char *at = skip_blank(json);
    while (at && *name) {
        size_t length = strcspn(name, ".");
        at = *at == '{' ? member(at, name, length) : *at == '[' ? item(at, name, length) : NULL;
        name += length + (name[length] == '.');
    }
    return at;
}

size_t value_length(const char *at)
{
    size_t n = 0;
    bool object = *at == '{';
    if (!object && *at != '[')
        return 0;
    for (at = next(at); at; at = next(value_end(object ? behind_key(at) : at)))
        n++;
    return n;
}

/* The character of an escape, in UTF-8; *at goes to its last byte. base/json writes \u only for
 * control characters. */
static char unescaped(const char **at)
{
    static const char names[] = "nrtbf", characters[] = "\n\r\t\b\f";
    const char *name = strchr(names, **at);
    if (name && *name)
        return characters[name - names];
    if (**at != 'u')
        return **at;
    char digits[5] = {0};
    strncpy(digits, *at + 1, 4);
    *at += 4;
    return (char)strtoul(digits, NULL, 16);
}

void value_text(const char *at, char *text, size_t room)
{
    size_t used = 0;
    for (at++; *at && *at != '"'; at++) {
        char c = *at;
        if (c == '\\' && at[1]) {
            at++;
            c = unescaped(&at);
        }
        if (used + 1 < room)
            text[used++] = c;
    }
    text[used] = '\0';
}
