/* TransformerEngine's recipes: what is kept of weights and of products' inputs, to the byte
 * (training-stacks.md 6). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "support/plans.h"
#include "work/piece/recipe.h"
#include "work/stack/stack.h"

static const char base[] = "model: deepseek-v3\ncluster: h200-8x1\nstack: megatron\n"
                           "parallel: {ep: 8, zero: 1}\nmoe: {buffer: balanced}\n";

/* ---- weights ---- */

static uint64_t matrix(const char *set, uint64_t out, uint64_t in)
{
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    plan_set(base, set, &arena, &plan);
    work_init(&work, &arena);
    struct size o = size_const(&work.sizes, out), i = size_const(&work.sizes, in);
    struct size bytes = recipe_matrix_bytes(&plan, &work.sizes, o, i);
    uint64_t result = plan_evaluate(&plan, &arena, &work)[bytes.node];
    arena_release(&arena);
    return result;
}

static void copies_of_a_matrix(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        uint64_t bytes; /* of fc1 of DeepSeek-V3, [4096, 7168] */
        double gib;     /* of the 32 experts of a rank, fc1 and fc2 [7168, 2048] */
    } rows[] = {
        {"cluster=b200-8x1 precision.recipe=mxfp8", 60555264, 2.7070},
        {"cluster=b200-8x1 precision.recipe=nvfp4", 33030144, 1.4766},
        {"precision.recipe=fp8_block", 58734592, 2.6256},
        {"precision.recipe=fp8_current", 2 * 4096 * 7168, 2.6250},
        {"precision.recipe=fp8_delayed", 2 * 4096 * 7168, 2.6250},
        {"cluster=b200-8x1 precision.recipe=fp8_current", 4096 * 7168, 1.3125},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t one = matrix(rows[i].set, 4096, 7168);
        uint64_t all = 32 * (one + matrix(rows[i].set, 7168, 2048));
        assert_int_equal(one, rows[i].bytes);
        assert_float_equal((double)all / 1073741824, rows[i].gib, 5.1e-5);
    }
}

/* ---- a step ---- */

/* Bytes that match: state; or one MoE layer's copies of named saved buffers. */
static uint64_t state_bytes(const char *set)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    uint64_t bytes = 0;
    plan_set(base, set, &arena, &plan);
    assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
    const uint64_t *values = plan_evaluate(&plan, &arena, &work);
    for (size_t i = 0; i < work.n_buffers; i++)
        bytes += work.buffers[i].category == CATEGORY_WEIGHTS &&
                         work.buffers[i].life == LIFE_PERSISTENT
                     ? values[work.buffers[i].all.node]
                     : 0;
    arena_release(&arena);
    return bytes;
}

static uint64_t saved_bytes(const char *set, const char *const *names)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    uint64_t bytes = 0;
    plan_set(base, set, &arena, &plan);
    assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
    const uint64_t *values = plan_evaluate(&plan, &arena, &work);
    for (size_t i = 0; i < work.n_buffers; i++)
        for (size_t j = 0; names[j]; j++)
            if (work.buffers[i].segment == SEGMENT_MOE && work.buffers[i].life == LIFE_SAVED &&
                text_equal(work.buffers[i].name, names[j]))
                bytes += values[work.buffers[i].bytes.node];
    arena_release(&arena);
    return bytes;
}

static void saved_inputs_of_a_layer(void **state)
{
    (void)state;
    static const char *const names[] = {"expert_input", "expert_gate_up", "expert_activated",
                                        NULL};
#define ACT " recompute.kind=selective recompute.modules=[moe_act]"
    static const struct {
        const char *set;
        double gib;
    } rows[] = {
        {"precision.recipe=none", 0.8125},
        {"precision.recipe=fp8_current", 0.53125},
        {"cluster=b200-8x1 precision.recipe=mxfp8", 0.54004},
        {"cluster=b200-8x1 precision.recipe=mxfp8" ACT, 0.47559},
        {"cluster=b200-8x1 precision.recipe=nvfp4", 0.40820},
        {"cluster=b200-8x1 precision.recipe=nvfp4" ACT, 0.37305},
        {"precision.recipe=fp8_block", 0.54004},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_float_equal((double)saved_bytes(rows[i].set, names) / 1073741824, rows[i].gib,
                           1e-5);
}

/* Qwen3-30B, ep 8: with mxfp8 alone, every matrix of the layers at 33/32 bytes twice, the
 * router, both tables and the norms in bf16; beside bf16 weights, the same on top. */
static void primary_weights(void **state)
{
    (void)state;
#define QWEN "model=qwen3-30b-a3b cluster=b200-8x1 precision.recipe=mxfp8"
    uint64_t layer = 2048 * 5120 + 4096 * 2048, experts = 48 * UINT64_C(16) * 3 * 2048 * 768;
    uint64_t rank = 1541093376 + experts, copies = 33 * (48 * layer + experts) / 16;
    assert_int_equal(state_bytes(QWEN), 2 * rank + copies);
    assert_int_equal(state_bytes(QWEN " precision.quantized_params=true"),
                     2 * (rank - 48 * layer - experts) + copies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_a_matrix),
        cmocka_unit_test(saved_inputs_of_a_layer),
        cmocka_unit_test(primary_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
