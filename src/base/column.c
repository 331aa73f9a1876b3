/* Records printed through their column tables; see column.h. */
#include "base/column.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/unit.h"

static const void *member(const struct column *column, const void *record)
{
    return (const char *)record + column->offset;
}

static uint64_t count_of(const struct column *column, const void *record)
{
    uint64_t value;
    memcpy(&value, member(column, record), sizeof value);
    return value;
}

static int64_t integer_of(const struct column *column, const void *record)
{
    int64_t value;
    memcpy(&value, member(column, record), sizeof value);
    return value;
}

static double real_of(const struct column *column, const void *record)
{
    double value;
    memcpy(&value, member(column, record), sizeof value);
    return value;
}

static bool bool_of(const struct column *column, const void *record)
{
    bool value;
    memcpy(&value, member(column, record), sizeof value);
    return value;
}

static const char *text_of(const struct column *column, const void *record)
{
    if (column->type == COLUMN_NAME)
        return column->name(record);
    const char *value;
    memcpy(&value, member(column, record), sizeof value);
    return value;
}

static unsigned length_of(const struct column *column, const void *record)
{
    unsigned length;
    memcpy(&length, (const char *)record + column->length_offset, sizeof length);
    return length;
}

static bool applies(const struct column *column, const void *record)
{
    if (column->present && !column->present(record))
        return false;
    if (column->type == COLUMN_SECONDS || column->type == COLUMN_REAL)
        return isfinite(real_of(column, record));
    if (column->type == COLUMN_TEXT || column->type == COLUMN_NAME)
        return text_of(column, record) != NULL;
    if (column->type == COLUMN_CELL)
        return text_of(column, record) && *text_of(column, record);
    return true;
}

/* ---- one value, three ways: a row of the table per type ---- */

struct printer {
    void (*json)(struct json *json, const struct column *column, const void *record);
    void (*csv)(FILE *out, const struct column *column, const void *record);
    void (*people)(const struct column *column, const void *record, struct text *out);
    bool right; /* numbers stand to the right in tables */
};

static void json_of_count(struct json *json, const struct column *column, const void *record)
{
    json_count(json, column->key, count_of(column, record));
}

static void json_of_integer(struct json *json, const struct column *column, const void *record)
{
    json_integer(json, column->key, integer_of(column, record));
}

static void json_of_real(struct json *json, const struct column *column, const void *record)
{
    json_real(json, column->key, real_of(column, record));
}

static void json_of_bool(struct json *json, const struct column *column, const void *record)
{
    json_bool(json, column->key, bool_of(column, record));
}

static void json_of_text(struct json *json, const struct column *column, const void *record)
{
    json_string(json, column->key, text_of(column, record));
}

static void json_of_cell(struct json *json, const struct column *column, const void *record)
{
    double value;
    const char *text = text_of(column, record);
    if (number_real(text, &value))
        json_real(json, column->key, value);
    else
        json_string(json, column->key, text);
}

static void json_of_counts(struct json *json, const struct column *column, const void *record)
{
    const uint64_t *values = member(column, record);
    json_list(json, column->key);
    for (unsigned i = 0; i < length_of(column, record); i++)
        json_count(json, NULL, values[i]);
    json_close(json);
}

static void csv_of_count(FILE *out, const struct column *column, const void *record)
{
    fprintf(out, "%" PRIu64, count_of(column, record));
}

static void csv_of_integer(FILE *out, const struct column *column, const void *record)
{
    fprintf(out, "%" PRId64, integer_of(column, record));
}

static void csv_of_real(FILE *out, const struct column *column, const void *record)
{
    char number[32];
    text_double(number, real_of(column, record));
    fputs(number, out);
}

static void csv_of_bool(FILE *out, const struct column *column, const void *record)
{
    fputs(bool_of(column, record) ? "true" : "false", out);
}

static void csv_of_text(FILE *out, const struct column *column, const void *record)
{
    column_csv_text(out, text_of(column, record));
}

static void csv_of_counts(FILE *out, const struct column *column, const void *record)
{
    const uint64_t *values = member(column, record);
    for (unsigned i = 0; i < length_of(column, record); i++)
        fprintf(out, "%s%" PRIu64, i ? "x" : "", values[i]);
}

static void people_count(const struct column *column, const void *record, struct text *out)
{
    char number[32];
    unit_print_count(number, count_of(column, record));
    text_append(out, number);
}

static void people_integer(const struct column *column, const void *record, struct text *out)
{
    text_printf(out, "%" PRId64, integer_of(column, record));
}

static void people_bytes(const struct column *column, const void *record, struct text *out)
{
    char amount[48];
    unit_print(amount, UNIT_BYTES, (double)count_of(column, record));
    text_append(out, amount);
}

static void people_signed(const struct column *column, const void *record, struct text *out)
{
    char amount[48];
    int64_t value = integer_of(column, record);
    unit_print(amount, UNIT_BYTES, fabs((double)value));
    text_printf(out, "%s%s", value < 0 ? "-" : "", amount);
}

static void people_seconds(const struct column *column, const void *record, struct text *out)
{
    char amount[48];
    unit_print(amount, UNIT_SECONDS, real_of(column, record));
    text_append(out, amount);
}

static void people_real(const struct column *column, const void *record, struct text *out)
{
    text_printf(out, "%.4g", real_of(column, record));
}

static void people_bool(const struct column *column, const void *record, struct text *out)
{
    text_append(out, bool_of(column, record) ? "yes" : "no");
}

static void people_text(const struct column *column, const void *record, struct text *out)
{
    text_append_visible(out, text_of(column, record));
}

static void people_counts(const struct column *column, const void *record, struct text *out)
{
    const uint64_t *values = member(column, record);
    for (unsigned i = 0; i < length_of(column, record); i++)
        text_printf(out, "%s%" PRIu64, i ? " x " : "", values[i]);
}

static const struct printer printers[] = {
    [COLUMN_COUNT] = {json_of_count, csv_of_count, people_count, true},
    [COLUMN_INTEGER] = {json_of_integer, csv_of_integer, people_integer, true},
    [COLUMN_BYTES] = {json_of_count, csv_of_count, people_bytes, true},
    [COLUMN_SIGNED] = {json_of_integer, csv_of_integer, people_signed, true},
    [COLUMN_SECONDS] = {json_of_real, csv_of_real, people_seconds, true},
    [COLUMN_REAL] = {json_of_real, csv_of_real, people_real, true},
    [COLUMN_BOOL] = {json_of_bool, csv_of_bool, people_bool, false},
    [COLUMN_TEXT] = {json_of_text, csv_of_text, people_text, false},
    [COLUMN_CELL] = {json_of_cell, csv_of_text, people_text, false},
    [COLUMN_NAME] = {json_of_text, csv_of_text, people_text, false},
    [COLUMN_COUNTS] = {json_of_counts, csv_of_counts, people_counts, false},
};

/* ---- JSON ---- */

void column_json(struct json *json, const struct column *columns, size_t n, const void *record)
{
    for (size_t i = 0; i < n; i++)
        if (applies(&columns[i], record))
            printers[columns[i].type].json(json, &columns[i], record);
}

void column_json_array(struct json *json, const char *key, const struct column *columns,
                       size_t n, const void *records, size_t n_records, size_t record_size)
{
    json_array(json, key);
    for (size_t i = 0; i < n_records; i++) {
        json_object(json, NULL);
        column_json(json, columns, n, (const char *)records + i * record_size);
        json_close(json);
    }
    json_close(json);
}

/* ---- CSV ---- */

void column_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n") && text[0] != ' ' && !text_ends(text, " ")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

void column_csv_header(FILE *out, const struct column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "," : "", out);
        column_csv_text(out, columns[i].key);
    }
    fputc('\n', out);
}

void column_csv_field(FILE *out, const struct column *column, const void *record)
{
    if (applies(column, record))
        printers[column->type].csv(out, column, record);
}

void column_csv_row(FILE *out, const struct column *columns, size_t n, const void *record)
{
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "," : "", out);
        column_csv_field(out, &columns[i], record);
    }
    fputc('\n', out);
}

/* ---- tables ---- */

static const void *record_at(const struct table *table, size_t i)
{
    return (const char *)table->records + i * table->record_size;
}

void column_table_json(FILE *out, const struct table *table)
{
    struct json json;
    json_init(&json, out);
    column_json_array(&json, NULL, table->columns, table->n, table->records, table->n_records,
                      table->record_size);
}

void column_table_csv(FILE *out, const struct table *table)
{
    column_csv_header(out, table->columns, table->n);
    for (size_t i = 0; i < table->n_records; i++)
        column_csv_row(out, table->columns, table->n, record_at(table, i));
}

void column_cell(const struct column *column, const void *record, struct text *out)
{
    if (applies(column, record))
        printers[column->type].people(column, record, out);
}

static const char *title_of(const struct column *column)
{
    return column->title ? column->title : column->key;
}

/* One line of aligned cells, without blanks at its end. */
static void print_line(FILE *out, const struct table *table, const char *const *cells,
                       const size_t *widths, struct arena *arena)
{
    struct text line = {.arena = arena};
    text_printf(&line, "%*s", (int)table->indent, "");
    for (size_t i = 0; i < table->n; i++) {
        int blank = (int)(widths[i] - term_columns(cells[i]));
        bool right = printers[table->columns[i].type].right;
        text_printf(&line, "%*s%s%*s  ", right ? blank : 0, "", cells[i], right ? 0 : blank,
                    "");
    }
    while (line.length && line.data[line.length - 1] == ' ')
        line.data[--line.length] = '\0';
    fputs(text_string(&line), out);
}

static void print_note(FILE *out, const struct term *term, const struct table *table,
                       const void *record, struct arena *arena)
{
    struct text note = {.arena = arena};
    if (table->note)
        column_cell(table->note, record, &note);
    if (note.length)
        fprintf(out, "%*s%s%s%s\n", (int)table->indent + 4, "", term_style(term, STYLE_DIM),
                text_string(&note), term_plain(term));
}

/* cells[0 .. n-1] are the headings, then a row of n per record. */
static const char **layout(const struct table *table, size_t *widths, struct arena *arena)
{
    size_t n = table->n, n_cells = n * (table->n_records + 1);
    const char **cells = arena_alloc(arena, n_cells, sizeof *cells);
    for (size_t i = 0; i < n_cells; i++) {
        struct text cell = {.arena = arena};
        if (i < n)
            text_append(&cell, title_of(&table->columns[i]));
        else
            column_cell(&table->columns[i % n], record_at(table, i / n - 1), &cell);
        cells[i] = text_string(&cell);
        size_t width = term_columns(cells[i]);
        widths[i % n] = width > widths[i % n] ? width : widths[i % n];
    }
    return cells;
}

void column_table(FILE *out, const struct term *term, const struct table *table,
                  struct arena *arena)
{
    size_t *widths = arena_alloc(arena, table->n, sizeof *widths);
    const char **cells = layout(table, widths, arena);
    fputs(term_style(term, STYLE_DIM), out);
    print_line(out, table, cells, widths, arena);
    fprintf(out, "%s\n", term_plain(term));
    for (size_t row = 0; row < table->n_records; row++) {
        print_line(out, table, cells + (row + 1) * table->n, widths, arena);
        fputc('\n', out);
        print_note(out, term, table, record_at(table, row), arena);
    }
}
