/* sim/time/form: limits of the forms of time, and the pipeline's law against its minimum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/time/form.h"

static void near_to(double got, double wanted)
{
    if (fabs(got - wanted) > 1e-9 * fabs(wanted))
        fail_msg("%.12g, not %.12g", got, wanted);
}

static void two_resources_beside_each_other(void **state)
{
    (void)state;
    assert_true(fabs(form_beside(3, 4, 1) - 7) < 1e-12);
    assert_true(fabs(form_beside(3, 4, 2) - 5) < 1e-12);
    assert_true(fabs(form_beside(3, 4, 60) - 4) < 1e-3);
    assert_true(fabs(form_beside(0, 4, 2) - 4) < 1e-12);
}

/* The least of (hops + V/m) (latency + m/w) over the size m of a chunk. */
static void a_pipeline_in_its_best_chunks(void **state)
{
    (void)state;
    const double hops = 7, latency = 2e-6, w = 400e9;
    for (double bytes = 1e3; bytes < 1e9; bytes *= 10) {
        double best = HUGE_VAL;
        for (double m = 1; m < bytes * 1e3; m *= 1.001)
            best = fmin(best, (hops + bytes / m) * (latency + m / w));
        double law = form_pipelined(hops * latency, bytes / w, 1);
        assert_true(fabs(law / best - 1) < 1e-4);
    }
}

static void products_in_whole_tiles(void **state)
{
    (void)state;
    const struct form_device device = {1e15, 3e12, 100};
    const struct form_gemm one = {1, 1, 128, 1024, 0, 64, 128},
                           full = {1, 64, 128, 1024, 0, 64, 128};
    struct form_product k = {1e-6, 0.5, 0.8, 2, 0, 0};
    assert_true(fabs(form_gemm_s(&k, &one, &device) - form_gemm_s(&k, &full, &device)) < 1e-15);
    /* one tile of 100 units: without waves a hundredth of the rate, with them all of a wave */
    double tile = 2.0 * 64 * 128 * 1024;
    assert_true(fabs(form_gemm_s(&k, &full, &device) - 1e-6 - tile / 0.5e15) < 1e-15);
    k.wave = 1;
    assert_true(fabs(form_gemm_s(&k, &full, &device) - 1e-6 - 100 * tile / 0.5e15) < 1e-13);
}

/* 64 x 7168 on 132 units: 56 columns make 128 tiles, one wave, of which each takes 60 columns'
 * time; 2112 columns of 16 make 132 tiles of 40. 4096 rows of 24576: 128 columns, 6,144 tiles,
 * 47 waves. */
static void tiles_as_they_are_chosen(void **state)
{
    (void)state;
    static const struct {
        double groups, rows, columns, tile_rows, tile_columns, work, waves;
    } cases[] = {{1, 64, 7168, 64, 56, 60, 1},
                 {1, 64, 2112, 64, 16, 40, 1},
                 {1, 4096, 24576, 128, 128, 128, 47},
                 {4, 256, 7168, 128, 112, 112, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct form_gemm g = {cases[i].groups, cases[i].rows, cases[i].columns, 1024, 0, 0, 0};
        double flop = 2 * cases[i].tile_rows * cases[i].work * 1024 * cases[i].waves * 132;
        near_to(form_gemm_flop(&g, 0, 132), flop);
        form_choose_tiles(&g, 132);
        near_to(g.tile_rows, cases[i].tile_rows);
        near_to(g.tile_columns, cases[i].tile_columns);
    }
}

/* At half_depth half the efficiency: twice the seconds of the FLOPs. */
static void a_shallow_product_is_slower(void **state)
{
    (void)state;
    const struct form_device device = {1e15, 3e12, 100};
    const struct form_gemm gemm = {1, 64, 128, 512, 0, 64, 128};
    struct form_product k = {0, 0.5, 0.8, 2, 0, 0};
    double deep = form_gemm_s(&k, &gemm, &device);
    k.half_depth = 512;
    near_to(form_gemm_s(&k, &gemm, &device), 2 * deep);
}

/* Start 8 us; to one peer 6.144 GB/s by the first protocol, 16/3 us later by the second: 32 KiB
 * take as long by either. Half of it goes by the first, twice as much by the second, and then
 * takes its wire. */
static void the_quicker_of_two_protocols(void **state)
{
    (void)state;
    const struct form_protocols k = {0.01, 16e-6 / 3}, none = {0, 0};
    const double link = 614.4e9;
    near_to(form_protocols_s(&k, 8e-6, 16384 / link, 0, 0), 32e-6 / 3);
    near_to(form_protocols_s(&k, 8e-6, 65536 / link, 2e-6, 0), 46e-6 / 3);
    near_to(form_protocols_s(&none, 8e-6, 1, 2e-6, 0), 10e-6);
}

static void experts_grow_with_their_work(void **state)
{
    (void)state;
    const struct form_device device = {1e15, 3e12, 132};
    const struct form_experts k = {
        .product = {20e-6, 0.6, 0.8, 2, 0, 0}, .row_passes = 1, .token_passes = 2};
    struct form_experts_call call = {1024, 8, 8192, 8192, 8, 4096, 1536, 2};
    double base = form_experts_s(&k, &call, &device);
    /* never faster than the roofline of what it does */
    assert_true(base > 20e-6 + 6.0 * 8192 * 4096 * 1536 / 0.6e15);
    for (unsigned i = 0; i < 3; i++) {
        struct form_experts_call more = call;
        *(i == 0 ? &more.padded_rows : i == 1 ? &more.hit : &more.tokens) *= 2;
        assert_true(form_experts_s(&k, &more, &device) > base);
    }
}

/* Sixteen tokens on sixteen experts read 16 x 3 x 4096 x 1536 x 2 B at the bandwidth of few;
 * one token more, and they read them at the other. */
static void few_tokens_have_a_bandwidth_of_their_own(void **state)
{
    (void)state;
    const struct form_device device = {1e15, 4e12, 132};
    const struct form_experts k = {.product = {0, 1, 0.5, 64, 0, 0}, .few_bandwidth = 1};
    struct form_experts_call call = {.tokens = 16,
                                     .experts = 16,
                                     .rows = 16,
                                     .padded_rows = 256,
                                     .hit = 16,
                                     .hidden = 4096,
                                     .inter = 1536,
                                     .weight_bytes = 2};
    double weights = 16 * 3 * 4096.0 * 1536 * 2;
    assert_true(form_experts_few(&call));
    assert_true(fabs(form_experts_s(&k, &call, &device) / (weights / 4e12) - 1) < 1e-6);
    call.tokens = 17;
    assert_false(form_experts_few(&call));
    assert_true(fabs(form_experts_s(&k, &call, &device) / (weights / 2e12) - 1) < 1e-6);
}

static void exchanges(void **state)
{
    (void)state;
    const struct form_exchange k = {10e-6, 0.5, 0.8};
    const struct form_exchange_bytes bytes = {1e6, 4e5, 100e9, 50e9};
    assert_true(fabs(form_exchange_staged_s(&k, &bytes) - 30e-6) < 1e-12);
    assert_true(fabs(form_exchange_direct_s(&k, &bytes) - 40e-6) < 1e-12);
}

/* Tiles of trtllm-gen's kernels: 8 rows for a mean of up to 8, then 16, 32 and 64; one at
 * least, and half of the last one. */
static void generated_tiles_follow_the_mean(void **state)
{
    (void)state;
    static const struct {
        double rows, mean, multiplied;
    } cases[] = {{1.3, 0, 8},  {2.3, 2, 8},  {4, 4, 8},    {6, 6, 10},      {8, 8, 12},
                 {12, 12, 20}, {33, 33, 65}, {64, 64, 96}, {230, 230, 262}, {3000, 3000, 3032}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_float_equal(form_generated_rows(cases[i].rows, cases[i].mean),
                           cases[i].multiplied, 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_tiles_follow_the_mean),
        cmocka_unit_test(two_resources_beside_each_other),
        cmocka_unit_test(a_pipeline_in_its_best_chunks),
        cmocka_unit_test(products_in_whole_tiles),
        cmocka_unit_test(tiles_as_they_are_chosen),
        cmocka_unit_test(a_shallow_product_is_slower),
        cmocka_unit_test(the_quicker_of_two_protocols),
        cmocka_unit_test(experts_grow_with_their_work),
        cmocka_unit_test(few_tokens_have_a_bandwidth_of_their_own),
        cmocka_unit_test(exchanges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
