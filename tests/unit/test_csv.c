/* base/csv: quoting, line ends, and what is not a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/csv.h"

static enum status parse(const char *text, struct arena *arena, struct csv *csv,
                         struct err *err)
{
    return csv_parse("t.csv", text, strlen(text), arena, csv, err);
}

static void cells_are_found_by_name(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    const char *text = "name,bytes,note\r\na,1,\"x, \"\"y\"\"\nz\"\nb,,";
    assert_int_equal(parse(text, &arena, &csv, &err), STATUS_OK);
    assert_int_equal(csv.n_columns, 3);
    assert_int_equal(csv.n_rows, 2);
    assert_string_equal(csv_cell(&csv, 0, "note"), "x, \"y\"\nz");
    assert_string_equal(csv_cell(&csv, 1, "bytes"), "");
    assert_int_equal(csv.lines[0], 2);
    assert_int_equal(csv.lines[1], 4);
    assert_null(csv_cell(&csv, 0, "absent"));
    assert_int_equal(csv_column(&csv, "absent"), SIZE_MAX);
    arena_release(&arena);
}

static void broken_tables_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message;
    } cases[] = {
        {"", "t.csv:1:1", "table has no header line"},
        {"a,b\n1\n", "t.csv:2:1", "row has 1 cells, the header has 2"},
        {"a,b\n1,2\n1,2,3\n", "t.csv:3:1", "row has 3 cells, the header has 2"},
        {"a\n\"x\n", "t.csv:2:1", "quoted cell has no closing quote"},
        {"a,b\n\"x\ny\",\"\n\n", "t.csv:3:1", "quoted cell has no closing quote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct csv csv;
        assert_int_equal(parse(cases[i].text, &arena, &csv, &err), STATUS_INPUT);
        assert_string_equal(err.where, cases[i].where);
        assert_string_equal(err.text, cases[i].message);
        arena_release(&arena);
    }
}

static void quotes_at_the_edges(void **state)
{
    (void)state;
    static const struct {
        const char *text, *cell;
    } cases[] = {
        {"a\n\"\"", ""},
        {"a\n\"\"\"\"", "\""},
        {"a\nx\"y\"", "x\"y\""},
        {"a\n\"x\"y\n", "xy"},
        {"a\n\"\n\"\r\n", "\n"},
        {"a\r1\r", "1"},
        {"a\n\"\"\"x\"\"\"", "\"x\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct csv csv;
        assert_int_equal(parse(cases[i].text, &arena, &csv, &err), STATUS_OK);
        assert_int_equal(csv.n_rows, 1);
        assert_string_equal(csv.cells[0], cases[i].cell);
        arena_release(&arena);
    }
}

/* 10 MB of commas took 3 GB and 14 s. */
static void walls_of_commas_are_refused(void **state)
{
    (void)state;
    enum { COMMAS = 10000000 };
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv = {.n_rows = 77};
    char *text = arena_alloc(&arena, COMMAS + 5, 1);
    memset(text, ',', COMMAS);
    assert_int_equal(csv_parse("t.csv", text, COMMAS, &arena, &csv, &err), STATUS_INPUT);
    assert_string_equal(err.text, "table has 10000001 columns, above the limit 4096");
    err_clear(&err);
    memcpy(text, "a,b\n", 4);
    assert_int_equal(csv_parse("t.csv", text, COMMAS, &arena, &csv, &err), STATUS_INPUT);
    assert_string_equal(err.where, "t.csv:2:1");
    assert_string_equal(err.text, "row has 9999997 cells, the header has 2");
    err_clear(&err);
    memset(text + 4, '\n', COMMAS - 4);
    memcpy(text, "a\n\n\n", 4);
    assert_int_equal(csv_parse("t.csv", text, COMMAS, &arena, &csv, &err), STATUS_OK);
    assert_int_equal(csv.n_rows, COMMAS - 2);
    arena_release(&arena);
}

static void text_with_nul_is_no_table(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    assert_int_equal(csv_parse("t.csv", "a\n1\0002\n", 6, &arena, &csv, &err), STATUS_INPUT);
    assert_string_equal(err.where, "t.csv:2:1");
    arena_release(&arena);
}

static void absent_files_are_input_errors(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    assert_int_equal(csv_read("no/such/table.csv", &arena, &csv, &err), STATUS_INPUT);
    assert_string_equal(err.where, "no/such/table.csv");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_found_by_name),
        cmocka_unit_test(broken_tables_say_where),
        cmocka_unit_test(quotes_at_the_edges),
        cmocka_unit_test(walls_of_commas_are_refused),
        cmocka_unit_test(text_with_nul_is_no_table),
        cmocka_unit_test(absent_files_are_input_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
