/* What engines' flags put elsewhere: weights in host memory, caches that are sent to another
 * server, and drafts in formats of their own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "base/unit.h"
#include "support/served.h"

/* What stays in host memory is not on the device, no more than the layers have: all but the
 * embedding, the head and vectors. */
static void offloaded_weights_leave_the_device(void **state)
{
    (void)state;
    static const char text[] = "model: llama-3.1-8b\ncluster: h100\nstack: %s\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "memory: {weight_offload: %s}\n";
    static const char *const stacks[] = {"vllm", "sglang"};
    const uint64_t matrices =
                       32 * (2ull * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) * 2,
                   norms = (2 * 32 + 1) * 4096 * 2;
    for (unsigned i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct prediction none =
            predict_text(arena_printf(&arena, text, stacks[i], "0 B"), &arena);
        struct prediction some =
            predict_text(arena_printf(&arena, text, stacks[i], "4 GiB"), &arena);
        struct prediction most =
            predict_text(arena_printf(&arena, text, stacks[i], "40 GiB"), &arena);
        assert_int_equal(none.memory.host_bytes, 0);
        assert_int_equal(some.memory.host_bytes, 4 * GIB);
        assert_int_equal(none.serving.weights_bytes - some.serving.weights_bytes, 4 * GIB);
        assert_int_equal(most.memory.host_bytes, matrices + norms);
        assert_int_equal(none.serving.weights_bytes - most.serving.weights_bytes,
                         matrices + norms);
        arena_release(&arena);
    }
}

/* Of Llama 3.1 8B every fourth layer is in host memory, and has room on the device for as many
 * as come in ahead: 8 layers of 32 are away, and one or two have room. Of DeepSeek-V3 20 of 61
 * are the third of three: layer 2, which is dense and has the room of one, and 19 with experts,
 * which share the room of one. */
static void groups_of_layers_are_away(void **state)
{
    (void)state;
    static const char text[] = "model: llama-3.1-8b\ncluster: h100\nstack: vllm\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "memory: {offload_group: %u, offload_ahead: %u}\n";
    const uint64_t layer = (2ull * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) * 2;
    struct arena arena = {0};
    struct prediction none = predict_text(arena_printf(&arena, text, 0, 1), &arena);
    struct prediction one = predict_text(arena_printf(&arena, text, 4, 1), &arena);
    struct prediction two = predict_text(arena_printf(&arena, text, 4, 2), &arena);
    assert_int_equal(none.memory.host_bytes, 0);
    assert_int_equal(one.memory.host_bytes, 8 * layer);
    assert_int_equal(none.serving.weights_bytes - one.serving.weights_bytes, (8 - 1) * layer);
    assert_int_equal(none.serving.weights_bytes - two.serving.weights_bytes, (8 - 2) * layer);
    static const char deep[] = "model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "parallel: {tp: 8, ep: 1, etp: 8}\n"
                               "memory: {offload_group: %u}\n";
    struct prediction all = predict_text(arena_printf(&arena, deep, 0), &arena);
    struct prediction thirds = predict_text(arena_printf(&arena, deep, 3), &arena);
    const uint64_t dense = buffer_bytes(&all, "dense_mlp_weights") / 3;
    const uint64_t experts = buffer_bytes(&all, "expert_weights") / 58;
    assert_int_equal(buffer_bytes(&thirds, "dense_mlp_weights"), 2 * dense);
    assert_int_equal(buffer_bytes(&thirds, "expert_weights"), (58 - 19) * experts);
    arena_release(&arena);
    assert_refused(
        "model: llama-3.1-8b\ncluster: h100\nstack: vllm\n"
        "workload: {mode: decode}\nmemory: {offload_group: 2, offload_in_group: 3}\n",
        "3 layers of a group of 2");
}

/* Of DeepSeek-V3 on 8 ranks, each of which has an eighth of every expert: SGLang sends the
 * experts of 19 of 58 layers away (the third of three, of which layer 2 is dense and stays) and
 * has room for the one that runs and the one that comes in; of all layers' 256 experts 250 are
 * the CPU's. */
static void experts_are_away(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: h200-8x1\nstack: sglang\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "parallel: {tp: 8, ep: 1, etp: 8}\n"
                               "memory: {%s}\n";
    struct arena arena = {0};
    struct prediction all = predict_text(arena_printf(&arena, text, ""), &arena);
    struct prediction thirds =
        predict_text(arena_printf(&arena, text, "offload_group: 3"), &arena);
    struct prediction cpu =
        predict_text(arena_printf(&arena, text, "host_experts: 250"), &arena);
    const uint64_t layer = buffer_bytes(&all, "expert_weights") / 58;
    assert_int_equal(buffer_bytes(&thirds, "expert_weights"), (58 - 19) * layer);
    assert_int_equal(buffer_bytes(&thirds, "offload_slots"), 2 * layer);
    assert_int_equal(buffer_bytes(&thirds, "dense_mlp_weights"),
                     buffer_bytes(&all, "dense_mlp_weights"));
    assert_int_equal(thirds.memory.host_bytes, 19 * layer);
    assert_int_equal(buffer_bytes(&cpu, "expert_weights"), 58 * (layer / 256 * 6));
    assert_int_equal(cpu.memory.host_bytes, 58 * (layer / 256 * 250));
    arena_release(&arena);
}

/* Of Qwen3-30B-A3B a token takes 48 layers x 2 x 4 heads x 128 x 2 bytes, 98,304: 8,192 tokens
 * and a block of 32 each way; no more of a layer than its window of 1,024. Else 512 MiB each,
 * and as much for the keys of an indexer. The pool has the less, by its fraction of it. */
static void caches_are_sent_from_buffers(void **state)
{
    (void)state;
    static const struct {
        const char *model, *role, *memory;
        uint64_t bytes;
    } rows[] = {
        {"qwen3-30b-a3b", "whole", "transfer_tokens: 8192", 0},
        {"qwen3-30b-a3b", "answers", "transfer_tokens: 8192", 2ull * (8192 + 32) * 98304},
        {"qwen3-30b-a3b", "prompts", "transfer_tokens: 8192, cache_window: 1024",
         2ull * (1024 + 32) * 98304},
        {"qwen3-30b-a3b", "answers", "transfer_tokens: 0", 2ull * 512 << 20},
        {"deepseek-v3.2", "answers", "transfer_tokens: 0", 4ull * 512 << 20},
    };
    uint64_t pool[sizeof rows / sizeof *rows];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p =
            predict_text(arena_printf(&arena,
                                      "model: %s\ncluster: b200-8x1\nstack: trtllm\n"
                                      "workload: {mode: decode, role: %s}\n"
                                      "parallel: {tp: 1, ep: 8}\nmemory: {%s}\n",
                                      rows[i].model, rows[i].role, rows[i].memory),
                         &arena);
        assert_int_equal(buffer_bytes(&p, "cache_transfer_buffers"), rows[i].bytes);
        pool[i] = p.serving.cache_bytes;
        arena_release(&arena);
    }
    assert_true(fabs((double)(pool[0] - pool[1]) - 0.9 * (double)rows[1].bytes) < 1 << 20);
}

/* EAGLE-3 on Llama 3.3 70B as above, alone: embedding and head of 32,000 x 6144 in 16 bits on
 * two ranks are 187.5 MiB each, and the model's own where they are shared. Matrices of 8 bits
 * take half; q, k, v and output 6144 x (48 + 16 + 48) x 128, gate, up and down 3 x 6144 x
 * 16384. Its cache, 2 x 4 heads x 128 bytes a token and rank, in one byte or two. */
static void drafts_have_their_own_formats(void **state)
{
    (void)state;
    static const char text[] =
        "model: llama-3.1-70b\ncluster: h200-2x1\nstack: vllm\n"
        "workload: {mode: decode, context_length: 4096, micro_batch: 2, speculation: {tokens: "
        "3, "
        "layers: 1, hidden: 6144, heads: 48, kv_heads: 8, head_dim: 128, intermediate: 16384, "
        "vocab: 32000, %s}}\nparallel: {tp: 2}\n";
    static const char *const more[] = {"shares: nothing", "shares: embedding", "shares: ends",
                                       "weights: fp8", "kv_cache: fp8"};
    const uint64_t table = 32000ull / 2 * 6144 * 2;
    const uint64_t matrices = 6144ull * (48 + 16 + 48) * 128 / 2 + 3ull * 6144 * 16384 / 2;
    uint64_t weights[5], cache[5];
    struct arena arena = {0};
    for (unsigned i = 0; i < 5; i++) {
        struct prediction p = predict_text(arena_printf(&arena, text, more[i]), &arena);
        weights[i] = buffer_bytes(&p, "draft_weights");
        cache[i] = buffer_bytes(&p, "draft_kv_cache");
    }
    assert_int_equal(weights[0] - weights[1], table);
    assert_int_equal(weights[0] - weights[2], 2 * table);
    assert_true(weights[0] - weights[3] <= matrices);
    assert_true(weights[0] - weights[3] > matrices - 1024); /* a scale of every matrix */
    assert_int_equal(cache[0], 2ull * 4096 * 2 * 4 * 128 * 2);
    assert_int_equal(cache[4] * 2, cache[0]);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offloaded_weights_leave_the_device),
        cmocka_unit_test(groups_of_layers_are_away),
        cmocka_unit_test(experts_are_away),
        cmocka_unit_test(caches_are_sent_from_buffers),
        cmocka_unit_test(drafts_have_their_own_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
