/* base/pool: every task once, on any number of threads; many small jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/pool.h"

enum { TASKS = 1000 };

struct sums {
    unsigned done[TASKS];
    unsigned workers;
};

static void mark(void *arg, size_t task, unsigned worker)
{
    struct sums *sums = arg;
    sums->done[task] += worker < sums->workers ? 1 : 1000;
}

static void every_task_runs_once(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 5; n++) {
        struct pool *pool = pool_create(n);
        struct sums sums = {.workers = pool_size(pool)};
        for (unsigned job = 1; job <= 50; job++) {
            pool_run(pool, TASKS, mark, &sums);
            for (size_t i = 0; i < TASKS; i++)
                assert_int_equal(sums.done[i], job);
        }
        pool_free(pool);
    }
}

static void no_pool_is_the_caller(void **state)
{
    (void)state;
    struct sums sums = {.workers = 1};
    pool_run(NULL, TASKS, mark, &sums);
    pool_run(NULL, 0, mark, &sums);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(sums.done[i], 1);
    assert_int_equal(pool_size(NULL), 1);
    pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(no_pool_is_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
