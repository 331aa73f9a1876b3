/* Requests that arrive at a rate: the queue's known answers where service is constant, its
 * ends (a request alone, a full house), and the fewest deployments that keep a limit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "sim/serve/scheduler.h"
#include "support/played.h"

static void assert_within(double found, double expected, double part)
{
    if (!(fabs(found - expected) <= part * fabs(expected)))
        fail_msg("%.12g, expected %.12g within %g", found, expected, part);
}

/* ---- the queue ---- */

/* One at a time, each 0.1 s: M/D/1. The mean wait is rho S / (2 (1 - rho)) (Pollaczek and
 * Khinchine), nobody waits with probability 1 - rho, and no longer than t <= S with
 * (1 - rho) exp(lambda t) (Erlang). */
static void one_at_a_time_is_an_m_d_1_queue(void **state)
{
    (void)state;
    static const double loads[] = {0.2, 0.5, 0.8};
    for (int batching = 0; batching < 3; batching++)
        for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
            struct arena arena = {0};
            struct scheduler_result r;
            double rho = loads[i], sum = 0, at_once = 0, soon = 0;
            const struct scheduler_ask ask = {.batching = (enum batching)batching,
                                              .replicas = 1,
                                              .slots = 1,
                                              .budget = 1000,
                                              .requests = 200000,
                                              .first = 2000,
                                              .rate = rho / 0.1,
                                              .input = 100,
                                              .output = 1,
                                              .seed = 5,
                                              .costs = &played_costs};
            scheduler_play(&ask, &arena, &r);
            for (size_t k = 0; k < r.n; k++) {
                sum += r.ttft_s[k] - 0.1;
                at_once += r.ttft_s[k] <= 0.1 + 1e-9;
                soon += r.ttft_s[k] <= 0.15;
            }
            double n = (double)r.n;
            assert_within(sum / n, rho * 0.1 / (2 * (1 - rho)), 0.04);
            assert_within(at_once / n, 1 - rho, 0.02);
            assert_within(soon / n, (1 - rho) * exp(rho * 0.5), 0.02);
            arena_release(&arena);
        }
}

/* Requests per second between the slots' first round and the last whole one. */
static double answered(const struct scheduler_ask *ask)
{
    struct arena arena = {0};
    struct scheduler_result r;
    size_t slots = (size_t)(ask->slots * ask->replicas);
    scheduler_play(ask, &arena, &r);
    size_t last = r.n / slots * slots - 2 * slots;
    double s = r.ends_s[last - 1] - r.ends_s[slots - 1];
    arena_release(&arena);
    return (double)(last - slots) / s;
}

/* Where more arrive than are answered, as many are as in a closed loop with a full queue. */
static void saturation_is_the_closed_loop(void **state)
{
    (void)state;
    for (int batching = 0; batching < 3; batching++)
        for (uint64_t replicas = 1; replicas <= 4; replicas *= 2) {
            struct scheduler_ask ask = {.batching = (enum batching)batching,
                                        .replicas = replicas,
                                        .slots = 8,
                                        .budget = 300,
                                        .requests = 4000 * replicas,
                                        .in_flight = 16 * replicas,
                                        .input = 50,
                                        .output = 64,
                                        .spread = 0.5,
                                        .seed = 7,
                                        .costs = &played_costs};
            double closed = answered(&ask);
            ask.in_flight = 0;
            ask.rate = 3 * closed;
            assert_within(answered(&ask), closed, 0.02);
        }
}

/* The same seed, the same requests; as many leave as arrive. */
static void arrivals_are_the_same_for_a_seed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_ask ask = {.batching = BATCHING_MIXED,
                                .replicas = 2,
                                .slots = 8,
                                .budget = 300,
                                .requests = 2000,
                                .first = 200,
                                .rate = 5,
                                .input = 50,
                                .output = 64,
                                .spread = 0.5,
                                .seed = 7,
                                .costs = &played_costs};
    struct scheduler_result a, b, other;
    scheduler_play(&ask, &arena, &a);
    scheduler_play(&ask, &arena, &b);
    ask.seed = 8;
    scheduler_play(&ask, &arena, &other);
    assert_int_equal(a.n, 2000);
    assert_memory_equal(a.ttft_s, b.ttft_s, a.n * sizeof *a.ttft_s);
    assert_memory_equal(a.latency_s, b.latency_s, a.n * sizeof *a.latency_s);
    assert_memory_not_equal(a.latency_s, other.latency_s, a.n * sizeof *a.latency_s);
    assert_within((double)a.n / (a.ends_s[a.n - 1] - a.ends_s[0]), 5, 0.08);
    arena_release(&arena);
}

/* ---- plans ---- */

static struct serve_times times_of(const char *workload)
{
    struct arena arena = {0};
    struct plan plan;
    struct profile profile;
    struct prediction prediction;
    struct err err = {0};
    const char *text =
        arena_printf(&arena,
                     "model: gpt-oss-120b\ncluster: h100-2x1\nstack: vllm\n"
                     "parallel: {tp: 2, ep: 1}\n"
                     "workload: {mode: serve, input_length: 1024, output_length: 128, %s}\n",
                     workload);
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err) ||
        profile_load(&plan, &arena, &profile, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    struct time_ask ask = {.profile = &profile};
    const struct predict_options options = {.time = &ask};
    if (predict(&plan, &options, &arena, &prediction, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    struct serve_times times = prediction.time.serving;
    if (plan.workload.request_rate > 0)
        assert_string_equal(prediction.notes[prediction.n_notes - 1].key,
                            "workload.request_rate");
    arena_release(&arena);
    return times;
}

/* A request a day is alone; so is one at a time. */
static void few_arrivals_are_one_request_alone(void **state)
{
    (void)state;
    struct serve_times alone = times_of("concurrency: 1"),
                       rare = times_of("request_rate: 0.00001");
    assert_within(rare.ttft_s, alone.ttft_s, 1e-6);
    assert_within(rare.ttft_p99_s, alone.ttft_p99_s, 1e-6);
    assert_within(rare.tpot_s, alone.tpot_s, 1e-6);
    assert_within(rare.latency_p99_s, alone.latency_p99_s, 1e-6);
    assert_string_equal(rare.queue, "stable");
    assert_null(alone.queue);
}

/* The capacity is what a full closed loop answers; above it nothing is said of latencies. */
static void capacity_is_a_full_closed_loop(void **state)
{
    (void)state;
    struct serve_times full = times_of("concurrency: 2048, max_num_seqs: 64"),
                       below = times_of("request_rate: 5, max_num_seqs: 64"),
                       above = times_of("request_rate: 500, max_num_seqs: 64");
    assert_within(below.capacity_per_s, full.requests_per_s, 0.02);
    assert_within(below.utilization, 5 / below.capacity_per_s, 1e-12);
    assert_within(below.requests_per_s, 5, 1e-12);
    assert_string_equal(above.queue, "overloaded");
    assert_within(above.requests_per_s, above.capacity_per_s, 1e-12);
    assert_true(isinf(above.ttft_s) && isinf(above.tpot_s) && isinf(above.latency_p99_s));
    assert_int_equal(above.deployments, (int)(500 / above.capacity_per_s) + 1);
}

/* The fewest deployments keep the limit, one fewer does not; a limit below what a request
 * alone needs is kept by none. */
static void deployments_are_the_fewest(void **state)
{
    (void)state;
    static const char limits[] = "limit: {ttft: 150 ms, tpot: 8 ms, share: 0.95}";
    struct arena arena = {0};
    struct serve_times all =
        times_of(arena_printf(&arena, "request_rate: 60, max_num_seqs: 64, %s", limits));
    assert_true(all.deployments > 2);
    for (uint64_t less = 0; less < 2; less++) {
        struct serve_times part =
            times_of(arena_printf(&arena, "request_rate: %.17g, max_num_seqs: 64, %s",
                                  60 / (double)(all.deployments - less), limits));
        assert_true((part.within >= 0.95) == !less);
        assert_within(part.goodput_per_s, part.within * part.requests_per_s, 1e-12);
    }
    struct serve_times none = times_of("request_rate: 60, limit: {ttft: 1 ms}");
    assert_int_equal(none.deployments, 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time_is_an_m_d_1_queue),
        cmocka_unit_test(saturation_is_the_closed_loop),
        cmocka_unit_test(arrivals_are_the_same_for_a_seed),
        cmocka_unit_test(few_arrivals_are_one_request_alone),
        cmocka_unit_test(capacity_is_a_full_closed_loop),
        cmocka_unit_test(deployments_are_the_fewest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
