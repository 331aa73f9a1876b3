/* What single flags of engines' launches hold: adapters, caches in host memory, a cache that
 * ranks share out, experts in chunks, images, batches over stages, drafts' entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "base/unit.h"
#include "plan/engine.h"
#include "sim/serve/serving.h"
#include "sim/time/step_time.h"
#include "support/served.h"

/* Llama 3.1 8B, a layer: q, k and v have 3 x 4096 + 4096 + 2 x 1024 of a rank, output 2 x 4096,
 * gate and up 2 x (4096 + 14336), down 14336 + 4096: 81,920. Two adapters of rank 16 in 16
 * bits, 32 layers: 160 MiB. Of tp 2: widths of q, k, v, gate and up halved, and inputs of the
 * other two: 3 x 4096 + 3072, 2048 + 4096, 2 x (4096 + 7168), 7168 + 4096: 55,296, 108 MiB;
 * with all 4096 halved as well, 40,960, 80 MiB. SGLang has a pool of the same. */
static void adapters_have_room(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *stack, *parallel, *more;
        uint64_t mib;
    } rows[] = {
        {"h100", "vllm", "tp: 1", "", 160},
        {"h100-2x1", "vllm", "tp: 2", "", 108},
        {"h100-2x1", "vllm", "tp: 2", ", sharded: true", 80},
        {"h100-2x1", "sglang", "tp: 2", "", 108},
        /* A 4096 + B 2048 of q alone */
        {"h100-2x1", "sglang", "tp: 2", ", targets: [q_proj]", 12},
        /* TensorRT-LLM: slots as wide as k's and v's 4096 + 1024, of which q takes two; 16 x 3
         * x 32 x 2 adapters x 2 of them are six pages of (2 + 1 + 1) x 8 x 32 */
        {"h100", "trtllm", "tp: 1", ", targets: [q_proj, k_proj, v_proj]", 60},
        /* 4096 + 512 wide */
        {"h100-2x1", "trtllm", "tp: 2", ", targets: [q_proj, k_proj, v_proj]", 54},
        /* q alone counts for three, its 3,072 slots of 8,192 are twelve pages of 8 x 32 */
        {"h100", "trtllm", "tp: 1", ", targets: [q_proj]", 48},
        /* 4096 + 14336 take four slots: 16 x 7 x 32 x 2 x 4 are seven pages of
         * (2 + 1 + 1 + 2 + 4 + 4 + 4) x 8 x 32 */
        {"h100", "trtllm", "tp: 1",
         ", targets: [q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj]", 315},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        uint64_t weights[2];
        for (unsigned with = 0; with < 2; with++) {
            struct prediction p =
                predict_text(arena_printf(&arena,
                                          "model: llama-3.1-8b\ncluster: %s\nstack: %s\n"
                                          "workload: {mode: decode, context_length: 4096}\n"
                                          "parallel: {%s}\nlora: {rank: 16, slots: %u%s}\n",
                                          rows[i].cluster, rows[i].stack, rows[i].parallel,
                                          2 * with, rows[i].more),
                             &arena);
            weights[with] = p.serving.weights_bytes;
        }
        assert_int_equal(weights[1] - weights[0], rows[i].mib << 20);
        arena_release(&arena);
    }
}

/* Every rank of tp 8 holds all of MLA's latents; eight that share them out hold an eighth. */
static void ranks_share_a_cache_out(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\n"
                               "workload: {mode: decode, context_length: 65536}\n"
                               "parallel: {tp: 8, dcp: %u}\nmemory: {cache_blocks: 9000}\n";
    struct arena arena = {0};
    struct prediction whole = predict_text(arena_printf(&arena, text, 1), &arena);
    struct prediction shared = predict_text(arena_printf(&arena, text, 8), &arena);
    assert_int_equal(whole.serving.sequences, 8999 / (65536 / 64));
    assert_int_equal(shared.serving.sequences, 8999 / (65536 / 64 / 8));
    assert_int_equal(shared.serving.cache_bytes, whole.serving.cache_bytes);
    assert_int_equal(buffer_bytes(&shared, "kv_cache") * 8, buffer_bytes(&whole, "kv_cache"));
    arena_release(&arena);
    assert_refused("model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\n"
                   "workload: {mode: decode}\nparallel: {tp: 8, dcp: 3}\n",
                   "dcp 3 does not divide tp 8");
    assert_refused("model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: vllm\n"
                   "workload: {mode: decode}\nparallel: {tp: 8, dcp: 4}\n",
                   "do not hold the same");
    assert_refused("model: gpt-oss-120b\ncluster: h200-8x2\nstack: vllm\n"
                   "workload: {mode: decode}\nparallel: {tp: 16, dcp: 2}\n",
                   "window");
}

/* gpt-oss: 18 layers of each kind with 8 heads of 64 for keys and for values, 1,024 bytes a
 * token in fp8. Window layers in 16 bits have pages of 16 x 2,048, which hold 32 tokens of the
 * others: 65,536 take 2,048 blocks in place of 4,096; windows of 128 and a step of 8,192 take
 * 521 of either. */
static void windows_keep_their_format(void **state)
{
    (void)state;
    static const char text[] = "model: gpt-oss-120b\ncluster: h100\nstack: vllm\n"
                               "workload: {mode: decode, context_length: 65536}\n"
                               "precision: {kv_cache: fp8, window_cache: %s}\n"
                               "memory: {cache_blocks: 10000}\n";
    struct arena arena = {0};
    struct prediction alike = predict_text(arena_printf(&arena, text, "none"), &arena);
    struct prediction apart = predict_text(arena_printf(&arena, text, "bf16"), &arena);
    assert_int_equal(alike.serving.cache_bytes, UINT64_C(10000) * 18 * 16 * 1024);
    assert_int_equal(apart.serving.cache_bytes, UINT64_C(10000) * 18 * 16 * 2048);
    assert_int_equal(alike.serving.sequences, 9999 / (4096 + 521));
    assert_int_equal(apart.serving.sequences, 9999 / (2048 + 521));
    assert_int_equal(buffer_bytes(&apart, "kv_cache"), buffer_bytes(&alike, "kv_cache"));
    assert_int_equal(buffer_bytes(&apart, "window_cache"),
                     2 * buffer_bytes(&alike, "window_cache"));
    arena_release(&arena);
}

/* Half of GLM-4.5's heads of 128 rotates: cosines and sines of 131,072 positions have 64
 * columns of 16 bits. */
static void tables_are_of_what_rotates(void **state)
{
    (void)state;
    static const char text[] = "model: {base: glm-4.5-air%s}\ncluster: h200-4x1\nstack: vllm\n"
                               "parallel: {tp: 4}\nworkload: {mode: decode}\n";
    struct arena arena = {0};
    struct prediction half = predict_text(arena_printf(&arena, text, ""), &arena);
    struct prediction whole =
        predict_text(arena_printf(&arena, text, ", attention: {qk_rope_head_dim: 0}"), &arena);
    assert_int_equal(buffer_bytes(&half, "rotary_table"), 131072 * 64 * 2);
    assert_int_equal(buffer_bytes(&whole, "rotary_table"), 131072 * 128 * 2);
    arena_release(&arena);
}

/* A table for each base and width, in 16 bits by vLLM and in f32 by SGLang: of Gemma-3-27B's
 * 131,072 positions two of 128 columns, of DeepSeek-V4's 1,048,576 two of 64 in f32 (of SGLang
 * two of 32 complex numbers, too), of Laguna's 262,144 half a head of 128 in full layers and
 * all of it in those with windows, of MiMo-V2's as many 64 in either, of DeepSeek-V3.2's
 * 163,840 attention's and the indexer's; of models without positions none. */
static void each_base_has_its_table(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t vllm, sglang;
    } rows[] = {
        {"gemma-3-27b", 131072ull * (128 + 128) * 2, 131072ull * (128 + 128) * 4},
        {"deepseek-v4-flash", 1048576ull * (64 + 64) * 4, 1048576ull * (64 + 64) * 8},
        {"laguna-s-2.1", 262144ull * (64 + 128) * 2, 262144ull * (64 + 128) * 4},
        {"mimo-v2-flash", 262144ull * (64 + 64) * 2, 262144ull * (64 + 64) * 4},
        {"deepseek-v3.2", 163840ull * (64 + 64) * 2, 163840ull * (64 + 64) * 4},
        {"glm-4.5-air", 131072ull * 64 * 2, 131072ull * 64 * 4},
        {"nemotron-3-nano", 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned sglang = 0; sglang < 2; sglang++) {
            struct arena arena = {0};
            struct prediction p = predict_text(
                arena_printf(&arena,
                             "model: %s\ncluster: h200-8x1\nstack: %s\nparallel: {tp: 8}\n"
                             "workload: {mode: decode}\n",
                             rows[i].model, sglang ? "sglang" : "vllm"),
                &arena);
            print_message("%s %u\n", rows[i].model, sglang);
            assert_int_equal(buffer_bytes(&p, "rotary_table"),
                             sglang ? rows[i].sglang : rows[i].vllm);
            arena_release(&arena);
        }
}

/* TensorRT-LLM captures 1 to 31, 32, 64, 128 sequences, powers of two above and the largest; a
 * batch between them is a graph where it is padded, a step with prompts never. */
static void some_batches_have_graphs(void **state)
{
    (void)state;
    static const struct {
        uint64_t largest, sequences; /* largest 0: not set */
        bool padding, graph;
    } rows[] = {{0, 31, false, true},    {0, 32, false, true},    {0, 33, false, false},
                {0, 48, false, false},   {0, 64, false, true},    {0, 96, false, false},
                {0, 96, true, true},     {0, 128, true, true},    {0, 129, true, false},
                {0, 256, false, false},  {512, 256, false, true}, {512, 192, false, false},
                {192, 192, false, true}, {512, 192, true, true},  {16, 32, true, false}};
    struct arena arena = {0};
    struct plan plan = load_text("model: gpt-oss-120b\ncluster: h100-4x1\nstack: trtllm\n"
                                 "workload: {mode: decode}\nparallel: {tp: 4}\n",
                                 &arena);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        plan.stack.graph_batch = rows[i].largest;
        plan.stack.graph_padding = rows[i].padding;
        plan.workload.micro_batch = rows[i].sequences;
        enum graphs graphs = step_graphs(&plan);
        if ((graphs == GRAPHS_FULL) != rows[i].graph ||
            (graphs == GRAPHS_NONE) == rows[i].graph)
            fail_msg("row %d: %llu sequences, graphs %d", (int)i,
                     (unsigned long long)rows[i].sequences, (int)graphs);
    }
    plan.workload.mode = MODE_PREFILL;
    assert_int_equal(step_graphs(&plan), GRAPHS_NONE);
    arena_release(&arena);
}

/* 4,096 tokens x 8 of 128 experts are 32,768 rows, in tiles of 64 at most 64 x (128 + (32,768 -
 * 128) / 64) = 40,832. Blocks of Qwen3-30B-A3B (H 2,048, I 768): 2 x 768 and 768 bytes, 12 + 6
 * scales in 32 bits, 2 x 2,048 bytes out; nvfp4: 384 bytes and 48 scales of a byte. */
static void generated_kernels_hold_rows(void **state)
{
    (void)state;
    static const struct {
        const char *weights;
        uint64_t gate_up, activated, scales;
    } rows[] = {{"fp8_block", 1536, 768, 72}, {"nvfp4", 0, 432, 0}, {"bf16", 0, 1536, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p =
            predict_text(arena_printf(&arena,
                                      "model: qwen3-30b-a3b\ncluster: b200-8x1\n"
                                      "stack: {base: vllm, experts: trtllm_gen}\n"
                                      "workload: {mode: prefill, sequence_length: 4096}\n"
                                      "parallel: {tp: 8, ep: 8}\nprecision: {weights: %s}\n",
                                      rows[i].weights),
                         &arena);
        assert_int_equal(buffer_bytes(&p, "trtllm_gen_gate_up"), 40832 * rows[i].gate_up);
        assert_int_equal(buffer_bytes(&p, "trtllm_gen_activated"), 40832 * rows[i].activated);
        assert_int_equal(buffer_bytes(&p, "trtllm_gen_scales"), 40832 * rows[i].scales);
        assert_int_equal(buffer_bytes(&p, "trtllm_gen_out"), (uint64_t)40832 * 4096);
        arena_release(&arena);
    }
}

/* Gathered over 8 ranks 65,536 tokens reach the experts; two streams of 4,096 hold what 8,192
 * do where tokens are on every rank. */
static void experts_take_chunks(void **state)
{
    (void)state;
    static const char *const plans[] = {
        "parallel: {tp: 8, ep: 8}\n",
        "parallel: {tp: 1, ep: 8}\nmoe: {path: allgather, expert_tokens: 4096}\n",
        "parallel: {tp: 1, ep: 8}\nmoe: {path: allgather}\n",
    };
    uint64_t bytes[3];
    for (unsigned i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct prediction p =
            predict_text(arena_printf(&arena,
                                      "model: deepseek-v3\ncluster: h200-8x1\nstack: trtllm\n"
                                      "workload: {mode: prefill, sequence_length: 8192}\n%s",
                                      plans[i]),
                         &arena);
        bytes[i] = buffer_bytes(&p, "cutlass_moe_workspace");
        arena_release(&arena);
    }
    assert_true(bytes[0] > GIB);
    assert_int_equal(bytes[1], bytes[0]);
    assert_true(bytes[2] > 7 * bytes[0]);
}

/* Text alone: neither the encoder's weights nor its part of the profile run. Of images as large
 * as a step one is encoded; four sequences of one small image are four images. */
static void images_may_be_limited(void **state)
{
    (void)state;
    static const char text[] =
        "model: qwen3-vl-30b-a3b\ncluster: h100-2x1\nstack: vllm\n"
        "workload: {mode: decode, context_length: 8192, max_num_seqs: 4, "
        "encoder: {item: 1024, limit: %u}}\nparallel: {tp: 2}\n";
    struct arena arena = {0};
    struct prediction none = predict_text(arena_printf(&arena, text, 0), &arena);
    struct prediction one = predict_text(arena_printf(&arena, text, 1), &arena);
    struct prediction all = predict_text(arena_printf(&arena, text, 999), &arena);
    assert_int_equal(buffer_bytes(&none, "encoder_weights"), 0);
    assert_int_equal(one.serving.weights_bytes - none.serving.weights_bytes,
                     buffer_bytes(&one, "encoder_weights"));
    assert_true(buffer_bytes(&one, "encoder_weights") > 0);
    /* 4 x 256 tokens, 32 x 256 tokens: cached outputs differ at least */
    assert_true(all.serving.activation_bytes > one.serving.activation_bytes);
    assert_true(one.serving.activation_bytes > none.serving.activation_bytes);
    arena_release(&arena);
}

static void host_caches_are_a_second_wall(void **state)
{
    (void)state;
    static const char text[] = "model: llama-3.1-8b\nstack: sglang\n"
                               "cluster: {base: h100, node: {host_memory: %s}}\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "memory: {%s}\n";
    struct arena arena = {0};
    struct prediction room =
        predict_text(arena_printf(&arena, text, "1 TiB", "host_cache_ratio: 2"), &arena);
    struct prediction given =
        predict_text(arena_printf(&arena, text, "1 TiB", "host_cache: 30 GiB"), &arena);
    struct prediction none =
        predict_text(arena_printf(&arena, text, "64 GiB", "host_cache_ratio: 2"), &arena);
    assert_int_equal(room.memory.host_bytes, 2 * room.serving.cache_bytes);
    assert_int_equal(given.memory.host_bytes, 30 * GIB);
    assert_int_equal(room.memory.verdict, VERDICT_FITS);
    assert_int_equal(none.memory.verdict, VERDICT_OOM);
    arena_release(&arena);
}

/* SGLang's set_num_tokens_hybrid_swa: of gpt-oss's 36 layers 18 slide; 10 GiB hold 145,635
 * tokens of 73,728 bytes, x 36 / (18 + 0.8 x 18) = 161,816 where they keep 0.8 of a full
 * layer's, and 145,635 x 36 / 22.5 with 0.25. */
static void windows_keep_fewer_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *memory;
        uint64_t tokens;
    } rows[] = {
        {"{}", 161816}, {"{window_ratio: 0.25}", 233016}, {"{window_ratio: 1}", 145635}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan = load_text(
            arena_printf(&arena,
                         "model: gpt-oss-120b\ncluster: h200\nstack: sglang\n"
                         "workload: {mode: decode, context_length: 8192}\nmemory: %s\n",
                         rows[i].memory),
            &arena);
        struct serving_report r = {.cache_bytes = 10 * GIB, .context_tokens = 8192};
        struct slots slots;
        slots_from_plan(&plan, &slots);
        serving_count(&plan, &slots, &r);
        assert_true(r.cache_tokens <= rows[i].tokens && r.cache_tokens + 6 >= rows[i].tokens);
        arena_release(&arena);
    }
}

/* At tp 4 a fourth of 36 x (32 x 128 x 128 x 4 + 3 x 8,192 x 2) bytes; one pads, five run one.
 */
static void states_share_the_pool(void **state)
{
    (void)state;
    static const struct {
        const char *memory;
        double share;
        uint64_t slots, copies;
    } rows[] = {{"{}", 0.9 / 1.9, 0, 5},
                {"{state_ratio: 0.25, state_copies: 3}", 0.2, 0, 3},
                {"{state_ratio: 0.25, state_copies: 1}", 0.2, 512, 1},
                {"{state_slots: 96, state_copies: 5}", 0, 96, 5}};
    const uint64_t each = 77266944 / 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p = predict_text(
            arena_printf(&arena,
                         "model: {base: qwen3-next-80b-a3b, linear: {state: f32}}\n"
                         "cluster: h100-4x1\nstack: sglang\nparallel: {tp: 4}\n"
                         "workload: {mode: decode, context_length: 1024, queue: true,\n"
                         "  micro_batch: 512}\nmemory: %s\n",
                         rows[i].memory),
            &arena);
        const struct serving_report *r = &p.serving;
        uint64_t pool = r->cache_bytes + r->state_bytes;
        uint64_t slots =
            rows[i].slots ? rows[i].slots : (uint64_t)(rows[i].share * (double)pool) / each - 1;
        assert_int_equal(r->state_slots, slots);
        assert_int_equal(r->state_bytes, (slots + 1) * each);
        assert_int_equal(r->cache_tokens, r->cache_bytes / (12 * 1024));
        uint64_t fit = r->cache_tokens / 1024, run = slots / rows[i].copies;
        assert_int_equal(r->sequences, fit < run ? fit : run);
        arena_release(&arena);
    }
}

/* SGLang's low-latency buffers are made for a decode step, whatever a prefill chunk has, when
 * its pool stands already; where weights leave nothing to the cache it does not start. */
static void low_latency_buffers_are_a_decode_steps(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: h200-8x1\nstack: sglang\n"
                               "parallel: {tp: 1, ep: 8}\nmoe: {path: deepep_ll}\n"
                               "workload: {mode: decode, queue: true, micro_batch: 32,\n"
                               "  context_length: 16384}\nmemory: {fraction: %s}\n";
    struct arena arena = {0};
    const char *all = arena_printf(&arena, text, "0");
    struct plan plan = load_text(all, &arena);
    struct prediction room = predict_text(all, &arena);
    struct prediction none = predict_text(arena_printf(&arena, text, "0.5"), &arena);
    assert_int_equal(room.serving.outside_bytes, engine_outside(&plan));
    assert_true(room.serving.activation_bytes > buffer_bytes(&room, "low_latency_buffer"));
    assert_int_equal(room.memory.verdict, VERDICT_FITS);
    assert_int_equal(none.serving.cache_bytes, 0);
    assert_int_equal(none.memory.verdict, VERDICT_OOM);
    arena_release(&arena);
}

/* As many sequences run as the printed pool holds: buffers are made for these, not for those
 * that wait, and ranks that share a batch's tokens dispatch an eighth of them each. A decode
 * step of 512 tokens a rank, as if 256 sequences with a draft ran, would leave 83. */
static void waiting_sequences_size_no_buffers(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        uint64_t sequences;
    } rows[] = {
        {"model: deepseek-v3\ncluster: {base: h200-8x1, device: {memory: 141 GiB}}\n"
         "stack: sglang\n"
         "parallel: {tp: 8, ep: 8, etp: 1, dp: 1, sp: true}\nmoe: {path: deepep_ll}\n"
         "precision: {weights: fp8_block, dispatch: fp8_block}\n"
         "workload: {mode: decode, queue: true, micro_batch: 2048, context_length: 8192}\n",
         72},
        {"model: deepseek-r1\ncluster: {base: h200-8x1, nodes: 2, device: {memory: 141 GiB}}\n"
         "stack: vllm\n"
         "parallel: {tp: 1, ep: 16}\nmoe: {path: deepep_ll, redundant_experts: 32}\n"
         "precision: {weights: fp8_block, dispatch: fp8_block, kv_cache: fp8}\n"
         "workload: {mode: decode, queue: true, micro_batch: 256, context_length: 16384,\n"
         "  tokens_per_sequence: 2, speculation: {tokens: 1, method: mtp}}\n"
         "memory: {fraction: 0.9}\n",
         93},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p = predict_text(rows[i].plan, &arena);
        assert_int_equal(p.serving.sequences, rows[i].sequences);
        assert_int_equal(p.batch, rows[i].sequences);
        arena_release(&arena);
    }
}

/* Layers that slide keep whole sequences where one pool is as deep for all of them, as that
 * pool counts: gpt-oss-120b, 36 layers of 2 x 8 x 64 values of 2 bytes a token; by vLLM 18 of
 * them keep 128 tokens. */
static void windows_are_held_as_the_pool_counts(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *memory;
        uint64_t bytes;
    } rows[] = {{"trtllm", "{}", (uint64_t)16 * 4096 * 36 * 2048},
                {"vllm", "{window_ratio: 1}", (uint64_t)16 * 4096 * 36 * 2048},
                {"vllm", "{}", (uint64_t)16 * (4096 + 128) * 18 * 2048}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p = predict_text(
            arena_printf(&arena,
                         "model: gpt-oss-120b\ncluster: h200\nstack: %s\n"
                         "workload: {mode: decode, context_length: 4096, micro_batch: 16}\n"
                         "memory: %s\n",
                         rows[i].stack, rows[i].memory),
            &arena);
        assert_int_equal(buffer_bytes(&p, "kv_cache") + buffer_bytes(&p, "window_cache"),
                         rows[i].bytes);
        arena_release(&arena);
    }
}

/* TensorRT-LLM keeps a window and the tokens of a step of a longer sequence, rounded up to
 * blocks of 32, and a block more as it slides: of 32,768 tokens (4096 + 2048) / 32 + 1 blocks
 * of 4 MiB. A sequence that ends within them is whole, and so is all of it without a window. */
static void a_window_bounds_what_sequences_hold(void **state)
{
    (void)state;
    static const struct {
        unsigned context, window, tokens, blocks;
    } rows[] = {
        {32768, 4096, 2048, 193}, {32768, 4097, 2048, 194}, {32768, 0, 2048, 1024},
        {6000, 4096, 2048, 188},  {6144, 4096, 2048, 192},  {32768, 4096, 65536, 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p = predict_text(
            arena_printf(&arena,
                         "model: llama-3.1-8b\ncluster: h100\nstack: trtllm\n"
                         "workload: {mode: decode, context_length: %u, micro_batch: 2,\n"
                         "  max_num_batched_tokens: %u}\n"
                         "memory: {cache_window: %u, cache_blocks: 10000}\n",
                         rows[i].context, rows[i].tokens, rows[i].window),
            &arena);
        uint64_t bytes = 0;
        assert_int_equal(p.serving.sequences, 10000 / rows[i].blocks);
        for (size_t j = 0; j < p.memory.n_buffers; j++)
            if (p.memory.buffers[j].category == CATEGORY_KV_CACHE)
                bytes += p.memory.buffers[j].bytes;
        assert_int_equal(bytes, (uint64_t)rows[i].blocks * 2 << 22);
        arena_release(&arena);
    }
}

/* A pool of fewer sequences than stages starts, with stages that wait; one of none does not. */
static void fewer_sequences_than_stages_start(void **state)
{
    (void)state;
    static const struct {
        const char *fraction;
        uint64_t batches, batch, verdict;
    } rows[] = {{"0.42", 8, 1, VERDICT_FITS},
                {"0.39", 4, 1, VERDICT_FITS},
                {"0.375", 2, 1, VERDICT_FITS},
                {"0.36", 1, 1, VERDICT_OOM}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p = predict_text(
            arena_printf(&arena,
                         "model: deepseek-v3\nstack: vllm\n"
                         "cluster: {base: h200-8x1, nodes: 2, device: {memory: 141 GiB}}\n"
                         "workload: {mode: decode, context_length: 131072, micro_batch: 4, "
                         "queue: true}\nparallel: {tp: 2, pp: 8}\nmemory: {fraction: %s}\n",
                         rows[i].fraction),
            &arena);
        assert_int_equal(p.memory.verdict, rows[i].verdict);
        assert_int_equal(p.batch, rows[i].batch);
        /* 8 layers of the fullest stage, 576 elements of 2 bytes a token */
        assert_int_equal(buffer_bytes(&p, "kv_cache"), rows[i].batches * 131072 * 8 * 576 * 2);
        arena_release(&arena);
    }
}

/* Bytes given to the cache are taken whatever the utilisation; more than the device has beside
 * weights and a step end the engine, of vLLM, which allocates them all. */
static void given_pools_have_to_fit(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *memory;
        uint64_t verdict;
    } rows[] = {
        {"vllm", "cache_bytes: 60 GiB", VERDICT_FITS},
        {"vllm", "cache_bytes: 60 GiB, fraction: 0.3", VERDICT_FITS},
        {"vllm", "cache_bytes: 70 GiB", VERDICT_OOM},
        {"vllm", "cache_blocks: 40000", VERDICT_OOM}, /* of 2 MiB */
        {"sglang", "cache_tokens: 100000000", VERDICT_FITS},
        {"trtllm", "cache_tokens: 100000000", VERDICT_FITS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction p = predict_text(
            arena_printf(&arena,
                         "model: llama-3.1-8b\ncluster: h100\nstack: %s\n"
                         "workload: {mode: decode, context_length: 8192, micro_batch: 8, "
                         "queue: true}\nmemory: {%s}\n",
                         rows[i].stack, rows[i].memory),
            &arena);
        if (p.memory.verdict != rows[i].verdict)
            fail_msg("%s, %s: verdict %d", rows[i].stack, rows[i].memory,
                     (int)p.memory.verdict);
        arena_release(&arena);
    }
}

/* A block of 16 tokens is 2 MiB, a sequence 512 of them; one of 5,120 is for no token. */
static void what_a_pool_has_beyond_a_sequence(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct prediction p = predict_text(
        "model: llama-3.1-8b\ncluster: h100\nstack: vllm\n"
        "workload: {mode: decode, context_length: 8192, micro_batch: 8, queue: true}\n"
        "memory: {cache_bytes: 10 GiB}\n",
        &arena);
    assert_int_equal(p.serving.beyond_bytes, (uint64_t)(5120 - 1 - 512) << 21);
    arena_release(&arena);
}

/* EAGLE-3 on Llama 3.3 70B: fc of 3 x 8192 to 6144 and 6144 more rows in front of 48 + 2 x 8
 * heads of 128, in 16 bits; of tp 2 the rows in front of half of them. */
static void drafts_have_an_entry(void **state)
{
    (void)state;
    static const char text[] =
        "model: llama-3.1-70b\ncluster: h200-2x1\nstack: vllm\n"
        "workload: {mode: decode, context_length: 4096, speculation: {tokens: 3, layers: 1, "
        "hidden: 6144, heads: 48, kv_heads: 8, head_dim: 128, intermediate: 16384, vocab: "
        "32000, "
        "inputs: %u, joined: %s}}\nparallel: {tp: 2}\n";
    struct arena arena = {0};
    struct prediction none = predict_text(arena_printf(&arena, text, 0, "false"), &arena);
    struct prediction eagle = predict_text(arena_printf(&arena, text, 3, "true"), &arena);
    assert_int_equal(buffer_bytes(&none, "draft_entry_weights"), 0);
    assert_int_equal(buffer_bytes(&eagle, "draft_entry_weights"),
                     2 * (3 * 8192 * 6144 + (24 + 2 * 4) * 128 * 6144));
    assert_int_equal(eagle.serving.weights_bytes - none.serving.weights_bytes,
                     buffer_bytes(&eagle, "draft_entry_weights"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_have_room),
        cmocka_unit_test(ranks_share_a_cache_out),
        cmocka_unit_test(windows_keep_their_format),
        cmocka_unit_test(tables_are_of_what_rotates),
        cmocka_unit_test(each_base_has_its_table),
        cmocka_unit_test(some_batches_have_graphs),
        cmocka_unit_test(generated_kernels_hold_rows),
        cmocka_unit_test(experts_take_chunks),
        cmocka_unit_test(images_may_be_limited),
        cmocka_unit_test(host_caches_are_a_second_wall),
        cmocka_unit_test(windows_keep_fewer_tokens),
        cmocka_unit_test(low_latency_buffers_are_a_decode_steps),
        cmocka_unit_test(waiting_sequences_size_no_buffers),
        cmocka_unit_test(windows_are_held_as_the_pool_counts),
        cmocka_unit_test(states_share_the_pool),
        cmocka_unit_test(a_window_bounds_what_sequences_hold),
        cmocka_unit_test(fewer_sequences_than_stages_start),
        cmocka_unit_test(given_pools_have_to_fit),
        cmocka_unit_test(what_a_pool_has_beyond_a_sequence),
        cmocka_unit_test(drafts_have_an_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
