/* Pages about plan keys; see manual_key.h. */
#include "cli/help/manual_key.h"

#include <string.h>

#include "plan/read/catalog.h"
#include "plan/read/load.h"
#include "plan/schema/word.h"
#include "report/page.h"

static void fact(struct page *page, const char *name, const char *value)
{
    if (value)
        page_item(page, 2, 12, name, value);
}

static const char *example_value(const struct key_row *row, struct arena *arena)
{
    const char *example = row->field ? schema_example(row->field) : row->fallback;
    if (example && example[0])
        return row->field && row->field->type == FIELD_WORDS && example[0] != '['
                   ? arena_printf(arena, "[%s]", example)
                   : example;
    if (row->choices)
        return arena_strndup(arena, row->choices, strcspn(row->choices, ","));
    return "...";
}

enum { VALUES_MAX = 16 };

/* The value that a stack's file has for a field; NULL when it has none, or not in the mode. */
static const char *stack_value(const struct field *field, const char *stack, const char *mode,
                               struct arena *arena)
{
    const char *text = arena_printf(arena,
                                    "model: mixtral-8x7b\ncluster: h100-8x1\nstack: %s\n"
                                    "workload: {mode: %s}\n",
                                    stack, mode);
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct text value = {.arena = arena};
    struct err err = {0};
    struct origins origins = {0};
    size_t n;
    if (plan_load_text("help", text, strlen(text), NULL, 0, arena, plan, &origins, &err) !=
        STATUS_OK)
        return NULL;
    const char *file = origins.mark[field - schema_fields(&n)].file;
    if (!file || !text_ends(file, arena_printf(arena, "/%s.yaml", stack)))
        return NULL; /* its own default, or what follows from the layout */
    schema_print(field, plan, &value);
    return text_string(&value);
}

/* "3: fsdp, torchtitan": what stacks take where the plan says nothing and that is not the
 * default; NULL: all take it. Of keys of the plan itself. */
static const char *stack_values(const struct field *field, struct arena *arena)
{
    struct catalog_item *stacks = NULL;
    struct text lists[VALUES_MAX] = {0}, all = {.arena = arena};
    const char *values[VALUES_MAX];
    size_t n_stacks = 0, n = 0;
    if (!field || schema_is_part(field->key) || !strchr(field->key, '.') ||
        text_equal(field->key, "workload.mode"))
        return NULL;
    catalog_list(CATALOG_STACK, arena, &stacks, &n_stacks);
    for (size_t i = 0; i < n_stacks; i++) {
        size_t at = 0;
        const char *value = stack_value(field, stacks[i].name, "train", arena);
        if (!value)
            value = stack_value(field, stacks[i].name, "decode", arena);
        if (!value || text_equal(value, field->fallback ? field->fallback : ""))
            continue;
        while (at < n && !text_equal(values[at], value))
            at++;
        if (at == VALUES_MAX)
            continue;
        values[at] = value;
        lists[at].arena = arena;
        text_printf(&lists[at], "%s%s", lists[at].length ? ", " : "", stacks[i].name);
        n = at == n ? n + 1 : n;
    }
    for (size_t i = 0; i < n; i++)
        text_printf(&all, "%s%s: %s", i ? "; " : "", values[i], text_string(&lists[i]));
    return n ? text_string(&all) : NULL;
}

/* Every word with what it means. */
static void print_words(struct page *page, const struct field *field)
{
    if (!field->words)
        return;
    page_heading(page, "values");
    const char *const *words = schema_words(field);
    for (size_t i = 0; words[i]; i++) {
        const char *help = word_help(field->words, words[i]);
        page_item(page, 2, 24, words[i], help ? help : "");
    }
}

/* The names that stacks know for a list of names, under each stack's own. */
static void print_names(struct page *page, const char *key, struct arena *arena)
{
    const char *stacks = "";
    const struct word_name *name;
    for (size_t i = 0; (name = word_name_at(i)) != NULL; i++) {
        if (!text_equal(name->key, key))
            continue;
        if (!text_equal(name->stacks, stacks))
            page_heading(page, arena_printf(arena, "under stack %s", name->stacks));
        stacks = name->stacks;
        page_item(page, 2, 24, name->name, name->help);
    }
}

/* The key as it stands in the file: a line per level. */
static void print_in_file(struct page *page, const struct key_row *row, const char *value)
{
    const char *at = row->key;
    for (unsigned indent = 4;; indent += 2) {
        size_t length = strcspn(at, ".");
        bool last = at[length] == '\0';
        fprintf(page->out, "%*s%.*s:%s%s\n", (int)indent, "", (int)length, at, last ? " " : "",
                last ? value : "");
        if (last)
            return;
        at += length + 1;
    }
}

void manual_key(const struct key_row *row, FILE *out, const struct term *term,
                struct arena *arena)
{
    struct page page = {.out = out, .term = term};
    const char *value = example_value(row, arena);
    page_text(&page, 0, arena_printf(arena, "%s: %s", row->key, row->help));
    page_text(&page, 0, "\n");
    fact(&page, "type", row->type);
    fact(&page, "unit", row->unit);
    fact(&page, "default", row->shown);
    fact(&page, "stacks", stack_values(row->field, arena));
    fact(&page, "limits", row->limits);
    fact(&page, "one of", row->choices);
    fact(&page, "read", row->read);
    print_words(&page, row->field);
    print_names(&page, row->key, arena);
    page_heading(&page, "in the plan file");
    print_in_file(&page, row, value);
    page_heading(&page, "on the command line");
    /* what a shell would take apart or expand stands in quotes */
    const char *quote = value[strcspn(value, " []{}*?$'")] ? "'" : "";
    page_text(&page, 4, arena_printf(arena, "--set %s%s=%s%s", quote, row->key, value, quote));
}

void manual_keys(const struct invocation *call, const struct key_row *rows, size_t n)
{
    struct table table = {.records = rows, .n_records = n, .record_size = sizeof *rows};
    table.columns =
        call->general.format == FORMAT_TEXT ? key_table(&table.n) : key_columns(&table.n);
    command_print_table(call, &table, table.n);
}
