/* The engines' schedulers, played at costs whose answers are known by hand; what a served plan
 * holds and what caps it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "sim/step/evaluate.h"
#include "sim/answer/predict.h"
#include "sim/serve/scheduler.h"
#include "support/catalogue.h"
#include "support/played.h"

/* A request alone: its prompt's step, then a token a step. */
static void one_request_is_prefill_and_decode(void **state)
{
    (void)state;
    for (int batching = 0; batching < 3; batching++) {
        struct arena arena = {0};
        const struct scheduler_ask ask = {.batching = (enum batching)batching,
                                          .replicas = 1,
                                          .slots = 1,
                                          .budget = 1000,
                                          .requests = 3,
                                          .in_flight = 1,
                                          .input = 200,
                                          .output = 11,
                                          .costs = &played_costs};
        struct scheduler_result r = played(&ask, &arena);
        for (unsigned i = 0; i < 3; i++) {
            assert_close(r.ttft_s[i], 0.2, 1e-12);
            assert_close(r.tpot_s[i], 0.01, 1e-12);
            assert_close(r.latency_s[i], 0.3, 1e-12);
        }
        assert_close(r.ends_s[2], 0.9, 1e-9);
        assert_int_equal(r.output_tokens, 33);
        assert_int_equal(r.input_tokens, 600);
        arena_release(&arena);
    }
}

/* Two at once, 200 tokens each, 250 a step: cut to what is left (the second's first 50 in the
 * first step), or whole, one after the other. A chunk beside k decodes has 250 - k tokens. */
static void budgets_cut_or_part_prompts(void **state)
{
    (void)state;
    static const struct {
        enum batching batching;
        double first_s, second_s;
    } rows[] = {{BATCHING_MIXED, 0.25, 0.25 + 0.151},
                {BATCHING_WHOLE, 0.2, 0.2 + 0.201},
                {BATCHING_APART, 0.25, 0.25 + 0.15}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        const struct scheduler_ask ask = {.batching = rows[i].batching,
                                          .replicas = 1,
                                          .slots = 2,
                                          .budget = 250,
                                          .requests = 2,
                                          .in_flight = 2,
                                          .input = 200,
                                          .output = 100,
                                          .costs = &played_costs};
        struct scheduler_result r = played(&ask, &arena);
        assert_close(r.ttft_s[0], rows[i].first_s, 1e-12);
        assert_close(r.ttft_s[1], rows[i].second_s, 1e-12);
        arena_release(&arena);
    }
}

/* Requests k = 0 to 7 of each of two replicas begin at step k + 1 and end at step k + 11. The
 * first that ends is replaced, and its prompt may come in step 13; no other is. Beside 6
 * answers it takes 106 ms, after another step beside 5. Prompts came last in step 8, which no
 * step before it held back; steps 9 to 11, or 9 to 12, bring a timeout of 3 or 4 to its end. */
static void replicas_wait_for_each_other(void **state)
{
    (void)state;
    static const struct {
        uint64_t timeout;
        double first_s;
    } rows[] = {{0, 0.01 + 0.106},      /* nobody waits */
                {1, 0.01 + 0.106},      /* every step is let in */
                {3, 2 * 0.01 + 0.105},  /* let in in steps 11 and 14 */
                {4, 4 * 0.01 + 0.103},  /* in steps 12 and 16 */
                {100, 7 * 0.01 + 0.1}}; /* when the last answers are done */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct scheduler_result r;
        const struct scheduler_ask ask = {.batching = BATCHING_WHOLE,
                                          .replicas = 2,
                                          .slots = 8,
                                          .budget = 120,
                                          .requests = 17,
                                          .in_flight = 16,
                                          .input = 100,
                                          .output = 11,
                                          .balance = {.timeout = rows[i].timeout},
                                          .costs = &played_costs};
        scheduler_play(&ask, &arena, &r);
        assert_int_equal(r.n, 17);
        assert_close(r.ttft_s[16], rows[i].first_s, 1e-9);
        arena_release(&arena);
    }
}

/* Where all have a prompt it waits beside answers, here every other step. */
static void prompts_wait_for_more(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_result r;
    const struct scheduler_ask ask = {.batching = BATCHING_WHOLE,
                                      .replicas = 2,
                                      .slots = 3,
                                      .budget = 120,
                                      .requests = 6,
                                      .in_flight = 6,
                                      .input = 100,
                                      .output = 11,
                                      .balance = {.timeout = 50, .wait = 1},
                                      .costs = &played_costs};
    scheduler_play(&ask, &arena, &r);
    assert_close(r.ttft_s[0], 0.1, 1e-12);
    assert_close(r.ttft_s[2], 0.1 + 0.01 + 0.101, 1e-12);
    assert_close(r.ttft_s[4], 0.1 + 0.01 + 0.101 + 0.01 + 0.102, 1e-12);
    arena_release(&arena);
}

/* Two begin at once and end after d and e > d steps. The third is seen when the engine next
 * looks: after d + 1 steps at the soonest (it comes when the first has ended), after a multiple
 * of `each`, or when nothing else is left to do. */
static void engines_look_for_requests_every_few_steps(void **state)
{
    (void)state;
    static const uint64_t each[] = {1000, 0, 1, 3, 7, 30};
    double d = 0, e = 0;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        struct arena arena = {0};
        struct scheduler_result r;
        const struct scheduler_ask ask = {.batching = BATCHING_APART,
                                          .replicas = 1,
                                          .slots = 2,
                                          .budget = 1000,
                                          .requests = 3,
                                          .in_flight = 2,
                                          .input = 100,
                                          .output = 100,
                                          .spread = 0.5,
                                          .poll_steps = each[i],
                                          .costs = &played_costs};
        scheduler_play(&ask, &arena, &r);
        if (i == 0) {
            d = round((r.latency_s[0] - r.ttft_s[0]) / 0.01);
            e = round((r.latency_s[1] - r.ttft_s[1]) / 0.01);
            assert_true(d + 1 < e);
        }
        double steps = each[i] ? (double)each[i] : 1,
               seen = fmin(e, steps * ceil((d + 1) / steps));
        double prompt_s = (double)r.input_tokens / 1000 - r.ttft_s[0]; /* of the third */
        assert_close(r.ttft_s[2], (seen - d) * 0.01 + prompt_s, 1e-9);
        arena_release(&arena);
    }
}

/* Prompts apart stop the decodes: the first answer takes the second's prefill longer. */
static void prompts_apart_delay_decodes(void **state)
{
    (void)state;
    struct arena arena = {0};
    const struct scheduler_ask ask = {.batching = BATCHING_APART,
                                      .replicas = 1,
                                      .slots = 2,
                                      .budget = 200,
                                      .requests = 2,
                                      .in_flight = 2,
                                      .input = 200,
                                      .output = 101,
                                      .costs = &played_costs};
    struct scheduler_result r = played(&ask, &arena);
    assert_close(r.tpot_s[0], 0.01, 1e-12);
    assert_close(r.tpot_s[1], 0.012, 1e-12);
    arena_release(&arena);
}

/* What has no slot waits for one: twice as many requests as slots wait a whole answer. */
static void slots_make_requests_wait(void **state)
{
    (void)state;
    struct arena arena = {0};
    const struct scheduler_ask ask = {.batching = BATCHING_MIXED,
                                      .replicas = 1,
                                      .slots = 1,
                                      .budget = 1000,
                                      .requests = 8,
                                      .in_flight = 2,
                                      .input = 100,
                                      .output = 101,
                                      .costs = &played_costs};
    struct scheduler_result r = played(&ask, &arena);
    assert_close(r.ttft_s[0], 0.1, 1e-12);
    assert_close(r.ttft_s[7], 1.2, 1e-9); /* 1.1 of the other's answer, 0.1 of its own */
    assert_close(r.ends_s[7], 8 * 1.1, 1e-9);
    arena_release(&arena);
}

/* The second half of a prompt of 100 meets the 50 tokens before each of its own, at 1 us, and
 * expands them, at 10 us. A prefix that was there is met by all. */
static void chunks_meet_earlier_tokens(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct step_costs costs = played_costs;
    costs.earlier.pair_s = 1e-6;
    costs.earlier.token_s = 1e-5;
    costs.earlier.chunk = 50;
    struct scheduler_ask ask = {.batching = BATCHING_APART,
                                .replicas = 1,
                                .slots = 1,
                                .budget = 50,
                                .requests = 1,
                                .in_flight = 1,
                                .input = 100,
                                .output = 2,
                                .costs = &costs};
    struct scheduler_result r = played(&ask, &arena);
    assert_close(r.ttft_s[0], 0.1 + 2500e-6 + 50e-5, 1e-9);
    ask.shared = 20;
    r = played(&ask, &arena);
    assert_close(r.ttft_s[0], 0.1 + (50 * 20 + 50 * 70) * 1e-6 + 90e-5, 1e-9);
    arena_release(&arena);
}

/* Little's law: requests in flight = rate x latency; the busy share of a replica is no more
 * than all of it, and every token is answered once. */
static void flight_is_rate_times_latency(void **state)
{
    (void)state;
    for (int batching = 0; batching < 3; batching++)
        for (unsigned replicas = 1; replicas <= 4; replicas *= 2) {
            struct arena arena = {0};
            const struct scheduler_ask ask = {.batching = (enum batching)batching,
                                              .replicas = replicas,
                                              .slots = 8,
                                              .budget = 300,
                                              .requests = 800 * replicas,
                                              .in_flight = 8 * replicas,
                                              .input = 50,
                                              .output = 64,
                                              .spread = 0.5,
                                              .seed = 7,
                                              .costs = &played_costs};
            struct scheduler_result r = played(&ask, &arena);
            double sum = 0;
            for (size_t i = 0; i < r.n; i++)
                sum += r.latency_s[i];
            double in_flight = sum / r.ends_s[r.n - 1]; /* rate x mean latency */
            assert_true(in_flight <= 8.0 * replicas + 1e-9);
            assert_true(in_flight > 0.97 * 8 * replicas);
            assert_true(r.tpot_s[0] >= 0.01 - 1e-12);
            arena_release(&arena);
        }
}

/* One in flight, of 0.2 s and ten steps, and 0.05 s before the engine has the next: it ends
 * every 0.35 s, and its own latency is as before. Two that take turns in one slot: the next is
 * there before the other ends, and waits for less. */
static void the_next_request_is_on_its_way(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_ask ask = {.batching = BATCHING_APART,
                                .replicas = 1,
                                .slots = 1,
                                .budget = 1000,
                                .requests = 9,
                                .in_flight = 1,
                                .before_s = 0.05,
                                .input = 200,
                                .output = 11,
                                .costs = &played_costs};
    struct scheduler_result r = played(&ask, &arena);
    for (unsigned i = 0; i < 9; i++) {
        assert_close(r.latency_s[i], 0.3, 1e-12);
        assert_close(r.ends_s[i], 0.3 + 0.35 * i, 1e-9);
    }
    assert_close(r.steady_s, 0.3, 1e-12);
    ask.in_flight = 2;
    r = played(&ask, &arena);
    assert_close(r.ends_s[8], 0.3 * 9, 1e-9);
    assert_close(r.steady_s, 0.6 - 0.05, 1e-12);
    arena_release(&arena);
}

/* What ends while as many are in flight as ever, whether they come at once or are on their way:
 * the rate of Little's law. */
static void steady_loops_have_a_rate(void **state)
{
    (void)state;
    for (int batching = 0; batching < 3; batching++)
        for (unsigned late = 0; late < 3; late++) {
            struct arena arena = {0};
            const struct scheduler_ask ask = {.batching = (enum batching)batching,
                                              .replicas = 2,
                                              .slots = 8,
                                              .budget = 300,
                                              .requests = 3200,
                                              .in_flight = 16,
                                              .before_s = 0.2 * late,
                                              .input = 50,
                                              .output = 64,
                                              .spread = 0.5,
                                              .seed = 7,
                                              .costs = &played_costs};
            struct scheduler_result r = played(&ask, &arena);
            double seen = (3200 - 32) / (r.ends_s[3200 - 17] - r.ends_s[15]);
            double told = 16 / (ask.before_s + r.steady_s);
            if (!(fabs(seen / told - 1) < 0.01))
                fail_msg("batching %d, %g s before: %g a second, told %g", batching,
                         ask.before_s, seen, told);
            arena_release(&arena);
        }
}

/* Fewer requests than replicas: those that idle answer nobody. A step of one sequence on each
 * of four takes 10 ms, 8 of them in experts; of two sequences the experts take 4, with one that
 * fills the others' places 6: by a prompt of 0.1 s and ten steps a request. */
static void idle_replicas_answer_nobody(void **state)
{
    (void)state;
    struct {
        double filler, step_s;
    } rows[] = {{0, 0.006}, {0.25, 0.008}, {HUGE_VAL, 0.010}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct step_costs costs = played_costs;
        costs.routed = (struct cost_curve){.n = 2, .x = {0.25, 1}, .y = {0.002, 0.008}};
        costs.filler = rows[i].filler;
        const struct scheduler_ask ask = {.batching = BATCHING_APART,
                                          .replicas = 4,
                                          .slots = 8,
                                          .budget = 100,
                                          .requests = 20,
                                          .in_flight = 2,
                                          .input = 100,
                                          .output = 11,
                                          .costs = &costs};
        struct scheduler_result r = played(&ask, &arena);
        assert_close(r.tpot_s[10], rows[i].step_s, 1e-12);
        assert_close(r.ends_s[r.n - 1], 10 * (0.1 + 10 * rows[i].step_s), 1e-9);
        arena_release(&arena);
    }
}

/* An open loop far below what a replica can do is as fast as a request alone; above it, the
 * queue grows with every request. */
static void open_loops_queue_when_overloaded(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct scheduler_ask ask = {.batching = BATCHING_MIXED,
                                .replicas = 1,
                                .slots = 4,
                                .budget = 1000,
                                .requests = 400,
                                .rate = 0.01,
                                .input = 100,
                                .output = 11,
                                .seed = 3,
                                .costs = &played_costs};
    struct scheduler_result slow = played(&ask, &arena);
    assert_close(slow.ttft_s[200], 0.1, 1e-9);
    ask.rate = 100;
    struct scheduler_result fast = played(&ask, &arena);
    assert_true(fast.ttft_s[200] > 50 * slow.ttft_s[200]);
    arena_release(&arena);
}

/* ---- plans ---- */

static const char served[] = "model: gpt-oss-120b\ncluster: h100-2x1\nstack: vllm\n"
                             "parallel: {tp: 2, ep: 1}\n"
                             "workload: {mode: serve, concurrency: %u, input_length: %u, "
                             "output_length: %u, max_num_seqs: %u}\n";

static struct prediction predict_served(unsigned concurrency, unsigned input, unsigned output,
                                        unsigned slots, struct arena *arena)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct profile *profile = arena_alloc(arena, 1, sizeof *profile);
    struct prediction prediction;
    struct err err = {0};
    const char *text = arena_printf(arena, served, concurrency, input, output, slots);
    if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, arena, plan, NULL, &err) ||
        profile_load(plan, arena, profile, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    struct time_ask ask = {.profile = profile};
    const struct predict_options options = {.time = &ask};
    if (predict(plan, &options, arena, &prediction, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    return prediction;
}

/* Memory is that of a decode step of what is in flight, or of the prefill beside it; no more
 * requests are in it than slots and the cache allow, and the others wait. */
static void caps_make_requests_wait(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct prediction all = predict_served(64, 1024, 1024, 256, &arena);
    struct prediction slots = predict_served(64, 1024, 1024, 16, &arena);
    struct prediction cache = predict_served(1024, 65536, 65536, 1024, &arena);
    assert_int_equal(all.time.serving.sequences, 64);
    assert_int_equal(all.time.serving.waiting, 0);
    assert_int_equal(all.n_notes, 0);
    assert_int_equal(slots.time.serving.sequences, 16);
    assert_int_equal(slots.time.serving.waiting, 48);
    assert_string_equal(slots.time.serving.capped, "max_num_seqs");
    assert_string_equal(slots.notes[0].key, "workload.concurrency");
    assert_string_equal(cache.time.serving.capped, "the cache");
    assert_int_equal(cache.time.serving.sequences, cache.serving.running);
    assert_true(slots.time.serving.ttft_s > 20 * all.time.serving.ttft_s);
    assert_true(slots.time.serving.tpot_s < all.time.serving.tpot_s);
    assert_true(slots.memory.total_bytes < all.memory.total_bytes);
    arena_release(&arena);
}

/* Eight prompts of 8,192 tokens on TensorRT-LLM: seven answers beside one take 8,199. */
static void whole_prompts_say_what_a_step_takes(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *says; /* says: NULL, no note */
    } rows[] = {{"max_num_batched_tokens: 8199", NULL},
                {"max_num_batched_tokens: 8198", "with all other answers it takes 8199"},
                {"max_num_batched_tokens: 8191", "the engine refuses prompts above"},
                {"max_num_batched_tokens: 4096, chunked_prefill: true", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct prediction p;
        struct err err = {0};
        const char *text =
            arena_printf(&arena,
                         "model: gpt-oss-120b\ncluster: b200\nstack: trtllm\n"
                         "workload: {mode: serve, concurrency: 8, input_length: 8192, "
                         "output_length: 64, %s}\n",
                         rows[i].keys);
        const struct predict_options options = {0};
        if (plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL,
                           &err) ||
            predict(&plan, &options, &arena, &p, &err))
            fail_msg("%s: %s", err.where, err.text);
        const char *note = p.n_notes ? p.notes[0].text : NULL;
        if (!note != !rows[i].says || (note && !strstr(note, rows[i].says)))
            fail_msg("%s: \"%s\"", rows[i].keys, note ? note : "");
        arena_release(&arena);
    }
}

/* More requests in flight: more tokens a second, each later. Evaluating says what predict says.
 */
static void throughput_and_latency_grow_with_concurrency(void **state)
{
    (void)state;
    double rate = 0, tpot = 0;
    for (unsigned n = 1; n <= 256; n *= 4) {
        struct arena arena = {0};
        struct prediction p = predict_served(n, 1024, 256, 256, &arena);
        const struct serve_times *s = &p.time.serving;
        assert_true(s->tokens_per_s > rate);
        assert_true(s->tpot_s >= tpot);
        assert_true(s->tpot_s >= 0.99 * s->decode_step_s || n < 4);
        assert_close(p.time.tokens_per_s, s->tokens_per_s, 1e-9);
        rate = s->tokens_per_s;
        tpot = s->tpot_s;
        arena_release(&arena);
    }
}

static void evaluation_and_search_agree_with_predict(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct evaluator evaluator = {0};
    struct evaluation result;
    struct step_time step;
    struct err err = {0};
    struct plan plan;
    struct profile profile;
    struct prediction p = predict_served(64, 2048, 512, 256, &arena);
    const char *text = arena_printf(&arena, served, 64, 2048, 512, 256);
    assert_int_equal(
        plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, &plan, NULL, &err), 0);
    assert_int_equal(profile_load(&plan, &arena, &profile, &err), 0);
    evaluate(&evaluator, &plan, 1, &result);
    assert_true(result.valid);
    assert_int_equal(result.peak.total_bytes, p.memory.total_bytes);
    assert_int_equal(result.verdict, p.memory.verdict);
    assert_true(time_step(&evaluator, &plan, &profile, &step));
    assert_close(time_tokens_per_s(&plan, &step), p.time.tokens_per_s,
                 1e-9 * p.time.tokens_per_s);
    evaluator_release(&evaluator);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_is_prefill_and_decode),
        cmocka_unit_test(budgets_cut_or_part_prompts),
        cmocka_unit_test(replicas_wait_for_each_other),
        cmocka_unit_test(prompts_wait_for_more),
        cmocka_unit_test(engines_look_for_requests_every_few_steps),
        cmocka_unit_test(prompts_apart_delay_decodes),
        cmocka_unit_test(slots_make_requests_wait),
        cmocka_unit_test(chunks_meet_earlier_tokens),
        cmocka_unit_test(flight_is_rate_times_latency),
        cmocka_unit_test(the_next_request_is_on_its_way),
        cmocka_unit_test(steady_loops_have_a_rate),
        cmocka_unit_test(idle_replicas_answer_nobody),
        cmocka_unit_test(open_loops_queue_when_overloaded),
        cmocka_unit_test(caps_make_requests_wait),
        cmocka_unit_test(whole_prompts_say_what_a_step_takes),
        cmocka_unit_test(throughput_and_latency_grow_with_concurrency),
        cmocka_unit_test(evaluation_and_search_agree_with_predict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
