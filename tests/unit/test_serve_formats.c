/* What an engine holds where that is not what the plan says, and what it says of it: SGLang's
 * gpt-oss in bf16 (28,665,446,400 bytes are 36 layers of 16 experts, 3 matrices of 2880 x 2880,
 * 2 bytes), TensorRT-LLM's kernels in place of others, launches that engines read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/engine.h"
#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "work/stack/stack.h"

static uint64_t bytes_of(const char *text, const char *set, const char *buffer, size_t *notes)
{
    struct arena arena = {0};
    struct plan plan;
    struct prediction p = {0};
    struct err err = {0};
    const struct predict_options options = {0};
    plan_set(text, set, &arena, &plan);
    assert_int_equal(predict(&plan, &options, &arena, &p, &err), STATUS_OK);
    uint64_t bytes = 0;
    for (size_t i = 0; i < p.memory.n_buffers; i++)
        if (text_equal(p.memory.buffers[i].name, buffer))
            bytes = p.memory.buffers[i].bytes;
    for (size_t i = 0; i < p.n_notes; i++)
        *notes += text_equal(p.notes[i].key, "precision.weights");
    arena_release(&arena);
    return bytes;
}

static void experts_of_four_bits_may_become_sixteen(void **state)
{
    (void)state;
    static const char text[] = "model: gpt-oss-120b\ncluster: h100-8x1\nstack: sglang\n"
                               "workload: {mode: decode, context_length: 1024}\n"
                               "parallel: {tp: 8, ep: 8}\n";
    size_t notes = 0;
    assert_int_equal(bytes_of(text, "", "expert_weights", &notes), UINT64_C(28665446400));
    assert_int_equal(notes, 1);
    assert_true(bytes_of(text, "stack.experts=marlin", "expert_weights", &notes) < 8000000000);
    assert_true(bytes_of(text, "cluster=b200-8x1", "expert_weights", &notes) < 8000000000);
    assert_int_equal(notes, 1);
}

static void preferred_kernels_give_way(void **state)
{
    (void)state;
    static const char text[] = "model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: trtllm\n"
                               "workload: {mode: decode, context_length: 1024}\n";
    struct arena arena = {0};
    struct plan plan;
    plan_set(text, "stack.experts=trtllm_gen", &arena, &plan);
    assert_true(stack_other_experts(&plan));
    assert_int_equal(stack_experts(&plan, NULL), EXPERTS_CUTLASS);
    plan_set(text, "stack.experts=triton", &arena, &plan);
    assert_false(stack_other_experts(&plan));
    assert_int_equal(stack_experts(&plan, NULL), EXPERTS_TRITON);
    arena_release(&arena);
}

/* A dense model has nothing to spread: dp counts engines over their own tensor-parallel ranks,
 * for SGLang's pool too. */
static void dense_models_are_replicas(void **state)
{
    (void)state;
    static const char *const stacks[] = {"stack=vllm", "stack=sglang", "stack=trtllm"};
    for (size_t i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set("model: llama-3.1-70b\ncluster: h100-8x2\nstack: vllm\n"
                 "workload: {mode: decode, context_length: 1024}\nparallel: {tp: 4}\n",
                 stacks[i], &arena, &plan);
        assert_int_equal(plan.parallel.ep, 1);
        assert_int_equal(plan.parallel.etp, 4);
        assert_false(plan.parallel.sp);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_of_four_bits_may_become_sixteen),
        cmocka_unit_test(preferred_kernels_give_way),
        cmocka_unit_test(dense_models_are_replicas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
