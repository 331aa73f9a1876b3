/* base/text: distances, the nearest name, doubles that read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/text.h"

static void distance_counts_edits(void **state)
{
    (void)state;
    assert_int_equal(text_distance("top_k", "top_k"), 0);
    assert_int_equal(text_distance("topk", "top_k"), 1);
    assert_int_equal(text_distance("tpo_k", "top_k"), 1);
    assert_int_equal(text_distance("", "abc"), 3);
}

static void doubles_read_back(void **state)
{
    (void)state;
    const double values[] = {0.1, 1.25, 1.0 / 3.0, 1e-6, 2.5e15, -0.93, 0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char buffer[32];
        text_double(buffer, values[i]);
        assert_true(strtod(buffer, NULL) == values[i]);
    }
    char buffer[32];
    text_double(buffer, 0.1);
    assert_string_equal(buffer, "0.1");
}

static void what_a_terminal_obeys_is_made_visible(void **state)
{
    (void)state;
    static const struct {
        const char *text, *visible;
    } cases[] = {
        {"plain \xc3\xa9 \xf0\x9f\x98\x80 ~", "plain \xc3\xa9 \xf0\x9f\x98\x80 ~"},
        {"", ""},
        {"\033[31m", "\\x1b[31m"},
        {"a\nb\tc\r", "a\\x0ab\\x09c\\x0d"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b", "\\x9b"},
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xe2\x80\xae", "\\u202e"},
        {"\xe2\x80\xa8", "\\u2028"},
        {"\xef\xbb\xbf", "\\ufeff"},
        {"a\xff\xc2", "a\\xff\\xc2"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct text out = {.arena = &arena};
        text_append_visible(&out, cases[i].text);
        assert_string_equal(text_string(&out), cases[i].visible);
        arena_release(&arena);
    }
}

static void paths_have_folders_and_names(void **state)
{
    (void)state;
    static const struct {
        const char *path, *folder, *plain;
    } cases[] = {
        {"a/b", "a", "a/b"},
        {"a/b/c//", "a/b/c/", "a/b/c"},
        {"name", ".", "name"},
        {"/name", "/", "/name"},
        {"/", "/", "/"},
        {"//", "/", "/"},
        {"./name/", "./name", "./name"},
        {"", ".", ""},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(text_folder(cases[i].path, &arena), cases[i].folder);
        assert_string_equal(text_without_slashes(cases[i].path, &arena), cases[i].plain);
    }
    arena_release(&arena);
}

static void lists_have_words_once(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct text list = {.arena = &arena};
    static const char *const words[] = {"gb200", "b200", "a model", "gb200", "", "a"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        text_list_add(&list, words[i]);
    assert_string_equal(text_string(&list), "gb200, b200, a model, a");
    assert_true(text_lists("h100,h200", "h200"));
    assert_false(text_lists("h100, h200", "h20"));
    assert_false(text_lists("h100, h200", "200"));
    assert_false(text_lists("", "h200"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(doubles_read_back),
        cmocka_unit_test(what_a_terminal_obeys_is_made_visible),
        cmocka_unit_test(paths_have_folders_and_names),
        cmocka_unit_test(lists_have_words_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
