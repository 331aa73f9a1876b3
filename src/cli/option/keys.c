/* The field table turned into rows of text; see keys.h. */
#include "cli/option/keys.h"

#include <string.h>

#include "plan/read/unread.h"

static const char *const type_names[] = {
    [FIELD_COUNT] = "whole number",  [FIELD_REAL] = "number",
    [FIELD_AMOUNT] = "amount",       [FIELD_RATE] = "rate",
    [FIELD_BOOL] = "true or false",  [FIELD_WORD] = "word",
    [FIELD_TEXT] = "text",           [FIELD_COUNTS] = "list of whole numbers",
    [FIELD_WORDS] = "list of words", [FIELD_ENUMS] = "list of words",
};

static const char *limits_of(const struct field *field, struct arena *arena)
{
    if (field->number)
        return arena_printf(arena, "as a number %s",
                            limits_of(schema_find(field->number), arena));
    bool number = field->type == FIELD_COUNT || field->type == FIELD_REAL ||
                  field->type == FIELD_AMOUNT || field->type == FIELD_RATE;
    if (!number || (field->min == 0 && field->max == 0))
        return number ? "at least 0" : NULL;
    char min[32], max[32];
    text_double(min, field->min);
    text_double(max, field->max);
    if (field->max == 0)
        return arena_printf(arena, "at least %s", min);
    return arena_printf(arena, "%s to %s", min, max);
}

static const char *choices_of(const struct field *field, struct arena *arena)
{
    if (!field->words)
        return NULL;
    struct text choices = {.arena = arena};
    const char *const *words = schema_words(field);
    for (size_t i = 0; words[i]; i++)
        text_printf(&choices, "%s%s", i ? ", " : "", words[i]);
    if (field->number)
        text_append(&choices, ", or a number");
    return text_string(&choices);
}

static const char *group_of(const struct field *field, struct arena *arena)
{
    const char *dot = strrchr(field->key, '.');
    return dot ? arena_strndup(arena, field->key, (size_t)(dot - field->key)) : "";
}

static const char *default_of(const struct field *field)
{
    if (!field->fallback)
        return "(required)";
    return field->fallback[0] ? field->fallback : "(empty)";
}

struct key_row *key_rows(struct arena *arena, size_t *n)
{
    const struct field *fields = schema_fields(n);
    struct key_row *rows = arena_alloc(arena, *n, sizeof *rows);
    for (size_t i = 0; i < *n; i++)
        rows[i] = (struct key_row){
            .key = fields[i].key,
            .group = group_of(&fields[i], arena),
            .type = type_names[fields[i].type],
            .unit = fields[i].unit == UNIT_NONE ? NULL : unit_names(fields[i].unit),
            .fallback = fields[i].fallback,
            .shown = default_of(&fields[i]),
            .limits = limits_of(&fields[i], arena),
            .choices = choices_of(&fields[i], arena),
            .read = unread_when(&fields[i], arena),
            .field = &fields[i],
            .help = fields[i].help,
        };
    return rows;
}

#define TEXT_COLUMN(member, heading)                                                           \
    {                                                                                          \
        .key = #member, .type = COLUMN_TEXT, .offset = offsetof(struct key_row, member),       \
        .title = heading                                                                       \
    }

const struct column *key_columns(size_t *n)
{
    static const struct column columns[] = {
        TEXT_COLUMN(key, NULL),
        TEXT_COLUMN(group, NULL),
        TEXT_COLUMN(type, NULL),
        TEXT_COLUMN(unit, NULL),
        {.key = "default", .type = COLUMN_TEXT, .offset = offsetof(struct key_row, fallback)},
        TEXT_COLUMN(limits, NULL),
        TEXT_COLUMN(choices, NULL),
        TEXT_COLUMN(read, NULL),
        TEXT_COLUMN(help, NULL),
    };
    *n = sizeof columns / sizeof *columns;
    return columns;
}

const struct column *key_table(size_t *n)
{
    static const struct column columns[] = {
        TEXT_COLUMN(key, NULL),
        {.key = "default", .type = COLUMN_TEXT, .offset = offsetof(struct key_row, shown)},
        TEXT_COLUMN(help, "meaning"),
    };
    *n = sizeof columns / sizeof *columns;
    return columns;
}

static bool is_key_suffix(const char *key, const char *name)
{
    size_t length = strlen(key), tail = strlen(name);
    return length > tail && key[length - tail - 1] == '.' && text_ends(key, name);
}

const struct key_row *key_find(const struct key_row *rows, size_t n, const char *name,
                               struct text *ambiguous)
{
    const struct key_row *found = NULL, *own = NULL;
    size_t matches = 0, owned = 0;
    for (size_t i = 0; i < n; i++) {
        if (text_equal(rows[i].key, name))
            return &rows[i];
        if (!is_key_suffix(rows[i].key, name))
            continue;
        text_printf(ambiguous, "%s%s", matches++ ? ", " : "", rows[i].key);
        found = &rows[i];
        if (schema_is_part(rows[i].key))
            continue;
        own = found;
        owned++;
    }
    return matches == 1 ? found : owned == 1 ? own : NULL;
}

size_t key_group(const struct key_row *rows, size_t n, const char *group, size_t *first)
{
    size_t length = strlen(group), count = 0;
    bool below = false;
    for (size_t i = 0; i < n; i++) {
        char next = strncmp(rows[i].key, group, length) == 0 ? rows[i].key[length] : 'x';
        if (next != '.' && next != '\0')
            continue;
        if (count++ == 0)
            *first = i;
        below = below || next == '.';
    }
    return below ? count : 0;
}

void key_mentions(const struct key_row *rows, size_t n, const char *name, struct text *out)
{
    for (size_t i = 0; i < n && strlen(name) > 1; i++)
        if (strstr(rows[i].key, name))
            text_printf(out, "%s%s", out->length ? ", " : "", rows[i].key);
}

/* Keys, then their groups. */
struct names {
    const struct key_row *rows;
    size_t n;
};

static const char *name_at(const void *table, size_t i)
{
    const struct names *names = table;
    return i < names->n ? names->rows[i].key : names->rows[i - names->n].group;
}

const char *key_nearest(const struct key_row *rows, size_t n, const char *name)
{
    const struct names names = {rows, n};
    return text_nearest(name, 2 * n, name_at, &names);
}
