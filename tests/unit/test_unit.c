/* base/unit: quantities read exactly, printed so that they read back, and printed for people.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/unit.h"

static void quantities_read_exactly(void **state)
{
    (void)state;
    static const struct {
        enum unit unit;
        const char *text;
        double value;
    } cases[] = {
        {UNIT_BYTES, "288 GiB", 309237645312.0},
        {UNIT_BYTES, "192GB", 192e9},
        {UNIT_BYTES, "1.5 KiB", 1536},
        {UNIT_BYTES, "17", 17},
        {UNIT_BYTES_PER_S, "8 TB/s", 8e12},
        {UNIT_BYTES_PER_S, "3.35 TB/s", 3.35e12},
        {UNIT_BYTES_PER_S, "400 Gbit/s", 50e9},
        {UNIT_BYTES_PER_S, "400 Gb/s", 50e9},
        {UNIT_BYTES_PER_S, "1 GiB/s", 1073741824},
        {UNIT_FLOP_PER_S, "2.5 PFLOP/s", 2.5e15},
        {UNIT_FLOP_PER_S, "989.5 TFLOPS", 989.5e12},
        {UNIT_SECONDS, "1 us", 1e-6},
        {UNIT_SECONDS, "3.3 us", 3.3e-6},
        {UNIT_SECONDS, "0.7 ms", 0.7e-3},
        {UNIT_SECONDS, "2e-06", 2e-6},
        {UNIT_SECONDS, "2.5E+1 \xc2\xb5s", 25e-6},
        {UNIT_HERTZ, "1.98 GHz", 1.98e9},
        {UNIT_NONE, "-0.5", -0.5},
        {UNIT_NONE, ".5", 0.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        print_message("%s\n", cases[i].text);
        assert_true(unit_parse(cases[i].unit, cases[i].text, &value));
        assert_true(value == cases[i].value);
    }
}

static void what_is_no_quantity_is_refused(void **state)
{
    (void)state;
    static const struct {
        enum unit unit;
        const char *text;
    } cases[] = {
        {UNIT_BYTES, ""},          {UNIT_BYTES, "GiB"},     {UNIT_BYTES, "1 GB/s"},
        {UNIT_BYTES, "1 gib"},     {UNIT_BYTES, " 1 GiB"},  {UNIT_BYTES, "1 GiB "},
        {UNIT_BYTES, "0x10"},      {UNIT_BYTES, "inf"},     {UNIT_BYTES, "nan"},
        {UNIT_BYTES, "1e400"},     {UNIT_BYTES, "1,5 GiB"}, {UNIT_BYTES_PER_S, "8 TB"},
        {UNIT_SECONDS, "1 min"},   {UNIT_NONE, "1 B"},      {UNIT_NONE, "."},
        {UNIT_NONE, "-"},          {UNIT_NONE, "1e"},       {UNIT_NONE, "+1"},
        {UNIT_FLOP_PER_S, "1 TF"}, {UNIT_HERTZ, "1 ghz"},   {UNIT_NONE, "1e99999999999999"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = 7;
        print_message("%s\n", cases[i].text);
        assert_false(unit_parse(cases[i].unit, cases[i].text, &value));
        assert_true(value == 7);
    }
}

static void exact_texts_are_short(void **state)
{
    (void)state;
    static const struct {
        enum unit unit;
        double value;
        const char *text;
    } cases[] = {
        {UNIT_BYTES, 309237645312.0, "288 GiB"},
        {UNIT_BYTES, 192e9, "192 GB"},
        {UNIT_BYTES, 309216170475.0, "309216170475 B"},
        {UNIT_BYTES, 0, "0 B"},
        {UNIT_BYTES, 1536, "1536 B"},
        {UNIT_BYTES_PER_S, 3.35e12, "3.35 TB/s"},
        {UNIT_BYTES_PER_S, 450e9, "450 GB/s"},
        {UNIT_FLOP_PER_S, 989e12, "989 TFLOP/s"},
        {UNIT_SECONDS, 1e-6, "1 us"},
        {UNIT_SECONDS, 12, "12 s"},
        {UNIT_SECONDS, 0, "0 s"},
        {UNIT_HERTZ, 1.98e9, "1.98 GHz"},
        {UNIT_NONE, 0.1, "0.1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[48];
        unit_print_exact(text, cases[i].unit, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

static void people_get_few_digits(void **state)
{
    (void)state;
    static const struct {
        enum unit unit;
        double value;
        const char *text;
    } cases[] = {
        {UNIT_BYTES, 58.59 * 1073741824, "58.59 GiB"},
        {UNIT_BYTES, 375.0 * 1048576, "375.0 MiB"},
        {UNIT_BYTES, 512, "512 B"},
        {UNIT_BYTES, 0, "0 B"},
        {UNIT_BYTES, 1023.99 * 1048576, "1.000 GiB"},
        {UNIT_BYTES, 1008.0 * 1048576, "1008 MiB"},
        {UNIT_BYTES, -2.5 * 1073741824, "-2.500 GiB"},
        {UNIT_BYTES, 1e19, "8882 PiB"},
        {UNIT_BYTES_PER_S, 1.2e12, "1.20 TB/s"},
        {UNIT_FLOP_PER_S, 434.2e12, "434 TFLOP/s"},
        {UNIT_FLOP_PER_S, 999.7e12, "1.00 PFLOP/s"},
        {UNIT_SECONDS, 1.24e-3, "1.24 ms"},
        {UNIT_SECONDS, 75, "75.0 s"},
        {UNIT_SECONDS, 0, "0 s"},
        {UNIT_SECONDS, 12.34e-6, "12.3 us"},
        {UNIT_NONE, 1.23456, "1.23"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[48];
        unit_print(text, cases[i].unit, cases[i].value);
        assert_string_equal(text, cases[i].text);
    }
}

static void counts_have_groups(void **state)
{
    (void)state;
    char text[32];
    unit_print_count(text, 671026419200);
    assert_string_equal(text, "671,026,419,200");
    unit_print_count(text, 0);
    assert_string_equal(text, "0");
    unit_print_count(text, 1000);
    assert_string_equal(text, "1,000");
    unit_print_count(text, UINT64_MAX);
    assert_string_equal(text, "18,446,744,073,709,551,615");
}

static uint64_t xorshift(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void exact_texts_read_back(void **state)
{
    (void)state;
    static const enum unit units[] = {UNIT_NONE,       UNIT_BYTES,   UNIT_BYTES_PER_S,
                                      UNIT_FLOP_PER_S, UNIT_SECONDS, UNIT_HERTZ};
    uint64_t seed = 20240711;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 20000; i++) {
        enum unit unit = units[xorshift(&seed) % 6];
        double value = (double)(xorshift(&seed) >> (xorshift(&seed) % 63));
        if (unit == UNIT_SECONDS || i % 3 == 0)
            value /= (double)(1 + xorshift(&seed) % 1000000);
        char text[48];
        double back = -1;
        unit_print_exact(text, unit, value);
        assert_true(unit_parse(unit, text, &back));
        assert_true(memcmp(&back, &value, sizeof back) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_read_exactly),
        cmocka_unit_test(what_is_no_quantity_is_refused),
        cmocka_unit_test(exact_texts_are_short),
        cmocka_unit_test(people_get_few_digits),
        cmocka_unit_test(counts_have_groups),
        cmocka_unit_test(exact_texts_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
