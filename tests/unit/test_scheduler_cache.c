/* The schedulers' caches, played at costs whose answers are known by hand: who is let in, who
 * is taken out, and what is found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/serve/scheduler.h"
#include "support/played.h"

/* One replica with 200 tokens of cache, `n` requests at once of 64 answers. */
static struct scheduler_ask asked(enum batching batching, uint64_t n, uint64_t input)
{
    return (struct scheduler_ask){.batching = batching,
                                  .replicas = 1,
                                  .slots = 8,
                                  .budget = 1000,
                                  .requests = n,
                                  .in_flight = n,
                                  .input = input,
                                  .output = 64,
                                  .cache = {.tokens = 200},
                                  .costs = &played_costs};
}

/* A cache of 200 tokens lets three prompts of 50 in. After 16 steps of three answers each it
 * holds 198: the newest goes, then after 34 of two the second. At step 63 the first ends and
 * both begin again, with 101 and 67 tokens in one step; they have 12 and 46 steps to go. */
static void the_newest_makes_room(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_ask ask = asked(BATCHING_MIXED, 3, 50);
    struct scheduler_result r = played(&ask, &arena);
    assert_int_equal(r.preempted, 2);
    assert_close(r.ttft_s[2], 0.15, 1e-12);
    assert_close(r.ends_s[0], 0.15 + 0.63, 1e-9);
    assert_close(r.ends_s[1], 0.78 + 0.168 + 0.12, 1e-9);
    assert_close(r.ends_s[2], 0.78 + 0.168 + 0.46, 1e-9);
    assert_close(r.tpot_s[2], (0.78 + 0.168 + 0.46 - 0.15) / 63, 1e-9);
    arena_release(&arena);
}

/* The same with prefix caching. The newest leaves 66 tokens behind 2 that are free: 34 steps of
 * two answers and 13 of one overwrite 81, all of it. The second leaves 100, of which the
 * first's 13 last steps overwrite the last 13: of 101 tokens it computes 14, beside the
 * other's 67. */
static void what_is_left_is_found_again(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_ask ask = asked(BATCHING_MIXED, 3, 50);
    ask.cache.keeps = true;
    struct scheduler_result r = played(&ask, &arena);
    assert_int_equal(r.preempted, 2);
    assert_close(r.ends_s[0], 0.15 + 0.63, 1e-9);
    assert_close(r.ends_s[1], 0.78 + 0.081 + 0.12, 1e-9);
    assert_close(r.ends_s[2], 0.78 + 0.081 + 0.46, 1e-9);
    arena_release(&arena);
}

/* Counted whole, 50 + 64 tokens are one request of 200 at a time, 30 + 64 are two. */
static void whole_requests_never_go(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_ask ask = asked(BATCHING_WHOLE, 4, 50);
    ask.cache.admits = ADMIT_WHOLE;
    struct scheduler_result r = played(&ask, &arena);
    for (unsigned i = 0; i < 4; i++)
        assert_close(r.ends_s[i], 0.68 * (i + 1), 1e-9);
    ask.input = 30;
    r = played(&ask, &arena);
    assert_int_equal(r.preempted, 0);
    for (unsigned i = 0; i < 4; i++)
        assert_close(r.ends_s[i], 0.69 * (i / 2 + 1), 1e-9);
    arena_release(&arena);
}

/* Replicas that share a model reserve 0.3 of that: after the first step two answers of 63 leave
 * 200 - 40 - 0.21 x 126 to a third of 20 + 63, which begins; alone it waits. */
static void replicas_reserve_less(void **state)
{
    (void)state;
    for (uint64_t replicas = 1; replicas <= 2; replicas++) {
        struct arena arena = {0};
        struct scheduler_ask ask = asked(BATCHING_APART, 3, 20);
        ask.cache.admits = ADMIT_PART;
        ask.replicas = replicas;
        ask.in_flight = 3 * replicas;
        ask.requests = 3 * replicas;
        struct scheduler_result r = played(&ask, &arena);
        size_t last = r.n - 1;
        if (replicas == 1)
            assert_true(r.ttft_s[last] > 0.5);
        else
            assert_close(r.ttft_s[last], 0.06, 1e-9);
        arena_release(&arena);
    }
}

/* With room kept for answers the second, 50 + 63, does not begin beside the first, which holds
 * 50 and reserves 0.7 x 63 of 200 tokens, nor later; prompts of 20 do, two of three. */
static void answers_to_come_are_reserved(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_ask ask = asked(BATCHING_APART, 3, 50);
    ask.cache.admits = ADMIT_PART;
    struct scheduler_result r = played(&ask, &arena);
    assert_int_equal(r.preempted, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_close(r.ends_s[i], 0.68 * (i + 1), 1e-9);
    ask.input = 20;
    r = played(&ask, &arena);
    assert_close(r.ttft_s[1], 0.04, 1e-12);
    assert_true(r.ttft_s[2] > 0.04 + 0.01);
    arena_release(&arena);
}

/* A cache that holds all that comes changes nothing; one that does not answers no more, and
 * each request to its last token. */
static void room_for_all_changes_nothing(void **state)
{
    (void)state;
    for (int batching = 0; batching < 3; batching++)
        for (uint64_t tokens = 0; tokens < 4; tokens++) {
            struct arena arena = {0};
            struct scheduler_ask ask = {.batching = (enum batching)batching,
                                        .replicas = 2,
                                        .slots = 32,
                                        .budget = 300,
                                        .requests = 2000,
                                        .first = 100,
                                        .rate = 40,
                                        .input = 50,
                                        .output = 64,
                                        .spread = 0.5,
                                        .seed = 3,
                                        .costs = &played_costs};
            struct scheduler_result free = played(&ask, &arena);
            ask.cache.tokens = (const uint64_t[]){100000, 100000, 300, 300}[tokens];
            ask.cache.admits = tokens % 2 ? ADMIT_PART : ADMIT_PROMPT;
            struct scheduler_result held = played(&ask, &arena);
            assert_int_equal(held.output_tokens, free.output_tokens);
            print_message("batching %d, case %llu: %llu taken out\n", batching,
                          (unsigned long long)tokens, (unsigned long long)held.preempted);
            assert_int_equal(held.preempted > 0, tokens >= 2);
            for (size_t i = 0; tokens < 2 && i < free.n; i++)
                assert_close(held.ends_s[i], free.ends_s[i], 1e-9 * free.ends_s[i]);
            if (tokens >= 2)
                assert_true(held.ttft_s[held.n / 2] > free.ttft_s[free.n / 2]);
            arena_release(&arena);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_makes_room),
        cmocka_unit_test(what_is_left_is_found_again),
        cmocka_unit_test(whole_requests_never_go),
        cmocka_unit_test(replicas_reserve_less),
        cmocka_unit_test(answers_to_come_are_reserved),
        cmocka_unit_test(room_for_all_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
