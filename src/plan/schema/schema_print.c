/* Fields as the user would write them, and as numbers. */
#include "plan/schema/schema.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "plan/schema/schema_table.h"

static const void *member(const struct field *field, const struct plan *plan)
{
    return (const char *)plan + field->offset;
}

/* Letters, digits and a few marks that mean nothing in YAML. */
bool schema_is_name(const char *text)
{
    static const char more[] = "_-.*/";
    for (const char *at = text; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr(more, *at))
            return false;
    }
    return text[0] != '\0';
}

/* Words that YAML readers take for something else than a text. */
static bool is_reserved(const char *text)
{
    static const char *const reserved[] = {"null", "true", "false", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        size_t j = 0;
        while (text[j] && tolower((unsigned char)text[j]) == reserved[i][j])
            j++;
        if (text[j] == '\0' && reserved[i][j] == '\0')
            return true;
    }
    return false;
}

static void print_text(const char *text, struct text *out)
{
    bool plain = schema_is_name(text) && isalpha((unsigned char)text[0]) && !is_reserved(text);
    if (plain) {
        text_append(out, text);
        return;
    }
    text_append(out, "\"");
    for (const char *at = text; *at; at++) {
        if (*at == '"' || *at == '\\')
            text_append(out, "\\");
        text_append_n(out, at, 1);
    }
    text_append(out, "\"");
}

static uint64_t list_length(const struct field *field, const struct plan *plan)
{
    const void *list = member(field, plan);
    if (field->type == FIELD_COUNTS)
        return ((const struct number_list *)list)->n;
    if (field->type == FIELD_ENUMS)
        return ((const struct enum_list *)list)->n;
    return ((const struct word_list *)list)->n;
}

/* An item as a text; numbers are printed. */
static void print_item(const struct field *field, const struct plan *plan, uint64_t i,
                       struct text *out)
{
    const void *list = member(field, plan);
    if (field->type == FIELD_COUNTS)
        text_printf(out, "%" PRIu64, ((const struct number_list *)list)->value[i]);
    else if (field->type == FIELD_ENUMS)
        print_text(field->words[((const struct enum_list *)list)->value[i]], out);
    else
        print_text(((const struct word_list *)list)->word[i], out);
}

static void print_list(const struct field *field, const struct plan *plan, struct text *out)
{
    uint64_t n = list_length(field, plan);
    text_append(out, "[");
    for (uint64_t i = 0; i < n; i++) {
        text_append(out, i ? ", " : "");
        print_item(field, plan, i, out);
    }
    text_append(out, "]");
}

static unsigned word_of(const struct field *field, const struct plan *plan)
{
    unsigned value;
    memcpy(&value, member(field, plan), sizeof value);
    return value;
}

static void print_word(const struct field *field, const struct plan *plan, struct text *out)
{
    const char *const *word = &field->words[word_of(field, plan)];
    if (field->number && !word[1])
        schema_print(schema_find(field->number), plan, out);
    else
        text_append(out, *word);
}

void schema_print(const struct field *field, const struct plan *plan, struct text *out)
{
    char buffer[48];
    switch (field->type) {
    case FIELD_COUNT:
        text_printf(out, "%" PRIu64, *(const uint64_t *)member(field, plan));
        break;
    case FIELD_REAL:
    case FIELD_AMOUNT:
    case FIELD_RATE:
        unit_print_exact(buffer, field->unit, schema_number(field, plan));
        text_append(out, buffer);
        break;
    case FIELD_BOOL:
        text_append(out, *(const bool *)member(field, plan) ? "true" : "false");
        break;
    case FIELD_WORD:
        print_word(field, plan, out);
        break;
    case FIELD_TEXT:
        print_text(member(field, plan), out);
        break;
    case FIELD_COUNTS:
    case FIELD_WORDS:
    case FIELD_ENUMS:
        print_list(field, plan, out);
        break;
    }
}

double schema_number(const struct field *field, const struct plan *plan)
{
    switch (field->type) {
    case FIELD_COUNT:
    case FIELD_AMOUNT:
        return (double)*(const uint64_t *)member(field, plan);
    case FIELD_REAL:
    case FIELD_RATE:
        return *(const double *)member(field, plan);
    case FIELD_BOOL:
        return *(const bool *)member(field, plan);
    case FIELD_WORD:
        return word_of(field, plan);
    case FIELD_TEXT:
    case FIELD_COUNTS:
    case FIELD_WORDS:
    case FIELD_ENUMS:
        break;
    }
    return 0;
}
