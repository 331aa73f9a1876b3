/* plan/source and plan/encoding: trees, places and guards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/source.h"

struct fixture {
    struct arena arena;
    struct err err;
    struct node *root;
};

static enum status read_as(struct fixture *fixture, const char *name, const char *text)
{
    err_clear(&fixture->err);
    fixture->root = NULL;
    return source_read_text(name, text, strlen(text), &fixture->arena, &fixture->root,
                            &fixture->err);
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct fixture));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    arena_release(&fixture->arena);
    free(fixture);
    return 0;
}

static void tree_keeps_order_places_and_quotes(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(read_as(fixture, "a.yaml", "a: 1\nb:\n  - x\n  - \"64\"\nc: {d: ~}\n"), 0);
    const struct node *root = fixture->root;
    assert_int_equal(root->kind, NODE_MAPPING);
    assert_int_equal(root->n, 3);
    assert_string_equal(root->first->key, "a");
    assert_string_equal(root->first->text, "1");
    const struct node *b = node_get(root, "b");
    assert_int_equal(b->kind, NODE_SEQUENCE);
    assert_int_equal(b->n, 2);
    assert_false(b->first->quoted);
    assert_true(b->first->next->quoted);
    assert_int_equal(b->key_mark.line, 2);
    assert_int_equal(b->key_mark.column, 1);
    assert_int_equal(b->first->next->mark.line, 4);
    assert_int_equal(b->first->next->mark.column, 5);
    assert_true(node_is_null(node_get(node_get(root, "c"), "d")));
    assert_null(node_get(root, "d"));
    assert_null(node_get(b, "x"));
}

static void json_surrogates_are_joined(void **state)
{
    struct fixture *fixture = *state;
    const char *json = "{\"a\": \"x\\ud83d\\ude00y\", \"b\\\\ud83d\": \"\\u0041\"}";
    assert_int_equal(read_as(fixture, "config.json", json), 0);
    assert_string_equal(node_get(fixture->root, "a")->text, "x\xf0\x9f\x98\x80y");
    assert_string_equal(node_get(fixture->root, "b\\ud83d")->text, "A");
}

struct bad {
    const char *name, *text, *where, *message;
};

static void guards_name_the_place(void **state)
{
    struct fixture *fixture = *state;
    static const struct bad bads[] = {
        {"empty", "", "f", "it is empty"},
        {"comments", "# nothing\n", "f", "nothing in it but space or comments"},
        {"null document", "---\n", "f", "nothing in it but space or comments"},
        {"two documents", "a: 1\n---\nb: 2\n", "f:2:1", "a second document starts here"},
        {"anchor", "a: &x 1\n", "f:1:4", "anchor 'x' is not supported"},
        {"alias", "a: *x\n", "f:1:4", "alias 'x' is not supported"},
        {"tag", "a: !!int 3\n", "f:1:4", "tag 'tag:yaml.org,2002:int' is not supported"},
        {"merge", "<<: {a: 1}\n", "f:1:1", "merge key '<<' is not supported"},
        {"duplicate", "b: 0\na: 1\nc: 2\na: 3\n", "f:4:1",
         "key 'a' is given twice, first on line 2, column 1"},
        {"flow duplicate", "a: {b: 1, \"b\": 2}\n", "f:1:11",
         "key 'b' is given twice, first on line 1, column 5"},
        {"key", "? [a]\n: 1\n", "f:1:3", "a key must be a word, not a list"},
        {"empty key", "{\"\": 1}\n", "f:1:2", "a key is empty"},
        {"NUL", "a: \"\\0\"\n", "f:1:4", "a text holds a NUL character"},
        {"latin-1", "# \xc3\xa9\na: \xe9t\xe9\n", "f:2:4", "byte 0xe9 is not UTF-8"},
        {"overlong", "\xc0\x80", "f:1:1", "byte 0xc0 is not UTF-8"},
        {"surrogate", "a: \xed\xa0\x80", "f:1:4", "byte 0xed is not UTF-8"},
        {"truncated", "a: \xf0\x9f\x98", "f:1:4", "byte 0xf0 is not UTF-8"},
        {"control", "# \xf0\x9f\x98\x80\x01\n", "f:1:4", "control character 0x01 in the text"},
        {"delete", "a: b\x7f\n", "f:1:5", "control character 0x7f in the text"},
        {"tab", "a:\n\tb: 1\n", "f:2:1",
         "found character that cannot start any token while scanning for the next token from "
         "line 2, column 1"},
        {"open", "a: [1, 2\n", "f:2:1",
         "did not find expected ',' or ']' while parsing a flow sequence from line 1, column "
         "4"},
        {"directive", "# x\n%TAG ! b\n", "f:2:1", "directives are not supported"},
        {"directive CR", "# x\r%TAG ! b\r", "f:1:1", "directives are not supported"},
        {"directive CRLF", "# x\r\n\r%TAG ! b\r", "f:2:1", "directives are not supported"},
        {"directive NEL", "# x\xc2\x85%TAG ! b\n", "f:1:1", "directives are not supported"},
        {"directive LS", "# x\xe2\x80\xa8%TAG ! b\n", "f:1:1", "directives are not supported"},
        {"directive BOM", "\xef\xbb\xbf%TAG ! b\n", "f:1:1", "directives are not supported"},
        {"colon", "a: b: c\n", "f:1:5", "mapping values are not allowed in this context"},
    };
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        enum status status = read_as(fixture, "f", bads[i].text);
        print_message("%s\n", bads[i].name);
        assert_string_equal(fixture->err.where, bads[i].where);
        assert_string_equal(fixture->err.text, bads[i].message);
        assert_int_equal(status, STATUS_INPUT);
        assert_null(fixture->root);
    }
}

static void depth_is_limited(void **state)
{
    struct fixture *fixture = *state;
    char text[2 * SOURCE_DEPTH + 3] = "";
    memset(text, '[', SOURCE_DEPTH);
    memset(text + SOURCE_DEPTH, ']', SOURCE_DEPTH);
    assert_int_equal(read_as(fixture, "f", text), STATUS_OK);
    memset(text, '[', SOURCE_DEPTH + 1);
    memset(text + SOURCE_DEPTH + 1, ']', SOURCE_DEPTH + 1);
    assert_int_equal(read_as(fixture, "f", text), STATUS_INPUT);
    assert_string_equal(fixture->err.where, "f:1:65");
    assert_string_equal(fixture->err.text, "nested deeper than the limit of 64 levels");
}

static void options_have_no_line(void **state)
{
    struct fixture *fixture = *state;
    struct node *node = NULL;
    assert_int_equal(
        source_read_option("--set a=[1, b]", "[1, b]", &fixture->arena, &node, &fixture->err),
        STATUS_OK);
    assert_int_equal(node->kind, NODE_SEQUENCE);
    assert_int_equal(node->mark.line, 0);
    assert_string_equal(node->mark.file, "--set a=[1, b]");
    assert_int_equal(source_read_option("--set a=", "", &fixture->arena, &node, &fixture->err),
                     STATUS_OK);
    assert_true(node_is_null(node));
    assert_int_equal(
        source_read_option("--set a={", "{", &fixture->arena, &node, &fixture->err),
        STATUS_INPUT);
    assert_string_equal(fixture->err.where, "--set a={");
}

static void files_that_are_none(void **state)
{
    struct fixture *fixture = *state;
    static const char *const bads[][2] = {
        {"tests", "is a directory, not a file"},
        {"tests/no-such.yaml", "cannot be opened: No such file or directory"},
        {"/dev/zero", "larger than the limit of 1048576 bytes"},
        {"/dev/null", "it is empty"},
    };
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        err_clear(&fixture->err);
        assert_int_equal(
            source_read_file(bads[i][0], &fixture->arena, &fixture->root, &fixture->err),
            STATUS_INPUT);
        assert_string_equal(fixture->err.where, bads[i][0]);
        assert_string_equal(fixture->err.text, bads[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tree_keeps_order_places_and_quotes, setup, teardown),
        cmocka_unit_test_setup_teardown(json_surrogates_are_joined, setup, teardown),
        cmocka_unit_test_setup_teardown(guards_name_the_place, setup, teardown),
        cmocka_unit_test_setup_teardown(depth_is_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(options_have_no_line, setup, teardown),
        cmocka_unit_test_setup_teardown(files_that_are_none, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
