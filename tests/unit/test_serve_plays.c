/* What plays leave out, beside plays of all of it: steps in which nobody can begin, requests
 * after a play is settled, numbers of deployments that were played before. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "plan/read/load.h"
#include "sim/serve/serve_plays.h"
#include "support/played.h"

enum { CASES = 1000, PURPOSE = 77 };

static struct scheduler_ask draw(struct rng *rng)
{
    struct scheduler_ask ask = {.batching = (enum batching)rng_below(rng, 3),
                                .replicas = 1 + rng_below(rng, 4),
                                .slots = 1 + rng_below(rng, 12),
                                .budget = 50 + rng_below(rng, 400),
                                .requests = 200,
                                .input = 1 + rng_below(rng, 300),
                                .output = 1 + rng_below(rng, 200),
                                .spread = 0.4 * (double)rng_below(rng, 3),
                                .seed = rng_below(rng, 1000),
                                .costs = &played_costs};
    ask.poll_steps = rng_below(rng, 4) ? 1 : 3;
    ask.accepted = rng_below(rng, 3) ? 1 : 1.7;
    ask.drafted = ask.accepted > 1 ? 2 : 0;
    ask.balance.timeout = rng_below(rng, 3) ? 0 : 4;
    ask.cache.admits = (enum admission)rng_below(rng, 3);
    ask.cache.tokens =
        rng_below(rng, 5) ? (ask.input + ask.output) * (1 + rng_below(rng, 5)) : 0;
    if (!rng_below(rng, 6)) /* less than one request: it runs alone, and stays */
        ask.cache.tokens = ask.cache.tokens / 7;
    ask.cache.keeps = rng_below(rng, 2);
    if (rng_below(rng, 2))
        ask.in_flight = 1 + rng_below(rng, 40);
    else
        ask.rate = 0.2 + 0.1 * (double)rng_below(rng, 40);
    return ask;
}

/* Long answers of one replica: what is reserved of them falls faster than the cache fills, and
 * lets in after some steps who waits. */
static struct scheduler_ask draw_reserving(struct rng *rng)
{
    struct scheduler_ask ask = draw(rng);
    ask.replicas = ask.poll_steps = 1;
    ask.cache.admits = ADMIT_PART;
    ask.output = 1000 + rng_below(rng, 4000);
    ask.cache.tokens = (ask.input + ask.output) * (2 + rng_below(rng, 20)) / 4;
    return ask;
}

static void assert_same(const struct scheduler_result *a, const struct scheduler_result *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->preempted, b->preempted);
    assert_int_equal(a->output_tokens, b->output_tokens);
    assert_memory_equal(a->ttft_s, b->ttft_s, a->n * sizeof *a->ttft_s);
    assert_memory_equal(a->tpot_s, b->tpot_s, a->n * sizeof *a->tpot_s);
    assert_memory_equal(a->latency_s, b->latency_s, a->n * sizeof *a->latency_s);
    assert_memory_equal(a->ends_s, b->ends_s, a->n * sizeof *a->ends_s);
}

/* To the last bit. */
static void stuck_steps_are_single_steps(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < CASES; i++) {
        struct arena arena = {0};
        struct rng rng;
        rng_init(&rng, 1, PURPOSE, 0, 0, i);
        struct scheduler_ask ask = i % 4 ? draw(&rng) : draw_reserving(&rng);
        struct scheduler_result at_once, singly;
        scheduler_play(&ask, &arena, &at_once);
        ask.singly = true;
        scheduler_play(&ask, &arena, &singly);
        assert_same(&at_once, &singly);
        arena_release(&arena);
    }
}

/* ---- deployments ---- */

static const struct rates rates = {
    .request_s = 0.01, .request_token_s = 1e-5, .request_steps = 1};

/* `all`: every number that may be looked at is played to its end first. */
static uint64_t fewest(const struct plan *plan, const struct serve_load *load, bool all)
{
    const struct serve_game game = {plan, load, &played_costs, &rates};
    struct serve_plays plays = {.game = &game, .capacity_per_s = 4};
    uint64_t stable = (uint64_t)(plan->workload.request_rate / plays.capacity_per_s) + 1;
    for (uint64_t n = stable; all && n < 33 * stable; n++)
        serve_plays_of(&plays, n);
    uint64_t found = serve_fewest(&plays);
    assert_int_equal(serve_fewest(&plays), found);
    arena_release(&plays.arena);
    return found;
}

/* A play that ends early says what a whole one does, kept or not. */
static void hopeless_plays_change_nothing(void **state)
{
    (void)state;
    static const char *const limits[] = {"{ttft: 250ms}",
                                         "{ttft: 400ms, tpot: 12ms}",
                                         "{tpot: 10.5ms, share: 0.5}",
                                         "{latency: 1.4s}",
                                         "{ttft: 1ms}",
                                         "{latency: 3s, share: 1}"};
    uint64_t different = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct err err = {0};
        const char *text = arena_printf(
            &arena,
            "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: vllm\nparallel: {tp: 8}\n"
            "workload: {mode: serve, input_length: 200, output_length: 101, request_rate: 6, "
            "limit: %s}\n",
            limits[i]);
        const struct serve_load load = {.replicas = 1, .sequences = 8, .slots = 8};
        if (plan_load_text("plan", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err))
            fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
        uint64_t found = fewest(&plan, &load, false);
        print_message("%s: %llu\n", limits[i], (unsigned long long)found);
        assert_int_equal(found, fewest(&plan, &load, true));
        different += found > 2;
        arena_release(&arena);
    }
    assert_true(different > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stuck_steps_are_single_steps),
        cmocka_unit_test(hopeless_plays_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
