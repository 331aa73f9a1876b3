/* What laws of routing have in common is kept: a sampler that finds its parts known is, bit by
 * bit, the one that works them out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "work/rows/rows.h"

/* 128 experts on so many ranks, two nodes of them; popularity as stated. */
static struct rows_spec skewed(enum distribution distribution, uint64_t ranks, uint64_t groups)
{
    return (struct rows_spec){
        .tokens = 256,
        .top_k = 6,
        .experts = 128,
        .ranks = ranks,
        .ranks_per_node = ceil_div(ranks, 2),
        .router = {.groups = groups, .top_groups = groups / 2, .bias = true},
        .routing = {.distribution = distribution,
                    .alpha = 1,
                    .sigma = 0.5,
                    .popularity = POPULARITY_PER_STEP,
                    .samples = 5,
                    .seed = 7},
    };
}

static void same(const double *a, const double *b, uint64_t n)
{
    assert_int_equal(a != NULL, b != NULL);
    if (a)
        assert_memory_equal(a, b, n * sizeof *a);
}

static void same_law(const struct rows *rows, const struct rows_law *a,
                     const struct rows_law *b)
{
    uint64_t e = rows->spec.experts, r = rows->spec.ranks, nodes = rows_nodes(rows),
             groups = rows->groups;
    same(a->pi, b->pi, e);
    same(a->d, b->d, e);
    same(a->sum_d, b->sum_d, groups);
    same(a->kept, b->kept, groups);
    same(a->group, b->group, groups * groups);
    same(a->touch, b->touch, r);
    same(a->slope, b->slope, r);
    same(a->residual, b->residual, r);
    same(a->node_touch, b->node_touch, nodes);
    same(a->node_residual, b->node_residual, nodes);
    same(&a->distinct_ranks, &b->distinct_ranks, 1);
    same(&a->distinct_nodes, &b->distinct_nodes, 1);
}

/* Prepared by what is known and without. */
static void check(struct rows_spec spec, struct rows_known *known)
{
    struct arena arena = {0};
    struct err err = {0};
    struct rows plain, kept;
    assert_int_equal(rows_prepare(&spec, &arena, &plain, &err), STATUS_OK);
    spec.known = known;
    assert_int_equal(rows_prepare(&spec, &arena, &kept, &err), STATUS_OK);
    assert_null(kept.spec.known);
    assert_int_equal(plain.n_laws, kept.n_laws);
    for (unsigned law = 0; law < plain.n_laws; law++)
        same_law(&plain, &plain.laws[law], &kept.laws[law]);
    arena_release(&arena);
}

static void a_sampler_is_the_same_with_what_is_known(void **state)
{
    (void)state;
    static const enum distribution distributions[] = {DISTRIBUTION_ZIPF,
                                                      DISTRIBUTION_LOGNORMAL};
    struct rows_known known = {0};
    for (unsigned twice = 0; twice < 2; twice++)
        for (unsigned d = 0; d < 2; d++)
            for (uint64_t ranks = 2; ranks <= 32; ranks *= 4)
                for (uint64_t groups = 1; groups <= 8; groups *= 8) {
                    struct rows_spec spec = skewed(distributions[d], ranks, groups);
                    check(spec, &known);
                    spec.redundant = ranks;
                    check(spec, &known);
                    spec.redundant = 0;
                    spec.routing.placement = PLACEMENT_STRIDED;
                    check(spec, &known);
                    spec.top_k = 4;
                    spec.router.bias = false;
                    check(spec, &known);
                }
    rows_known_release(&known);
    assert_null(known.parts);
}

/* Popularities without end: what is kept begins anew, and goes on. */
static void drawn_popularities_do_not_pile_up(void **state)
{
    (void)state;
    struct rows_known known = {0};
    size_t most = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct rows_spec spec = skewed(DISTRIBUTION_LOGNORMAL, 8, 1);
        spec.routing.seed = seed;
        check(spec, &known);
        most = known.n > most ? known.n : most;
    }
    assert_true(most > 100 && most <= 256);
    rows_known_release(&known);
}

/* Experts, pairs and all of them at once. */
static void partitions_at_once_are_those_alone(void **state)
{
    (void)state;
    enum { N = 37 };
    double p[N], sum = 0, alone[3][N], joined[3][N];
    uint32_t set_of[3][N];
    for (uint32_t e = 0; e < N; e++) {
        sum += p[e] = e % 5 == 3 ? 0 : 1.0 / (1 + e * 11 % N);
        set_of[0][e] = e;
        set_of[1][e] = e * 7 % 18;
        set_of[2][e] = 0;
    }
    for (unsigned e = 0; e < N; e++)
        p[e] /= sum;
    for (uint64_t k = 1; k <= N; k += 3) {
        const uint64_t n[] = {N, 18, 1};
        struct rows_sets sets[3];
        for (unsigned i = 0; i < 3; i++) {
            sets[i] = (struct rows_sets){set_of[i], n[i], joined[i]};
            rows_touch(p, N, k, set_of[i], n[i], alone[i]);
        }
        rows_touch_all(p, N, k, sets, 3);
        for (unsigned i = 0; i < 3; i++)
            same(alone[i], joined[i], n[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sampler_is_the_same_with_what_is_known),
        cmocka_unit_test(drawn_popularities_do_not_pile_up),
        cmocka_unit_test(partitions_at_once_are_those_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
