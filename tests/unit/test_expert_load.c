/* sim/moe/load: closed forms against samples, RDEP's sweep and ceilings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/moe/load.h"

static struct rows_spec rdep(uint64_t ranks, double alpha)
{
    return (struct rows_spec){
        .tokens = 4096,
        .top_k = 6,
        .experts = 64,
        .ranks = ranks,
        .routing = {.distribution = alpha > 0 ? DISTRIBUTION_ZIPF : DISTRIBUTION_UNIFORM,
                    .alpha = alpha,
                    .placement = PLACEMENT_STRIDED,
                    .seed = 1},
    };
}

static void load_by(const struct rows_spec *spec, enum load_method method, uint64_t samples,
                    uint64_t align, struct arena *arena, struct load *load)
{
    struct rows rows;
    struct err err = {0};
    if (rows_prepare(spec, arena, &rows, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    struct load_ask ask = {
        .method = method, .samples = samples, .align_kind = ALIGN_RDEP, .align = align};
    load_of(&rows, &ask, arena, load);
}

static void near(const char *what, double got, double want, double relative)
{
    if (fabs(got / want - 1) > relative)
        fail_msg("%s: %.4f, expected %.4f within %.2f %%", what, got, want, 100 * relative);
}

/* Published p10 of rows per expert: sampling within 5 %; the closed form with exact inclusion
 * chances within 1 % of sampling; the Gaussian alike. */
static void skew_by_three_methods(void **state)
{
    (void)state;
    static const double alpha[] = {0, 0.5, 1, 1.5, 2},
                        p10[] = {3012.9, 1878.4, 873.4, 358.1, 140.8};
    for (int i = 0; i < 5; i++) {
        struct arena arena = {0};
        struct rows_spec spec = rdep(8, alpha[i]);
        struct load exact, gauss, closed;
        load_by(&spec, LOAD_EXACT, 40, 0, &arena, &exact);
        load_by(&spec, LOAD_GAUSS, 2000, 0, &arena, &gauss);
        load_by(&spec, LOAD_CLOSED, 0, 0, &arena, &closed);
        near("published p10", exact.p10, p10[i], 0.05);
        near("closed p10", closed.p10, exact.p10, 0.01);
        near("gaussian p10", gauss.p10, exact.p10, 0.01);
        near("closed p50", closed.p50, gauss.p50, 0.01);
        near("closed p90", closed.p90, gauss.p90, 0.01);
        near("closed max", closed.max, exact.max, 0.01);
        near("closed imbalance", closed.rank_imbalance, exact.rank_imbalance, 0.005);
        near("gaussian imbalance", gauss.rank_imbalance, exact.rank_imbalance, 0.005);
        near("closed cv", closed.cv, exact.cv, 0.03);
        near("closed received", (double)closed.received.expected,
             (double)exact.received.expected, 0.005);
        near("closed p99", (double)closed.heaviest.p99, (double)gauss.heaviest.p99, 0.005);
        near("gaussian p99 received", (double)gauss.received.p99, (double)closed.received.p99,
             0.005);
        near("hot expert", (double)closed.hot_expert.expected,
             (double)exact.hot_expert.expected, 0.01);
        assert_true(exact.heaviest.p99 <= exact.heaviest.worst);
        assert_int_equal(exact.rows, 8 * 4096 * 6);
        arena_release(&arena);
    }
}

static int upward(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Rosen's chances alone, without the exact ones: within 4.5 %. Binomial noise at alpha 0 only,
 * where all means are equal. */
static void rosen_alone(void **state)
{
    (void)state;
    static const double alpha[] = {0, 0.5, 1, 1.5, 2};
    for (int i = 0; i < 5; i++) {
        struct arena arena = {0};
        struct rows_spec spec = rdep(8, alpha[i]);
        struct load exact;
        double p[64], pi[64], mean[64], sd[64], sum = 0;
        load_by(&spec, LOAD_EXACT, 40, 0, &arena, &exact);
        for (int e = 0; e < 64; e++)
            sum += p[e] = pow(e + 1, -alpha[i]);
        for (int e = 0; e < 64; e++)
            p[e] /= sum;
        rows_rosen(p, 64, 6, pi);
        for (int e = 0; e < 64; e++) {
            mean[e] = 32768 * pi[e];
            sd[e] = sqrt(32768 * pi[e] * (1 - pi[e]));
        }
        double noisy = load_normal_percentile(mean, sd, 64, 0.1);
        qsort(mean, 64, sizeof *mean, upward);
        double plain = mean[6] + 0.3 * (mean[7] - mean[6]);
        near("rosen p10", alpha[i] > 0 ? plain : noisy, exact.p10, 0.045);
        arena_release(&arena);
    }
}

/* Coefficient of variation 4.86, 3.44, 2.43, 1.72 % at 1, 2, 4, 8 ranks; the published one draw
 * each lies within three times its own spread, 8.9 % relative. */
static void tightening_is_the_root_law(void **state)
{
    (void)state;
    static const double cv[] = {4.86, 3.44, 2.43, 1.72}, published[] = {4.26, 3.56, 2.25, 1.51};
    for (int i = 0; i < 4; i++) {
        struct arena arena = {0};
        struct rows_spec spec = rdep((uint64_t)1 << i, 0);
        struct load exact, closed;
        load_by(&spec, LOAD_EXACT, 40, 0, &arena, &exact);
        load_by(&spec, LOAD_CLOSED, 0, 0, &arena, &closed);
        near("cv", 100 * closed.cv, cv[i], 0.002);
        near("sampled cv", exact.cv, closed.cv, 0.05);
        near("published cv", published[i] / 100, closed.cv, 3 * 0.089);
        arena_release(&arena);
    }
}

static void padding_of_samples(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rows_spec spec = rdep(1, 0);
    struct load load;
    load_by(&spec, LOAD_EXACT, 20, 128, &arena, &load);
    near("exact padding", load.exact_padding, 1.165, 0.01); /* seed-systems.md A4 */
    assert_true(load.padded.expected >= load.heaviest.expected);
    near("padded rows", (double)load.padded.expected, 24576 * load.exact_padding, 1e-4);
    near("blocks", load.blocks * 128, (double)load.padded.expected, 1e-4);
    arena_release(&arena);
}

static void maximum_of_two_with_fixed_sum(void **state)
{
    (void)state;
    static const double mean[2] = {100, 100}, sd[2] = {10, 10};
    double p99, most = load_normal_maximum(mean, sd, 2, &p99);
    near("mean of 100 + |10 z|", most, 107.979, 0.002);
    near("its 99th percentile", p99, 125.76, 0.02);
    near("a part alone with a fixed sum", load_normal_maximum(mean, sd, 1, &p99), 100, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skew_by_three_methods),         cmocka_unit_test(rosen_alone),
        cmocka_unit_test(tightening_is_the_root_law),    cmocka_unit_test(padding_of_samples),
        cmocka_unit_test(maximum_of_two_with_fixed_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
