/* Window layers with heads of their own: the shared page's numbers of MiMo-V2-Flash, Step-3.7
 * and Gemma 4 (layer-kinds.md 1.1 and 3), and limits in which the keys must change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/layers.h"
#include "plan/rule/rule.h"
#include "sim/serve/serving_cache.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "support/plans.h"
#include "plan/mixer.h"
#include "work/list/shape.h"
#include "work/list/work.h"
#include "work/piece/cache.h"

static void load(const char *model, const char *cluster, const char *stack, struct arena *arena,
                 struct plan *plan)
{
    catalogue_plan(model, cluster, stack, arena, plan);
    plan->precision.kv_cache = plan->precision.activations = DTYPE_BF16;
}

/* ---- parameters ---- */

/* q, k, v and o by hand, with gate, norms and sinks. */
static void heads_have_their_parameters(void **state)
{
    (void)state;
    enum { H = 4096, G = 2816 };
    static const struct {
        const char *model;
        uint64_t full, window;
    } rows[] = {
        {"mimo-v2-flash", H * (64 * 192 + 4 * (192 + 128) + 64 * 128),
         H * (64 * 192 + 8 * (192 + 128) + 64 * 128) + 64},
        {"step-3.7-flash", H * (2 * 64 * 128 + 2 * 8 * 128 + 64) + 2 * 128,
         H * (2 * 96 * 128 + 2 * 8 * 128 + 96) + 2 * 128},
        {"gemma-4-26b-a4b", G * (2 * 16 * 512 + 2 * 512) + 2 * 512,
         G * (2 * 16 * 256 + 2 * 8 * 256) + 2 * 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        bool overflow = false;
        load(rows[i].model, NULL, NULL, &arena, &plan);
        print_message("%s\n", rows[i].model);
        assert_int_equal(
            params_part_total(mixer_parameters(&plan.model, MIXER_FULL, &overflow)),
            rows[i].full);
        assert_int_equal(
            params_part_total(mixer_parameters(&plan.model, MIXER_WINDOW, &overflow)),
            rows[i].window);
        arena_release(&arena);
    }
}

/* 4 nq d x mean context becomes 2 nq (d + dv): of twice it, MiMo's window of 128 in 4,096
 * tokens reaches 2 x 128 - 4. */
static void cores_have_their_flops(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("mimo-v2-flash", NULL, NULL, &arena, &plan);
    assert_int_equal(mixer_flop(&plan.model, MIXER_FULL, 4096, &overflow), 64 * 320 * 4096);
    assert_int_equal(mixer_flop(&plan.model, MIXER_WINDOW, 4096, &overflow), 64 * 320 * 252);
    load("step-3.7-flash", NULL, NULL, &arena, &plan);
    assert_int_equal(mixer_flop(&plan.model, MIXER_FULL, 4096, &overflow), 64 * 256 * 4096);
    assert_int_equal(mixer_flop(&plan.model, MIXER_WINDOW, 4096, &overflow),
                     96 * 256 * (1024 - 64));
    arena_release(&arena);
}

/* ---- what a sequence keeps ---- */

/* nk (dk + dv) b of a token; min(n, W) tokens in window layers. */
static void sequences_keep_their_heads(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t token, window, sequence; /* of a full layer, a window layer, all at 32,768 */
    } rows[] = {
        {"mimo-v2-flash", 4 * (192 + 128) * 2, 128 * 8 * (192 + 128) * 2, 780533760},
        {"step-3.7-flash", 2 * 8 * 128 * 2, 512 * 2 * 8 * 128 * 2, 1679818752},
        {"gemma-4-26b-a4b", 2 * 2 * 512 * 2, 1024 * 2 * 8 * 256 * 2, 880803840},
        {"gemma-4-31b", 2 * 4 * 512 * 2, 1024 * 2 * 16 * 256 * 2, 3523215360},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        load(rows[i].model, NULL, NULL, &arena, &plan);
        print_message("%s\n", rows[i].model);
        assert_int_equal(cache_layer_bytes(&plan, MIXER_FULL, 1), rows[i].token);
        assert_int_equal(cache_layer_bytes(&plan, MIXER_WINDOW, 32768), rows[i].window);
        assert_int_equal(cache_sequence_bytes(&plan, 32768), rows[i].sequence);
        plan.parallel.tp = 4; /* repeats a head where there are fewer */
        uint64_t heads = model_attention(&plan.model, MIXER_FULL).kv_heads;
        uint64_t parts = heads < 4 ? heads : 4;
        assert_int_equal(cache_layer_bytes(&plan, MIXER_FULL, 1), rows[i].token / parts);
        arena_release(&arena);
    }
}

/* ---- lists ---- */

struct sums {
    uint64_t saved, weights, all, cache;
};

static bool sum_up(const struct plan *plan, enum layer_kind kind, struct sums *sums)
{
    struct arena arena = {0};
    struct work work;
    struct err err = {0};
    bool built = work_build(plan, &arena, &work, &err) == STATUS_OK, mixer = true;
    *sums = (struct sums){0};
    if (!built)
        print_message("%s\n", err.text);
    uint64_t *values = built ? listed_sizes(plan, &work) : NULL;
    for (size_t i = 0; built && i < work.n_buffers; i++) {
        const struct buffer *b = &work.buffers[i];
        uint64_t bytes = values[b->all.node];
        mixer = mixer && !text_equal(b->name, "mlp_input"); /* of a network's from here on */
        sums->saved +=
            mixer && b->segment == segment_of_kind(kind) && b->life == LIFE_SAVED ? bytes : 0;
        sums->weights += b->category == CATEGORY_WEIGHTS ? bytes : 0;
        sums->cache += b->category == CATEGORY_KV_CACHE ? bytes : 0;
        sums->all += bytes;
    }
    arena_release(&arena);
    return built;
}

/* b [2 H + (nq + nk) (d + dv)] + 4 nq + 4 a token, the norm's statistics aside; norms of
 * queries and keys keep what the projections give, a gate per head b (nq + nq dv). */
static void training_saves_their_heads(void **state)
{
    (void)state;
    enum { H = 2 * 4096, G = 2 * 2816 };
    static const struct {
        const char *model;
        enum layer_kind kind;
        uint64_t bytes;
    } rows[] = {
        {"mimo-v2-flash", KIND_MOE, 2 * (H + (64 + 4) * 320) + 4 * 64},
        {"mimo-v2-flash", KIND_WINDOW_MOE, 2 * (H + (64 + 8) * 320) + 4 * 64},
        {"step-3.7-flash", KIND_MOE,
         2 * (H + (64 + 8) * 256 + (64 + 16) * 128 + 64 + 64 * 128) + 4 * 64},
        {"step-3.7-flash", KIND_WINDOW_MOE,
         2 * (H + (96 + 8) * 256 + (96 + 16) * 128 + 96 + 96 * 128) + 4 * 96},
        {"gemma-4-26b-a4b", KIND_MOE, 2 * (G + (16 + 2) * 1024 + (16 + 2) * 512) + 4 * 16},
        {"gemma-4-26b-a4b", KIND_WINDOW_MOE,
         2 * (G + (16 + 8) * 512 + (16 + 16) * 256) + 4 * 16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct sums sums;
        load(rows[i].model, "h100-8x8", "megatron", &arena, &plan);
        plan_trains(&plan);
        print_message("%s, %s\n", rows[i].model, kind_name(rows[i].kind));
        assert_true(sum_up(&plan, rows[i].kind, &sums));
        assert_int_equal(sums.saved / 4096, rows[i].bytes);
        arena_release(&arena);
    }
}

/* Scores in 16 bits of every head against every token, where attention keeps them: those of
 * window layers have their heads. */
static void unfused_scores_have_their_heads(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct sums flash, unfused;
    const enum layer_kind kinds[] = {KIND_MOE, KIND_WINDOW_MOE};
    const uint64_t heads[] = {64, 96};
    load("step-3.7-flash", "h100-8x8", "megatron", &arena, &plan);
    plan_trains(&plan);
    for (unsigned i = 0; i < 2; i++) {
        plan.stack.attention = BACKEND_FLASH;
        assert_true(sum_up(&plan, kinds[i], &flash));
        plan.stack.attention = BACKEND_UNFUSED;
        assert_true(sum_up(&plan, kinds[i], &unfused));
        assert_int_equal(unfused.saved - flash.saved,
                         heads[i] * 4096 * (2 * 4096 - 4)); /* statistics have gone */
    }
    arena_release(&arena);
}

/* ---- limits ---- */

static const struct {
    const char *stack, *cluster;
    enum mode mode;
} stacks[] = {
    {"megatron", "h100-8x1", MODE_TRAIN}, {"torchtitan", "h100-8x1", MODE_TRAIN},
    {"fsdp", "h100-8x1", MODE_TRAIN},     {"deepspeed", "h100-8x1", MODE_TRAIN},
    {"maxtext", "h100-8x1", MODE_TRAIN},  {"generic", "h100-8x1", MODE_TRAIN},
    {"generic", "h100-8x1", MODE_DECODE}, {"vllm", "h100-8x1", MODE_DECODE},
    {"vllm", "h100-8x1", MODE_PREFILL},   {"sglang", "h100-8x1", MODE_DECODE},
    {"trtllm", "h100-8x1", MODE_DECODE},
};

/* gpt-oss on one of them. */
static void load_stack(size_t i, struct arena *arena, struct plan *plan)
{
    load("gpt-oss-20b", stacks[i].cluster, stacks[i].stack, arena, plan);
    if (stacks[i].mode == MODE_TRAIN)
        plan_trains(plan);
    else
        plan->workload.mode = stacks[i].mode;
}

/* A model whose layers all have windows is one of heads 16, 4 of 96 with values of 64 and
 * sinks, by the model's own keys or by those of window layers. */
static void own_heads_of_all_layers_are_the_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct arena arena = {0};
        struct plan plan, own;
        struct sums a, b;
        load_stack(i, &arena, &plan);
        plan.model.layer_types = (struct enum_list){1, {LAYER_WINDOW}};
        plan.model.attention.head_gate = true;
        own = plan;
        struct attention *all = &plan.model.attention, *others = &own.model.attention;
        all->heads = own.model.window.heads = 16;
        all->kv_heads = own.model.window.kv_heads = 4;
        all->head_dim = own.model.window.head_dim = 96;
        all->v_head_dim = own.model.window.v_head_dim = 64;
        all->sinks = own.model.window.sinks = true;
        *others = (struct attention){.kind = ATTENTION_GQA,
                                     .heads = 24,
                                     .kv_heads = 8,
                                     .head_dim = 32,
                                     .bias = all->bias,
                                     .output_bias = all->output_bias,
                                     .head_gate = true,
                                     .window = all->window};
        print_message("%s\n", stacks[i].stack);
        assert_true(sum_up(&plan, KIND_WINDOW_MOE, &a));
        assert_true(sum_up(&own, KIND_WINDOW_MOE, &b));
        assert_true(a.all > 0);
        assert_int_equal(a.saved, b.saved);
        assert_int_equal(a.weights, b.weights);
        assert_int_equal(a.cache, b.cache);
        assert_int_equal(a.all, b.all);
        struct params p, q;
        params_count(&plan.model, &p);
        params_count(&own.model, &q);
        assert_int_equal(p.parameters, q.parameters);
        assert_int_equal(params_attention_flop(&plan.model, 4096),
                         params_attention_flop(&own.model, 4096));
        arena_release(&arena);
    }
}

/* Said of window layers as of all, the keys change nothing at all. */
static void the_same_heads_change_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        struct arena arena = {0};
        struct plan plan, own;
        struct sums a, b;
        load_stack(i, &arena, &plan);
        own = plan;
        own.model.window = (struct window){64, 8, 64, 64, true};
        own.model.attention.v_head_dim = 64;
        assert_false(plan_has_own_window(&own));
        assert_true(sum_up(&plan, KIND_WINDOW_MOE, &a));
        assert_true(sum_up(&own, KIND_WINDOW_MOE, &b));
        assert_memory_equal(&a, &b, sizeof a);
        arena_release(&arena);
    }
}

/* ---- an engine ---- */

/* Every parameter of a 16-bit model stands once, in 2 bytes. */
static void an_engine_holds_every_parameter(void **state)
{
    (void)state;
    static const char *const models[] = {"step-3.7-flash", "gemma-4-26b-a4b", "gemma-4-31b",
                                         "mimo-v2-flash"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params params;
        struct sums sums;
        catalogue_plan(models[i], "h200-1x1", "vllm", &arena, &plan);
        plan.precision.weights = DTYPE_BF16;
        print_message("%s\n", models[i]);
        assert_true(sum_up(&plan, KIND_MOE, &sums));
        params_count(&plan.model, &params);
        assert_int_equal(sums.weights, 2 * params.parameters);
        arena_release(&arena);
    }
}

/* Pages of vLLM's blocks are one size: MiMo's full layers, whose tokens are half as large, hold
 * 32 where window layers hold 16; 5 groups of 9 layers. Of Step's all are alike. */
static void pages_are_one_size(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct slots slots;
    struct cache_groups groups;
    load("mimo-v2-flash", "h200-8x1", "vllm", &arena, &plan);
    plan.parallel.tp = 1;
    slots_from_plan(&plan, &slots);
    cache_groups_of(&plan, &slots, &groups);
    assert_int_equal(groups.block_tokens, 16);
    assert_int_equal(groups.layers, 9);
    assert_int_equal(groups.groups[MIXER_FULL], 1);
    assert_int_equal(groups.groups[MIXER_WINDOW], 5);
    assert_int_equal(groups.times[MIXER_FULL], 2);
    assert_int_equal(groups.times[MIXER_WINDOW], 1);
    assert_int_equal(groups.block_bytes, 9 * 16 * 8 * 320 * 2);
    /* 3,200 tokens: 100 blocks of the full group, ceil((127 + 8192 or all) / 16) + 1 of others
     */
    assert_int_equal(cache_groups_blocks(&plan, &groups, 3200, 0), 100 + 5 * (8 + 1));
    plan.memory.window_ratio = 1; /* the hybrid allocator off: all layers keep all */
    cache_groups_of(&plan, &slots, &groups);
    assert_int_equal(groups.block_bytes, 16 * 2 * 320 * (9 * 4 + 39 * 8));
    load("mimo-v2-flash", "h200-8x1", "sglang", &arena, &plan);
    plan.parallel.tp = 1;
    slots_from_plan(&plan, &slots); /* of window layers 0.8 of the tokens */
    cache_groups_of(&plan, &slots, &groups);
    assert_int_equal(groups.block_bytes,
                     groups.block_tokens * 2 * 320 * (9 * 40 + 39 * 64) / 10);
    load("step-3.7-flash", "h200-8x1", "vllm", &arena, &plan);
    slots_from_plan(&plan, &slots);
    cache_groups_of(&plan, &slots, &groups);
    assert_int_equal(groups.times[MIXER_FULL], 1);
    assert_int_equal(groups.times[MIXER_WINDOW], 1);
    arena_release(&arena);
}

/* ---- rules ---- */

static void expect_broken(const struct plan *plan, const char *key, const char *said)
{
    char text[RULE_TEXT], hint[RULE_TEXT];
    const struct rule *rule = rule_check(plan, text, hint);
    assert_non_null(rule);
    assert_string_equal(rule->key, key);
    assert_non_null(strstr(text, said));
}

static void splits_are_checked_for_both(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan, other;
    load("step-3.7-flash", "h100-8x8", "megatron", &arena, &plan);
    other = plan;
    other.model.window.heads = 100;
    expect_broken(&other, "model.window.kv_heads", "100");
    other = plan;
    other.model.window.heads = 8;
    other.parallel.tp = 16;
    expect_broken(&other, "parallel.tp", "window layers");
    other = plan;
    other.model.attention.output_gate = true;
    expect_broken(&other, "model.attention.head_gate", "one gate");
    load("gemma-4-26b-a4b", "h100-8x8", "megatron", &arena, &plan);
    plan.model.attention.v_head_dim = 256;
    expect_broken(&plan, "model.attention.v_head_dim", "head_dim 512");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_have_their_parameters),
        cmocka_unit_test(cores_have_their_flops),
        cmocka_unit_test(sequences_keep_their_heads),
        cmocka_unit_test(training_saves_their_heads),
        cmocka_unit_test(unfused_scores_have_their_heads),
        cmocka_unit_test(own_heads_of_all_layers_are_the_models),
        cmocka_unit_test(the_same_heads_change_nothing),
        cmocka_unit_test(an_engine_holds_every_parameter),
        cmocka_unit_test(pages_are_one_size),
        cmocka_unit_test(splits_are_checked_for_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
