/* What computes the experts where a plan leaves it to the engine: by format, layout and device
 * (engines.md 1.5). A library of one maker's devices is never chosen on another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/schema/schema.h"
#include "support/plans.h"
#include "work/stack/stack.h"

static const char engine[] =
    "model: qwen3-30b-a3b\nstack: vllm\n"
    "workload: {mode: prefill, micro_batch: 1, sequence_length: 4096}\n"
    "parallel: {tp: 8}\n";

static void by_format_and_device(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        enum expert_backend experts;
    } cases[] = {
        {"cluster=h100-8x1", EXPERTS_TRITON},
        {"cluster=h100-8x1 precision.weights=fp8_block parallel.ep=8", EXPERTS_FLASHINFER},
        {"cluster=gh200-8x1 precision.weights=fp8_block parallel.ep=8", EXPERTS_FLASHINFER},
        {"cluster=h100-8x1 precision.weights=fp8_block", EXPERTS_TRITON},
        {"cluster=b200-8x1 precision.weights=fp8_block parallel.ep=8", EXPERTS_TRTLLM_GEN},
        {"cluster=b200-8x1 precision.weights=fp8_block", EXPERTS_TRTLLM_GEN},
        {"cluster=b200-8x1 precision.weights=fp8_block parallel.ep=8 "
         "moe.routing.placement=eplb",
         EXPERTS_DEEPGEMM},
        {"cluster=b200-8x1 precision.weights=fp8_block parallel.ep=8 stack.version=0.11",
         EXPERTS_DEEPGEMM},
        {"cluster=h100-8x1 precision.weights=fp8_block parallel.ep=8 stack.version=0.11",
         EXPERTS_DEEPGEMM},
        {"cluster=h100-8x1 precision.weights=fp8_block stack.version=0.11", EXPERTS_TRITON},
        {"cluster=mi300x-8x1 precision.weights=fp8_block parallel.ep=8", EXPERTS_TRITON},
        {"cluster=l40s-8x1 precision.weights=fp8_block parallel.ep=8", EXPERTS_TRITON},
        {"cluster=h100-8x1 precision.weights=mxfp4", EXPERTS_MARLIN}, /* no gpt-oss */
        {"cluster=h100-8x1 model=gpt-oss-120b", EXPERTS_TRITON_OAI},
        {"cluster=h100-8x1 model=deepseek-v4-flash", EXPERTS_MARLIN},
        {"cluster=b200-8x1 model=deepseek-v4-flash", EXPERTS_TRTLLM_GEN},
        {"cluster=mi300x-8x1 model=gpt-oss-120b", EXPERTS_TRITON_OAI},
        {"cluster=h100-8x1 model=gpt-oss-120b stack=sglang", EXPERTS_TRITON_OAI},
        {"cluster=h100-8x1 model=deepseek-v4-flash stack=sglang", EXPERTS_FLASHINFER},
        {"cluster=h100-8x1 precision.weights=mxfp4 stack=sglang", EXPERTS_MARLIN},
        {"cluster=b200-8x1 precision.weights=mxfp4", EXPERTS_TRTLLM_GEN},
        {"cluster=a100-8x1 precision.weights=mxfp4", EXPERTS_MARLIN},
        {"cluster=rtx4090-8x1 precision.weights=int4", EXPERTS_MARLIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set(engine, cases[i].set, &arena, &plan);
        enum expert_backend got = stack_experts(&plan, NULL);
        if (got != cases[i].experts)
            fail_msg("%s: %s", cases[i].set, words_experts[got]);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_format_and_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
