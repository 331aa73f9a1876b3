/* base/rng: Philox's published answers, and the laws of the distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/stat.h"

/* Known answers of philox4x32-10, Random123's kat_vectors. */
static void philox_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint64_t seed;
        uint32_t answer[4];
    } cases[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];
        rng_block(cases[i].seed, cases[i].counter, out);
        assert_memory_equal(out, cases[i].answer, sizeof out);
    }
}

static void a_stream_is_its_place(void **state)
{
    (void)state;
    struct rng a, b;
    rng_init(&a, 7, 1, 2, 3, 4);
    rng_init(&b, 7, 1, 2, 3, 4);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_u32(&a), rng_u32(&b));
    rng_init(&b, 7, 1, 2, 3, 5);
    assert_int_not_equal(rng_u64(&a), rng_u64(&b));
}

/* Filling many streams at once gives what each stream gives alone. */
static void filling_is_the_streams(void **state)
{
    (void)state;
    for (uint32_t n = 1; n < 40; n += 3)
        for (unsigned blocks = 1; blocks < 6; blocks++) {
            uint32_t out[40 * 6 * 4], across[40 * 6 * 4];
            uint32_t stride = (n + 3) / 4 * 4;
            rng_fill(0x123456789abcdef0, 9, 8, 7, 1000, n, 2, blocks, out);
            rng_fill_across(0x123456789abcdef0, 9, 8, 7, 1000, n, 2, blocks, across);
            for (uint32_t t = 0; t < n; t++) {
                struct rng rng;
                rng_init(&rng, 0x123456789abcdef0, 9, 8, 7, 1000 + t);
                rng.counter[3] += 2;
                for (unsigned w = 0; w < 4 * blocks; w++) {
                    uint32_t word = rng_u32(&rng);
                    assert_int_equal(out[t * blocks * 4 + w], word);
                    assert_int_equal(across[w * stride + t], word);
                }
            }
        }
}

static void below_covers_its_range(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1, 0, 0, 0, 0);
    unsigned seen[7] = {0};
    for (int i = 0; i < 70000; i++)
        seen[rng_below(&rng, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 9600, 10400);
}

static void moments_match(void **state)
{
    (void)state;
    static const double shapes[] = {0.2, 1, 2.5, 40};
    enum { N = 200000 };
    struct rng rng;
    rng_init(&rng, 2, 0, 0, 0, 0);
    struct stat uniform = {0}, normal = {0}, exponential = {0};
    for (int i = 0; i < N; i++) {
        stat_add(&uniform, rng_uniform(&rng));
        stat_add(&normal, rng_normal(&rng));
        stat_add(&exponential, rng_exponential(&rng));
    }
    assert_true(fabs(uniform.mean - 0.5) < 0.004);
    assert_true(fabs(stat_variance(&uniform) - 1.0 / 12) < 0.002);
    assert_true(fabs(normal.mean) < 0.012 && fabs(stat_sd(&normal) - 1) < 0.01);
    assert_true(fabs(exponential.mean - 1) < 0.012 && fabs(stat_sd(&exponential) - 1) < 0.02);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct stat gamma = {0};
        for (int i = 0; i < N; i++)
            stat_add(&gamma, rng_gamma(&rng, shapes[s]));
        assert_true(fabs(gamma.mean / shapes[s] - 1) < 0.03);
        assert_true(fabs(stat_variance(&gamma) / shapes[s] - 1) < 0.06);
    }
}

static void log_and_quantile_agree_with_libm(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        double want = log(x);
        assert_true(fabs(rng_log(x) - want) <= 4e-16 * (1 + fabs(want)));
    }
    for (double p = 1e-12; p < 1; p += 0.000917) {
        double back = stat_normal_cdf(rng_normal_quantile(p));
        assert_true(fabs(back - p) < 1e-13);
    }
    assert_true(fabs(rng_normal_quantile(0.1) + 1.2815515655446004) < 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(a_stream_is_its_place),
        cmocka_unit_test(filling_is_the_streams),
        cmocka_unit_test(below_covers_its_range),
        cmocka_unit_test(moments_match),
        cmocka_unit_test(log_and_quantile_agree_with_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
