/* See python_word.h. */
#include "plan/text/python_word.h"

#include <string.h>

#include "base/text.h"

const char *python_last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* The devices that are planned compute in bfloat16. */
static const char *capability(const struct python_value *value)
{
    bool not = text_equal(value->callee, "not");
    const char *asked = python_last_part(not ? value->items[0].value.callee : value->callee);
    if (!text_equal(asked, "is_bfloat16_supported") && !text_equal(asked, "is_bf16_supported"))
        return NULL;
    return not ? "false" : "true";
}

const struct python_value *python_named(const struct python_value *call, const char *name)
{
    for (size_t i = 0; i < call->n; i++)
        if (call->items[i].name && text_equal(call->items[i].name, name))
            return &call->items[i].value;
    return NULL;
}

const char *python_literal(const struct python_value *value)
{
    static const char torch[] = "torch.";
    if (value->kind == PYTHON_CALL)
        return capability(value);
    if (value->kind != PYTHON_WORD)
        return NULL;
    bool given = value->quoted || value->number || text_equal(value->text, "true") ||
                 text_equal(value->text, "false");
    if (!given && text_starts(value->text, torch))
        return value->text + sizeof torch - 1;
    return given ? value->text : NULL;
}

/* "--batch-size" of an option is batch_size. */
static bool is_option(const char *option, const char *field)
{
    option += strspn(option, "-");
    while (*option && (*option == '-' ? '_' : *option) == *field) {
        option++;
        field++;
    }
    return *option == *field;
}

/* What a statement declares of a field: add_argument("--x", default=1), x: int = field(default
 * =1), x: int = 1. NULL: nothing. */
static const struct python_value *declares(const struct python_statement *s, const char *field,
                                           bool option)
{
    const struct python_value *v = &s->value;
    bool call = v->kind == PYTHON_CALL && v->n > 0;
    bool adds = call && !s->target && text_equal(python_last_part(v->callee), "add_argument");
    const char *said = adds ? python_literal(&v->items[0].value) : NULL;
    bool named =
        option ? said && is_option(said, field) : s->target && text_equal(s->target, field);
    if (!named || !call)
        return named ? v : NULL;
    return python_named(v, "default");
}

/* "args.batch_size": what the script declares it to be, where it does so once: the default of
 * an option, or else of a class's field. NULL: it does not. */
static const struct python_value *declared(const struct python *python, const char *name)
{
    const char *field = python_last_part(name);
    for (unsigned pass = 0; pass < 2; pass++) {
        const struct python_value *found = NULL;
        size_t n = 0;
        for (size_t i = 0; i < python->n; i++) {
            const struct python_value *v = declares(&python->statements[i], field, pass == 0);
            n += v != NULL;
            found = v ? v : found;
        }
        if (n)
            return n == 1 && python_literal(found) ? found : NULL;
    }
    return NULL;
}

const char *python_word(const struct python *python, const struct python_value *value,
                        struct arena *arena, const char **trouble)
{
    const char *word = python_literal(value);
    bool name = value->kind == PYTHON_WORD && !word && strchr(value->text, '.') != NULL;
    const struct python_value *of = name ? declared(python, value->text) : NULL;
    if (word || of)
        return word ? word : python_literal(of);
    const char *text =
        value->kind == PYTHON_CALL ? arena_printf(arena, "%s(..)", value->callee) : value->text;
    *trouble =
        arena_printf(arena, "'%.60s' is worked out when the script runs", text ? text : "");
    return NULL;
}

bool python_imports(const char *text, const char *library)
{
    size_t n = strlen(library);
    for (const char *at = text; (at = strstr(at, library)); at++) {
        bool word = strchr(" .\n\r,", at[n]) != NULL;
        if (word && ((at - text >= 7 && strncmp(at - 7, "import ", 7) == 0) ||
                     (at - text >= 5 && strncmp(at - 5, "from ", 5) == 0)))
            return true;
    }
    return false;
}

const struct python_value *python_call_named(const struct python *python, const char *name)
{
    const struct python_value *found = NULL;
    for (size_t i = 0; i < python->n; i++) {
        const struct python_statement *s = &python->statements[i];
        if (!s->target || !text_equal(s->target, name))
            continue;
        if (found || s->value.kind != PYTHON_CALL)
            return NULL;
        found = &s->value;
    }
    return found;
}

const struct python_value *python_made(const struct python *python,
                                       const struct python_value *value)
{
    if (value->kind == PYTHON_CALL || value->quoted || !value->text)
        return value;
    const struct python_value *made = python_call_named(python, value->text);
    return made ? made : value;
}
