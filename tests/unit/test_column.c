/* base/column: one record printed as JSON, CSV and a table row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "base/column.h"
#include "support/sink.h"

struct record {
    const char *name;
    uint64_t bytes;
    int64_t margin_bytes;
    uint64_t dims[4];
    unsigned n_dims;
    double seconds, ratio;
    bool at_peak;
};

static const char *parity(const void *record)
{
    return ((const struct record *)record)->bytes % 2 ? "odd" : NULL;
}

static bool has_margin(const void *record)
{
    return ((const struct record *)record)->margin_bytes != 0;
}

#define MEMBER(member) offsetof(struct record, member)

static const struct column columns[] = {
    {.key = "name", .type = COLUMN_TEXT, .offset = MEMBER(name), .title = "buffer"},
    {.key = "bytes", .type = COLUMN_BYTES, .offset = MEMBER(bytes)},
    {.key = "margin_bytes",
     .type = COLUMN_SIGNED,
     .offset = MEMBER(margin_bytes),
     .present = has_margin,
     .title = "margin"},
    {.key = "shape",
     .type = COLUMN_COUNTS,
     .offset = MEMBER(dims),
     .length_offset = MEMBER(n_dims)},
    {.key = "seconds", .type = COLUMN_SECONDS, .offset = MEMBER(seconds)},
    {.key = "ratio", .type = COLUMN_REAL, .offset = MEMBER(ratio)},
    {.key = "at_peak", .type = COLUMN_BOOL, .offset = MEMBER(at_peak)},
    {.key = "parity", .type = COLUMN_NAME, .name = parity},
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static const struct record records[] = {
    {"recv, \"x\"", 7516192769, -1073741824, {8, 4096}, 2, 0.00125, 0.1, true},
    {NULL, 2048, 0, {0}, 0, (double)NAN, (double)INFINITY, false},
};

static void json_leaves_out_what_does_not_apply(void **state)
{
    (void)state;
    struct sink sink;
    struct json json;
    json_init(&json, sink_open(&sink));
    column_json_array(&json, NULL, columns, N_COLUMNS, records, 2, sizeof *records);
    sink_expect(&sink, "[\n"
                       "  {\n"
                       "    \"name\": \"recv, \\\"x\\\"\",\n"
                       "    \"bytes\": 7516192769,\n"
                       "    \"margin_bytes\": -1073741824,\n"
                       "    \"shape\": [8, 4096],\n"
                       "    \"seconds\": 0.00125,\n"
                       "    \"ratio\": 0.1,\n"
                       "    \"at_peak\": true,\n"
                       "    \"parity\": \"odd\"\n"
                       "  },\n"
                       "  {\n"
                       "    \"bytes\": 2048,\n"
                       "    \"shape\": [],\n"
                       "    \"at_peak\": false\n"
                       "  }\n"
                       "]\n");
}

/* Cells of tables that people write: a number is one in JSON, and an empty cell is none. */
static void cells_of_numbers_are_numbers(void **state)
{
    (void)state;
    static const struct column cell = {.key = "value", .type = COLUMN_CELL};
    static const char *const cells[] = {"961.1", "8.84e-06", "fits", "<= 1000", "nan", ""};
    struct sink sink;
    struct json json;
    json_init(&json, sink_open(&sink));
    column_json_array(&json, NULL, &cell, 1, cells, COUNT_OF(cells), sizeof *cells);
    sink_expect(&sink, "[\n"
                       "  {\n    \"value\": 961.1\n  },\n"
                       "  {\n    \"value\": 8.84e-06\n  },\n"
                       "  {\n    \"value\": \"fits\"\n  },\n"
                       "  {\n    \"value\": \"<= 1000\"\n  },\n"
                       "  {\n    \"value\": \"nan\"\n  },\n"
                       "  {}\n"
                       "]\n");
    sink_open(&sink);
    column_csv_row(sink.out, &cell, 1, &cells[0]);
    column_csv_row(sink.out, &cell, 1, &cells[5]);
    sink_expect(&sink, "961.1\n\n");
}

static void csv_quotes_and_leaves_cells_empty(void **state)
{
    (void)state;
    struct sink sink;
    FILE *out = sink_open(&sink);
    column_csv_header(out, columns, N_COLUMNS);
    column_csv_row(out, columns, N_COLUMNS, &records[0]);
    column_csv_row(out, columns, N_COLUMNS, &records[1]);
    sink_expect(&sink,
                "name,bytes,margin_bytes,shape,seconds,ratio,at_peak,parity\n"
                "\"recv, \"\"x\"\"\",7516192769,-1073741824,8x4096,0.00125,0.1,true,odd\n"
                ",2048,,,,,false,\n");
}

static void csv_text_follows_rfc_4180(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"a,b", "\"a,b\""},
        {"a\"b", "\"a\"\"b\""},
        {"a\nb", "\"a\nb\""},
        {" a", "\" a\""},
        {"a ", "\"a \""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sink sink;
        column_csv_text(sink_open(&sink), cases[i][0]);
        sink_expect(&sink, cases[i][1]);
    }
}

static void tables_are_aligned(void **state)
{
    (void)state;
    struct sink sink;
    struct arena arena = {0};
    const struct term term = {.width = 96};
    const struct column shown[] = {columns[0], columns[1], columns[2], columns[6], columns[7]};
    const struct table table = {.columns = shown,
                                .n = 5,
                                .records = records,
                                .n_records = 2,
                                .record_size = sizeof *records,
                                .indent = 2,
                                .note = &columns[3]};
    column_table(sink_open(&sink), &term, &table, &arena);
    sink_expect(&sink, "  buffer         bytes      margin  at_peak  parity\n"
                       "  recv, \"x\"  7.000 GiB  -1.000 GiB  yes      odd\n"
                       "      8 x 4096\n"
                       "             2.000 KiB              no\n");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_leaves_out_what_does_not_apply),
        cmocka_unit_test(cells_of_numbers_are_numbers),
        cmocka_unit_test(csv_quotes_and_leaves_cells_empty),
        cmocka_unit_test(csv_text_follows_rfc_4180),
        cmocka_unit_test(tables_are_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
