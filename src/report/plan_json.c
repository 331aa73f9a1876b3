/* Dotted keys turned into nested objects; see plan_json.h. The field table keeps the keys of a
 * group together, so that each object opens once. */
#include "report/plan_json.h"

#include <string.h>

#include "base/text.h"
#include "plan/read/show.h"
#include "plan/schema/schema.h"

static const void *member(const struct field *field, const struct plan *plan)
{
    return (const char *)plan + field->offset;
}

static void write_counts(struct json *json, const char *key, const struct number_list *list)
{
    json_list(json, key);
    for (uint64_t i = 0; i < list->n; i++)
        json_count(json, NULL, list->value[i]);
    json_close(json);
}

static void write_words(struct json *json, const char *key, const struct word_list *list)
{
    json_list(json, key);
    for (uint64_t i = 0; i < list->n; i++)
        json_string(json, NULL, list->word[i]);
    json_close(json);
}

/* A word, or the number that stands in its place. */
static void write_word(struct json *json, const char *key, const struct field *field,
                       const struct plan *plan)
{
    const char *const *word = &field->words[(size_t)schema_number(field, plan)];
    if (field->number && !word[1])
        json_real(json, key, schema_number(schema_find(field->number), plan));
    else
        json_string(json, key, *word);
}

static void write_enums(struct json *json, const char *key, const struct field *field,
                        const struct enum_list *list)
{
    json_list(json, key);
    for (uint64_t i = 0; i < list->n; i++)
        json_string(json, NULL, field->words[list->value[i]]);
    json_close(json);
}

static void write_value(struct json *json, const char *key, const struct field *field,
                        const struct plan *plan)
{
    switch (field->type) {
    case FIELD_COUNT:
    case FIELD_AMOUNT:
        json_count(json, key, *(const uint64_t *)member(field, plan));
        break;
    case FIELD_REAL:
    case FIELD_RATE:
        json_real(json, key, schema_number(field, plan));
        break;
    case FIELD_BOOL:
        json_bool(json, key, *(const bool *)member(field, plan));
        break;
    case FIELD_WORD:
        write_word(json, key, field, plan);
        break;
    case FIELD_TEXT:
        json_string(json, key, member(field, plan));
        break;
    case FIELD_COUNTS:
        write_counts(json, key, member(field, plan));
        break;
    case FIELD_WORDS:
        write_words(json, key, member(field, plan));
        break;
    case FIELD_ENUMS:
        write_enums(json, key, field, member(field, plan));
        break;
    }
}

void plan_json_value(struct json *json, const struct field *field, const struct plan *plan)
{
    write_value(json, field->key, field, plan);
}

/* Characters of the groups that two keys share: "moe.routing.alpha", "moe.chunk" -> "moe." */
static size_t shared_groups(const char *a, const char *b)
{
    size_t shared = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '.')
            shared = i + 1;
    return shared;
}

static void close_groups(struct json *json, const char *key, size_t from)
{
    for (const char *dot = strchr(key + from, '.'); dot; dot = strchr(dot + 1, '.'))
        json_close(json);
}

/* Opens the groups of a key behind `from`; returns the key's last part. */
static const char *open_groups(struct json *json, const char *key, size_t from)
{
    char group[PLAN_NAME];
    const char *at = key + from, *dot;
    while ((dot = strchr(at, '.')) != NULL) {
        snprintf(group, sizeof group, "%.*s", (int)(dot - at), at);
        json_object(json, group);
        at = dot + 1;
    }
    return at;
}

/* A text whose key is also a group: the mapping is written instead. */
static bool is_name_of_group(const struct field *fields, size_t n, size_t i)
{
    size_t length = strlen(fields[i].key);
    return i + 1 < n && fields[i].type == FIELD_TEXT &&
           strncmp(fields[i + 1].key, fields[i].key, length) == 0 &&
           fields[i + 1].key[length] == '.';
}

/* Keys below a prefix, or of a part `prefill` those that it has otherwise than `base`. */
static void write_fields(struct json *json, const char *prefix, const struct plan *plan,
                         const struct plan *base)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    const char *before = prefix;
    for (size_t i = 0; i < n; i++) {
        if (!text_starts(fields[i].key, prefix) || is_name_of_group(fields, n, i) ||
            (base && !plan_prefill_has(base, &fields[i])))
            continue;
        size_t shared = shared_groups(before, fields[i].key);
        close_groups(json, before, shared);
        write_value(json, open_groups(json, fields[i].key, shared), &fields[i], plan);
        before = fields[i].key;
    }
    close_groups(json, before, strlen(prefix));
}

void plan_json(struct json *json, const char *key, const char *prefix, const struct plan *plan)
{
    json_object(json, key);
    write_fields(json, prefix, plan, NULL);
    if (plan->prefill && !*prefix) {
        json_object(json, "prefill");
        write_fields(json, "", plan->prefill, plan);
        json_close(json);
    }
    json_close(json);
}
