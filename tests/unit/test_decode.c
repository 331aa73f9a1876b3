/* sim/moe/decode: the tables of seed-systems.md B7 and B8. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/moe/decode.h"

static void expected_experts(void **state)
{
    (void)state;
    static const struct {
        uint64_t experts, top_k, batch;
        double distinct, tolerance;
    } cases[] = {
        {256, 8, 16, 101.96, 0.01}, {128, 8, 8, 51.62, 0.01}, {16, 1, 8, 6.45, 0.01},
        {256, 8, 32, 163.31, 0.01}, {128, 4, 8, 28.71, 0.01}, {128, 4, 16, 50.98, 0.01},
        {4, 1, 2, 1.75, 1e-15},     {4, 2, 2, 3, 1e-15},      {8, 8, 1, 8, 1e-15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = decode_distinct(cases[i].experts, cases[i].top_k, (double)cases[i].batch);
        if (fabs(got - cases[i].distinct) > cases[i].tolerance)
            fail_msg("case %zu: %.4f, expected %.4f", i, got, cases[i].distinct);
        double pi[256];
        for (uint64_t e = 0; e < cases[i].experts; e++)
            pi[e] = (double)cases[i].top_k / (double)cases[i].experts;
        assert_true(fabs(decode_distinct_of(pi, cases[i].experts, (double)cases[i].batch) -
                         got) < 1e-9);
    }
    assert_true(fabs(sqrt(decode_distinct_variance(256, 8, 16)) - 3.68) < 0.01);
    assert_true(fabs(sqrt(decode_distinct_variance(4, 2, 2)) - 0.577) < 0.001);
}

static void thresholds(void **state)
{
    (void)state;
    assert_int_equal(decode_switch_batch(256, 8, 1), 32);
    assert_int_equal(decode_switch_batch(256, 8, 0.8), 26);
    assert_int_equal(decode_switch_batch(16, 1, 1), 16);
    assert_true(fabs(decode_break_even(256, 8, 0.5) - 21.8) < 0.05);
    assert_true(fabs(decode_break_even(256, 8, 0.8) - 50.7) < 0.05);
    assert_true(fabs(decode_break_even(256, 8, 0.9) - 72.5) < 0.05);
    assert_true(fabs(decode_break_even_plain(256, 8, 0.8) - 25.6) < 1e-9);
}

/* Bytes of one expert: bf16, fp8 per channel, fp8 128 x 128, mxfp4, nvfp4. */
static void quantised_bytes(void **state)
{
    (void)state;
    static const enum dtype dtypes[5] = {DTYPE_BF16, DTYPE_FP8_CHANNEL, DTYPE_FP8_BLOCK,
                                         DTYPE_MXFP4, DTYPE_NVFP4};
    static const struct {
        uint64_t hidden, inter, bytes[5];
    } cases[] = {
        {2880, 2880, {49766400, 24917760, 24889548, 13219200, 13996800}},
        {7168, 2048, {88080384, 44085248, 44050944, 23396352, 24772608}},
        {2048, 1408, {17301504, 8670208, 8652864, 4595712, 4866048}},
    };
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 5; d++)
            assert_int_equal(
                decode_expert_bytes(dtypes[d], cases[i].hidden, cases[i].inter, true),
                cases[i].bytes[d]);
}

static void the_rule_decides(void **state)
{
    (void)state;
    struct decode_ask ask = {.experts = 256,
                             .top_k = 8,
                             .local = 256,
                             .batch = 16,
                             .expert_bytes = 88080384,
                             .threshold = 1,
                             .dedup = true};
    struct decode out;
    decode_of(&ask, &out);
    assert_string_equal(out.algorithm, "selective");
    assert_true(fabs(out.expected_experts_loaded - 101.96) < 0.01);
    assert_int_equal(out.bytes_all, 256 * 88080384ull);
    assert_true(fabs((double)out.bytes_loaded / 88080384 - 101.96) < 0.01);
    ask.dedup = false;
    decode_of(&ask, &out);
    assert_int_equal(out.bytes_loaded, 128 * 88080384ull);
    ask.batch = 32;
    decode_of(&ask, &out);
    assert_string_equal(out.algorithm, "all_experts");
    assert_int_equal(out.bytes_loaded, out.bytes_all);
    ask.local = 4;
    ask.dedup = true;
    decode_of(&ask, &out);
    assert_true(fabs(out.expected_experts_loaded - 163.31 / 64) < 0.001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_experts),
        cmocka_unit_test(thresholds),
        cmocka_unit_test(quantised_bytes),
        cmocka_unit_test(the_rule_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
