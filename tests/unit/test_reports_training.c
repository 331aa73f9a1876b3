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
#include "plan/read/load.h"
#include "sim/answer/predict.h"

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

/* DeepEP 99: dropless training runs in steady state and runs out while the router is untrained:
 * one layer's fullest rank has three times the mean, a stage's layers together a fifth more. */
static void cold_start_runs_out(void **state)
{
    (void)state;
    static const char plan[] = "model: deepseek-v2-lite\n"
                               "cluster: h100-8x1\n"
                               "stack: {base: megatron, cross_entropy: in_place}\n"
                               "workload: {micro_batch: 20}\n"
                               "parallel: {ep: 8, zero: 1}\n"
                               "moe: {path: deepep}\n"
                               "precision: {gradients: f32, master: f32, moments: f32}\n"
                               "recompute: full\n";
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

/* Megatron-Bridge 4754: the experts of MiMo-V2-Flash over 8 expert-parallel ranks are 75.7 GB
 * of bf16 on each before anything else, and 37.85 GB where two tensor-parallel ranks share an
 * expert. The report is of a conversion; a plan that trains has the same wall first. */
static void experts_are_the_wall(void **state)
{
    (void)state;
    static const char plan[] =
        "model: {layers: 48, dense_layers: 1, hidden: 4096, dense_intermediate: 16384,\n"
        "  vocab: 152576, attention: {heads: 64, kv_heads: 4, head_dim: 192},\n"
        "  moe: {experts: 256, top_k: 8, intermediate: 2048}}\n"
        "cluster: h100-8x2\n"
        "stack: megatron\n"
        "parallel: {tp: 2, sp: true, ep: 8, zero: 1}\n";
    struct arena arena = {0};
    struct prediction whole, shared;
    predict_text(plan, "parallel.etp", "1", &arena, &whole);
    predict_text(plan, "parallel.etp", "2", &arena, &shared);
    assert_string_equal(verdict_name(whole.memory.verdict), "oom");
    assert_string_equal(whole.memory.wall->name, "expert_weights");
    /* 47 layers of 32 experts of 3 x 4096 x 2048 in bf16 */
    assert_int_equal(whole.memory.wall->bytes, 75698798592);
    assert_int_equal(find(&shared, "expert_weights")->bytes, 37849399296);
    assert_string_not_equal(shared.memory.wall->name, "expert_weights");
    arena_release(&arena);
}

/* Bytes at the peak of all buffers of a name: of every segment. */
static double gib_of(const struct prediction *prediction, const char *name)
{
    const struct memory_report *memory = &prediction->memory;
    double bytes = 0;
    for (size_t i = 0; i < memory->n_buffers; i++)
        if (text_equal(memory->buffers[i].name, name))
            bytes += (double)memory->buffers[i].bytes;
    return bytes / 1073741824;
}

/* torchtitan 1624: Llama 4 "3bx128e" on 8 ranks, whose reserved peak rises from 84.57 to 91.51
 * GiB between EP 1 and 4 though states stay as they are. What can do that here: an untrained
 * router gives a rank more rows than its share, and every tensor of experts has them; gathers
 * shrink. How layers were recomputed is not published, so the split is not determined:
 * training-stacks.md 4. */
static void uneven_rows_rise_with_ep(void **state)
{
    (void)state;
    static const char plan[] =
        "model: {layers: 48, hidden: 2048, vocab: 202048,\n"
        "  attention: {heads: 16, kv_heads: 2, head_dim: 128},\n"
        "  moe: {experts: 128, top_k: 8, intermediate: 768, shared_experts: 1,\n"
        "        router: {score: sigmoid}}}\n"
        "cluster: h200-8x1\n"
        "stack: torchtitan\n"
        "workload: {sequence_length: 8192, scenario: cold}\n"
        "recompute: {kind: selective, modules: [\"2\"]}\n";
    struct arena arena = {0};
    struct prediction one, four, full;
    predict_text(plan, NULL, NULL, &arena, &one);
    predict_text(plan, "parallel.ep", "4", &arena, &four);
    predict_text(plan, "recompute", "full", &arena, &full);
    const struct memory_report *a = &one.memory, *b = &four.memory;
    assert_int_equal(one.model.parameters, 30510876672);
    assert_int_equal(a->state_bytes, b->state_bytes); /* 56.83 GiB */
    assert_true(b->expected_bytes > a->expected_bytes && b->p99_bytes > b->expected_bytes);
    print_message("reserved, EP 1 %.2f GiB, EP 4 %.2f; all recomputed %.2f\n",
                  (double)a->reserved_bytes / 1073741824,
                  (double)b->reserved_bytes / 1073741824,
                  (double)full.memory.reserved_bytes / 1073741824);
    /* the report stands between every layer recomputed and every second one */
    assert_true((double)full.memory.reserved_bytes < 84.57 * 1073741824 &&
                (double)a->reserved_bytes > 84.57 * 1073741824);
    static const char *const rows[] = {"expert_input", "expert_gate", "expert_silu",
                                       "expert_up", "expert_product"};
    double rise = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(gib_of(&four, rows[i]) > gib_of(&one, rows[i]));
        rise += gib_of(&four, rows[i]) - gib_of(&one, rows[i]);
    }
    assert_true(rise > 0.6 * (double)(b->p99_bytes - a->p99_bytes) / 1073741824);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_start_runs_out),
        cmocka_unit_test(skew_runs_out_later),
        cmocka_unit_test(copies_are_bounded_by_both),
        cmocka_unit_test(buffers_hold_one_micro_batch),
        cmocka_unit_test(experts_are_the_wall),
        cmocka_unit_test(uneven_rows_rise_with_ep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
