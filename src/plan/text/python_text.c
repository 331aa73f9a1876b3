/* Texts of Python, and lists that grow; see python_value.h. */
#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "plan/text/python_value.h"

const struct python_value *python_look_up(const struct python_scope *scope, const char *name)
{
    for (size_t i = scope->n; i > 0; i--)
        if (text_equal(scope->names[i - 1].name, name))
            return &scope->names[i - 1].value;
    return NULL;
}

size_t python_name_length(const char *at)
{
    size_t n = 0;
    if (!isalpha((unsigned char)*at) && *at != '_')
        return 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_')
        n++;
    return n;
}

/* ---- texts ---- */

/* Whether a text may be put into another; it is counted then. */
static bool afford(const struct python_scope *scope, const char *text)
{
    size_t length = strlen(text);
    if (length > PYTHON_TEXT - *scope->made)
        return false;
    *scope->made += length;
    return true;
}

bool python_read_text(const struct python_scope *scope, const char *at, const char *end,
                      bool raw, bool made, struct text *out)
{
    for (; at < end; at++) {
        bool brace = made && (*at == '{' || *at == '}');
        if (brace && at + 1 < end && at[1] == *at) {
            text_append_n(out, at++, 1);
        } else if (brace) {
            size_t n = *at == '{' ? python_name_length(at + 1) : 0;
            const struct python_value *v =
                n ? python_look_up(scope, arena_strndup(scope->arena, at + 1, n)) : NULL;
            if (!v || v->kind != PYTHON_WORD || !(v->quoted || v->number) || at[1 + n] != '}' ||
                !afford(scope, v->text))
                return false;
            text_append(out, v->text);
            at += n + 1;
        } else if (*at != '\\' || raw) {
            text_append_n(out, at, 1);
        } else {
            static const char known[] = "nt\"'\\\n", meant[] = "\n\t\"'\\";
            const char *escape = at + 1 < end ? strchr(known, at[1]) : NULL;
            if (!escape || !*escape)
                return false;
            at++; /* a line that is carried on is none */
            text_append_n(out, meant + (escape - known), *escape != '\n');
        }
    }
    return true;
}

struct python_value python_joined(const struct python_scope *scope, struct python_value a,
                                  struct python_value b)
{
    if (!a.quoted || !b.quoted || !afford(scope, a.text) || !afford(scope, b.text))
        return (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""};
    a.text = arena_join(scope->arena, a.text, b.text);
    return a;
}

struct python_value python_join(const struct python_scope *scope, struct python_value between,
                                struct python_value of)
{
    struct text out = {.arena = scope->arena};
    bool known = of.kind == PYTHON_LIST, little = true;
    for (size_t i = 0; known && i < of.n; i++) {
        const struct python_value *v = &of.items[i].value;
        little = afford(scope, between.text) && afford(scope, v->text);
        known = little && v->kind == PYTHON_WORD && (v->quoted || v->number);
        text_printf(&out, "%s%s", i ? between.text : "", known ? v->text : "");
    }
    if (known)
        between.text = text_string(&out);
    else if (of.kind == PYTHON_LIST &&
             little) /* a command's words, some of which are not known */
        return of;
    return known ? between : (struct python_value){.kind = PYTHON_UNKNOWN, .text = ""};
}

struct python_value python_split(struct arena *arena, struct python_value of)
{
    struct python_value items = {.kind = PYTHON_LIST, .text = ""};
    size_t capacity = 0;
    for (const char *at = of.text + strspn(of.text, " \t\n"); *at;) {
        size_t n = strcspn(at, " \t\n");
        struct python_argument item = {.value = of};
        item.value.text = arena_strndup(arena, at, n);
        items.items = arena_grow(arena, items.items, items.n, &capacity, sizeof *items.items);
        items.items[items.n++] = item;
        at += n + strspn(at + n, " \t\n");
    }
    return items;
}

/* ---- lists ---- */

/* What is left of a number of parts behind the value; 0: it has as many, or more. */
static size_t parts_left(const struct python_value *value, size_t left)
{
    bool parted = value->kind == PYTHON_LIST || value->kind == PYTHON_CALL;
    for (size_t i = 0; parted && left && i < value->n; i++)
        left = parts_left(&value->items[i].value, left - 1);
    return left;
}

bool python_is_large(const struct python_value *value)
{
    return parts_left(value, PYTHON_PARTS + 1) == 0;
}

bool python_is_list(const struct python_scope *scope, const char *name)
{
    const struct python_value *value = python_look_up(scope, name);
    return value && value->kind == PYTHON_LIST;
}

void python_grow(struct python_scope *scope, const char *name, struct python_value more,
                 bool all)
{
    const struct python_value *old = python_look_up(scope, name);
    size_t n = all && more.kind == PYTHON_LIST ? more.n : 1;
    if (!old || old->kind != PYTHON_LIST || old->n + n > PYTHON_ITEMS)
        return;
    struct python_value grown = *old;
    grown.items = arena_alloc(scope->arena, old->n + n, sizeof *grown.items);
    for (size_t i = 0; i < old->n; i++)
        grown.items[i] = old->items[i];
    for (size_t i = 0; i < n; i++)
        grown.items[old->n + i] = n == 1 && !(all && more.kind == PYTHON_LIST)
                                      ? (struct python_argument){.value = more}
                                      : more.items[i];
    grown.n = old->n + n;
    python_bind(scope, name, grown);
}
