/* What a search tries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/schema/schema.h"
#include "sim/search/search.h"
#include "support/catalogue.h"
#include "support/random_plan.h"

static void assert_values(const struct search_space *space, enum search_key key, size_t n,
                          const double *values)
{
    assert_int_equal(space->n[key], n);
    for (size_t i = 0; i < n; i++)
        assert_true(space->value[key][i] == values[i]);
}

static void test_seed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct search_space space;
    catalogue_plan("deepseek-v3", "mi355x-8x8", "maxtext", &arena, &plan);
    plan.workload.micro_batch = 9; /* not among the powers of two */
    search_space_default(&plan, &space);
    assert_values(&space, SEARCH_TP, 4, (double[]){1, 2, 4, 8});         /* inside a node */
    assert_values(&space, SEARCH_PP, 6, (double[]){1, 2, 4, 8, 16, 32}); /* 61 layers */
    assert_values(&space, SEARCH_EP, 7, (double[]){1, 2, 4, 8, 16, 32, 64});
    assert_values(&space, SEARCH_ZERO, 4, (double[]){0, 1, 2, 3});
    assert_values(&space, SEARCH_MICRO_BATCH, 8, (double[]){1, 2, 4, 8, 9, 16, 32, 64});
    arena_release(&arena);
}

/* Serving has no recomputation, no sharded optimizer and no context parallelism to choose. */
static void test_serving(void **state)
{
    (void)state;
    struct plan plan;
    struct search_space space;
    plan_tiny(&plan);
    plan.workload.mode = MODE_DECODE;
    search_space_default(&plan, &space);
    assert_int_equal(space.n[SEARCH_ZERO], 1);
    assert_int_equal(space.n[SEARCH_RECOMPUTE], 1);
    assert_int_equal(space.n[SEARCH_CP], 1);
}

/* Every key can be set and read back, and is a key of the plan file. */
static void test_keys(void **state)
{
    (void)state;
    struct plan plan;
    plan_tiny(&plan);
    for (unsigned key = 0; key < SEARCH_KEYS; key++) {
        const struct field *field = schema_find(search_key_full((enum search_key)key));
        assert_non_null(field);
        search_set(&plan, (enum search_key)key, 2);
        assert_true(search_get(&plan, (enum search_key)key) == 2);
        assert_true(schema_number(field, &plan) == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_serving),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
