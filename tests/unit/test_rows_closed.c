/* Closed forms of the choice of K distinct experts against small cases counted by hand, and
 * against the exact law by enumeration. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "work/rows/rows.h"

/* Chance of each set of experts to be touched, by following every sequence of draws. */
static void enumerate(const double *p, unsigned n, unsigned k, const uint32_t *set_of,
                      unsigned taken, double chance, double *touch, unsigned n_sets)
{
    if (k == 0) {
        for (unsigned s = 0; s < n_sets; s++)
            for (unsigned e = 0; e < n; e++)
                if (taken >> e & 1 && set_of[e] == s) {
                    touch[s] += chance;
                    break;
                }
        return;
    }
    double left = 0;
    for (unsigned e = 0; e < n; e++)
        left += taken >> e & 1 ? 0 : p[e];
    for (unsigned e = 0; e < n; e++)
        if (!(taken >> e & 1))
            enumerate(p, n, k - 1, set_of, taken | 1u << e, chance * p[e] / left, touch,
                      n_sets);
}

static void quadrature_is_the_exact_law(void **state)
{
    (void)state;
    static const double alphas[] = {0, 0.5, 1, 2, 4};
    static const uint32_t own[8] = {0, 1, 2, 3, 4, 5, 6, 7},
                          pairs[8] = {0, 1, 2, 3, 0, 1, 2, 3};
    for (size_t a = 0; a < sizeof alphas / sizeof *alphas; a++)
        for (unsigned k = 1; k <= 5; k++) {
            struct arena arena = {0};
            double p[8], sum = 0, want[8] = {0}, got[8], want2[4] = {0}, got2[4];
            for (int e = 0; e < 8; e++)
                sum += p[e] = pow(e + 1, -alphas[a]);
            for (int e = 0; e < 8; e++)
                p[e] /= sum;
            enumerate(p, 8, k, own, 0, 1, want, 8);
            enumerate(p, 8, k, pairs, 0, 1, want2, 4);
            rows_touch(p, 8, k, own, 8, got);
            rows_touch(p, 8, k, pairs, 4, got2);
            for (int e = 0; e < 8; e++)
                if (fabs(got[e] - want[e]) > 2e-5)
                    fail_msg("alpha %g k %u expert %d: %.8f, exact %.8f", alphas[a], k, e,
                             got[e], want[e]);
            for (int s = 0; s < 4; s++)
                assert_true(fabs(got2[s] - want2[s]) < 2e-5);
            arena_release(&arena);
        }
}

/* Rosen's relation is an approximation: within 4.5 % even for strong skew. */
static void rosen_is_close(void **state)
{
    (void)state;
    struct arena arena = {0};
    for (double alpha = 0; alpha <= 2; alpha += 0.5) {
        double p[64], pi[64], exact[64], sum = 0, total = 0;
        uint32_t own[64];
        for (int e = 0; e < 64; e++)
            sum += p[e] = pow(e + 1, -alpha);
        for (uint32_t e = 0; e < 64; e++) {
            p[e] /= sum;
            own[e] = e;
        }
        rows_rosen(p, 64, 6, pi);
        rows_touch(p, 64, 6, own, 64, exact);
        for (int e = 0; e < 64; e++) {
            total += pi[e];
            assert_true(fabs(pi[e] / exact[e] - 1) < 0.045);
        }
        assert_true(fabs(total - 6) < 1e-9);
    }
    arena_release(&arena);
}

/* buffers.md 1.1: expected distinct ranks of DeepSeek-V3, u(G) = G q(G). */
static void distinct_destinations(void **state)
{
    (void)state;
    static const struct {
        uint64_t ranks;
        double distinct;
    } cases[] = {{2, 1.993020},  {4, 3.614214},  {8, 5.294652},   {16, 6.523280},
                 {32, 7.266800}, {64, 7.675750}, {128, 7.890196}, {256, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double u = (double)cases[i].ranks * rows_touch_uniform(256, 8, 256 / cases[i].ranks);
        assert_true(fabs(u - cases[i].distinct) < 5e-7);
    }
    assert_true(fabs(rows_touch_uniform(64, 6, 8) - 0.56694) < 5e-6);
    assert_true(fabs(rows_touch_uniform(128, 4, 8) - 0.22998) < 5e-6);
    assert_true(fabs(rows_touch_uniform(256, 8, 4) - 0.11993) < 5e-6);
}

static void hajek_sums_to_a_fixed_size(void **state)
{
    (void)state;
    double pi[16], d[16];
    for (int e = 0; e < 16; e++)
        pi[e] = 4.0 / 16;
    double sum = rows_hajek(pi, 16, d);
    /* uniform: variance pi (1 - pi), covariance -pi (1 - pi) / (E - 1) */
    assert_true(fabs(d[0] - d[0] * d[0] / sum - 0.1875) < 1e-9);
    assert_true(fabs(d[0] * d[1] / sum - 0.1875 / 15) < 1e-9);
}

/* buffers.md 1.2 */
static void worst_cases(void **state)
{
    (void)state;
    struct rows_ceilings eight = rows_ceilings(4096, 8, 8, 32),
                         sixtyfour = rows_ceilings(4096, 64, 8, 4);
    assert_int_equal(eight.tokens, 32768);
    assert_int_equal(eight.rows, 262144);
    assert_int_equal(eight.loose, 262144);
    assert_int_equal(sixtyfour.rows, 1048576);
    assert_int_equal(sixtyfour.loose, 2097152);
    assert_true(rows_ceilings(UINT64_MAX, 8, 8, 8).rows == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quadrature_is_the_exact_law),
        cmocka_unit_test(rosen_is_close),
        cmocka_unit_test(distinct_destinations),
        cmocka_unit_test(hajek_sums_to_a_fixed_size),
        cmocka_unit_test(worst_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
