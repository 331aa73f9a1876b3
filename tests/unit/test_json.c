/* base/json: layout, escapes, exact integers, what is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "base/json.h"
#include "support/sink.h"

static void expect(void (*write)(struct json *json), const char *expected)
{
    struct sink sink;
    struct json json;
    json_init(&json, sink_open(&sink));
    write(&json);
    assert_int_equal(json.depth, 0);
    sink_expect(&sink, expected);
}

static void write_nested(struct json *json)
{
    json_object(json, NULL);
    json_string(json, "name", "a");
    json_list(json, "shape");
    json_count(json, NULL, 8);
    json_count(json, NULL, 4096);
    json_close(json);
    json_array(json, "rows");
    json_object(json, NULL);
    json_bool(json, "at_peak", true);
    json_close(json);
    json_object(json, NULL);
    json_close(json);
    json_close(json);
    json_array(json, "none");
    json_close(json);
    json_close(json);
}

static void nesting_is_indented_by_two(void **state)
{
    (void)state;
    expect(write_nested, "{\n  \"name\": \"a\",\n  \"shape\": [8, 4096],\n  \"rows\": [\n"
                         "    {\n      \"at_peak\": true\n    },\n    {}\n  ],\n"
                         "  \"none\": []\n}\n");
}

static void write_numbers(struct json *json)
{
    json_list(json, NULL);
    json_count(json, NULL, UINT64_MAX);
    json_integer(json, NULL, INT64_MIN);
    json_real(json, NULL, 0.1);
    json_real(json, NULL, 1.0 / 3.0);
    json_real(json, NULL, -0.0);
    json_close(json);
}

static void integers_are_exact_and_reals_shortest(void **state)
{
    (void)state;
    expect(write_numbers, "[18446744073709551615, -9223372036854775808, 0.1, "
                          "0.3333333333333333, 0]\n");
}

static void write_not_finite(struct json *json)
{
    json_object(json, NULL);
    json_real(json, "nan", (double)NAN);
    json_real(json, "one", 1);
    json_real(json, "inf", (double)INFINITY);
    json_close(json);
}

static void what_is_not_finite_is_left_out(void **state)
{
    (void)state;
    expect(write_not_finite, "{\n  \"one\": 1\n}\n");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    static const struct {
        const char *value, *expected;
    } cases[] = {
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\b\f\n\r\t\x01\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u007f\""},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82",
         "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82\""},
        {"\xff", "\"\xef\xbf\xbd\""},                                 /* never a lead byte */
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
        {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
        {"a\xe2\x82", "\"a\xef\xbf\xbd\xef\xbf\xbd\""},               /* cut off */
        {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sink sink;
        json_quote(sink_open(&sink), cases[i].value);
        sink_expect(&sink, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting_is_indented_by_two),
        cmocka_unit_test(integers_are_exact_and_reals_shortest),
        cmocka_unit_test(what_is_not_finite_is_left_out),
        cmocka_unit_test(strings_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
