/* plan/encoding: UTF-8 as RFC 3629 defines it, lines, surrogates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/encoding.h"

static bool accepts(const char *text)
{
    struct err err = {0};
    return encoding_check("f", false, text, strlen(text), &err) == STATUS_OK;
}

/* The first and last character of every length, and their neighbours outside. */
static void the_edges_of_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       " ~\t\r\n",
                                       "\xc2\xa0",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbd",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const bad[] = {"\x7f",
                                      "\x1f",
                                      "\x80",
                                      "\xbf",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x41",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xef\xbf\xbe",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80",
                                      "\xff",
                                      "\xc2\x80",
                                      "\xe2\x82"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(accepts(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        print_message("bad %zu\n", i);
        assert_false(accepts(bad[i]));
    }
}

static void lines_have_no_breaks(void **state)
{
    (void)state;
    assert_true(encoding_is_line("plain \xc3\xa9 \xf0\x9f\x98\x80"));
    assert_true(encoding_is_line(""));
    static const char *const bad[] = {"a\nb",         "a\tb",         "a\rb",
                                      "\xc2\x85",     "\xe2\x80\xa8", "\xe2\x80\xa9",
                                      "\xef\xbb\xbf", "\x7f",         "\xff"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(encoding_is_line(bad[i]));
}

static void surrogates_become_one_escape(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"\\ud83d\\ude00", "\\U0001f600"},
        {"\\uD800\\uDC00\\uDBFF\\uDFFF", "\\U00010000\\U0010ffff"},
        {"\\\\ud83d\\ude00", "\\\\ud83d\\ude00"}, /* an escaped backslash */
        {"\\ud83d", "\\ud83d"},                   /* alone: libyaml refuses it */
        {"\\ude00\\ud83d", "\\ude00\\ud83d"},
        {"\\ud83d\\u0041", "\\ud83d\\u0041"},
        {"\\u0041\\", "\\u0041\\"},
        {"", ""},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = strlen(cases[i][0]);
        const char *joined = encoding_join_surrogates(&arena, cases[i][0], &length);
        assert_string_equal(joined, cases[i][1]);
        assert_int_equal(length, strlen(cases[i][1]));
    }
    arena_release(&arena);
}

static void json_starts_with_a_brace(void **state)
{
    (void)state;
    assert_true(encoding_looks_json(" \n{", 3));
    assert_false(encoding_looks_json("model: {", 8));
    assert_false(encoding_looks_json(" ", 1));
    assert_false(encoding_looks_json("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_edges_of_utf8),
        cmocka_unit_test(lines_have_no_breaks),
        cmocka_unit_test(surrogates_become_one_escape),
        cmocka_unit_test(json_starts_with_a_brace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
