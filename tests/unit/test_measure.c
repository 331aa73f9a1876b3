/* Spreads of samples: median, percentile, and the interval from order statistics; and what is
 * read of the machine between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exec/measure.h"

/* P(B < j) <= 2.5 % for n coins, from the binomial table: the j-th smallest and largest of n
 * samples enclose the median. n = 5: 1/32 > 2.5 %, no interval, the extremes are shown. */
static void interval_is_that_of_order_statistics(void **state)
{
    (void)state;
    static const struct {
        size_t n, low, high; /* samples are 1 .. n */
    } cases[] = {{1, 1, 1}, {5, 1, 5},   {6, 1, 6},   {8, 1, 8},
                 {9, 2, 8}, {20, 6, 15}, {64, 24, 41}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double samples[64];
        for (size_t k = 0; k < cases[i].n; k++)
            samples[k] = (double)(cases[i].n - k); /* unsorted */
        struct spread spread = measure_spread(samples, cases[i].n);
        if (spread.low_s != (double)cases[i].low || spread.high_s != (double)cases[i].high)
            fail_msg("n %zu: [%g, %g], expected [%zu, %zu]", cases[i].n, spread.low_s,
                     spread.high_s, cases[i].low, cases[i].high);
    }
}

static void percentiles_interpolate(void **state)
{
    (void)state;
    double samples[] = {4, 1, 3, 2};
    struct spread spread = measure_spread(samples, 4);
    assert_true(spread.p50_s == 2.5);
    assert_true(spread.p99_s > 3.96 && spread.p99_s < 3.98); /* 1 + 0.99 * 3 = 3.97 */
}

static void inputs_and_looks_are_not_work(void **state)
{
    (void)state;
    assert_false(measure_is_work(&(struct op){.kernel = KERNEL_FILL}));
    assert_false(measure_is_work(&(struct op){.kernel = KERNEL_RESULT}));
    assert_true(measure_is_work(&(struct op){.kernel = KERNEL_GEMM}));
}

static void a_gauge_reads_at_most_a_tenth_of_the_time(void **state)
{
    (void)state;
    struct session session = {0};
    struct err err = {0};
    struct gauge gauge;
    const struct session_options options = {
        .transport = TRANSPORT_LOCAL, .ranks = 1, .workers = 2};
    assert_int_equal(session_open(&session, &options, &err), STATUS_OK);
    assert_true(gauge_open(&gauge, &session));
    assert_true(gauge_rate(&gauge) == 0);
    gauge_read(&gauge, true);
    gauge_read(&gauge, true);
    gauge_read(&gauge, false); /* right behind one */
    assert_int_equal(gauge.n, 2);
    gauge.began_s = gauge.ended_s; /* one that took no time */
    gauge_read(&gauge, false);
    assert_int_equal(gauge.n, 3);
    double rate = gauge_rate(&gauge);
    assert_true(rate > 0 && rate == gauge.rates[1]);
    assert_true(gauge.rates[0] <= rate && rate <= gauge.rates[2]);
    gauge_close(&gauge);
    session_close(&session);
}

static void without_a_gauge_nothing_is_read(void **state)
{
    (void)state;
    gauge_read(NULL, true);
    assert_true(gauge_rate(NULL) == 0);
    gauge_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_is_that_of_order_statistics),
        cmocka_unit_test(percentiles_interpolate),
        cmocka_unit_test(inputs_and_looks_are_not_work),
        cmocka_unit_test(a_gauge_reads_at_most_a_tenth_of_the_time),
        cmocka_unit_test(without_a_gauge_nothing_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
