/* sim/moe/intensity: the figures of seed 002 and their corrections. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "sim/moe/intensity.h"

static void near(double got, double want, double absolute)
{
    if (fabs(got - want) > absolute)
        fail_msg("%.5f, expected %.5f", got, want);
}

static void published_intensities(void **state)
{
    (void)state;
    /* B-E8: decode is 31.7, prefill 2234, not 50-100 and 400+. */
    near(intensity_gemm(32, 4096, 12288, 2), 31.7, 0.06);
    near(intensity_gemm(8192, 4096, 12288, 2), 2234, 0.5);
}

/* The general form gives the document's AIF for 2-byte weights read once. */
static void general_form(void **state)
{
    (void)state;
    struct intensity_ask ask = {.rows = 15 * 256,
                                .loads = 8,
                                .hidden = 3072,
                                .inter = 384,
                                .glu = true,
                                .expert_bytes = 3 * 3072 * 384 * 2,
                                .row_bytes = 2,
                                .fused = true};
    struct intensity out;
    intensity_of(&ask, 667e12, 2.9e12, &out);
    near(out.aif, 480, 1e-9);
    near(out.ridge, 230, 0.01);
    near(out.flop, 15.0 * 256 * 6 * 3072 * 384, 1);
    assert_true(out.flop_per_byte < out.aif);
    assert_false(out.compute_bound && out.flop_per_byte < out.ridge);
    intensity_of(&ask, 1299e12, 2.9e12, &out);
    near(out.ridge, 448, 0.1);
    intensity_of(&ask, 0, 2.9e12, &out);
    near(out.ridge, 0, 1e-12);
    assert_false(out.compute_bound);
}

static void block_guidance(void **state)
{
    (void)state;
    struct block_choice choices[BLOCK_CHOICES];
    intensity_blocks(8192 * 4, 128, 16, true, 2, 230, choices);
    assert_int_equal(choices[3].block, 512);
    assert_int_equal(choices[3].blocks, 191);
    near(choices[3].aif, 764, 1e-9);
    /* AIF exceeds the ridge already at 64 by the document's formula, at 256 without skips. */
    assert_int_equal(intensity_smallest_block(choices), 64);
    intensity_blocks(8192 * 4, 128, 16, false, 2, 230, choices);
    near(choices[3].aif, 512, 1e-9);
    assert_int_equal(intensity_smallest_block(choices), 256);
    intensity_blocks(100, 128, 1, false, 2, 1e9, choices);
    assert_int_equal(intensity_smallest_block(choices), 0);
}

/* Expected padding of normal counts, against drawn ones. */
static void padding_of_normal_counts(void **state)
{
    (void)state;
    enum { DRAWS = 200000 };
    struct rng rng;
    rng_init(&rng, 4, 0, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        double mean = 300 + 57 * i, sd = 18;
        struct block_choice choices[BLOCK_CHOICES];
        intensity_blocks((uint64_t)mean * 64, 64, sd, false, 2, 0, choices);
        for (int c = 0; c < BLOCK_CHOICES; c++) {
            double sum = 0, block = (double)choices[c].block;
            for (int d = 0; d < DRAWS; d++)
                sum += ceil(floor(mean + sd * rng_normal(&rng) + 0.5) / block) * block;
            near(choices[c].padding, sum / DRAWS / mean, 0.004);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_intensities),
        cmocka_unit_test(general_form),
        cmocka_unit_test(block_guidance),
        cmocka_unit_test(padding_of_normal_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
