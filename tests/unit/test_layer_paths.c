/* Every path performed on local ranks: results, bytes and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "plan/schema.h"
#include "support/layer_case.h"

static const enum moe_path paths[] = {
    PATH_CAPACITY,    PATH_RAGGED_DOT,  PATH_RAGGED_A2A, PATH_DEEPEP,      PATH_DEEPEP_LL,
    PATH_RDEP,        PATH_BLOCKWISE,   PATH_SELECTIVE,  PATH_ALL_EXPERTS, PATH_MASKED,
    PATH_EXPERT_LOOP, PATH_CHUNKED_A2A, PATH_ALLGATHER,  PATH_BLOCK_SPARSE};

static void expect_all(const struct plan *plan, enum case_routing routing,
                       const struct case_options *options, uint64_t *hash)
{
    struct arena arena = {0};
    struct layer_sample sample;
    struct case_result result;
    struct err err = {0};
    case_sample(plan, routing, &arena, &sample);
    enum status status = case_run(plan, &sample, options, &result, &err);
    char name[128];
    snprintf(name, sizeof name, "%s, %s, %llu ranks", words_path[plan->moe.path],
             case_routing_name(routing), (unsigned long long)plan->parallel.ep);
    if (status != STATUS_OK)
        fail_msg("%s: %s", name, err.text);
    for (unsigned i = 0; i < result.checks.n; i++) {
        const struct check *check = &result.checks.check[i];
        if (!check->passed)
            fail_msg("%s: %s: error %g, tolerance %g: %s", name, check->name, check->error,
                     check->tolerance, check->detail);
    }
    assert_true(result.checks.n > 0);
    if (!result.counts_equal)
        fail_msg("%s: %s", name, result.mismatch);
    if (result.metered_bytes != result.predicted_bytes)
        fail_msg("%s: metered %llu bytes, predicted %llu", name,
                 (unsigned long long)result.metered_bytes,
                 (unsigned long long)result.predicted_bytes);
    *hash = result.out_hash;
    arena_release(&arena);
}

static void run_all(bool backward)
{
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++) {
        for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++) {
            for (uint64_t ranks = 1; ranks <= 8; ranks *= 2) {
                struct plan plan;
                uint64_t hash;
                if (backward && paths[p] == PATH_DEEPEP_LL)
                    continue;
                case_plan(&plan, paths[p], ranks);
                struct case_options options = {.backward = backward};
                expect_all(&plan, (enum case_routing)routing, &options, &hash);
            }
        }
    }
}

static void forward_passes_all_checks(void **state)
{
    (void)state;
    run_all(false);
}

static void backward_passes_all_checks(void **state)
{
    (void)state;
    run_all(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_passes_all_checks),
        cmocka_unit_test(backward_passes_all_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
