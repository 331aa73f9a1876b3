/* plan/lay_experts: experts of a plan that does not say lie as the launch of its stack lays
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "support/plans.h"

#define ROUTED "model: mixtral-8x7b\ncluster: h100-8x4\n"
#define NEURON "model: mixtral-8x7b\ncluster: trn2-16x1\nstack: nxd\n"

static const struct {
    const char *text, *set;
    uint64_t ep, etp;
} rows[] = {
    {ROUTED "stack: megatron\nparallel: {tp: 4, ep: 2}\n", "", 2, 4},
    {ROUTED "stack: megatron\nparallel: {tp: 4, ep: 2, etp: 1}\n", "", 2, 1},
    {ROUTED "stack: megatron\nparallel: {ep: 8}\n", "", 8, 1},
    {ROUTED "stack: megatron\nparallel: {ep: 2}\n", "parallel.tp=2", 2, 2},
    {ROUTED "stack: primus\nparallel: {tp: 2, ep: 8}\n", "", 8, 2},
    {ROUTED "stack: fsdp\nparallel: {tp: 2}\n", "", 1, 2},
    {ROUTED "stack: torchtitan\nparallel: {tp: 2}\n", "", 1, 2},
    {ROUTED "stack: torchtitan\nparallel: {tp: 2, ep: 8}\n", "", 8, 1},
    {ROUTED "stack: deepspeed\nparallel: {tp: 2}\n", "", 1, 2},
    {ROUTED "stack: deepspeed\nparallel: {tp: 2, ep: 8}\n", "", 8, 1},
    {ROUTED "stack: generic\nparallel: {tp: 2}\n", "", 1, 1},
    {ROUTED "stack: vllm\nworkload: {mode: decode}\nparallel: {tp: 32}\n", "", 1, 32},
    {NEURON "workload: {mode: decode}\nparallel: {tp: 8}\n", "", 1, 8},
    {NEURON "workload: {mode: decode}\nparallel: {tp: 8, ep: 8}\n", "", 8, 1},
    {"model: llama-3.1-8b\ncluster: h100-8x1\nstack: megatron\nparallel: {tp: 8}\n", "", 1, 1},
};

static void experts_lie_as_the_launch_lays_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        print_message("%s%s\n", rows[i].text, rows[i].set);
        plan_set(rows[i].text, rows[i].set, &arena, &plan);
        assert_int_equal(plan.parallel.ep, rows[i].ep);
        assert_int_equal(plan.parallel.etp, rows[i].etp);
        arena_release(&arena);
    }
}

/* What Megatron would refuse is refused, where the user wrote something, with both ways out. */
static void a_layout_that_follows_is_checked(void **state)
{
    (void)state;
    static const char text[] = "model: qwen3-235b-a22b\ncluster: h100-8x16\nstack: megatron\n"
                               "parallel: {tp: 4, pp: 4, ep: 16}\n";
    struct arena arena = {0};
    struct plan plan;
    struct err err = {0};
    assert_int_equal(
        plan_load_text("p.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err),
        STATUS_INPUT);
    assert_ptr_equal(strstr(err.where, "p.yaml:4:"), err.where);
    assert_string_equal(err.text, "world size 128 is not divisible by ep x etp x pp 256");
    assert_string_equal(err.hint, "ep 8 or etp 2 fits, or take devices in multiples of 256");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_lie_as_the_launch_lays_them),
        cmocka_unit_test(a_layout_that_follows_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
