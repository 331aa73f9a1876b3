/* Pipeline stages: layers and micro-batches in flight of every schedule, and what tensor
 * parallelism does not divide. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plan/derive.h"
#include "support/random_plan.h"
#include "work/list/shape.h"
#include "work/piece/stage.h"

static struct plan pipeline(uint64_t pp, uint64_t vpp, enum pipeline_schedule schedule)
{
    struct plan plan;
    plan_tiny(&plan);
    plan.cluster.nodes = 8;
    plan.model.layers = 32;
    plan.model.dense_layers = 3;
    plan.parallel.pp = pp;
    plan.parallel.vpp = vpp;
    plan.parallel.schedule = schedule;
    return plan;
}

static struct stage at(const struct plan *plan, uint64_t index, unsigned moment)
{
    struct params params;
    struct stage stage;
    params_count(&plan->model, &params);
    stage_at(plan, index, moment, &params, &stage);
    return stage;
}

/* 1F1B pp - i; GPipe all 16; zero-bubble pp; DualPipe pp + 1 over both chunks of a rank. */
static void flights_of_the_schedules(void **state)
{
    (void)state;
    static const struct {
        enum pipeline_schedule schedule;
        uint64_t copies[4]; /* layer copies alive on each of 4 stages of 8 layers */
    } rows[] = {
        {PIPELINE_1F1B, {32, 24, 16, 8}},
        {PIPELINE_GPIPE, {128, 128, 128, 128}},
        {PIPELINE_ZERO_BUBBLE, {32, 32, 32, 32}},
        {PIPELINE_DUALPIPE, {40, 40, 40, 40}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t s = 0; s < 4; s++) {
            struct plan plan = pipeline(4, 1, rows[i].schedule);
            plan.model.dense_layers = 0;
            struct stage stage = at(&plan, s, 0);
            print_message("schedule %zu stage %" PRIu64 "\n", i, s);
            assert_int_equal(stage.moe_layers * stage.in_flight[KIND_MOE],
                             1000 * rows[i].copies[s]);
        }
}

/* DualPipe holds two stages on each rank: every layer is stored twice. */
static void dualpipe_doubles_parameters(void **state)
{
    (void)state;
    uint64_t sum = 0;
    struct plan plan = pipeline(4, 1, PIPELINE_DUALPIPE);
    for (uint64_t s = 0; s < 4; s++) {
        struct stage stage = at(&plan, s, 0);
        sum += stage.dense_layers + stage.moe_layers;
        assert_int_equal(stage.embedding, s == 0 || s == 3);
        assert_int_equal(stage.head, s == 0 || s == 3);
    }
    assert_int_equal(sum, 2 * plan.model.layers);
}

/* Megatron's warm-up: 2 (pp - i - 1) + (vpp - 1) pp chunks, and one more in steady state. */
static void interleaved_keeps_its_warm_up_alive(void **state)
{
    (void)state;
    for (uint64_t s = 0; s < 4; s++) {
        struct plan plan = pipeline(4, 4, PIPELINE_INTERLEAVED);
        plan.model.dense_layers = 0;
        uint64_t chunks = 2 * (4 - s - 1) + 3 * 4 + 1;
        struct stage stage = at(&plan, s, 0);
        assert_int_equal(stage.moe_layers, 8);
        assert_int_equal(stage.moe_layers * stage.in_flight[KIND_MOE], 1000 * chunks * 2);
    }
}

/* Megatron's own example, "PP2 N3M5 with VP2" (schedules.py): micro-batches 0 1 2 0 1 2 3 4 3 4
 * through chunks 0 0 0 1 1 1 0 0 1 1; warm-ups of 2 (pp - i - 1) + (vpp - 1) N, 5 and 3, and
 * one more in steady state. Groups of two, its default, have 4 and 2. */
static void groups_of_micro_batches_warm_up(void **state)
{
    (void)state;
    static const struct {
        enum stack_kind stack;
        uint64_t group, micro_batches, copies[2]; /* of a chunk's 8 layers, on either stage */
    } rows[] = {
        {STACK_MEGATRON, 3, 5, {6, 4}},   {STACK_MEGATRON, 0, 6, {5, 3}},
        {STACK_MEGATRON, 6, 6, {9, 7}},   {STACK_TORCHTITAN, 0, 6, {5, 3}},
        {STACK_TORCHTITAN, 0, 3, {6, 4}}, /* one round of three */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint64_t s = 0; s < 2; s++) {
            struct plan plan = pipeline(2, 2, PIPELINE_INTERLEAVED);
            plan.stack.kind = rows[i].stack;
            plan.model.dense_layers = 0;
            plan.parallel.vpp_group = rows[i].group;
            plan.workload.global_batch = rows[i].micro_batches * plan.workload.micro_batch * 16;
            struct stage stage = at(&plan, s, 0);
            print_message("row %zu stage %" PRIu64 "\n", i, s);
            assert_int_equal(stage.moe_layers, 16);
            assert_int_equal(stage.moe_layers * stage.in_flight[KIND_MOE],
                             1000 * 8 * rows[i].copies[s]);
        }
}

/* No more micro-batches are alive than a step has. */
static void few_micro_batches_bound_the_flight(void **state)
{
    (void)state;
    struct plan plan = pipeline(4, 1, PIPELINE_1F1B);
    plan.workload.global_batch = 2 * plan.workload.micro_batch * 8; /* dp 8: two of them */
    plan.model.dense_layers = 0;
    assert_int_equal(at(&plan, 0, 0).in_flight[KIND_MOE], 2000);
}

/* Four a stage where the plan says nothing, in whole groups. */
static void pipelines_are_fed(void **state)
{
    (void)state;
    struct plan plan = pipeline(4, 2, PIPELINE_INTERLEAVED);
    assert_int_equal(plan_micro_batches(&plan), 16);
    plan.stack.kind = STACK_MEGATRON;
    plan.parallel.vpp_group = 5;
    assert_int_equal(plan_micro_batches(&plan), 20);
    plan.workload.mode = MODE_DECODE;
    assert_int_equal(plan_micro_batches(&plan), 1);
    plan = pipeline(1, 1, PIPELINE_1F1B);
    assert_int_equal(plan_micro_batches(&plan), 1);
}

/* Chunks of an explicit layout: the last rank of DeepSeek-V3's proxy runs layers 6, 7 and 13
 * with the prediction module, and one moment holds the head while another holds more layers. */
static void explicit_chunks_and_moments(void **state)
{
    (void)state;
    struct plan plan = pipeline(4, 2, PIPELINE_INTERLEAVED);
    plan.model.layers = 14;
    plan.model.mtp_layers = 1;
    plan.model.mtp_enabled = true;
    plan.parallel.stages = (struct number_list){8, {2, 2, 2, 2, 2, 2, 1, 1}};
    struct stage stage = at(&plan, 3, 0);
    assert_int_equal(stage.dense_layers, 0);
    assert_int_equal(stage.moe_layers, 4);
    assert_int_equal(stage.mtp_layers, 1);
    assert_true(stage.head);
    bool with_head = false;
    for (unsigned moment = 0; moment < stage.moments; moment++) {
        stage = at(&plan, 3, moment);
        if (stage.head_in_flight != 1000)
            continue;
        with_head = true; /* 4 micro-batches of two layers, one of the last and the module */
        assert_int_equal(stage.moe_layers * stage.in_flight[KIND_MOE], 10000);
    }
    assert_true(with_head);
}

/* Uneven stages: what the layers of a stage hold is its own, and they add up to the model. */
static void uneven_stages_add_up(void **state)
{
    (void)state;
    struct plan plan = pipeline(4, 1, PIPELINE_1F1B);
    plan.parallel.stages = (struct number_list){4, {5, 9, 10, 8}};
    struct params params;
    params_count(&plan.model, &params);
    uint64_t dense = 0, layers = 0;
    for (uint64_t s = 0; s < 4; s++) {
        struct stage stage = at(&plan, s, 0);
        layers += stage.dense_layers + stage.moe_layers;
        assert_int_equal(stage.dense_layers + stage.moe_layers, plan.parallel.stages.value[s]);
        dense += stage.dense_parameters;
    }
    assert_int_equal(layers, 32);
    assert_int_equal(dense, params.parameters - params.routed);
}

/* The router and MLA's down projections are whole on every tensor-parallel rank. */
static void some_matrices_are_replicated(void **state)
{
    (void)state;
    struct plan plan = pipeline(1, 1, PIPELINE_1F1B);
    plan.model.attention = (struct attention){.kind = ATTENTION_MLA,
                                              .heads = 8,
                                              .kv_heads = 8,
                                              .q_lora_rank = 32,
                                              .kv_lora_rank = 16,
                                              .qk_nope_head_dim = 8,
                                              .qk_rope_head_dim = 4,
                                              .v_head_dim = 8};
    uint64_t one = at(&plan, 0, 0).dense_parameters;
    plan.parallel.tp = 2;
    uint64_t two = at(&plan, 0, 0).dense_parameters;
    const struct model *m = &plan.model;
    struct params params;
    params_count(m, &params);
    uint64_t vectors = params.parameters - params.matrices;
    uint64_t whole = 32 * m->hidden * (32 + 16 + 4) + 29 * m->moe.experts * m->hidden + vectors;
    assert_int_equal(2 * two, one + whole);
}

/* What ops are counted with is the whole stage: every slot that one sets is taken over. */
static void a_stage_is_taken_over_whole(void **state)
{
    (void)state;
    struct plan plan = pipeline(4, 1, PIPELINE_1F1B);
    struct slots stage = {0}, other = {0};
    params_count(&plan.model, &stage.params);
    for (unsigned i = 0; i < SLOT_COUNT; i++)
        stage.value[i] = other.value[i] = 1000000007; /* no stage has as many of anything */
    slots_set_stage(&plan, 3, 0, &stage);
    slots_keep_stage(&stage, &other);
    assert_memory_equal(stage.value, other.value, sizeof stage.value);
}

/* Megatron-LM's vocabulary of GPT-2, 50,257: a multiple of 128 x tp (arguments of
 * calculate_padded_vocab_size); rows that fill it are weights of embedding and head. */
static void the_vocabulary_is_filled_up(void **state)
{
    (void)state;
    static const struct {
        uint64_t multiple, tp, rows;
    } cases[] = {{1, 2, 50257},   {128, 1, 50304},   {128, 2, 50432},
                 {128, 8, 51200}, {3232, 2, 51712},  {128, 3, 50304},
                 {64, 1, 50304},  {50257, 1, 50257}, {100000, 1, 100000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        plan_tiny(&plan);
        plan.model.vocab = 50257;
        plan.model.tied_embeddings = false;
        plan.parallel.tp = cases[i].tp;
        plan.stack.vocab_multiple = cases[i].multiple;
        struct params held, params;
        params_held(&plan, &held);
        params_count(&plan.model, &params);
        assert_int_equal(plan_vocabulary(&plan), cases[i].rows);
        assert_int_equal(held.parameters - params.parameters,
                         2 * (cases[i].rows - 50257) * plan.model.hidden);
        struct slots slots;
        slots_from_plan(&plan, &slots);
        assert_int_equal(slots.params.embedding, cases[i].rows * plan.model.hidden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flights_of_the_schedules),
        cmocka_unit_test(the_vocabulary_is_filled_up),
        cmocka_unit_test(dualpipe_doubles_parameters),
        cmocka_unit_test(interleaved_keeps_its_warm_up_alive),
        cmocka_unit_test(groups_of_micro_batches_warm_up),
        cmocka_unit_test(few_micro_batches_bound_the_flight),
        cmocka_unit_test(pipelines_are_fed),
        cmocka_unit_test(explicit_chunks_and_moments),
        cmocka_unit_test(uneven_stages_add_up),
        cmocka_unit_test(some_matrices_are_replicated),
        cmocka_unit_test(a_stage_is_taken_over_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
