/* MaxText on TPUs: what a plan may use of each, and what XLA holds there, by hand. The figures
 * that XLA itself gives come from its compiler, ahead of time (MaxText 0.2.5,
 * trainers/pre_train/train_compile.py, libtpu 0.0.52). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "report/predict/assumed.h"
#include "support/plans.h"
#include "support/served.h"

/* XLA's own limits, as its messages print them ("Used 46.60G of 31.25G hbm"). */
static void limits_are_those_of_xla(void **state)
{
    (void)state;
    static const struct {
        const char *cluster;
        double gib; /* of a rank */
    } devices[] = {{"tpu-v4-2x2x1", 30.75},
                   {"tpu-v5e-2x2", 15.75},
                   {"tpu-v5p-2x2x1", 95.74},
                   {"tpu-v6e-2x2", 31.25},
                   {"tpu7x-2x2x1", 94.75}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        struct arena arena = {0};
        const char *text = arena_printf(
            &arena, "{model: qwen3-8b, cluster: %s, stack: maxtext, workload: {mode: train}}",
            devices[i].cluster);
        double limit = (double)predict_text(text, &arena).memory.limit_bytes / (double)GIB;
        if (limit < devices[i].gib - 0.006 || limit > devices[i].gib + 0.006)
            fail_msg("%s: %.3f GiB, XLA says %.2f", devices[i].cluster, limit, devices[i].gib);
        arena_release(&arena);
    }
}

/* What an answer rests on is what was looked at for its device, and whether that was. */
static void memory_names_its_own_calibration(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *says, *device; /* device: that none was of, or NULL */
    } answers[] = {{"tpu-v6e-2x2", "XLA's own analysis", NULL},
                   {"tpu-v5p-2x2x1", "XLA's own analysis", "tpu-v5p"},
                   {"mi355x-8x1", "64 MI355X", NULL},
                   {"h100-8x1", "64 MI355X", "h100"}};
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct arena arena = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        plan_set(arena_printf(&arena,
                              "{model: qwen3-8b, cluster: %s, stack: maxtext, "
                              "workload: {mode: train}}",
                              answers[i].cluster),
                 "", &arena, plan);
        const char *said = predict_assumed_stack(plan, &arena);
        const char *none = strstr(said, "; none was of device ");
        if (!strstr(said, answers[i].says) || !none != !answers[i].device ||
            (none && !strstr(none, answers[i].device)))
            fail_msg("%s: %s", answers[i].cluster, said);
        arena_release(&arena);
    }
}

/* A fraction that the plan states is one of what the runtime leaves; other stacks keep theirs.
 */
static void fractions_are_of_what_is_left(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct prediction half = predict_text(
        "{model: qwen3-8b, cluster: tpu-v5e-2x2, stack: maxtext, workload: {mode: train}, "
        "memory: {fraction: 0.5}}",
        &arena);
    struct prediction generic = predict_text(
        "{model: qwen3-8b, cluster: tpu-v5e-2x2, workload: {mode: train}}", &arena);
    struct prediction gpu = predict_text(
        "{model: qwen3-8b, cluster: mi355x-8x1, stack: maxtext, workload: {mode: train}}",
        &arena);
    assert_int_equal(half.memory.limit_bytes, (uint64_t)(7.875 * (double)GIB));
    assert_int_equal(generic.memory.limit_bytes, (uint64_t)(0.9 * 15.75 * (double)GIB));
    assert_int_equal(gpu.memory.limit_bytes,
                     (uint64_t)(0.93 * (double)gpu.memory.capacity_bytes));
    assert_int_equal(half.memory.capacity_bytes, UINT64_C(16) << 30);
    arena_release(&arena);
}

#define GEMMA                                                                                  \
    "model: {base: gemma-2-27b, vocab: 256128}, cluster: tpu-v6e-16x16, parallel: {zero: 3}, "

/* Two sequences of 8,192 of Gemma 2 27B with 256,128 words: logits and their gradient in the
 * activations' 16 bits. */
static void logits_have_the_format_of_the_product(void **state)
{
    (void)state;
    struct arena arena = {0};
    const uint64_t logits = UINT64_C(16384) * 256128;
    static const char bf16[] =
        "{" GEMMA "workload: {mode: train, sequence_length: 8192, micro_batch: 2}, "
        "recompute: full, stack: maxtext}";
    static const char tiles[] =
        "{" GEMMA "workload: {mode: train, sequence_length: 8192, micro_batch: 2}, "
        "recompute: full, stack: {base: maxtext, cross_entropy: chunked, loss_chunks: 8}}";
    static const char f32[] =
        "{" GEMMA "workload: {mode: train, sequence_length: 8192, micro_batch: 2}, "
        "recompute: full, stack: maxtext, precision: {activations: f32}}";
    struct prediction p = predict_text(bf16, &arena);
    assert_int_equal(buffer_bytes(&p, "logits"), 2 * logits);
    assert_int_equal(buffer_bytes(&p, "d_logits"), 2 * logits);
    assert_int_equal(p.memory.verdict, VERDICT_FITS); /* MaxText's own configs/tpu/v6e */
    p = predict_text(tiles, &arena);
    assert_int_equal(buffer_bytes(&p, "logits"), 2 * logits / 8);
    p = predict_text(f32, &arena);
    assert_int_equal(buffer_bytes(&p, "logits"), 4 * logits);
    arena_release(&arena);
}

#define SMALL                                                                                  \
    "{layers: 16, dense_layers: 16, hidden: 4096, dense_intermediate: 16384, vocab: 32000, "   \
    "tied_embeddings: false, attention: {kind: gqa, heads: 32, kv_heads: 32, head_dim: "       \
    "128}}, "                                                                                  \
    "cluster: tpu-v6e-4x4, workload: {mode: train, sequence_length: 256, micro_batch: 1, "
#define LONG                                                                                   \
    "cluster: tpu-v6e-16x16, workload: {mode: train, sequence_length: 8192, micro_batch: "

/* MaxText's own configs/tpu/v6e on 256 of them, and a model of its own whose weights, gradients
 * and sums are most of it, on 16; remat_policy full, temp_size_in_bytes of XLA's analysis. */
static void temp_is_near_that_of_xla(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double temp;
    } programs[] = {
        {"{base: gemma-2-27b, vocab: 256128}, " LONG "2}", 27180417024.0},
        {"{base: gemma-2-9b, vocab: 256128}, " LONG "3}", 31167692800.0},
        {"{base: gemma-3-27b, encoder: {layers: 0}}, " LONG "2}", 29632495616.0},
        {SMALL "global_batch: 16}", 2366259200.0},
        {SMALL "global_batch: 32}", 3391717376.0},
        {SMALL "global_batch: 16}, precision: {gradients: bf16}", 1706295296.0},
        {SMALL "global_batch: 16}, precision: {weights: bf16, gradients: bf16, moments: bf16}",
         1269645312.0},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct arena arena = {0};
        struct prediction p =
            predict_text(arena_printf(&arena,
                                      "{model: %s, stack: maxtext, recompute: full, "
                                      "parallel: {zero: 3}}",
                                      programs[i].set),
                         &arena);
        double error = (double)p.memory.temp_bytes / programs[i].temp - 1;
        printf("%.40s: temp %.2f GiB, %+.1f %%\n", programs[i].set,
               (double)p.memory.temp_bytes / (double)GIB, 100 * error);
        assert_true(error > -0.1 && error < 0.06);
        assert_true(p.memory.verdict != VERDICT_OOM); /* XLA compiles them */
        arena_release(&arena);
    }
}

/* A cast of stacked weights stands in front of the loop over layers: none of weights in 16
 * bits, none where layers are not scanned. */
static void casts_of_stacked_weights_stay(void **state)
{
    (void)state;
    struct arena arena = {0};
    static const char form[] = "{model: %s}, stack: {base: maxtext, unrolled: %s}, parallel: "
                               "{zero: 3}, precision: {weights: %s}}";
    const uint64_t parameters = UINT64_C(16) * (4 * 4096 * 4096 + 3 * 4096 * 16384 + 2 * 4096) +
                                4096 + UINT64_C(2) * 32000 * 4096;
    struct prediction f32 = predict_text(
        arena_printf(&arena, form, SMALL "global_batch: 16", "false", "f32"), &arena);
    struct prediction each = predict_text(
        arena_printf(&arena, form, SMALL "global_batch: 16", "true", "f32"), &arena);
    struct prediction bf16 = predict_text(
        arena_printf(&arena, form, SMALL "global_batch: 16", "false", "bf16"), &arena);
    assert_int_equal(buffer_bytes(&f32, "weights_cast"), parameters / 16 * 2);
    assert_int_equal(buffer_bytes(&each, "weights_cast"), 0);
    assert_int_equal(buffer_bytes(&bf16, "weights_cast"), 0);
    arena_release(&arena);
}

/* utils/gradient_accumulation.py: a loop carries the sum beside a micro-batch's gradients, in
 * the weights' format. */
static void accumulation_carries_a_sum(void **state)
{
    (void)state;
    static const char form[] = "{model: qwen3-8b, cluster: tpu-v6e-4x4, stack: maxtext, "
                               "parallel: {zero: 3}, recompute: full, precision: {weights: %s, "
                               "gradients: f32}, workload: {mode: train, sequence_length: "
                               "4096, micro_batch: 1, global_batch: %d}}";
    struct arena arena = {0};
    struct prediction one = predict_text(arena_printf(&arena, form, "f32", 16), &arena);
    struct prediction two = predict_text(arena_printf(&arena, form, "f32", 32), &arena);
    struct prediction four = predict_text(arena_printf(&arena, form, "f32", 64), &arena);
    struct prediction half = predict_text(arena_printf(&arena, form, "bf16", 32), &arena);
    uint64_t sum = buffer_bytes(&two, "gradients");
    assert_true(sum > 0);
    assert_int_equal(buffer_bytes(&one, "accumulated_gradients"), 0);
    assert_int_equal(buffer_bytes(&two, "accumulated_gradients"), sum);
    assert_int_equal(buffer_bytes(&four, "accumulated_gradients"), sum);
    assert_int_equal(buffer_bytes(&half, "accumulated_gradients"), sum / 2);
    assert_int_equal(two.memory.temp_bytes - one.memory.temp_bytes, sum);
    arena_release(&arena);
}

static uint64_t saved(const char *model, const char *names, const char *buffer)
{
    struct arena arena = {0};
    struct prediction p = predict_text(
        arena_printf(&arena,
                     "{model: %s, cluster: tpu-v5p-4x4x4, stack: maxtext, parallel: {zero: 3}, "
                     "workload: {mode: train, sequence_length: 8192, micro_batch: 1}, "
                     "recompute: {kind: save, save: [%s]}}",
                     model, names),
        &arena);
    uint64_t bytes = buffer_bytes(&p, buffer);
    arena_release(&arena);
    return bytes;
}

/* Two names of one tensor keep it once; a dense network's output is kept where a norm reads it,
 * not where it is added alone. */
static void names_keep_a_tensor_once(void **state)
{
    (void)state;
    const uint64_t q = UINT64_C(32) * 8192 * 4096 * 2; /* layers, tokens, 32 heads of 128 */
    assert_int_equal(saved("llama-3.1-8b", "query_proj", "saved_q"), q);
    assert_int_equal(saved("llama-3.1-8b", "query_proj, key_proj, qkv_proj", "saved_q"), q);
    assert_int_equal(saved("llama-3.1-8b", "mlpwi, mlpwi_0", "saved_mlp_gate"),
                     UINT64_C(32) * 8192 * 14336 * 2);
    assert_int_equal(saved("llama-3.1-8b", "mlpwo", "saved_mlp_out"), 0);
    assert_int_equal(saved("gemma-2-27b", "mlpwo", "saved_mlp_out"),
                     UINT64_C(46) * 8192 * 4608 * 2);
}

/* XLA expands ragged_dot on GPUs; a TPU has a kernel for it. */
static void ragged_dot_is_a_kernel_on_a_tpu(void **state)
{
    (void)state;
    static const char form[] =
        "{model: qwen3-30b-a3b, cluster: %s, stack: maxtext, moe: {path: "
        "ragged_a2a, matmul: %s}, parallel: {ep: 8, zero: 3}, workload: "
        "{mode: train, sequence_length: 4096, micro_batch: 1}}";
    struct arena arena = {0};
    struct prediction gpu =
        predict_text(arena_printf(&arena, form, "mi355x-8x1", "ragged_dot"), &arena);
    struct prediction tpu =
        predict_text(arena_printf(&arena, form, "tpu-v6e-2x4", "ragged_dot"), &arena);
    struct prediction grouped =
        predict_text(arena_printf(&arena, form, "tpu-v6e-2x4", "megablox"), &arena);
    assert_true(buffer_bytes(&gpu, "expanded_x") > 0);
    assert_int_equal(buffer_bytes(&tpu, "expanded_x"), 0);
    assert_int_equal(tpu.memory.temp_bytes, grouped.memory.temp_bytes);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_are_those_of_xla),
        cmocka_unit_test(memory_names_its_own_calibration),
        cmocka_unit_test(fractions_are_of_what_is_left),
        cmocka_unit_test(logits_have_the_format_of_the_product),
        cmocka_unit_test(temp_is_near_that_of_xla),
        cmocka_unit_test(casts_of_stacked_weights_stay),
        cmocka_unit_test(accumulation_carries_a_sum),
        cmocka_unit_test(names_keep_a_tensor_once),
        cmocka_unit_test(ragged_dot_is_a_kernel_on_a_tpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
