/* See beside.h. */
#include "support/beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"

void beside_check(const char *file, const struct err *err, struct arena *arena)
{
    struct err unread = {0};
    struct text message = {.arena = arena};
    char *expected = NULL;
    size_t length;
    const char *beside = arena_printf(arena, "%s.expected", file);
    text_printf(&message, "%s: %s\n", err->where, err->text);
    if (err->hint[0] != '\0')
        text_printf(&message, "  hint: %s\n", err->hint);
    if (getenv("MOEPLAN_REWRITE")) {
        FILE *out = fopen(beside, "w");
        assert_non_null(out);
        fputs(text_string(&message), out);
        assert_int_equal(fclose(out), 0);
    }
    print_message("%s\n", file);
    file_read(beside, 65536, arena, &expected, &length, &unread);
    assert_string_equal(unread.text, "");
    assert_string_equal(text_string(&message), expected);
}
