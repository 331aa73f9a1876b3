/* base/number: what is a number, and what only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/number.h"

static void counts_are_exact_to_two_to_the_64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"0", 0},
        {"007", 7},
        {"9007199254740993", UINT64_C(9007199254740993)}, /* 2^53 + 1: no double */
        {"18446744073709551615", UINT64_MAX},
        {"00000000000000000000000000000000000000001", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 77;
        assert_true(number_count(cases[i].text, &value));
        assert_int_equal(value, cases[i].value);
    }
}

static void what_is_no_count_leaves_it_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "-8",
                                        "+8",
                                        " 8",
                                        "8 ",
                                        "8.0",
                                        "1e3",
                                        "inf",
                                        "nan",
                                        "0x8",
                                        "8,0",
                                        "1_0",
                                        "٣",
                                        "18446744073709551616",
                                        "99999999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t value = 77;
        print_message("'%s'\n", texts[i]);
        assert_false(number_count(texts[i], &value));
        assert_int_equal(value, 77);
    }
}

static void reals_are_decimal_and_finite(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"12", 12}, {"-0.5", -0.5}, {".5", 0.5}, {"1e-6", 1e-6}, {"1.5E+2", 150}};
    static const char *const bad[] = {"",      "inf", "-inf", "nan", "infinity", "0x10",
                                      "1e400", "1 ",  " 1",   "1..", "1,5",      "e5"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 77;
        assert_true(number_real(cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 77;
        print_message("'%s'\n", bad[i]);
        assert_false(number_real(bad[i], &value));
        assert_true(value == 77);
    }
}

static void limits_are_two_numbers(void **state)
{
    (void)state;
    double least = 0, most = 0;
    assert_true(number_limits("1..1024", &least, &most));
    assert_true(least == 1 && most == 1024);
    assert_true(number_limits("0.001..1e6", &least, &most));
    assert_true(least == 0.001 && most == 1e6);
    assert_false(number_limits("N", &least, &most));
    assert_false(number_limits("1..N", &least, &most));
    assert_false(number_limits("..", &least, &most));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact_to_two_to_the_64),
        cmocka_unit_test(what_is_no_count_leaves_it_alone),
        cmocka_unit_test(reals_are_decimal_and_finite),
        cmocka_unit_test(limits_are_two_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
