/* The encoder of a multimodal model: published parameter counts, what training stacks and
 * engines hold of it, and vision_config. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/engine.h"
#include "plan/hf/import_hf.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "plan/params.h"
#include "work/stack/stack.h"

static const char base[] =
    "model: qwen3-vl-30b-a3b\ncluster: h100-8x1\nstack: megatron\n"
    "workload: {sequence_length: 4096, encoder: {patches: 4096, item: 1024}}\n"
    "parallel: {ep: 8, zero: 1}\nmoe: {buffer: balanced}\n";

/* Of one layer: 15,239,504; patches 1536 x 1152 + 1152, 2,304 positions; four mergers. */
enum { LAYERS = 27 * 15239504, EMBEDDING = 4424832, PROJECTOR = 122739968, HIDDEN = 1152 };
enum { ALL = LAYERS + EMBEDDING + PROJECTOR };

static uint64_t parameters(const char *set)
{
    struct arena arena = {0};
    struct plan plan;
    struct params params;
    plan_set(base, set, &arena, &plan);
    params_count(&plan.model, &params);
    arena_release(&arena);
    return params.parameters;
}

/* Of the published checkpoints: Qwen3-VL-30B-A3B and -235B-A22B, to the last one. */
static void published_models_have_their_parameters(void **state)
{
    (void)state;
    assert_int_equal(parameters(""), UINT64_C(31070754032));
    assert_int_equal(parameters("model=qwen3-vl-235b-a22b"), UINT64_C(235670022896));
    assert_int_equal(parameters("model.encoder.layers=0"), UINT64_C(30532122624));
}

/* ---- vision_config ---- */

static uint64_t imported(const char *text, struct model *model, struct text *notes)
{
    struct err err = {0};
    struct node *root = NULL;
    struct params params;
    if (source_read_text("config.json", text, strlen(text), notes->arena, &root, &err) ||
        import_hf_model(root, model, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    import_hf_notes(root, model, notes);
    params_count(model, &params);
    return params.parameters;
}

#define QWEN                                                                                   \
    "\"model_type\": \"qwen2_5_vl\", \"num_hidden_layers\": 28, \"hidden_size\": 3584, "       \
    "\"vocab_size\": 152064, \"num_attention_heads\": 28, \"num_key_value_heads\": 4, "        \
    "\"intermediate_size\": 18944, \"tie_word_embeddings\": false"
#define SCOUT                                                                                  \
    "\"text_config\": {\"model_type\": \"llama4_text\", \"num_hidden_layers\": 48, "           \
    "\"hidden_size\": 5120, \"vocab_size\": 202048, \"num_attention_heads\": 40, "             \
    "\"num_key_value_heads\": 8, \"head_dim\": 128, \"intermediate_size\": 8192, "             \
    "\"intermediate_size_mlp\": 16384, \"num_local_experts\": 16, "                            \
    "\"num_experts_per_tok\": 1, \"interleave_moe_layer_step\": 1}, "                          \
    "\"tie_word_embeddings\": false"

/* Published: Qwen2.5-VL-7B 8,292,166,656; Llama-4-Scout 108,641,793,536. */
static void configurations_give_the_published_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        uint64_t parameters, outputs;
        bool noted;
    } cases[] = {
        {"{" QWEN
         ", \"vision_config\": {\"depth\": 32, \"hidden_size\": 1280, \"num_heads\": 16, "
         "\"intermediate_size\": 3420, \"out_hidden_size\": 3584, \"in_chans\": 3, "
         "\"patch_size\": 14}}",
         UINT64_C(8292166656), 1, false},
        {"{" SCOUT ", \"vision_config\": {\"model_type\": \"llama4_vision_model\", "
         "\"hidden_size\": 1408, \"num_hidden_layers\": 34, \"num_attention_heads\": 16, "
         "\"intermediate_size\": 5632, \"image_size\": 336, \"patch_size\": 14}}",
         UINT64_C(108641793536), 1, false},
        {"{" SCOUT ", \"vision_config\": {\"model_type\": \"llama4_vision_model\", "
         "\"hidden_size\": 1408}}",
         UINT64_C(107769861120), 1, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct text notes = {.arena = &arena};
        struct model model = {0};
        assert_int_equal(imported(cases[i].config, &model, &notes), cases[i].parameters);
        assert_int_equal(model.encoder.outputs, cases[i].outputs);
        assert_int_equal(strstr(text_string(&notes), "vision_config") != NULL, cases[i].noted);
        arena_release(&arena);
    }
}

/* Qwen3-VL's own configuration is the shipped model's encoder. */
static void deepstack_is_read(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct text notes = {.arena = &arena};
    struct model model = {0};
    struct plan plan;
    imported("{\"model_type\": \"qwen3_vl_moe\", \"text_config\": {\"model_type\": "
             "\"qwen3_vl_moe_text\", \"num_hidden_layers\": 48, \"hidden_size\": 2048, "
             "\"vocab_size\": 151936, \"num_attention_heads\": 32, \"num_key_value_heads\": 4, "
             "\"head_dim\": 128, \"num_experts\": 128, \"num_experts_per_tok\": 8, "
             "\"moe_intermediate_size\": 768, \"intermediate_size\": 6144}, "
             "\"tie_word_embeddings\": false, \"vision_config\": {\"depth\": 27, "
             "\"hidden_size\": 1152, \"num_heads\": 16, \"intermediate_size\": 4304, "
             "\"deepstack_visual_indexes\": [8, 16, 24], \"out_hidden_size\": 2048, "
             "\"patch_size\": 16}}",
             &model, &notes);
    plan_set(base, "", &arena, &plan);
    assert_memory_equal(&model.encoder, &plan.model.encoder, sizeof model.encoder);
    assert_string_equal(text_string(&notes), "");
    arena_release(&arena);
}

/* ---- what a rank holds ---- */

/* Bytes of the buffers of a stage (from 0) whose name begins so and that live so; saved ones
 * over all micro-batches in flight. */
static uint64_t held(const char *set, const char *name, enum life life, uint64_t stage)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    struct slots slots;
    uint64_t bytes = 0;
    plan_set(base, set, &arena, &plan);
    if (work_build(&plan, &arena, &work, &err))
        fail_msg("%s: %s", set, err.text);
    slots_from_plan(&plan, &slots);
    slots_set_stage(&plan, stage, 0, &slots);
    uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values);
    assert_true(sizes_eval(&work.sizes, &slots, values));
    for (size_t i = 0; i < work.n_buffers; i++) {
        const struct buffer *buffer = &work.buffers[i];
        if (!text_starts(buffer->name, name) || buffer->life != life)
            continue;
        const struct segment_use *use = &work.use[buffer->segment];
        uint64_t copies = life == LIFE_SAVED
                              ? values[use->repeat.node] * values[use->in_flight.node] / 1000
                              : 1;
        bytes += values[buffer->all.node] * copies;
    }
    arena_release(&arena);
    return bytes;
}

/* bf16 weights, f32 gradients, master and moments of 1/8: training-stacks.md 1. */
static void what_is_trained_has_states(void **state)
{
    (void)state;
#define TEXT "model.encoder.layers=0 "
#define STATE(set, name) held(set, name, LIFE_PERSISTENT, 0)
    uint64_t trained[] = {ALL, PROJECTOR, 0};
    const char *const sets[] = {"", "workload.encoder.train=projector",
                                "workload.encoder.train=none"};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(STATE(sets[i], "weights") - STATE(TEXT, "weights"), 2 * trained[i]);
        assert_int_equal(STATE(sets[i], "gradients") - STATE(TEXT, "gradients"),
                         4 * trained[i]);
        assert_int_equal(STATE(sets[i], "master") - STATE(TEXT, "master"), trained[i] / 2);
        assert_int_equal(STATE(sets[i], "adam") - STATE(TEXT, "adam"), trained[i]);
        assert_int_equal(STATE(sets[i], "encoder_weights"), 2 * (ALL - trained[i]));
    }
}

/* Per patch and layer with TransformerEngine, in bf16: the inputs and outputs of two norms, q,
 * k and v, attention's output, the network's product and its activation; statistics of norms
 * and heads. */
static void layers_save_what_their_backward_reads(void **state)
{
    (void)state;
    uint64_t row = 2 * (4 * HIDDEN + 3 * HIDDEN + HIDDEN + 2 * 4304) + 4 * (4 + 16);
    assert_int_equal(held("", "encoder_", LIFE_SAVED, 0), 27 * 4096 * row);
    assert_int_equal(held("workload.micro_batch=2", "encoder_", LIFE_SAVED, 0),
                     2 * 27 * 4096 * row);
    assert_int_equal(held("recompute=full", "encoder_", LIFE_SAVED, 0),
                     UINT64_C(27) * 4096 * 2 * HIDDEN);
    assert_int_equal(held("recompute.encoder=full", "encoder_", LIFE_SAVED, 0),
                     UINT64_C(27) * 4096 * 2 * HIDDEN);
    assert_int_equal(held("recompute=full recompute.encoder=none", "encoder_", LIFE_SAVED, 0),
                     27 * 4096 * row);
    assert_int_equal(held("workload.encoder.train=projector", "encoder_", LIFE_SAVED, 0), 0);
    assert_int_equal(held("workload.encoder.patches=0", "encoder_", LIFE_SAVED, 0), 0);
    /* tensor parallelism leaves norms whole */
    uint64_t half = 2 * (4 * HIDDEN + 2 * HIDDEN + 4304) + 4 * (4 + 8);
    assert_int_equal(
        held("parallel.tp=2 parallel.ep=4 parallel.sp=true", "encoder_", LIFE_SAVED, 0),
        27 * 4096 * half);
    /* mergers: the norm's output, the product and its activation of 4 x 1,152 a token */
    assert_int_equal(held("", "projector_", LIFE_SAVED, 0), 4 * 1024 * 3 * 2 * 4 * HIDDEN);
    assert_int_equal(held("", "image_tokens", LIFE_SAVED, 0), 4 * 1024 * 2 * 2048);
    assert_int_equal(held("", "pixel_values", LIFE_SAVED, 0), 4096 * 2 * 1536);
}

/* The first stage holds it, for the micro-batches of its warm-up. */
static void the_first_stage_holds_it(void **state)
{
    (void)state;
#define STAGES "parallel.pp=4 parallel.ep=2 workload.global_batch=64 "
    uint64_t one = held("", "encoder_input", LIFE_SAVED, 0);
    assert_int_equal(held(STAGES, "encoder_input", LIFE_SAVED, 0), 4 * one);
    assert_int_equal(held(STAGES, "encoder_input", LIFE_SAVED, 1), 0);
    assert_int_equal(
        held(STAGES "workload.encoder.train=none", "encoder_weights", LIFE_PERSISTENT, 0),
        2 * (uint64_t)ALL);
    assert_int_equal(
        held(STAGES "workload.encoder.train=none", "encoder_weights", LIFE_PERSISTENT, 1), 0);
    uint64_t more = held(STAGES, "gradients", LIFE_PERSISTENT, 1);
    assert_int_equal(held(STAGES TEXT, "gradients", LIFE_PERSISTENT, 1), more);
}

/* torchtitan shards it as one unit, FSDP by its layers; their list of ops keeps qkv,
 * attention's output and the first product (torchtitan). */
static void sharded_stacks_gather_it(void **state)
{
    (void)state;
#define SHARDED "parallel.zero=3 recompute=none stack="
    assert_int_equal(held(SHARDED "torchtitan", "encoder_gathered", LIFE_TRANSIENT, 0),
                     2 * 2 * 2 * (uint64_t)ALL);
    assert_int_equal(held(SHARDED "torchtitan", "encoder_reduce", LIFE_TRANSIENT, 0),
                     4 * (uint64_t)ALL);
    assert_int_equal(held(SHARDED "fsdp", "encoder_gathered", LIFE_TRANSIENT, 0),
                     2 * 2 * 2 * (LAYERS / 27));
    assert_int_equal(
        held("parallel.zero=3 stack=torchtitan recompute=selective", "encoder_", LIFE_SAVED, 0),
        27 * 4096 * (2 * (HIDDEN + 3 * HIDDEN + HIDDEN + 4304) + UINT64_C(4) * 16));
}

/* ---- serving ---- */

#define SERVED "stack=vllm workload.mode=prefill parallel.zero=0 moe.buffer=exact "

static void engines_load_it_on_every_stage(void **state)
{
    (void)state;
    assert_int_equal(
        held(SERVED "cluster=h100-1x1 parallel.ep=1", "encoder_weights", LIFE_PERSISTENT, 0),
        2 * (uint64_t)ALL);
    assert_int_equal(held(SERVED "cluster=h100-2x1 parallel.ep=1 parallel.pp=2",
                          "encoder_weights", LIFE_PERSISTENT, 1),
                     2 * (uint64_t)ALL);
}

#define SPREAD SERVED "cluster=h100-4x1 parallel.tp=4 parallel.ep=1 "
#define APART SPREAD "parallel.encoder_apart=true "

/* vLLM's --mm-encoder-tp-mode data: over tp 4 whole weights and one of four images of 1,024
 * patches on a rank, two of five, not a quarter of every layer; its tokens on all ranks. */
static void ranks_may_take_whole_images(void **state)
{
    (void)state;
    uint64_t matrices = UINT64_C(27) * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * 4304);
    uint64_t part = matrices / 4 + (LAYERS - matrices) + EMBEDDING + PROJECTOR / 4;
    assert_int_equal(held(SPREAD, "encoder_weights", LIFE_PERSISTENT, 0), 2 * part);
    assert_int_equal(held(APART, "encoder_weights", LIFE_PERSISTENT, 0), 2 * (uint64_t)ALL);
    assert_int_equal(held(SPREAD, "encoder_hidden", LIFE_TRANSIENT, 0), 4096 * 2 * HIDDEN);
    assert_int_equal(held(APART, "encoder_hidden", LIFE_TRANSIENT, 0), 1024 * 2 * HIDDEN);
    assert_int_equal(
        held(APART "workload.encoder.patches=5120", "encoder_hidden", LIFE_TRANSIENT, 0),
        2 * 1024 * 2 * HIDDEN);
    assert_int_equal(held(APART "workload.encoder.item=0", "encoder_hidden", LIFE_TRANSIENT, 0),
                     4096 * 2 * HIDDEN); /* one image of them all */
    uint64_t tokens = 1024 * UINT64_C(4) * 2048 * 2;
    assert_int_equal(held(SPREAD, "image_tokens", LIFE_PERSISTENT, 0), tokens);
    assert_int_equal(held(APART, "image_tokens", LIFE_PERSISTENT, 0), tokens);
}

/* 8,192 tokens a step have room for 32,768 patches, and the largest image has 65,536: it is
 * profiled all the same, and its tokens stay cached four times over. */
static void the_profile_run_encodes_the_largest_item(void **state)
{
    (void)state;
#define PROFILED                                                                               \
    SERVED "cluster=h100-1x1 parallel.ep=1 workload.scenario=profile_run "                     \
           "workload.max_num_batched_tokens=8192 "
    uint64_t token = UINT64_C(4) * 2048 * 2;
    assert_int_equal(
        held(PROFILED "workload.encoder.item=65536", "image_tokens", LIFE_PERSISTENT, 0),
        16384 * token);
    assert_int_equal(
        held(PROFILED "workload.encoder.item=10000", "image_tokens", LIFE_PERSISTENT, 0),
        7500 * token);
    assert_int_equal(held(PROFILED, "encoder_hidden", LIFE_TRANSIENT, 0),
                     32768 / 1024 * 1024 * 2 * HIDDEN);
    assert_int_equal(
        held(PROFILED "workload.encoder.unprofiled=true", "encoder_hidden", LIFE_TRANSIENT, 0),
        0);
}

/* 24 layers of 1,152, since vision_config says depth, are 1.2656 of 24 of 1,024:
 * engines.md 2.1. */
static void sglang_keeps_more_back(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan with, without;
    plan_set(base, "stack=sglang workload.mode=prefill cluster=h100-1x1 parallel.ep=1", &arena,
             &with);
    without = with;
    without.model.encoder.layers = 0;
    with.stack.prompt_graphs = without.stack.prompt_graphs = GRAPHS_NONE; /* of both */
    double ratio = engine_sglang_fraction(&with) / engine_sglang_fraction(&without);
    assert_true(fabs(ratio - 0.95 * (1 - 0.1 * (1.265625 - 1))) < 1e-12);
    arena_release(&arena);
}

/* ---- time ---- */

/* Forward: 2 x patches x parameters of a layer's products, and 4 x patches x item x width. */
static void ops_count_its_work(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    struct slots slots;
    plan_set(base, "", &arena, &plan);
    assert_int_equal(work_build(&plan, &arena, &work, &err), STATUS_OK);
    assert_int_equal(work_ops(&plan, &work, &err), STATUS_OK);
    slots_from_plan(&plan, &slots);
    uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values);
    assert_true(sizes_eval(&work.sizes, &slots, values));
    uint64_t forward = 0, backward = 0;
    for (size_t i = 0; i < work.n_ops; i++) {
        const struct op *op = &work.ops[i];
        if (op->segment != SEGMENT_EMBED || !strstr(op->name, "encoder_") ||
            strstr(op->name, "projector"))
            continue;
        assert_int_equal(values[op->layers.node], 27);
        *(op->phase == PHASE_FORWARD ? &forward : &backward) += values[op->flop.node];
    }
    uint64_t products = UINT64_C(2) * 4096 * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * 4304);
    uint64_t core = UINT64_C(4) * 4096 * 1024 * HIDDEN;
    assert_int_equal(forward, products + core);
    assert_int_equal(backward, 2 * (products + core));
    arena_release(&arena);
}

struct counted {
    uint64_t flop, sent, collectives;
};

static struct counted encoder_of(const char *set)
{
    struct plan_built b;
    struct counted sum = {0};
    plan_build(base, set, true, &b);
    const uint64_t *values = b.values;
    for (size_t i = 0; i < b.work.n_ops; i++) {
        const struct op *op = &b.work.ops[i];
        if (op->segment != SEGMENT_EMBED ||
            !(strstr(op->name, "encoder_") || strstr(op->name, "images")))
            continue;
        uint64_t times = values[op->layers.node];
        sum.flop += strstr(op->name, "projector") ? 0 : times * values[op->flop.node];
        sum.sent += times * values[op->bytes_sent.node];
        sum.collectives += op->kind == OP_COLLECTIVE ? times : 0;
    }
    arena_release(&b.arena);
    return sum;
}

/* As many multiplications a rank, and one gather of three ranks' tokens for two sums a layer.
 */
static void whole_images_are_gathered_once(void **state)
{
    (void)state;
    struct counted spread = encoder_of(SPREAD), apart = encoder_of(APART);
    assert_int_equal(apart.flop, spread.flop);
    assert_int_equal(spread.collectives, 27 * 2);
    assert_int_equal(apart.collectives, 1);
    assert_int_equal(apart.sent, 3 * 256 * UINT64_C(4) * 2048 * 2);
    assert_int_equal(spread.sent, 27 * 2 * (2 * 3 * UINT64_C(4096) * HIDDEN * 2 / 4));
}

/* Adapters of rank 8 beside the encoder's products, 1152 to 3456, 1152 to 1152, 1152 to 4304
 * and back: 8 x 17,824 elements a layer, of 4 bytes with as many of gradients and two moments.
 * A layer saves the row that it saves where it is trained, and the four low-rank products; with
 * copies of inputs that of attention's output besides, and masks of a byte. */
static void its_layers_may_have_adapters(void **state)
{
    (void)state;
#define ADAPTED                                                                                \
    "stack=fsdp parallel.ep=1 parallel.zero=0 precision.weights=bf16 lora.rank=8 "             \
    "lora.targets=[q_proj] "
#define SEEING ADAPTED "lora.encoder=true "
    uint64_t adapters = UINT64_C(27) * 8 * (4608 + 2304 + 5456 + 5456);
    assert_int_equal(STATE(SEEING, "adapters") - STATE(ADAPTED, "adapters"), 4 * adapters);
    assert_int_equal(STATE(SEEING, "gradients") - STATE(ADAPTED, "gradients"), 4 * adapters);
    assert_int_equal(STATE(SEEING, "adam") - STATE(ADAPTED, "adam"), 8 * adapters);
    assert_int_equal(STATE(SEEING, "encoder_weights"), 2 * (uint64_t)ALL);
    uint64_t row = 2 * (4 * HIDDEN + 3 * HIDDEN + HIDDEN + 2 * 4304) + 4 * (4 + 16);
    assert_int_equal(held(ADAPTED, "encoder_", LIFE_SAVED, 0), 0);
    assert_int_equal(held(SEEING, "encoder_", LIFE_SAVED, 0),
                     27 * 4096 * (row + 2 * UINT64_C(4) * 8));
    assert_int_equal(held(SEEING "lora.inputs=dropped", "encoder_", LIFE_SAVED, 0),
                     27 * 4096 * (row + 2 * UINT64_C(4) * 8 + 2 * HIDDEN + 3 * HIDDEN + 4304));
    assert_int_equal(held(SEEING "recompute=full", "encoder_", LIFE_SAVED, 0),
                     UINT64_C(27) * 4096 * 2 * HIDDEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_models_have_their_parameters),
        cmocka_unit_test(configurations_give_the_published_parameters),
        cmocka_unit_test(deepstack_is_read),
        cmocka_unit_test(what_is_trained_has_states),
        cmocka_unit_test(layers_save_what_their_backward_reads),
        cmocka_unit_test(the_first_stage_holds_it),
        cmocka_unit_test(sharded_stacks_gather_it),
        cmocka_unit_test(engines_load_it_on_every_stage),
        cmocka_unit_test(ranks_may_take_whole_images),
        cmocka_unit_test(whole_images_are_gathered_once),
        cmocka_unit_test(the_profile_run_encodes_the_largest_item),
        cmocka_unit_test(sglang_keeps_more_back),
        cmocka_unit_test(ops_count_its_work),
        cmocka_unit_test(its_layers_may_have_adapters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
