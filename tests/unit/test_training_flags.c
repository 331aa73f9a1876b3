/* What flags of training jobs hold and send, worked out by hand: layers whose tensors wait in
 * host memory, inputs cut over tp, places of gathered units, second copies of weights, states
 * shared out twice, layers updated in backward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "sim/memory/memory.h"
#include "sim/step/time.h"
#include "sim/time/comm.h"
#include "support/plans.h"
#include "work/stack/stack.h"

/* 48 layers of 2048, 128 experts of 3 x 2048 x 768; 4,096 tokens */
static const char base[] = "model: qwen3-30b-a3b\ncluster: h200-8x2\nstack: megatron\n"
                           "workload: {mode: train, sequence_length: 4096, micro_batch: 1}\n";

/* Matrices of a layer: q, k, v, o, router, experts; with the 2 norms of 2048 and 2 of 128 of
 * each, two tables of 151,936 and the last norm the model's 30,532,122,624. */
#define LAYER UINT64_C(623116288)
#define MODEL UINT64_C(30532122624)
#define INPUT (UINT64_C(4096) * 2048 * 2)

/* Of buffers with this name that the stack holds in layers it runs: as many copies as live at
 * once. */
static uint64_t held(const char *set, const char *name)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, true, &b);
    for (size_t i = 0; i < b.work.n_held; i++)
        if (text_equal(b.work.buffers[i].name, name) &&
            b.values[b.work.use[b.work.buffers[i].segment].repeat.node])
            sum += memory_buffer_bytes(&b.work, b.values, &b.work.buffers[i]);
    arena_release(&b.arena);
    return sum;
}

static uint64_t on_host(const char *set, const char *name)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, true, &b);
    for (size_t i = 0; i < b.work.n_host; i++)
        sum += text_equal(b.work.host[i].name, name) ? b.values[b.work.host[i].bytes.node] : 0;
    arena_release(&b.arena);
    return sum;
}

struct sized {
    const char *set, *name;
    uint64_t bytes;
};

static void check_held(const struct sized *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        print_message("%s: %s\n", rows[i].set, rows[i].name);
        assert_int_equal(held(rows[i].set, rows[i].name), rows[i].bytes);
    }
}

#define HELD(rows) check_held(rows, sizeof rows / sizeof *rows)

/* ---- host memory ---- */

/* Of 48 layers 20 are away, and one of them is on its way back. Of DeepSeek-V2-Lite's 27 the
 * first is dense: with three away no dense layer is left, and the one at hand has its input. */
static void whole_layers_wait_in_host_memory(void **state)
{
    (void)state;
    static const struct sized rows[] = {
        {"recompute.offload_layers=0", "layer_input", 48 * INPUT},
        {"recompute.offload_layers=20", "layer_input", 28 * INPUT},
        {"recompute.offload_layers=20", "reloaded_layer_input", INPUT},
        {"recompute.offload_layers=47", "q", UINT64_C(4096) * 4096 * 2},
        {"model=deepseek-v2-lite recompute.offload_layers=3", "layer_input", (1 + 24) * INPUT},
        {"model=deepseek-v2-lite recompute.offload_layers=3", "reloaded_layer_input",
         2 * INPUT},
        {"stack=fsdp recompute.offload_layers=20", "layer_input", 48 * INPUT},
    };
    HELD(rows);
    assert_int_equal(on_host("recompute.offload_layers=20", "layer_input"), 20 * INPUT);
    assert_int_equal(on_host("recompute.offload_layers=20", "expert_gate_up"),
                     20 * UINT64_C(4096) * 8 * 2 * 768 * 2);
    assert_int_equal(
        on_host("model=deepseek-v2-lite recompute.offload_layers=3", "layer_input"), 3 * INPUT);
}

/* They are copied in 20 layers of 48. */
static void they_are_copied_once_each_way(void **state)
{
    (void)state;
    struct plan_built b;
    unsigned found = 0;
    plan_build(base, "recompute.offload_layers=20", true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++) {
        const struct op *op = &b.work.ops[i];
        if (!text_equal(op->name, "offload_layer_input") &&
            !text_equal(op->name, "reload_layer_input"))
            continue;
        assert_int_equal(b.values[op->layers.node], 20);
        assert_int_equal(b.values[op->bytes_read.node], INPUT);
        found++;
    }
    assert_int_equal(found, 2);
    arena_release(&b.arena);
}

/* ---- some layers run again ---- */

/* Of 48 layers 20 run again: 28 keep what their norm gives, all keep their input. Where all run
 * again the one at hand has it. The first three of DeepSeek-V2-Lite's 27 are a dense one and
 * two with experts; torchtitan's products keep it compiled or not. Of four stages the first has
 * 12 layers and 4 micro-batches; in chunks of four, 2 x 3 + 2 x 4 + 1 are alive. */
static void some_layers_run_again(void **state)
{
    (void)state;
#define SOME "recompute.kind=full recompute.layers="
    static const struct sized rows[] = {
        {SOME "20", "layer_input", 48 * INPUT},
        {SOME "20", "attention_norm_out", 28 * INPUT},
        {SOME "20", "recomputed_attention_norm_out", 0},
        {SOME "48", "attention_norm_out", 0},
        {SOME "48", "recomputed_attention_norm_out", INPUT},
        {SOME "60", "attention_norm_out", 0},
        {"recompute.kind=none recompute.layers=20", "attention_norm_out", 48 * INPUT},
        {"model=deepseek-v2-lite " SOME "3", "attention_norm_out", 24 * INPUT},
        {"model=deepseek-v2-lite " SOME "3", "recomputed_attention_norm_out", INPUT},
        {"stack=torchtitan " SOME "20", "attention_norm_out", 28 * INPUT},
        {"parallel.pp=4 " SOME "2", "attention_norm_out", 4 * 10 * INPUT},
        {"parallel.pp=4 parallel.vpp=3 " SOME "1", "attention_norm_out", 15 * 3 * INPUT},
        {"stack=fsdp " SOME "20", "attention_norm_out", 28 * INPUT},
        {"stack=fsdp " SOME "20", "layer_input", 48 * INPUT},
        {"stack=fsdp " SOME "20 recompute.offload=[layer_input]", "layer_input",
         (1 + 28) * INPUT},
        {"stack=deepspeed " SOME "48", "attention_norm_out", 0},
        {"stack=deepspeed " SOME "48", "recomputed_attention_norm_out", INPUT},
    };
    HELD(rows);
}

/* One input of four layers, and of the last two of 50: in backward three layers stand beside
 * the one at hand, with their inputs. In four stages of 12, of which groups of 5, 5 and 2 keep
 * three inputs, the first has 4 micro-batches. */
static void layers_run_again_together(void **state)
{
    (void)state;
#define TOGETHER "recompute.kind=full recompute.every="
    static const struct sized rows[] = {
        {TOGETHER "1", "layer_input", 48 * INPUT},
        {TOGETHER "1", "together_layer_input", 0},
        {TOGETHER "4", "layer_input", 12 * INPUT},
        {TOGETHER "4", "together_layer_input", 3 * INPUT},
        {TOGETHER "4", "attention_norm_out", INPUT},
        {TOGETHER "4", "together_attention_norm_out", 3 * INPUT},
        {"model.layers=50 " TOGETHER "4", "layer_input", 13 * INPUT},
        {"parallel.pp=4 " TOGETHER "5", "layer_input", 4 * 3 * INPUT},
        {"stack=fsdp " TOGETHER "4", "layer_input", 48 * INPUT},
        {SOME "20 recompute.every=4", "layer_input", 48 * INPUT},
    };
    HELD(rows);
}

/* Recomputation of 20 of 48 layers. */
static void they_run_in_their_layers(void **state)
{
    (void)state;
    struct plan_built b;
    unsigned found = 0;
    plan_build(base, SOME "20", true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++) {
        const struct op *op = &b.work.ops[i];
        if (op->phase != PHASE_RECOMPUTE || !segment_has_experts(op->segment))
            continue;
        assert_int_equal(b.values[op->layers.node], 20);
        found++;
    }
    assert_true(found > 5);
    arena_release(&b.arena);
}

/* Without fusion a weight's gradient is a tensor of 16 bits until it is added to the others: of
 * all of a rank's experts together, of products of one op the largest alone. */
static void weight_gradients_stand_alone(void **state)
{
    (void)state;
#define UNFUSED "stack.wgrad_placeholders=false "
#define MTP "model=deepseek-v3 model.mtp_enabled=true "
    static const struct sized rows[] = {
        {UNFUSED, "wgrad_gate_up", 2 * UINT64_C(128) * 2 * 768 * 2048},
        {UNFUSED, "wgrad_down", 2 * UINT64_C(128) * 768 * 2048},
        {UNFUSED, "wgrad_attention_qkv", 2 * UINT64_C(5120) * 2048},
        {UNFUSED "parallel.ep=8", "wgrad_gate_up", 2 * UINT64_C(16) * 2 * 768 * 2048},
        {UNFUSED "stack=primus", "wgrad_gate_up", 2 * UINT64_C(128) * 2 * 768 * 2048},
        {UNFUSED, "d_head_weight", 2 * UINT64_C(151936) * 2048},
        {UNFUSED "lora.rank=16", "wgrad_gate_up", 0},
        {"", "wgrad_gate_up", 0},
        /* q of 1536 to 24,576, not k and v of 512 to 32,768; in layers of both kinds */
        {UNFUSED "model=deepseek-v3", "wgrad_attention_qkv", 2 * 2 * UINT64_C(1536) * 24576},
        /* eh_proj of a prediction module, [H / tp, 2 H] */
        {UNFUSED "model=deepseek-v3", "wgrad_mtp_projection", 0},
        {UNFUSED MTP, "wgrad_mtp_projection", 2 * UINT64_C(7168) * 2 * 7168},
        {UNFUSED MTP "parallel.tp=4", "wgrad_mtp_projection", 2 * UINT64_C(1792) * 2 * 7168},
        {MTP, "wgrad_mtp_projection", 0},
    };
    HELD(rows);
}

/* MaxText's weights come layer by layer: 1/48 of the rank's dense and expert shards. */
static void weights_wait_in_host_memory(void **state)
{
    (void)state;
#define MAXTEXT                                                                                \
    "stack=maxtext parallel.zero=3 parallel.ep=1 precision.weights=bf16 optimizer.offload=1 "
    static const struct sized rows[] = {
        {MAXTEXT, "weights", 2 * (MODEL - UINT64_C(48) * 603979776) / 16},
        {MAXTEXT "optimizer.offload_params=true", "weights", 0},
        {MAXTEXT "optimizer.offload_params=true", "expert_weights", 0},
        {MAXTEXT "optimizer.offload_params=true", "weights_here", MODEL / 16 / 48 * 2},
    };
    HELD(rows);
    assert_int_equal(on_host(MAXTEXT "optimizer.offload_params=true", "host_weights"),
                     2 * MODEL / 16);
    /* f32 copies of the largest tensor: gate matrices of 48 layers or of one */
    static const struct sized copies[] = {
        {"stack=maxtext parallel.zero=3 parallel.ep=1 stack.grad_copies=2",
         "f32_gradient_copies", 2 * 4 * UINT64_C(48) * 128 * 2048 * 768 / 16},
        {"stack=maxtext parallel.zero=3 parallel.ep=1 stack.grad_copies=2 "
         "stack.unrolled=true",
         "f32_gradient_copies", 2 * 4 * UINT64_C(151936) * 2048 / 16},
    };
    HELD(copies);
}

/* ---- inputs of layers ---- */

static void inputs_are_cut_over_tp(void **state)
{
    (void)state;
/* without experts, which Megatron trains with sp alone */
#define FULL                                                                                   \
    "recompute.kind=full parallel.tp=4 model.dense_layers=48 model.dense_intermediate=6144 "
    static const struct sized rows[] = {
        {FULL, "layer_input", 48 * INPUT},
        {FULL "recompute.distribute=true", "layer_input", 48 * INPUT / 4},
        {FULL "recompute.distribute=true", "whole_layer_input", INPUT},
        {FULL "recompute.distribute=true parallel.sp=true", "layer_input", 48 * INPUT / 4},
        {FULL "recompute.distribute=true parallel.sp=true", "whole_layer_input", 0},
        {"recompute.kind=full recompute.distribute=true", "layer_input", 48 * INPUT},
        {"stack=deepspeed recompute.kind=full recompute.offload=[layer_input]", "layer_input",
         INPUT},
    };
    HELD(rows);
    assert_int_equal(on_host("stack=deepspeed parallel.tp=2 parallel.etp=2 recompute.kind=full "
                             "recompute.offload=[layer_input] recompute.distribute=true",
                             "layer_input"),
                     48 * INPUT / 2);
    struct plan_built b;
    plan_build(base, FULL "recompute.distribute=true", true, &b);
    size_t i = 0;
    while (i < b.work.n_ops && !text_equal(b.work.ops[i].name, "gather_layer_input"))
        i++;
    assert_in_range(i, 0, b.work.n_ops - 1);
    assert_int_equal(b.work.ops[i].phase, PHASE_BACKWARD);
    assert_int_equal(b.work.ops[i].group, GROUP_TP);
    assert_int_equal(b.values[b.work.ops[i].bytes_sent.node], INPUT / 4 * 3);
    arena_release(&b.arena);
}

/* An op of TransformerEngine saves, of every row, its input of 2,048, gate and up of 2 x 768
 * and the 768 that the down product reads; apart, the last stay on the device. */
static void a_fused_op_moves_all_that_it_saves(void **state)
{
    (void)state;
    static const char apart[] = "recompute.offload=[expert_fc1,moe_act]",
                      fused[] = "recompute.offload=[fused_group_mlp]";
    uint64_t input = on_host(apart, "expert_input");
    assert_true(input > 0 && input % 2048 == 0);
    assert_int_equal(on_host(fused, "expert_input"), input);
    assert_int_equal(on_host(fused, "expert_gate_up"), input / 2048 * 1536);
    assert_int_equal(on_host(fused, "expert_activated"), input / 2048 * 768);
    assert_int_equal(on_host(apart, "expert_gate_up"), input / 2048 * 1536);
    assert_int_equal(on_host(apart, "expert_activated"), 0);
}

/* ---- weights that are gathered ---- */

#define ZERO3 "parallel.zero=3 parallel.ep=1 "
#define FP8 "precision.recipe=fp8_current precision.quantized_params=true "

/* Matrices of all layers, without their routers, in bytes: 29,879,697,408. */
static void megatron_fsdp_holds(void **state)
{
    (void)state;
    const uint64_t quantized = 48 * (LAYER - 2048 * 128);
    const struct sized rows[] = {
        {ZERO3, "gathered_weights", 2 * 2 * LAYER},
        {ZERO3 "parallel.double_buffer=true", "gathered_weights", 0},
        {ZERO3 "parallel.double_buffer=true", "gathered_weights_pool", 2 * 2 * LAYER},
        {ZERO3 "parallel.double_buffer=true", "unsharded_gradients_pool", 2 * 2 * LAYER},
        {"parallel.zero=1 parallel.double_buffer=true", "gathered_weights_pool", 0},
        {ZERO3 FP8, "fp8_transposes", 0},
        {ZERO3 FP8 "precision.keep_transpose=true", "fp8_transposes", quantized},
        {ZERO3 FP8 "precision.keep_transpose=true cluster=b200-8x2", "fp8_transposes", 0},
        {ZERO3 FP8 "precision.keep_transpose=true", "expert_quantized_weights",
         UINT64_C(48) * 603979776 / 16},
    };
    HELD(rows);
}

/* Of 48 layers 1 at the start and 2 at the end stay in 16 bits: no copies of their weights, in
 * bytes by rows and by columns, their inputs at 2 bytes. */
static void layers_leave_a_recipe(void **state)
{
    (void)state;
#define LEAVES FP8 "precision.plain_first=1 precision.plain_last=2 "
    const uint64_t dense = LAYER - 2048 * 128 - 603979776, context = UINT64_C(4096) * 4096;
    const struct sized rows[] = {
        {FP8, "quantized_weights", 2 * 48 * dense},
        {LEAVES, "quantized_weights", 2 * 45 * dense},
        {LEAVES "parallel.ep=8", "expert_quantized_weights", 2 * UINT64_C(45) * 603979776 / 8},
        {LEAVES "precision.quantized_params=false", "quantized_weights", 2 * 45 * dense},
        {FP8, "attention_context_copy", 0}, /* the projection saves what attention gave */
        {FP8 "precision.recipe=fp8_delayed", "attention_context_copy", 48 * context},
        {FP8, "attention_norm_out", 48 * INPUT / 2},
        {LEAVES, "attention_norm_out", 45 * INPUT / 2 + 3 * INPUT},
        /* the first stage of two has all three, two micro-batches in flight */
        {FP8 "precision.plain_first=3 parallel.pp=2 parallel.stage=1", "attention_norm_out",
         2 * (21 * INPUT / 2 + 3 * INPUT)},
        {FP8 "precision.plain_first=24 precision.plain_last=24 parallel.pp=2",
         "quantized_weights", 0},
        /* prediction modules are no layers */
        {FP8 "precision.plain_last=1 parallel.pp=1 model.mtp_layers=1 model.mtp_enabled=true",
         "quantized_weights", 2 * 48 * dense},
    };
    HELD(rows);
}

/* A stage without a layer that the recipe applies to is one without the recipe. */
static void all_layers_leave_a_recipe(void **state)
{
    (void)state;
    struct plan_built with, without;
    struct memory_peak left, none;
    plan_build(base, "precision.recipe=none parallel.ep=8", false, &without);
    plan_build(base, FP8 "precision.plain_first=48 parallel.ep=8", false, &with);
    memory_fold(&with.work, with.values, 0, &left);
    memory_fold(&without.work, without.values, 0, &none);
    assert_int_equal(left.total_bytes, none.total_bytes);
    assert_int_equal(left.state_bytes, none.state_bytes);
    arena_release(&with.arena);
    arena_release(&without.arena);
}

/* With 8 of 16 ranks in a group: f32 moments of 1/8 without, of 1/16 with. */
static void groups_share_states_out(void **state)
{
    (void)state;
#define HSDP ZERO3 "parallel.dp_shard=8 precision.moments=f32 precision.gradients=f32 "
    static const struct sized rows[] = {
        {HSDP, "expert_adam_moments", 8 * UINT64_C(48) * 603979776 / 8},
        {HSDP "parallel.outer_zero=1", "expert_adam_moments",
         8 * UINT64_C(48) * 603979776 / 16},
        {HSDP "parallel.outer_zero=1", "expert_weights", 2 * UINT64_C(48) * 603979776 / 8},
        {HSDP "parallel.outer_zero=1", "expert_gradients", 4 * UINT64_C(48) * 603979776 / 8},
    };
    HELD(rows);
}

struct sent {
    const char *set, *name;
    enum phase phase;
    enum process_group group;
    uint64_t bytes;
    double ranks, inside;
};

/* A MoE layer's experts in bf16 are 1,207,959,552 bytes: 15/16 of them come from 16 ranks, 7/8
 * from the 8 of a node, half as many in bytes each; a group's gradients of 75,497,472 elements
 * are added up between two groups, of which each then has half, and gathers the other half. */
static void they_travel(void **state)
{
    (void)state;
    const uint64_t layer = UINT64_C(603979776);
    const struct sent rows[] = {
        {"stack=deepspeed " ZERO3, "gather_expert_weights", PHASE_BACKWARD, GROUP_EDP,
         2 * layer / 16 * 15, 16, 8},
        {"stack=deepspeed " ZERO3 "parallel.hpz_shard=8", "gather_expert_weights",
         PHASE_BACKWARD, GROUP_EDP_SECOND, 2 * layer / 8 * 7, 8, 8},
        {"stack=deepspeed " ZERO3 "parallel.hpz_shard=8", "gather_expert_weights",
         PHASE_FORWARD, GROUP_EDP, 2 * layer / 16 * 15, 16, 8},
        {"stack=deepspeed " ZERO3 "parallel.hpz_shard=8", "gather_weights", PHASE_BACKWARD,
         GROUP_DP_SECOND, 0, 8, 8},
        {"stack=deepspeed " ZERO3 "precision.gather=int8", "gather_expert_weights",
         PHASE_FORWARD, GROUP_EDP, layer / 16 * 15, 16, 8},
        {HSDP, "reduce_copies_of_expert_weights", PHASE_BACKWARD, GROUP_EDP_REPLICA,
         4 * layer / 8, 2, 1},
        {HSDP "parallel.outer_zero=1", "reduce_copies_of_expert_weights", PHASE_BACKWARD,
         GROUP_EDP_REPLICA, 4 * layer / 8 / 2, 2, 1},
        {HSDP "parallel.outer_zero=1", "gather_expert_weights", PHASE_UPDATE, GROUP_EDP_REPLICA,
         2 * 48 * layer / 8 / 2, 2, 1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct plan_built b;
        size_t i = 0;
        print_message("%s: %s\n", rows[r].set, rows[r].name);
        plan_build(base, rows[r].set, true, &b);
        while (i < b.work.n_ops &&
               (!text_equal(b.work.ops[i].name, rows[r].name) ||
                b.work.ops[i].phase != rows[r].phase || b.work.ops[i].segment == SEGMENT_HEAD))
            i++;
        assert_in_range(i, 0, b.work.n_ops - 1);
        assert_int_equal(b.work.ops[i].group, rows[r].group);
        if (rows[r].bytes)
            assert_int_equal(b.values[b.work.ops[i].bytes_sent.node], rows[r].bytes);
        struct comm_place place = comm_place(&b.plan, b.work.ops[i].group);
        assert_true(place.ranks == rows[r].ranks && place.inside == rows[r].inside);
        arena_release(&b.arena);
    }
}

static void deepspeed_reserves(void **state)
{
    (void)state;
#define DEEPSPEED "stack=deepspeed " ZERO3
    static const struct sized rows[] = {
        {DEEPSPEED, "second_weights", 0},
        {DEEPSPEED "parallel.hpz_shard=8", "second_weights", 2 * MODEL / 8},
        {DEEPSPEED "parallel.prefetch_bucket=5000000", "prefetch_bucket", 10000000},
        {DEEPSPEED "precision.gather=int8", "prefetch_as_sent", 50000000},
        {DEEPSPEED "precision.gather=int8 parallel.prefetch_bucket=5000000", "prefetch_as_sent",
         5000000},
        /* of a rank's 96,318,336 dense elements all, of its experts' what is left */
        {DEEPSPEED "precision.master=f32 optimizer.sub_group=100000000", "f32_gradients",
         4 * 96318336},
        {DEEPSPEED "precision.master=f32 optimizer.sub_group=100000000", "expert_f32_gradients",
         4 * (100000000 - 96318336)},
    };
    HELD(rows);
}

/* A unit of 623,116,288 parameters in bf16: two in backward, or one. */
static void fsdp_fetches_ahead(void **state)
{
    (void)state;
    static const struct sized rows[] = {
        {"stack=fsdp", "gathered_weights", (3 + 2) * 2 * LAYER},
        {"stack=fsdp parallel.prefetch=pre", "gathered_weights", (3 + 2) * 2 * LAYER},
        {"stack=fsdp parallel.prefetch=post", "gathered_weights", (3 + 1) * 2 * LAYER},
        {"stack=fsdp parallel.prefetch=none", "gathered_weights", (3 + 1) * 2 * LAYER},
        {"stack=torchtitan parallel.prefetch=none", "gathered_weights", (3 + 2) * 2 * LAYER},
    };
    HELD(rows);
}

/* Where products hide what is gathered, what nobody fetches ahead is waited for: 2 x 3.75/4 of
 * the weights' time at least stays as it was. */
static void waiting_for_weights_costs_time(void **state)
{
    (void)state;
    static const char *const sets[] = {"pre", "post", "none"};
    double seconds[3];
    for (size_t i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct profile profile;
        struct time_report time;
        plan_set(base,
                 arena_printf(&arena,
                              "stack=fsdp stack.overlap.dp=true workload.micro_batch=8 "
                              "recompute.kind=full parallel.prefetch=%s",
                              sets[i]),
                 &arena, &plan);
        assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
        const struct time_ask ask = {.profile = &profile};
        assert_int_equal(time_of(&plan, &ask, &arena, &time, &err), STATUS_OK);
        seconds[i] = time.step.step_s;
        arena_release(&arena);
    }
    assert_true(seconds[1] > seconds[0]); /* gathered behind the gradients */
    assert_true(seconds[2] > seconds[1]); /* and reduced before that */
}

/* 1/16 of a layer in f32 in place of the model's. */
static void torchtitan_updates_in_backward(void **state)
{
    (void)state;
#define TITAN "stack=torchtitan precision.gradients=f32 "
    static const struct sized rows[] = {
        {TITAN, "expert_gradients", 4 * UINT64_C(48) * 603979776 / 16},
        {TITAN "optimizer.in_backward=true", "expert_gradients", 0},
        {TITAN "optimizer.in_backward=true", "gradients", 0},
        {TITAN "optimizer.in_backward=true", "layer_gradients", 4 * LAYER / 16},
        {TITAN "optimizer.in_backward=true optimizer.step=foreach", "foreach_lists", 0},
    };
    HELD(rows);
    struct plan_built b;
    plan_build(base, TITAN "optimizer.in_backward=true", true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++)
        assert_string_not_equal(b.work.ops[i].name, "gradient_norm");
    arena_release(&b.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fused_op_moves_all_that_it_saves),
        cmocka_unit_test(whole_layers_wait_in_host_memory),
        cmocka_unit_test(they_are_copied_once_each_way),
        cmocka_unit_test(some_layers_run_again),
        cmocka_unit_test(layers_run_again_together),
        cmocka_unit_test(they_run_in_their_layers),
        cmocka_unit_test(weight_gradients_stand_alone),
        cmocka_unit_test(weights_wait_in_host_memory),
        cmocka_unit_test(inputs_are_cut_over_tp),
        cmocka_unit_test(megatron_fsdp_holds),
        cmocka_unit_test(layers_leave_a_recipe),
        cmocka_unit_test(all_layers_leave_a_recipe),
        cmocka_unit_test(groups_share_states_out),
        cmocka_unit_test(they_travel),
        cmocka_unit_test(deepspeed_reserves),
        cmocka_unit_test(fsdp_fetches_ahead),
        cmocka_unit_test(waiting_for_weights_costs_time),
        cmocka_unit_test(torchtitan_updates_in_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
