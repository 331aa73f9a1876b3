/* calib/fit/left_out: widths by hand, and what they hold of groups that nobody has seen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "calib/fit/left_out.h"

static void assert_close(double found, double expected)
{
    if (!(fabs(found - expected) < 1e-9))
        fail_msg("%.12g, expected %.12g", found, expected);
}

/* Errors 0.00 to 1.00, 101 of them: the 0.9 x 102nd is 0.01 x 90.8, without a group the 0.9 x
 * 52nd of the rest; one that is not known does not count. Of eight, the largest. */
static void widths_are_order_statistics(void **state)
{
    (void)state;
    enum { N = 102 };
    double error[N];
    uint32_t group[N];
    struct arena arena = {0};
    for (unsigned i = 0; i < N; i++) {
        error[i] = i < 101 ? i / 100.0 : (double)NAN;
        group[i] = i > 50;
    }
    assert_close(left_out_width(error, group, N, UINT32_MAX, LEFT_OUT_SHARE, &arena), 0.908);
    assert_close(left_out_width(error, group, N, 1, LEFT_OUT_SHARE, &arena), 0.458);
    assert_close(left_out_width(error, group, 8, 1, LEFT_OUT_SHARE, &arena), 0.07);
    assert_true(isnan(left_out_width(error, group, 0, 1, 0.9, &arena)));
    assert_true(left_out_rule(9) <= LEFT_OUT_STUDENT);
    assert_true(left_out_rule(10) >= LEFT_OUT_SHARE);
    arena_release(&arena);
}

/* Two groups of factors e^0.1 (thrice) and e^0.2 (once) count alike: t of two, 2.920, times
 * sqrt((0.01 + 0.04) / 2); one group alone: 6.314 x 0.1. */
static void few_groups_have_student_s_t(void **state)
{
    (void)state;
    const double error[] = {expm1(0.1), expm1(0.1), expm1(0.1), expm1(0.2)};
    static const uint32_t group[] = {0, 0, 0, 1};
    struct arena arena = {0};
    assert_close(left_out_width(error, group, 4, UINT32_MAX, LEFT_OUT_STUDENT, &arena),
                 expm1(2.920 * sqrt(0.025)));
    assert_close(left_out_width(error, group, 4, 1, LEFT_OUT_STUDENT, &arena),
                 expm1(6.314 * 0.1));
    arena_release(&arena);
}

/* Ten values of a group: the largest counts as the second, so that one run that went wrong
 * widens nothing; of nine it counts as it is. sqrt of the mean of their squares times 6.314. */
static void one_wrong_run_widens_nothing(void **state)
{
    (void)state;
    enum { N = 10 };
    double error[N];
    static const uint32_t group[N] = {0};
    struct arena arena = {0};
    for (unsigned i = 0; i < N; i++)
        error[i] = expm1(i == 4 ? 3 : 0.2);
    assert_close(left_out_width(error, group, N, UINT32_MAX, LEFT_OUT_STUDENT, &arena),
                 expm1(6.314 * 0.2));
    assert_close(left_out_width(error, group, N - 1, UINT32_MAX, LEFT_OUT_STUDENT, &arena),
                 expm1(6.314 * sqrt((8 * 0.04 + 9) / 9)));
    arena_release(&arena);
}

/* Three groups of two: by the others' pairs the first is held, of the second one value, of the
 * third none. Below three groups nothing is said. */
static void held_by_those_who_have_not_seen_it(void **state)
{
    (void)state;
    static const uint32_t group[] = {0, 0, 1, 1, 2, 2};
    static const double error[] = {0.1, 0.2, 0.2, 0.9, 0.8, 0.9};
    struct arena arena = {0};
    struct left_out_pairs pairs;
    left_out_open(&pairs, group, 6, 3, &arena);
    for (uint32_t g = 0; g < 3; g++)
        for (unsigned i = 0; i < 6; i++)
            if (group[i] != g)
                pairs.error[g][i] = 0.5;
    assert_close(left_out_held(&pairs, error, 0.9, &arena), 3.0 / 6);
    pairs.n_groups = 2;
    assert_true(isnan(left_out_held(&pairs, error, 0.9, &arena)));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_order_statistics),
        cmocka_unit_test(few_groups_have_student_s_t),
        cmocka_unit_test(one_wrong_run_widens_nothing),
        cmocka_unit_test(held_by_those_who_have_not_seen_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
