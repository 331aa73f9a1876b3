/* report/bars, report/amount: rows of a page in one unit, small parts merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/unit.h"
#include "report/bars.h"
#include "support/sink.h"

static void a_page_has_one_unit(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *unit, *printed;
    } cases[] = {
        {0, "B", "0"},
        {1023, "B", "1023"},
        {1024, "KiB", "1.00"},
        {1536 * 1024, "MiB", "1.50"},
        {(uint64_t)1024 * 1024 * 1024 - 1, "MiB", "1024.00"},
        {(uint64_t)58 * 1024 * 1024 * 1024, "GiB", "58.00"},
        {(uint64_t)3000 * 1024 * 1024 * 1024, "GiB", "3000.00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[32];
        struct scale scale = scale_for(cases[i].bytes);
        scale_print(buffer, scale, cases[i].bytes);
        assert_string_equal(scale.unit, cases[i].unit);
        assert_string_equal(buffer, cases[i].printed);
    }
    char buffer[32];
    scale_print_signed(buffer, scale_for(GIB), -(int64_t)(GIB / 4));
    assert_string_equal(buffer, "-0.25");
    percent_print(buffer, 1, 3);
    assert_string_equal(buffer, "33.3");
    percent_print(buffer, 1, 0);
    assert_string_equal(buffer, "0.0");
}

static void bars_compare_parts(void **state)
{
    (void)state;
    struct sink sink;
    struct arena arena = {0};
    const struct term term = {.width = 80};
    const struct bar bars[] = {{"weights", 20 * GIB}, {"dispatch", 60 * GIB}, {"tiny", 1}};
    bars_print(sink_open(&sink), &term, "where", bars, 3, scale_for(80 * GIB), &arena);
    sink_expect(
        &sink,
        "where                          GiB       %\n"
        "  weights                    20.00    25.0  ############\n"
        "  dispatch                   60.00    75.0  ####################################\n"
        "  tiny                        0.00     0.0  #\n");
    arena_release(&arena);
}

static void tiny_parts_are_one_row(void **state)
{
    (void)state;
    struct sink sink;
    struct arena arena = {0};
    const struct term term = {.width = 80};
    const struct bar bars[] = {{"a", 1}, {"weights", 60 * GIB}, {"b", 1}, {"c", GIB / 100}};
    bars_print(sink_open(&sink), &term, "where", bars, 4, scale_for(60 * GIB), &arena);
    sink_expect(
        &sink,
        "where                          GiB       %\n"
        "  weights                    60.00   100.0  ####################################\n"
        "  other                       0.01     0.0  #\n");
    arena_release(&arena);
}

static void the_smallest_parts_are_merged(void **state)
{
    (void)state;
    struct sink sink;
    struct arena arena = {0};
    const struct term term = {.width = 80, .utf8 = true};
    struct bar bars[12];
    static const char *const names[] = {"a", "b", "c", "d", "e", "f",
                                        "g", "h", "i", "j", "k", "l"};
    for (uint64_t i = 0; i < 12; i++)
        bars[i] = (struct bar){names[i], i == 4 ? 40 * GIB : (i + 1) * GIB};
    bars_print(sink_open(&sink), &term, "parts", bars, 12, scale_for(GIB), &arena);
    char *text = sink_close(&sink);
    static const char *const order[] = {"\n  d", "\n  e", "\n  f", "\n  l",
                                        "\n  other                       6.00"};
    const char *at = text;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        at = strstr(at, order[i]);
        assert_non_null(at);
    }
    assert_null(strstr(text, "\n  c"));
    free(text);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_has_one_unit),
        cmocka_unit_test(bars_compare_parts),
        cmocka_unit_test(tiny_parts_are_one_row),
        cmocka_unit_test(the_smallest_parts_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
