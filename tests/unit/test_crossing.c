/* What routing puts on links: matrices by hand, sampled ones against what ranks perform, and
 * Gaussian steps against sampled ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/derive.h"
#include "sim/moe/demand.h"
#include "sim/moe/route.h"
#include "sim/step/time.h"
#include "sim/time/comm.h"
#include "support/random_plan.h"

static void assert_within(double found, double expected, double part)
{
    if (!(fabs(found - expected) <= part * fabs(expected)))
        fail_msg("%.12g, expected %.12g within %g", found, expected, part);
}

/* ---- by hand ---- */

enum { RANKS = 4 };

/* Units from each rank to each: two ranks in a node. */
static const uint64_t pairs[RANKS][RANKS] = {
    {5, 3, 2, 0}, {1, 4, 0, 6}, {7, 2, 3, 1}, {0, 8, 2, 5}};

/* `other`: tokens of each source for the other node, or NULL. Its own crosses nothing. */
static void add_pairs(struct crossing *crossing, const uint64_t *other)
{
    for (uint64_t s = 0; s < RANKS; s++) {
        for (uint64_t d = 0; d < RANKS; d++)
            crossing->sent[d] += pairs[s][d];
        crossing->reached[1 - s / 2] += other ? other[s] : 0;
        crossing->reached[s / 2] += other ? other[s] : 0;
        crossing_add(crossing, s);
        for (uint64_t d = 0; d < RANKS; d++)
            assert_int_equal(crossing->sent[d] + crossing->reached[d], 0);
    }
}

/* Inside the nodes rank 0 sends 3 and rank 1 gets them. Rank 1 gets 2 + 8 from the other node,
 * more than rank 2's 9 that are sent. A node under a leaf of its own sends 9 + 8 from two
 * ranks.
 */
static void ranks_send_and_receive(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct crossing crossing;
    double most[CROSSING_LEVELS];
    const struct crossing_map map = {
        .ranks = RANKS, .per_node = 2, .joined = {2, RANKS}, .rows = true};
    crossing_init(&map, &arena, &crossing);
    add_pairs(&crossing, NULL);
    crossing_most(&crossing, most);
    assert_within(most[CROSSING_UP], 3, 0);
    assert_within(most[CROSSING_OUT], 10, 0);
    assert_within(most[CROSSING_TIER + NETWORK_LEAF], 17 / 2.0, 0);
    assert_within(most[CROSSING_TIER + NETWORK_POD], 0, 0);
    arena_release(&arena);
}

/* Tokens for the other node: 2, 6, 8 (of which one goes to both its ranks) and 8; each arrives
 * at the rank of the sender's place. Rank 0 copies on 3 of its own and 2 of rank 2's to rank 1,
 * the most of any. */
static void a_node_gets_a_token_once(void **state)
{
    (void)state;
    static const uint64_t other[RANKS] = {2, 6, 8, 8};
    struct arena arena = {0};
    struct crossing crossing;
    double most[CROSSING_LEVELS];
    const struct crossing_map map = {
        .ranks = RANKS, .per_node = 2, .joined = {2, RANKS}, .once = true};
    crossing_init(&map, &arena, &crossing);
    add_pairs(&crossing, other);
    crossing_most(&crossing, most);
    assert_within(most[CROSSING_UP], 5, 0);
    assert_within(most[CROSSING_OUT], 8, 0);
    assert_within(most[CROSSING_TIER + NETWORK_LEAF], 16 / 2.0, 0);
    crossing_clear(&crossing);
    crossing_most(&crossing, most);
    assert_within(most[CROSSING_UP] + most[CROSSING_OUT], 0, 0);
    arena_release(&arena);
}

/* Of 24 units that rank 1 receives from all alike, 6 come from its node's other rank... each of
 * four ranks sent it 6: 6 inside, 12 over the network; as copies of tokens that cross once half
 * of all arrive at the other rank, 12, and of the node's 30 tokens half come from outside, over
 * two ranks. */
static void sources_that_are_alike(void **state)
{
    (void)state;
    static const uint64_t ranks[RANKS] = {8, 24, 12, 4}, nodes[2] = {30, 14};
    double most[CROSSING_LEVELS];
    struct crossing_map map = {.ranks = RANKS, .per_node = 2, .joined = {2, RANKS}};
    crossing_alike(&map, ranks, NULL, most);
    assert_within(most[CROSSING_UP], 6, 0);
    assert_within(most[CROSSING_OUT], 12, 0);
    assert_within(most[CROSSING_TIER + NETWORK_LEAF], (8 + 24) / 2.0 / 2, 0);
    map.once = true;
    crossing_alike(&map, ranks, nodes, most);
    assert_within(most[CROSSING_UP], 12, 0);
    assert_within(most[CROSSING_OUT], 30 / 2.0 / 2, 0);
    assert_within(most[CROSSING_TIER + NETWORK_LEAF], 30 / 2.0 / 2, 0);
}

/* Of 16 units on the fullest rank, 12 from others, 3 and 10 cross at 2 and 1 a second, and 8.5
 * leave the leaf at a third of that. */
static void links_take_what_crosses_them(void **state)
{
    (void)state;
    struct rates rates = {0};
    for (unsigned level = 0; level < PROFILE_LEVELS; level++)
        rates.link[PROFILE_ALL_TO_ALL][level] = (struct link_rates){
            .bytes_per_s = level == PROFILE_SCALE_UP ? 2 : 1, .efficiency = {.value = 1}};
    static const double part[CROSSING_LEVELS] = {3 / 16.0, 10 / 16.0, 8.5 / 16, 0};
    struct comm_place place = {.ranks = RANKS, .inside = 2, .tier = {{2, 3, 0}, {0, 3, 0}}};
    struct comm_ask ask = {
        .item = PROFILE_ALL_TO_ALL, .to_all = true, .bytes = 12, .part = part};
    double levels[PROFILE_LEVELS];
    comm_levels(&place, &ask, levels);
    assert_within(levels[PROFILE_SCALE_UP], 3, 1e-12);
    assert_within(levels[PROFILE_SCALE_OUT], 10, 1e-12);
    assert_within(comm_s(&rates, &place, &ask), 3 / 2.0 + 3 * 8.5, 1e-12);
    place.tier[NETWORK_LEAF].ranks = 0;
    assert_within(comm_s(&rates, &place, &ask), 3 / 2.0 + 10, 1e-12);
    ask.once = 0.5; /* copied on while the rest arrives */
    assert_within(comm_s(&rates, &place, &ask), 10, 1e-12);
}

/* ---- sampled ---- */

static void make_plan(enum moe_path path, const char *word, struct plan *plan)
{
    plan_tiny(plan);
    plan->model.moe.experts = 64;
    plan->model.moe.top_k = 6;
    plan->cluster.nodes = 4;
    plan->parallel.ep = 16;
    plan->moe.path = path;
    plan->workload.sequence_length = 2048;
    plan->moe.routing.samples = 16;
    plan->moe.routing.alpha = plan->moe.routing.share = 0.5;
    if (strstr(word, "zipf"))
        plan->moe.routing.distribution = DISTRIBUTION_ZIPF;
    if (strstr(word, "hot"))
        plan->moe.routing.distribution = DISTRIBUTION_HOT_RANK;
    if (strstr(word, "grouped"))
        plan->model.moe.router = (struct router){.groups = 8, .top_groups = 4};
}

static void prepare(const struct plan *plan, struct arena *arena, struct demand_source *source)
{
    struct err err = {0};
    if (demand_prepare(plan, NULL, (struct demand_laws){0}, arena, source, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

/* The slots of run's ranks, whose bytes it meters, are what each of them has on its links. */
static void ranks_perform_what_crosses(void **state)
{
    (void)state;
    static const enum moe_path paths[] = {PATH_RAGGED_A2A, PATH_DEEPEP};
    for (unsigned i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct route route;
        struct demand_source source;
        struct demand_spread spread;
        make_plan(paths[i], "zipf", &plan);
        plan.cluster.node.devices = 16; /* one node: nothing crosses once */
        plan.cluster.nodes = 1;
        plan.moe.routing.samples = 1;
        prepare(&plan, &arena, &source);
        demand_sample(&source, 2048, true, &spread);
        assert_int_equal(route_init(&plan, NULL, NULL, &arena, &route, &err), STATUS_OK);
        route_step(&route, 0);
        for (uint64_t r = 0; r < 16; r++) {
            struct slots slots;
            layer_sample_plan_slots(&plan, &route.sample, r, 1, &slots);
            const uint64_t *in = source.crossing.in[CROSSING_UP],
                           *out = source.crossing.out[CROSSING_UP];
            assert_int_equal(in[r], slots.value[i ? SLOT_TOKENS_FROM : SLOT_ROWS_FROM]);
            assert_int_equal(out[r], slots.value[i ? SLOT_TOKENS_SENT : SLOT_ROWS_SENT]);
        }
        assert_true(spread.expected.links.told);
        arena_release(&arena);
    }
}

/* Means over 32 steps of what the fullest links have, exact and Gaussian. */
static void gaussian_steps_agree(void **state)
{
    (void)state;
    static const char *const words[] = {"uniform", "zipf", "hot", "grouped", "grouped zipf"};
    for (unsigned i = 0; i < 2 * sizeof words / sizeof *words; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct demand_source source;
        struct demand_spread exact, gaussian;
        make_plan(i % 2 ? PATH_DEEPEP : PATH_RAGGED_A2A, words[i / 2], &plan);
        plan.cluster.network.tier[NETWORK_LEAF] = (struct network_tier){2, 2, 0};
        prepare(&plan, &arena, &source);
        demand_sample(&source, 2048, true, &exact);
        demand_sample(&source, 2048, false, &gaussian);
        assert_true(gaussian.expected.links.told);
        for (unsigned level = 0; level < CROSSING_LEVELS; level++) {
            print_message("%s, path %u, level %u: %.4f %.4f\n", words[i / 2], i % 2, level,
                          exact.expected.links.part[level],
                          gaussian.expected.links.part[level]);
            assert_within(gaussian.expected.links.part[level], exact.expected.links.part[level],
                          0.03);
        }
        arena_release(&arena);
    }
}

/* Balanced links alone lie between the step and one that is balanced throughout; each exchange
 * says the bytes that its fullest links carry: parts of the fullest rank's, of which a row or
 * token of its own leaves out 1 / 16. */
static void reports_say_what_skew_costs(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct profile profile;
    struct time_report time;
    double balanced = 0, level = 0;
    make_plan(PATH_DEEPEP, "zipf", &plan);
    assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
    const struct time_ask ask = {.profile = &profile, .why = true};
    if (time_of(&plan, &ask, &arena, &time, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < time.n_whatifs; i++) {
        if (text_equal(time.whatifs[i].name, "balanced routing"))
            balanced = time.whatifs[i].seconds;
        if (text_equal(time.whatifs[i].name, "balanced links"))
            level = time.whatifs[i].seconds;
    }
    assert_true(balanced > 0 && balanced < level && level < time.step_s);
    struct demand_source source;
    struct demand_spread spread;
    prepare(&plan, &arena, &source);
    demand_sample(&source, plan_joined_tokens(&plan), false, &spread);
    size_t told = 0;
    for (size_t i = 0; i < time.n_links; i++) {
        const struct time_link *link = &time.links[i];
        if (!text_equal(link->name, "dispatch") || link->phase != PHASE_FORWARD)
            continue;
        double row = 64 * 2, units = (double)spread.expected.received; /* H in bf16 */
        assert_within(link->out_bytes, spread.expected.links.part[CROSSING_OUT] * units * row,
                      1e-3);
        assert_within(link->up_bytes, spread.expected.links.part[CROSSING_UP] * units * row,
                      1e-3);
        assert_true(link->even_s > 0 && link->even_s < link->seconds);
        told++;
    }
    assert_int_equal(told, 1);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_send_and_receive),
        cmocka_unit_test(a_node_gets_a_token_once),
        cmocka_unit_test(sources_that_are_alike),
        cmocka_unit_test(links_take_what_crosses_them),
        cmocka_unit_test(ranks_perform_what_crosses),
        cmocka_unit_test(gaussian_steps_agree),
        cmocka_unit_test(reports_say_what_skew_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
