/* Layers of short convolutions (LFM2): parameters, state and what training keeps, worked by
 * hand from transformers' Lfm2MoeShortConv and vLLM's short_conv_state_shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/catalogue.h"
#include "support/listed.h"
#include "plan/mixer.h"
#include "plan/params.h"
#include "work/list/work.h"
#include "work/piece/cache.h"

enum { TOKENS = 4096, H = 2048 };

/* in [H, 3 H], out [H, H] and three taps of every channel; no vectors. A token computes what
 * both gates multiply beside them. */
static void a_layer_is_two_products_and_taps(void **state)
{
    (void)state;
    bool overflow = false;
    struct arena arena = {0};
    struct plan plan;
    catalogue_plan("lfm2-8b-a1b", NULL, NULL, &arena, &plan);
    struct params_part part = mixer_parameters(&plan.model, MIXER_LINEAR, &overflow);
    assert_int_equal(part.matrices, 3 * H * H + H * H + 3 * H);
    assert_int_equal(part.norms + part.biases, 0);
    assert_int_equal(mixer_flop(&plan.model, MIXER_LINEAR, TOKENS, &overflow), 2 * H);
    arena_release(&arena);
}

/* A sequence keeps two columns of H values in 16 bits, split over tp, and no state. */
static void a_sequence_keeps_two_columns(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    catalogue_plan("lfm2-8b-a1b", "h100-8x1", "vllm", &arena, &plan);
    plan.precision.activations = DTYPE_BF16;
    plan.workload.mode = MODE_DECODE;
    plan.workload.tokens_per_sequence = 1;
    plan.parallel.tp = 1;
    assert_int_equal(cache_layer_bytes(&plan, MIXER_LINEAR, TOKENS), 2 * H * 2);
    plan.parallel.tp = 4;
    assert_int_equal(cache_layer_bytes(&plan, MIXER_LINEAR, TOKENS), 2 * H * 2 / 4);
    arena_release(&arena);
}

/* Of a token: the norm's input and output, 3 H of both gates and what they gate, their first
 * product, what the convolution makes of it and the second product, which the output projection
 * reads. */
static void backward_reads_gates_and_products(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work = {0};
    catalogue_plan("lfm2-8b-a1b", "h100-8x1", "fsdp", &arena, &plan);
    plan.workload = (struct workload){.mode = MODE_TRAIN,
                                      .sequence_length = TOKENS,
                                      .micro_batch = 1,
                                      .tokens_per_sequence = 1,
                                      .steps = 1};
    plan.recompute = (struct recompute_plan){0};
    plan.precision.activations = DTYPE_BF16;
    if (work_build(&plan, &arena, &work, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    const uint64_t *values = listed_sizes(&plan, &work);
    uint64_t sum = 0;
    for (size_t i = 0; i < work.n_buffers; i++)
        if (work.buffers[i].segment == segment_of_kind(KIND_LINEAR_DENSE) &&
            work.buffers[i].life == LIFE_SAVED &&
            work.buffers[i].category == CATEGORY_ATTENTION)
            sum += values[work.buffers[i].all.node];
    assert_int_equal(sum / TOKENS, 2 * (3 * H + H + H + H));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_is_two_products_and_taps),
        cmocka_unit_test(a_sequence_keeps_two_columns),
        cmocka_unit_test(backward_reads_gates_and_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
