/* TOML as a tree, and what is no TOML. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/text/toml.h"

static void print(const struct node *node, struct text *out)
{
    static const char *const brackets[] = {[NODE_SEQUENCE] = "[]", [NODE_MAPPING] = "{}"};
    if (node->kind == NODE_SCALAR) {
        text_printf(out, node->quoted ? "\"%s\"" : "%s", node->text);
        return;
    }
    text_append_n(out, brackets[node->kind], 1);
    for (const struct node *child = node->first; child; child = child->next) {
        if (node->kind == NODE_MAPPING)
            text_printf(out, "%s:", child->key);
        print(child, out);
        text_append(out, child->next ? " " : "");
    }
    text_append_n(out, brackets[node->kind] + 1, 1);
}

static void texts_are_trees(void **state)
{
    (void)state;
    static const struct {
        const char *toml, *tree;
    } cases[] = {
        {"", "{}"},
        {"# only this\n", "{}"},
        {"a = 1\nb = \"x\" # y\n", "{a:1 b:\"x\"}"},
        {"a = 1_000\nb = -1\nc = 2.2e-4\nd = true\n", "{a:1000 b:-1 c:2.2e-4 d:true}"},
        {"[a]\nx = 1\n[b]\ny = 2\n[a.c]\nz = 3", "{a:{x:1 c:{z:3}} b:{y:2}}"},
        {"a.b.c = 1\na.d = 2", "{a:{b:{c:1} d:2}}"},
        {"a = {b = 1, c = {d = \"e\"}}", "{a:{b:1 c:{d:\"e\"}}}"},
        {"a = [1, 2,\n  3, # four\n]\nb = []", "{a:[1 2 3] b:[]}"},
        {"a = 'C:\\x'\nb = \"t\\tn\\\"q\\\\\"", "{a:\"C:\\x\" b:\"t\tn\"q\\\"}"},
        {"a = \"\"\"\nx\ny\"\"\"\nb = '''z'''", "{a:\"x\ny\" b:\"z\"}"},
        {"[[a]]\nx = 1\n[[a]]\nx = 2\n", "{a:[{x:1} {x:2}]}"},
        {"\"a b\".'c' = 1\r\n", "{a b:{c:1}}"},
        {"d = 2026-02-01T00:00:00", "{d:2026-02-01T00:00:00}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct node *root = NULL;
        struct text out = {.arena = &arena};
        toml_read("x.toml", cases[i].toml, strlen(cases[i].toml), &arena, &root, &err);
        assert_string_equal(err.text, "");
        print(root, &out);
        assert_string_equal(text_string(&out), cases[i].tree);
        arena_release(&arena);
    }
}

static void what_is_no_toml_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *toml, *where, *text;
    } cases[] = {
        {"a = 1\na = 2", "x.toml:2:1", "key 'a' is given twice, first on line 1, column 1"},
        {"a 1", "x.toml:1:3", "'1' stands where '=' is expected"},
        {"a = ", "x.toml:1:5", "the text ends where a value is expected"},
        {"a =\nb = 1", "x.toml:1:4", "the line ends where a value is expected"},
        {"[a\nb = 1", "x.toml:1:3", "the line ends where ']' is expected"},
        {"a = [1, 2", "x.toml:1:10", "the text ends where ',' or ']' is expected"},
        {"a = {b = 1", "x.toml:1:11", "the text ends where ',' or '}' is expected"},
        {"a = \"x", "x.toml:1:5", "a string is not closed"},
        {"a = \"\\x41\"", "x.toml:1:7",
         "'x' stands where one of the escapes \\n \\t \\\" \\\\ is "
         "expected"},
        {"a = 1 b = 2", "x.toml:1:7", "'b' stands where the end of the line is expected"},
        {"a = 1\n[a]\nb = 1", "x.toml:2:2", "'a' is a value, not a table"},
        {"a = 1\n[[a]]", "x.toml:2:3", "'a' is no array of tables"},
        {"a = \"\x01\"", "x.toml:1:6", "control character 0x01 in the text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct node *root = NULL;
        enum status status =
            toml_read("x.toml", cases[i].toml, strlen(cases[i].toml), &arena, &root, &err);
        assert_int_equal(status, STATUS_INPUT);
        assert_null(root);
        assert_string_equal(err.where, cases[i].where);
        assert_string_equal(err.text, cases[i].text);
        arena_release(&arena);
    }
}

static void depth_and_size_have_limits(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct node *root = NULL;
    struct text deep = {.arena = &arena}, many = {.arena = &arena};
    text_append(&deep, "a = ");
    for (int i = 0; i < 100; i++)
        text_append(&deep, "[");
    toml_read("x.toml", deep.data, deep.length, &arena, &root, &err);
    assert_string_equal(err.text, "nested deeper than the limit of 32 levels");
    err_clear(&err);
    for (int i = 0; i < 5000; i++)
        text_printf(&many, "k%d = 1\n", i);
    toml_read("x.toml", many.data, many.length, &arena, &root, &err);
    assert_string_equal(err.text, "more than the limit of 4096 values");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_trees),
        cmocka_unit_test(what_is_no_toml_is_refused),
        cmocka_unit_test(depth_and_size_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
