/* Packed sequences: attention's work goes by the mean of squared lengths, memory by the packed
 * length and where the sequences begin (training-stacks.md 5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "work/list/work.h"

static const char base[] = "model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: megatron\n"
                           "workload: {sequence_length: 8192}\n"
                           "parallel: {ep: 8, zero: 1}\nmoe: {buffer: balanced}\n";

static void predicted(const char *set, struct arena *arena, struct prediction *out)
{
    struct err err = {0};
    struct plan plan;
    plan_set(base, set, arena, &plan);
    if (predict(&plan, &(struct predict_options){0}, arena, out, &err))
        fail_msg("%s: %s", set, err.text);
}

/* Of one layer's core, forward. */
static uint64_t core_flop(const char *set)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    uint64_t flop = 0;
    plan_set(base, set, &arena, &plan);
    assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
    assert_int_equal(work_ops(&plan, &work, &err), STATUS_OK);
    struct slots slots;
    slots_from_plan(&plan, &slots);
    uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values);
    assert_true(sizes_eval(&work.sizes, &slots, values));
    for (size_t i = 0; i < work.n_ops; i++)
        if (text_equal(work.ops[i].name, "attention") && work.ops[i].phase == PHASE_FORWARD)
            flop += values[work.ops[i].flop.node];
    arena_release(&arena);
    return flop;
}

static void attention_goes_by_the_squares(void **state)
{
    (void)state;
    uint64_t whole = core_flop("");
    assert_true(whole > 0);
    assert_int_equal(core_flop("workload.packing.length=1024"), whole / 8);
    /* half of the tokens in sequences of 512, half in one of 4,096: lengths 512 x 8 and 4,096,
     * mean 910.2 (911), mean of squares (8 x 512^2 + 4096^2) / 9 = 2,097,152: 2,303 a token */
    assert_int_equal(core_flop("workload.packing.length=911 workload.packing.square=2097152"),
                     whole / 8192 * 2303);
    assert_int_equal(core_flop("workload.packing.length=8192"), whole);
}

static void memory_goes_by_the_packed_length(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct prediction plain, packed;
    predicted("", &arena, &plain);
    predicted("workload.packing.length=1024", &arena, &packed);
    assert_int_equal(packed.memory.total_bytes, plain.memory.total_bytes + 9 * 4);
    assert_true(packed.model.flop_per_token < plain.model.flop_per_token);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_goes_by_the_squares),
        cmocka_unit_test(memory_goes_by_the_packed_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
