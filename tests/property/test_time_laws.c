/* Laws of step times, on random plans of every stack: a step lies between its busiest resource
 * and everything in turn, its parts sum to it, and balanced routing is never slower than the
 * fullest rank of routing, which is what search prunes by. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/time.h"
#include "support/shaped_plan.h"

enum { DRAWS = 300 };

static void check(const struct plan *plan, uint64_t seed, unsigned *timed)
{
    struct arena arena = {0};
    struct err err = {0};
    struct profile profile;
    struct stepper s = {0};
    struct demand_spread spread;
    struct step_time even, full;
    bool routed;
    assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
    if (stepper_build(&s, plan, &profile, &arena, &err) == STATUS_OK &&
        time_demand(plan, &s.pricing.rates, NULL, &arena, &spread, &routed, &err) ==
            STATUS_OK &&
        stepper_time(&s, NULL, &even) &&
        stepper_time(&s, routed ? &spread.expected : NULL, &full)) {
        double sum = 0;
        for (unsigned i = 0; i < TIME_PARTS; i++)
            sum += full.part_s[i];
        if (fabs(sum - full.step_s) > 1e-9 * full.step_s ||
            full.step_s < full.least_s * (1 - 1e-9) || full.step_s > full.most_s * (1 + 1e-9))
            fail_msg("seed %d: step %g, parts %g, least %g, most %g", (int)seed, full.step_s,
                     sum, full.least_s, full.most_s);
        if (even.step_s > full.step_s * (1 + 1e-9))
            fail_msg("seed %d, stack %d, path %d: even %.9g, full %.9g", (int)seed,
                     (int)plan->stack.kind, (int)plan->moe.path, even.step_s, full.step_s);
        ++*timed;
    }
    stepper_release(&s);
    arena_release(&arena);
}

static void steps_keep_their_bounds(void **state)
{
    (void)state;
    unsigned timed = 0;
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        struct plan plan;
        if (!plan_shaped(&plan, (enum stack_kind)(seed % STACK_COUNT), seed))
            continue;
        plan.moe.routing.samples = 5;
        check(&plan, seed, &timed);
    }
    assert_in_range(timed, DRAWS / 3, DRAWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_keep_their_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
