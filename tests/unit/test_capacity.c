/* sim/moe/capacity: slots by framework, drops in closed form against samples, the trade table.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/moe/capacity.h"

static void prepare(double alpha, struct arena *arena, struct rows *rows)
{
    struct err err = {0};
    struct rows_spec spec = {
        .tokens = 16384,
        .top_k = 8,
        .experts = 256,
        .ranks = 8,
        .routing = {.distribution = alpha > 0 ? DISTRIBUTION_ZIPF : DISTRIBUTION_UNIFORM,
                    .alpha = alpha,
                    .seed = 2},
    };
    if (rows_prepare(&spec, arena, rows, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* Seed 000's capacities per sequence, buffers.md 5.2, 9.3, 10.6; seed-systems.md B1. */
static void published_slots(void **state)
{
    (void)state;
    static const double factor[3] = {1.25, 2, 4};
    static const uint64_t slots[3] = {160, 256, 512};
    for (int i = 0; i < 3; i++)
        assert_int_equal(capacity_slots(CAPACITY_RULE_MAXTEXT, 4096, 8, 256, factor[i]),
                         slots[i]);
    assert_int_equal(capacity_slots(CAPACITY_RULE_MEGATRON, 32768, 8, 256, 1.25), 1280);
    assert_int_equal(capacity_slots(CAPACITY_RULE_TUTEL, 4096, 8, 256, 1), 128);
    assert_int_equal(capacity_slots(CAPACITY_RULE_TUTEL, 4100, 8, 256, 1), 136);
    assert_int_equal(capacity_slots(CAPACITY_RULE_NEURON, 1000, 2, 8, 1.25), 313);
    assert_int_equal(capacity_slots(CAPACITY_RULE_NEURON, 6, 1, 3, 1), 2);
}

static void closed_form_agrees_with_samples(void **state)
{
    (void)state;
    static const double alpha[] = {0, 0.3, 1};
    for (int i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct rows rows;
        struct capacity_sample sample;
        prepare(alpha[i], &arena, &rows);
        double closed = capacity_drop(&rows, 4096, 160);
        capacity_sampled(&rows, 4096, 160, 32, &arena, &sample);
        if (fabs(closed - sample.mean) > 0.002 + 0.01 * closed)
            fail_msg("alpha %g: %.5f, sampled %.5f", alpha[i], closed, sample.mean);
        assert_true(sample.mean <= sample.p99);
        arena_release(&arena);
    }
}

/* 16 tokens put at most 16 rows on an expert; popular ones get all of them, which 15 slots do
 * not hold. */
static void no_more_tokens_than_slots_drop_nothing(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rows rows;
    struct capacity_sample sample;
    prepare(3, &arena, &rows);
    capacity_sampled(&rows, 16, 16, 64, &arena, &sample);
    assert_true(sample.mean == 0 && sample.p99 == 0);
    capacity_sampled(&rows, 16, 15, 64, &arena, &sample);
    assert_true(sample.p99 > 0);
    arena_release(&arena);
}

static void the_trade(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rows rows;
    struct capacity_point points[CAPACITY_POINTS];
    prepare(0.5, &arena, &rows);
    assert_int_equal(capacity_trade(&rows, CAPACITY_RULE_MAXTEXT, 4096, 1.25, 2 * 7168, points),
                     CAPACITY_POINTS - 1);
    assert_int_equal(capacity_trade(&rows, CAPACITY_RULE_MAXTEXT, 4096, 3, 2 * 7168, points),
                     CAPACITY_POINTS);
    for (int i = 1; i < CAPACITY_POINTS; i++) {
        assert_true(points[i].factor >= points[i - 1].factor);
        assert_true(points[i].drop <= points[i - 1].drop);
        assert_true(points[i].padding >= points[i - 1].padding);
        assert_true(points[i].buffer_bytes >= points[i - 1].buffer_bytes);
    }
    assert_true(fabs(points[CAPACITY_POINTS - 1].factor - 32) < 1e-12);
    assert_true(points[CAPACITY_POINTS - 1].drop <= 0);
    assert_true(fabs(points[CAPACITY_POINTS - 1].flop_factor - 32) < 1e-12);
    assert_int_equal(points[1].buffer_bytes, 256ull * 160 * 7168 * 2);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_slots),
        cmocka_unit_test(closed_form_agrees_with_samples),
        cmocka_unit_test(no_more_tokens_than_slots_drop_nothing),

        cmocka_unit_test(the_trade),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
