/* Laws of memory on random plans, for every path and for the stacks that serve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/memory/verdict.h"
#include "support/random_plan.h"
#include "support/shaped_plan.h"
#include "work/stack/stack.h"

enum { SEEDS = 64, SUBJECTS = 320 }; /* drawn; lists that must be valid of them */

static const enum stack_kind stacks[] = {STACK_GENERIC, STACK_VLLM, STACK_SGLANG, STACK_NXD};

/* A plan's list with its values and peak; valid false when the stack refuses or sizes overflow
 * (the plan is then no subject of these laws). */
struct case_ {
    struct arena arena;
    struct work work;
    struct slots slots;
    uint64_t *values;
    struct memory_peak peak;
    unsigned schedule;
    bool valid;
};

static void evaluate_case(const struct plan *plan, struct case_ *c)
{
    struct err err = {0};
    memset(c, 0, sizeof *c);
    if (work_build(plan, &c->arena, &c->work, &err) != STATUS_OK)
        return;
    slots_from_plan(plan, &c->slots);
    c->values = arena_alloc(&c->arena, c->work.sizes.n, sizeof *c->values);
    c->valid = verdict_evaluate(plan, &c->work, &c->slots, c->values, &c->peak, &c->schedule) &&
               c->peak.total_bytes < UINT64_MAX / 8;
    if (c->valid)
        memory_explain(&c->work, c->values, c->schedule, &c->peak);
}

static uint64_t total_of(const struct plan *plan)
{
    struct case_ c;
    evaluate_case(plan, &c);
    uint64_t total = c.valid ? c.peak.total_bytes : UINT64_MAX;
    arena_release(&c.arena);
    return total;
}

/* The plan of a seed on one stack, small, as the stack builds it; its path is the caller's. */
static struct plan draw(uint64_t seed, enum stack_kind kind)
{
    struct plan plan;
    enum mode mode = kind == STACK_GENERIC && seed % 3 == 0 ? MODE_TRAIN
                     : seed % 2                             ? MODE_PREFILL
                                                            : MODE_DECODE;
    assert_true(plan_built(&plan, kind, mode, seed));
    return plan;
}

/* The peak is the worst moment, and its categories add up to it. */
static void check_moments(const struct case_ *c, uint64_t seed, enum moe_path path)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < CATEGORY_COUNT; i++)
        sum += c->peak.category[i];
    if (sum != c->peak.total_bytes)
        fail_msg("seed %llu path %d: categories %llu, total %llu", (unsigned long long)seed,
                 (int)path, (unsigned long long)sum, (unsigned long long)c->peak.total_bytes);
    for (size_t i = 0; i < c->work.n_ticks; i++) {
        struct memory_peak moment = {.segment = c->work.ticks[i].segment, .tick = (uint16_t)i};
        if (!c->values[c->work.use[moment.segment].repeat.node])
            continue;
        uint64_t bytes = 0;
        for (size_t j = 0; j < c->work.n_buffers; j++)
            bytes += memory_bytes_at_peak(&c->work, c->values, &c->work.buffers[j], c->schedule,
                                          &moment);
        if (bytes > c->peak.total_bytes)
            fail_msg("seed %llu path %d: op %zu '%s' holds %llu, the peak is %llu",
                     (unsigned long long)seed, (int)path, i, c->work.ticks[i].name,
                     (unsigned long long)bytes, (unsigned long long)c->peak.total_bytes);
    }
}

static void peak_is_the_worst_moment(void **state)
{
    (void)state;
    size_t valid = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct plan drawn = draw(seed, stacks[seed % 4]);
        for (int path = PATH_CAPACITY; path < PATH_COUNT; path++) {
            struct plan plan = drawn;
            plan.moe.path = (enum moe_path)path;
            struct case_ c;
            evaluate_case(&plan, &c);
            if (c.valid)
                check_moments(&c, seed, (enum moe_path)path);
            valid += c.valid;
            arena_release(&c.arena);
        }
    }
    print_message("%zu of %d lists are valid\n", valid, SEEDS * (PATH_COUNT - PATH_CAPACITY));
    assert_true(valid > SUBJECTS);
}

/* Twice the micro-batch never needs less; the worst case never less than the balanced one.
 * Without pipeline stages: a larger micro-batch means fewer of them in flight. */
static void more_never_needs_less(void **state)
{
    (void)state;
    size_t compared = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct plan drawn = draw(seed, stacks[seed % 4]);
        for (int path = PATH_CAPACITY; path < PATH_COUNT; path++) {
            struct plan plan = drawn;
            plan.moe.path = (enum moe_path)path;
            plan.moe.buffer = SIZING_BALANCED;
            if (plan.parallel.pp > 1 || plan.model.moe.top_k > plan.model.moe.experts)
                continue;
            uint64_t one = total_of(&plan);
            struct plan twice = plan, worst = plan;
            twice.workload.micro_batch *= 2;
            worst.moe.buffer = SIZING_WORST;
            uint64_t two = total_of(&twice), most = total_of(&worst);
            if (one == UINT64_MAX || two == UINT64_MAX || most == UINT64_MAX)
                continue;
            if (two < one || most < one)
                fail_msg("seed %llu path %d stack %d: balanced %llu, twice %llu, worst %llu",
                         (unsigned long long)seed, path, (int)plan.stack.kind,
                         (unsigned long long)one, (unsigned long long)two,
                         (unsigned long long)most);
            compared++;
        }
    }
    print_message("%zu compared\n", compared);
    assert_true(compared > SEEDS);
}

/* Twice the MoE layers hold twice their saved tensors, beside the same transients. */
static void layers_double_what_they_save(void **state)
{
    (void)state;
    for (int path = PATH_CAPACITY; path < PATH_COUNT; path++) {
        if (path == PATH_SELECTIVE || path == PATH_FUSED)
            continue;
        struct plan plan;
        plan_tiny(&plan);
        plan.moe.path = (enum moe_path)path;
        plan.parallel.ep = 8;
        plan.model.dense_layers = 0;
        plan.recompute.kind = RECOMPUTE_NONE;
        uint64_t saved[2] = {0, 0}, transient[2] = {0, 0};
        for (unsigned i = 0; i < 2; i++) {
            struct case_ c;
            evaluate_case(&plan, &c);
            assert_true(c.valid);
            for (size_t j = 0; j < c.work.n_buffers; j++) {
                const struct buffer *buffer = &c.work.buffers[j];
                uint64_t bytes = memory_buffer_bytes(&c.work, c.values, buffer);
                if (buffer->segment == SEGMENT_MOE)
                    *(buffer->life == LIFE_SAVED ? &saved[i] : &transient[i]) += bytes;
            }
            plan.model.layers *= 2;
            arena_release(&c.arena);
        }
        assert_true(saved[0] > 0 && saved[1] == 2 * saved[0]);
        assert_true(transient[1] == transient[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_is_the_worst_moment),
        cmocka_unit_test(more_never_needs_less),
        cmocka_unit_test(layers_double_what_they_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
