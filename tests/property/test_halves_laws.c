/* Laws of steps that engines run as two halves, on drawn deployments: no slower than both
 * halves one after the other, no quicker than the busiest resource, no quicker than what search
 * bounds them by. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "plan/halves.h"
#include "sim/step/time.h"
#include "sim/time/step_floor.h"
#include "support/draws.h"
#include "support/timed.h"

enum { DRAWS = 60 };

static const char plan_text[] =
    "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\n"
    "workload: {mode: decode, micro_batch: 64, context_length: 4096}\n"
    "parallel: {tp: 1, ep: 16}\nmoe: {path: deepep_ll, overlap: true, dispatch_sms: 0}\n"
    "precision: {weights: fp8_block, dispatch: fp8_block, kv_cache: bf16}\n";

static const char *of(struct rng *rng, const char *const *list, size_t n)
{
    return list[rng_below(rng, n)];
}

#define OF(rng, list) of(rng, list, sizeof(list) / sizeof *(list))

/* Settings of a deployment whose steps are halves. */
static const char *draw(struct rng *rng, struct arena *arena)
{
    static const char *const stacks[] = {"vllm", "sglang"};
    static const char *const models[] = {"deepseek-v3", "qwen3-30b-a3b", "qwen3-235b-a22b"};
    static const char *const clusters[] = {"h200-8x2", "h100-8x2", "b200-8x2"};
    static const char *const paths[] = {"deepep", "deepep_ll"};
    static const char *const laws[] = {"uniform", "zipf", "lognormal"};
    bool prompts = rng_below(rng, 2), sglang = rng_below(rng, 2);
    const char *path = prompts && sglang ? "deepep" : OF(rng, paths);
    uint64_t sequences = prompts ? 1 + rng_below(rng, 5) : 32 + rng_below(rng, 200);
    return arena_printf(
        arena,
        "stack=%s model=%s cluster=%s moe.path=%s moe.routing.distribution=%s "
        "workload.mode=%s workload.micro_batch=%u workload.sequence_length=%u stack.graphs=%s",
        stacks[sglang], OF(rng, models), OF(rng, clusters), path, OF(rng, laws),
        prompts ? "prefill" : "decode", (unsigned)sequences,
        (unsigned)(512 * (1 + rng_below(rng, 8))), prompts ? "none" : "auto");
}

/* The step of a half as a plan of its own, on its share of the demand. */
static double alone_s(const struct timed *t, unsigned half)
{
    struct err err = {0};
    struct stepper s = {.routing = NULL};
    struct step_time step;
    struct arena arena = {0};
    static struct plan plan;
    plan_half(&t->s.plan, half, &plan);
    assert_int_equal(stepper_build(&s, &plan, &t->profile, &arena, &err), STATUS_OK);
    s.slots.value[SLOT_ATTENDED] = t->s.slots.value[SLOT_ATTENDED];
    assert_true(stepper_time(&s, NULL, &step));
    stepper_release(&s);
    arena_release(&arena);
    return step.step_s;
}

/* What search knows of it before it times it. */
static double floor_s(struct timed *t)
{
    struct step_floor floor;
    struct floor_chunks chunks;
    assert_true(step_floor_of(&t->s, FLOOR_WHOLE, &floor));
    floor_chunks_of(&t->s.plan, &t->arena, &chunks);
    return step_floor_s(&floor, &t->s.plan, &chunks);
}

static void steps_keep_their_bounds(void **state)
{
    unsigned halves = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= DRAWS; seed++) {
        struct arena arena = {0};
        struct rng rng;
        struct timed t;
        struct demand_spread spread;
        struct step_time full, bound;
        struct err err = {0};
        bool routed;
        rng_init(&rng, draws_seed(seed), 3, 0, 0, 0);
        const char *set = draw(&rng, &arena);
        timed_open(&t, plan_text, set);
        double s = t.step.step_s, both = alone_s(&t, 0) + alone_s(&t, 1);
        halves += t.s.halves;
        if (t.s.halves && s > both * (1 + 1e-9))
            fail_msg("%s: %.9g s, halves %.9g", set, s, both);
        if (s < t.step.least_s * (1 - 1e-9) || s > t.step.most_s * (1 + 1e-9))
            fail_msg("%s: %.9g s, bounds %.9g and %.9g", set, s, t.step.least_s, t.step.most_s);
        t.plan.moe.routing.samples = 8;
        assert_int_equal(
            time_demand(&t.s.plan, &t.s.pricing.rates, NULL, &arena, &spread, &routed, &err),
            STATUS_OK);
        assert_true(stepper_time(&t.s, routed ? &spread.expected : NULL, &full));
        t.s.bound = true;
        assert_true(stepper_time(&t.s, NULL, &bound));
        if (bound.step_s > full.step_s * (1 + 1e-9))
            fail_msg("%s: bound %.9g s, fullest rank %.9g", set, bound.step_s, full.step_s);
        double least = floor_s(&t);
        if (least > fmin(s, full.step_s) * (1 + 1e-9))
            fail_msg("%s: %.9g s, fullest rank %.9g, floor %.9g", set, s, full.step_s, least);
        timed_close(&t);
        arena_release(&arena);
    }
    assert_true(halves > DRAWS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_keep_their_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
