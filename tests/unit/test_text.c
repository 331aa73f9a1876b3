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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(doubles_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
