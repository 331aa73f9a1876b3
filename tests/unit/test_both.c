/* Attention and Mamba-2 side by side (Falcon-H1-0.5B), and Mamba alone: parameters, what a
 * sequence keeps and what training saves, worked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/mixer.h"
#include "plan/params.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "work/piece/cache.h"
#include "work/stack/stack.h"

/* q and o [1024, 512], k and v [1024, 128]: 1,310,720. In [1024, 2 x 1536 + 2 x 128 + 24], out
 * [1536, 1024], taps 1792 x 4 with 1792 biases, 3 x 24: 5,014,344. */
enum { ATTENTION = 1310720, RECURRENCE = 5014344, NETWORK = 3 * 1024 * 2048 };

static void both_are_counted(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    bool overflow = false;
    catalogue_plan("falcon-h1-0.5b", NULL, NULL, &arena, &plan);
    params_count(&plan.model, &p);
    assert_int_equal(params_part_total(p.mixer[MIXER_BOTH]), ATTENTION + RECURRENCE);
    assert_int_equal(p.parameters, 36 * (ATTENTION + RECURRENCE + NETWORK + 2 * 1024) +
                                       2 * 32784 * 1024 + 1024);
    assert_int_equal(p.parameters, 521411104);
    assert_int_equal(mixer_flop(&plan.model, MIXER_BOTH, 4096, &overflow),
                     mixer_flop(&plan.model, MIXER_FULL, 4096, &overflow) +
                         mixer_flop(&plan.model, MIXER_LINEAR, 4096, &overflow));
    plan.model.linear.bare = false; /* a norm of 1536 more */
    params_count(&plan.model, &p);
    assert_int_equal(p.parameters, 521411104 + 36 * 1536);
    arena_release(&arena);
}

/* 7,272,665,088 and 7,285,403,648: what transformers' classes have (5.24.0). */
static void mamba_alone_is_counted(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t parameters;
    } rows[] = {{"falcon-mamba-7b", 7272665088}, {"mamba-codestral-7b", 7285403648}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        catalogue_plan(rows[i].model, NULL, NULL, &arena, &plan);
        params_count(&plan.model, &p);
        assert_int_equal(p.parameters, rows[i].parameters);
        assert_int_equal(p.layers[KIND_LINEAR], 64);
        assert_int_equal(p.moe_layers, 0);
        arena_release(&arena);
    }
}

/* Keys and values 2 x 2 x 64 x 2 bytes of a token and layer; columns 1792 x 3 x 2 and a state
 * of 24 x 64 x 128 x 2. Of Falcon-Mamba 8192 x 3 x 2 and 8192 x 16 x 2, whatever the length. */
static void sequences_keep_both(void **state)
{
    (void)state;
    enum { KEYS = 512, STATE = 10752 + 393216, ALONE = 49152 + 262144 };
    struct arena arena = {0};
    struct plan plan;
    catalogue_plan("falcon-h1-0.5b", "h100-1x1", "vllm", &arena, &plan);
    assert_int_equal(cache_layer_bytes(&plan, MIXER_FULL, 1), KEYS);
    assert_int_equal(cache_layer_bytes(&plan, MIXER_LINEAR, 1), STATE);
    assert_int_equal(model_mixers(&plan.model, MIXER_FULL), 36);
    assert_int_equal(model_mixers(&plan.model, MIXER_LINEAR), 36);
    assert_int_equal(cache_sequence_bytes(&plan, 4096), 36 * (UINT64_C(4096) * KEYS + STATE));
    catalogue_plan("falcon-mamba-7b", "h100-1x1", "vllm", &arena, &plan);
    assert_int_equal(cache_sequence_bytes(&plan, 100), 64 * ALONE);
    assert_int_equal(cache_sequence_bytes(&plan, 100000), 64 * ALONE);
    arena_release(&arena);
}

static void trained(const char *stack, struct arena *arena, struct plan *plan)
{
    catalogue_plan("falcon-h1-0.5b", "h100-8x1", stack, arena, plan);
    plan->workload = (struct workload){.mode = MODE_TRAIN,
                                       .sequence_length = 4096,
                                       .micro_batch = 1,
                                       .tokens_per_sequence = 1,
                                       .steps = 1};
    plan->recompute = (struct recompute_plan){0};
    plan->stack.attention = BACKEND_FLASH;
}

/* As attention alone and the recurrence alone save, less what both read and stands once: the
 * layer's input and the norm's output, 2 bytes x 1024 each. */
static void training_saves_both(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    uint64_t saved[3];
    const enum layer_type types[] = {LAYER_BOTH, LAYER_FULL, LAYER_LINEAR};
    const enum layer_kind kinds[] = {KIND_BOTH_DENSE, KIND_DENSE, KIND_LINEAR_DENSE};
    trained("generic", &arena, &plan);
    for (unsigned i = 0; i < 3; i++) {
        plan.model.layer_types = (struct enum_list){1, {(uint8_t)types[i]}};
        saved[i] = listed_saved(&plan, kinds[i], NULL) / 4096;
    }
    /* zxBCdt 3352, the convolution's result 1792, scan output and gated 1536 each */
    assert_int_equal(saved[2], 2 * (2 * 1024 + 3352 + 1792 + 2 * 1536));
    /* q and o's input 512 each, k and v 128 each */
    assert_int_equal(saved[1], 2 * (2 * 1024 + 2 * 512 + 2 * 128));
    assert_int_equal(saved[0], saved[1] + saved[2] - 2 * 2 * 1024);
    arena_release(&arena);
}

static void some_stacks_refuse_both(void **state)
{
    (void)state;
    static const struct {
        const char *model, *stack, *what;
    } cases[] = {
        {"falcon-h1-0.5b", "megatron", "attention and recurrences side by side are"},
        {"falcon-h1-0.5b", "torchtitan", "attention and recurrences side by side are"},
        {"falcon-mamba-7b", "sglang", "recurrences without attention are"},
        {"mamba-codestral-7b", "trtllm", "recurrences without attention are"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        catalogue_plan(cases[i].model, "h100-8x1", cases[i].stack, &arena, &plan);
        assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, cases[i].what));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_are_counted),        cmocka_unit_test(mamba_alone_is_counted),
        cmocka_unit_test(sequences_keep_both),     cmocka_unit_test(training_saves_both),
        cmocka_unit_test(some_stacks_refuse_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
