/* A report of buffers beside the plan's; see print.h. */
#include <inttypes.h>

#include "base/unit.h"
#include "report/explain/print.h"
#include "report/page.h"
#include "report/schema_json.h"
#include "sim/answer/predict.h"

#define MATCH(record) ((const struct dump_match *)(record))

static const char *name_of(const void *record)
{
    return MATCH(record)->theirs->name;
}

static const char *where_of(const void *record)
{
    return MATCH(record)->theirs->where;
}

static const char *shape_of(const void *record)
{
    return MATCH(record)->theirs->shape;
}

static const char *buffer_of(const void *record)
{
    return MATCH(record)->ours->name;
}

static const char *segment_of(const void *record)
{
    return segment_name(MATCH(record)->ours->segment);
}

static const char *peak_of(const void *record)
{
    return MATCH(record)->ours->at_peak ? "yes" : "no";
}

#define FIELD(text, kind, record, member, heading)                                             \
    {                                                                                          \
        .key = text, .type = kind, .offset = offsetof(record, member), .title = heading        \
    }

enum { TEXT_COLUMNS = 10 }; /* of a match; programs get the rest too */

static const struct column match_columns[] = {
    COLUMN_SAID(NULL, "theirs", name_of),
    COLUMN_SAID(NULL, "where", where_of),
    FIELD("times", COLUMN_COUNT, struct dump_match, times, NULL),
    FIELD("their_bytes", COLUMN_BYTES, struct dump_match, their_bytes, "bytes"),
    COLUMN_SAID(NULL, "buffer", buffer_of),
    FIELD("how", COLUMN_TEXT, struct dump_match, how, NULL),
    COLUMN_SAID(NULL, "segment", segment_of),
    FIELD("our_bytes", COLUMN_BYTES, struct dump_match, our_bytes, "ours"),
    FIELD("difference_bytes", COLUMN_SIGNED, struct dump_match, difference_bytes, "difference"),
    FIELD("others", COLUMN_COUNT, struct dump_match, others, NULL),
    COLUMN_SAID(NULL, "at_peak", peak_of),
    COLUMN_SAID(NULL, "shape", shape_of),
};

static const struct column rest_columns[] = {
    FIELD("name", COLUMN_TEXT, struct dump_rest, name, NULL),
    FIELD("where", COLUMN_TEXT, struct dump_rest, where, NULL),
    FIELD("count", COLUMN_COUNT, struct dump_rest, count, NULL),
    FIELD("one_bytes", COLUMN_BYTES, struct dump_rest, one_bytes, "one"),
    FIELD("bytes", COLUMN_BYTES, struct dump_rest, bytes, NULL),
};
enum {
    N_MATCH = sizeof match_columns / sizeof *match_columns,
    N_REST = sizeof rest_columns / sizeof *rest_columns
};

/* ---- text ---- */

static const char *bytes_text(const struct dump_view *view, uint64_t bytes)
{
    char text[48];
    unit_print(text, UNIT_BYTES, (double)bytes);
    return arena_strdup(view->arena, text);
}

static void print_table(const struct dump_view *view, const struct column *columns, size_t n,
                        const void *records, size_t n_records, size_t size)
{
    size_t shown = n_records < view->top ? n_records : view->top;
    const struct table table = {.columns = columns,
                                .n = n,
                                .records = records,
                                .n_records = shown,
                                .record_size = size,
                                .indent = 2};
    if (shown)
        column_table(view->out, view->term, &table, view->arena);
    if (shown < n_records)
        fprintf(view->out, "  and %zu more\n", n_records - shown);
}

static void print_rest(const struct dump_view *view, struct page *page, const char *title,
                       const struct dump_rest *rest, size_t n)
{
    if (n == 0)
        return;
    page_heading(page, title);
    print_table(view, rest_columns, N_REST, rest, n, sizeof *rest);
}

static void print_head(const struct dump_view *view)
{
    const struct memory_dump *dump = view->dump;
    uint64_t buffers = 0;
    for (size_t i = 0; i < dump->n; i++)
        buffers += dump->buffers[i].count;
    fprintf(view->out, "%s: %" PRIu64 " buffers, %s listed", dump->kind, buffers,
            bytes_text(view, dump->listed_bytes));
    if (dump->stated_bytes && dump->stated_bytes != dump->listed_bytes)
        fprintf(view->out, " of %s", bytes_text(view, dump->stated_bytes));
    fputc('\n', view->out);
    if (dump->shared_bytes)
        fprintf(
            view->out,
            "%s of it is shared by temporaries over time: theirs, which are marked temp, add "
            "up to more\n",
            bytes_text(view, dump->shared_bytes));
    if (dump->reserved_bytes)
        fprintf(view->out, "reserved from the device: %s, not in use: %s\n",
                bytes_text(view, dump->reserved_bytes),
                bytes_text(view, dump->reserved_bytes > dump->listed_bytes
                                     ? dump->reserved_bytes - dump->listed_bytes
                                     : 0));
}

static void print_sum(const struct dump_view *view, struct page *page)
{
    const struct memory_report *memory = &view->prediction->memory;
    const struct memory_dump *dump = view->dump;
    uint64_t theirs = dump->stated_bytes ? dump->stated_bytes : dump->listed_bytes;
    uint64_t ours = memory->total_bytes;
    page_heading(page,
                 arena_printf(view->arena, "theirs %s, predicted %s: %s %s",
                              bytes_text(view, theirs), bytes_text(view, ours),
                              bytes_text(view, theirs > ours ? theirs - ours : ours - theirs),
                              theirs > ours ? "more" : "less"));
    fprintf(view->out, "  allocated at the predicted peak %s, reserved %s, between steps %s\n",
            bytes_text(view, memory->allocated_bytes), bytes_text(view, memory->reserved_bytes),
            bytes_text(view, memory->resident_bytes));
}

void dump_print_text(const struct dump_view *view)
{
    const struct dump_comparison *c = view->compared;
    struct page page = {.out = view->out, .term = view->term};
    print_head(view);
    page.used = true;
    page_heading(&page, arena_printf(view->arena,
                                     "of the same size as buffers of the plan: %s, ours %s",
                                     bytes_text(view, c->matched_bytes),
                                     bytes_text(view, c->our_matched_bytes)));
    if (c->n == 0)
        page_text(&page, 2, "none");
    print_table(view, match_columns, TEXT_COLUMNS, c->matches, c->n, sizeof *c->matches);
    print_rest(view, &page,
               arena_printf(view->arena, "theirs that matched nothing: %s",
                            bytes_text(view, c->their_rest_bytes)),
               c->theirs, c->n_theirs);
    print_rest(view, &page,
               arena_printf(view->arena, "ours at the peak that matched nothing: %s",
                            bytes_text(view, c->our_rest_bytes)),
               c->ours, c->n_ours);
    print_sum(view, &page);
    fputc('\n', view->out);
    provenance_text(view->out, view->term, &view->provenance);
}

/* ---- for programs ---- */

void dump_print_json(const struct dump_view *view)
{
    const struct dump_comparison *c = view->compared;
    const struct memory_dump *dump = view->dump;
    struct json json;
    json_init(&json, view->out);
    json_object(&json, NULL);
    provenance_json(&json, &view->provenance);
    json_string(&json, "kind", dump->kind);
    if (dump->stated_bytes)
        json_count(&json, "stated_bytes", dump->stated_bytes);
    json_count(&json, "listed_bytes", dump->listed_bytes);
    if (dump->shared_bytes)
        json_count(&json, "shared_bytes", dump->shared_bytes);
    if (dump->reserved_bytes)
        json_count(&json, "reserved_bytes", dump->reserved_bytes);
    json_count(&json, "predicted_bytes", view->prediction->memory.total_bytes);
    json_count(&json, "predicted_allocated_bytes", view->prediction->memory.allocated_bytes);
    json_count(&json, "matched_bytes", c->matched_bytes);
    json_count(&json, "our_matched_bytes", c->our_matched_bytes);
    json_count(&json, "their_rest_bytes", c->their_rest_bytes);
    json_count(&json, "our_rest_bytes", c->our_rest_bytes);
    column_json_array(&json, "matches", match_columns, N_MATCH, c->matches, c->n,
                      sizeof *c->matches);
    column_json_array(&json, "theirs", rest_columns, N_REST, c->theirs, c->n_theirs,
                      sizeof *c->theirs);
    column_json_array(&json, "ours", rest_columns, N_REST, c->ours, c->n_ours, sizeof *c->ours);
    json_close(&json);
}

/* What matched nothing has the columns of a match, the other side's empty. */
static void rest_row(const struct dump_view *view, const struct dump_rest *rest, bool ours)
{
    for (size_t i = 0; i < N_MATCH; i++) {
        const char *key = match_columns[i].key;
        fputs(i ? "," : "", view->out);
        if (text_equal(key, ours ? "buffer" : "theirs"))
            column_csv_text(view->out, rest->name);
        else if (text_equal(key, ours ? "segment" : "where"))
            column_csv_text(view->out, rest->where);
        else if (text_equal(key, "times"))
            fprintf(view->out, "%" PRIu64, rest->count);
        else if (text_equal(key, ours ? "our_bytes" : "their_bytes"))
            fprintf(view->out, "%" PRIu64, rest->bytes);
    }
    fputc('\n', view->out);
}

void dump_print_csv(const struct dump_view *view)
{
    const struct dump_comparison *c = view->compared;
    column_csv_header(view->out, match_columns, N_MATCH);
    for (size_t i = 0; i < c->n; i++)
        column_csv_row(view->out, match_columns, N_MATCH, &c->matches[i]);
    for (size_t i = 0; i < c->n_theirs; i++)
        rest_row(view, &c->theirs[i], false);
    for (size_t i = 0; i < c->n_ours; i++)
        rest_row(view, &c->ours[i], true);
}

static const struct column *matches_of(size_t *n)
{
    *n = N_MATCH;
    return match_columns;
}

static const struct column *rests_of(size_t *n)
{
    *n = N_REST;
    return rest_columns;
}

void dump_print_schema(FILE *out)
{
    static const struct schema_part parts[] = {
        SCHEMA_PROVENANCE,
        SCHEMA_TEXT("kind", true),
        SCHEMA_COUNT("stated_bytes", false),
        SCHEMA_COUNT("listed_bytes", true),
        SCHEMA_COUNT("shared_bytes", false),
        SCHEMA_COUNT("reserved_bytes", false),
        SCHEMA_COUNT("predicted_bytes", true),
        SCHEMA_COUNT("predicted_allocated_bytes", true),
        SCHEMA_COUNT("matched_bytes", true),
        SCHEMA_COUNT("our_matched_bytes", true),
        SCHEMA_COUNT("their_rest_bytes", true),
        SCHEMA_COUNT("our_rest_bytes", true),
        SCHEMA_TABLE("matches", true, SCHEMA_RECORDS, matches_of),
        SCHEMA_TABLE("theirs", true, SCHEMA_RECORDS, rests_of),
        SCHEMA_TABLE("ours", true, SCHEMA_RECORDS, rests_of),
        SCHEMA_END};
    schema_json_document(out, "report.schema.json",
                         "what moeplan explain --report FILE --format json writes", parts);
}
