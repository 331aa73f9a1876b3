/* Dotted keys as nested YAML; see show.h. The field table keeps the keys of a group together,
 * so that each group opens once. */
#include "plan/read/show.h"

#include <string.h>

#include "plan/pools.h"
#include "plan/read/part.h"
#include "plan/schema/schema.h"

enum { INDENT = 2 };

/* Characters that two keys share up to a dot: "moe.routing.alpha", "moe.chunk" -> 4. */
static size_t shared_groups(const char *a, const char *b)
{
    size_t shared = 0;
    for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
        if (a[i] == '.')
            shared = i + 1;
    }
    return shared;
}

static void print_indent(struct text *out, int depth)
{
    text_printf(out, "%*s", depth * INDENT, "");
}

/* Writes the groups of a key behind `shared` and returns its last part; *depth is its depth. */
static const char *print_groups(const char *key, size_t from, size_t shared, int *depth,
                                struct text *out)
{
    const char *at = key + from, *dot;
    *depth = 0;
    for (; (dot = strchr(at, '.')) != NULL; at = dot + 1, ++*depth) {
        if (at < key + shared)
            continue;
        if (*depth == 0 && out->length > 0)
            text_append(out, "\n");
        print_indent(out, *depth);
        text_append_n(out, at, (size_t)(dot - at));
        text_append(out, ":\n");
    }
    return at;
}

/* The name of a part, in whose place the part itself stands; a text that is not given. */
static bool is_left_out(const struct field *field, const struct plan *plan)
{
    if (part_is_key(field->key))
        return true;
    return field->type == FIELD_TEXT && ((const char *)plan)[field->offset] == '\0';
}

static void print_fields(const struct plan *plan, const char *prefix, struct text *out)
{
    size_t n, from = strlen(prefix);
    const struct field *fields = schema_fields(&n);
    const char *before = prefix;
    for (size_t i = 0; i < n; i++) {
        int depth;
        const char *key = fields[i].key;
        if (!text_starts(key, prefix) || is_left_out(&fields[i], plan))
            continue;
        size_t shared = shared_groups(before, key);
        const char *name = print_groups(key, from, shared, &depth, out);
        print_indent(out, depth);
        text_printf(out, "%s: ", name);
        schema_print(&fields[i], plan, out);
        text_append(out, "\n");
        before = key;
    }
}

bool plan_prefill_has(const struct plan *plan, const struct field *field)
{
    const char *one = (const char *)plan + field->offset;
    const char *other = (const char *)plan->prefill + field->offset;
    return !is_left_out(field, plan->prefill) && memcmp(one, other, field->size) != 0 &&
           !text_equal(field->key, "workload.disaggregated");
}

/* What prefill servers have otherwise. */
static void print_prefill(const struct plan *plan, struct text *out)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    const char *before = "";
    for (size_t i = 0; i < n; i++) {
        int depth;
        if (!plan_prefill_has(plan, &fields[i]))
            continue;
        const char *key = arena_printf(out->arena, POOL_PREFIX "%s", fields[i].key);
        const char *name = print_groups(key, 0, shared_groups(before, key), &depth, out);
        print_indent(out, depth);
        text_printf(out, "%s: ", name);
        schema_print(&fields[i], plan->prefill, out);
        text_append(out, "\n");
        before = key;
    }
}

void plan_print(const struct plan *plan, struct text *out)
{
    print_fields(plan, "", out);
    if (plan->prefill)
        print_prefill(plan, out);
}

void plan_print_group(const struct plan *plan, const char *group, struct text *out)
{
    print_fields(plan, arena_printf(out->arena, "%s.", group), out);
}
