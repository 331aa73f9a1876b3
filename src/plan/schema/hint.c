/* What is offered to who wrote something else: examples and words; see schema.h. */
#include "base/text.h"
#include "plan/schema/schema.h"
#include "plan/schema/word.h"

/* A name that a stack knows for a list of names, or NULL. */
static const char *first_name(const char *key)
{
    const struct word_name *name;
    for (size_t i = 0; (name = word_name_at(i)) != NULL; i++)
        if (text_equal(name->key, key))
            return name->name;
    return NULL;
}

const char *schema_example(const struct field *field)
{
    static const char *const quantities[] = {[UNIT_BYTES] = "2 GiB",
                                             [UNIT_BYTES_PER_S] = "50 GB/s",
                                             [UNIT_FLOP_PER_S] = "989 TFLOP/s",
                                             [UNIT_SECONDS] = "50 ms",
                                             [UNIT_HERTZ] = "1.5 GHz"};
    const char *fallback = field->fallback;
    bool nothing = !fallback || text_equal(fallback, "[]") || fallback[0] == '\0';
    if (field->type == FIELD_COUNTS && nothing)
        return "[1, 2]";
    if (field->type == FIELD_WORDS && nothing)
        return first_name(field->key);
    if (field->type == FIELD_ENUMS && nothing)
        return schema_words(field)[0];
    if (field->unit != UNIT_NONE && (nothing || fallback[0] == '0'))
        return quantities[field->unit];
    return nothing ? NULL : fallback;
}

static const char *word_at(const void *words, size_t i)
{
    return ((const char *const *)words)[i];
}

void schema_hint_words(const char *text, const struct field *field, struct err *err)
{
    const char *const *words = schema_words(field);
    struct arena arena = {0};
    struct text list = {.arena = &arena};
    size_t n = 0;
    bool same;
    for (; words[n]; n++)
        text_printf(&list, "%s%s", n ? ", " : "", words[n]);
    if (field->number)
        text_append(&list, ", or a number");
    const char *meant = word_meant(field->words, text, &same);
    if (!meant || !schema_offers(field, meant))
        meant = text_nearest(text, n, word_at, words);
    if (meant)
        err_hint(err, "did you mean '%s'? one of: %s", meant, text_string(&list));
    else
        err_hint(err, "one of: %s", text_string(&list));
    arena_release(&arena);
}
