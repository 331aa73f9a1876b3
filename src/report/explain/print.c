/* See print.h. */
#include "report/explain/print.h"

#include <inttypes.h>

#include "base/unit.h"
#include "report/fixes.h"
#include "report/page.h"
#include "report/schema_json.h"

#define MATCH(record) ((const struct failure_match *)(record))

static const char *name_of(const void *record)
{
    return MATCH(record)->buffer->name;
}

static const char *other_of(const void *record)
{
    return MATCH(record)->other ? MATCH(record)->other->name : NULL;
}

static const char *segment_of(const void *record)
{
    return segment_name(MATCH(record)->buffer->segment);
}

static const char *peak_of(const void *record)
{
    return MATCH(record)->buffer->at_peak ? "yes" : "no";
}

static const char *formula_of(const void *record)
{
    return MATCH(record)->buffer->formula;
}

static const struct column columns[] = {
    COLUMN_SAID(NULL, "buffer", name_of),
    COLUMN_SAID(NULL, "plus", other_of),
    COLUMN(failure_match, how, COLUMN_TEXT, NULL),
    COLUMN(failure_match, times, COLUMN_COUNT, NULL),
    COLUMN_SAID(NULL, "segment", segment_of),
    COLUMN_SAID(NULL, "at_peak", peak_of),
    COLUMN(failure_match, bytes, COLUMN_BYTES, NULL),
    COLUMN(failure_match, off, COLUMN_BYTES, NULL),
    COLUMN_SAID(NULL, "formula", formula_of),
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static void print_matches(const struct explain_view *view, struct page *page, const char *title,
                          const struct failure_match *matches, size_t n)
{
    page_heading(page, title);
    if (n == 0) {
        page_text(page, 2, "no buffer, multiple of one or sum of two of this plan");
        return;
    }
    size_t shown = n < view->top ? n : view->top;
    const struct table table = {.columns = columns,
                                .n = N_COLUMNS - 1,
                                .records = matches,
                                .n_records = shown,
                                .record_size = sizeof *matches,
                                .indent = 2,
                                .note = &columns[N_COLUMNS - 1]};
    column_table(view->out, view->term, &table, view->arena);
    if (shown < n)
        fprintf(view->out, "  and %zu more\n", n - shown);
}

static void print_use(const struct explain_view *view, struct page *page)
{
    uint64_t used = view->failure->in_use.bytes;
    uint64_t total = view->prediction->memory.total_bytes;
    char in_use[48], predicted[48], by[48];
    unit_print(in_use, UNIT_BYTES, (double)used);
    unit_print(predicted, UNIT_BYTES, (double)total);
    unit_print(by, UNIT_BYTES, (double)(used > total ? used - total : total - used));
    page_heading(page,
                 arena_printf(view->arena, "in use %s: %s %s than the %s predicted at the peak",
                              in_use, by, used > total ? "more" : "less", predicted));
    if (used > total)
        print_matches(view, page, "what that would be", view->beyond, view->n_beyond);
}

void explain_print_text(const struct explain_view *view)
{
    const struct failure *failure = view->failure;
    const struct memory_report *memory = &view->prediction->memory;
    struct page page = {.out = view->out, .term = view->term};
    char wanted[48];
    unit_print(wanted, UNIT_BYTES, (double)failure->wanted.bytes);
    fprintf(view->out, "failed allocation (%s, line %" PRIu64 "): %s\n", failure->source,
            failure->line, failure->wanted.known ? wanted : "the text states no size");
    if (failure->n_lines > 1)
        fprintf(view->out, "%" PRIu64 " lines of the text report one\n", failure->n_lines);
    page.used = true;
    if (failure->wanted.known)
        print_matches(view, &page,
                      failure->segments ? "what it may be (rounded as torch's allocator does: "
                                          "2 MiB, 20 MiB, multiples of 2 MiB)"
                                        : "what it may be (to the byte as printed)",
                      view->matches, view->n);
    if (failure->in_use.known)
        print_use(view, &page);
    page_heading(&page, arena_printf(view->arena, "the plan's own verdict: %s",
                                     verdict_name(memory->verdict)));
    for (size_t i = 0; i < memory->n_fixes; i++)
        fprintf(view->out, "  %s\n", fix_options(&memory->fixes[i], view->arena));
    fputc('\n', view->out);
    provenance_text(view->out, view->term, &view->provenance);
}

static void json_amount(struct json *json, const char *key, const struct printed_bytes *amount)
{
    if (amount->known)
        json_count(json, key, amount->bytes);
}

void explain_print_json(const struct explain_view *view)
{
    struct json json;
    json_init(&json, view->out);
    json_object(&json, NULL);
    provenance_json(&json, &view->provenance);
    json_string(&json, "source", view->failure->source);
    json_count(&json, "line", view->failure->line);
    json_amount(&json, "wanted_bytes", &view->failure->wanted);
    json_amount(&json, "in_use_bytes", &view->failure->in_use);
    json_count(&json, "predicted_bytes", view->prediction->memory.total_bytes);
    json_string(&json, "verdict", verdict_name(view->prediction->memory.verdict));
    column_json_array(&json, "matches", columns, N_COLUMNS, view->matches, view->n,
                      sizeof *view->matches);
    column_json_array(&json, "beyond", columns, N_COLUMNS, view->beyond, view->n_beyond,
                      sizeof *view->beyond);
    json_close(&json);
}

void explain_print_csv(const struct explain_view *view)
{
    column_csv_header(view->out, columns, N_COLUMNS);
    for (size_t i = 0; i < view->n; i++)
        column_csv_row(view->out, columns, N_COLUMNS, &view->matches[i]);
}

static const struct column *columns_of(size_t *n)
{
    *n = N_COLUMNS;
    return columns;
}

void explain_print_schema(FILE *out)
{
    static const struct schema_part parts[] = {
        SCHEMA_PROVENANCE,
        SCHEMA_TEXT("source", true),
        SCHEMA_COUNT("line", true),
        SCHEMA_COUNT("wanted_bytes", false),
        SCHEMA_COUNT("in_use_bytes", false),
        SCHEMA_COUNT("predicted_bytes", true),
        SCHEMA_TEXT("verdict", true),
        SCHEMA_TABLE("matches", true, SCHEMA_RECORDS, columns_of),
        SCHEMA_TABLE("beyond", true, SCHEMA_RECORDS, columns_of),
        SCHEMA_END};
    schema_json_document(out, "explain.schema.json",
                         "what moeplan explain --oom TEXT --format json writes", parts);
}
