/* Prompts and answers on deployments of their own: rates, ratio, transfer, by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "sim/serve/serve.h"
#include "sim/serve/serve_apart.h"
#include "sim/time/comm.h"

static void assert_within(double found, double expected, double part)
{
    if (!(fabs(found - expected) <= part * fabs(expected)))
        fail_msg("%.12g, expected %.12g within %g", found, expected, part);
}

/* A decode step of n sequences: 10 ms and 0.1 ms for each; 1 ms a prompt token. */
static const struct step_costs costs = {
    .decode = {.n = 2, .x = {0, 100}, .y = {0.01, 0.02}},
    .prefill = {.n = 2, .x = {1, 1000}, .y = {0.001, 1}},
};

static struct serve_apart apart_of(const char *workload, const char *cluster,
                                   uint64_t sequences)
{
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    const char *text = arena_printf(&arena,
                                    "model: deepseek-v3\ncluster: {base: h200-8x2, network: "
                                    "{bandwidth: %s, latency: 0 s}}\nstack: vllm\n"
                                    "parallel: {ep: 16}\nworkload: {mode: serve, %s}\n",
                                    cluster, workload);
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    const struct serve_load load = {.replicas = 16, .sequences = sequences};
    const struct serve_apart_side side = {&plan, &load, &costs, 0};
    const struct serve_apart_ask ask = {side, side, plan.workload.deployments.prefill,
                                        plan.workload.deployments.decode};
    struct serve_apart apart;
    serve_apart_of(&ask, &apart);
    arena_release(&arena);
    return apart;
}

/* 16 replicas prefill 1000 tokens a second each: 32 requests of 500; 100 sequences each at
 * 20 ms a token answer 101 tokens in 2 s: 800 requests a second. So 25 prefill for each that
 * decodes; of at most 16, 15 and 1. A token's cache is 61 x 576 x 2 bytes on each rank. */
static void rates_follow_from_full_steps(void **state)
{
    (void)state;
    struct serve_apart a = apart_of("input_length: 500, output_length: 101", "100 GB/s", 100);
    double bytes = 61.0 * 576 * 2 * 500;
    assert_true(a.present);
    assert_within(a.prefill_per_s, 32, 1e-12);
    assert_within(a.decode_per_s, 800, 1e-12);
    assert_within(a.prefill_per_decode, 25, 1e-12);
    assert_within(a.link_per_s, 16 * 100e9 / bytes, 1e-12);
    assert_int_equal(a.prefill, 15);
    assert_int_equal(a.decode, 1);
    assert_string_equal(a.limited_by, "prefill");
    assert_within(a.requests_per_s, 15 * 32, 1e-12);
    assert_within(a.tokens_per_s_per_device, 15 * 32 * 101 / (16.0 * 16), 1e-12);
    assert_int_equal(a.cache_bytes, (uint64_t)bytes);
    assert_within(a.tpot_s, 0.02, 1e-12);
}

/* All but the last layer's part is sent while 0.5 s are computed; over a slow link the rest is
 * seen, and the link decides how many requests there are. */
static void transfers_hide_behind_later_layers(void **state)
{
    (void)state;
    static const char lengths[] = "input_length: 500, output_length: 101";
    double bytes = 61.0 * 576 * 2 * 500, fast = bytes / 100e9, slow = bytes / 20e6;
    struct serve_apart a = apart_of(lengths, "100 GB/s", 100);
    assert_within(a.transfer_s, fast, 1e-12);
    assert_within(a.exposed_s, fast / 61, 1e-12);
    assert_within(a.ttft_s, 0.5 + fast / 61, 1e-12);
    struct serve_apart b = apart_of(lengths, "20 MB/s", 100);
    assert_within(b.transfer_s, slow, 1e-12);
    assert_within(b.exposed_s, slow - 0.5 * 60 / 61, 1e-12);
    assert_within(b.ttft_s, 0.5 + b.exposed_s, 1e-12);
    assert_string_equal(b.limited_by, "link");
    assert_int_equal(b.prefill, 1); /* as many send as receive */
    assert_int_equal(b.decode, 1);
    assert_within(b.requests_per_s, 16 * 20e6 / bytes, 1e-12);
    assert_within(b.receive_per_s, b.link_per_s, 1e-12);
}

/* Long answers are bound by decode: 10,001 tokens take 200 s, 8 requests a second; one
 * deployment prefills for four. A limit of 15 ms leaves 50 sequences of 100, one below the
 * least step none. */
static void limits_take_sequences_away(void **state)
{
    (void)state;
    struct serve_apart a = apart_of("input_length: 500, output_length: 10001", "100 GB/s", 100);
    assert_within(a.decode_per_s, 8, 1e-12);
    assert_int_equal(a.prefill, 1);
    assert_int_equal(a.decode, 4);
    assert_within(a.requests_per_s, 32, 1e-12);
    struct serve_apart b = apart_of(
        "input_length: 500, output_length: 10001, limit: {tpot: 15 ms}", "100 GB/s", 100);
    assert_int_equal(b.sequences, 50);
    assert_within(b.decode_per_s, 16 * 50 / 150.0, 1e-9);
    struct serve_apart c = apart_of(
        "input_length: 500, output_length: 10001, limit: {tpot: 5 ms}", "100 GB/s", 100);
    assert_false(c.present);
}

/* A leaf of two nodes is a deployment: all of a cache leaves it, where devices share a third of
 * their bandwidth, and 5 us later. A leaf of eight joins four: of 16 deployments 12 of the 15
 * others stand beyond it, 12 / 15 x 3 = 2.4 times as long, of five one of four, 1 / 4 x 3 < 1.
 */
static void leaves_between_deployments_count(void **state)
{
    (void)state;
    static const char lengths[] =
        "input_length: 500, output_length: 101, deployments: {prefill: 15, decode: 1}";
    static const char five[] =
        "input_length: 500, output_length: 101, deployments: {prefill: 4, decode: 1}";
    double slow = 61.0 * 576 * 2 * 500 / 20e6;
    struct serve_apart none = apart_of(lengths, "20 MB/s", 100);
    struct serve_apart own =
        apart_of(lengths, "20 MB/s, leaf: {nodes: 2, oversubscription: 3, latency: 5 us}", 100);
    assert_int_equal(own.prefill, 15);
    assert_within(own.transfer_s, 3 * slow + 5e-6, 1e-12);
    assert_within(own.link_per_s, none.link_per_s / 3, 1e-12);
    assert_within(own.exposed_s, own.transfer_s - 0.5 * 60 / 61, 1e-12);
    struct serve_apart most =
        apart_of(lengths, "20 MB/s, leaf: {nodes: 8, oversubscription: 3, latency: 5 us}", 100);
    assert_within(most.transfer_s, 2.4 * slow + 5e-6, 1e-12);
    struct serve_apart four =
        apart_of(five, "20 MB/s, leaf: {nodes: 8, oversubscription: 3, latency: 5 us}", 100);
    assert_within(four.transfer_s, slow + 5e-6, 1e-12);
}

/* What the plan says of one pool leaves the other to the balance: 100 that prefill bring 3,200
 * requests a second, which four answer; one that decodes takes what 25 bring. */
static void numbers_of_one_pool_ask_for_the_other(void **state)
{
    (void)state;
    struct serve_apart a = apart_of(
        "input_length: 500, output_length: 101, deployments: {prefill: 100}", "100 GB/s", 100);
    assert_int_equal(a.decode, 4);
    assert_string_equal(a.limited_by, "decode");
    assert_within(a.prefill_busy, 1, 1e-12);
    struct serve_apart b = apart_of(
        "input_length: 500, output_length: 101, deployments: {decode: 1}", "100 GB/s", 100);
    assert_int_equal(b.prefill, 25);
    struct serve_apart c =
        apart_of("input_length: 500, output_length: 101, deployments: {prefill: 2, decode: 3}",
                 "100 GB/s", 100);
    assert_string_equal(c.limited_by, "prefill");
    assert_within(c.requests_per_s, 64, 1e-12);
    assert_within(c.decode_busy, 64 / 2400.0, 1e-12);
    assert_within(c.tokens_per_s_per_device, 64 * 101 / (5 * 16.0), 1e-12);
}

/* ---- requests in flight ---- */

static struct serve_closed closed_of(const char *numbers, double in_flight)
{
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    const char *text = arena_printf(
        &arena,
        "model: deepseek-v3\ncluster: {base: h200-8x2, network: {bandwidth: 1e18 B/s, "
        "latency: 0 s}}\nstack: vllm\nparallel: {ep: 16}\nworkload: {mode: serve, "
        "input_length: 500, output_length: 101, deployments: {%s}}\n",
        numbers);
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    const struct serve_load load = {.replicas = 16, .sequences = 100};
    const struct serve_apart_side side = {&plan, &load, &costs, 0};
    const struct serve_apart_ask ask = {side, side, plan.workload.deployments.prefill,
                                        plan.workload.deployments.decode};
    struct serve_apart apart;
    struct serve_closed closed;
    serve_apart_of(&ask, &apart);
    serve_apart_closed(&ask, &apart, in_flight, &closed);
    arena_release(&arena);
    return closed;
}

/* One that decodes, many that prefill: 16 replicas of 50 sequences make a token in 15 ms and
 * end 16 x 50 / 1.5 s = 533 1/3 requests a second; 0.5 s each are in prefill: 266 2/3 more. So
 * 1,066 2/3 in flight keep 50 of 100 places. */
static void few_in_flight_leave_places_empty(void **state)
{
    (void)state;
    struct serve_closed c = closed_of("prefill: 100, decode: 1", 3200 / 3.0);
    assert_within(c.sequences, 50, 1e-6);
    assert_within(c.tpot_s, 0.015, 1e-6);
    assert_within(c.requests_per_s, 1600 / 3.0, 1e-6);
    assert_within(c.ttft_s, 0.5, 1e-6);
    assert_string_equal(c.limited_by, "requests");
}

/* All places are taken by 1,600, 800 requests a second are in prefill, 400 at a time; of 4,000
 * the other 2,000 wait 2.5 s for a place. */
static void more_than_decode_holds_wait(void **state)
{
    (void)state;
    struct serve_closed c = closed_of("prefill: 100, decode: 1", 4000);
    assert_within(c.sequences, 100, 1e-9);
    assert_within(c.requests_per_s, 800, 1e-9);
    assert_within(c.waiting, 2000, 1e-6);
    assert_within(c.ttft_s, 3, 1e-6);
    assert_string_equal(c.limited_by, "decode");
}

/* Two that prefill bring 64 a second: 16 n / (100 tpot(n)) is that at n = 4 / 0.96, tpot 10 ms
 * and 0.1 n; 66 2/3 are in decode, 32 in prefill, the rest of 1,000 waits for one. */
static void few_that_prefill_make_others_wait(void **state)
{
    (void)state;
    struct serve_closed c = closed_of("prefill: 2, decode: 1", 1000);
    double n = 4 / 0.96;
    assert_within(c.sequences, n, 1e-6);
    assert_within(c.requests_per_s, 64, 1e-6);
    assert_within(c.waiting, 1000 - 16 * n - 32, 1e-6);
    assert_within(c.ttft_s, 0.5 + (1000 - 16 * n - 32) / 64, 1e-6);
    assert_string_equal(c.limited_by, "prefill");
}

static void a_cache_goes_to_any_other_deployment(void **state)
{
    (void)state;
    struct plan plan = {.cluster.nodes = 2};
    plan.cluster.network.tier[NETWORK_LEAF] = (struct network_tier){8, 3, 5e-6};
    struct comm_place place = comm_place_deployments(&plan, 16);
    assert_within(place.tier[NETWORK_LEAF].ranks, 4, 0);
    assert_within(comm_crowding(&place, true), 2.4, 1e-12);
    assert_within(comm_beyond_s(&place), 5e-6, 0);
    place = comm_place_deployments(&plan, 4);
    assert_within(comm_crowding(&place, true), 1, 0);
    assert_within(comm_beyond_s(&place), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_follow_from_full_steps),
        cmocka_unit_test(transfers_hide_behind_later_layers),
        cmocka_unit_test(limits_take_sequences_away),
        cmocka_unit_test(leaves_between_deployments_count),
        cmocka_unit_test(numbers_of_one_pool_ask_for_the_other),
        cmocka_unit_test(few_in_flight_leave_places_empty),
        cmocka_unit_test(more_than_decode_holds_wait),
        cmocka_unit_test(few_that_prefill_make_others_wait),
        cmocka_unit_test(a_cache_goes_to_any_other_deployment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
