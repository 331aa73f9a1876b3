/* Checkpoints by their names on the hub: whose shape they have and how they store their
 * weights; names that begin as a known one and are another model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/engine.h"
#include "plan/job/job.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"

static enum status read_launch(const char *name, struct arena *arena, struct plan *plan,
                               struct err *err)
{
    const struct override sets[] = {{"cluster", "h200-8x1", "--set cluster=h200-8x1"}};
    struct job_request request = {.sets = sets, .n_sets = 1};
    struct job_result job = {0};
    const char *text = arena_printf(arena, "vllm serve %s\n", name);
    TRY(job_read_text("job.sh", text, strlen(text), &request, arena, &job, err));
    return plan_load_tree("job.sh", job.root, NULL, 0, true, arena, plan, NULL, err);
}

/* A plan that has the name as its model is of the same shape and formats. */
static void check_named_plan(const char *name, const struct plan *launch, struct arena *arena)
{
    struct err err = {0};
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    const char *text =
        arena_printf(arena, "{model: %s, cluster: h200-8x1, stack: vllm}\n", name);
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, arena, plan, NULL, &err))
        fail_msg("%s: %s", name, err.text);
    assert_true(text_starts(launch->model_name, plan->model_name));
    assert_int_equal(plan->model.max_position, launch->workload.context_length);
    for (unsigned part = PART_ATTENTION_IN; part < WEIGHT_PARTS; part++)
        if (plan_part_format(plan, part) != plan_part_format(launch, part))
            fail_msg("%s, part %u: %s in a plan, %s in a launch", name, part,
                     words_dtype[plan_part_format(plan, part)],
                     words_dtype[plan_part_format(launch, part)]);
}

static void names_say_shape_and_format(void **state)
{
    (void)state;
    const struct {
        const char *name, *model;
        enum dtype weights;
        uint64_t positions;
    } cases[] = {
        {"deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3", DTYPE_FP8_BLOCK, 163840},
        {"unsloth/DeepSeek-V3-0324-BF16", "deepseek-v3", DTYPE_BF16, 163840},
        {"nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3", DTYPE_NVFP4, 163840},
        {"amd/DeepSeek-R1-MXFP4-Preview", "deepseek-r1", DTYPE_MXFP4, 163840},
        {"cognitivecomputations/DeepSeek-R1-AWQ", "deepseek-r1", DTYPE_INT4, 163840},
        {"deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-v2-lite", DTYPE_BF16, 163840},
        {"openai/gpt-oss-safeguard-120b", "gpt-oss-120b", DTYPE_MXFP4, 131072},
        {"unsloth/gpt-oss-120b-BF16", "gpt-oss-120b", DTYPE_BF16, 131072},
        {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b", DTYPE_BF16, 40960},
        {"Qwen/Qwen3-30B-A3B-Thinking-2507", "qwen3-30b-a3b", DTYPE_BF16, 262144},
        {"Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", "qwen3-30b-a3b", DTYPE_FP8_BLOCK, 262144},
        {"moonshotai/Kimi-K2-Instruct-0905", "kimi-k2", DTYPE_FP8_BLOCK, 262144},
        {"zai-org/GLM-4.6-FP8", "glm-4.6", DTYPE_FP8_CHANNEL, 202752},
        {"zai-org/GLM-4.7", "glm-4.6", DTYPE_BF16, 202752},
        {"zai-org/GLM-5-FP8", "glm-5", DTYPE_FP8_BLOCK, 202752},
        {"meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "llama4-maverick",
         DTYPE_FP8_CHANNEL, 1048576},
        {"RedHatAI/Mixtral-8x7B-Instruct-v0.1-FP8", "mixtral-8x7b", DTYPE_FP8, 32768},
        {"RedHatAI/Llama-4-Scout-17B-16E-Instruct-quantized.w4a16", "llama4-scout", DTYPE_INT4,
         10485760},
        {"nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8", "nemotron-3-super", DTYPE_FP8, 262144},
        {"ai21labs/AI21-Jamba-Mini-1.7", "jamba-v0.1", DTYPE_BF16, 262144},
        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "qwen2.5-32b", DTYPE_BF16, 131072},
        {"Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl-8b", DTYPE_BF16, 262144},
        {"Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b", DTYPE_BF16, 128000},
        {"zai-org/GLM-4.6V", "glm-4.5v", DTYPE_BF16, 131072},
        {"zai-org/GLM-5.3", "glm-5.2", DTYPE_FP8_BLOCK, 1048576},
        {"deepseek-ai/DeepSeek-V4.1-Flash", "deepseek-v4.1-flash", DTYPE_MXFP4, 1048576},
        {"deepseek-ai/DeepSeek-V4-Flash-Vision-Exp", "deepseek-v4-flash-vision-exp",
         DTYPE_MXFP4, 1048576},
        {"Qwen/Qwen3.8-Flash-Next-FP8", "qwen3.8-flash-next", DTYPE_FP8_BLOCK, 262144},
        {"Qwen/Qwen3.8-2.4T-A95B", "qwen3.8-2.4t-a95b", DTYPE_BF16, 262144},
        {"Qwen/Qwen3.8-2.4T-A95B-FP8", "qwen3.8-2.4t-a95b", DTYPE_FP8_BLOCK, 262144},
        {"zai-org/GLM-5.3-Flash", "glm-5.3-flash", DTYPE_FP8_BLOCK, 1048576},
        {"zai-org/GLM-5.3-Flash-BF16", "glm-5.3-flash", DTYPE_BF16, 1048576},
        {"tencent/Hy4-preview", "hy4-preview", DTYPE_BF16, 1048576},
        {"tencent/Hy4-preview-FP8", "hy4-preview", DTYPE_MXFP8, 1048576},
        {"mistralai/Devstral-Small-2507", "mistral-small-24b", DTYPE_BF16, 131072},
        {"mistralai/Devstral-Small-2-24B-Instruct-2512", "devstral-small-2-24b", DTYPE_FP8,
         393216},
        {"inclusionAI/Ring-1T", "ling-1t", DTYPE_BF16, 32768},
        {"rednote-hilab/dots.llm1.inst", "dots.llm1", DTYPE_BF16, 32768},
        {"microsoft/phi-4", "phi-4", DTYPE_BF16, 16384},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        if (read_launch(cases[i].name, &arena, plan, &err))
            fail_msg("%s: %s", cases[i].name, err.text);
        if (!text_starts(plan->model_name, cases[i].model) ||
            plan->precision.weights != cases[i].weights ||
            plan->workload.context_length != cases[i].positions)
            fail_msg("%s: %s, %s, %ju positions; not %s, %s, %ju", cases[i].name,
                     plan->model_name, words_dtype[plan->precision.weights],
                     (uintmax_t)plan->workload.context_length, cases[i].model,
                     words_dtype[cases[i].weights], (uintmax_t)cases[i].positions);
        check_named_plan(cases[i].name, plan, &arena);
        arena_release(&arena);
    }
}

static void another_model_is_not_taken_for_it(void **state)
{
    (void)state;
    const struct {
        const char *name, *hint;
    } cases[] = {
        {"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "name one"},
        {"nvidia/gpt-oss-120b-Eagle3", "name one"},
        {"cerebras/GLM-4.6-REAP-218B-A32B-FP8", "name one"},
        {"zai-org/GLM-4.6V-Flash", "name one"},
        {"microsoft/Phi-4-multimodal-instruct", "name one"},
        {"zai-org/GLM-4.7-Air", "name one"},
        {"mistralai/Mistral-Large-Instruct-2411", "name one"},
        {"deepseek-ai/DeepSek-V3", "did you mean 'deepseek-v3'? name one"},
        {"inclusionAI/LLaDA2.0-mini", "it denoises blocks of tokens"},
        {"meituan-longcat/LongCat-Flash-Lite-Sparse",
         "it has layers that choose keys by an index of two"},
        {"openai/gpt-os-120b", "did you mean 'gpt-oss-120b'? name one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        if (read_launch(cases[i].name, &arena, plan, &err) == STATUS_OK)
            fail_msg("%s is read as %s", cases[i].name, plan->model_name);
        if (!strstr(err.text, "is not among moeplan's") || !strstr(err.hint, cases[i].hint))
            fail_msg("%s: %s (%s)", cases[i].name, err.text, err.hint);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_shape_and_format),
        cmocka_unit_test(another_model_is_not_taken_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
