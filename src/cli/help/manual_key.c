/* Pages about plan keys; see manual_key.h. */
#include "cli/help/manual_key.h"

#include <string.h>

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
