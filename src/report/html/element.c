/* Texts and tables; see element.h. */
#include "report/html/element.h"

#include <stdarg.h>
#include <string.h>

const char *html_escape(const char *text, struct arena *arena)
{
    static const struct {
        char character;
        const char *entity;
    } entities[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    struct text visible = {.arena = arena}, out = {.arena = arena};
    text_append_visible(&visible, text);
    for (const char *at = text_string(&visible); *at; at++) {
        size_t i = 0;
        while (i < sizeof entities / sizeof *entities && entities[i].character != *at)
            i++;
        if (i < sizeof entities / sizeof *entities)
            text_append(&out, entities[i].entity);
        else
            text_append_n(&out, at, 1);
    }
    return text_string(&out);
}

void html_print(struct html *html, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(html->out, format, args);
    va_end(args);
}

void html_section(struct html *html, const char *title, const char *about)
{
    html_print(html, "</section>\n<section>\n<h2>%s</h2>\n", title);
    if (about)
        html_print(html, "<p class=\"about\">%s</p>\n", about);
}

const char *html_amount(struct html *html, uint64_t bytes)
{
    char number[32];
    scale_print(number, html->scale, bytes);
    return arena_printf(html->arena, "%s %s", number, html->scale.unit);
}

/* ---- tables ---- */

/* Numbers stand to the right; words and lists of numbers stay on one line, texts need not. */
static const char *class_of(const struct column *column)
{
    switch (column->type) {
    case COLUMN_TEXT:
    case COLUMN_CELL:
        return "";
    case COLUMN_BOOL:
    case COLUMN_NAME:
    case COLUMN_COUNTS:
        return " class=\"w\"";
    case COLUMN_COUNT:
    case COLUMN_INTEGER:
    case COLUMN_BYTES:
    case COLUMN_SIGNED:
    case COLUMN_SECONDS:
    case COLUMN_REAL:
        break;
    }
    return " class=\"n\"";
}

static const char *cell_of(struct html *html, const struct column *column, const void *record)
{
    struct text cell = {.arena = html->arena};
    column_cell(column, record, &cell);
    return text_string(&cell);
}

static const char *heading_of(struct html *html, const struct column *column)
{
    const char *name = column->title ? column->title : column->key;
    size_t length = strlen(name);
    length -= text_ends(name, "_bytes") ? strlen("_bytes") : 0; /* the cell has its unit */
    return html_escape(arena_strndup(html->arena, name, length), html->arena);
}

static const void *record_at(const struct table *table, size_t i)
{
    return (const char *)table->records + i * table->record_size;
}

static bool says_nothing(struct html *html, const struct table *table, size_t column)
{
    for (size_t i = 0; i < table->n_records; i++)
        if (cell_of(html, &table->columns[column], record_at(table, i))[0])
            return false;
    return true;
}

static void table_head(struct html *html, const struct table *table, const bool *hidden)
{
    html_print(html, "<div class=\"wide\"><table>\n<thead><tr>");
    for (size_t c = 0; c < table->n; c++)
        if (!hidden[c])
            html_print(html, "<th%s>%s</th>", class_of(&table->columns[c]),
                       heading_of(html, &table->columns[c]));
    html_print(html, "</tr></thead>\n<tbody>\n");
}

/* What a row has to say below itself, over its whole width. */
static void table_note(struct html *html, const struct table *table, size_t i)
{
    const char *note = table->note ? cell_of(html, table->note, record_at(table, i)) : "";
    if (note[0])
        html_print(html, "<tr class=\"note\"><td colspan=\"%zu\"><code>%s</code></td></tr>\n",
                   table->n, html_escape(note, html->arena));
}

void html_table(struct html *html, const struct table *table)
{
    bool *hidden = arena_alloc(html->arena, table->n + 1, sizeof *hidden);
    for (size_t c = 0; c < table->n; c++)
        hidden[c] = says_nothing(html, table, c);
    table_head(html, table, hidden);
    for (size_t i = 0; i < table->n_records; i++) {
        html_print(html, "<tr>");
        for (size_t c = 0; c < table->n; c++)
            if (!hidden[c])
                html_print(html, "<td%s>%s</td>", class_of(&table->columns[c]),
                           html_escape(cell_of(html, &table->columns[c], record_at(table, i)),
                                       html->arena));
        html_print(html, "</tr>\n");
        table_note(html, table, i);
    }
    html_print(html, "</tbody></table></div>\n");
}

void html_record(struct html *html, const struct column *columns, size_t n, const void *record)
{
    html_print(html, "<dl>\n");
    for (size_t c = 0; c < n; c++) {
        const char *cell = cell_of(html, &columns[c], record);
        if (cell[0])
            html_print(html, "<div><dt>%s</dt><dd>%s</dd></div>\n",
                       heading_of(html, &columns[c]), html_escape(cell, html->arena));
    }
    html_print(html, "</dl>\n");
}
