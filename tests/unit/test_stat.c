/* base/stat: moments and numpy's percentiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/stat.h"

static void moments_of_a_small_list(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct stat stat = {0};
    for (size_t i = 0; i < 8; i++)
        stat_add(&stat, values[i]);
    assert_true(fabs(stat.mean - 5) < 1e-15 && fabs(stat_sd(&stat) - 2) < 1e-15);
    assert_true(fabs(stat_cv(&stat) - 0.4) < 1e-15);
    assert_true(stat.min < 2.5 && stat.max > 8.5);
    assert_true(fabs(stat_mean_error(&stat) - sqrt(32.0 / 7 / 8)) < 1e-15);
}

static void percentiles_interpolate(void **state)
{
    (void)state;
    double values[] = {40, 10, 30, 20};
    stat_sort(values, 4);
    assert_true(fabs(stat_percentile(values, 4, 0.1) - 13) < 1e-12);
    assert_true(fabs(stat_percentile(values, 4, 0.5) - 25) < 1e-12);
    assert_true(fabs(stat_percentile(values, 4, 1) - 40) < 1e-12);
    assert_true(fabs(stat_percentile(values, 1, 0.3) - 10) < 1e-12);
}

static void nothing_seen_is_not_never(void **state)
{
    (void)state;
    assert_true(fabs(stat_chance_bound(0, 200) - 0.015) < 1e-15);
    assert_true(fabs(stat_chance_bound(3, 200) - 0.015) < 1e-15);
    assert_true(fabs(stat_chance_bound(0, 1) - 1) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_of_a_small_list),
        cmocka_unit_test(percentiles_interpolate),
        cmocka_unit_test(nothing_seen_is_not_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
