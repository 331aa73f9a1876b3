/* See apply.h. */
#include "plan/read/apply.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "plan/schema/schema.h"
#include "plan/schema/word.h"

/* A value in place of a group stands for one of its fields; `clears` then returns to its
 * default, because {save: [...]} of a file must not outlive `--set recompute=full`. */
static const struct shorthand {
    const char *key, *target, *clears;
} shorthands[] = {
    {"recompute", "recompute.kind", "recompute.save"},
    {"block", "block.kind", NULL},
    {"collective", "block.collective", NULL},
};

static const struct shorthand *shorthand_find(const char *key)
{
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++) {
        if (text_equal(shorthands[i].key, key))
            return &shorthands[i];
    }
    return NULL;
}

/* ---- suggestions ---- */

/* What stands behind "group." in a key, up to the next dot; NULL when it is not in the group.
 */
static const char *component(const char *key, const char *group, size_t *length)
{
    size_t n = strlen(group);
    if (n && (strncmp(key, group, n) != 0 || key[n] != '.'))
        return NULL;
    const char *start = n ? key + n + 1 : key;
    *length = strcspn(start, ".");
    return start;
}

enum { NAMES_MAX = 64 };

/* The names that may stand in a group, each once, in the table's order. */
static size_t group_names(struct arena *arena, const char *group, const char *names[NAMES_MAX])
{
    size_t n_fields, n = 0, length;
    const struct field *fields = schema_fields(&n_fields);
    for (size_t i = 0; i < n_fields && n < NAMES_MAX; i++) {
        const char *name = component(fields[i].key, group, &length);
        if (!name)
            continue;
        const char *last = n ? names[n - 1] : "";
        if (strlen(last) == length && strncmp(last, name, length) == 0)
            continue;
        names[n++] = arena_strndup(arena, name, length);
    }
    return n;
}

static bool is_group(const char *key)
{
    size_t n, length;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        if (*key && component(fields[i].key, key, &length))
            return true;
    }
    return false;
}

const char *apply_shorthand(const char *key)
{
    const struct shorthand *shorthand = shorthand_find(key);
    return shorthand ? shorthand->target : "";
}

const char *apply_lone_shorthand(size_t i, const char **target)
{
    for (size_t j = 0; j < sizeof shorthands / sizeof *shorthands; j++) {
        if (is_group(shorthands[j].key) || i-- > 0)
            continue;
        *target = shorthands[j].target;
        return shorthands[j].key;
    }
    return NULL;
}

static const char *name_at(const void *names, size_t i)
{
    return ((const char *const *)names)[i];
}

static const char *key_at(const void *fields, size_t i)
{
    return ((const struct field *)fields)[i].key;
}

/* How far a field lies from what people name first: those of the plan itself, by depth. */
static size_t remoteness(const struct field *field)
{
    size_t depth = schema_is_part(field->key) ? NAMES_MAX : 0;
    for (const char *c = field->key; *c; c++)
        depth += *c == '.';
    return depth;
}

/* The field whose last component is this name, or NULL. */
static const struct field *field_of_name(const char *name)
{
    size_t n;
    const struct field *fields = schema_fields(&n), *found = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *dot = strrchr(fields[i].key, '.');
        if (dot && text_equal(dot + 1, name) &&
            (!found || remoteness(&fields[i]) < remoteness(found)))
            found = &fields[i];
    }
    return found;
}

static enum status hint_names(struct loader *loader, const char *group, const char **names,
                              size_t n)
{
    struct text list = {.arena = loader->arena};
    for (size_t i = 0; i < n; i++)
        text_printf(&list, "%s%s", i ? ", " : "", names[i]);
    return err_hint(loader->err, "keys %s%s%s are: %s", *group ? "of '" : "here", group,
                    *group ? "'" : "", text_string(&list));
}

static enum status suggest(struct loader *loader, const char *key)
{
    const char *dot = strrchr(key, '.');
    const char *name = dot ? dot + 1 : key;
    const char *group = dot ? arena_strndup(loader->arena, key, (size_t)(dot - key)) : "";
    const char *names[NAMES_MAX];
    size_t n = group_names(loader->arena, group, names), n_fields;
    const struct field *fields = schema_fields(&n_fields);
    const char *nearest = text_nearest(name, n, name_at, names);
    const struct field *elsewhere = field_of_name(name);
    const char *meant = word_key(name), *colon = strchr(name, ':');
    if (colon && colon[1])
        return err_hint(loader->err, "a space stands behind the colon: '%.*s: %s'",
                        (int)(colon - name), name, colon + 1);
    if (text_equal(name, "base") && *group) /* of a mapping in a file */
        return err_hint(loader->err, "another %s by its name: %s=NAME", group, group);
    if (meant)
        return err_hint(loader->err, "did you mean '%s'?", meant);
    if (nearest && 2 * text_distance(name, nearest) > strlen(name))
        nearest = NULL; /* half of a short name changed is another name */
    if (nearest && (!elsewhere || text_distance(name, nearest) == 1))
        return err_hint(loader->err, "did you mean '%s%s%s'?", group, *group ? "." : "",
                        nearest);
    if (elsewhere)
        return err_hint(loader->err, "did you mean '%s'?", elsewhere->key);
    if (n)
        return hint_names(loader, group, names, n);
    nearest = text_nearest(key, n_fields, key_at, fields);
    if (nearest)
        return err_hint(loader->err, "did you mean '%s'?", nearest);
    return err_hint(loader->err, "'moeplan help' lists the keys of a plan");
}

static enum status unknown_key(struct loader *loader, const char *key, struct mark at)
{
    err_at(loader->err, at, "unknown key '%s'", key);
    return suggest(loader, key);
}

/* ---- fields ---- */

static void record_origin(struct loader *loader, const struct field *field, struct mark at)
{
    size_t n;
    loader->origins[field - schema_fields(&n)] = at;
}

static enum status set_default(struct loader *loader, const char *key)
{
    const struct field *field = schema_find(key);
    record_origin(loader, field, (struct mark){0});
    return schema_set(field, loader->plan, field->fallback, false, (struct mark){0},
                      loader->err);
}

static enum status wrong_kind(struct loader *loader, const struct field *field,
                              const struct node *value)
{
    err_at(loader->err, value->mark, "'%s' takes %s, not %s", field->key, schema_takes(field),
           node_kind_name(value->kind));
    const char *example = schema_example(field);
    return example ? err_hint(loader->err, "for example %s", example) : STATUS_INPUT;
}

static enum status no_value(struct loader *loader, const struct field *field,
                            const struct node *value)
{
    err_at(loader->err, value->mark, "'%s' has no value", field->key);
    if (field->fallback && field->fallback[0] != '\0')
        return err_hint(loader->err, "leave the key out for its default, %s", field->fallback);
    return err_hint(loader->err, "it takes %s", schema_takes(field));
}

static enum status set_items(struct loader *loader, const struct field *field,
                             const struct node *list)
{
    schema_list_clear(field, loader->plan);
    for (const struct node *item = list->first; item; item = item->next) {
        if (item->kind != NODE_SCALAR || node_is_null(item))
            return err_at(loader->err, item->mark, "'%s' takes %s, not of %s", field->key,
                          schema_takes(field),
                          node_is_null(item) ? "nothing" : node_kind_name(item->kind));
        TRY(schema_list_add(field, loader->plan, item->text, item->quoted, item->mark,
                            loader->err));
    }
    return STATUS_OK;
}

/* A list of names to save says how to recompute. */
static void imply_save(struct loader *loader)
{
    struct recompute_plan *recompute = &loader->plan->recompute;
    if (recompute->save.n > 0)
        recompute->kind = RECOMPUTE_SAVE;
}

/* A limit "ttft: 500" of a file that a person wrote means milliseconds and would be minutes: it
 * says which. Other times are in seconds without a unit, as cluster files give latencies; JSON
 * is what a program wrote, in the base unit. */
static enum status check_time(struct loader *loader, const struct field *field,
                              const struct node *value)
{
    double number;
    bool file = value->mark.line > 0 && !value->key_quoted &&
                text_starts(field->key, "workload.limit.");
    if (field->unit != UNIT_SECONDS || !file || value->quoted ||
        !number_real(value->text, &number) || number == 0)
        return STATUS_OK;
    err_at(loader->err, value->mark, "'%s' is %s without a unit", field->key, value->text);
    return err_hint(loader->err, "write %s ms, or %s s", value->text, value->text);
}

static enum status apply_field(struct loader *loader, const struct field *field,
                               const struct node *value, struct mark at)
{
    if (node_is_null(value))
        return no_value(loader, field, value);
    if (value->kind == NODE_SEQUENCE && schema_is_list(field))
        TRY(set_items(loader, field, value));
    else if (value->kind == NODE_SCALAR) {
        TRY(check_time(loader, field, value));
        TRY(schema_set(field, loader->plan, value->text, value->quoted, value->mark,
                       loader->err));
    } else
        return wrong_kind(loader, field, value);
    record_origin(loader, field, at);
    return STATUS_OK;
}

/* ---- groups ---- */

static enum status apply_group(struct loader *loader, const char *key, const struct node *value)
{
    bool option = value->mark.line == 0;
    if (node_is_null(value) && !option)
        return STATUS_OK; /* all its keys are commented out */
    if (value->kind == NODE_MAPPING) {
        TRY(apply_mapping(loader, key, value, NULL));
        if (text_equal(key, "recompute") && node_get(value, "save") && !node_get(value, "kind"))
            imply_save(loader);
        return STATUS_OK;
    }
    const char *names[NAMES_MAX];
    err_at(loader->err, value->mark, "'%s' takes a mapping, not %s", key,
           node_kind_name(value->kind));
    return hint_names(loader, key, names, group_names(loader->arena, key, names));
}

/* Sets the field or the group under a full dotted key. `at` is where the key stands. Unknown
 * keys, wrong kinds and values are STATUS_INPUT with a place and a suggestion. */
static enum status apply_value(struct loader *loader, const char *key, const struct node *value,
                               struct mark at)
{
    const struct shorthand *shorthand = shorthand_find(key);
    if (shorthand && value->kind == NODE_SCALAR) {
        if (shorthand->clears)
            TRY(set_default(loader, shorthand->clears));
        key = shorthand->target;
    }
    const struct field *field = schema_find(key);
    if (field)
        return apply_field(loader, field, value, at);
    if (is_group(key))
        return apply_group(loader, key, value);
    return unknown_key(loader, key, at);
}

enum status apply_override(struct loader *loader, const char *key, const struct node *value)
{
    TRY(apply_value(loader, key, value, value->mark));
    if (text_equal(key, "recompute.save"))
        imply_save(loader);
    return STATUS_OK;
}

static bool is_listed(const char *key, const char *const *list)
{
    for (; list && *list; list++) {
        if (text_equal(*list, key))
            return true;
    }
    return false;
}

/* In a file a dot is no way to reach into a group: 'moe.path' and 'moe: {path: ...}' beside
 * each other would be a duplicate that nobody sees. */
static enum status dotted_key(struct loader *loader, const struct node *value)
{
    err_at(loader->err, value->key_mark, "key '%s' has a dot", value->key);
    const char *dot = strchr(value->key, '.');
    return err_hint(loader->err, "write it nested: %.*s: {%s: ...}", (int)(dot - value->key),
                    value->key, dot + 1);
}

enum status apply_mapping(struct loader *loader, const char *group, const struct node *mapping,
                          const char *const *except)
{
    for (const struct node *value = mapping->first; value; value = value->next) {
        if (is_listed(value->key, except))
            continue;
        if (strchr(value->key, '.'))
            return dotted_key(loader, value);
        const char *key = value->key;
        if (*group)
            key = arena_printf(loader->arena, "%s.%s", group, key);
        TRY(apply_value(loader, key, value, value->key_mark));
    }
    return STATUS_OK;
}

enum status apply_names(struct loader *loader, const struct node *mapping,
                        const char *const *except)
{
    for (const struct node *value = mapping->first; value; value = value->next)
        if (!is_listed(value->key, except) && !schema_find(value->key) &&
            !is_group(value->key) && !shorthand_find(value->key))
            return strchr(value->key, '.') ? dotted_key(loader, value)
                                           : unknown_key(loader, value->key, value->key_mark);
    return STATUS_OK;
}

struct mark apply_origin(const struct loader *loader, const char *key)
{
    size_t n;
    const struct field *field = schema_find(key);
    return field ? loader->origins[field - schema_fields(&n)] : (struct mark){0};
}

void apply_origin_set(struct loader *loader, const char *key, struct mark mark)
{
    record_origin(loader, schema_find(key), mark);
}

void apply_origin_group(struct loader *loader, const char *prefix, struct mark mark)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        if (text_starts(fields[i].key, prefix))
            loader->origins[i] = mark;
    }
}
