/* A list folded again and again is worth what memory_fold says of it, whatever the slots: on
 * lists of every stack, with slots that a plan has and others that none would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/rng.h"
#include "sim/memory/refold.h"
#include "support/draws.h"
#include "support/shaped_plan.h"

enum { SEEDS = 240, TURNS = 60, POINTS = 3 };

/* Slots that stages and copies decide, and now and then others: a layer's tensors are then of
 * other sizes at the same point. */
static void vary(struct rng *rng, struct slots *slots)
{
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        enum slot layers = slot_kind_layers((enum layer_kind)i),
                  flight = slot_kind_in_flight((enum layer_kind)i);
        slots->value[layers] = slots->value[layers] ? rng_below(rng, 6) : 0;
        slots->value[flight] =
            rng_below(rng, 3) ? 1000 * (1 + rng_below(rng, 4)) : rng_below(rng, 4000);
        slots->value[slot_kind_kept((enum layer_kind)i)] =
            rng_below(rng, slots->value[layers] + 1);
        slots->value[slot_kind_kept_in_flight((enum layer_kind)i)] =
            1000 * (1 + rng_below(rng, 4)) - (rng_below(rng, 3) ? 0 : rng_below(rng, 999));
    }
    slots->value[SLOT_STAGE_EMBEDDING] = rng_below(rng, 2);
    slots->value[SLOT_STAGE_HEAD] = rng_below(rng, 2);
    slots->value[SLOT_DP] = 1 + rng_below(rng, 64);
    slots->value[SLOT_EXPERT_DP] = 1 + rng_below(rng, 64);
    slots->value[SLOT_DENSE_PARAMETERS] = rng_below(rng, 1 << 24);
    slots->value[SLOT_EXPERT_PARAMETERS] = rng_below(rng, 1 << 24);
    if (rng_below(rng, 4) == 0)
        slots->value[SLOT_TOKENS] = 1 + rng_below(rng, 4096);
    if (rng_below(rng, 4) == 0)
        slots->value[SLOT_PADDED_ROWS] = 1 + rng_below(rng, 1 << 16);
}

static void check_list(uint64_t seed, const struct plan *plan, const struct work *work,
                       struct refold *refold, struct arena *arena)
{
    struct rng rng;
    struct slots slots;
    uint64_t *values = arena_alloc(arena, work->sizes.n, sizeof *values);
    rng_init(&rng, draws_seed(seed), 9, 0, 0, 0);
    slots_from_plan(plan, &slots);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct memory_peak whole;
        struct refold_peak peak;
        bool sized = sizes_eval(&work->sizes, &slots, values);
        assert_int_equal(refold_peak(refold, (size_t)rng_below(&rng, POINTS), &slots, &peak),
                         sized);
        memory_fold(work, values, 0, &whole);
        if (sized &&
            (peak.total_bytes != whole.total_bytes || peak.state_bytes != whole.state_bytes))
            fail_msg(
                "seed %llu, %s, turn %u: %llu bytes of %llu, state %llu of %llu",
                (unsigned long long)seed, plan->stack_name, turn,
                (unsigned long long)peak.total_bytes, (unsigned long long)whole.total_bytes,
                (unsigned long long)peak.state_bytes, (unsigned long long)whole.state_bytes);
        vary(&rng, &slots);
    }
}

static void as_whole(void **state)
{
    (void)state;
    size_t lists = 0, of_one = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct work work;
        bool shaped = plan_shaped(&plan, (enum stack_kind)(seed % STACK_COUNT), seed);
        plan.recompute.layers = seed / STACK_COUNT % 3;
        plan.recompute.every = 1 + seed / STACK_COUNT % 2;
        if (shaped && work_build(&plan, &arena, &work, &err) == STATUS_OK) {
            lists++;
            struct refold *refold = refold_create(&work, POINTS, &arena);
            if (refold)
                check_list(seed, &plan, &work, refold, &arena);
            of_one += refold != NULL;
            assert_true(!refold || work.n_schedules == 1);
        }
        arena_release(&arena);
    }
    printf("%zu lists, %zu folded again\n", lists, of_one);
    assert_true(of_one > SEEDS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
