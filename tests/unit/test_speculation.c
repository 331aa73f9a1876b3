/* Drafts: tokens of a step, what they hold, what they take, and requests that they answer. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/layers.h"
#include "plan/read/load.h"
#include "plan/speculation.h"
#include "sim/answer/predict.h"
#include "sim/serve/scheduler.h"

static void assert_within(double found, double expected, double part)
{
    if (!(fabs(found - expected) <= part * fabs(expected)))
        fail_msg("%.12g, expected %.12g within %g", found, expected, part);
}

struct told {
    struct arena arena;
    struct plan plan;
    struct prediction prediction;
};

static void tell(const char *text, struct told *t)
{
    struct profile profile;
    struct err err = {0};
    *t = (struct told){0};
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &t->arena, &t->plan, NULL,
                       &err) ||
        profile_load(&t->plan, &t->arena, &profile, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    struct time_ask ask = {.profile = &profile};
    const struct predict_options options = {.time = &ask};
    if (predict(&t->plan, &options, &t->arena, &t->prediction, &err))
        fail_msg("%s (%s)", err.text, err.hint);
}

static uint64_t bytes_of(const struct told *t, const char *name)
{
    const struct memory_report *m = &t->prediction.memory;
    for (size_t i = 0; i < m->n_buffers; i++)
        if (text_equal(m->buffers[i].name, name))
            return m->buffers[i].bytes;
    return 0;
}

static uint64_t category(const struct told *t, enum category of)
{
    const struct memory_report *m = &t->prediction.memory;
    for (unsigned i = 0; i < m->n_categories; i++)
        if (m->categories[i].category == of)
            return m->categories[i].bytes;
    return 0;
}

/* (1 - a^(k + 1)) / (1 - a) = 1 + a + ... + a^k */
static void tokens_of_a_step_are_a_geometric_sum(void **state)
{
    (void)state;
    static const struct {
        uint64_t tokens;
        double acceptance, accepted;
    } rows[] = {{1, 0.85, 1.85}, {3, 0.8, 2.952}, {4, 1, 5}, {4, 0, 1}, {2, 0.5, 1.75}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static struct plan plan;
        plan.stack.kind = STACK_VLLM;
        plan.workload.mode = MODE_DECODE;
        plan.workload.speculation.tokens = rows[i].tokens;
        plan.workload.speculation.acceptance = rows[i].acceptance;
        assert_within(plan_accepted(&plan), rows[i].accepted, 1e-12);
    }
}

/* DeepSeek-V3's module is a 62nd layer with a cache, three norms and [2 H, H] in 16 bits; the
 * step has one token more of each sequence. */
static void a_module_is_a_layer(void **state)
{
    (void)state;
    static const char text[] =
        "model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\n"
        "parallel: {ep: 16}\n"
        "workload: {mode: decode, micro_batch: 8, context_length: 512%s}\n";
    struct told plain, drafts;
    struct arena arena = {0};
    tell(arena_printf(&arena, text, ""), &plain);
    tell(arena_printf(&arena, text, ", speculation: {tokens: 1}"), &drafts);
    assert_int_equal(drafts.plan.workload.tokens_per_sequence, 2);
    assert_true(drafts.plan.model.mtp_enabled);
    assert_int_equal(bytes_of(&drafts, "mtp_projection_weights"), 2ull * 7168 * 7168 * 2);
    assert_int_equal(bytes_of(&plain, "kv_cache"), 61ull * 8 * 512 * 576 * 2);
    assert_int_equal(bytes_of(&drafts, "kv_cache"), 62ull * 8 * 512 * 576 * 2);
    assert_int_equal(61 * bytes_of(&drafts, "attention_weights"),
                     62 * bytes_of(&plain, "attention_weights"));
    assert_int_equal(bytes_of(&drafts, "norm_weights") - bytes_of(&plain, "norm_weights"),
                     (2 + 3) * 7168ull * 2);
    arena_release(&plain.arena);
    arena_release(&drafts.arena);
    arena_release(&arena);
}

/* MiMo-V2's and Step-3.7's modules are window layers with a dense network: a cache of the
 * window's tokens, no experts, and a pass of one such layer. Of MiMo-V2's three vLLM holds the
 * first alone. */
static void a_module_may_have_a_window_and_a_dense_network(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t windows, dense, token, attention, network, held;
    } rows[] = {
        /* window layers and dense ones; of a token, of attention and network in bytes; modules
           held */
        {"mimo-v2-flash", 39, 1, 8 * (192 + 128) * 2, 4096 * (64 + 8) * (192 + 128) / 8,
         3 * 4096 * 16384 / 8, 1},
        {"step-3.7-flash", 33, 3, 8 * 256 * 2, 4096 * (96 * 257 + 8 * 256) * 2 / 8,
         3 * 4096 * 11264 * 2 / 8, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const char text[] = "model: %s\ncluster: h200-8x1\nstack: vllm\n"
                                   "parallel: {tp: 8, ep: 8, sp: true}\n"
                                   "workload: {mode: decode, micro_batch: 8, "
                                   "context_length: 4096%s}\n";
        struct told plain, drafts;
        struct arena arena = {0};
        const char *asked = ", speculation: {tokens: 3, method: mtp}";
        tell(arena_printf(&arena, text, rows[i].model, ""), &plain);
        tell(arena_printf(&arena, text, rows[i].model, asked), &drafts);
        print_message("%s\n", rows[i].model);
        const uint64_t window = plain.plan.model.attention.window;
        assert_int_equal(model_mtp_kind(&plain.plan.model), KIND_WINDOW_DENSE);
        assert_int_equal(drafts.plan.model.mtp_layers, 3);
        assert_int_equal(bytes_of(&plain, "window_cache"),
                         rows[i].windows * 8 * window * rows[i].token / 8);
        assert_int_equal(bytes_of(&drafts, "window_cache"),
                         (rows[i].windows + rows[i].held) * 8 * window * rows[i].token / 8);
        assert_int_equal(bytes_of(&drafts, "kv_cache"), bytes_of(&plain, "kv_cache"));
        uint64_t more = bytes_of(&drafts, "window_attention_weights") -
                        bytes_of(&plain, "window_attention_weights");
        uint64_t wider =
            bytes_of(&drafts, "dense_mlp_weights") - bytes_of(&plain, "dense_mlp_weights");
        /* scales of 128 x 128 beside fp8 */
        assert_within((double)more, (double)(rows[i].held * rows[i].attention), 1e-3);
        assert_within((double)wider, (double)(rows[i].held * rows[i].network), 1e-3);
        assert_int_equal(rows[i].dense * wider,
                         rows[i].held * bytes_of(&plain, "dense_mlp_weights"));
        assert_int_equal(bytes_of(&drafts, "expert_weights"),
                         bytes_of(&plain, "expert_weights"));
        struct plan module;
        plan_draft(&drafts.plan, 1, &module);
        assert_int_equal(model_ffns(&module.model, FFN_MOE), 0);
        assert_int_equal(model_mixers(&module.model, MIXER_WINDOW), 1);
        arena_release(&plain.arena);
        arena_release(&drafts.arena);
        arena_release(&arena);
    }
}

static const char pair[] =
    "model: %s\ncluster: h200-4x1\nstack: vllm\nparallel: {tp: 4}\n"
    "workload: {mode: decode, micro_batch: 16, context_length: 2048%s}\n";

/* Llama 3.1 8B over four ranks: a quarter of 8,030,261,248 parameters but for 65 norms of 4096,
 * and cos and sin of 131,072 positions of 128 values; a token's keys and values are 32 layers x
 * 2 of its 8 heads x 2 x 128. */
static const uint64_t draft_weights_bytes =
    2 * ((8030261248 - 65 * 4096) / 4 + 65 * 4096) + 2 * 131072 * 128;
static const uint64_t draft_token_bytes = 32 * 2 * 2 * 128 * 2;

/* A draft model holds what it holds alone, and its pass takes what it takes alone: a step is
 * the verification of k + 1 tokens, a pass over these, and k - 1 over one. */
static void a_draft_model_is_a_model(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct told small, wide, large, both;
    tell(arena_printf(&arena, pair, "llama-3.1-8b", ""), &small);
    tell(arena_printf(&arena, pair, "llama-3.1-8b", ", tokens_per_sequence: 4"), &wide);
    tell(arena_printf(&arena, pair, "llama-3.1-70b", ", tokens_per_sequence: 4"), &large);
    tell(arena_printf(&arena, pair, "llama-3.1-70b",
                      ", speculation: {tokens: 3, acceptance: 0.8, model: llama-3.1-8b}"),
         &both);
    uint64_t alone = category(&small, CATEGORY_WEIGHTS) + bytes_of(&small, "rotary_table");
    assert_int_equal(alone, draft_weights_bytes);
    assert_int_equal(bytes_of(&both, "draft_weights"), draft_weights_bytes);
    assert_int_equal(bytes_of(&both, "draft_kv_cache"), 16 * 2048 * draft_token_bytes);
    assert_int_equal(category(&both, CATEGORY_WEIGHTS),
                     alone + category(&large, CATEGORY_WEIGHTS));
    assert_int_equal(both.prediction.serving.weights_bytes,
                     large.prediction.serving.weights_bytes + draft_weights_bytes);
    assert_true(both.prediction.serving.cache_blocks < large.prediction.serving.cache_blocks);
    assert_within(both.prediction.time.step_s,
                  large.prediction.time.step_s + wide.prediction.time.step_s +
                      2 * small.prediction.time.step_s,
                  1e-9);
    assert_within(both.prediction.time.tpot_s, both.prediction.time.step_s / 2.952, 1e-9);
    assert_within(both.prediction.time.tokens_per_s * both.prediction.time.tpot_s, 16, 1e-3);
    arena_release(&small.arena);
    arena_release(&wide.arena);
    arena_release(&large.arena);
    arena_release(&both.arena);
    arena_release(&arena);
}

/* Beside replicas of attention every rank has the whole draft, and its own sequences' cache. */
static void replicas_have_drafts_of_their_own(void **state)
{
    (void)state;
    struct told t;
    tell("model: deepseek-v3\ncluster: h200-8x2\nstack: vllm\nparallel: {ep: 16}\n"
         "workload: {mode: decode, micro_batch: 8, context_length: 512, "
         "speculation: {tokens: 1, model: llama-3.1-8b}}\n",
         &t);
    assert_int_equal(bytes_of(&t, "draft_weights"), 2 * 8030261248 + 2 * 163840 * 128);
    assert_int_equal(bytes_of(&t, "draft_kv_cache"), 8 * 512 * 4 * draft_token_bytes);
    assert_int_equal(bytes_of(&t, "mtp_projection_weights"), 0);
    assert_true(t.prediction.time.step_s > 0);
    arena_release(&t.arena);
}

/* Sizes that are given stand for a checkpoint that nobody here has; of a draft without them
 * nothing counts, and a note says so; n-grams have nothing. */
static void a_draft_may_be_its_sizes(void **state)
{
    (void)state;
    static const char sizes[] = "model: anything, layers: 32, hidden: 4096, heads: 32, "
                                "kv_heads: 8, head_dim: 128, intermediate: 14336, "
                                "vocab: 128256";
    static const char *const drafts[] = {sizes, "method: model", "method: ngram"};
    static const struct {
        uint64_t weights;
        size_t notes;
    } expected[] = {
        {2 * ((8030261248 - 65 * 4096) / 4 + 65 * 4096) + 2 * 131072 * 128, 1}, {0, 2}, {0, 1}};
    for (size_t i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct told t;
        tell(arena_printf(&arena, pair, "llama-3.1-70b",
                          arena_printf(&arena, ", speculation: {tokens: 3, %s}", drafts[i])),
             &t);
        assert_int_equal(bytes_of(&t, "draft_weights"), expected[i].weights);
        assert_int_equal(t.prediction.n_notes, expected[i].notes);
        assert_int_equal(t.plan.workload.tokens_per_sequence, 4);
        arena_release(&t.arena);
        arena_release(&arena);
    }
}

/* A tree of two branches makes passes over two tokens of each sequence but the first, and more
 * tokens are verified; what is accepted goes by its depth. */
static void a_tree_has_wider_passes(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct told two, verified, large, tree;
    tell(arena_printf(&arena, pair, "llama-3.1-8b", ", tokens_per_sequence: 2"), &two);
    tell(arena_printf(&arena, pair, "llama-3.1-8b", ", tokens_per_sequence: 8"), &verified);
    tell(arena_printf(&arena, pair, "llama-3.1-70b", ", tokens_per_sequence: 8"), &large);
    tell(arena_printf(&arena, pair, "llama-3.1-70b",
                      ", tokens_per_sequence: 8, speculation: {tokens: 3, branches: 2, "
                      "acceptance: 0.5, model: llama-3.1-8b}"),
         &tree);
    assert_within(tree.prediction.time.step_s,
                  large.prediction.time.step_s + verified.prediction.time.step_s +
                      2 * two.prediction.time.step_s,
                  1e-9);
    assert_within(tree.prediction.time.tpot_s, tree.prediction.time.step_s / 1.875, 1e-9);
    arena_release(&two.arena);
    arena_release(&verified.arena);
    arena_release(&large.arena);
    arena_release(&tree.arena);
    arena_release(&arena);
}

/* A request of 11 tokens with two a step takes five decode steps behind its prompt's. A chunk
 * beside a decode leaves it all tokens that are verified. */
static void steps_answer_several_tokens(void **state)
{
    (void)state;
    static const struct step_costs costs = {
        .decode = {.n = 1, .x = {1}, .y = {0.01}},
        .prefill = {.n = 2, .x = {0, 1000}, .y = {0, 1}},
    };
    struct arena arena = {0};
    struct scheduler_result r;
    struct scheduler_ask ask = {.replicas = 1,
                                .slots = 2,
                                .budget = 250,
                                .requests = 1,
                                .in_flight = 1,
                                .input = 200,
                                .output = 11,
                                .drafted = 3,
                                .accepted = 2,
                                .costs = &costs};
    scheduler_play(&ask, &arena, &r);
    assert_within(r.ttft_s[0], 0.2, 1e-12);
    assert_within(r.latency_s[0], 0.25, 1e-12);
    ask.requests = 2;
    ask.in_flight = 2;
    ask.output = 100;
    scheduler_play(&ask, &arena, &r);
    scheduler_sort(&r);
    assert_within(r.ttft_s[0], 0.25, 1e-12); /* 50 of the second's, then its 150 and 4 */
    assert_within(r.ttft_s[1], 0.25 + 0.154, 1e-12);
    arena_release(&arena);
}

/* Requests of a served plan: accepted tokens make answers faster, refused ones slower. */
static void answers_follow_acceptance(void **state)
{
    (void)state;
    static const char served[] =
        "model: llama-3.1-70b\ncluster: h200-4x1\nstack: vllm\nparallel: {tp: 4}\n"
        "workload: {mode: serve, concurrency: 4, input_length: 1024, output_length: 256%s}\n";
    static const char *const drafts[] = {
        ", speculation: {tokens: 3, acceptance: 0.9, model: llama-3.1-8b}", "",
        ", speculation: {tokens: 3, acceptance: 0, model: llama-3.1-8b}"};
    double before = 0;
    for (size_t i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct told t;
        tell(arena_printf(&arena, served, drafts[i]), &t);
        assert_true(t.prediction.time.serving.tpot_s > before);
        before = t.prediction.time.serving.tpot_s;
        arena_release(&t.arena);
        arena_release(&arena);
    }
}

static void a_wrong_draft_has_a_place(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"no-such-model", "no-such-model"},
        {"mixtral-8x7b", "the draft 'mixtral-8x7b' is not a dense model"}};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct err err = {0};
        const char *text = arena_printf(
            &arena, pair, "llama-3.1-70b",
            arena_printf(&arena, ",\n  speculation: {tokens: 3, model: %s}", names[i][0]));
        assert_int_equal(
            plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err),
            STATUS_INPUT);
        assert_non_null(strstr(err.text, names[i][1]));
        assert_non_null(strstr(err.where, "plan.yaml:6:"));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_a_step_are_a_geometric_sum),
        cmocka_unit_test(a_module_is_a_layer),
        cmocka_unit_test(a_module_may_have_a_window_and_a_dense_network),
        cmocka_unit_test(a_draft_model_is_a_model),
        cmocka_unit_test(steps_answer_several_tokens),
        cmocka_unit_test(answers_follow_acceptance),
        cmocka_unit_test(replicas_have_drafts_of_their_own),
        cmocka_unit_test(a_draft_may_be_its_sizes),
        cmocka_unit_test(a_tree_has_wider_passes),
        cmocka_unit_test(a_wrong_draft_has_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
