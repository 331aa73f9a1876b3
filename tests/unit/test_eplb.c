/* work/rows/eplb and placement: EPLB's published example, and placements by rule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "work/rows/eplb.h"
#include "work/rows/placement.h"

static const double layer1[12] = {90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86};
static const double layer2[12] = {20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27};

/* The README example of deepseek-ai/EPLB: 12 experts, 16 replicas, 8 GPUs. */
static const struct {
    const double *weight;
    uint64_t groups, nodes;
    uint32_t slots[16];
    double imbalance; /* to four digits */
} published[] = {
    {layer1, 4, 2, {5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1}, 1.2081},
    {layer1, 1, 1, {10, 6, 10, 7, 0, 2, 11, 4, 5, 9, 5, 4, 8, 3, 1, 1}, 1.0726},
    {layer2, 4, 2, {7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1}, 1.2422},
    {layer2, 1, 1, {0}, 1.1903},
};

/* Fullest rank over the mean. */
static double imbalance(const struct eplb *eplb)
{
    double most = 0, sum = 0;
    for (uint64_t r = 0; r < eplb->ranks; r++) {
        sum += eplb->load[r];
        if (eplb->load[r] > most)
            most = eplb->load[r];
    }
    return sum > 0 ? most * (double)eplb->ranks / sum : 1;
}

static void published_placements(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct eplb eplb;
        assert_int_equal(eplb_place(published[i].weight, 12, 16, published[i].groups,
                                    published[i].nodes, 8, &arena, &eplb, &err),
                         STATUS_OK);
        if (published[i].slots[0] != 0)
            assert_memory_equal(eplb.expert, published[i].slots, sizeof published[i].slots);
        assert_true(fabs(imbalance(&eplb) - published[i].imbalance) < 5e-5);
        arena_release(&arena);
    }
}

static void published_loads(void **state)
{
    (void)state;
    static const double hierarchical[8] = {121.5, 86.5, 125, 113, 147.5, 131.5, 156, 152};
    static const double global[8] = {130.5, 95.5, 130, 138, 138.5, 134.5, 134, 132};
    struct arena arena = {0};
    struct err err = {0};
    struct eplb eplb;
    assert_int_equal(eplb_place(layer1, 12, 16, 4, 2, 8, &arena, &eplb, &err), STATUS_OK);
    for (int r = 0; r < 8; r++)
        assert_true(fabs(eplb.load[r] - hierarchical[r]) < 1e-9);
    assert_int_equal(eplb_place(layer1, 12, 16, 1, 1, 8, &arena, &eplb, &err), STATUS_OK);
    for (int r = 0; r < 8; r++)
        assert_true(fabs(eplb.load[r] - global[r]) < 1e-9);
    arena_release(&arena);
}

static void indivisible_is_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct eplb eplb;
    assert_int_equal(eplb_place(layer1, 12, 15, 1, 1, 8, &arena, &eplb, &err), STATUS_INPUT);
    assert_string_equal(err.text, "15 physical experts do not divide over 8 ranks");
    arena_release(&arena);
}

static void placements_by_rule(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct expert_map made;
    struct placement_ask ask = {.kind = PLACEMENT_CONTIGUOUS, .experts = 8, .ranks = 4};
    assert_int_equal(placement_make(&ask, &arena, &made, &err), STATUS_OK);
    for (uint32_t e = 0; e < 8; e++) {
        assert_int_equal(made.rank[e], e / 2);
        assert_int_equal(made.local[e], e % 2);
    }
    ask.kind = PLACEMENT_STRIDED;
    assert_int_equal(placement_make(&ask, &arena, &made, &err), STATUS_OK);
    for (uint32_t e = 0; e < 8; e++) {
        assert_int_equal(made.rank[e], e % 4);
        assert_int_equal(made.local[e], e / 4);
    }
    assert_int_equal(made.most_local, 2);
    static const uint32_t owner[8] = {3, 3, 3, 0, 1, 2, 0, 1};
    ask.kind = PLACEMENT_TABLE;
    ask.owner = owner;
    assert_int_equal(placement_make(&ask, &arena, &made, &err), STATUS_OK);
    assert_int_equal(made.most_local, 3);
    ask.ranks = 3;
    assert_int_equal(placement_make(&ask, &arena, &made, &err), STATUS_INPUT);
    arena_release(&arena);
}

static void placement_indexes_replicas(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct expert_map made;
    struct placement_ask ask = {.kind = PLACEMENT_EPLB,
                                .experts = 12,
                                .ranks = 8,
                                .redundant = 4,
                                .groups = 4,
                                .nodes = 2,
                                .weight = layer1};
    assert_int_equal(placement_make(&ask, &arena, &made, &err), STATUS_OK);
    uint64_t total = 0;
    for (uint32_t e = 0; e < 12; e++) {
        total += made.count[e];
        assert_true(made.count[e] >= 1);
        for (uint32_t j = 0; j < made.count[e]; j++)
            assert_int_equal(made.expert[made.replica[made.first[e] + j]], e);
    }
    assert_int_equal(total, 16);
    assert_int_equal(made.count[5], 2);
    for (int r = 0; r < 8; r++)
        assert_int_equal(made.held[r], 2);
    arena_release(&arena);
}

static void shares_add_up(void **state)
{
    (void)state;
    uint64_t sum = 0;
    for (uint64_t j = 0; j < 4; j++)
        sum += placement_share(63, 4, j);
    assert_int_equal(sum, 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_placements),       cmocka_unit_test(published_loads),
        cmocka_unit_test(indivisible_is_refused),     cmocka_unit_test(placements_by_rule),
        cmocka_unit_test(placement_indexes_replicas), cmocka_unit_test(shares_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
