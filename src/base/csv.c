/* CSV tables; see csv.h. One pass over a copy of the text: a cell is unquoted where it stands
 * and ends where its comma stood, so that it costs a pointer and no more. */
#include "base/csv.h"

#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { CSV_MAX_BYTES = 64 << 20, CSV_MAX_COLUMNS = 4096, CSV_MAX_CELLS = 16 << 20 };

struct reader {
    char *at, *end; /* *end is a terminator */
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

/* Unquotes up to the closing quote; at stands behind the opening one, *to at it. */
static enum status read_quoted(struct reader *reader, char **to, struct err *err)
{
    struct mark start = reader_mark(reader);
    while (reader->at < reader->end) {
        char c = *reader->at++;
        if (c == '"' && *reader->at != '"')
            return STATUS_OK;
        if (c == '"')
            reader->at++;
        if (c == '\n')
            reader->line++;
        *(*to)++ = c;
    }
    return err_at(err, start, "quoted cell has no closing quote");
}

static bool ends_cell(char c)
{
    return c == ',' || c == '\n' || c == '\r';
}

/* What a cell ends with; '\0' is the end of the text. */
static enum status read_cell(struct reader *reader, const char **cell, char *ended,
                             struct err *err)
{
    char *to = reader->at;
    *cell = to;
    if (*reader->at == '"') {
        reader->at++;
        TRY(read_quoted(reader, &to, err));
    }
    size_t rest = 0;
    while (reader->at + rest < reader->end && !ends_cell(reader->at[rest]))
        rest++;
    memmove(to, reader->at, rest);
    reader->at += rest;
    *ended = reader->at < reader->end ? *reader->at++ : '\0';
    to[rest] = '\0';
    return STATUS_OK;
}

static void keep_cell(struct reader *reader, const char *cell)
{
    reader->cells = arena_grow(reader->arena, reader->cells, reader->n_cells,
                               &reader->cell_capacity, sizeof *reader->cells);
    reader->cells[reader->n_cells++] = cell;
}

/* One line's cells, of which at most `room` are kept; *n is how many there are. Steps over the
 * line's end. */
static enum status read_row(struct reader *reader, size_t room, size_t *n, struct err *err)
{
    for (*n = 0;;) {
        const char *cell = NULL;
        char ended;
        TRY(read_cell(reader, &cell, &ended, err));
        if (++*n <= room)
            keep_cell(reader, cell);
        if (ended == ',')
            continue;
        if (ended == '\r' && *reader->at == '\n')
            reader->at++;
        return STATUS_OK;
    }
}

static enum status read_header(struct reader *reader, struct err *err)
{
    struct csv *csv = reader->csv;
    struct mark mark = reader_mark(reader);
    if (reader->at == reader->end)
        return err_at(err, mark, "table has no header line");
    TRY(read_row(reader, CSV_MAX_COLUMNS, &csv->n_columns, err));
    if (csv->n_columns > CSV_MAX_COLUMNS)
        return err_at(err, mark, "table has %zu columns, above the limit %d", csv->n_columns,
                      CSV_MAX_COLUMNS);
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
        struct mark mark = reader_mark(reader);
        size_t n = 0;
        if (reader->n_cells + csv->n_columns > CSV_MAX_CELLS)
            return err_at(err, mark, "table has more cells than the limit %d", CSV_MAX_CELLS);
        TRY(read_row(reader, csv->n_columns, &n, err));
        if (n != csv->n_columns) {
            err_at(err, mark, "row has %zu cells, the header has %zu", n, csv->n_columns);
            return err_hint(err, "a cell that holds a comma stands in double quotes");
        }
        csv->lines = arena_grow(reader->arena, csv->lines, csv->n_rows, &reader->line_capacity,
                                sizeof *csv->lines);
        csv->lines[csv->n_rows++] = mark.line;
        reader->line++;
    }
    csv->cells = reader->cells;
    return STATUS_OK;
}

/* A cell is a C string. */
static enum status check_nul(const char *file, const char *text, size_t length, struct err *err)
{
    const char *nul = memchr(text, '\0', length);
    struct mark mark = {file, 1, 1};
    if (!nul)
        return STATUS_OK;
    for (const char *at = text; at < nul; at++)
        mark.line += *at == '\n';
    return err_at(err, mark, "a NUL character stands in the table");
}

enum status csv_parse(const char *file, const char *text, size_t length, struct arena *arena,
                      struct csv *csv, struct err *err)
{
    struct csv table = {.file = file};
    TRY(check_nul(file, text, length, err));
    struct reader reader = {.at = arena_strndup(arena, text, length), .line = 1};
    reader.end = reader.at + length;
    reader.arena = arena;
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
