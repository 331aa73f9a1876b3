/* sim/moe/balance: a skewed router finds its way back, an even one stays, without updates
 * nothing changes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sim/moe/balance.h"

static struct balance recover(enum scenario scenario, double rate)
{
    struct arena arena = {0};
    struct err err = {0};
    struct rows rows;
    struct balance out;
    const struct rows_spec spec = {
        .tokens = 128,
        .top_k = 2,
        .experts = 16,
        .ranks = 2,
        .router = {.score = SCORE_SIGMOID, .order = ORDER_SCORE_THEN_TOPK, .groups = 1},
        .scenario = scenario,
        .routing = {.seed = 4},
    };
    if (rows_prepare(&spec, &arena, &rows, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    const struct balance_ask ask = {.tokens = 256, .steps = 300, .rate = rate, .goal = 1.5};
    balance_recover(&rows, &ask, &arena, &out);
    arena_release(&arena);
    return out;
}

static void a_cold_router_recovers(void **state)
{
    (void)state;
    struct balance cold = recover(SCENARIO_COLD, 0.01);
    assert_true(cold.before > 2);
    assert_true(cold.after < 1.5);
    assert_in_range(cold.steps, 11, 300);
    /* A slower rate takes longer. */
    struct balance slow = recover(SCENARIO_COLD, 0.002);
    assert_true(slow.steps == 0 || slow.steps > cold.steps);
}

static void without_updates_nothing_changes(void **state)
{
    (void)state;
    struct balance still = recover(SCENARIO_COLD, 0);
    assert_int_equal(still.steps, 0);
    assert_true(fabs(still.after / still.before - 1) < 0.15);
    struct balance even = recover(SCENARIO_STEADY, 0);
    assert_int_equal(even.steps, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cold_router_recovers),
        cmocka_unit_test(without_updates_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
