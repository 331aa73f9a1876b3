/* What an engine's cache holds: sequences that wait, and requests that it does not take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support/told.h"

/* Of a launch's most sequences those that the pool has no blocks for wait: the engine starts as
 * long as it holds one. Its limit is its own rule's, utilisation x device - what it measures
 * outside; a batch of every pipeline stage is in flight. */
static void sequences_wait_for_the_cache(void **state)
{
    (void)state;
    static const char plan[] = "model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\n"
                               "workload: {mode: decode, micro_batch: 256, queue: %s,\n"
                               "  context_length: %u, max_num_seqs: 256}\n"
                               "parallel: {tp: %u, pp: %u, ep: %u}\n";
    static const struct {
        unsigned context, pp;
    } cases[] = {{65536, 1}, {65536, 2}, {163840, 1}, {512, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        unsigned pp = cases[i].pp, tp = 8 / pp;
        struct told t;
        snprintf(text, sizeof text, plan, "true", cases[i].context, tp, pp, tp);
        must_tell(text, &t);
        const struct serving_report *pool = &t.prediction.serving;
        uint64_t held = pool->sequences / pp < 256 ? pool->sequences / pp : 256;
        assert_true(told_fits(&t));
        assert_int_equal(t.prediction.batch, held);
        assert_true((held < 256) == (t.prediction.n_notes == 1));
        assert_true(held == 256 || strstr(t.prediction.notes[0].text, "wait") != NULL);
        assert_int_equal(t.prediction.memory.limit_bytes,
                         pool->requested_bytes - pool->outside_bytes - pool->graphs_bytes);
        struct evaluator evaluator = {0};
        struct evaluation evaluation;
        evaluate(&evaluator, &t.plan, 0, &evaluation);
        assert_int_equal(evaluation.peak.total_bytes, t.prediction.memory.total_bytes);
        assert_int_equal(evaluation.limit_bytes, t.prediction.memory.limit_bytes);
        assert_int_equal(evaluation.verdict, t.prediction.memory.verdict);
        evaluator_release(&evaluator);
        arena_release(&t.arena);
        snprintf(text, sizeof text, plan, "false", cases[i].context, tp, pp, tp);
        must_tell(text, &t);
        assert_int_equal(t.prediction.batch, 256);
        assert_true(told_fits(&t) == (held == 256));
        arena_release(&t.arena);
    }
}

/* vLLM does not start with a cache that holds no sequence of the longest context, however
 * little is missing; the others start and take shorter requests, so that the one that is asked
 * for does not fit either. */
static void an_engine_without_room_for_a_sequence_does_not_fit(void **state)
{
    (void)state;
    static const struct {
        const char *stack, *fraction, *note;
    } cases[] = {
        {"vllm", "0.877", "the engine does not start: its cache holds no sequence of 131"},
        {"vllm", "0.95", NULL},
        {"sglang", "0.92", "SGLang starts all the same, takes requests of at most 1"},
        {"sglang", "0.95", NULL},
        {"trtllm", "0.2", "TensorRT-LLM starts all the same, takes requests of at most "},
        {"trtllm", "0.9", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (unsigned serves = 0; serves < 2; serves++) {
            char text[512];
            struct told t;
            snprintf(text, sizeof text,
                     "model: gpt-oss-120b\ncluster: h100\nstack: %s\n"
                     "workload: {mode: %s, micro_batch: 4, queue: true,\n"
                     "  context_length: 131072, concurrency: 4, input_length: 130072,\n"
                     "  output_length: 1000}\nmemory: {fraction: %s}\n",
                     cases[i].stack, serves ? "serve" : "decode", cases[i].fraction);
            must_tell(text, &t);
            const struct memory_report *m = &t.prediction.memory;
            bool holds = t.prediction.serving.sequences > 0;
            assert_int_equal(holds, !cases[i].note);
            assert_true(m->margin_bytes > 0);
            assert_int_equal(told_fits(&t), holds);
            assert_true(holds || !strcmp(m->wall->name, "kv_cache"));
            assert_true(holds || told_note(&t, cases[i].note));
            struct evaluator evaluator = {0};
            struct evaluation evaluation;
            evaluate(&evaluator, &t.plan, 0, &evaluation);
            assert_int_equal(evaluation.verdict, m->verdict);
            evaluator_release(&evaluator);
            arena_release(&t.arena);
        }
}

/* Started without a length they serve as long sequences as their caches hold, and the verdict
 * is of these: what is said holds, a block more does not. An engine whose weights leave nothing
 * still does not start. */
static void an_engine_without_a_length_serves_what_its_cache_holds(void **state)
{
    (void)state;
    static const char plan[] = "model: gpt-oss-120b\ncluster: h100\nstack: %s\n"
                               "workload: {mode: decode, micro_batch: 4, queue: true,\n"
                               "  context_length: %u, fit_context: %s}\n"
                               "memory: {fraction: %s}\n";
    static const struct {
        const char *stack, *fraction, *note;
    } cases[] = {
        {"vllm", "0.877", "vLLM fits --max-model-len to it, "},
        {"sglang", "0.877", "SGLang takes requests of at most "},
        {"trtllm", "0.2", "TensorRT-LLM takes requests of at most "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *stack = cases[i].stack, *fraction = cases[i].fraction;
        char text[512];
        struct told t, longer;
        snprintf(text, sizeof text, plan, stack, 131072U, "true", fraction);
        must_tell(text, &t);
        const struct serving_report *pool = &t.prediction.serving;
        unsigned held = (unsigned)pool->context_tokens;
        assert_true(told_fits(&t));
        assert_true(told_note(&t, cases[i].note));
        assert_int_equal(pool->sequences, 1);
        assert_int_equal(t.prediction.batch, 1);
        assert_in_range(held, 1, 131071);
        struct evaluator evaluator = {0};
        struct evaluation evaluation;
        evaluate(&evaluator, &t.plan, 0, &evaluation);
        assert_int_equal(evaluation.verdict, t.prediction.memory.verdict);
        assert_int_equal(evaluation.peak.total_bytes, t.prediction.memory.total_bytes);
        evaluator_release(&evaluator);
        for (unsigned more = 0; more < 2; more++) {
            snprintf(text, sizeof text, plan, stack,
                     held + more * (unsigned)(pool->block_tokens + 1), "false", fraction);
            must_tell(text, &longer);
            assert_int_equal(told_fits(&longer), !more);
            arena_release(&longer.arena);
        }
        arena_release(&t.arena);
    }
    char text[512];
    struct told t;
    snprintf(text, sizeof text, plan, "vllm", 131072U, "true", "0.7");
    must_tell(text, &t);
    assert_false(told_fits(&t));
    assert_true(told_note(&t, "does not start: weights and a profile run leave nothing"));
    arena_release(&t.arena);
}

/* What makes an engine start that has no room for a token holds a whole sequence. */
static void fixes_of_no_cache_hold_the_whole_length(void **state)
{
    (void)state;
    static const char plan[] = "model: gpt-oss-120b\ncluster: h100\nstack: vllm\n"
                               "workload: {mode: decode, queue: true, fit_context: true,\n"
                               "  context_length: 131072}\nmemory: {fraction: %s}\n";
    const struct predict_options options = {.fixes = true};
    char text[512];
    struct told t, fixed;
    unsigned fractions = 0;
    snprintf(text, sizeof text, plan, "0.7");
    must_tell(text, &t);
    assert_int_equal(predict(&t.plan, &options, &t.arena, &t.prediction, &t.err), STATUS_OK);
    const struct memory_report *m = &t.prediction.memory;
    for (size_t i = 0; i < m->n_fixes; i++) {
        const char *said = strstr(m->fixes[i].set, "memory.fraction=");
        if (said != m->fixes[i].set)
            continue;
        fractions++;
        snprintf(text, sizeof text, plan, said + strlen("memory.fraction="));
        must_tell(text, &fixed);
        assert_true(told_fits(&fixed));
        assert_true(fixed.prediction.serving.sequences > 0);
        assert_int_equal(fixed.prediction.serving.context_tokens, 131072);
        arena_release(&fixed.arena);
    }
    assert_int_equal(fractions, 1);
    arena_release(&t.arena);
}

/* A step alone is judged by its sum: 35 sequences are within what the stack's reserves leave on
 * SGLang, whose pool of 194,380 tokens holds 23 of 8,192, which is said. */
static void a_step_that_fits_says_what_a_server_holds(void **state)
{
    (void)state;
    static const unsigned batches[] = {35, 23};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        struct told t;
        snprintf(text, sizeof text,
                 "model: qwen3-235b-a22b\ncluster: h100-8x1\nstack: sglang\n"
                 "workload: {mode: decode, micro_batch: %u, context_length: 8192}\n"
                 "parallel: {tp: 8}\n",
                 batches[i]);
        must_tell(text, &t);
        assert_true(told_fits(&t));
        assert_int_equal(t.prediction.serving.running, 23);
        assert_int_equal(told_note(&t, "as a server its cache holds 23 of the 35 sequences"),
                         i == 0);
        assert_int_equal(told_note(&t, "as a server"), i == 0);
        arena_release(&t.arena);
    }
}

/* Where weights leave nothing, it is not the sequence's length that is said. */
static void an_engine_without_a_cache_says_what_takes_it(void **state)
{
    (void)state;
    struct told t;
    must_tell("model: gpt-oss-120b\ncluster: h100\nstack: vllm\n"
              "workload: {mode: decode, queue: true, context_length: 1024}\n"
              "memory: {fraction: 0.7}\n",
              &t);
    assert_false(told_fits(&t));
    assert_int_equal(t.prediction.serving.cache_bytes, 0);
    assert_true(told_note(&t, "does not start: weights and a profile run leave nothing"));
    assert_false(told_note(&t, "holds no sequence"));
    arena_release(&t.arena);
}

/* What is proposed to an engine whose cache holds no request holds one. */
static void fixes_of_a_short_cache_hold_a_request(void **state)
{
    (void)state;
    static const char plan[] = "model: llama4-scout\ncluster: h100-8x1\nstack: sglang\n"
                               "workload: {mode: decode, queue: true, context_length: %s}\n"
                               "parallel: {tp: 8, ep: 8}\n";
    static const char *const contexts[] = {"10485760", "2000000"};
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++) {
        char text[512];
        struct told t;
        snprintf(text, sizeof text, plan, contexts[i]);
        must_tell(text, &t);
        const struct memory_report *m = &t.prediction.memory;
        const struct predict_options options = {.fixes = true};
        assert_int_equal(predict(&t.plan, &options, &t.arena, &t.prediction, &t.err),
                         STATUS_OK);
        assert_false(told_fits(&t));
        assert_true(m->n_fixes > 0);
        for (size_t k = 0; k < m->n_fixes; k++) {
            struct told fixed;
            const char *said = strstr(m->fixes[k].set, "workload.context_length=");
            if (!said)
                continue;
            snprintf(text, sizeof text, plan, said + strlen("workload.context_length="));
            must_tell(text, &fixed);
            assert_true(told_fits(&fixed));
            assert_true(fixed.prediction.serving.sequences > 0);
            arena_release(&fixed.arena);
        }
        arena_release(&t.arena);
    }
}

/* Given a cache that does not fit beside its weights it does not start in either mode, whoever
 * asks; where what it holds is over the limit already, that stays the wall. */
static void a_given_cache_that_does_not_fit_is_the_wall(void **state)
{
    (void)state;
    static const char plan[] = "model: %s\ncluster: h100-8x1\nstack: vllm\n"
                               "workload: {mode: %s, sequence_length: 4096, micro_batch: 4,\n"
                               "  context_length: 8192, queue: true}\n"
                               "parallel: {tp: 1}\nmemory: {cache_bytes: %s}\n";
    static const struct {
        const char *model, *cache, *wall;
    } cases[] = {{"qwen3-30b-a3b", "20 GiB", NULL},
                 {"qwen3-30b-a3b", "80 GiB", "kv_cache"},
                 {"deepseek-v3", "80 GiB", "expert_weights"}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        char text[512];
        struct told t;
        struct evaluator evaluator = {0};
        struct evaluation evaluation;
        snprintf(text, sizeof text, plan, cases[i / 2].model, i % 2 ? "decode" : "prefill",
                 cases[i / 2].cache);
        must_tell(text, &t);
        const struct memory_report *m = &t.prediction.memory;
        const char *wall = cases[i / 2].wall;
        evaluate(&evaluator, &t.plan, 0, &evaluation);
        assert_int_equal(m->verdict == VERDICT_OOM, wall != NULL);
        assert_int_equal(evaluation.verdict, m->verdict);
        assert_string_equal(evaluation.wall ? evaluation.wall->name : "-",
                            m->wall ? m->wall->name : "-");
        if (wall)
            assert_string_equal(m->wall->name, wall);
        evaluator_release(&evaluator);
        arena_release(&t.arena);
    }
}

/* What serves more requests than its cache holds fits as what serves fewer: the pool is the
 * engine's own, whatever waits, and two stages hold a batch each of the same sequences. */
static void served_requests_wait_for_the_cache(void **state)
{
    (void)state;
    for (unsigned pp = 1; pp <= 2; pp++)
        for (unsigned requests = 64; requests <= 1024; requests *= 2) {
            char text[512];
            struct told t;
            snprintf(text, sizeof text,
                     "model: deepseek-v3\ncluster: h200-8x1\nstack: vllm\n"
                     "workload: {mode: serve, concurrency: %u, input_length: 4000,\n"
                     "  output_length: 1000}\nparallel: {tp: %u, pp: %u, ep: %u}\n",
                     requests, 8 / pp, pp, 8 / pp);
            must_tell(text, &t);
            assert_true(told_fits(&t));
            uint64_t held = t.prediction.serving.sequences / pp * pp;
            bool waits = requests > held;
            const struct buffer_report *cache = told_buffer(&t, "kv_cache");
            uint64_t layers = pp == 1 ? 61 : 30; /* of the fuller stage: with the head */
            assert_int_equal(cache->bytes, (waits ? held : requests) * layers *
                                               ((5000 + 63) / 64 * 64) * 576 * 2);
            arena_release(&t.arena);
        }
}

/* A prefix that all sequences share is there once, of the step as of the pool that says how
 * many run: 6,144 of 8,192 tokens, in 48 layers of 4 heads of 128, keys and values in bf16. */
static void a_shared_prefix_is_held_once(void **state)
{
    (void)state;
    static const char *const stacks[] = {"vllm", "sglang", "trtllm"};
    const uint64_t token = UINT64_C(48) * 4 * 128 * 2 * 2;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        char text[512];
        struct told t;
        snprintf(
            text, sizeof text,
            "model: qwen3-30b-a3b\ncluster: h200\nstack: %s\n"
            "workload: {mode: decode, micro_batch: 4096, queue: true, max_num_seqs: 4096,\n"
            "  context_length: 8192, shared_prefix: 6144}\n",
            stacks[i]);
        must_tell(text, &t);
        uint64_t n = t.prediction.batch;
        assert_in_range(n, 200, 1000); /* without one 80 to 100 */
        assert_true(told_fits(&t));
        const struct buffer_report *cache = told_buffer(&t, "kv_cache");
        assert_int_equal(cache->bytes, (n * (8192 - 6144) + 6144) * token);
        assert_true(cache->bytes <= t.prediction.serving.cache_bytes);
        assert_true(cache->bytes + 2048 * token > t.prediction.serving.cache_bytes * 99 / 100);
        arena_release(&t.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_wait_for_the_cache),
        cmocka_unit_test(served_requests_wait_for_the_cache),
        cmocka_unit_test(an_engine_without_room_for_a_sequence_does_not_fit),
        cmocka_unit_test(an_engine_without_a_length_serves_what_its_cache_holds),
        cmocka_unit_test(fixes_of_no_cache_hold_the_whole_length),
        cmocka_unit_test(a_step_that_fits_says_what_a_server_holds),
        cmocka_unit_test(an_engine_without_a_cache_says_what_takes_it),
        cmocka_unit_test(fixes_of_a_short_cache_hold_a_request),
        cmocka_unit_test(a_shared_prefix_is_held_once),
        cmocka_unit_test(a_given_cache_that_does_not_fit_is_the_wall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
