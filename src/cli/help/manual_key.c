/* Pages about plan keys; see manual_key.h. */
#include "cli/help/manual_key.h"

#include <string.h>

#include "report/page.h"

static void fact(struct page *page, const char *name, const char *value)
{
    if (value)
        page_item(page, 2, 12, name, value);
}

static const char *example_value(const struct key_row *row, struct arena *arena)
{
    if (row->fallback && row->fallback[0])
        return row->fallback;
    if (row->choices)
        return arena_strndup(arena, row->choices, strcspn(row->choices, ","));
    return "...";
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
    page_heading(&page, "in the plan file");
    print_in_file(&page, row, value);
    page_heading(&page, "on the command line");
    page_text(&page, 4, arena_printf(arena, "--set %s=%s", row->key, value));
}

void manual_keys(const struct invocation *call, const struct key_row *rows, size_t n)
{
    struct table table = {.records = rows, .n_records = n, .record_size = sizeof *rows};
    table.columns =
        call->general.format == FORMAT_TEXT ? key_table(&table.n) : key_columns(&table.n);
    command_print_table(call, &table, table.n);
}
