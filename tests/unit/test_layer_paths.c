/* Every path performed on local ranks: results, bytes and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "support/layer_case.h"

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
    case_expect(&result, name);
    *hash = result.out_hash;
    arena_release(&arena);
}

static void run_all(bool backward)
{
    for (size_t p = 0; p < CASE_PATHS; p++) {
        for (unsigned routing = 0; routing < CASE_ROUTINGS; routing++) {
            for (uint64_t ranks = 1; ranks <= 8; ranks *= 2) {
                struct plan plan;
                uint64_t hash;
                if (backward && case_paths[p] == PATH_DEEPEP_LL)
                    continue;
                case_plan(&plan, case_paths[p], ranks);
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
