/* What an engine holds where that is not what the plan says, and what it says of it: SGLang's
 * gpt-oss in bf16 (28,665,446,400 bytes are 36 layers of 16 experts, 3 matrices of 2880 x 2880,
 * 2 bytes), TensorRT-LLM's kernels in place of others, launches that engines read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "base/unit.h"
#include "plan/engine.h"
#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "support/served.h"
#include "work/piece/encoder.h"
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
    /* 16 experts of 3072 x 3072 a layer, see experts_of_four_bits_are_padded */
    assert_int_equal(bytes_of(text, "cluster=b200-8x1", "expert_weights", &notes),
                     UINT64_C(36) * 16 * 3 * 3072 * 3072 / 32 * 17);
    assert_int_equal(notes, 1);
}

/* Experts of gpt-oss-120b in mxfp4, 36 layers of 128 with 17 bits for four elements: 2880 x
 * 2880 as kernels keep them (TensorRT-LLM fused_moe/quantization.py, fused_moe_triton.py;
 * SGLang quantization/mxfp4.py). */
static void experts_of_four_bits_are_padded(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        uint64_t inter, in, out, swizzled;
    } rows[] = {
        {"stack=trtllm cluster=gb10", 2944, 2944, 2944, 0},
        {"stack=trtllm cluster=b200", 2944, 3072, 2944, 0},
        {"stack=trtllm cluster=h100", 2944, 2944, 3072, 0},
        {"stack=sglang cluster=b200", 3072, 3072, 3072, 0},
        {"stack=sglang cluster=rtx-pro-6000", 2880, 2880, 2880, 0},
        {"stack=sglang cluster=h100", 2880, 2880, 2880, (5888 + 3072) * 90},
    };
    static const char text[] = "model: gpt-oss-120b\ncluster: h100\nstack: sglang\n"
                               "workload: {mode: decode, context_length: 1024}\n";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t elements = rows[i].inter * (2 * rows[i].in + rows[i].out);
        size_t notes = 0;
        assert_int_equal(bytes_of(text, rows[i].set, "expert_weights", &notes),
                         36 * 128 * (elements / 32 * 17));
        assert_int_equal(bytes_of(text, rows[i].set, "expert_scales_swizzled", &notes),
                         36 * 128 * rows[i].swizzled);
    }
}

/* What engines printed of gpt-oss: TensorRT-LLM 1.1.0rc3 on a GB10 "Use 63.32 GB for model
 * weights" (its parameters), SGLang on a B200 "mem usage=14.53 GB" of the 20B (kvcached issue
 * 198; the allocator's segments and other libraries are in it), and on an RTX PRO 6000 caches
 * of 19.70 GB (sglang pull request 19718). */
static void printed_weights_of_four_bits_come_out(void **state)
{
    (void)state;
    static const struct {
        const char *model, *cluster, *stack;
        size_t value;
        double printed, share;
    } rows[] = {
        {"gpt-oss-120b", "gb10", "trtllm", offsetof(struct serving_report, weights_bytes),
         63.32, 0.0001},
        {"gpt-oss-20b", "b200", "sglang", offsetof(struct serving_report, weights_bytes), 14.53,
         0.03},
        {"gpt-oss-120b", "rtx-pro-6000", "sglang", offsetof(struct serving_report, cache_bytes),
         19.70, 0.015},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        uint64_t bytes;
        struct prediction p = predict_text(
            arena_printf(&arena,
                         "model: %s\ncluster: %s\nstack: %s\nworkload: {mode: decode}\n",
                         rows[i].model, rows[i].cluster, rows[i].stack),
            &arena);
        memcpy(&bytes, (const char *)&p.serving + rows[i].value, sizeof bytes);
        double predicted = (double)bytes / GIB;
        print_message("%s %s: printed %.2f, predicted %.3f\n", rows[i].model, rows[i].cluster,
                      rows[i].printed, predicted);
        assert_true(fabs(predicted / rows[i].printed - 1) < rows[i].share);
        arena_release(&arena);
    }
}

/* Kimi-K2.5, `sglang serve --model-path moonshotai/Kimi-K2.5 --tp 8` of v0.5.8.post1 on eight
 * MI355X: its log has mem_fraction_static=0.8260405859375, which is 0.908 x 0.95 x (1 - 0.1 x
 * (27 x 1152^2 / (24 x 1024^2) - 1)) for its encoder, and 2,454,421 tokens of 160.63 GB. Before
 * it loads, 283.7 of 288 GB are free there, and WNA16's g_idx is not counted here. */
static void encoders_take_from_the_fraction(void **state)
{
    (void)state;
    static const char text[] =
        "model: kimi-k2.5\ncluster: mi355x-8x1\nstack: sglang\nparallel: {tp: 8}\n"
        "workload: {mode: decode, context_length: 262144}\n"
        "precision: {weights: int4_32, kv_cache: bf16}\n";
    struct arena arena = {0};
    struct plan plan;
    plan_set(text, "", &arena, &plan);
    struct prediction p = predict_text(text, &arena);
    double pool = (double)p.serving.cache_bytes / GIB;
    print_message("fraction %.13f, pool %.2f\n", engine_sglang_fraction(&plan), pool);
    assert_true(fabs(engine_sglang_fraction(&plan) - 0.8260405859375) < 1e-9);
    assert_true(fabs(pool / 160.63 - 1) < 0.03);
    arena_release(&arena);
}

/* Gemma 3 sees no images unless SGLang is told to, though the encoder is loaded: it has graphs
 * of prompts, which models with images have not, and no part of the fraction is left out (27
 * layers of 1,152: 0.95 x (1 - 0.1 x (27 x 1152^2 / (24 x 1024^2) - 1))). */
static void images_on_request_take_nothing(void **state)
{
    (void)state;
    static const char text[] = "model: gemma-3-27b\ncluster: h100-8x1\nstack: sglang\n"
                               "parallel: {tp: 8}\n"
                               "workload: {mode: decode, context_length: 8192}\n";
    struct arena arena = {0};
    struct plan plan;
    plan_set(text, "model.encoder.layers=0", &arena, &plan);
    double whole = engine_sglang_fraction(&plan);
    plan_set(text, "", &arena, &plan);
    assert_true(encoder_is_there(&plan));
    assert_true(fabs(engine_sglang_fraction(&plan) - whole) < 1e-12);
    assert_int_equal(engine_sglang_prompt_graphs(&plan), GRAPHS_PARTIAL);
    plan_set(text, "stack.prompt_graphs=none", &arena, &plan);
    whole = engine_sglang_fraction(&plan);
    plan_set(text, "workload.encoder.requested=true", &arena, &plan);
    assert_int_equal(engine_sglang_prompt_graphs(&plan), GRAPHS_NONE);
    assert_true(fabs(engine_sglang_fraction(&plan) - whole * 0.909736328125) < 1e-9);
    arena_release(&arena);
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
        cmocka_unit_test(experts_of_four_bits_are_padded),
        cmocka_unit_test(printed_weights_of_four_bits_come_out),
        cmocka_unit_test(encoders_take_from_the_fraction),
        cmocka_unit_test(images_on_request_take_nothing),
        cmocka_unit_test(preferred_kernels_give_way),
        cmocka_unit_test(dense_models_are_replicas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
