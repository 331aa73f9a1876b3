/* GLM-5.3-Flash and Hy4: hyper-connections that end in a mean or do not mix, prediction modules
 * without them, keys of an indexer pooled over tokens, gates and sinks of latent attention. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/engine.h"
#include "plan/mixer.h"
#include "plan/params.h"
#include "sim/serve/serving.h"
#include "sim/serve/serving_cache.h"
#include "support/catalogue.h"
#include "support/listed.h"
#include "support/plans.h"
#include "work/list/shape.h"
#include "work/piece/cache.h"
#include "work/stack/stack.h"

static void load(const char *model, const char *cluster, const char *stack, uint64_t tp,
                 struct arena *arena, struct plan *plan)
{
    catalogue_plan(model, cluster, stack, arena, plan);
    plan->precision.kv_cache = DTYPE_BF16;
    plan->precision.activations = DTYPE_BF16;
    plan->workload.mode = MODE_DECODE;
    plan->parallel.tp = tp;
    plan->parallel.ep = 1;
    plan->parallel.etp = tp;
}

/* The published counts: 321B with module and encoder; 770B, and 10B of the module. */
static void models_have_the_published_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        bool modules;
        uint64_t parameters;
    } rows[] = {
        {"glm-5.3-flash", true, UINT64_C(321323031390)},
        {"hy4-preview", false, UINT64_C(769907408797)},
        {"hy4-preview", true, UINT64_C(779960992733)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params params;
        load(rows[i].model, "h200-8x1", "vllm", 8, &arena, &plan);
        plan.model.mtp_enabled = rows[i].modules;
        params_count(&plan.model, &params);
        print_message("%s\n", rows[i].model);
        assert_int_equal(params.parameters, rows[i].parameters);
        arena_release(&arena);
    }
}

/* Hy4-preview's checkpoint has 1,560.0 GB: 16 bits, and 32 of streams and of the router's
 * biases. */
static void a_checkpoint_is_as_large_as_published(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct params p;
    load("hy4-preview", "h200-8x1", "vllm", 8, &arena, &plan);
    plan.model.mtp_enabled = true;
    params_count(&plan.model, &p);
    uint64_t wide = 2 * 78 * params_part_total(p.streams) + params_part_total(p.streams_end) +
                    78 * p.router.biases;
    assert_int_equal(2 * p.parameters + 2 * wide, UINT64_C(1559983566836));
    arena_release(&arena);
}

/* 24 numbers of a token in GLM's, with three scales, and nothing behind; 8 in Hy4's, with two,
 * and 4 behind. */
static void streams_have_matrices_of_their_kind(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t site, end;
    } rows[] = {
        {"deepseek-v4-flash", 24 * 4 * 4096 + 24 + 3, 4 * 4 * 4096 + 5},
        {"glm-5.3-flash", 24 * 4 * 4096 + 24 + 3, 0},
        {"hy4-preview", 8 * 4 * 6144 + 8 + 2, 4 * 4 * 6144 + 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct params p;
        load(rows[i].model, "h200-8x1", "vllm", 8, &arena, &plan);
        params_count(&plan.model, &p);
        print_message("%s\n", rows[i].model);
        assert_int_equal(params_part_total(p.streams), rows[i].site);
        assert_int_equal(params_part_total(p.streams_end), rows[i].end);
        arena_release(&arena);
    }
}

/* The indexer's gate [128, 4096] and its bias by four places; a gate as wide as the heads and
 * a sink for each. */
static void attention_has_what_its_classes_have(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    bool overflow = false;
    load("glm-5.3-flash", "h200-8x1", "vllm", 8, &arena, &plan);
    struct params_part pooled = mixer_parameters(&plan.model, MIXER_FULL, &overflow);
    plan.model.indexer.pool = 1;
    struct params_part each = mixer_parameters(&plan.model, MIXER_FULL, &overflow);
    assert_int_equal(pooled.matrices - each.matrices, 128 * 4096);
    assert_int_equal(pooled.biases - each.biases, 4 * 128);
    load("hy4-preview", "h200-8x1", "vllm", 8, &arena, &plan);
    struct params_part own = mixer_parameters(&plan.model, MIXER_REUSE, &overflow);
    plan.model.attention.output_gate = plan.model.attention.sinks = false;
    struct params_part bare = mixer_parameters(&plan.model, MIXER_REUSE, &overflow);
    assert_int_equal(own.matrices - bare.matrices, 6144 * 64 * 256);
    assert_int_equal(own.biases - bare.biases, 64);
    arena_release(&arena);
}

/* 512 x 2 bytes of a token and its part of 132 of a pool in 11 layers; 64 heads of 128 x 128 in
 * f32 and three columns of the convolution in 34. */
static void sequences_keep_pools(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    load("glm-5.3-flash", "h200-8x1", "vllm", 1, &arena, &plan);
    assert_int_equal(cache_layer_bytes(&plan, MIXER_FULL, 32768), 32768 * (1024 + 33));
    assert_int_equal(cache_layer_bytes(&plan, MIXER_LINEAR, 32768), 4341760);
    assert_int_equal(cache_sequence_bytes(&plan, 32768),
                     UINT64_C(11) * 32768 * 1057 + UINT64_C(34) * 4341760);
    arena_release(&arena);
}

/* vLLM's blocks: 1,152 tokens on four GB200 (LMCache pull request 5042: 3,210 blocks), 640 on
 * eight MI350X (vLLM issue 54359); with the module 12 layers attend, and states go over three
 * groups in place of four (pegaflow pull request 457); an open pool is a block of its own. */
static void blocks_hold_a_state(void **state)
{
    (void)state;
    static const struct {
        const char *cluster;
        uint64_t tp, modules, tokens, layers, groups;
    } rows[] = {
        {"gb200-4x1", 4, 0, 1152, 11, 4},
        {"mi350x-8x1", 8, 0, 640, 11, 4},
        {"gb200-4x1", 4, 1, 1152, 12, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct slots slots;
        struct cache_groups groups;
        load("glm-5.3-flash", rows[i].cluster, "vllm", rows[i].tp, &arena, &plan);
        plan.model.mtp_enabled = rows[i].modules > 0;
        slots_from_plan(&plan, &slots);
        cache_groups_of(&plan, &slots, &groups);
        assert_int_equal(groups.block_tokens, rows[i].tokens);
        assert_int_equal(groups.layers, rows[i].layers);
        assert_int_equal(groups.groups[MIXER_LINEAR], rows[i].groups);
        assert_int_equal(groups.block_bytes, rows[i].layers * rows[i].tokens * (1024 + 33));
        /* a million tokens, an open pool, a state of each group */
        assert_int_equal(cache_groups_blocks(&plan, &groups, 1000000, 0),
                         (1000000 + rows[i].tokens - 1) / rows[i].tokens + 1 +
                             rows[i].groups * engine_state_copies(&plan));
        arena_release(&arena);
    }
}

/* Requests of 1,048,576 tokens of NVFP4 on two H200, three drafted by the module: 472 blocks,
 * of 8 bits 251 (vLLM issue 55221: 2,532,577 of 1,140 and 4,503,445 of 1,078, so that a token
 * in 8 bits has 512 bytes); on two MI350X, two drafted, 254 (pull request 53906: 14,535,575 of
 * 3,521). */
static void requests_take_the_published_blocks(void **state)
{
    (void)state;
    static const struct {
        const char *cluster;
        enum dtype cache;
        uint64_t drafted, tokens, blocks;
    } rows[] = {
        {"h200-8x1", DTYPE_BF16, 3, 2304, 472},
        {"h200-8x1", DTYPE_FP8, 3, 4480, 251},
        {"mi350x-8x1", DTYPE_FP8, 2, 4352, 254},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct slots slots;
        struct cache_groups groups;
        load("glm-5.3-flash", rows[i].cluster, "vllm", 2, &arena, &plan);
        plan.precision.kv_cache = rows[i].cache;
        plan.model.mtp_enabled = true;
        plan.memory.state_copies = 2; /* prefixes are cached */
        plan.workload.speculation =
            (struct speculation){.tokens = rows[i].drafted, .method = DRAFT_MTP};
        slots_from_plan(&plan, &slots);
        cache_groups_of(&plan, &slots, &groups);
        print_message("%s\n", rows[i].cluster);
        assert_int_equal(groups.block_tokens, rows[i].tokens);
        assert_int_equal(cache_groups_blocks(&plan, &groups, 1048576, 0), rows[i].blocks);
        arena_release(&arena);
    }
}

/* 40 rows of 132 bytes for each token of the longest sequence, 4.918 GiB of a million
 * (WorkspaceManager's log, with alignment: 5,036.40 MB), where the experts' are smaller. */
static void keys_are_gathered_in_room_of_their_own(void **state)
{
    (void)state;
    struct serving_report reports[2] = {{0}};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct err err = {0};
        load("glm-5.3-flash", "h200-8x1", "vllm", 8, &arena, &plan);
        plan.workload.context_length = i ? 1000000 : 100000;
        plan.workload.max_num_batched_tokens = 64; /* little beside it */
        if (serving_of(&plan, &arena, &reports[i], &err))
            fail_msg("%s", err.text);
        assert_true(reports[i].present);
        arena_release(&arena);
    }
    assert_int_equal(reports[1].activation_bytes - reports[0].activation_bytes,
                     40 * 132 * UINT64_C(900000));
}

/* FLOP of the forward op of that name of one layer, `rows` its rows; 0: there is none. */
static uint64_t flop_of(struct plan *plan, struct arena *arena, const char *name)
{
    struct work work;
    struct err err = {0};
    uint64_t flop = 0;
    if (work_build(plan, arena, &work, &err) || work_ops(plan, &work, &err))
        fail_msg("%s", err.text);
    uint64_t *values = listed_sizes(plan, &work);
    for (size_t i = 0; i < work.n_ops; i++)
        if (text_equal(work.ops[i].name, name))
            flop = values[work.ops[i].flop.node];
    return flop;
}

/* A token of a decode step scores a quarter of 8,192 keys by 32 heads of 128; what weighs the
 * streams before the head is a product where it is no mean, of 8 numbers a site in Hy4. */
static void steps_score_pools(void **state)
{
    (void)state;
    static const struct {
        const char *model, *op;
        uint64_t flop; /* of one token */
    } rows[] = {
        {"glm-5.3-flash", "index", UINT64_C(2) * 32 * 128 * 2048},
        {"glm-5.3-flash", "index_gate", UINT64_C(2) * 128 * 4096},
        {"glm-5.3-flash", "hyper_head", 0},
        {"glm-5.3-flash", "hyper_attention", UINT64_C(2) * 4 * 4096 * 24},
        {"hy4-preview", "index", UINT64_C(2) * 32 * 128 * 8192},
        {"hy4-preview", "index_gate", 0},
        {"hy4-preview", "hyper_head", UINT64_C(2) * 4 * 6144 * 4},
        {"hy4-preview", "hyper_attention", UINT64_C(2) * 4 * 6144 * 8},
        {"hy4-preview", "attention_gate", UINT64_C(2) * 6144 * 64 * 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        load(rows[i].model, "h200-8x1", "generic", 1, &arena, &plan);
        plan.workload.context_length = 8192;
        plan.workload.micro_batch = 3;
        print_message("%s %s\n", rows[i].model, rows[i].op);
        assert_int_equal(flop_of(&plan, &arena, rows[i].op), 3 * rows[i].flop);
        arena_release(&arena);
    }
}

/* In f32: two sites in each of 45 layers, whether the module is there or not, and none before
 * the head; 78 in Hy4 and one before it. */
static void engines_hold_streams_in_f32(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        uint64_t sites, site, end;
    } rows[] = {
        {"glm-5.3-flash", 90, 24 * 4 * 4096 + 27, 0},
        {"hy4-preview", 156, 8 * 4 * 6144 + 10, 4 * 4 * 6144 + 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        uint64_t held = 0, head = 0;
        load(rows[i].model, "h200-8x1", "vllm", 8, &arena, &plan);
        plan.model.mtp_enabled = true;
        if (work_build(&plan, &arena, &work, &err))
            fail_msg("%s", err.text);
        uint64_t *values = listed_sizes(&plan, &work);
        for (size_t b = 0; b < work.n_buffers; b++) {
            const struct buffer *buffer = &work.buffers[b];
            uint64_t bytes = values[buffer->bytes.node] * values[buffer->count.node];
            held += text_equal(buffer->name, "hyper_connection_weights") ? bytes : 0;
            head += text_equal(buffer->name, "hyper_connection_head") ? bytes : 0;
        }
        assert_int_equal(held, 4 * rows[i].sites * rows[i].site);
        assert_int_equal(head, 4 * rows[i].end);
        arena_release(&arena);
    }
}

/* Bytes that one layer of a kind saves of the plan's tokens. */
static uint64_t saved_of(const struct plan *plan, enum layer_kind kind, struct arena *arena)
{
    struct work work;
    struct err err = {0};
    uint64_t sum = 0;
    if (work_build(plan, arena, &work, &err))
        fail_msg("%s", err.text);
    uint64_t *values = listed_sizes(plan, &work);
    for (size_t i = 0; i < work.n_buffers; i++)
        if (work.buffers[i].segment == segment_of_kind(kind) &&
            work.buffers[i].life == LIFE_SAVED)
            sum += values[work.buffers[i].bytes.node];
    return sum;
}

/* Eager modules of transformers, of a token in a mixer, and in a network, beside what one
 * residual keeps: three more rows of the layer's input, 2 x 3 x 4096. Mixed: the cast of the
 * copies and its norm, 2 x 4 x 16384, 24 numbers and their sigmoids, one factor, 40 divisions
 * of 16 by 4 and 4 that read, 20 numbers and the result in 16 bits. Not mixed: the cast, 8
 * numbers four times (of the product, scaled, sigmoids, as they weigh), one factor, the result
 * in 32. */
static void eager_modules_keep_casts(void **state)
{
    (void)state;
    enum { H = 4096, N = 4 * H };
    static const struct {
        bool apart;
        uint64_t bytes;
    } rows[] = {
        {false, 6 * H + 2 * 4 * N + 4 * (24 + 24 + 1 + 40 * 20 + 4) + 2 * 20 + 2 * H},
        {true, 6 * H + 4 * N + 4 * (4 * 8 + 1) + 4 * H},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        catalogue_plan("glm-5.3-flash", "h200-8x8", "fsdp", &arena, &plan);
        plan.workload = (struct workload){.mode = MODE_TRAIN,
                                          .sequence_length = 4096,
                                          .micro_batch = 1,
                                          .tokens_per_sequence = 1,
                                          .steps = 1};
        plan.recompute = (struct recompute_plan){0};
        plan.model.residual_identity = rows[i].apart;
        uint64_t several = saved_of(&plan, KIND_LINEAR_MOE, &arena);
        plan.model.residual_streams = 1;
        uint64_t one = saved_of(&plan, KIND_LINEAR_MOE, &arena);
        assert_int_equal(several - one, 2 * 4096 * rows[i].bytes);
        arena_release(&arena);
    }
}

/* Megatron has DeepSeek-V4's streams alone. */
static void megatron_trains_neither(void **state)
{
    (void)state;
    static const char *const models[] = {"glm-5.3-flash", "hy4-preview"};
    for (size_t i = 0; i < 2; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct err err = {0};
        catalogue_plan(models[i], "h200-8x8", "megatron", &arena, &plan);
        plan.workload.mode = MODE_TRAIN;
        assert_int_equal(stack_mixes(&plan, &err), STATUS_INPUT);
        assert_non_null(strstr(err.text, "not modelled for stack megatron"));
        assert_non_null(strstr(err.hint, "6137"));
        arena_release(&arena);
    }
}

/* GLM-5.2, whose 21 layers of 78 choose: 78 x 576 + 21 x 132 bytes of a token in 8 bits on
 * SGLang (pull request 30531: 47,702 of the pool, 55,225 before it), on vLLM 78 x 656 + 21 x
 * 132. */
static void who_takes_a_choice_keeps_no_keys(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *stack;
        uint64_t token;
    } rows[] = {
        {"b200-8x1", "sglang", 47700},
        {"b200-8x1", "vllm", 47700},
        {"h200-8x1", "vllm", 53940},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct slots slots;
        struct cache_groups groups;
        load("glm-5.2", rows[i].cluster, rows[i].stack, 8, &arena, &plan);
        plan.precision.kv_cache = DTYPE_FP8;
        slots_from_plan(&plan, &slots);
        cache_groups_of(&plan, &slots, &groups);
        print_message("%s on %s\n", rows[i].stack, rows[i].cluster);
        assert_int_equal(groups.block_bytes, rows[i].token * groups.block_tokens);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_have_the_published_parameters),
        cmocka_unit_test(a_checkpoint_is_as_large_as_published),
        cmocka_unit_test(streams_have_matrices_of_their_kind),
        cmocka_unit_test(attention_has_what_its_classes_have),
        cmocka_unit_test(sequences_keep_pools),
        cmocka_unit_test(blocks_hold_a_state),
        cmocka_unit_test(requests_take_the_published_blocks),
        cmocka_unit_test(who_takes_a_choice_keeps_no_keys),
        cmocka_unit_test(keys_are_gathered_in_room_of_their_own),
        cmocka_unit_test(steps_score_pools),
        cmocka_unit_test(engines_hold_streams_in_f32),
        cmocka_unit_test(eager_modules_keep_casts),
        cmocka_unit_test(megatron_trains_neither),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
