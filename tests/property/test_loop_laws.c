/* Little's law of closed loops, on every recorded plan of a deployment: as many requests are in
 * flight as a second brings times the seconds that one is, from when it is sent. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/csv.h"
#include "plan/derive.h"
#include "sim/step/time.h"
#include "support/draws.h"
#include "support/served.h"

struct counts {
    unsigned closed, alone, even;
};

static void require(bool holds, const char *text, const char *law, double found,
                    double expected)
{
    if (!holds)
        fail_msg("%s: %s: %.12g, expected %.12g", text, law, found, expected);
}

static bool near(double found, double expected)
{
    return fabs(found - expected) <= 1e-9 * fabs(expected);
}

/* Requests of one length are all alike where one is in flight, and each says as many tokens. */
static void check(const char *text, const struct plan *plan, const struct serve_times *t,
                  struct counts *counts)
{
    const struct workload *w = &plan->workload;
    double in_flight = t->requests_per_s * t->latency_mean_s, n = (double)w->concurrency;
    double said = t->requests_per_s * (double)w->output_length;
    bool even = w->length_spread <= 0, alone = even && w->concurrency == 1;
    require(near(in_flight, n), text, "rate times latency", in_flight, n);
    if (alone)
        require(near(t->latency_mean_s, t->latency_s), text, "the only latency",
                t->latency_mean_s, t->latency_s);
    if (alone && w->output_length == 1)
        require(near(t->latency_mean_s, t->ttft_s), text, "the only token", t->latency_mean_s,
                t->ttft_s);
    if (even && w->role == DUTY_ALL)
        require(near(t->tokens_per_s, said), text, "tokens a second", t->tokens_per_s, said);
    counts->closed++;
    counts->alone += alone;
    counts->even += even;
}

static void check_text(const char *text, struct counts *counts)
{
    struct arena arena = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    struct time_report *time = arena_alloc(&arena, 1, sizeof *time);
    struct profile profile;
    struct err err = {0};
    *plan = load_text(text, &arena);
    const struct time_ask ask = {.profile = &profile};
    bool closed = plan->workload.mode == MODE_SERVE && !plan_arrives(plan) && !plan->prefill;
    if (closed && profile_load(plan, &arena, &profile, &err) == STATUS_OK &&
        time_of(plan, &ask, &arena, time, &err) == STATUS_OK && time->serving.present)
        check(text, plan, &time->serving, counts);
    arena_release(&arena);
}

static void flight_is_rate_times_latency(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct counts counts = {0};
    struct err err = {0};
    struct csv csv;
    assert_int_equal(csv_read("tests/corpus/served.csv", &arena, &csv, &err), STATUS_OK);
    for (size_t row = 0; row < csv.n_rows; row++)
        if (strcmp(csv_cell(&csv, row, "status"), "ok") == 0)
            check_text(csv_cell(&csv, row, "plan"), &counts);
    arena_release(&arena);
    print_message("%u closed loops, %u of one request, %u of one length\n", counts.closed,
                  counts.alone, counts.even);
    assert_true(counts.closed > 50 && counts.alone > 3);
}

/* Alone, at two rates of arrival at the engine, answers of one token: the case in which a
 * request's way to the scheduler counts most. */
static void the_way_to_the_engine_is_in_the_loop(void **state)
{
    (void)state;
    struct counts counts = {0};
    check_text("{model: gpt-oss-120b, cluster: h100-2x1, stack: vllm, parallel: {tp: 2}, "
               "workload: {mode: serve, concurrency: 1, input_length: 8192, output_length: 1}}",
               &counts);
    check_text(
        "{model: gpt-oss-120b, cluster: h100-2x1, stack: vllm, parallel: {tp: 2}, "
        "workload: {mode: serve, concurrency: 1, input_length: 1024, output_length: 64}}",
        &counts);
    assert_int_equal(counts.alone, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flight_is_rate_times_latency),
        cmocka_unit_test(the_way_to_the_engine_is_in_the_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
