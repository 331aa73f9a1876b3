/* What a stack lists as held through a whole step (stack_system.state) is a part of its list,
 * buffer by buffer in the same order: on drawn plans of every stack that says so. A plan whose
 * state alone is too large is then too large (sim/search/fix_known). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "plan/rule/rule.h"
#include "sim/memory/verdict.h"
#include "support/draws.h"
#include "support/random_plan.h"
#include "work/stack/stack.h"

enum { SEEDS = 1920, VARIED = 8 };

static const double LEAST = 0.03;

/* A tiny plan of one stack after the other, some keys otherwise. */
static void draw_plan(uint64_t seed, struct plan *plan)
{
    static const enum stack_kind trains[] = {STACK_MEGATRON,   STACK_MAXTEXT, STACK_FSDP,
                                             STACK_TORCHTITAN, STACK_PRIMUS,  STACK_DEEPSPEED};
    static const enum stack_kind all[] = {STACK_GENERIC, STACK_HOST, STACK_NXD};
    const size_t n_trains = sizeof trains / sizeof *trains, n_all = sizeof all / sizeof *all;
    const size_t at = seed % (n_trains + n_all);
    struct rng rng;
    rng_init(&rng, draws_seed(seed), 13, 0, 0, 0);
    plan_tiny(plan);
    plan->stack.kind = at < n_trains ? trains[at] : all[at - n_trains];
    plan->stack.static_shapes =
        plan->stack.kind == STACK_MAXTEXT || plan->stack.kind == STACK_NXD;
    if (plan->stack.kind == STACK_NXD)
        plan->model.hidden = 512; /* its kernels' multiple */
    for (unsigned i = 0; i < VARIED; i++)
        plan_vary(plan, &rng);
    plan->workload.mode = MODE_TRAIN;
    if (at >= n_trains && rng_u32(&rng) % 2)
        plan->workload.mode = rng_u32(&rng) % 2 ? MODE_DECODE : MODE_PREFILL;
}

struct listed {
    struct work work;
    uint64_t *values;
    uint64_t peak_bytes;
};

static bool measure(const struct plan *plan, struct arena *arena, struct listed *list)
{
    struct slots slots;
    struct memory_peak peak;
    unsigned schedule;
    list->values = arena_alloc(arena, list->work.sizes.n, sizeof *list->values);
    slots_from_plan(plan, &slots);
    if (!verdict_evaluate(plan, &list->work, &slots, list->values, &peak, &schedule))
        return false;
    list->peak_bytes = peak.total_bytes;
    slots_set_stage(plan, plan->parallel.stage ? plan->parallel.stage - 1 : 0, 0, &slots);
    return sizes_eval(&list->work.sizes, &slots, list->values);
}

static bool is_same(const struct listed *a, const struct buffer *x, const struct listed *b,
                    const struct buffer *y)
{
    return strcmp(x->name, y->name) == 0 && x->category == y->category &&
           x->dtype == y->dtype && x->life == y->life && x->state == y->state &&
           a->values[x->bytes.node] == b->values[y->bytes.node] &&
           a->values[x->count.node] == b->values[y->count.node];
}

/* How many buffers the state has; each of them stands in the whole list. */
static size_t check(uint64_t seed, const struct listed *state, const struct listed *whole)
{
    size_t at = 0;
    for (size_t i = 0; i < state->work.n_buffers; i++) {
        const struct buffer *held = &state->work.buffers[i];
        while (at < whole->work.n_buffers &&
               !is_same(state, held, whole, &whole->work.buffers[at]))
            at++;
        if (at++ == whole->work.n_buffers)
            fail_msg("seed %llu: %s is not in the list", (unsigned long long)seed, held->name);
    }
    if (state->peak_bytes > whole->peak_bytes)
        fail_msg("seed %llu: %llu bytes of %llu", (unsigned long long)seed,
                 (unsigned long long)state->peak_bytes, (unsigned long long)whole->peak_bytes);
    return state->work.n_buffers;
}

static bool is_valid(const struct plan *plan)
{
    return rule_check_layout(plan) && rule_check_run(plan) && !plan->workload.queue;
}

/* False where the stack refuses the plan. */
static bool check_plan(uint64_t seed, const struct plan *plan, struct arena *arena)
{
    struct err err = {0};
    struct listed state, whole;
    if (work_build(plan, arena, &whole.work, &err) != STATUS_OK)
        return false;
    work_init(&state.work, arena);
    stack_system(plan->stack.kind)->state(plan, &state.work);
    work_index(&state.work);
    return measure(plan, arena, &state) && measure(plan, arena, &whole) &&
           check(seed, &state, &whole) > 0;
}

static void the_state_is_a_part_of_the_list(void **unused)
{
    (void)unused;
    static struct plan plan;
    size_t n_plans[STACK_COUNT] = {0}, n_served = 0;
    draws_print(SEEDS);
    for (uint64_t seed = 0; seed < draws_of(SEEDS); seed++) {
        struct arena arena = {0};
        draw_plan(seed, &plan);
        bool listed = is_valid(&plan) && check_plan(seed, &plan, &arena);
        n_plans[plan.stack.kind] += listed;
        n_served += listed && plan.workload.mode != MODE_TRAIN;
        arena_release(&arena);
    }
    for (unsigned kind = 0; kind < STACK_COUNT; kind++)
        if (stack_system((enum stack_kind)kind)->state)
            draws_reach(stack_system((enum stack_kind)kind)->name, n_plans[kind],
                        LEAST * draws_of(SEEDS));
    draws_reach("served", n_served, LEAST * draws_of(SEEDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_state_is_a_part_of_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
