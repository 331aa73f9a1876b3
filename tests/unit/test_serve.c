/* Serving stacks: exact weights, and public reports as predictions. Each report is a plan, the
 * name of the wall and its size as the report prints it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/plans.h"
#include "support/told.h"
#include "plan/params.h"
#include "work/serve/serve.h"
static void assert_gib(uint64_t bytes, const char *printed)
{
    const char *point = strchr(printed, '.');
    char text[64];
    snprintf(text, sizeof text, "%.*f", point ? (int)strlen(point + 1) : 0,
             (double)bytes / 1073741824.0);
    assert_string_equal(text, printed);
}

/* ---- reports ---- */

static const struct report {
    const char *name, *plan;
    enum verdict verdict;
    const char *wall;    /* NULL: not asked */
    const char *buffer;  /* its size is told; NULL: the wall's */
    const char *printed; /* GiB */
} reports[] = {
    {"vLLM 47127: GLM-5.2 with FlashInfer CUTLASS on 16 H100, profile run of 8192 tokens",
     "model: glm-5.2\ncluster: h100-8x2\nstack: vllm\n"
     "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1, scenario: profile_run,\n"
     "  context_length: 202752}\n"
     "parallel: {tp: 1, ep: 16}\nmoe: {path: allgather}\n"
     "precision: {weights: fp8_block}\nmemory: {fraction: 0.95}\n",
     VERDICT_OOM, "cutlass_moe_workspace", NULL, "26.21"},
    {"vLLM 19298: DeepSeek-R1 over 32 ranks, every dummy token to one of them",
     "model: deepseek-r1\ncluster: h100-8x4\nstack: vllm\n"
     "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1, scenario: profile_run}\n"
     "parallel: {tp: 1, ep: 32}\nprecision: {weights: fp8_block, dispatch: fp8_block}\n"
     "moe: {path: deepep}\n",
     VERDICT_OOM, "workspace13", NULL, "28.01"},
    {"the same engine in steady state fits",
     "model: deepseek-r1\ncluster: h100-8x4\nstack: vllm\n"
     "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1}\n"
     "parallel: {tp: 1, ep: 32}\nprecision: {weights: fp8_block, dispatch: fp8_block}\n"
     "moe: {path: deepep, buffer: balanced}\n",
     VERDICT_FITS, NULL, "workspace13", "0.89"},
    {"vLLM 57270: GLM-5 over 16 ranks, worst case of both DeepGEMM workspaces (24 GiB: 12 "
     "each)",
     "model: glm-5\ncluster: h200-8x2\nstack: vllm\n"
     "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1, scenario: profile_run}\n"
     "parallel: {tp: 1, ep: 16}\nprecision: {weights: fp8_block, dispatch: fp8_block}\n"
     "moe: {path: deepep}\n",
     VERDICT_FITS, NULL, "workspace2", "12.0"},
    {"vLLM 57894: 384 + 64 redundant experts, 2048 tokens a rank: beyond the 32 GiB of an int",
     "model: {layers: 4, hidden: 5120, dense_intermediate: 12288, vocab: 129280,\n"
     "  attention: {kind: gqa, heads: 40, kv_heads: 8, head_dim: 128},\n"
     "  moe: {experts: 384, top_k: 8, intermediate: 2048}}\n"
     "cluster: h200-8x2\nstack: vllm\n"
     "workload: {mode: decode, micro_batch: 2048, context_length: 16}\n"
     "parallel: {tp: 1, ep: 16}\nprecision: {weights: fp8_block, dispatch: fp8_block}\n"
     "moe: {path: deepep_ll, redundant_experts: 64}\n",
     VERDICT_OOM, "low_latency_buffer", NULL, "35.547"},
    {"SGLang 28994: 1024 tokens a rank",
     "model: deepseek-v3\ncluster: h200-8x2\nstack: sglang\n"
     "workload: {mode: decode, micro_batch: 1024, context_length: 256}\n"
     "parallel: {tp: 1, ep: 16}\nprecision: {weights: fp8_block, dispatch: fp8_block}\n"
     "moe: {path: deepep_ll}\n",
     VERDICT_FITS, NULL, "low_latency_buffer", "14.22"},
    {"SGLang 28994: 128 tokens a rank",
     "model: deepseek-v3\ncluster: h200-8x2\nstack: sglang\n"
     "workload: {mode: decode, micro_batch: 128, context_length: 256}\n"
     "parallel: {tp: 1, ep: 16}\nprecision: {weights: fp8_block, dispatch: fp8_block}\n"
     "moe: {path: deepep_ll}\n",
     VERDICT_FITS, NULL, "low_latency_buffer", "1.777"},
};

static void reports_come_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        const struct report *r = &reports[i];
        struct told t;
        must_tell(r->plan, &t);
        const struct memory_report *m = &t.prediction.memory;
        if (m->verdict != r->verdict)
            fail_msg("%s: %s, %llu of %llu", r->name, verdict_name(m->verdict),
                     (unsigned long long)m->total_bytes, (unsigned long long)m->limit_bytes);
        if (r->wall)
            assert_string_equal(m->wall->name, r->wall);
        const struct buffer_report *buffer = r->buffer ? told_buffer(&t, r->buffer) : m->wall;
        assert_non_null(buffer);
        assert_gib(buffer->bytes, r->printed);
        arena_release(&t.arena);
    }
}

/* The low-latency buffer grows with redundant experts and not with ranks; at 1840 tokens it is
 * just addressable. */
static void low_latency_follows_experts_and_not_ranks(void **state)
{
    (void)state;
    static const char *const plans[] = {
        "cluster: h200-8x2\nparallel: {tp: 1, ep: 16}\n",
        "cluster: h200-8x8\nparallel: {tp: 1, ep: 64}\n",
    };
    for (unsigned i = 0; i < 2; i++) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "model: {layers: 4, hidden: 5120, dense_intermediate: 12288, vocab: 129280,\n"
            "  attention: {kind: gqa, heads: 40, kv_heads: 8, head_dim: 128},\n"
            "  moe: {experts: 384, top_k: 8, intermediate: 2048}}\n%s"
            "stack: vllm\nworkload: {mode: decode, micro_batch: 1840, context_length: 16}\n"
            "precision: {weights: fp8_block, dispatch: fp8_block}\n"
            "moe: {path: deepep_ll, redundant_experts: 64}\n",
            plans[i]);
        struct told t;
        must_tell(text, &t);
        assert_gib(told_buffer(&t, "low_latency_buffer")->bytes, "31.937");
        assert_null(t.prediction.memory.address_wall);
        arena_release(&t.arena);
    }
}

/* ---- weights ---- */

/* DeepSeek-V3 in vLLM 0.6.6, tp 8 over pp 4 (DeepSeek-V3 issue 205): the stage with the dense
 * layers loaded 16.9583 GiB. HPU, tp 8 (vllm-fork issue 809): 79.41 GiB. Absorbed copies came
 * later. Within 1.5 %. */
static void loaded_weights_match_logs(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        double gib;
    } logs[] = {
        {"model: deepseek-v3\ncluster: h100-8x4\nstack: vllm\n"
         "workload: {mode: prefill, sequence_length: 128, micro_batch: 1}\n"
         "parallel: {tp: 8, ep: 1, etp: 8, pp: 4, stages: [15, 15, 15, 16], stage: 1}\n"
         "precision: {weights: fp8_block}\nmoe: {path: ragged_a2a}\n",
         16.9583},
        {"model: deepseek-r1\ncluster: h100-8x1\nstack: vllm\n"
         "workload: {mode: prefill, sequence_length: 128, micro_batch: 1}\n"
         "parallel: {tp: 8, ep: 1, etp: 8}\n"
         "precision: {weights: fp8_block}\nmoe: {path: ragged_a2a}\n",
         79.41},
    };
    for (unsigned i = 0; i < 2; i++) {
        struct told t;
        must_tell(logs[i].plan, &t);
        uint64_t bytes = t.prediction.memory.state_bytes - told_buffer(&t, "kv_cache")->bytes -
                         told_buffer(&t, "absorbed_kv_b_copies")->bytes;
        double error = (double)bytes / 1073741824.0 / logs[i].gib - 1;
        if (error < -0.015 || error > 0.015)
            fail_msg("%s: %.3f GiB, logged %.3f", logs[i].plan, (double)bytes / 1073741824.0,
                     logs[i].gib);
        arena_release(&t.arena);
    }
}

/* In 16 bits and on one rank the components add up to the model: matrices, norms, biases. */
static void components_add_up_to_the_model(void **state)
{
    (void)state;
    static const char *const models[] = {"deepseek-v3",  "deepseek-v2-lite", "glm-4.5-air",
                                         "gpt-oss-120b", "mixtral-8x7b",     "qwen3-235b-a22b",
                                         "arctic",       "kimi-k2",          "llama4-maverick"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "model: %s\ncluster: h200\nstack: vllm\n"
                 "workload: {mode: decode, micro_batch: 1, context_length: 16}\n"
                 "parallel: {tp: 1, ep: 1}\nmoe: {path: ragged_a2a}\n"
                 "precision: {weights: bf16}\n",
                 models[i]);
        struct told t;
        must_tell(text, &t);
        uint64_t bytes = 0;
        const struct memory_report *m = &t.prediction.memory;
        for (size_t j = 0; j < m->n_buffers; j++)
            if (m->buffers[j].category == CATEGORY_WEIGHTS &&
                strcmp(m->buffers[j].name, "absorbed_kv_b_copies"))
                bytes += m->buffers[j].bytes;
        struct params params;
        params_count(&t.plan.model, &params);
        if (bytes != 2 * params.parameters)
            fail_msg("%s: %llu bytes, the model has %llu", models[i], (unsigned long long)bytes,
                     (unsigned long long)(2 * params.parameters));
        arena_release(&t.arena);
    }
}

/* seed-systems.md B5: a shared expert of 251,658,240 bytes, 24 layers, whole on every core or
 * over tp 8. */
static void shared_experts_are_split_or_whole(void **state)
{
    (void)state;
    static const struct {
        const char *shared;
        uint64_t bytes;
    } cases[] = {{"sp", 24ull * 251658240}, {"tp", 24ull * 251658240 / 8}};
    for (unsigned i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "model: llama4-maverick\ncluster: trn2-16x1\nstack: nxd\n"
                 "parallel: {tp: 8, etp: 8}\nmoe: {path: all_experts, shared: %s}\n"
                 "workload: {mode: decode, micro_batch: 8, context_length: 128}\n",
                 cases[i].shared);
        struct told t;
        must_tell(text, &t);
        assert_true(told_buffer(&t, "shared_expert_weights")->bytes == cases[i].bytes);
        arena_release(&t.arena);
    }
}

/* KV cache per token: 576 elements of 61 layers for DeepSeek-V3's latent, 2 x 8 x 128 of 94 for
 * Qwen3 (4 key-value heads), divided by tp down to one head. */
static void cache_counts_every_kind_of_attention(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        uint64_t bytes;
    } caches[] = {
        {"model: deepseek-v3\nparallel: {tp: 1, ep: 8}\nprecision: {kv_cache: bf16}\n",
         576ull * 61 * 2 * 4096},
        {"model: deepseek-v3\nparallel: {tp: 8, ep: 8, sp: true}\nprecision: {kv_cache: fp8}\n",
         576ull * 61 * 4096},
        {"model: qwen3-235b-a22b\nparallel: {tp: 1, ep: 8}\nprecision: {kv_cache: bf16}\n",
         2ull * 4 * 128 * 94 * 2 * 4096},
        {"model: qwen3-235b-a22b\nparallel: {tp: 8, ep: 8, sp: true}\n"
         "precision: {kv_cache: bf16}\n",
         2ull * 1 * 128 * 94 * 2 * 4096},
    };
    for (unsigned i = 0; i < sizeof caches / sizeof *caches; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "%scluster: h200-8x1\nstack: vllm\n"
                 "workload: {mode: decode, micro_batch: 8, context_length: 505}\n",
                 caches[i].head);
        struct told t;
        must_tell(text, &t);
        assert_true(told_buffer(&t, "kv_cache")->bytes ==
                    caches[i].bytes); /* 505 rounds to 512 */
        arena_release(&t.arena);
    }
}

/* ---- refusals, Neuron, index limits ---- */

static void refusals_say_what_to_do(void **state)
{
    (void)state;
    static const struct {
        const char *plan, *text;
    } cases[] = {
        {"model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\nparallel: {ep: 8}\n"
         "workload: {mode: train}\n",
         "stack vllm serves: it has no workload.mode train"},
        {"model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: 8}\n"
         "workload: {mode: decode, micro_batch: 8}\n",
         "stack vllm spreads the experts over all 16 ranks of tp and dp, not over 8"},
        {"model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: 1}\n"
         "moe: {path: deepep_ll}\nworkload: {mode: decode, micro_batch: 8}\n",
         "moe.path deepep_ll has nothing to exchange: stack vllm joins the tokens of all 16 "
         "replicas before experts that are split over 16 ranks"},
        {"model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\n"
         "parallel: {tp: 2, ep: 1, sp: true}\nworkload: {mode: decode, micro_batch: 8}\n",
         "stack vllm joins whole replicas' tokens before experts that are split over 8 ranks: "
         "parallel.sp gives each of 2 tp ranks a part"},
        {"model: deepseek-v3\ncluster: h200-8x1\nstack: sglang\nparallel: {tp: 1, ep: 1}\n"
         "moe: {shared: sp}\nworkload: {mode: decode, micro_batch: 8}\n",
         "stack sglang splits shared experts over the same 8 ranks as routed ones: moe.shared "
         "is sp"},
        {"model: deepseek-v3\ncluster: h200-8x2\nstack: sglang\n"
         "parallel: {tp: 8, ep: 16, sp: false}\nworkload: {micro_batch: 8}\n",
         "stack sglang gives each of the 8 tp ranks its own part of the tokens before experts "
         "over 16 ranks"},
        /* vllm issue 17569, sglang issue 3345 */
        {"model: qwen3-235b-a22b\ncluster: h100-8x1\nstack: vllm\n"
         "parallel: {tp: 8}\nprecision: {weights: fp8_block}\n",
         "stack vllm does not load blocks of 128 in parts: experts of width 1536, 192 on a "
         "rank"},
        {"model: deepseek-r1\ncluster: {base: h100-8x8, nodes: 4}\nstack: sglang\n"
         "parallel: {tp: 32, ep: 32}\n",
         "stack sglang does not load blocks of 128 in parts: shared experts of width 2048, 64 "
         "on a rank"},
        {"model: gpt-oss-120b\ncluster: trn2-16x1\nstack: nxd\n"
         "parallel: {tp: 64, etp: 64}\nmoe: {path: blockwise}\n"
         "workload: {mode: prefill, sequence_length: 4096, micro_batch: 1}\n",
         "path blockwise needs hidden a multiple of 512, not 2880"},
        {"model: deepseek-v3\ncluster: trn2-16x1\nstack: nxd\nparallel: {tp: 8, ep: 8}\n"
         "moe: {path: selective}\nworkload: {mode: decode, micro_batch: 1}\n",
         "path selective cannot run with parallel.ep 8"},
        {"model: deepseek-v3\ncluster: trn2-16x1\nstack: nxd\nparallel: {tp: 8, ep: 8}\n"
         "moe: {path: rdep}\nworkload: {mode: decode, micro_batch: 1}\n",
         "stack nxd does not run moe.path rdep"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct told t;
        assert_int_equal(tell(cases[i].plan, &t), STATUS_INPUT);
        assert_string_equal(t.err.text, cases[i].text);
        assert_true(t.err.hint[0] != '\0');
        arena_release(&t.arena);
    }
}

/* A model, machines and an engine are a plan: data-parallel ranks share out whole experts. */
static void an_engine_alone_is_a_plan(void **state)
{
    (void)state;
    static const char head[] = "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\n";
    struct told open, said;
    must_tell(head, &open);
    must_tell("model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: 16}\n",
              &said);
    assert_int_equal(open.plan.parallel.ep, 16);
    assert_int_equal(open.prediction.memory.total_bytes, said.prediction.memory.total_bytes);
    arena_release(&open.arena);
    arena_release(&said.arena);
}

/* Neuron, blockwise prefill: 383 blocks for 8192 tokens, K = 8, 256 experts on a rank. */
static void neuron_serves_with_static_blocks(void **state)
{
    (void)state;
    struct told t;
    must_tell("model: deepseek-v3\ncluster: trn2-16x1\nstack: nxd\n"
              "parallel: {tp: 64, etp: 64}\nmoe: {path: blockwise}\n"
              "precision: {weights: fp8_channel}\n"
              "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1}\n",
              &t);
    const struct buffer_report *ids = told_buffer(&t, "token_position_to_id");
    assert_true(ids->dims[0] == 383 * 512 + 1 && ids->bytes == (383 * 512 + 1) * 8);
    assert_string_equal(ids->rule, "worst");
    arena_release(&t.arena);
}

/* The first buffer that a 32-bit index cannot count is named: T R min(K, e) rows of H. */
static void first_buffer_beyond_int_is_named(void **state)
{
    (void)state;
    struct told t;
    must_tell("model: deepseek-r1\ncluster: h100-8x4\nstack: vllm\n"
              "workload: {mode: prefill, sequence_length: 8192, micro_batch: 2,\n"
              "  scenario: profile_run, max_num_seqs: 64}\n"
              "parallel: {tp: 1, ep: 32}\nprecision: {weights: fp8_block}\n"
              "moe: {path: deepep}\n",
              &t);
    assert_non_null(t.prediction.memory.int_wall);
    assert_string_equal(t.prediction.memory.int_wall->name, "recv_x");
    arena_release(&t.arena);
    must_tell("model: deepseek-r1\ncluster: h100-8x4\nstack: vllm\n"
              "workload: {mode: decode, micro_batch: 8, context_length: 128}\n"
              "parallel: {tp: 1, ep: 32}\nprecision: {weights: fp8_block}\n"
              "moe: {path: deepep}\n",
              &t);
    assert_null(t.prediction.memory.int_wall);
    arena_release(&t.arena);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_come_out),
        cmocka_unit_test(low_latency_follows_experts_and_not_ranks),
        cmocka_unit_test(loaded_weights_match_logs),
        cmocka_unit_test(components_add_up_to_the_model),
        cmocka_unit_test(shared_experts_are_split_or_whole),
        cmocka_unit_test(cache_counts_every_kind_of_attention),
        cmocka_unit_test(refusals_say_what_to_do),
        cmocka_unit_test(an_engine_alone_is_a_plan),
        cmocka_unit_test(neuron_serves_with_static_blocks),
        cmocka_unit_test(first_buffer_beyond_int_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
