/* calib/fit/left_out: widths by hand, and what they hold of groups that nobody has seen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "calib/fit/left_out.h"
#include "support/owners.h"

static const struct left_out_rule SHARE = {LEFT_OUT_SHARE, 0}, STUDENT = {LEFT_OUT_STUDENT, 0};

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
    assert_close(left_out_width(error, group, N, UINT32_MAX, SHARE, &arena), 0.908);
    assert_close(left_out_width(error, group, N, 1, SHARE, &arena), 0.458);
    assert_close(left_out_width(error, group, 8, 1, SHARE, &arena), 0.07);
    assert_true(isnan(left_out_width(error, group, 0, 1, SHARE, &arena)));
    assert_true(left_out_rule_of(9, 0).share <= LEFT_OUT_STUDENT);
    assert_true(left_out_rule_of(10, 0.4).share >= LEFT_OUT_SHARE);
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
    assert_close(left_out_width(error, group, 4, UINT32_MAX, STUDENT, &arena),
                 expm1(2.920 * sqrt(0.025)));
    assert_close(left_out_width(error, group, 4, 1, STUDENT, &arena), expm1(6.314 * 0.1));
    arena_release(&arena);
}

/* What was said before is what is said of no group at all. It counts as two whose errors are
 * log(1.4) / 2.920: with the two above t of four, 2.132. */
static void what_was_known_counts_as_two(void **state)
{
    (void)state;
    const double error[] = {expm1(0.1), expm1(0.2)};
    static const uint32_t group[] = {0, 1};
    const struct left_out_rule known = left_out_rule_of(2, 0.4);
    double spread = log(1.4) / 2.920;
    struct arena arena = {0};
    assert_close(left_out_width(error, group, 0, UINT32_MAX, known, &arena), 0.4);
    assert_close(left_out_width(error, group, 2, UINT32_MAX, known, &arena),
                 expm1(2.132 * sqrt((0.05 + 2 * spread * spread) / 4)));
    assert_true(left_out_rule_of(10, 0.4).known <= 0);
    arena_release(&arena);
}

/* Nine of ten of a Student's t, whose squared scale is drawn by what is known, lie within what
 * the groups before say with it: 4000 owners of 0 to 6 layouts, by their last. */
static void owners_differ_as_it_is_said(void **state)
{
    (void)state;
    enum { OWNERS = 4000, MOST = 6 };
    const double scale = log(1.4) / 2.920;
    struct arena arena = {0};
    struct rng rng;
    rng_init(&rng, 1, 0, 0, 0, 0);
    for (size_t n = 0; n <= MOST; n += 2) {
        unsigned held = 0;
        for (unsigned owner = 0; owner < OWNERS; owner++) {
            double error[MOST + 1], spread = scale / sqrt(rng_exponential(&rng));
            uint32_t group[MOST + 1];
            for (uint32_t i = 0; i <= MOST; i++) {
                error[i] = expm1(fabs(spread * rng_normal(&rng)));
                group[i] = i;
            }
            held += error[MOST] <= left_out_width(error, group, n, UINT32_MAX,
                                                  left_out_rule_of(n, 0.4), &arena);
        }
        if (!(fabs(held / (double)OWNERS - 0.9) < 0.015))
            fail_msg("%zu layouts: %u of %d held", n, held, OWNERS);
    }
    arena_release(&arena);
}

/* How much it counts is no less likely, of the owners there are and without any of them, than
 * half a unit of log likelihood below the likeliest (two thirds of a normal's lie as near). */
static void it_counts_as_owners_differ(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct owners o;
    owners_read(&o, &arena);
    assert_true(o.n >= 6);
    for (unsigned prior = 0; prior < OWNERS_PRIORS; prior++)
        for (size_t without = 0; without <= o.n; without++) {
            double best = -HUGE_VAL, taken = 0;
            for (unsigned halves = 1; halves <= 32; halves++) {
                double at = owners_likelihood(&o, prior, without, halves / 2.0);
                best = fmax(best, at);
                taken = halves == 2 * LEFT_OUT_KNOWN ? at : taken;
            }
            if (best - taken > 0.5)
                fail_msg("without %s: %g below the likeliest",
                         without < o.n ? o.name[without] : "none", best - taken);
        }
    arena_release(&arena);
}

/* Student's t beyond the table: 1.771 for 13, 1.699 for 29, the normal's in the end. */
static void student_s_t(void **state)
{
    (void)state;
    assert_true(fabs(left_out_student(1) - 6.314) < 1e-9);
    assert_true(fabs(left_out_student(12) - 1.782) < 1e-9);
    assert_true(fabs(left_out_student(13) - 1.771) < 0.01);
    assert_true(fabs(left_out_student(29) - 1.699) < 0.003);
    assert_true(fabs(left_out_student(1000000) - 1.645) < 1e-4);
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
    assert_close(left_out_width(error, group, N, UINT32_MAX, STUDENT, &arena),
                 expm1(6.314 * 0.2));
    assert_close(left_out_width(error, group, N - 1, UINT32_MAX, STUDENT, &arena),
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
    assert_close(left_out_held(&pairs, error, SHARE, &arena), 3.0 / 6);
    pairs.n_groups = 2;
    assert_true(isnan(left_out_held(&pairs, error, SHARE, &arena)));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_order_statistics),
        cmocka_unit_test(few_groups_have_student_s_t),
        cmocka_unit_test(what_was_known_counts_as_two),
        cmocka_unit_test(owners_differ_as_it_is_said),
        cmocka_unit_test(it_counts_as_owners_differ),
        cmocka_unit_test(student_s_t),
        cmocka_unit_test(one_wrong_run_widens_nothing),
        cmocka_unit_test(held_by_those_who_have_not_seen_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
