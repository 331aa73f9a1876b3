/* lib/axis: ranges, steps, powers, lists, cases, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "lib/axis.h"

static void values_of(const char *option, const char *expected)
{
    struct arena arena = {0};
    struct axis axis;
    struct err err = {0};
    struct text found = {.arena = &arena};
    if (axis_parse_over(option, &arena, &axis, &err) != STATUS_OK)
        text_printf(&found, "error: %s", err.text);
    else
        for (size_t i = 0; i < axis.n_values; i++)
            text_printf(&found, "%s%s", i ? " " : "", axis.values[i].label);
    assert_string_equal(text_string(&found), expected);
    arena_release(&arena);
}

static void lists_and_ranges(void **state)
{
    (void)state;
    values_of("workload.micro_batch=1..4", "1 2 3 4");
    values_of("parallel.ep=1..64*2", "1 2 4 8 16 32 64");
    values_of("workload.sequence_length=1024..4096+1024", "1024 2048 3072 4096");
    values_of("moe.capacity_factor=1,1.25,2", "1 1.25 2");
    values_of("moe.capacity_factor=1..1.5+0.1", "1 1.1 1.2 1.3 1.4 1.5");
    values_of("moe.path=capacity,deepep", "capacity deepep");
    values_of("k=1,4..8*2", "1 4 8");
    values_of("recompute=full,{save: [a, b]}", "full {save: [a, b]}");
}

/* 2^53 + 1 and 2^64 - 1 are no doubles. */
static void whole_numbers_are_exact(void **state)
{
    (void)state;
    values_of("k=9007199254740991..9007199254740995",
              "9007199254740991 9007199254740992 9007199254740993 9007199254740994 "
              "9007199254740995");
    values_of("k=18446744073709551613..18446744073709551615",
              "18446744073709551613 18446744073709551614 18446744073709551615");
    values_of("k=9223372036854775808..18446744073709551615*2", "9223372036854775808");
    values_of("k=100000000000000000..100000000000000000", "100000000000000000");
    values_of("k=3..3", "3");
}

static void ranges_of_reals_end(void **state)
{
    (void)state;
    values_of("k=1e300..1e300", "1e+300");
    values_of("k=1e17..1e17", "1e+17");
    values_of("k=1e308..1.7e308*1.5", "1e+308 1.5e+308");
    values_of("k=-1..1+1", "-1 0 1");
    values_of("k=1e0..1e+1+4.5", "1 5.5 10");
    values_of("k=1e17..2e17", "error: range \"1e17..2e17\" of k has more than 1000000 values");
    values_of("k=1e17..1.00000000000000016e17",
              "error: range \"1e17..1.00000000000000016e17\" of k has steps too small to be "
              "told apart");
    values_of("k=0..1+1e-300",
              "error: range \"0..1+1e-300\" of k has more than 1000000 values");
    values_of("k=-1e308..1e308", "error: range \"-1e308..1e308\" of k has more than 1000000 "
                                 "values");
    values_of("k=1..1000000,0", "error: --over k: more than 1000000 values");
}

static void endless_ranges_are_refused(void **state)
{
    (void)state;
    static const char *const ranges[] = {"inf..inf", "nan..nan",  "1..inf", "-inf..inf",
                                         "1..NaN",   "4k..64k*2", "1..8x",  "0x1..0x4"};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        struct arena arena = {0};
        values_of(arena_printf(&arena, "k=%s", ranges[i]),
                  arena_printf(&arena, "error: range \"%s\" of k has an end that is no number",
                               ranges[i]));
        arena_release(&arena);
    }
    values_of("moe.routing.file=../a.csv,b..c.csv", "../a.csv b..c.csv");
}

static void what_is_refused(void **state)
{
    (void)state;
    values_of("workload.micro_batch", "error: --over \"workload.micro_batch\" has no "
                                      "\"key=values\"");
    values_of("k=8..4", "error: range \"8..4\" of k has no values");
    values_of("k=1..8*1", "error: range \"1..8*1\" of k has no values");
    values_of("k=1..8+0", "error: range \"1..8+0\" of k has no values");
    values_of("k=1,,2", "error: --over k: empty value in the list");
    values_of("k=1..1e9", "error: range \"1..1e9\" of k has more than 1000000 values");
}

static void cases_name_several_settings(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct axis axis;
    struct err err = {0};
    const char *const texts[] = {"cf2:moe.path=capacity,moe.capacity_factor=2",
                                 "saved:recompute={save: [x, y]}"};
    assert_int_equal(axis_parse_cases(texts, 2, &arena, &axis, &err), STATUS_OK);
    assert_string_equal(axis.column, "case");
    assert_string_equal(axis.values[0].label, "cf2");
    assert_int_equal(axis.values[0].n_sets, 2);
    assert_string_equal(axis.values[0].sets[1].key, "moe.capacity_factor");
    assert_string_equal(axis.values[0].sets[1].value, "2");
    assert_int_equal(axis.values[1].n_sets, 1);
    assert_string_equal(axis.values[1].sets[0].value, "{save: [x, y]}");
    arena_release(&arena);
}

static void cases_that_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"cf2", "--case \"cf2\" has no \"NAME:key=value,...\""},
        {"cf2:x", "--case cf2: \"x\" is no \"key=value\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arena arena = {0};
        struct axis axis;
        struct err err = {0};
        assert_int_equal(axis_parse_cases(&bad[i][0], 1, &arena, &axis, &err), STATUS_USAGE);
        assert_string_equal(err.text, bad[i][1]);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_and_ranges),       cmocka_unit_test(whole_numbers_are_exact),
        cmocka_unit_test(ranges_of_reals_end),    cmocka_unit_test(endless_ranges_are_refused),
        cmocka_unit_test(what_is_refused),        cmocka_unit_test(cases_name_several_settings),
        cmocka_unit_test(cases_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
