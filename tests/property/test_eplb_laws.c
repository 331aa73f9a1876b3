/* Laws of expert placement on random loads: every expert has a replica, replicas fill the ranks
 * evenly, the hierarchical policy keeps a group on one node, replication never makes the
 * fullest rank fuller than the heaviest expert demands, and replica shares add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/rng.h"
#include "work/rows/eplb.h"
#include "work/rows/placement.h"
#include "support/draws.h"

enum { SEED = 77, CASES = 200 };

struct shape {
    uint64_t experts, replicas, groups, nodes, ranks;
    double weight[256];
};

static void random_shape(unsigned number, struct shape *s)
{
    struct rng rng;
    rng_init(&rng, draws_seed(SEED), 0, number, 0, 0);
    s->nodes = (uint64_t)1 << rng_below(&rng, 3);
    s->ranks = s->nodes << rng_below(&rng, 3);
    s->groups = s->nodes << rng_below(&rng, 3);
    s->experts = s->groups * s->ranks * (1 + rng_below(&rng, 3));
    while (s->experts > 200)
        s->experts /= 2;
    if (s->experts % s->groups || s->experts % s->ranks)
        s->experts = s->groups > s->ranks ? s->groups : s->ranks;
    s->replicas = s->experts + s->ranks * rng_below(&rng, 3);
    for (uint64_t e = 0; e < s->experts; e++)
        s->weight[e] = rng_gamma(&rng, 0.7);
}

static void policies_keep_their_laws(void **state)
{
    (void)state;
    for (unsigned number = 0; number < 2 * CASES; number++) {
        struct arena arena = {0};
        struct err err = {0};
        struct shape s;
        struct eplb eplb;
        random_shape(number / 2, &s);
        if (number % 2) /* the global policy of the same loads */
            s.groups = s.nodes = 1;
        if (eplb_place(s.weight, s.experts, s.replicas, s.groups, s.nodes, s.ranks, &arena,
                       &eplb, &err) != STATUS_OK)
            fail_msg("seed %d case %u: %s", SEED, number, err.text);
        uint64_t seen[256] = {0}, per_rank = s.replicas / s.ranks, sum = 0;
        uint64_t per_node = s.replicas / s.nodes, size = s.experts / s.groups;
        uint64_t node_of[256] = {0};
        double load = 0, total = 0;
        for (uint64_t i = 0; i < s.replicas; i++) {
            uint64_t e = eplb.expert[i], group = e / size, node = i / per_node;
            assert_true(node_of[group] == 0 || node_of[group] == node + 1);
            node_of[group] = node + 1;
            seen[e]++;
        }
        for (uint64_t e = 0; e < s.experts; e++) {
            assert_true(seen[e] >= 1 && seen[e] == eplb.count[e]);
            sum += eplb.count[e];
            total += s.weight[e];
        }
        assert_int_equal(sum, s.replicas);
        assert_int_equal(per_rank * s.ranks, s.replicas);
        for (uint64_t r = 0; r < s.ranks; r++)
            load += eplb.load[r];
        assert_true(load > total * (1 - 1e-9) && load < total * (1 + 1e-9));
        arena_release(&arena);
    }
}

/* More replicas never make the best possible share of the hottest expert larger. */
static void replicas_split_the_hottest(void **state)
{
    (void)state;
    for (unsigned number = 0; number < CASES; number++) {
        struct arena arena = {0};
        struct err err = {0};
        struct shape s;
        double last = 0;
        random_shape(number, &s);
        for (uint64_t more = 0; more < 4; more++) {
            struct eplb eplb;
            double hottest = 0;
            assert_int_equal(eplb_place(s.weight, s.experts, s.experts + more * s.ranks, 1, 1,
                                        s.ranks, &arena, &eplb, &err),
                             STATUS_OK);
            for (uint64_t e = 0; e < s.experts; e++)
                hottest = s.weight[e] / eplb.count[e] > hottest ? s.weight[e] / eplb.count[e]
                                                                : hottest;
            assert_true(more == 0 || hottest <= last);
            last = hottest;
        }
        arena_release(&arena);
    }
}

static void shares_add_up(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, draws_seed(SEED), 1, 0, 0, 0);
    for (int i = 0; i < CASES; i++) {
        uint64_t rows = rng_below(&rng, 1000), count = 1 + rng_below(&rng, 9), sum = 0;
        for (uint64_t j = 0; j < count; j++)
            sum += placement_share(rows, count, j);
        assert_int_equal(sum, rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policies_keep_their_laws),
        cmocka_unit_test(replicas_split_the_hottest),
        cmocka_unit_test(shares_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
