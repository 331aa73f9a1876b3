/* base/file: whole files, limits, what is no file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* A file of n bytes that count up; unlinked by the caller. */
static void write_file(char name[32], size_t n)
{
    memcpy(name, "/tmp/moeplan-test-XXXXXX", 25);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "wb");
    assert_non_null(file);
    for (size_t i = 0; i < n; i++)
        fputc((int)(i % 251), file);
    assert_int_equal(fclose(file), 0);
}

/* Around the buffer's first size and the limit. */
static void files_up_to_the_limit_are_read(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,     1,     16383, 16384, 16385,
                                   32768, 50000, 60000, 60001, 90000};
    enum { LIMIT = 60000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct arena arena = {0};
        struct err err = {0};
        char name[32], *text = NULL;
        size_t length = 0;
        write_file(name, sizes[i]);
        enum status status = file_read(name, LIMIT, &arena, &text, &length, &err);
        unlink(name);
        print_message("%zu bytes\n", sizes[i]);
        if (sizes[i] > LIMIT) {
            assert_int_equal(status, STATUS_INPUT);
            assert_string_equal(err.text, "larger than the limit of 60000 bytes");
            assert_string_equal(err.where, name);
            assert_null(text);
        } else {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(length, sizes[i]);
            for (size_t j = 0; j < length; j++)
                assert_int_equal((unsigned char)text[j], j % 251);
            assert_int_equal(text[length], '\0');
        }
        arena_release(&arena);
    }
}

static void what_is_no_file_is_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"tests", "is a directory, not a file"},
        {"tests/none", "cannot be opened: No such file or directory"},
        {"CMakeLists.txt/x", "cannot be opened: Not a directory"},
        {"/dev/zero", "larger than the limit of 100 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        char *text = NULL;
        size_t length = 0;
        assert_int_equal(file_read(cases[i][0], 100, &arena, &text, &length, &err),
                         STATUS_INPUT);
        assert_string_equal(err.where, cases[i][0]);
        assert_string_equal(err.text, cases[i][1]);
        arena_release(&arena);
    }
}

/* A mark is left out once, and only where it is whole and in front. */
static void a_byte_order_mark_is_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *written, *read;
    } cases[] = {{"\xef\xbb\xbfmodel: a", "model: a"},
                 {"\xef\xbb\xbf\xef\xbb\xbf", "\xef\xbb\xbf"},
                 {"\xef\xbb\xbf", ""},
                 {"\xef\xbb", "\xef\xbb"},
                 {"a\xef\xbb\xbf", "a\xef\xbb\xbf"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        char name[32], *text = NULL;
        size_t length = 0;
        write_file(name, 0);
        FILE *file = fopen(name, "wb");
        assert_non_null(file);
        fputs(cases[i].written, file);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(file_read(name, 100, &arena, &text, &length, &err), STATUS_OK);
        unlink(name);
        assert_string_equal(text, cases[i].read);
        assert_int_equal(length, strlen(cases[i].read));
        arena_release(&arena);
    }
}

static void only_regular_files_are_there(void **state)
{
    (void)state;
    char name[32];
    write_file(name, 1);
    assert_true(file_is_there(name));
    unlink(name);
    assert_false(file_is_there(name));
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_false(file_is_there(name));
    unlink(name);
    assert_false(file_is_there("tests"));
    assert_false(file_is_there("/dev/null"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_up_to_the_limit_are_read),
        cmocka_unit_test(what_is_no_file_is_named),
        cmocka_unit_test(a_byte_order_mark_is_left_out),
        cmocka_unit_test(only_regular_files_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
