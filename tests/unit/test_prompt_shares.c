/* Ranks that share out a step's tokens in attention (vLLM's --prefill-context-parallel-size,
 * SGLang's --attn-cp-size): what they exchange, multiply, read and hold, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/text.h"
#include "plan/read/load.h"
#include "sim/step/ops.h"
#include "support/served.h"
#include "work/stack/stack.h"

enum { HIDDEN = 7168, Q_RANK = 1536, HEADS = 128, NOPE = 128, ROPE = 64, VALUE = 128 };
enum { LATENT = 512, KEPT = LATENT + ROPE, PROMPT = 8192, LAYERS = 61 };

struct step_ops {
    struct arena arena;
    struct plan plan;
    struct ops_report report;
};

static void list_text(const char *text, struct step_ops *s)
{
    struct err err = {0};
    struct work work;
    struct slots slots;
    const struct ops_ask ask = {.sample = 0};
    memset(s, 0, sizeof *s);
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &s->arena, &s->plan, NULL,
                       &err) != STATUS_OK ||
        work_build(&s->plan, &s->arena, &work, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    slots_from_plan(&s->plan, &slots);
    if (ops_of(&s->plan, &ask, &work, &slots, &s->arena, &s->report, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static const struct op_report *op(const struct step_ops *s, const char *name)
{
    for (size_t i = 0; i < s->report.n; i++)
        if (text_equal(s->report.ops[i].name, name) && s->report.ops[i].segment == SEGMENT_MOE)
            return &s->report.ops[i];
    fail_msg("no op '%s'", name);
    return NULL;
}

/* A prompt of 8,192 tokens over 8 ranks: each has 1,024 queries of all heads, the latents of
 * all, and expands these. A query meets half of the prompt in the mean, 2 FLOP an element. */
static void prompts_are_shared_out(void **state)
{
    (void)state;
    static const char *const plans[] = {
        "model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\nparallel: {cp: 8, ep: 8}\n"
        "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1}\n",
        "model: deepseek-v3\ncluster: h200-8x1\nstack: sglang\n"
        "parallel: {tp: 8, attention_cp: 8, ep: 8, sp: true}\nmoe: {path: deepep}\n"
        "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1}\n",
        "model: deepseek-v3\ncluster: h200-8x1\nstack: sglang\n"
        "parallel: {tp: 8, attention_cp: 8, etp: 8}\nprecision: {weights: bf16}\n"
        "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1}\n",
    };
    const uint64_t own = PROMPT / 8, latents = (uint64_t)PROMPT * KEPT * 2;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        struct step_ops s;
        list_text(plans[i], &s);
        assert_int_equal(op(&s, "gather_kv_latent")->bytes_sent, latents / 8 * 7);
        assert_int_equal(op(&s, "q_up")->flop, 2 * own * Q_RANK * HEADS * (NOPE + ROPE));
        assert_int_equal(op(&s, "kv_up")->flop,
                         UINT64_C(2) * PROMPT * LATENT * HEADS * (NOPE + VALUE));
        assert_int_equal(op(&s, "attention")->flop,
                         own * PROMPT * HEADS * (NOPE + ROPE + VALUE));
        assert_int_equal(op(&s, "write_cache")->bytes_written, latents);
        assert_int_equal(op(&s, "attention_out")->flop, 2 * own * HEADS * VALUE * HIDDEN);
        arena_release(&s.arena);
    }
}

/* A step of 64 sequences of 4,096 tokens: vLLM's ranks have eight of them each, SGLang's all;
 * whatever the prompts, every rank multiplies with all heads. */
static void answers_are_shared_out_by_vllm(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        uint64_t sequences;
    } rows[] = {{"stack: vllm\nparallel: {cp: 8, ep: 8}\n", 8},
                {"stack: sglang\nparallel: {tp: 8, attention_cp: 8, ep: 8}\n", 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct step_ops s;
        char text[512];
        snprintf(text, sizeof text,
                 "model: deepseek-v3\ncluster: h200-8x1\n%s"
                 "workload: {mode: decode, context_length: 4096, micro_batch: 64}\n",
                 rows[i].plan);
        list_text(text, &s);
        const struct op_report *core = op(&s, "attention");
        uint64_t n = rows[i].sequences;
        assert_int_equal(core->flop, 2 * n * 4096 * HEADS * (2 * LATENT + ROPE));
        assert_int_equal(core->bytes_read, n * 4096 * KEPT * 2 + n * HEADS * LATENT * 2);
        arena_release(&s.arena);
    }
}

/* An indexer's 64 heads of 128 score a rank's 1,024 queries against all keys, whose part each
 * has made. */
static void indexers_score_their_part(void **state)
{
    (void)state;
    struct step_ops s;
    list_text("model: deepseek-v3.2\ncluster: h200-8x1\nstack: sglang\n"
              "parallel: {tp: 8, attention_cp: 8, ep: 8, sp: true}\nmoe: {path: deepep}\n"
              "workload: {mode: prefill, sequence_length: 8192, micro_batch: 1}\n",
              &s);
    assert_int_equal(op(&s, "index")->flop, UINT64_C(1024) * 64 * 128 * PROMPT);
    assert_int_equal(op(&s, "gather_index_key")->bytes_sent, PROMPT * 128 * 2 / 8 * 7);
    assert_int_equal(op(&s, "gather_kv_latent")->bytes_sent, PROMPT * KEPT * 2 / 8 * 7);
    arena_release(&s.arena);
}

/* Ranks beside tp hold what replicas of attention do: whole attention, a share of the experts,
 * and a step's tokens each in the profile run. */
static void ranks_hold_as_replicas(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "parallel: {cp: %u, dp: %u, ep: 16}\n";
    struct arena arena = {0};
    struct prediction a = predict_text(arena_printf(&arena, text, 16, 1), &arena);
    struct prediction b = predict_text(arena_printf(&arena, text, 1, 16), &arena);
    assert_int_equal(a.serving.weights_bytes, b.serving.weights_bytes);
    assert_int_equal(a.serving.activation_bytes, b.serving.activation_bytes);
    assert_int_equal(a.serving.cache_tokens, b.serving.cache_tokens);
    arena_release(&arena);
}

/* Of tp 8 in 16 bits a rank splits 1536 x 24576 of q, 512 x 32768 of keys and values and 16384
 * x 7168 of the output; with all heads it has them whole, in each of 61 layers. */
static void heads_are_whole(void **state)
{
    (void)state;
    static const char text[] = "model: deepseek-v3\ncluster: b300-8x1\nstack: sglang\n"
                               "precision: {weights: bf16, plain: [auto]}\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "parallel: {tp: 8, ep: 8, attention_cp: %u}\n";
    const uint64_t split = (uint64_t)Q_RANK * HEADS * (NOPE + ROPE) +
                           (uint64_t)LATENT * HEADS * (NOPE + VALUE) +
                           (uint64_t)HEADS * VALUE * HIDDEN;
    struct arena arena = {0};
    struct prediction one = predict_text(arena_printf(&arena, text, 1), &arena);
    struct prediction whole = predict_text(arena_printf(&arena, text, 8), &arena);
    struct prediction half = predict_text(arena_printf(&arena, text, 4), &arena);
    assert_int_equal(buffer_bytes(&whole, "attention_weights") -
                         buffer_bytes(&one, "attention_weights"),
                     LAYERS * split * 2 / 8 * 7);
    assert_int_equal(buffer_bytes(&half, "attention_weights") -
                         buffer_bytes(&one, "attention_weights"),
                     LAYERS * split * 2 / 8 * 3);
    assert_int_equal(buffer_bytes(&whole, "embedding_weights"),
                     buffer_bytes(&one, "embedding_weights"));
    arena_release(&arena);
}

/* Grouped queries: 4 heads of keys over 8 ranks are one each, over two ranks two each. */
static void caches_follow_the_heads(void **state)
{
    (void)state;
    static const char text[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: sglang\n"
                               "workload: {mode: decode, context_length: 4096}\n"
                               "parallel: {tp: 8, etp: 8, attention_cp: %u}\n";
    struct arena arena = {0};
    struct prediction one = predict_text(arena_printf(&arena, text, 1), &arena);
    struct prediction four = predict_text(arena_printf(&arena, text, 4), &arena);
    assert_int_equal(buffer_bytes(&four, "kv_cache"), 2 * buffer_bytes(&one, "kv_cache"));
    arena_release(&arena);
}

static void others_are_refused(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"model: qwen3-30b-a3b\nstack: vllm\nparallel: {cp: 8, ep: 8}\n",
         "beside models without MLA"},
        {"model: deepseek-v3\nstack: vllm\nparallel: {tp: 4, cp: 2, dcp: 2, ep: 8, sp: true}\n",
         "cp 2 beside dcp 2 is not modelled"},
        {"model: deepseek-v3\nstack: sglang\nparallel: {tp: 8, ep: 8, attention_cp: 3}\n",
         "attention_cp 3 does not divide tp 8"},
        {"model: qwen3-next-80b-a3b\nstack: sglang\nparallel: {tp: 8, ep: 8, attention_cp: "
         "2}\n",
         "layers with a recurrence"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "%scluster: h200-8x1\nworkload: {mode: decode, context_length: 4096}\n",
                 rows[i][0]);
        assert_refused(text, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_are_shared_out),
        cmocka_unit_test(answers_are_shared_out_by_vllm),
        cmocka_unit_test(indexers_score_their_part),
        cmocka_unit_test(ranks_hold_as_replicas),
        cmocka_unit_test(heads_are_whole),
        cmocka_unit_test(caches_follow_the_heads),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
