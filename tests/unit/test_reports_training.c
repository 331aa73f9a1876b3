/* Public reports of training runs that ran out of memory, each as the prediction that a plan of
 * its kind would have given: verdict, the wall and its size. The reports name few sizes, so the
 * plans are ours; what each must show is the cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/load.h"
#include "sim/predict.h"

/* The plan with one key changed, predicted; fails the test with the error. */
static void predict_text(const char *text, const char *key, const char *value,
                         struct arena *arena, struct prediction *prediction)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct err err = {0};
    const struct override set = {key, value, "--set"};
    const struct predict_options options = {0};
    if (plan_load_text("report.yaml", text, strlen(text), &set, key ? 1 : 0, arena, plan, NULL,
                       &err) ||
        predict(plan, &options, arena, prediction, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
}

static const struct buffer_report *find(const struct prediction *prediction, const char *name)
{
    const struct memory_report *memory = &prediction->memory;
    for (size_t i = 0; i < memory->n_buffers; i++)
        if (text_equal(memory->buffers[i].name, name))
            return &memory->buffers[i];
    fail_msg("no buffer is called %s", name);
    return NULL;
}

/* DeepEP 99: dropless training runs in steady state and runs out while the router is untrained.
 */
static void cold_start_runs_out(void **state)
{
    (void)state;
    static const char plan[] = "model: deepseek-v2-lite\n"
                               "cluster: h100-8x1\n"
                               "stack: {base: megatron, cross_entropy: in_place}\n"
                               "workload: {micro_batch: 2}\n"
                               "parallel: {ep: 8, zero: 1}\n"
                               "moe: {path: deepep}\n"
                               "precision: {gradients: f32, master: f32, moments: f32}\n"
                               "recompute: {kind: selective, modules: [layernorm]}\n";
    struct arena arena = {0};
    struct prediction steady, cold;
    predict_text(plan, "workload.scenario", "steady", &arena, &steady);
    predict_text(plan, "workload.scenario", "cold", &arena, &cold);
    assert_string_equal(verdict_name(steady.memory.verdict), "fits");
    assert_string_equal(verdict_name(cold.memory.verdict), "oom");
    const struct buffer_report *wall = cold.memory.wall;
    print_message("wall %s, %llu bytes\n", wall->name, (unsigned long long)wall->bytes);
    assert_string_equal(wall->rule, "routing");
    assert_true(wall->bytes > find(&steady, wall->name)->bytes);
    assert_true(cold.memory.oom_probability > 0.9);
    arena_release(&arena);
}

/* Megatron 1445: 160 experts, top 6, ep 8: fits while routing is even, runs out as it skews. */
static void skew_runs_out_later(void **state)
{
    (void)state;
    static const char plan[] =
        "model: deepseek-v2\n"
        "cluster: h100-8x48\n"
        "stack: {base: megatron, cross_entropy: in_place}\n"
        "parallel: {pp: 16, ep: 8, zero: 1}\n"
        "moe: {path: ragged_a2a, routing: {sigma: 2}}\n"
        "precision: {gradients: f32, master: f32, moments: f32}\n"
        "recompute: {kind: selective, modules: [mla_up_proj, layernorm, moe_act]}\n";
    struct arena arena = {0};
    struct prediction even, skewed;
    predict_text(plan, NULL, NULL, &arena, &even);
    predict_text(plan, "moe.routing.distribution", "lognormal", &arena, &skewed);
    assert_string_equal(verdict_name(even.memory.verdict), "fits");
    assert_string_equal(verdict_name(skewed.memory.verdict), "oom");
    /* drawn per layer and step the p99 is so high that the input alone crosses the limit */
    assert_string_equal(skewed.memory.wall->name, "expert_input");
    print_message("wall %llu bytes, %s\n", (unsigned long long)skewed.memory.wall->bytes,
                  skewed.memory.wall->formula);
    /* 60 copies of [M, 2 I] in bf16: 15 micro-batches of 4 layers */
    assert_int_equal(skewed.memory.wall->copies, 60);
    assert_true(skewed.memory.worst_bytes > skewed.memory.p99_bytes);
    assert_true(skewed.memory.p99_bytes >= skewed.memory.expected_bytes);
    arena_release(&arena);
}

static const char ragged[] = "model: deepseek-v3\n"
                             "cluster: mi355x-8x8\n"
                             "stack: maxtext\n"
                             "workload: {micro_batch: 8}\n"
                             "parallel: {ep: 8, zero: 3}\n"
                             "moe: {path: ragged_a2a}\n"
                             "precision: {weights: bf16, gradients: bf16, moments: bf16}\n"
                             "recompute: full\n";

/* MaxText 1767, TransformerEngine 3116: a token's copies on a rank are min(top_k, local
 * experts). With 64 ranks a rank holds 4 experts, half of top-8; with 8 ranks 32, four times
 * top-8, and the buffer must grow with neither excess. */
static void copies_are_bounded_by_both(void **state)
{
    (void)state;
    static const struct {
        const char *ep;
        uint64_t ranks, copies;
    } rows[] = {{"8", 8, 8}, {"16", 16, 8}, {"64", 64, 4}};
    const uint64_t tokens = 8 * 4096, hidden = 7168;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct prediction prediction;
        predict_text(ragged, "parallel.ep", rows[i].ep, &arena, &prediction);
        assert_int_equal(find(&prediction, "received_x")->one_bytes,
                         rows[i].ranks * tokens * rows[i].copies * hidden * 2);
        arena_release(&arena);
    }
}

/* MaxText 5335: the buffer holds a micro-batch, not the batch that a step accumulates; sized
 * for four micro-batches it would be four times as large. */
static void buffers_hold_one_micro_batch(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct prediction one, four, wrong;
    predict_text(ragged, "workload.global_batch", "512", &arena, &one);
    predict_text(ragged, "workload.global_batch", "2048", &arena, &four);
    predict_text(ragged, "workload.micro_batch", "32", &arena, &wrong);
    uint64_t bytes = find(&one, "received_x")->one_bytes;
    assert_int_equal(find(&four, "received_x")->one_bytes, bytes);
    assert_int_equal(find(&wrong, "received_x")->one_bytes, 4 * bytes);
    assert_string_equal(verdict_name(wrong.memory.verdict), "oom");
    assert_string_equal(wrong.memory.wall->rule, "worst");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_start_runs_out),
        cmocka_unit_test(skew_runs_out_later),
        cmocka_unit_test(copies_are_bounded_by_both),
        cmocka_unit_test(buffers_hold_one_micro_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
