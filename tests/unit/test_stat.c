/* base/stat: moments and numpy's percentiles. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
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

/* Of 0 to 100 the percentile q is 100 q: two standard errors of the median of 101 samples are
 * 100 x 2 sqrt(1/4 / 101) = 9.9504; near an end the further percentile counts. */
static void errors_of_percentiles(void **state)
{
    (void)state;
    double values[101];
    for (int i = 0; i <= 100; i++)
        values[i] = i;
    assert_true(fabs(stat_percentile_error(values, 101, 0.5) - 9.9504) < 1e-4);
    assert_true(fabs(stat_percentile_error(values, 101, 0.99) - 1.9801) < 1e-4);
}

/* Random, sorted, reversed and constant lists of all small lengths and some long ones. */
static void sorting(void **state)
{
    (void)state;
    enum { MOST = 3000 };
    static double values[MOST];
    for (size_t n = 0; n < MOST; n = n < 70 ? n + 1 : 2 * n + 1)
        for (int kind = 0; kind < 5; kind++) {
            struct rng rng;
            double sum = 0, after = 0;
            rng_init(&rng, 1, 0, (uint32_t)n, (uint32_t)kind, 0);
            for (size_t i = 0; i < n; i++) {
                uint64_t any = rng_below(&rng, kind == 0 ? 1000000 : 3);
                uint64_t ordered = kind == 2 ? i : kind == 3 ? n - i : 7;
                values[i] = (double)(kind < 2 ? any : ordered);
                sum += values[i];
            }
            stat_sort(values, n);
            for (size_t i = 0; i < n; i++) {
                after += values[i];
                assert_true(i == 0 || values[i - 1] <= values[i]);
            }
            assert_true(fabs(sum - after) < 1e-6);
        }
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
        cmocka_unit_test(moments_of_a_small_list),   cmocka_unit_test(percentiles_interpolate),
        cmocka_unit_test(errors_of_percentiles),     cmocka_unit_test(sorting),
        cmocka_unit_test(nothing_seen_is_not_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
