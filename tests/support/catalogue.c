/* Reading of single files; see catalogue.h. */
#include "support/catalogue.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan/schema.h"
#include "plan/source.h"

static void set_list(const struct field *field, const struct node *list, struct plan *plan)
{
    struct err err = {0};
    schema_list_clear(field, plan);
    for (const struct node *item = list->first; item; item = item->next)
        if (schema_list_add(field, plan, item->text, item->quoted, item->mark, &err))
            fail_msg("%s: %s", err.where, err.text);
}

static void set_fields(const struct node *mapping, const char *group, struct arena *arena,
                       struct plan *plan)
{
    for (const struct node *value = mapping->first; value; value = value->next) {
        const char *key = arena_printf(arena, "%s.%s", group, value->key);
        const struct field *field = schema_find(key);
        struct err err = {0};
        if (value->kind == NODE_MAPPING)
            set_fields(value, key, arena, plan);
        else if (!field)
            fail_msg("%s:%u: no key '%s'", value->mark.file, value->mark.line, key);
        else if (value->kind == NODE_SEQUENCE)
            set_list(field, value, plan);
        else if (schema_set(field, plan, value->text, value->quoted, value->mark, &err))
            fail_msg("%s: %s", err.where, err.text);
    }
}

void catalogue_read(const char *path, const char *group, struct arena *arena, struct plan *plan)
{
    struct err err = {0};
    struct node *root = NULL;
    if (source_read_file(path, arena, &root, &err))
        fail_msg("%s: %s", err.where, err.text);
    schema_defaults(plan);
    set_fields(root, group, arena, plan);
}

double catalogue_number(const char *cell)
{
    char *end = NULL;
    double value = strtod(cell, &end);
    return end == cell ? (double)NAN : value;
}
