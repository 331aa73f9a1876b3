/* A sweep's rows for people; see table.h. */
#include "cli/frontier/table.h"

#include <string.h>

#include "base/csv.h"
#include "base/json.h"
#include "base/number.h"
#include "base/unit.h"
#include "cli/command/side.h"
#include "plan/data/profile.h"

bool frontier_is_table(const struct invocation *call)
{
    return call->general.format == FORMAT_TEXT;
}

/* ---- a table ---- */

/* "total_bytes" is shown as "total GiB"; the empty time column is left out. */
static bool hidden(const struct csv *csv, size_t column)
{
    for (size_t row = 0; row < csv->n_rows; row++)
        if (csv->cells[row * csv->n_columns + column][0])
            return false;
    return true;
}

static const char *visible(const char *text, struct arena *arena)
{
    struct text out = {.arena = arena};
    text_append_visible(&out, text);
    return text_string(&out);
}

static const char *heading(const struct csv *csv, size_t column, struct arena *arena)
{
    const char *name = visible(csv->columns[column], arena);
    if (!text_ends(name, "_bytes"))
        return name;
    return arena_printf(arena, "%.*s GiB", (int)(strlen(name) - strlen("_bytes")), name);
}

static bool is_number(const char *text)
{
    double value;
    return number_real(text, &value);
}

static const char *cell(const struct csv *csv, size_t row, size_t column, struct arena *arena)
{
    const char *text = csv->cells[row * csv->n_columns + column];
    double value;
    if (!number_real(text, &value))
        return visible(text, arena);
    if (strchr(text, '.') && strlen(text) > 8)
        return arena_printf(arena, "%.5g", value); /* all digits are in the CSV */
    if (!text_ends(csv->columns[column], "_bytes"))
        return text;
    return arena_printf(arena, "%.2f", value / GIB);
}

static enum style style_of(const char *column, const char *text)
{
    static const struct {
        const char *verdict;
        enum style style;
    } styles[] = {{"fits", STYLE_GOOD},
                  {"marginal", STYLE_WARN},
                  {"oom", STYLE_BAD},
                  {"invalid", STYLE_DIM}};
    for (size_t i = 0; text_equal(column, "verdict") && i < 4; i++)
        if (text_equal(text, styles[i].verdict))
            return styles[i].style;
    return STYLE_PLAIN;
}

/* *blanks: owed by the cells to the left, paid only when something follows. */
static void print_cell(const struct invocation *call, const char *text, size_t width,
                       enum style style, size_t *blanks)
{
    size_t columns = term_columns(text);
    size_t pad = width > columns ? width - columns : 0;
    bool right = is_number(text);
    if (*text) {
        fprintf(call->out, "%*s%s%s%s", (int)(*blanks + (right ? pad : 0)), "",
                term_style(&call->term, style), text,
                style == STYLE_PLAIN ? "" : term_plain(&call->term));
        *blanks = 0;
    }
    *blanks += (right ? 0 : pad) + 2;
}

static void print_table(const struct csv *csv, const struct invocation *call)
{
    size_t *width = arena_alloc(call->arena, csv->n_columns, sizeof *width);
    for (size_t c = 0; c < csv->n_columns; c++) {
        width[c] = hidden(csv, c) ? 0 : term_columns(heading(csv, c, call->arena));
        for (size_t row = 0; width[c] && row < csv->n_rows; row++) {
            size_t columns = term_columns(cell(csv, row, c, call->arena));
            width[c] = columns > width[c] ? columns : width[c];
        }
    }
    size_t blanks = 0;
    for (size_t c = 0; c < csv->n_columns; c++)
        if (width[c])
            print_cell(call, heading(csv, c, call->arena), width[c], STYLE_BOLD, &blanks);
    fputc('\n', call->out);
    for (size_t row = 0; row < csv->n_rows; row++) {
        blanks = 0;
        for (size_t c = 0; c < csv->n_columns; c++) {
            const char *text = cell(csv, row, c, call->arena);
            if (width[c])
                print_cell(call, text, width[c], style_of(csv->columns[c], text), &blanks);
        }
        fputc('\n', call->out);
    }
}

/* ---- JSON ---- */

static void print_json(const struct csv *csv, const struct invocation *call)
{
    struct json json;
    json_init(&json, call->out);
    json_array(&json, NULL);
    for (size_t row = 0; row < csv->n_rows; row++) {
        json_object(&json, NULL);
        for (size_t c = 0; c < csv->n_columns; c++) {
            const char *text = csv->cells[row * csv->n_columns + c];
            uint64_t count;
            double value;
            if (!text[0])
                continue;
            if (number_count(text, &count))
                json_count(&json, csv->columns[c], count);
            else if (number_real(text, &value))
                json_real(&json, csv->columns[c], value);
            else if (text_equal(text, "true") || text_equal(text, "false"))
                json_bool(&json, csv->columns[c], text[0] == 't');
            else
                json_string(&json, csv->columns[c], text);
        }
        json_close(&json);
    }
    json_close(&json);
}

enum status frontier_table(const struct text *rows, const struct invocation *call,
                           struct err *err)
{
    struct csv csv;
    TRY(csv_parse("rows", text_string(rows), rows->length, call->arena, &csv, err));
    if (call->general.format == FORMAT_JSON)
        print_json(&csv, call);
    else if (call->general.format == FORMAT_CSV)
        fwrite(text_string(rows), 1, rows->length, call->out);
    else
        print_table(&csv, call);
    return STATUS_OK;
}

/* ---- provenance ---- */

static void write_axes(struct json *json, const struct frontier *f)
{
    json_array(json, "axes");
    for (size_t i = 0; i < f->n_axes; i++) {
        json_object(json, NULL);
        json_string(json, "column", f->axes[i].column);
        json_string(json, "option", f->axes[i].option);
        json_count(json, "values", f->axes[i].n_values);
        json_close(json);
    }
    json_close(json);
    json_array(json, "set");
    for (size_t i = 0; i < f->n_overrides; i++)
        json_string(json, NULL, f->overrides[i].option);
    json_close(json);
}

static void write_provenance(struct json *json, const void *context)
{
    const struct frontier *f = context;
    struct profile profile;
    struct err none = {0};
    bool timed = profile_load(&f->base, f->arena, &profile, &none) == STATUS_OK;
    const struct provenance provenance =
        request_provenance(&f->base, timed ? profile.name : NULL);
    provenance_json(json, &provenance);
    json_string(json, "command", "frontier");
    write_axes(json, f);
    json_count(json, "points", sweep_points(&f->sweep));
}

enum status frontier_provenance(const struct frontier *f, const struct invocation *call,
                                struct err *err)
{
    return side_provenance(call, true, write_provenance, f, err);
}
