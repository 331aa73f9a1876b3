/* What a sequence has in an engine's pool: states of recurrent layers, their formats and how
 * many a request has, and packed caches. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/unit.h"
#include "plan/derive.h"
#include "plan/engine.h"
#include "plan/schema/schema.h"
#include "sim/serve/serving.h"
#include "support/catalogue.h"
#include "support/plans.h"
#include "support/served.h"
#include "work/piece/cache.h"

/* Engines quantise a product's rows to the format of its weights where the device multiplies in
 * it; others, what is trained, and what the plan says stay. */
static void products_run_in_the_weights_format(void **state)
{
    (void)state;
    const struct {
        const char *set;
        enum compute compute;
    } cases[] = {
        {"cluster=h200", COMPUTE_BF16},
        {"cluster=h200 precision.weights=fp8_block", COMPUTE_FP8},
        {"cluster=h200 precision.weights=fp8_channel stack=sglang", COMPUTE_FP8},
        {"cluster=a100 precision.weights=fp8", COMPUTE_BF16},
        {"cluster=h200 precision.weights=fp8 precision.compute=bf16", COMPUTE_BF16},
        {"cluster=h200 precision.weights=fp8 stack=generic", COMPUTE_BF16},
        {"cluster=h200 precision.weights=mxfp4", COMPUTE_BF16},
        {"cluster=b200 precision.weights=mxfp4", COMPUTE_FP8},
        {"cluster=b200 precision.weights=nvfp4 stack=trtllm", COMPUTE_FP8},
        {"cluster=b200 precision.weights=int4", COMPUTE_BF16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set("model: qwen3-30b-a3b\nstack: vllm\n"
                 "workload: {mode: decode, context_length: 8192}\n",
                 cases[i].set, &arena, &plan);
        if (plan.precision.compute != cases[i].compute)
            fail_msg("%s: multiplied in %s", cases[i].set,
                     words_compute[plan.precision.compute]);
        arena_release(&arena);
    }
}

/* vLLM's --mamba-cache-dtype, --mamba-ssm-cache-dtype, --mamba-cache-mode and
 * --mamba-block-size on the same model: the state's format is the columns' unless given; a
 * request has one state, with aligned prefixes two, with all states one a block, each draft one
 * more. */
static void states_are_as_the_flags_say(void **state)
{
    (void)state;
    const struct {
        const char *set;
        uint64_t block, states; /* tokens, and blocks of one group at 8,192 */
    } cases[] = {
        {"model.max_position=1", 544, 1},                                /* 2^20 + 49,152 B */
        {"precision.activations=f16", 544, 1},                           /* as many */
        {"model.linear.conv_state=f32", 1072, 1},                        /* 2^21 + 98,304 B */
        {"model.linear.conv_state=f32 model.linear.state=bf16", 560, 1}, /* 2^20 + 98,304 */
        {"model.linear.state=f32", 1056, 1}, /* 2^21 + 49,152: 1,048 */
        {"memory.state_copies=2", 544, 2},
        {"stack.version='0.33'", 544, 2}, /* prefixes are cached */
        {"stack.version='0.33' memory.state_copies=1", 544, 1},
        {"memory.state_block=64", 576, 15},   /* 9 x 64, ceil(8,192 / 576) */
        {"memory.state_block=1000", 2000, 5}, /* lcm(1,000, 16) */
        {"workload.speculation.tokens=2 workload.speculation.method=ngram", 560, 3},
        {"workload.mode=prefill workload.speculation.tokens=2 "
         "workload.speculation.method=ngram",
         560, 3}, /* the same pool, whatever step is looked at */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct slots slots;
        struct serving_report r = {.cache_bytes = (uint64_t)10 << 30, .context_tokens = 8192};
        plan_set("model: qwen3-next-80b-a3b\ncluster: h200\nstack: vllm\n"
                 "workload: {mode: decode, context_length: 8192}\n",
                 cases[i].set, &arena, &plan);
        slots_from_plan(&plan, &slots);
        serving_count(&plan, &slots, &r);
        uint64_t block = cases[i].block, attention = (8192 + block - 1) / block;
        uint64_t blocks = ((uint64_t)10 << 30) / (12 * block * 2048);
        uint64_t sequences = (blocks - 1) / (3 * cases[i].states + attention);
        if (r.block_tokens != block || r.cache_blocks != blocks || r.sequences != sequences)
            fail_msg("%s: %ju tokens a block, %ju blocks, %ju sequences; by hand %ju, %ju, %ju",
                     cases[i].set, (uintmax_t)r.block_tokens, (uintmax_t)r.cache_blocks,
                     (uintmax_t)r.sequences, (uintmax_t)block, (uintmax_t)blocks,
                     (uintmax_t)sequences);
        arena_release(&arena);
    }
}

/* TensorRT-LLM keeps a state of every sequence that a batch may have (max_batch_size), one that
 * pads graphs, and one of idle replicas of attention, before what it caches: 36 layers of
 * 2^20 + 3 x 8,192 x 2 bytes, over tp ranks a part. A stage has those of all batches under way,
 * of its own layers. */
static void states_of_a_whole_batch_come_first(void **state)
{
    (void)state;
    const struct {
        const char *set;
        uint64_t slots, bytes; /* of a state of one sequence, of all layers of a rank */
    } cases[] = {
        {"", 16 + 1, 36 * (1048576 + 49152)},
        {"cluster=h200-4x1 parallel.tp=4", 16 + 1, 36 * (1048576 + 49152) / 4},
        {"cluster=h200-4x1 parallel.ep=4", 16 + 2, 36 * (1048576 + 49152)},
        {"cluster=h200-2x1 parallel.pp=2", 2 * 16 + 1, 18 * (1048576 + 49152)},
        {"workload.max_num_seqs=512", 512 + 1, 36 * (1048576 + 49152)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct serving_report r;
        plan_set("model: {base: qwen3-next-80b-a3b, linear: {state: bf16}}\ncluster: h200\n"
                 "stack: trtllm\nprecision: {weights: nvfp4}\n"
                 "workload: {mode: decode, context_length: 8192, max_num_seqs: 16}\n",
                 cases[i].set, &arena, &plan);
        assert_int_equal(serving_of(&plan, &arena, &r, &err), STATUS_OK);
        assert_int_equal(r.state_slots, cases[i].slots);
        assert_int_equal(r.state_bytes, cases[i].slots * cases[i].bytes);
        uint64_t rest =
            plan_rank_memory(&plan) - r.weights_bytes - r.activation_bytes - r.outside_bytes;
        assert_int_equal(r.cache_bytes, (uint64_t)(0.9 * (double)rest) - r.state_bytes);
        assert_true(r.sequences <= r.state_slots);
        arena_release(&arena);
    }
}

/* One truth: what the stack keeps states in where nobody says it. */
static void states_have_the_engines_format(void **state)
{
    (void)state;
    const struct {
        const char *model, *stack, *activations;
        enum dtype format;
    } cases[] = {
        {"qwen3-next-80b-a3b", "sglang", "bf16", DTYPE_F32},
        {"qwen3-next-80b-a3b", "vllm", "bf16", DTYPE_BF16},
        {"qwen3-next-80b-a3b", "vllm", "f16", DTYPE_F16},
        {"qwen3-next-80b-a3b", "trtllm", "bf16", DTYPE_BF16},
        {"jamba-v0.1", "sglang", "bf16", DTYPE_F32},
        {"{base: jamba-v0.1, linear: {state: bf16}}", "sglang", "bf16", DTYPE_BF16},
        {"kimi-linear-48b-a3b", "vllm", "bf16", DTYPE_F32}, /* the model's own */
        {"nemotron-3-nano", "trtllm", "bf16", DTYPE_F32},
        {"qwen3-30b-a3b", "sglang", "bf16", DTYPE_NONE}, /* has none */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        const char *text = arena_printf(&arena,
                                        "model: %s\ncluster: h200\nstack: %s\n"
                                        "precision: {activations: %s}\n"
                                        "workload: {mode: decode}\n",
                                        cases[i].model, cases[i].stack, cases[i].activations);
        plan_set(text, "", &arena, &plan);
        if (plan.model.linear.state != cases[i].format)
            fail_msg("%s under %s: %s, not %s", cases[i].model, cases[i].stack,
                     words_dtype[plan.model.linear.state], words_dtype[cases[i].format]);
        arena_release(&arena);
    }
}

/* Sparse attention on Hopper keeps 512 + 4 x 4 + 64 x 2 = 656 bytes of a token in fp8, and 132
 * of the indexer's key, in 61 layers. */
static void sparse_caches_in_eight_bits_are_packed(void **state)
{
    (void)state;
    const struct {
        const char *set;
        uint64_t bytes;
    } cases[] = {
        {"precision.kv_cache=fp8", 61 * (656 + 132)},
        {"precision.kv_cache=fp8 stack=sglang", 61 * (656 + 132)},
        {"precision.kv_cache=fp8 stack=trtllm", 61 * (576 + 132)},
        {"precision.kv_cache=fp8 cluster=b200", 61 * (576 + 132)},
        {"precision.kv_cache=bf16", 61 * (1152 + 132)},
        {"precision.kv_cache=fp8 model=deepseek-v3", 61 * 576},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        plan_set("model: deepseek-v3.2\ncluster: h200\nstack: vllm\n"
                 "workload: {mode: decode, context_length: 8192}\n",
                 cases[i].set, &arena, &plan);
        uint64_t bytes = cache_sequence_bytes(&plan, 1);
        if (bytes != cases[i].bytes)
            fail_msg("%s: %ju bytes a token, by hand %ju", cases[i].set, (uintmax_t)bytes,
                     (uintmax_t)cases[i].bytes);
        arena_release(&arena);
    }
}

/* Kimi-Linear-48B on two RTX 3090 by vLLM of 2025-11 (issue 28228): 20 layers with a state are
 * three groups of seven beside one of MLA, whose block is a multiple of 64 tokens, whatever its
 * backend; "Available KV cache memory: 2.30 GiB", "GPU KV cache size: 75,840 tokens". */
static void blocks_of_mla_beside_states(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct prediction p = predict_text(
        "model: kimi-linear-48b-a3b\ncluster: {base: rtx3090, node: {devices: 2}}\n"
        "stack: {base: vllm, version: \"0.11\"}\nparallel: {tp: 2}\n"
        "precision: {weights: int4}\nmemory: {cache_bytes: 2.30 GiB}\n"
        "workload: {mode: decode, queue: true, context_length: 120000}\n",
        &arena);
    assert_int_equal(p.serving.block_tokens, 960);
    assert_int_equal(p.serving.cache_tokens, 75840);
    arena_release(&arena);
}

/* Ling-3.0-tiny on a GB10 of which 112.74 GiB were free, by inclusionAI's cookbook (log of
 * 2026-08-17): "mem usage=15.47 GB" with the head in f32 (0.45 of it, not counted here), 614
 * states and one of padding of 0.38 and 10.81 GB, 1,933,682 tokens of 12.45 GB. 18 layers have
 * a state of 16 x 128 x 128 in f32 and three columns of 3 x 2,048, six have 576 values a token.
 */
static void states_of_ling_come_out(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct prediction p = predict_text(
        "model: ling-3.0-tiny\ncluster: {base: gb10, device: {memory: 113.39 GiB}}\n"
        "stack: sglang\nmemory: {fraction: 0.35}\n"
        "workload: {mode: decode, context_length: 131072}\n",
        &arena);
    const struct serving_report *r = &p.serving;
    const uint64_t one = 18 * (UINT64_C(16) * 128 * 128 * 4 + 3 * 3 * 2048 * 2);
    print_message("%ju states, %ju tokens\n", (uintmax_t)r->state_slots,
                  (uintmax_t)r->cache_tokens);
    assert_int_equal(r->cache_bytes / r->cache_tokens, 6 * 576 * 2);
    assert_true(fabs(615.0 * (double)one / GIB / (0.38 + 10.81) - 1) < 0.001);
    assert_int_equal(r->state_bytes / one, r->state_slots + 1);
    assert_true(fabs((double)r->state_slots / 614 - 1) < 0.05);
    assert_true(fabs((double)r->cache_tokens / 1933682 - 1) < 0.05);
    arena_release(&arena);
}

/* SGLang's slots of states in f32, 36 layers of 2^21 + 3 x 8,192 x 2 bytes: 0.9 / 1.9 of what
 * weights leave, one of them to pad; five a sequence, three without turns. Drafts of three
 * tokens pass through four states a sequence of 48 or fewer, and one of the padding slot. */
static void states_share_the_pool(void **state)
{
    (void)state;
    enum { EACH = 36 * (2097152 + 49152) };
    static const struct {
        const char *set;
        uint64_t copies, drafted, running;
    } rows[] = {
        {"", 5, 0, 0},
        {"memory.state_copies=3", 3, 0, 0},
        {"workload.speculation.tokens=3 workload.speculation.method=ngram", 5, 4, 48},
        {"workload.speculation.tokens=3 workload.speculation.method=ngram "
         "workload.max_num_seqs=8",
         5, 4, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct serving_report r;
        plan_set("model: qwen3-next-80b-a3b\ncluster: b200\nstack: sglang\n"
                 "precision: {weights: nvfp4}\nparallel: {tp: 1}\n"
                 "workload: {mode: decode, context_length: 8192}\n",
                 rows[i].set, &arena, &plan);
        assert_int_equal(serving_of(&plan, &arena, &r, &err), STATUS_OK);
        double slots = 0.9 / 1.9 * (double)(r.cache_bytes + r.state_bytes) / EACH;
        double each = 1 + (double)rows[i].drafted / (double)rows[i].copies;
        uint64_t n = (uint64_t)((slots - (double)(1 + rows[i].drafted)) / each);
        print_message("%s: %ju slots\n", rows[i].set, (uintmax_t)n);
        assert_int_equal(r.state_slots, n);
        uint64_t runs = n / rows[i].copies;
        runs = runs < rows[i].running ? runs : rows[i].running;
        uint64_t held = n + 1 + (rows[i].drafted ? rows[i].drafted * (runs + 1) : 0);
        assert_int_equal(r.state_bytes, held * EACH);
        assert_true(r.sequences <= n / rows[i].copies);
        arena_release(&arena);
    }
}

/* Qwen3.5-27B's module has 248,320 x 5,120 of embedding and head when SGLang's pool is sized,
 * two tensors of 2.54 GB each (issue 36452); those of a model whose ends are one matrix are
 * one. Images keep 100 MiB. */
static void a_module_has_ends_while_the_pool_is_sized(void **state)
{
    (void)state;
    static const struct {
        const char *model, *set;
        uint64_t copies;
    } rows[] = {
        {"qwen3.5-27b", "workload.speculation.tokens=3", UINT64_C(2) * 248320 * 5120 * 2},
        {"qwen3.5-27b", "workload.speculation.tokens=3 cluster=b200-8x1 parallel.tp=8",
         UINT64_C(2) * 248320 / 8 * 5120 * 2},
        {"qwen3.5-4b", "workload.speculation.tokens=3", UINT64_C(248320) * 2560 * 2},
        {"qwen3.5-27b", "", 0},
        {"qwen3.5-27b", "workload.speculation.tokens=3 workload.speculation.method=ngram", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct serving_report r;
        plan_set(arena_printf(&arena,
                              "model: %s\ncluster: b200\nstack: sglang\n"
                              "workload: {mode: decode, context_length: 8192}\n",
                              rows[i].model),
                 rows[i].set, &arena, &plan);
        assert_int_equal(serving_of(&plan, &arena, &r, &err), STATUS_OK);
        print_message("%s %s\n", rows[i].model, rows[i].set);
        assert_int_equal(r.requested_bytes - r.weights_bytes - r.cache_bytes - r.state_bytes,
                         rows[i].copies + 100 * MIB);
        arena_release(&arena);
    }
}

/* What a device lacks when SGLang begins to load, alone and among others: Qwen3-235B-A22B-FP8
 * on four H100 at 0.93 has 367,404 tokens printed (vLLM issue 21348), DeepSeek-R1 on eight H200
 * at 0.82 some 509,000 (ai-dynamo/aisimulate pull request 263); with 3.58 GiB outside they were
 * 336,712 and 490,942. */
static void pools_are_of_what_is_free(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        double tokens;
    } rows[] = {
        {"model: qwen3-235b-a22b\ncluster: {base: h100-8x1, node: {devices: 4}}\n"
         "stack: sglang\nparallel: {tp: 4}\nprecision: {weights: fp8_block}\n"
         "memory: {fraction: 0.93}\nworkload: {mode: decode, queue: true}\n",
         367404},
        {"model: deepseek-r1\ncluster: h200-8x1\nstack: sglang\nparallel: {tp: 8}\n"
         "precision: {weights: fp8_block}\nmemory: {fraction: 0.82}\n"
         "workload: {mode: decode, queue: true, max_num_batched_tokens: 32768}\n",
         509000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p = predict_text(rows[i].plan, &arena);
        double ratio = (double)p.serving.cache_tokens / rows[i].tokens;
        print_message("%.3f of what was printed\n", ratio);
        assert_true(ratio > 0.98 && ratio < 1.02);
        arena_release(&arena);
    }
}

/* Workspaces of fused all-reduces are of Hopper and Blackwell alone. */
static void joined_ranks_have_what_their_device_fuses(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *version;
        uint64_t tp, hundredths;
    } rows[] = {
        {"h100", "", 8, 207},   {"b200", "", 8, 207},       {"rtx5090", "", 8, 66},
        {"a100", "", 8, 66},    {"rtx5090", "0.11", 8, 54}, {"rtx5090", "0.19", 1, 25},
        {"mi300x", "", 8, 207},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        catalogue_plan("llama-3.1-8b", rows[i].cluster, "vllm", &arena, &plan);
        snprintf(plan.stack.version, sizeof plan.stack.version, "%s", rows[i].version);
        plan.parallel.tp = rows[i].tp;
        assert_int_equal(engine_outside(&plan), rows[i].hundredths * GIB / 100);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined_ranks_have_what_their_device_fuses),
        cmocka_unit_test(products_run_in_the_weights_format),
        cmocka_unit_test(states_are_as_the_flags_say),
        cmocka_unit_test(states_of_a_whole_batch_come_first),
        cmocka_unit_test(states_have_the_engines_format),
        cmocka_unit_test(blocks_of_mla_beside_states),
        cmocka_unit_test(states_of_ling_come_out),
        cmocka_unit_test(states_share_the_pool),
        cmocka_unit_test(a_module_has_ends_while_the_pool_is_sized),
        cmocka_unit_test(pools_are_of_what_is_free),
        cmocka_unit_test(sparse_caches_in_eight_bits_are_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
