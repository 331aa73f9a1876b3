/* Plans whose prefill is apart, through the library: searches and sweeps of both pools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/moeplan.h"
#include "lib/value.h"

static const char text[] =
    "model: qwen3-30b-a3b\ncluster: h200-2x1\nstack: sglang\n"
    "workload: {mode: serve, input_length: 3000, output_length: 500, concurrency: 256,\n"
    "           deployments: {prefill: 2, decode: 1}}\n"
    "parallel: {tp: 2}\nprefill: {cluster: {node: {devices: 2}}, parallel: {tp: 1}}\n";

static struct moeplan_plan *open_apart(void)
{
    struct moeplan_plan *plan = NULL;
    struct moeplan_error error;
    if (moeplan_open_text("apart.yaml", text, sizeof text - 1, &plan, &error) != MOEPLAN_OK)
        fail_msg("%s", error.text);
    return plan;
}

static double real_of(const char *json, const char *name)
{
    const char *at = value_find(json, name);
    assert_non_null(at);
    return strtod(at, NULL);
}

/* Pairs of both pools; a fixed key of either is kept, and the best is on the Pareto set. */
static void a_search_lays_both_pools_out(void **state)
{
    (void)state;
    static const char *const fixed[] = {"prefill.tp=2", "tp=1"};
    const struct moeplan_search search = {.fixed = fixed, .n_fixed = 2, .best = 2};
    struct moeplan_plan *plan = open_apart();
    struct moeplan_error error;
    char *json = NULL;
    if (moeplan_find(plan, &search, &json, NULL, &error) != MOEPLAN_OK)
        fail_msg("%s", error.text);
    assert_true(value_length(value_find(json, "best")) > 0);
    assert_true(value_length(value_find(json, "pareto")) > 0);
    const char *set = value_find(json, "best.0.set");
    assert_non_null(strstr(set, "\"prefill.parallel.tp\": 2"));
    assert_non_null(strstr(set, "\"parallel.tp\": 1"));
    assert_true(real_of(json, "best.0.prefill.deployments") == 2);
    assert_true(real_of(json, "best.0.device_s_per_token") ==
                real_of(json, "pareto.0.device_s_per_token"));
    moeplan_free(json);
    const struct moeplan_search memory = {.objective = "memory"};
    assert_int_equal(moeplan_find(plan, &memory, &json, NULL, &error), MOEPLAN_USAGE);
    moeplan_close(plan);
}

/* ---- sweeps ---- */

enum { POINTS = 8 };

struct swept {
    size_t n;
    uint64_t bytes[POINTS];
    char values[POINTS][3][16];
};

static int keep(void *context, const struct moeplan_point *point)
{
    struct swept *swept = context;
    assert_true(swept->n < POINTS && point->n_values == 3);
    for (size_t i = 0; i < 3; i++)
        strncpy(swept->values[swept->n][i], point->values[i], 15);
    swept->bytes[swept->n++] = point->total_bytes;
    return 0;
}

/* Keys of both, of one and of requests together: each point is its plan by itself. */
static void a_sweep_of_either_pool_is_its_plans(void **state)
{
    (void)state;
    static const char *const keys[] = {"workload.input_length",
                                       "prefill.workload.max_num_batched_tokens",
                                       "workload.deployments.decode"};
    static const char *const overs[] = {"workload.input_length=1000,30000",
                                        "prefill.workload.max_num_batched_tokens=1024,16384",
                                        "workload.deployments.decode=1,3"};
    const struct moeplan_axes axes = {.overs = overs, .n_overs = 3};
    struct moeplan_plan *plan = open_apart();
    struct moeplan_error error;
    struct swept swept = {.n = 0};
    if (moeplan_sweep(plan, &axes, keep, &swept, &error) != MOEPLAN_OK)
        fail_msg("%s", error.text);
    assert_int_equal(swept.n, POINTS);
    for (size_t i = 0; i < swept.n; i++) {
        const struct moeplan_options fast = {.flags = MOEPLAN_FAST};
        struct moeplan_plan *own = open_apart();
        struct moeplan_result *result;
        uint64_t bytes;
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(moeplan_set(own, keys[k], swept.values[i][k], NULL), MOEPLAN_OK);
        if (moeplan_predict(own, &fast, &result, &error) != MOEPLAN_OK)
            fail_msg("%s", error.text);
        assert_true(moeplan_result_count(result, "memory.total_bytes", &bytes));
        assert_true(swept.bytes[i] == bytes);
        moeplan_result_free(result);
        moeplan_close(own);
    }
    moeplan_close(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_lays_both_pools_out),
        cmocka_unit_test(a_sweep_of_either_pool_is_its_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
