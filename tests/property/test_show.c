/* plan/read/show: what is printed loads again to the same plan, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "plan/read/show.h"
#include "support/random_plan.h"

static void assert_same(const struct plan *a, const struct plan *b, struct arena *arena)
{
    size_t n;
    const struct field *fields = schema_fields(&n);
    for (size_t i = 0; i < n; i++) {
        struct text first = {.arena = arena}, second = {.arena = arena};
        schema_print(&fields[i], a, &first);
        schema_print(&fields[i], b, &second);
        if (!text_equal(text_string(&first), text_string(&second)))
            print_error("%s: %s, again %s\n", fields[i].key, text_string(&first),
                        text_string(&second));
        assert_string_equal(text_string(&first), text_string(&second));
    }
    assert_memory_equal(a, b, sizeof *a);
}

static void assert_reads_back(const struct plan *plan)
{
    struct arena arena = {0};
    struct err err = {0};
    struct text text = {.arena = &arena};
    static struct plan again;
    plan_print(plan, &text);
    enum status status = plan_load_text("show.yaml", text.data, text.length, NULL, 0, &arena,
                                        &again, NULL, &err);
    if (status != STATUS_OK)
        print_error("%s\n%s: %s\n", text_string(&text), err.where, err.text);
    assert_int_equal(status, STATUS_OK);
    assert_same(plan, &again, &arena);
    arena_release(&arena);
}

static void random_plans_read_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        static struct plan plan;
        plan_random(&plan, seed);
        print_message("%s", seed % 100 ? "" : "seeds to here passed\n");
        assert_reads_back(&plan);
    }
}

/* A plan of names, loaded, printed, loaded. */
static void catalogue_plans_read_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{model: deepseek-v3, cluster: mi355x-8x8, stack: maxtext, parallel: {ep: 8, zero: 3}}",
        "{model: deepseek-v3, cluster: h200-8x4, recompute: {save: [a]}, moe: {buffer: 1.5}}",
        "{model: llama4-maverick, cluster: h100-8x2, workload: {mode: decode}}",
        "{model: {base: gpt-oss-20b, layers: 12}, cluster: {base: h200, nodes: 1}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct arena arena = {0};
        struct err err = {0};
        static struct plan plan;
        plan_load_text("plan.yaml", texts[i], strlen(texts[i]), NULL, 0, &arena, &plan, NULL,
                       &err);
        assert_string_equal(err.text, "");
        assert_reads_back(&plan);
        arena_release(&arena);
    }
}

enum { DRAWS = 60 };

static bool ever_differs(const struct field *field, const struct plan *small,
                         const struct plan *plans, struct arena *arena)
{
    for (size_t i = 0; i < DRAWS; i++) {
        struct text first = {.arena = arena}, second = {.arena = arena};
        schema_print(field, small, &first);
        schema_print(field, &plans[i], &second);
        if (!text_equal(text_string(&first), text_string(&second)))
            return true;
    }
    return false;
}

/* Random plans must differ from the small one in most keys, or the test above says little. */
static void random_plans_are_varied(void **state)
{
    (void)state;
    static struct plan small, plans[DRAWS];
    struct arena arena = {0};
    size_t n, changed = 0;
    const struct field *fields = schema_fields(&n);
    plan_tiny(&small);
    for (size_t i = 0; i < DRAWS; i++)
        plan_random(&plans[i], i + 1);
    for (size_t i = 0; i < n; i++)
        changed += ever_differs(&fields[i], &small, plans, &arena);
    print_message("%zu of %zu keys change\n", changed, n);
    assert_true(changed * 10 >= n * 9);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans_read_back),
        cmocka_unit_test(catalogue_plans_read_back),
        cmocka_unit_test(random_plans_are_varied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
