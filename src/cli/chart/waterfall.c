/* Bytes at the peak from plan A to plan B, by category; see waterfall.h. */
#include "cli/chart/waterfall.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void append(struct text *out, const char *name, const char *kind, uint64_t begin,
                   uint64_t end)
{
    text_printf(out, "%s,%s,%" PRIu64 ",%" PRIu64 "\n", name, kind, begin, end);
}

/* Rows come with the largest difference first and sum to the total exactly; those that grow
 * stand before those that shrink, so that no step passes below zero. */
static void append_rows(const struct comparison *comparison, struct text *out)
{
    const struct compare_rows *rows = &comparison->categories;
    uint64_t at = rows->total.bytes.a;
    text_append(out, "name,kind,begin_bytes,end_bytes\n");
    append(out, "A", "total", 0, at);
    for (unsigned losses = 0; losses < 2; losses++)
        for (size_t i = 0; i < rows->n; i++) {
            const struct compare_count *bytes = &rows->rows[i].bytes;
            if (bytes->difference == 0 || (bytes->difference < 0) != (losses > 0))
                continue;
            uint64_t end = at + bytes->b - bytes->a;
            append(out, rows->rows[i].name, "part", at, end);
            at = end;
        }
    append(out, "B", "total", 0, rows->total.bytes.b);
}

/* A step that no eye sees beside the totals: a ten-thousandth of the larger. Its bytes are part
 * of where the next one begins. */
static bool is_seen(const struct csv *csv, size_t row, double most)
{
    double begin = chart_number(csv, row, "begin_bytes");
    return text_equal(csv_cell(csv, row, "kind"), "total") ||
           fabs(chart_number(csv, row, "end_bytes") - begin) >= most / 10000;
}

static enum status fill(const char *file, const struct chart_names *names, struct picture *p,
                        struct err *err)
{
    static const char *const columns[] = {"name", "kind", "begin_bytes", "end_bytes", NULL};
    struct csv csv;
    TRY(chart_table(file, columns, chart_waterfall.needs, p, &csv, err));
    const char **bars = arena_alloc(p->arena, csv.n_rows + 1, sizeof *bars);
    const char **rows = arena_alloc(p->arena, csv.n_rows + 1, sizeof *rows);
    double most = 0;
    for (size_t row = 0; row < csv.n_rows; row++)
        most = fmax(most, chart_number(&csv, row, "end_bytes"));
    for (size_t row = 0, n = 0; row < csv.n_rows; row++)
        if (is_seen(&csv, row, most)) {
            rows[n] = arena_printf(p->arena, "%zu", row);
            bars[n++] = csv_cell(&csv, row, "name");
        }
    p->chart.kind = "waterfall";
    chart_titles(p, names, "memory of a rank at the peak, by category");
    picture_list(p, "bars", bars);
    picture_list(p, "rows", rows);
    return STATUS_OK;
}

enum status chart_waterfall_draw(const struct comparison *comparison, const char *a,
                                 const char *b, struct picture *p,
                                 const struct invocation *call, struct err *err)
{
    const struct chart_names names = {
        .subject = strcmp(a, b) == 0 ? arena_printf(p->arena, "%s, from A to B", a)
                                     : arena_printf(p->arena, "from %s (A) to %s (B)", a, b),
        .source = "moeplan " MOEPLAN_VERSION ": modelled, the moment of each plan's own peak"};
    append_rows(comparison, &p->data);
    TRY(picture_plain(p, "compare", err));
    TRY(fill("compare", &names, p, err));
    return picture_draw(p, false, call, err);
}

const struct chart_kind chart_waterfall = {
    .name = "waterfall",
    .summary = "what changes between two plans, step by step from one total to the other",
    .needs = "what `moeplan compare --plot FILE` writes",
    .fill = fill,
};
