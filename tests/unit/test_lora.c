/* Adapters beside frozen weights: parameters, states, what a layer still saves
 * (training-stacks.md 5). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "sim/predict.h"
#include "support/plans.h"
#include "work/stack/stack.h"

static const char base[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\n"
                           "parallel: {zero: 0}\nprecision: {weights: bf16}\n";

struct built {
    struct arena arena;
    struct plan plan;
    struct work work;
    const uint64_t *values;
};

static void build(struct built *b, const char *set)
{
    struct err err = {0};
    *b = (struct built){0};
    plan_set(base, set, &b->arena, &b->plan);
    if (work_build(&b->plan, &b->arena, &b->work, &err))
        fail_msg("%s: %s", set, err.text);
    b->values = plan_evaluate(&b->plan, &b->arena, &b->work);
}

static uint64_t state_bytes(const char *set)
{
    struct built b;
    uint64_t sum = 0;
    build(&b, set);
    for (size_t i = 0; i < b.work.n_buffers; i++)
        sum += b.work.buffers[i].state ? b.values[b.work.buffers[i].all.node] : 0;
    arena_release(&b.arena);
    return sum;
}

/* Bytes that a MoE layer saves under this name. */
static uint64_t saved(const char *set, const char *name)
{
    struct built b;
    uint64_t sum = 0;
    build(&b, set);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        bool here = buffer->segment == SEGMENT_MOE && buffer->life == LIFE_SAVED;
        sum += here && text_equal(buffer->name, name) ? b.values[buffer->bytes.node] : 0;
    }
    arena_release(&b.arena);
    return sum;
}

#define QV "lora.rank=8 lora.targets=[q_proj,v_proj] "

/* r = 8 on q and v: 3,342,336 parameters of 16 bytes beside 30,532,122,624 of 2. */
static void only_adapters_have_states(void **state)
{
    (void)state;
    const uint64_t adapters = 3342336, weights = 30532122624;
    assert_int_equal(state_bytes(QV), 2 * weights + 16 * adapters);
    assert_int_equal(state_bytes(QV "parallel.zero=3"),
                     2 * ((weights - 28991029248 + 7) / 8 + 28991029248 / 8) +
                         16 * adapters / 8);
    /* bf16 adapters with f32 gradients, master and moments, as Megatron keeps them */
    assert_int_equal(state_bytes(QV "lora.format=bf16 stack=megatron precision.master=f32"),
                     2 * weights + 18 * adapters);
}

/* NF4: 4 bits and an f32 per 64, or a byte per 64 and an f32 per 256 of these; tables and norms
 * in f32. */
static void a_quantised_base(void **state)
{
    (void)state;
    const uint64_t adapters = 3342336, weights = 30532122624;
    const uint64_t plain = 2 * UINT64_C(151936) * 2048 + 48 * (2 * 2048 + 2 * 128) + 2048;
    const uint64_t dense = weights - 28991029248 - plain, experts = 28991029248;
    assert_int_equal(state_bytes(QV "precision.weights=nf4"),
                     4 * plain + (dense + experts) / 2 + 4 * ((dense + experts) / 64) +
                         16 * adapters);
    uint64_t d = dense / 64, e = experts / 64;
    assert_int_equal(state_bytes(QV "precision.weights=nf4_double"),
                     4 * plain + (dense + experts) / 2 + d + e +
                         4 * ((d + 255) / 256 + (e + 255) / 256) + 16 * adapters);
}

/* A frozen product saves no input; an adapted one its input and T r. */
static void what_a_layer_saves(void **state)
{
    (void)state;
    const uint64_t rows = 4096, routed = 4096 * 8;
    assert_int_equal(saved("", "expert_input"), routed * 2048 * 2);
    assert_int_equal(saved(QV, "expert_input"), 0);
    assert_int_equal(saved(QV, "expert_product"), 0);
    assert_int_equal(saved(QV, "attention_norm_out"), rows * 2048 * 2);
    assert_int_equal(saved(QV, "lora_qkv"), rows * 16 * 2);
    assert_int_equal(saved("lora.rank=8 lora.targets=[o_proj]", "attention_norm_out"), 0);
    assert_int_equal(
        saved("lora.rank=8 lora.targets=[down_proj] moe.buffer=balanced", "expert_product"),
        routed * 768 * 2);
    /* the activation's own inputs stay */
    assert_int_equal(saved(QV, "expert_gate"), saved("", "expert_gate"));
}

static void wrong_targets_are_refused(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct work work;
    struct err err = {0};
    plan_set(base, "lora.rank=8 lora.targets=[q_prj]", &arena, &plan);
    assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_INPUT);
    assert_non_null(strstr(err.text, "no matrix is called 'q_prj'"));
    assert_non_null(strstr(err.hint, "q_proj"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_adapters_have_states),
        cmocka_unit_test(a_quantised_base),
        cmocka_unit_test(what_a_layer_saves),
        cmocka_unit_test(wrong_targets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
