/* A CSV table: any text ends in a table that reads back as it is written, or in an error with a
 * text and a place. An error leaves the table as it was. */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/text.h"

static void require(int holds)
{
    if (!holds)
        abort();
}

/* Every cell in quotes. */
static void write_row(const char *const *cells, size_t n, struct text *out)
{
    for (size_t i = 0; i < n; i++) {
        text_append(out, i ? ",\"" : "\"");
        for (const char *at = cells[i]; *at; at++)
            text_append(out, *at == '"' ? "\"\"" : (char[]){*at, '\0'});
        text_append(out, "\"");
    }
    text_append(out, "\n");
}

static void read_back(const struct csv *csv, struct arena *arena)
{
    struct text text = {.arena = arena};
    struct err err = {0};
    struct csv again;
    write_row(csv->columns, csv->n_columns, &text);
    for (size_t row = 0; row < csv->n_rows; row++)
        write_row(csv->cells + row * csv->n_columns, csv->n_columns, &text);
    require(csv_parse("t.csv", text.data, text.length, arena, &again, &err) == STATUS_OK);
    require(again.n_rows == csv->n_rows && again.n_columns == csv->n_columns);
    for (size_t i = 0; i < csv->n_rows * csv->n_columns; i++)
        require(strcmp(again.cells[i], csv->cells[i]) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct err err = {0};
    static const struct csv untouched = {.n_rows = 77};
    struct csv csv = untouched;
    if (csv_parse("t.csv", (const char *)data, size, &arena, &csv, &err) == STATUS_OK)
        read_back(&csv, &arena);
    else
        require(err.text[0] && err.where[0] && memcmp(&csv, &untouched, sizeof csv) == 0);
    arena_release(&arena);
    return 0;
}
