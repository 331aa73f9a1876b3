/* Tables as JSON Schema; see schema_json.h. The field table keeps the keys of a group together,
 * so that each group is written in one go. */
#include "report/schema_json.h"

#include <string.h>

#include "base/number.h"
#include "plan/read/apply.h"
#include "plan/schema/schema.h"

void schema_json_head(struct json *json, const char *name, const char *title)
{
    json_string(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_string(json, "$id", name);
    json_string(json, "title", title);
}

void schema_json_type(struct json *json, const char *key, const char *type)
{
    json_object(json, key);
    json_string(json, "type", type);
    json_close(json);
}

/* ---- values of keys ---- */

static void limits(struct json *json, const struct field *field)
{
    json_real(json, "minimum", field->min);
    if (field->max != 0)
        json_real(json, "maximum", field->max);
}

static void number(struct json *json, const char *type, const struct field *field)
{
    json_object(json, NULL);
    json_string(json, "type", type);
    limits(json, field);
    json_close(json);
}

/* "288 GiB": a number and one of the unit's names. */
static void quantity(struct json *json, const struct field *field, struct arena *arena)
{
    struct text pattern = {.arena = arena};
    const char *names = unit_names(field->unit);
    text_append(&pattern, "^[0-9.]+([eE][+-]?[0-9]+)? ?(");
    for (const char *at = names; *at; at++) {
        if (*at == ' ')
            continue;
        text_append_n(&pattern, *at == ',' ? "|" : at, 1);
    }
    text_append(&pattern, ")?$");
    json_object(json, NULL);
    json_string(json, "type", "string");
    json_string(json, "pattern", text_string(&pattern));
    json_close(json);
}

static void one_of(struct json *json, const char *key, const struct field *field)
{
    const char *const *words = schema_words(field);
    json_object(json, key);
    json_list(json, "enum");
    for (size_t i = 0; words[i]; i++)
        json_string(json, NULL, words[i]);
    json_close(json);
    json_close(json);
}

static void word(struct json *json, const struct field *field)
{
    one_of(json, NULL, field);
    if (field->number)
        number(json, "number", schema_find(field->number));
}

/* A list, or one item in its place. */
static void list(struct json *json, const struct field *field)
{
    const bool counts = field->type == FIELD_COUNTS;
    json_object(json, NULL);
    json_string(json, "type", "array");
    json_object(json, "items");
    json_string(json, "type", counts ? "integer" : "string");
    if (counts)
        limits(json, field);
    json_close(json);
    json_close(json);
    if (counts)
        number(json, "integer", field);
    else
        schema_json_type(json, NULL, "string");
}

static void words_list(struct json *json, const struct field *field)
{
    json_object(json, NULL);
    json_string(json, "type", "array");
    json_count(json, "maxItems", PLAN_LAYERS);
    one_of(json, "items", field);
    json_close(json);
    one_of(json, NULL, field);
}

static void text(struct json *json, const struct field *field)
{
    json_object(json, NULL);
    json_string(json, "type", "string");
    json_count(json, "maxLength", field->size - 1);
    json_close(json);
}

/* What a key takes, as alternatives. */
static void alternatives(struct json *json, const struct field *field, struct arena *arena)
{
    switch (field->type) {
    case FIELD_COUNT:
        number(json, "integer", field);
        break;
    case FIELD_AMOUNT:
    case FIELD_RATE:
    case FIELD_REAL:
        number(json, "number", field);
        if (field->unit != UNIT_NONE)
            quantity(json, field, arena);
        break;
    case FIELD_BOOL:
        schema_json_type(json, NULL, "boolean");
        break;
    case FIELD_WORD:
        word(json, field);
        break;
    case FIELD_TEXT:
        text(json, field);
        break;
    case FIELD_COUNTS:
    case FIELD_WORDS:
        list(json, field);
        break;
    case FIELD_ENUMS:
        words_list(json, field);
        break;
    }
}

/* The default as a text of the type; lists and quantities as the user would write them. */
static void fallback(struct json *json, const struct field *field)
{
    double value;
    if (!field->fallback || !field->fallback[0] || schema_is_list(field))
        return;
    if (field->type == FIELD_BOOL)
        json_bool(json, "default", text_equal(field->fallback, "true"));
    else if (number_real(field->fallback, &value))
        json_real(json, "default", value);
    else
        json_string(json, "default", field->fallback);
}

static void property(struct json *json, const char *name, const struct field *field,
                     struct arena *arena)
{
    json_object(json, name);
    json_string(json, "description", field->help);
    fallback(json, field);
    json_array(json, "anyOf");
    alternatives(json, field, arena);
    json_close(json);
    json_close(json);
}

/* ---- groups ---- */

struct walk {
    struct json *json;
    struct arena *arena;
    const struct field *fields;
    size_t n, at;
};

/* Whether the next key stands below this one: "model" before "model.name". */
static bool names_group(const struct walk *w)
{
    const struct field *field = &w->fields[w->at];
    return w->at + 1 < w->n && text_starts(field[1].key, field->key) &&
           field[1].key[field->key_length] == '.';
}

static void properties(struct walk *w, const char *prefix);

static void lone_keys(struct json *json, struct arena *arena)
{
    const char *target, *key;
    for (size_t i = 0; (key = apply_lone_shorthand(i, &target)) != NULL; i++)
        property(json, key, schema_find(target), arena);
}

/* The same keys once more, of which rules say which may stand there. */
static void prefill(struct json *json)
{
    json_object(json, "prefill");
    json_string(json, "description",
                "keys of the plan that its prefill servers have otherwise: it is then what "
                "decodes");
    json_string(json, "type", "object");
    json_close(json);
}

static void mapping(struct walk *w, const char *prefix, bool part)
{
    json_string(w->json, "type", "object");
    json_bool(w->json, "additionalProperties", false);
    json_object(w->json, "properties");
    if (part)
        schema_json_type(w->json, "base", "string");
    if (!*prefix)
        lone_keys(w->json, w->arena);
    properties(w, prefix);
    if (!*prefix)
        prefill(w->json);
    json_close(w->json);
}

/* A group, and what may stand in its place: the name of a part, a word for one of its keys. */
static void group(struct walk *w, const char *name, const char *prefix)
{
    const struct field *field = &w->fields[w->at];
    const bool part = names_group(w);
    const char *key = arena_strndup(w->arena, prefix, strlen(prefix) - 1);
    const struct field *meant = part ? field : schema_find(apply_shorthand(key));
    json_object(w->json, name);
    if (part)
        json_string(w->json, "description", field->help);
    json_array(w->json, "anyOf");
    if (meant)
        alternatives(w->json, meant, w->arena);
    w->at += part;
    json_object(w->json, NULL);
    mapping(w, prefix, part);
    json_close(w->json);
    json_close(w->json);
    json_close(w->json);
}

static void properties(struct walk *w, const char *prefix)
{
    const size_t length = strlen(prefix);
    while (w->at < w->n && text_starts(w->fields[w->at].key, prefix)) {
        const char *name = w->fields[w->at].key + length, *dot = strchr(name, '.');
        const size_t part = dot ? (size_t)(dot - name) : strlen(name);
        if (!dot && !names_group(w)) {
            property(w->json, name, &w->fields[w->at++], w->arena);
            continue;
        }
        group(w, arena_strndup(w->arena, name, part),
              arena_printf(w->arena, "%s%.*s.", prefix, (int)part, name));
    }
}

void schema_json_plan(struct json *json, struct arena *arena)
{
    struct walk w = {.json = json, .arena = arena};
    w.fields = schema_fields(&w.n);
    mapping(&w, "", false);
    json_list(json, "required");
    json_string(json, NULL, "model");
    json_string(json, NULL, "cluster");
    json_close(json);
}

/* ---- columns ---- */

static const char *const column_types[] = {
    [COLUMN_COUNT] = "integer",  [COLUMN_INTEGER] = "integer", [COLUMN_BYTES] = "integer",
    [COLUMN_SIGNED] = "integer", [COLUMN_SECONDS] = "number",  [COLUMN_REAL] = "number",
    [COLUMN_BOOL] = "boolean",   [COLUMN_TEXT] = "string",     [COLUMN_NAME] = "string",
    [COLUMN_COUNTS] = "array"};

/* A text may be NULL, a real no number: both are left out then. */
static bool always_there(const struct column *column)
{
    const enum column_type type = column->type;
    return !column->present && type != COLUMN_TEXT && type != COLUMN_CELL &&
           type != COLUMN_NAME && type != COLUMN_REAL && type != COLUMN_SECONDS;
}

static void cell_types(struct json *json)
{
    json_list(json, "type");
    json_string(json, NULL, "number");
    json_string(json, NULL, "string");
    json_close(json);
}

void schema_json_columns(struct json *json, const struct column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const enum column_type type = columns[i].type;
        json_object(json, columns[i].key);
        if (columns[i].help)
            json_string(json, "description", columns[i].help);
        if (type == COLUMN_CELL)
            cell_types(json);
        else
            json_string(json, "type", column_types[type]);
        if (type == COLUMN_COUNT || type == COLUMN_BYTES)
            json_count(json, "minimum", 0);
        if (type == COLUMN_COUNTS)
            schema_json_type(json, "items", "integer");
        json_close(json);
    }
}

void schema_json_required(struct json *json, const struct column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (always_there(&columns[i]))
            json_string(json, NULL, columns[i].key);
}

void schema_json_record(struct json *json, const char *key, const struct column *columns,
                        size_t n)
{
    json_object(json, key);
    json_string(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    json_object(json, "properties");
    schema_json_columns(json, columns, n);
    json_close(json);
    json_list(json, "required");
    schema_json_required(json, columns, n);
    json_close(json);
    json_close(json);
}

void schema_json_records(struct json *json, const char *key, const struct column *columns,
                         size_t n)
{
    json_object(json, key);
    json_string(json, "type", "array");
    schema_json_record(json, "items", columns, n);
    json_close(json);
}

/* ---- objects of parts ---- */

static void object_of(struct json *json, const struct schema_part *parts, bool others);

static void open_list(struct json *json, const char *key)
{
    json_object(json, key);
    json_string(json, "type", "array");
}

static void part(struct json *json, const struct schema_part *p)
{
    size_t n = 0;
    const struct column *columns = p->columns ? p->columns(&n) : NULL;
    switch (p->shape) {
    case SCHEMA_SCALAR:
        schema_json_type(json, p->key, p->type);
        break;
    case SCHEMA_LINES:
        open_list(json, p->key);
        schema_json_type(json, "items", "string");
        json_close(json);
        break;
    case SCHEMA_NUMBERS:
        json_object(json, p->key);
        json_string(json, "type", "object");
        schema_json_type(json, "additionalProperties", "number");
        json_close(json);
        break;
    case SCHEMA_RECORD:
        schema_json_record(json, p->key, columns, n);
        break;
    case SCHEMA_RECORDS:
        schema_json_records(json, p->key, columns, n);
        break;
    case SCHEMA_MEMBERS:
        schema_json_columns(json, columns, n);
        break;
    case SCHEMA_OBJECT:
    case SCHEMA_OPEN:
        json_object(json, p->key);
        object_of(json, p->parts, p->shape == SCHEMA_OPEN);
        json_close(json);
        break;
    case SCHEMA_LIST:
        open_list(json, p->key);
        json_object(json, "items");
        object_of(json, p->parts, false);
        json_close(json);
        json_close(json);
        break;
    }
}

static void required(struct json *json, const struct schema_part *p)
{
    size_t n = 0;
    const struct column *columns = p->shape == SCHEMA_MEMBERS ? p->columns(&n) : NULL;
    if (p->required)
        json_string(json, NULL, p->key);
    for (size_t i = 0; i < n; i++)
        if (!columns[i].present)
            json_string(json, NULL, columns[i].key);
}

static void object_of(struct json *json, const struct schema_part *parts, bool others)
{
    json_string(json, "type", "object");
    json_bool(json, "additionalProperties", others);
    json_list(json, "required");
    for (size_t i = 0; parts[i].key; i++)
        required(json, &parts[i]);
    json_close(json);
    json_object(json, "properties");
    for (size_t i = 0; parts[i].key; i++)
        part(json, &parts[i]);
    json_close(json);
}

static void open_document(struct json *json, FILE *out, const char *name, const char *title)
{
    json_init(json, out);
    json_object(json, NULL);
    schema_json_head(json, name, title);
}

void schema_json_document(FILE *out, const char *name, const char *title,
                          const struct schema_part *parts)
{
    struct json json;
    open_document(&json, out, name, title);
    object_of(&json, parts, false);
    json_close(&json);
}

/* Rows of a table, keys by what was swept or searched. */
static void rows_form(struct json *json)
{
    json_object(json, NULL);
    json_string(json, "type", "array");
    json_object(json, "items");
    json_string(json, "type", "object");
    json_object(json, "additionalProperties");
    json_list(json, "type");
    json_string(json, NULL, "number");
    json_string(json, NULL, "string");
    json_string(json, NULL, "boolean");
    json_close(json);
    json_close(json);
    json_close(json);
    json_close(json);
}

void schema_json_forms(FILE *out, const char *name, const char *title,
                       const struct schema_forms *forms)
{
    struct json json;
    open_document(&json, out, name, title);
    json_array(&json, "anyOf");
    for (size_t i = 0; i < forms->n; i++) {
        json_object(&json, NULL);
        object_of(&json, forms->parts[i], false);
        json_close(&json);
    }
    if (forms->rows)
        rows_form(&json);
    json_close(&json);
    json_close(&json);
}
