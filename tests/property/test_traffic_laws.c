/* Bytes of every op follow from its operands and its kernel's row (work/list/traffic.h), FLOPs
 * of every product from its matrix: in lists of random plans of every stack, mode and path.
 * corpus/test_corpus holds the recorded plans to the same law. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "plan/schema/schema.h"
#include "support/drawn_plan.h"
#include "support/draws.h"
#include "support/listed.h"
#include "support/traffic_law.h"
#include "work/list/kernel.h"

enum { DRAWS = 480 };

static void check_plan(uint64_t seed, const struct plan *plan, struct traffic_tally *tally)
{
    struct listed l;
    if (!listed_plan(plan, &l))
        return;
    const char *broken = traffic_law_broken(&l.plan, &l.work, tally);
    if (broken)
        fail_msg("seed %" PRIu64 ", %s, %s, %s: %s", seed, words_stack[l.plan.stack.kind],
                 words_mode[l.plan.workload.mode], words_path[l.plan.moe.path], broken);
    arena_release(&l.arena);
}

static void bytes_are_those_of_operands(void **state)
{
    (void)state;
    struct traffic_tally tally = {0};
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        drawn_plan(seed, DRAWS, &plan);
        check_plan(seed, &plan, &tally);
    }
    printf("%zu ops, %zu exact, %zu said, %zu products\n", tally.ops, tally.exact, tally.said,
           tally.products);
    assert_int_equal(tally.exact + tally.said, tally.ops);
    assert_in_range(tally.said, 1, tally.ops / 8);
}

/* Every path, forward and backward, with what changes its kernels. */
static void bytes_of_every_path(void **state)
{
    (void)state;
    struct traffic_tally tally = {0};
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct plan plan;
        drawn_plan(seed, DRAWS, &plan);
        plan.moe.path = (enum moe_path)(1 + seed % (PATH_COUNT - 1));
        plan.model.moe.scale = seed / 3 % 2 ? GATE_PRE : plan.model.moe.scale;
        plan.moe.dedup = seed / 5 % 2;
        plan.moe.cores = 1 + seed / 7 % 2;
        plan.moe.skip_dynamic = seed / 11 % 2;
        check_plan(seed, &plan, &tally);
    }
    assert_int_equal(tally.exact + tally.said, tally.ops);
}

/* Where a product says that it reads one byte. */
static void bytes_that_are_missing_are_found(void **state)
{
    (void)state;
    unsigned found = 0;
    for (uint64_t seed = 1; seed <= 64; seed++) {
        struct plan plan;
        struct listed l;
        struct traffic_tally tally = {0};
        drawn_plan(seed, DRAWS, &plan);
        if (!listed_plan(&plan, &l))
            continue;
        for (size_t i = 0; i < l.work.n_ops; i++)
            if (l.work.ops[i].kernel == KERNEL_GEMM) {
                l.work.ops[i].bytes_read = size_const(&l.work.sizes, 1);
                found += traffic_law_broken(&l.plan, &l.work, &tally) != NULL;
                break;
            }
        arena_release(&l.arena);
    }
    assert_in_range(found, 8, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_operands),
        cmocka_unit_test(bytes_of_every_path),
        cmocka_unit_test(bytes_that_are_missing_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
