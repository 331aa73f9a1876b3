/* sim/memory/address: what 32-bit indices and libraries cannot reach. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/memory/address.h"
#include "support/plans.h"
#include "work/stack/stack.h"

static void add(struct work *work, const char *name, uint64_t rows, uint64_t columns,
                enum life life, uint64_t addressable)
{
    struct sizes *s = &work->sizes;
    work_buffer(work, (struct buffer){.name = name,
                                      .segment = SEGMENT_MOE,
                                      .dtype = DTYPE_BF16,
                                      .n_dims = 2,
                                      .dims = {size_const(s, rows), size_const(s, columns)},
                                      .life = life,
                                      .state = life == LIFE_PERSISTENT,
                                      .addressable_bytes = addressable});
}

/* 2^31 - 1 elements are the last that an int counts; weights are not asked. */
static void first_beyond_int(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct work work;
    struct plan plan = plan_small(1);
    work_init(&work, &arena);
    add(&work, "weights", 1 << 20, 1 << 20, LIFE_PERSISTENT, 0);
    add(&work, "last", INT32_MAX, 1, LIFE_TRANSIENT, 0);
    const uint64_t *values = plan_evaluate(&plan, &arena, &work);
    assert_null(address_beyond_int(&work, values, 0));
    add(&work, "beyond", 1 << 16, 1 << 15, LIFE_SAVED, 0);
    add(&work, "later", 1 << 20, 1 << 20, LIFE_TRANSIENT, 0);
    values = plan_evaluate(&plan, &arena, &work);
    assert_string_equal(address_beyond_int(&work, values, 0)->name, "beyond");
    assert_true(address_elements(&work.buffers[3], values) == 1ull << 40);
    arena_release(&arena);
}

static void first_beyond_its_library(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct work work;
    struct plan plan = plan_small(1);
    work_init(&work, &arena);
    add(&work, "no limit", 1 << 20, 1 << 20, LIFE_TRANSIENT, 0);
    add(&work, "just reached", 1 << 10, 1 << 10, LIFE_TRANSIENT, 2 << 20);
    work_index(&work);
    const uint64_t *values = plan_evaluate(&plan, &arena, &work);
    assert_null(address_beyond_library(&work, values, 0));
    add(&work, "passed", 1 << 10, 1 << 10, LIFE_TRANSIENT, (2 << 20) - 1);
    work.buffers[2].schedules = 2; /* exists in schedule 1 only */
    work_index(&work);
    values = plan_evaluate(&plan, &arena, &work);
    assert_null(address_beyond_library(&work, values, 0));
    assert_string_equal(address_beyond_library(&work, values, 1)->name, "passed");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_beyond_int),
        cmocka_unit_test(first_beyond_its_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
