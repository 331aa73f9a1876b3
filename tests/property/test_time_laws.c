/* Laws of step times, on random plans of every stack: a step lies between its busiest resource
 * and everything in turn, its parts sum to it, and balanced routing is never slower than the
 * fullest rank of routing, which is what search prunes by. And a plan has one time, whoever
 * asks: predict, search or frontier. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/frontier/columns.h"
#include "sim/step/time.h"
#include "support/draws.h"
#include "support/shaped_plan.h"

enum { DRAWS = 300 };

/* Balanced routing; where a fuller rank's rounds hide more of each other, as a bound. */
static bool even_time(struct stepper *s, struct step_time *even)
{
    s->bound = s->plan.moe.overlap;
    bool timed = stepper_time(s, NULL, even);
    s->bound = false;
    return timed;
}

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
        even_time(&s, &even) && stepper_time(&s, routed ? &spread.expected : NULL, &full)) {
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
    draws_print(DRAWS);
    unsigned timed = plans_shaped_try(draws_of(DRAWS), 1, check);
    draws_reach("timed", timed, draws_of(DRAWS) / 3.0);
}

/* Each pass without gradients takes as long as the first, no longer than everything in turn,
 * and no less than one micro-batch needs to come through all stages; steps keep their bounds.
 */
static void check_passes(const struct plan *plan, uint64_t seed, unsigned *timed)
{
    struct arena arena = {0};
    struct err err = {0};
    struct profile profile;
    struct step_time times[3] = {{0}};
    bool all = true;
    assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
    for (unsigned i = 0; i < 3; i++) {
        struct stepper s = {0};
        struct plan asked = *plan;
        asked.workload.colocated.passes = i;
        all = all && stepper_build(&s, &asked, &profile, &arena, &err) == STATUS_OK &&
              stepper_time(&s, NULL, &times[i]);
        stepper_release(&s);
        const struct step_time *t = &times[i];
        if (all && (t->step_s < t->least_s * (1 - 1e-9) || t->step_s > t->most_s * (1 + 1e-9)))
            fail_msg("seed %d, %u passes: step %g, least %g, most %g", (int)seed, i, t->step_s,
                     t->least_s, t->most_s);
    }
    double one = times[1].step_s - times[0].step_s, two = times[2].step_s - times[0].step_s;
    double room = 1e-9 * times[2].step_s, first = times[0].first_s;
    bool trains = plan->workload.mode == MODE_TRAIN && plan->stack.kind != STACK_HOST;
    if (all && (trains ? one < first - room || one > times[0].step_s + room : one != 0))
        fail_msg("seed %d: a pass takes %g of a step of %g", (int)seed, one, times[0].step_s);
    if (all && fabs(two - 2 * one) > room)
        fail_msg("seed %d: a pass takes %g, two take %g", (int)seed, one, two);
    *timed += all && trains;
    arena_release(&arena);
}

static void passes_take_a_forward(void **state)
{
    (void)state;
    draws_print(DRAWS);
    unsigned timed = plans_shaped_try(draws_of(DRAWS), 1, check_passes);
    draws_reach("timed", timed, draws_of(DRAWS) / 10.0);
}

/* On the list that memory was evaluated on, numbers changed and changed back, a step takes what
 * it takes on a list of its own. */
static void check_shared(const struct plan *plan, uint64_t seed, unsigned *timed)
{
    struct arena arena = {0};
    struct err err = {0};
    struct profile profile;
    struct evaluator shared = {0}, alone = {0};
    assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
    for (uint64_t factor = 1; factor <= 3; factor++) {
        struct plan changed = *plan;
        struct evaluation result;
        struct step_time a = {0}, b = {0};
        changed.workload.micro_batch *= 1 + factor % 2;
        evaluate(&shared, &changed, 1, &result);
        if (!result.valid || plan->workload.mode == MODE_SERVE)
            continue;
        assert_ptr_equal(result.by, &shared);
        bool one = time_evaluated(&shared, &changed, &profile, &a);
        bool other = time_step(&alone, &changed, &profile, &b);
        if (one != other || (one && memcmp(&a, &b, sizeof a) != 0))
            fail_msg("seed %d, micro-batch %d: %.17g shared, %.17g alone", (int)seed,
                     (int)changed.workload.micro_batch, a.step_s, b.step_s);
        *timed += one;
    }
    evaluator_release(&shared);
    evaluator_release(&alone);
    arena_release(&arena);
}

static void shared_lists_time_alike(void **state)
{
    (void)state;
    draws_print(DRAWS);
    unsigned timed = plans_shaped_try(draws_of(DRAWS) / 2, 1, check_shared);
    draws_reach("timed", timed, draws_of(DRAWS) / 3.0);
}

/* Lists of layouts that differ in vpp alone are one: search evaluates all of them on the first.
 */
static void vpp_is_a_number(void **state)
{
    (void)state;
    unsigned timed = 0;
    draws_print(DRAWS);
    for (uint64_t seed = 1; seed <= draws_of(DRAWS); seed++) {
        struct arena arena = {0};
        struct err err = {0};
        struct profile profile;
        struct plan plan, other;
        struct stepper turned = {0}, built = {0};
        struct step_time a = {0}, b = {0};
        if (!plan_shaped(&plan, (enum stack_kind)(seed % STACK_COUNT), seed) ||
            plan.parallel.stages.n)
            continue;
        plan.parallel.vpp = 1;
        other = plan;
        other.parallel.vpp = 2;
        assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
        if (stepper_build(&turned, &plan, &profile, &arena, &err) == STATUS_OK) {
            assert_int_equal(stepper_build(&built, &other, &profile, &arena, &err), STATUS_OK);
            stepper_turn(&turned, &other);
            bool one = stepper_time(&turned, NULL, &a), two = stepper_time(&built, NULL, &b);
            if (one != two || (one && memcmp(&a, &b, sizeof a) != 0) ||
                turned.work.n_buffers != built.work.n_buffers ||
                memcmp(turned.values, built.values,
                       turned.work.sizes.n * sizeof *built.values) != 0)
                fail_msg("seed %d: %.17g turned, %.17g built", (int)seed, a.step_s, b.step_s);
            timed += one;
            stepper_release(&built);
        }
        stepper_release(&turned);
        arena_release(&arena);
    }
    draws_reach("timed", timed, draws_of(DRAWS) / 3.0);
}

/* Field `at` of a CSV row; the last one ends in a newline. */
static double field(const char *row, size_t at)
{
    while (at-- > 0)
        row = strchr(row, ',') + 1;
    return strtod(row, NULL);
}

/* What search says of a plan: its step, and tokens a second of a device. */
static bool search_says(struct evaluator *evaluator, const struct plan *plan,
                        const struct profile *profile, struct step_time *step, double *rate)
{
    struct serve_times times;
    if (plan->workload.mode == MODE_SERVE) {
        bool timed = time_serve(evaluator, plan, profile, step, &times);
        *rate = timed ? times.tokens_per_s /
                            (double)(plan->cluster.nodes * plan->cluster.node.devices)
                      : 0;
        return timed;
    }
    bool timed = time_step(evaluator, plan, profile, step);
    *rate = timed ? time_tokens_per_s_per_device(plan, step) : 0;
    return timed;
}

/* The same plan by predict, by what search asks, and as a frontier's row. */
static void ask_all(const struct plan *plan, uint64_t seed, unsigned *timed)
{
    enum { TOKENS = 5, COLUMN = 8, ROOM = 4096 };
    struct arena arena = {0};
    struct err err = {0};
    struct profile profile;
    struct evaluator evaluator = {0};
    struct step_time searched;
    double rate;
    struct prediction predicted;
    struct evaluation result;
    assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
    const struct time_ask ask = {.profile = &profile};
    const struct predict_options options = {.time = &ask};
    const char *const keys[] = {"time.step_s", "time.layer.forward_s"};
    struct frontier_csv csv;
    struct frontier_columns columns;
    frontier_csv_init(&csv, NULL, 0, &arena);
    csv.timed = plan;
    csv.profile = &profile;
    assert_int_equal(frontier_columns_init(&columns, &csv, keys, 2, &err), STATUS_OK);
    evaluate(&evaluator, plan, 1, &result);
    if (result.valid && predict(plan, &options, &arena, &predicted, &err) == STATUS_OK &&
        search_says(&evaluator, plan, &profile, &searched, &rate)) {
        char row[ROOM] = "";
        const size_t indices[SWEEP_AXES] = {0};
        const struct time_report *time = &predicted.time;
        size_t n = frontier_columns_row(&columns, indices, plan, &result, row, ROOM - 1);
        row[n] = '\0';
        if (searched.step_s != time->step_s || rate != time->tokens_per_s_per_device)
            fail_msg("seed %d: search %.17g, predict %.17g", (int)seed, searched.step_s,
                     time->step_s);
        if (field(row, TOKENS) != rate || field(row, COLUMN) != time->step_s ||
            field(row, COLUMN + 1) != time->layer.at.forward_s)
            fail_msg("seed %d: predict %.17g, %.17g, row %s", (int)seed, time->step_s,
                     time->layer.at.forward_s, row);
        ++*timed;
    }
    evaluator_release(&evaluator);
    arena_release(&arena);
}

static void one_plan_has_one_time(void **state)
{
    (void)state;
    draws_print(DRAWS);
    unsigned timed = plans_shaped_try(draws_of(DRAWS), 3, ask_all);
    draws_reach("timed", timed, draws_of(DRAWS) / 10.0);
}

/* The decode step of all requests that are held, at the context of the mean one. */
static void ask_served(const struct plan *plan, uint64_t seed, unsigned *timed)
{
    struct plan sampled = *plan;
    sampled.moe.routing.samples = seed % 4 ? 5 : 40;
    ask_all(&sampled, seed, timed);
}

static void a_served_plan_has_one_time(void **state)
{
    (void)state;
    unsigned timed = plans_served_try(draws_of(DRAWS), 3, ask_served);
    draws_reach("timed", timed, draws_of(DRAWS) / 10.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_keep_their_bounds),
                                       cmocka_unit_test(passes_take_a_forward),
                                       cmocka_unit_test(shared_lists_time_alike),
                                       cmocka_unit_test(vpp_is_a_number),
                                       cmocka_unit_test(one_plan_has_one_time),
                                       cmocka_unit_test(a_served_plan_has_one_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
