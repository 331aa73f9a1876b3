/* cli/chart: numbers at points that stand near one another are written once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/chart/chart.h"

static void near_points_share_their_numbers(void **state)
{
    (void)state;
    static const struct chart_place places[] = {{0.1, 0.1}, {0.5, 0.5},   {0.505, 0.51},
                                                {0.5, 0.6}, {0.11, 0.11}, {0.5, 0.49}};
    static const char *const words[] = {"1 5", "2 3 6", "", "4", "", ""};
    struct arena arena = {0};
    const char **written = chart_numbered(places, 6, &arena);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(written[i], words[i]);
    assert_null(written[6]);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_points_share_their_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
