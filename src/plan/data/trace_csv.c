/* Recorded routing and placement as numbers in lines; see trace.h. With a header columns are
 * taken by name; without one a line holds the numbers of all experts, or of one. */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "plan/data/trace.h"

enum { HEADER_WORDS = 4 };

static const uint64_t TRACE_TOKENS = UINT64_C(1000000000000000000);

struct lines {
    const char *name;
    uint64_t n_rows, widest; /* rows of numbers; numbers in the longest */
    uint64_t n_numbers;
    uint64_t *number; /* all, row by row */
    struct row {
        uint64_t start, n; /* its numbers */
        uint32_t line;
    } * row; /* [n_rows] */
    size_t number_capacity, row_capacity;
    char header[HEADER_WORDS][PLAN_WORD];
    unsigned n_header;
    uint32_t header_line;
};

struct cursor {
    const char *at, *end, *line_start;
    uint32_t line;
};

static struct mark place(const struct lines *lines, const struct cursor *c, const char *at)
{
    return (struct mark){lines->name, c->line, (uint32_t)(at - c->line_start) + 1};
}

static const char *line_end(const struct cursor *c)
{
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
    return newline ? newline : c->end;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

static bool starts_with_letter(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z'));
}

static void read_header(struct lines *lines, const char *at, const char *end)
{
    while (at < end && lines->n_header < HEADER_WORDS) {
        while (at < end && is_space(*at))
            at++;
        const char *word = at;
        while (at < end && !is_space(*at))
            at++;
        size_t length = (size_t)(at - word);
        if (length == 0)
            break;
        if (length >= PLAN_WORD)
            length = PLAN_WORD - 1;
        memcpy(lines->header[lines->n_header], word, length);
        lines->header[lines->n_header++][length] = '\0';
    }
}

/* One whole number of at most 18 digits; a fraction of zeros ("12.0") is allowed. */
static enum status read_number(const struct lines *lines, const struct cursor *c,
                               const char **at, const char *end, uint64_t *value,
                               struct err *err)
{
    const char *start = *at;
    uint64_t sum = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - start < 18)
        sum = sum * 10 + (uint64_t)(*(*at)++ - '0');
    bool digits = *at > start;
    if (digits && *at < end && **at == '.')
        for ((*at)++; *at < end && **at == '0'; (*at)++)
            ;
    if (!digits || (*at < end && !is_space(**at)))
        return err_at(err, place(lines, c, start),
                      "'%.*s' is not a whole number of at most 18 digits",
                      (int)(end - start < 24 ? end - start : 24), start);
    *value = sum;
    return STATUS_OK;
}

static enum status read_row(struct lines *lines, const struct cursor *c, const char *end,
                            struct arena *arena, struct err *err)
{
    struct row row = {lines->n_numbers, 0, c->line};
    for (const char *at = c->at; at < end;) {
        if (is_space(*at)) {
            at++;
            continue;
        }
        lines->number = arena_grow(arena, lines->number, lines->n_numbers,
                                   &lines->number_capacity, sizeof *lines->number);
        TRY(read_number(lines, c, &at, end, &lines->number[lines->n_numbers], err));
        lines->n_numbers++;
        row.n++;
    }
    if (row.n == 0)
        return STATUS_OK;
    lines->row = arena_grow(arena, lines->row, lines->n_rows, &lines->row_capacity, sizeof row);
    lines->row[lines->n_rows++] = row;
    if (row.n > lines->widest)
        lines->widest = row.n;
    return STATUS_OK;
}

static enum status read_lines(const char *name, const char *text, size_t length,
                              struct arena *arena, struct lines *lines, struct err *err)
{
    *lines = (struct lines){.name = name};
    struct cursor c = {.at = text, .end = text + length, .line_start = text, .line = 1};
    while (c.at < c.end) {
        const char *end = line_end(&c);
        if (lines->n_rows == 0 && lines->n_header == 0 && starts_with_letter(c.at, end)) {
            read_header(lines, c.at, end);
            lines->header_line = c.line;
        } else if (*c.at != '#') {
            TRY(read_row(lines, &c, end, arena, err));
        }
        c.at = c.line_start = end < c.end ? end + 1 : end;
        c.line++;
    }
    if (lines->n_rows == 0)
        return err_at(err, (struct mark){name, 1, 1}, "no numbers in the file");
    return STATUS_OK;
}

static struct mark row_place(const struct lines *lines, uint64_t row)
{
    return (struct mark){lines->name, lines->row[row].line, 1};
}

static enum status same_width(const struct lines *lines, struct err *err)
{
    for (uint64_t row = 0; row < lines->n_rows; row++)
        if (lines->row[row].n != lines->widest)
            return err_at(err, row_place(lines, row), "row has %llu numbers, others have %llu",
                          (unsigned long long)lines->row[row].n,
                          (unsigned long long)lines->widest);
    return STATUS_OK;
}

/* ---- columns by name ---- */

/* Where a file with a header has its columns; ABSENT: it has no such column. */
enum { LAYER, EXPERT, VALUE, COLUMNS, ABSENT = COLUMNS };

struct columns {
    unsigned at[COLUMNS];
};

static enum status refuse_header(const char *value, struct err *err)
{
    return err_hint(err,
                    "name the columns expert and %s, and layer where there are several, in any "
                    "order; a table without a header has a row per layer",
                    value);
}

static enum status take_columns(const struct lines *lines, const char *value,
                                struct columns *columns, struct err *err)
{
    const char *const names[COLUMNS] = {"layer", "expert", value};
    struct mark header = {lines->name, lines->header_line, 1};
    *columns = (struct columns){{ABSENT, ABSENT, ABSENT}};
    for (unsigned i = 0; i < lines->n_header; i++) {
        unsigned which = 0;
        while (which < COLUMNS && !text_equal(names[which], lines->header[i]))
            which++;
        if (which == COLUMNS || columns->at[which] != ABSENT) {
            err_at(err, header, "column '%s' is %s", lines->header[i],
                   which == COLUMNS ? "not known" : "named twice");
            return refuse_header(value, err);
        }
        columns->at[which] = i;
    }
    bool enough = columns->at[VALUE] != ABSENT &&
                  (columns->at[EXPERT] != ABSENT || columns->at[LAYER] == ABSENT);
    if (!enough) {
        err_at(err, header, "column '%s' is missing",
               columns->at[VALUE] == ABSENT ? value : "expert");
        return refuse_header(value, err);
    }
    if (lines->n_header != lines->widest)
        return err_at(err, header, "the header names %u columns, rows have %llu",
                      lines->n_header, (unsigned long long)lines->widest);
    return STATUS_OK;
}

/* A row's number in a column; its own number, or 0, where the file has no such column. */
static uint64_t number_in(const struct lines *lines, uint64_t row,
                          const struct columns *columns, unsigned which)
{
    if (columns->at[which] == ABSENT)
        return which == EXPERT ? row : 0;
    return lines->number[lines->row[row].start + columns->at[which]];
}

/* ---- numbers per expert ---- */

/* What a table says of every expert: how often it was chosen, which adds up, or where it
 * stands, which is said once. */
struct quantity_kind {
    const char *value;
    bool adds;
};

static const struct quantity_kind counted = {"tokens", true}, placed = {"rank", false};

static enum status check_range(const struct lines *lines, const struct columns *columns,
                               struct trace *out, struct err *err)
{
    for (uint64_t row = 0; row < lines->n_rows; row++) {
        uint64_t layer = number_in(lines, row, columns, LAYER);
        uint64_t expert = number_in(lines, row, columns, EXPERT);
        if (layer >= TRACE_LAYERS || expert >= TRACE_EXPERTS)
            return err_at(err, row_place(lines, row),
                          "layer %llu or expert %llu is out of range (limits %d and %d)",
                          (unsigned long long)layer, (unsigned long long)expert,
                          TRACE_LAYERS - 1, TRACE_EXPERTS - 1);
        out->layers = layer >= out->layers ? layer + 1 : out->layers;
        out->experts = expert >= out->experts ? expert + 1 : out->experts;
    }
    return STATUS_OK;
}

/* Rows of [layer,] expert, value in any order of columns. */
static enum status scatter(const struct lines *lines, const struct quantity_kind *kind,
                           struct arena *arena, struct trace *out, struct err *err)
{
    struct columns columns;
    TRY(take_columns(lines, kind->value, &columns, err));
    TRY(check_range(lines, &columns, out, err));
    uint64_t *counts = arena_alloc(arena, out->layers * out->experts, sizeof *counts);
    bool *seen = arena_alloc(arena, out->layers * out->experts, sizeof *seen), full = false;
    for (uint64_t row = 0; row < lines->n_rows; row++) {
        uint64_t expert = number_in(lines, row, &columns, EXPERT);
        uint64_t at = number_in(lines, row, &columns, LAYER) * out->experts + expert;
        if (seen[at] && !kind->adds)
            return err_at(err, row_place(lines, row), "expert %llu has a %s already",
                          (unsigned long long)expert, kind->value);
        seen[at] = true;
        counts[at] = checked_add(counts[at], number_in(lines, row, &columns, VALUE), &full);
    }
    for (uint64_t at = 0; at < out->experts && !kind->adds; at++)
        if (!seen[at])
            return err_at(err, (struct mark){lines->name, 0, 0}, "expert %llu has no %s",
                          (unsigned long long)at, kind->value);
    out->counts = counts;
    return STATUS_OK;
}

/* One number per line is one layer, a row of numbers is a layer each. */
static enum status take_counts(const struct lines *lines, struct trace *out, struct err *err)
{
    bool column = lines->widest == 1;
    out->layers = column ? 1 : lines->n_rows;
    out->experts = column ? lines->n_rows : lines->widest;
    out->counts = lines->number;
    if (out->layers > TRACE_LAYERS || out->experts > TRACE_EXPERTS)
        return err_at(err, (struct mark){lines->name, 1, 1},
                      "%llu layers of %llu experts are too many (limits %d and %d)",
                      (unsigned long long)out->layers, (unsigned long long)out->experts,
                      TRACE_LAYERS, TRACE_EXPERTS);
    return STATUS_OK;
}

/* So that sums over a layer, and over layers, stay exact. */
static enum status check_total(const struct lines *lines, const struct trace *trace,
                               struct err *err)
{
    uint64_t total = 0;
    bool overflow = false;
    for (uint64_t i = 0; i < trace->layers * trace->experts; i++)
        total = checked_add(total, trace->counts[i], &overflow);
    if (!overflow && total <= TRACE_TOKENS)
        return STATUS_OK;
    return err_at(err, (struct mark){lines->name, 0, 0}, "more than the limit of 10^18 tokens");
}

static enum status read_table(const char *name, const char *text, size_t length,
                              const struct quantity_kind *kind, struct arena *arena,
                              struct trace *out, struct err *err)
{
    struct lines lines;
    TRY(read_lines(name, text, length, arena, &lines, err));
    TRY(same_width(&lines, err));
    if (lines.n_header)
        TRY(scatter(&lines, kind, arena, out, err));
    else
        TRY(take_counts(&lines, out, err));
    return check_total(&lines, out, err);
}

enum status trace_read_csv(const char *name, const char *text, size_t length,
                           struct arena *arena, struct trace *out, struct err *err)
{
    struct trace trace = {0};
    TRY(read_table(name, text, length, &counted, arena, &trace, err));
    *out = trace;
    return STATUS_OK;
}

enum status placement_read_csv(const char *name, const char *text, size_t length,
                               struct arena *arena, const uint32_t **owner, uint64_t *n,
                               struct err *err)
{
    struct trace table = {0};
    TRY(read_table(name, text, length, &placed, arena, &table, err));
    if (table.layers != 1)
        return err_at(err, (struct mark){name, 1, 1},
                      "a placement is one rank per expert, the file has %llu rows",
                      (unsigned long long)table.layers);
    uint32_t *ranks = arena_alloc(arena, table.experts, sizeof *ranks);
    for (uint64_t e = 0; e < table.experts; e++)
        ranks[e] = table.counts[e] < UINT32_MAX ? (uint32_t)table.counts[e] : UINT32_MAX;
    *owner = ranks;
    *n = table.experts;
    return STATUS_OK;
}
