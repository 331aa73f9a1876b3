/* What fixes are not tried for, since the state is too large in every layout, does not fit: on
 * drawn plans with as much memory as that still holds for (fix_is_hopeless), the state of
 * single changes and of several is looked at all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "plan/rule/rule.h"
#include "sim/memory/verdict.h"
#include "sim/search/fix_parts.h"
#include "support/draws.h"
#include "support/random_plan.h"

enum { SEEDS = 480, VARIED = 12, SEVERAL = 48, BISECTIONS = 40 };

struct tried {
    struct fix_search search;
    struct fix_moves moves;
    struct plan plan, changed;
    struct arena arena;
};

/* The most memory of a device, in bytes, that is hopeless; 0: none is. */
static uint64_t most_hopeless(struct tried *t)
{
    uint64_t low = 0, high = UINT64_C(1) << 44;
    for (unsigned i = 0; i < BISECTIONS; i++) {
        uint64_t middle = low + (high - low) / 2;
        t->plan.cluster.device.memory_bytes = middle;
        *(fix_is_hopeless(&t->search, &t->plan, &t->moves, true) ? &low : &high) = middle;
    }
    return low;
}

/* A tiny plan that trains, of one stack after the other, some keys otherwise. */
static void draw_plan(uint64_t seed, struct plan *plan)
{
    static const enum stack_kind stacks[] = {STACK_MEGATRON,  STACK_MAXTEXT,    STACK_GENERIC,
                                             STACK_FSDP,      STACK_TORCHTITAN, STACK_PRIMUS,
                                             STACK_DEEPSPEED, STACK_HOST};
    struct rng rng;
    rng_init(&rng, draws_seed(seed), 12, 0, 0, 0);
    plan_tiny(plan);
    plan->stack.kind = stacks[seed % (sizeof stacks / sizeof *stacks)];
    plan->stack.static_shapes = plan->stack.kind == STACK_MAXTEXT;
    plan->workload.mode = MODE_TRAIN;
    for (unsigned i = 0; i < VARIED; i++)
        plan_vary(plan, &rng);
    plan->workload.mode = MODE_TRAIN;
    plan->workload.colocated = (struct colocated){0};
    plan->parallel.stage = 0;
}

static void open_tried(struct tried *t, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    draw_plan(seed, &t->plan);
    t->search.plan = &t->plan;
    t->search.arena = &t->arena;
    fix_list_moves(&t->plan, &t->arena, &t->moves);
}

static void close_tried(struct tried *t)
{
    arena_release(&t->search.scratch);
    arena_release(&t->arena);
}

/* Whether the plan with some moves is one; then its state alone does not fit. */
static bool check(struct tried *t, uint64_t seed, const struct fix_move *moves, size_t n)
{
    if (!fix_apply(&t->plan, moves, n, &t->changed) || !rule_check_layout(&t->changed) ||
        !rule_check_run(&t->changed))
        return false;
    uint64_t bytes = fix_state_bytes(&t->search, &t->changed);
    uint64_t limit = verdict_limit(&t->changed);
    if (bytes <= limit)
        fail_msg("seed %llu: %llu of %llu bytes with %s %s %s", (unsigned long long)seed,
                 (unsigned long long)bytes, (unsigned long long)limit, moves[0].set,
                 n > 1 ? moves[1].set : "", n > 2 ? moves[2].set : "");
    return true;
}

static size_t check_several(struct tried *t, uint64_t seed)
{
    struct rng rng;
    size_t n_valid = 0;
    rng_init(&rng, draws_seed(seed), 11, 0, 0, 0);
    for (unsigned i = 0; i < SEVERAL; i++) {
        struct fix_move moves[FIX_TOGETHER];
        size_t n = 2 + rng_u32(&rng) % (FIX_TOGETHER - 1);
        for (size_t at = 0; at < n; at++)
            moves[at] = t->moves.list[rng_u32(&rng) % t->moves.n];
        n_valid += check(t, seed, moves, n);
    }
    return n_valid;
}

static void what_is_hopeless_does_not_fit(void **state)
{
    (void)state;
    static struct tried t;
    size_t n_plans = 0, n_valid = 0;
    draws_print(SEEDS);
    for (uint64_t seed = 0; seed < draws_of(SEEDS); seed++) {
        open_tried(&t, seed);
        uint64_t most = t.moves.n ? most_hopeless(&t) : 0;
        t.plan.cluster.device.memory_bytes = most;
        n_plans += most > 0;
        for (size_t i = 0; most && i < t.moves.n; i++)
            n_valid += check(&t, seed, &t.moves.list[i], 1);
        if (most)
            n_valid += check_several(&t, seed);
        close_tried(&t);
    }
    print_message("%zu plans, %zu changes\n", n_plans, n_valid);
    draws_reach("plans", n_plans, 0.5 * draws_of(SEEDS));
    draws_reach("changes", n_valid, 8.0 * draws_of(SEEDS));
}

/* A move that knows its field makes the plan that its words make. */
static void moves_that_are_looked_up_change_the_same(void **state)
{
    (void)state;
    static struct tried t;
    static struct plan by_words;
    size_t n_known = 0;
    for (uint64_t seed = 0; seed < draws_of(SEEDS); seed++) {
        open_tried(&t, seed);
        for (size_t i = 0; i < t.moves.n; i++) {
            struct fix_move words = t.moves.list[i];
            n_known += words.field != NULL;
            words.field = NULL;
            assert_int_equal(fix_apply(&t.plan, &t.moves.list[i], 1, &t.changed),
                             fix_apply(&t.plan, &words, 1, &by_words));
            assert_memory_equal(&t.changed, &by_words, sizeof by_words);
        }
        close_tried(&t);
    }
    draws_reach("moves", n_known, 8.0 * draws_of(SEEDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_that_are_looked_up_change_the_same),
        cmocka_unit_test(what_is_hopeless_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
