/* Routers of a device against the CPU's: the experts chosen, gates and gradients, of every
 * score and order, with groups, biases and equal logits. With MOEPLAN_TEST_TIMES=1 of 8,192
 * tokens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "support/device_case.h"

static const struct {
    struct router router;
    uint64_t experts, top_k, tokens;
    bool bias;
} routers[] = {
    {{.score = SCORE_SOFTMAX, .order = ORDER_SCORE_THEN_TOPK, .normalize = true, .scale = 1},
     128,
     8,
     40,
     false},
    {{.score = SCORE_SOFTMAX, .order = ORDER_TOPK_THEN_SCORE, .scale = 1}, 32, 4, 9, false},
    {{.score = SCORE_SIGMOID,
      .order = ORDER_SCORE_THEN_TOPK,
      .normalize = true,
      .groups = 8,
      .top_groups = 4,
      .scale = 2.5},
     256,
     8,
     50,
     true},
    {{.score = SCORE_SQRTSOFTPLUS, .order = ORDER_SCORE_THEN_TOPK, .scale = 1}, 7, 7, 3, false},
    {{.score = SCORE_SIGMOID, .order = ORDER_SCORE_THEN_TOPK, .scale = 1}, 1000, 8, 5, true},
    {{.score = SCORE_SOFTMAX, .order = ORDER_SCORE_THEN_TOPK, .scale = 1}, 1024, 100, 4, false},
    {{.score = SCORE_SIGMOID,
      .order = ORDER_SCORE_THEN_TOPK,
      .groups = 5,
      .top_groups = 5,
      .scale = 1},
     5,
     2,
     6,
     false},
    {{.score = SCORE_SIGMOID, .order = ORDER_SCORE_THEN_TOPK, .scale = 1}, 1, 1, 2, false},
};

/* Logits of few values, so that many are equal; wanted are experts of the first groups from a
 * drawn one on. */
static void draw_router(struct device_case *m, size_t which)
{
    uint64_t E = routers[which].experts, K = routers[which].top_k;
    uint64_t T = getenv("MOEPLAN_TEST_TIMES") ? 8192 : routers[which].tokens;
    uint64_t groups = routers[which].router.groups,
             within = groups > 1 ? E / groups * routers[which].router.top_groups : E;
    m->plan.model.moe.router = routers[which].router;
    m->sample = (struct layer_sample){.R = 1, .T = T, .K = K, .local = E, .logical = E};
    float *logits = device_case_give(m, ROLE_LOGITS, DTYPE_F32, T, E, true);
    for (uint64_t i = 0; i < T * E; i++)
        logits[i] = (float)rng_below(&m->rng, 9) / 8 - 0.5F;
    int32_t *wanted = device_case_i32(m, ROLE_WANTED, T, K);
    for (uint64_t t = 0; t < T; t++) {
        uint64_t first =
            groups > 1 ? E / groups * rng_below(&m->rng, groups) : rng_below(&m->rng, E);
        for (uint64_t k = 0; k < K; k++)
            wanted[t * K + k] = (int32_t)((first + k * (within / K)) % E);
    }
    if (routers[which].bias) {
        float *bias = device_case_give(m, ROLE_BIAS, DTYPE_F32, E, 1, true);
        for (uint64_t x = 0; x < E; x++)
            bias[x] = (float)rng_below(&m->rng, 5) / 100;
    }
}

static void routers_choose_as_the_host(void **state)
{
    struct device_case m;
    char what[32];
    for (size_t i = 0; i < sizeof routers / sizeof *routers; i++) {
        device_case_begin(&m, *state, KERNEL_TOPK, (uint32_t)i);
        snprintf(what, sizeof what, "router %zu, E %llu", i,
                 (unsigned long long)routers[i].experts);
        draw_router(&m, i);
        device_case_want(&m, ROLE_IDS, DTYPE_I32, m.sample.T, m.sample.K);
        device_case_want(&m, ROLE_GATES, DTYPE_F32, m.sample.T, m.sample.K);
        device_case_compare(&m, what);
    }
}

static void gradients_are_the_hosts(void **state)
{
    struct device_case m;
    char what[32];
    for (size_t i = 0; i < sizeof routers / sizeof *routers; i++) {
        device_case_begin(&m, *state, KERNEL_TOPK_GRAD, (uint32_t)i);
        snprintf(what, sizeof what, "router %zu, E %llu", i,
                 (unsigned long long)routers[i].experts);
        draw_router(&m, i);
        m.call.of[ROLE_IDS] = m.call.of[ROLE_WANTED];
        m.call.of[ROLE_WANTED] = (struct tensor){.present = false};
        m.given |= UINT64_C(1) << ROLE_IDS;
        float *gradient =
            device_case_give(&m, ROLE_D_GATES, DTYPE_F32, m.sample.T, m.sample.K, true);
        for (uint64_t g = 0; g < m.sample.T * m.sample.K; g++)
            gradient[g] = (float)rng_below(&m.rng, 17) / 16 - 0.5F;
        device_case_want(&m, ROLE_DST, DTYPE_F32, m.sample.T, m.call.of[ROLE_LOGITS].width);
        device_case_compare(&m, what);
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {cmocka_unit_test(routers_choose_as_the_host),
                                 cmocka_unit_test(gradients_are_the_hosts)};
    return device_case_main(tests, sizeof tests / sizeof *tests);
}
