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
    const struct serve_apart_ask ask = {&plan, &load, &costs, 0};
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
    assert_within(b.requests_per_s, (double)b.prefill * 16 * 20e6 / bytes, 1e-12);
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
 * others stand beyond it, 12 / 15 x 3 = 2.4 times as long, of five one of four, 1 / 4 x 3 < 1:
 * where the link decides, four and one do more for each device than fifteen and one. */
static void leaves_between_deployments_count(void **state)
{
    (void)state;
    static const char lengths[] = "input_length: 500, output_length: 101";
    double slow = 61.0 * 576 * 2 * 500 / 20e6;
    struct serve_apart none = apart_of(lengths, "20 MB/s", 100);
    struct serve_apart own =
        apart_of(lengths, "20 MB/s, leaf: {nodes: 2, oversubscription: 3, latency: 5 us}", 100);
    assert_int_equal(own.prefill, 15);
    assert_within(own.transfer_s, 3 * slow + 5e-6, 1e-12);
    assert_within(own.link_per_s, none.link_per_s / 3, 1e-12);
    assert_within(own.exposed_s, own.transfer_s - 0.5 * 60 / 61, 1e-12);
    struct serve_apart four =
        apart_of(lengths, "20 MB/s, leaf: {nodes: 8, oversubscription: 3, latency: 5 us}", 100);
    assert_int_equal(four.prefill, 4);
    assert_int_equal(four.decode, 1);
    assert_within(four.transfer_s, slow + 5e-6, 1e-12);
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
        cmocka_unit_test(a_cache_goes_to_any_other_deployment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
