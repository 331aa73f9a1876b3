/* The order of bounds is that of a whole sort, however little of it is asked for at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "sim/search/search_parts.h"

enum { MOST = 2000, DRAWS = 200 };

static int by_rank(const void *a, const void *b)
{
    const struct search_candidate *x = a, *y = b;
    if (x->seconds < y->seconds || x->seconds > y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    if (x->least_bytes != y->least_bytes)
        return x->least_bytes < y->least_bytes ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

/* Many are equal but for their number. */
static size_t draw(struct rng *rng, struct search_candidate out[MOST])
{
    size_t n = 1 + (size_t)rng_below(rng, MOST);
    uint64_t values = 1 + rng_below(rng, 50);
    for (size_t i = 0; i < n; i++)
        out[i] = (struct search_candidate){.seconds = (double)rng_below(rng, values),
                                           .least_bytes = rng_below(rng, values),
                                           .number = (i * 7919) % 1000003};
    return n;
}

static void asked_for_in_parts(void **state)
{
    (void)state;
    static struct search_candidate candidates[MOST], sorted[MOST];
    struct rng rng;
    rng_init(&rng, 1, 0, 0, 0, 0);
    for (unsigned i = 0; i < DRAWS; i++) {
        size_t n = draw(&rng, candidates);
        memcpy(sorted, candidates, sizeof sorted);
        qsort(sorted, n, sizeof *sorted, by_rank);
        for (size_t at = 0, end; at < n; at = end) {
            end = at + 1 + (size_t)rng_below(&rng, n - at);
            search_order_first(candidates + at, n - at, end - at);
        }
        for (size_t at = 0; at < n; at++)
            assert_int_equal(candidates[at].number, sorted[at].number);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_for_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
