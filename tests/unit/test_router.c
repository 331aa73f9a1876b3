/* work/rows/router: the examples of seed-systems.md B1, ties, masks, capacity, loss-free
 * balancing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "work/rows/router.h"

/* The logit whose sigmoid is s. */
static float logit(double s)
{
    return (float)log(s / (1 - s));
}

static void group_limited_example(void **state)
{
    (void)state;
    static const double s[8] = {.9, .1, .5, .6, .2, .3, .8, .05};
    struct router router = {.score = SCORE_SIGMOID,
                            .order = ORDER_SCORE_THEN_TOPK,
                            .normalize = true,
                            .bias = true,
                            .groups = 4,
                            .top_groups = 2,
                            .scale = 1};
    float logits[8], bias[8] = {0}, gates[2];
    double scratch[20];
    int32_t ids[2];
    for (int e = 0; e < 8; e++)
        logits[e] = logit(s[e]);
    router_choose(&router, 8, 2, 1, logits, bias, scratch, ids, gates);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 3);
    assert_true(fabsf(gates[0] - .6f) < 1e-6f && fabsf(gates[1] - .4f) < 1e-6f);
    router.groups = router.top_groups = 1;
    router_choose(&router, 8, 2, 1, logits, bias, scratch, ids, gates);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 6);
}

/* Kept groups may have only negative scores: masked experts must not win (B1). */
static void masked_experts_never_win(void **state)
{
    (void)state;
    struct router router = {.score = SCORE_SIGMOID,
                            .order = ORDER_SCORE_THEN_TOPK,
                            .bias = true,
                            .groups = 2,
                            .top_groups = 1};
    float logits[4] = {0, 0, 0, 0}, bias[4] = {-2, -2, -3, -3}, gates[2];
    double scratch[10];
    int32_t ids[2];
    router_choose(&router, 4, 2, 1, logits, bias, scratch, ids, gates);
    assert_int_equal(ids[0], 0);
    assert_int_equal(ids[1], 1);
    assert_true(fabsf(gates[0] - .5f) < 1e-6f); /* unbiased, not normalised */
}

static void softmax_orders(void **state)
{
    (void)state;
    struct router router = {.score = SCORE_SOFTMAX, .order = ORDER_SCORE_THEN_TOPK};
    float logits[4] = {0, (float)log(2), (float)log(4), (float)log(1)}, gates[2];
    double scratch[8];
    int32_t ids[2];
    router_choose(&router, 4, 2, 1, logits, NULL, scratch, ids, gates);
    assert_int_equal(ids[0], 2);
    assert_int_equal(ids[1], 1);
    assert_true(fabsf(gates[0] - .5f) < 1e-6f && fabsf(gates[1] - .25f) < 1e-6f);
    router.order = ORDER_TOPK_THEN_SCORE;
    router_choose(&router, 4, 2, 1, logits, NULL, scratch, ids, gates);
    assert_true(fabsf(gates[0] - 2 / 3.0f) < 1e-6f && fabsf(gates[1] - 1 / 3.0f) < 1e-6f);
    router.order = ORDER_SCORE_THEN_TOPK;
    router.normalize = true;
    router.scale = 2.5;
    router_choose(&router, 4, 2, 1, logits, NULL, scratch, ids, gates);
    assert_true(fabsf(gates[0] - 2.5f * 2 / 3) < 1e-6f);
}

static void sqrtsoftplus_scores(void **state)
{
    (void)state;
    struct router router = {.score = SCORE_SQRTSOFTPLUS, .order = ORDER_SCORE_THEN_TOPK};
    float logits[2] = {1, 40}, gates[2];
    double scratch[4];
    int32_t ids[2];
    router_choose(&router, 2, 2, 1, logits, NULL, scratch, ids, gates);
    assert_true(fabsf(gates[0] - (float)sqrt(40)) < 1e-5f);
    assert_true(fabsf(gates[1] - (float)sqrt(log1p(exp(1)))) < 1e-6f);
}

static void ties_go_to_the_lowest(void **state)
{
    (void)state;
    static const double values[6] = {1, 3, 3, 2, 3, 2};
    static const int32_t want[5] = {1, 2, 4, 3, 5};
    int32_t best[5];
    router_top(values, 6, 5, best);
    assert_memory_equal(best, want, sizeof want);
}

static void capacities(void **state)
{
    (void)state;
    assert_int_equal(router_capacity(6, 1, 3, 1), 2);
    assert_int_equal(router_capacity(1000, 2, 8, 1.25), 313);
    assert_int_equal(router_capacity(64, 2, 8, 4), 64); /* cf = E / K: dropless */
}

static void bias_follows_the_load(void **state)
{
    (void)state;
    float bias[3] = {0, 0, 0};
    static const uint64_t tokens[3] = {10, 30, 20};
    router_update_bias(bias, tokens, 3, 0.001);
    assert_true(fabsf(bias[0] - .001f) < 1e-9f && fabsf(bias[1] + .001f) < 1e-9f);
    assert_true(fabsf(bias[2]) < 1e-12f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_limited_example), cmocka_unit_test(masked_experts_never_win),
        cmocka_unit_test(softmax_orders),        cmocka_unit_test(sqrtsoftplus_scores),
        cmocka_unit_test(ties_go_to_the_lowest), cmocka_unit_test(capacities),
        cmocka_unit_test(bias_follows_the_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
