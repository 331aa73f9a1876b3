/* See played.h. */
#include "support/played.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

const struct step_costs played_costs = {
    .decode = {.n = 1, .x = {1}, .y = {0.01}},
    .prefill = {.n = 2, .x = {0, 1000}, .y = {0, 1}},
};

struct scheduler_result played(const struct scheduler_ask *ask, struct arena *arena)
{
    struct scheduler_result result;
    scheduler_play(ask, arena, &result);
    assert_int_equal(result.n, ask->requests);
    scheduler_sort(&result);
    return result;
}

void assert_close(double found, double expected, double off)
{
    if (!(fabs(found - expected) <= off))
        fail_msg("%.12g, expected %.12g", found, expected);
}
