/* The ops of an engine's step: what each reads, computes and multiplies, worked out by hand, of
 * decode for Kimi-K2 in fp8 over 16 ranks, 64 sequences each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/text.h"
#include "plan/read/load.h"
#include "sim/step/ops.h"
#include "work/step/step.h"
#include "work/stack/stack.h"

enum { BATCH = 64, HIDDEN = 7168, WIDTH = 2048, HEADS = 64, LATENT = 512, ROPE = 64 };

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

static void list(const char *context, const char *path, struct step_ops *s)
{
    char text[512];
    snprintf(text, sizeof text,
             "model: kimi-k2\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: 16}\n"
             "workload: {mode: decode, micro_batch: 64, context_length: %s}\nmoe: {path: %s}\n",
             context, path);
    list_text(text, s);
}

static const struct op_report *op(const struct step_ops *s, const char *name)
{
    for (size_t i = 0; i < s->report.n; i++)
        if (text_equal(s->report.ops[i].name, name) && s->report.ops[i].segment == SEGMENT_MOE)
            return &s->report.ops[i];
    fail_msg("no op '%s'", name);
    return NULL;
}

/* fp8 with an f32 scale per 128 x 128 block */
static uint64_t matrix(uint64_t rows, uint64_t columns)
{
    return rows * columns + rows / 128 * (columns / 128) * 4;
}

static void shared_experts_are_read_once(void **state)
{
    (void)state;
    struct step_ops s;
    list("4096", "deepep_ll", &s);
    const struct op_report *up = op(&s, "shared_gate_up");
    assert_int_equal(up->bytes_read, 2 * matrix(HIDDEN, WIDTH) + BATCH * HIDDEN * 2);
    assert_int_equal(up->flop, UINT64_C(2) * BATCH * HIDDEN * 2 * WIDTH);
    const struct op_report *down = op(&s, "shared_down");
    assert_int_equal(down->bytes_read, matrix(WIDTH, HIDDEN) + BATCH * WIDTH * 2);
    arena_release(&s.arena);
}

/* Scores over 576 and values over 512 elements of each cached token and head; the cache is read
 * once for all heads. */
static void attention_grows_with_the_context(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t tokens;
    } contexts[] = {{"1024", 1024}, {"4096", 4096}, {"131072", 131072}};
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        struct step_ops s;
        uint64_t cached = BATCH * contexts[i].tokens;
        list(contexts[i].text, "deepep_ll", &s);
        const struct op_report *core = op(&s, "attention");
        assert_int_equal(core->flop, 2 * cached * HEADS * (2 * LATENT + ROPE));
        uint64_t cache = cached * (LATENT + ROPE) * 2;
        assert_true(core->bytes_read > cache);
        assert_in_range(core->bytes_read - cache, 1, BATCH * HEADS * (LATENT + 2 * ROPE) * 2);
        arena_release(&s.arena);
    }
}

/* q without its rotary part into the latent space: 128 columns of each head are read, 512
 * written, and each head's matrix once. */
static void absorbed_products_touch_a_head_at_a_time(void **state)
{
    (void)state;
    struct step_ops s;
    list("4096", "deepep_ll", &s);
    const uint64_t rows = BATCH * HEADS, nope = 128, value = 128;
    const struct op_report *q = op(&s, "absorb_q"), *v = op(&s, "absorb_v");
    assert_int_equal(q->flop, 2 * rows * nope * LATENT);
    assert_int_equal(v->flop, 2 * rows * LATENT * value);
    uint64_t weights = q->bytes_read - rows * nope * 2;
    assert_in_range(weights, HEADS * nope * LATENT, HEADS * nope * LATENT * 2);
    assert_int_equal(q->bytes_written, rows * LATENT * 2);
    assert_int_equal(v->bytes_read - rows * LATENT * 2, weights);
    assert_int_equal(v->bytes_written, rows * value * 2);
    arena_release(&s.arena);
}

/* Low latency reserves 24 x 16 x 64 slots; only rows that came are multiplied, and an expert's
 * matrices are read only where one came. */
static void empty_slots_are_not_multiplied(void **state)
{
    (void)state;
    struct step_ops s, plain;
    list("4096", "deepep_ll", &s);
    list("4096", "allgather", &plain);
    const struct op_report *up = op(&s, "gate_up"), *down = op(&s, "down");
    uint64_t slots = UINT64_C(24) * 16 * BATCH;
    assert_in_range(up->rows, BATCH * 8 / 2, BATCH * 8 * 2); /* 512 on average */
    assert_true(up->rows * 4 < slots);
    assert_int_equal(up->flop, 2 * up->rows * HIDDEN * 2 * WIDTH);
    assert_int_equal(down->flop, 2 * down->rows * WIDTH * HIDDEN);
    assert_int_equal(up->rows, op(&plain, "gate_up")->rows); /* the same sample's */
    assert_int_equal(up->flop, op(&plain, "gate_up")->flop);
    assert_in_range(up->bytes_read, 1, 24 * 2 * matrix(HIDDEN, WIDTH) + up->rows * HIDDEN * 2);
    arena_release(&s.arena);
    arena_release(&plain.arena);
}

static uint64_t sent(const struct step_ops *s, const char *name)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->report.n; i++)
        if (text_equal(s->report.ops[i].name, name) && s->report.ops[i].segment == SEGMENT_MOE)
            sum += s->report.ops[i].bytes_sent;
    return sum;
}

static bool timed(const struct step_ops *s, const char *name)
{
    for (size_t i = 0; i < s->report.n; i++)
        if (text_equal(s->report.ops[i].name, name))
            return s->report.ops[i].seconds > 0;
    return false;
}

/* A step of 16 sequences in 16 bits over tp 8. DeepSeek-V3's cache on 8 ranks: 128 heads x 576
 * of queries and x 512 of contexts, of which 7/8 are another's, and a sum in 32 bits a head
 * from each rank; all heads meet an eighth of 8,192 tokens. Qwen3-235B, two ranks of 8 of its
 * 64 heads x 128: half of 16 heads is another's. */
static void shared_caches_exchange_heads(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        unsigned ranks;
        uint64_t queries, sums, context, cache, heads;
    } rows[] = {{"deepseek-v3", 8, 16 * 128 * 576 * 2 / 8 * 7, 8 * 16 * 128 * 4 / 8 * 7,
                 16 * 128 * 512 * 2 / 8 * 7, 16 * 1024 * 576 * 2, 16 * 128 * 576 * 2},
                {"qwen3-235b-a22b", 2, 16 * 8 * 128 * 2, 16 * 16 * 4, 16 * 8 * 128 * 2,
                 16 * 4096 * 256 * 2, 16 * 16 * 128 * 2},
                {"qwen3-235b-a22b", 1, 0, 0, 0, 16 * 8192 * 256 * 2, 16 * 8 * 128 * 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct step_ops s;
        char text[512];
        snprintf(text, sizeof text,
                 "model: %s\ncluster: h200-8x1\nstack: vllm\n"
                 "workload: {mode: decode, context_length: 8192, micro_batch: 16}\n"
                 "parallel: {tp: 8, dcp: %u}\n",
                 rows[i].model, rows[i].ranks);
        list_text(text, &s);
        assert_int_equal(sent(&s, "gather_queries"), rows[i].queries);
        assert_int_equal(sent(&s, "gather_exponential_sums"), rows[i].sums);
        assert_int_equal(sent(&s, "scatter_context"), rows[i].context);
        assert_int_equal(op(&s, "attention")->bytes_read, rows[i].cache + rows[i].heads);
        assert_int_equal(rows[i].ranks > 1, timed(&s, "gather_queries"));
        arena_release(&s.arena);
    }
}

static uint64_t core_flop(const struct step_ops *s, enum segment segment)
{
    for (size_t i = 0; i < s->report.n; i++)
        if (text_equal(s->report.ops[i].name, "attention") &&
            s->report.ops[i].segment == segment)
            return s->report.ops[i].flop;
    fail_msg("no attention in '%s'", segment_name(segment));
    return 0;
}

/* Llama-4-Scout's chunks of 8,192 tokens: a sequence of 8,192 meets all, one of 40,000 half a
 * chunk in the mean, 5 of 40 heads of 128 a rank. MiniMax-M3 keeps 16 blocks of 128 keys, of
 * which the last is half full: 2,048 less 64, 8 of 64 heads of 128. */
static void parts_are_half_full(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        unsigned context;
        enum segment segment;
        uint64_t flop;
    } rows[] = {{"llama4-scout", 8192, SEGMENT_CHUNK_MOE, UINT64_C(4) * 5 * 128 * 8192},
                {"llama4-scout", 40000, SEGMENT_CHUNK_MOE, UINT64_C(4) * 5 * 128 * 4096},
                {"llama4-scout", 40000, SEGMENT_MOE, UINT64_C(4) * 5 * 128 * 40000},
                {"minimax-m3", 2000, SEGMENT_BLOCKS_MOE, UINT64_C(4) * 8 * 128 * 2000},
                {"minimax-m3", 40000, SEGMENT_BLOCKS_MOE, UINT64_C(4) * 8 * 128 * 1984}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct step_ops s;
        char text[512];
        snprintf(text, sizeof text,
                 "model: %s\ncluster: h200-8x1\nstack: vllm\nparallel: {tp: 8}\n"
                 "workload: {mode: decode, context_length: %u}\n",
                 rows[i].model, rows[i].context);
        list_text(text, &s);
        assert_int_equal(core_flop(&s, rows[i].segment), rows[i].flop);
        arena_release(&s.arena);
    }
}

/* DeepSeek-V3.2 over tp 8, 16 heads a rank. A prompt of 4,096 tokens meets 1,536 keys a token
 * in the mean (2,048 less a quarter of them), scores over 576 and values over 512 latents of
 * each head, on Hopper of 64 heads. What is no longer than 2,048 tokens, and what is trained,
 * has heads of 192 and 128, and meets half of itself. */
static void prompts_of_chosen_keys_stay_latent(void **state)
{
    (void)state;
    static const uint64_t latent = 4096 * UINT64_C(1536) * 2 * (2 * LATENT + ROPE),
                          whole = 2048 * UINT64_C(1024) * 2 * (192 + 128) * 16;
    static const struct {
        const char *cluster, *stack;
        unsigned tokens;
        uint64_t flop;
    } rows[] = {
        {"h200-8x1", "vllm", 4096, 64 * latent},   {"h200-8x1", "sglang", 4096, 64 * latent},
        {"mi355x-8x1", "vllm", 4096, 16 * latent}, {"b200-8x1", "vllm", 4096, 16 * latent},
        {"h200-8x1", "vllm", 2048, whole},         {"mi355x-8x1", "sglang", 2048, whole},
        {"h200-8x1", "generic", 2048, whole}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct step_ops s;
        char text[512];
        snprintf(text, sizeof text,
                 "model: deepseek-v3.2\ncluster: %s\nstack: %s\n"
                 "workload: {mode: prefill, sequence_length: %u}\nparallel: {tp: 8}\n",
                 rows[i].cluster, rows[i].stack, rows[i].tokens);
        list_text(text, &s);
        assert_int_equal(op(&s, "attention")->flop, rows[i].flop);
        arena_release(&s.arena);
    }
}

/* A product of that name, wherever in the step it stands. */
static const struct op_report *product(const struct step_ops *s, const char *name)
{
    for (size_t i = 0; i < s->report.n; i++)
        if (text_equal(s->report.ops[i].name, name) && s->report.ops[i].k > 0)
            return &s->report.ops[i];
    fail_msg("no product '%s'", name);
    return NULL;
}

/* Gemma-4-E2B: one product of the embedded tokens makes 256 columns for each of 35 layers; a
 * layer's gate is [1536, 256], its way back the other way round. */
static void embeddings_of_layers_are_made_at_once(void **state)
{
    (void)state;
    struct step_ops s;
    list_text("model: gemma-4-e2b\ncluster: h200-8x1\nstack: vllm\n"
              "workload: {mode: decode, micro_batch: 64, context_length: 1024}\n",
              &s);
    assert_int_equal(product(&s, "layer_embeddings")->flop,
                     UINT64_C(2) * BATCH * 1536 * 35 * 256);
    assert_int_equal(product(&s, "layer_gate")->flop, 2 * BATCH * 1536 * 256);
    assert_int_equal(product(&s, "layer_projection")->flop, 2 * BATCH * 256 * 1536);
    arena_release(&s.arena);
}

/* Step-3: queries of 64 heads of 256 through a rank of 2,048; one head of keys and values is a
 * product of the layer's input by itself. */
static void queries_with_a_rank_leave_keys_apart(void **state)
{
    (void)state;
    struct step_ops s;
    list_text("model: step3\ncluster: h200-8x1\nstack: vllm\nparallel: {ep: 8}\n"
              "workload: {mode: decode, micro_batch: 64, context_length: 1024}\n",
              &s);
    assert_int_equal(op(&s, "kv")->flop, UINT64_C(2) * BATCH * HIDDEN * 2 * 256);
    assert_int_equal(op(&s, "q_up")->flop, UINT64_C(2) * BATCH * 2048 * 64 * 256);
    arena_release(&s.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_experts_are_read_once),
        cmocka_unit_test(attention_grows_with_the_context),
        cmocka_unit_test(absorbed_products_touch_a_head_at_a_time),
        cmocka_unit_test(shared_caches_exchange_heads),
        cmocka_unit_test(parts_are_half_full),
        cmocka_unit_test(prompts_of_chosen_keys_stay_latent),
        cmocka_unit_test(empty_slots_are_not_multiplied),
        cmocka_unit_test(embeddings_of_layers_are_made_at_once),
        cmocka_unit_test(queries_with_a_rank_leave_keys_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
