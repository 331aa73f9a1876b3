/* CSV tables; see csv.h. One pass over the text, cells unquoted into the arena. */
#include "base/csv.h"

#include <stdbool.h>

#include "base/file.h"
#include "base/text.h"

enum { CSV_MAX_BYTES = 64 << 20 };

struct reader {
    const char *at, *end;
    uint32_t line;
    struct csv *csv;
    struct arena *arena;
    size_t n_cells, cell_capacity, line_capacity;
    const char **cells;
};

static struct mark reader_mark(const struct reader *reader)
{
    return (struct mark){reader->csv->file, reader->line, 1};
}

/* Reads up to the closing quote; at stands behind the opening one. */
static enum status read_quoted(struct reader *reader, struct text *cell, struct err *err)
{
    struct mark start = reader_mark(reader);
    while (reader->at < reader->end) {
        char c = *reader->at++;
        if (c == '"' && (reader->at == reader->end || *reader->at != '"'))
            return STATUS_OK;
        if (c == '"')
            reader->at++;
        if (c == '\n')
            reader->line++;
        text_append_n(cell, &c, 1);
    }
    return err_at(err, STATUS_INPUT, start, "quoted cell has no closing quote");
}

static bool ends_cell(char c)
{
    return c == ',' || c == '\n' || c == '\r';
}

static enum status read_cell(struct reader *reader, const char **cell, struct err *err)
{
    struct text text = {.arena = reader->arena};
    if (reader->at < reader->end && *reader->at == '"') {
        reader->at++;
        TRY(read_quoted(reader, &text, err));
    }
    const char *start = reader->at;
    while (reader->at < reader->end && !ends_cell(*reader->at))
        reader->at++;
    text_append_n(&text, start, (size_t)(reader->at - start));
    *cell = text_string(&text);
    return STATUS_OK;
}

static void keep_cell(struct reader *reader, const char *cell)
{
    reader->cells = arena_grow(reader->arena, reader->cells, reader->n_cells,
                               &reader->cell_capacity, sizeof *reader->cells);
    reader->cells[reader->n_cells++] = cell;
}

/* One line's cells; *n is how many. Steps over the line's end. */
static enum status read_row(struct reader *reader, size_t *n, struct err *err)
{
    for (*n = 1;; ++*n) {
        const char *cell = NULL;
        TRY(read_cell(reader, &cell, err));
        keep_cell(reader, cell);
        if (reader->at == reader->end || *reader->at != ',')
            break;
        reader->at++;
    }
    if (reader->at < reader->end && *reader->at == '\r')
        reader->at++;
    if (reader->at < reader->end && *reader->at == '\n')
        reader->at++;
    return STATUS_OK;
}

static enum status read_header(struct reader *reader, struct err *err)
{
    struct csv *csv = reader->csv;
    if (reader->at == reader->end)
        return err_at(err, STATUS_INPUT, reader_mark(reader), "table has no header line");
    TRY(read_row(reader, &csv->n_columns, err));
    csv->columns = reader->cells;
    reader->cells = NULL;
    reader->n_cells = reader->cell_capacity = 0;
    reader->line++;
    return STATUS_OK;
}

static enum status read_rows(struct reader *reader, struct err *err)
{
    struct csv *csv = reader->csv;
    while (reader->at < reader->end) {
        uint32_t line = reader->line;
        size_t n = 0;
        TRY(read_row(reader, &n, err));
        if (n != csv->n_columns) {
            struct mark mark = {csv->file, line, 1};
            return err_at(err, STATUS_INPUT, mark, "row has %zu cells, the header has %zu", n,
                          csv->n_columns);
        }
        csv->lines = arena_grow(reader->arena, csv->lines, csv->n_rows, &reader->line_capacity,
                                sizeof *csv->lines);
        csv->lines[csv->n_rows++] = line;
        reader->line++;
    }
    csv->cells = reader->cells;
    return STATUS_OK;
}

enum status csv_parse(const char *file, const char *text, size_t length, struct arena *arena,
                      struct csv *csv, struct err *err)
{
    struct csv table = {.file = file};
    struct reader reader = {.at = text, .end = text + length, .line = 1, .arena = arena};
    reader.csv = &table;
    TRY(read_header(&reader, err));
    TRY(read_rows(&reader, err));
    *csv = table;
    return STATUS_OK;
}

enum status csv_read(const char *file, struct arena *arena, struct csv *csv, struct err *err)
{
    char *text = NULL;
    size_t length = 0;
    TRY(file_read(file, CSV_MAX_BYTES, arena, &text, &length, err));
    return csv_parse(file, text, length, arena, csv, err);
}

size_t csv_column(const struct csv *csv, const char *name)
{
    for (size_t i = 0; i < csv->n_columns; i++)
        if (text_equal(csv->columns[i], name))
            return i;
    return SIZE_MAX;
}

const char *csv_cell(const struct csv *csv, size_t row, const char *name)
{
    size_t column = csv_column(csv, name);
    return column == SIZE_MAX ? NULL : csv->cells[row * csv->n_columns + column];
}
