/* Tiers of a network (cluster.network.leaf, pod): where groups stand, what crosses, by hand. 16
 * nodes of 8, 4 nodes to a leaf, 8 to a pod. Links that join nodes (node.link_devices). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "plan/read/load.h"
#include "sim/step/time.h"
#include "sim/time/comm.h"
#include "support/plans.h"

static const char base[] =
    "model: qwen3-30b-a3b\n"
    "cluster: {base: h100, node: {devices: 8}, nodes: 16,\n"
    "          network: {leaf: {nodes: 4}, pod: {nodes: 8}}}\n"
    "stack: megatron\n"
    "workload: {sequence_length: 4096, micro_batch: 1, global_batch: 256}\n";

#define OVER                                                                                   \
    " cluster.network.leaf.oversubscription=2 cluster.network.pod.oversubscription=3"          \
    " cluster.network.leaf.latency=1us cluster.network.pod.latency=3us"

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12 * fmax(1, fabs(expected)))
        fail_msg("%.15g is not %.15g", got, expected);
}

static struct comm_place placed(const char *set, enum process_group group)
{
    struct arena arena = {0};
    struct plan plan;
    plan_set(base, set, &arena, &plan);
    struct comm_place place = comm_place(&plan, group);
    arena_release(&arena);
    return place;
}

static void groups_stand_on_tiers(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        enum process_group group;
        double ranks, inside, leaf, pod;
    } rows[] = {
        {"parallel.ep=64", GROUP_EP, 64, 8, 32, 64},
        {"parallel.ep=64", GROUP_EDP, 2, 1, 1, 1},
        {"parallel.tp=8 parallel.ep=8", GROUP_TP, 8, 8, 8, 8},
        {"parallel.tp=8 parallel.ep=8", GROUP_DP, 16, 1, 4, 8},
        {"parallel.tp=8 parallel.etp=1 parallel.ep=8 parallel.pp=4", GROUP_PP, 4, 1, 1, 2},
        {"parallel.tp=2 parallel.cp=2 parallel.ep=8", GROUP_DP, 64, 4, 16, 32},
        {"cluster.network.leaf.nodes=0", GROUP_DP, 128, 8, 0, 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct comm_place place = placed(rows[i].set, rows[i].group);
        print_message("%s\n", rows[i].set);
        near(place.ranks, rows[i].ranks);
        near(place.inside, rows[i].inside);
        near(place.tier[NETWORK_LEAF].ranks, rows[i].leaf);
        near(place.tier[NETWORK_POD].ranks, rows[i].pod);
    }
}

/* Half of what leaves a node's 8 ranks leaves the leaf's 32 of 64, (64 - 32) / (64 - 8), at
 * half the rate. A ring of 16 nodes leaves a leaf at one node of 4 and a pod at one of 8, whose
 * links have 1 / 2 and 1 / 6: the links up are less busy than the node's. */
static void the_tier_that_binds_counts(void **state)
{
    (void)state;
    struct comm_place ep = placed("parallel.ep=64" OVER, GROUP_EP),
                      dp = placed("parallel.tp=8 parallel.ep=8" OVER, GROUP_DP),
                      slow = placed("parallel.tp=8 parallel.ep=8"
                                    " cluster.network.pod.oversubscription=20",
                                    GROUP_DP);
    near(comm_crowding(&ep, true), 2 * 32.0 / 56);
    near(comm_crowding(&dp, false), 1);
    near(comm_crowding(&slow, false), 20.0 / 8);
    near(comm_crowding(&slow, true), 20 * 8.0 / 15);
}

static struct rates plain_rates(void)
{
    struct rates rates = {0};
    for (unsigned item = 0; item < PROFILE_ITEMS; item++)
        for (unsigned level = 0; level < PROFILE_LEVELS; level++)
            rates.link[item][level] = (struct link_rates){
                .bytes_per_s = level == PROFILE_SCALE_UP ? 1e9 : 1, .efficiency = {.value = 1}};
    return rates;
}

/* 60 bytes around 16 nodes, one rank each; three leaves and one pod are left on the way.
 * Stages: of 4, one in a leaf and two in a pod, so half of them send up at 1 / 6 of the rate.
 */
static void seconds_by_hand(void **state)
{
    (void)state;
    const struct rates rates = plain_rates();
    const struct comm_place dp = placed("parallel.tp=8 parallel.ep=8" OVER, GROUP_DP),
                            pp = placed(
                                "parallel.tp=8 parallel.etp=1 parallel.ep=8 parallel.pp=4" OVER,
                                GROUP_PP);
    const struct comm_ask gather = {.item = PROFILE_ALL_GATHER, .bytes = 60, .messages = 15},
                          exchange = {.item = PROFILE_ALL_TO_ALL,
                                      .to_all = true,
                                      .bytes = 60,
                                      .messages = 15},
                          send = {.item = PROFILE_SEND, .bytes = 60, .messages = 1};
    near(comm_s(&rates, &dp, &gather), 60 + 3 * 1e-6 + 1 * 3e-6);
    near(comm_s(&rates, &dp, &exchange), 60 * 6 * 8.0 / 15 + 12 * 1e-6 + 8 * 3e-6);
    near(comm_send_s(&rates, &pp, &send), 60 * 6 / 2.0 + 1e-6 + 3e-6);
}

static double step_s(const char *set)
{
    struct arena arena = {0};
    struct plan plan;
    struct profile profile;
    struct time_report time;
    struct err err = {0};
    plan_set(base, set, &arena, &plan);
    if (profile_load(&plan, &arena, &profile, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    const struct time_ask ask = {.profile = &profile};
    if (time_of(&plan, &ask, &arena, &time, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    double s = time.step.step_s;
    arena_release(&arena);
    return s;
}

/* Tiers that keep every device's bandwidth change nothing, narrower ones never hasten a step.
 */
static void a_narrower_network_is_never_faster(void **state)
{
    (void)state;
    static const char *const layouts[] = {"parallel.ep=64", "parallel.ep=8 parallel.pp=4",
                                          "parallel.ep=32 parallel.tp=2"};
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        char set[256];
        snprintf(set, sizeof set, "%s cluster.network.leaf.nodes=0 cluster.network.pod.nodes=0",
                 layouts[l]);
        double before = step_s(set);
        near(step_s(layouts[l]), before);
        for (unsigned over = 2; over <= 32; over *= 2) {
            snprintf(set, sizeof set, "%s cluster.network.pod.oversubscription=%u", layouts[l],
                     over);
            double s = step_s(set);
            assert_true(s >= before);
            before = s;
        }
        snprintf(set, sizeof set, "%s cluster.network.leaf.oversubscription=32", layouts[l]);
        assert_true(step_s(set) > step_s(layouts[l]));
    }
}

static void a_pod_joins_whole_leaves(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    const struct override sets[] = {{"cluster.network.pod.nodes", "6", "--set pod"}};
    assert_int_equal(
        plan_load_text("test", base, sizeof base - 1, sets, 1, &arena, &plan, NULL, &err),
        STATUS_INPUT);
    assert_non_null(strstr(err.text, "cluster.network.leaf.nodes"));
    arena_release(&arena);
}

/* Racks of 72 devices in trays of 4: a job's trays stand evenly in as few as hold them. */
static void links_join_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        uint64_t linked;
        bool more;
    } rows[] = {
        {"cluster=gb200-4x1", 4, false},
        {"cluster=gb200-4x16", 64, true},
        {"cluster=gb200-4x18", 72, true},
        {"cluster=gb200-4x19", 40, true},
        {"cluster=gb200-4x64", 64, true},
        {"cluster=gb300-4x36", 72, true},
        {"cluster=gb200-8x2", 16, true},
        {"cluster=gb200-64x4", 64, false},
        {"cluster=gb200-72x2", 72, false},
        {"cluster=h100-8x8", 8, false},
        {"cluster=gb200-4x18 cluster.node.link_devices=32", 24, true},
        {"cluster=gb200-4x18 cluster.node.link_devices=0", 4, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        char set[128];
        snprintf(set, sizeof set, "%s workload.global_batch=0", rows[i].set);
        plan_set(base, set, &arena, &plan);
        print_message("%s\n", rows[i].set);
        assert_int_equal(plan_linked_devices(&plan), rows[i].linked);
        assert_int_equal(plan_links_nodes(&plan), rows[i].more);
        arena_release(&arena);
    }
}

/* Two ways to say one machine: trays whose links are joined, or a rack as one node. */
static void joined_trays_are_a_rack(void **state)
{
    (void)state;
    static const char *const layouts[] = {
        "parallel.ep=64", "parallel.ep=8 parallel.pp=4", "parallel.ep=32 parallel.tp=4",
        "parallel.ep=16 parallel.tp=2 parallel.pp=2 parallel.zero=3"};
    for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++) {
        char trays[128], racks[128], apart[192];
        snprintf(trays, sizeof trays, "cluster=gb200-4x32 %s", layouts[l]);
        snprintf(racks, sizeof racks, "cluster=gb200-64x2 %s", layouts[l]);
        snprintf(apart, sizeof apart, "%s cluster.node.link_devices=0", trays);
        for (unsigned group = 0; group < GROUP_COUNT; group++) {
            struct comm_place tray = placed(trays, (enum process_group)group),
                              rack = placed(racks, (enum process_group)group);
            assert_true(comm_place_equal(&tray, &rack));
        }
        near(step_s(trays), step_s(racks));
        assert_true(step_s(apart) > step_s(trays));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_stand_on_tiers),
        cmocka_unit_test(the_tier_that_binds_counts),
        cmocka_unit_test(seconds_by_hand),
        cmocka_unit_test(a_narrower_network_is_never_faster),
        cmocka_unit_test(a_pod_joins_whole_leaves),
        cmocka_unit_test(links_join_nodes),
        cmocka_unit_test(joined_trays_are_a_rack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
