/* Layers and parts that are not trained though there are no adapters: states, what backward
 * keeps, what it computes. By hand for Qwen3-30B-A3B: a layer has 18,874,368 + 256 parameters
 * of attention, 262,144 of the router, 603,979,776 of experts and 4,096 of norms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "sim/memory/memory.h"
#include "sim/time/step_time.h"
#include "support/plans.h"
#include "work/list/kernel.h"
#include "plan/params.h"
#include "work/stack/stack.h"

static const char base[] = "model: qwen3-30b-a3b\ncluster: h200-8x1\nstack: fsdp\n"
                           "workload: {sequence_length: 4096, micro_batch: 1}\n"
                           "parallel: {zero: 0}\nprecision: {weights: bf16}\n";

enum { ATTENTION = 18874624, ROUTER = 262144, NORMS = 4096, HIDDEN = 2048, LAYERS = 48 };

static const uint64_t all = 30532122624, experts = 603979776, layer = 623120640,
                      table = UINT64_C(151936) * HIDDEN;

static uint64_t state_bytes(const char *set)
{
    return plan_state_bytes(base, set);
}

/* Weights of 2 bytes, of what is trained 4 of gradients and 8 of moments. */
static void only_what_is_trained_has_states(void **state)
{
    (void)state;
    const struct {
        const char *set;
        uint64_t trained;
    } rows[] = {
        {"frozen.layers=46", 2 * layer + table + HIDDEN},
        {"frozen.layers=46 frozen.modules=[lm_head]", 2 * layer + HIDDEN},
        {"frozen.modules=[router]", all - LAYERS * (uint64_t)ROUTER},
        {"frozen.modules=[attention,norms,router,embed_tokens,lm_head]", LAYERS * experts},
        {"frozen.modules=[experts]", all - LAYERS * experts},
        {"frozen.layers=24 frozen.modules=[experts,lm_head,norms]",
         24 * (uint64_t)(ATTENTION + ROUTER)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(state_bytes(rows[i].set), 2 * all + 12 * rows[i].trained);
    /* a shard of an eighth each, weights with the rest */
    assert_int_equal(state_bytes("parallel.zero=3 frozen.layers=46 frozen.modules=[lm_head]"),
                     2 * all / 8 + 12 * (2 * layer + HIDDEN) / 8);
    /* what is frozen as it is loaded, what is trained in f32 (LLaMA-Factory) */
    assert_int_equal(state_bytes("frozen.layers=46 frozen.modules=[lm_head] "
                                 "precision.weights=f32 frozen.format=bf16"),
                     2 * all + (2 + 12) * (2 * layer + HIDDEN));
    /* Megatron: bf16 weights, f32 gradients, master and moments */
    assert_int_equal(state_bytes("stack=megatron precision.master=f32 frozen.modules=[router]"),
                     2 * all + 16 * (all - LAYERS * (uint64_t)ROUTER));
}

/* Bytes that stay for backward under this name, of all layers. */
static uint64_t saved_in(enum segment segment, const char *set, const char *name)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, false, &b);
    for (size_t i = 0; i < b.work.n_buffers; i++) {
        const struct buffer *buffer = &b.work.buffers[i];
        bool here = buffer->segment == segment && buffer->life == LIFE_SAVED;
        if (here && text_equal(buffer->name, name))
            sum += memory_buffer_bytes(&b.work, b.values, buffer);
    }
    arena_release(&b.arena);
    return sum;
}

static uint64_t saved(const char *set, const char *name)
{
    return saved_in(SEGMENT_MOE, set, name);
}

#define LANGUAGE_FROZEN                                                                        \
    "model=qwen3-vl-8b "                                                                       \
    "frozen.modules=[embed_tokens,lm_head,norms,attention,dense_mlp] "

/* A projector of 160,496,896 parameters is trained before a language model that is not: of its
 * layers every input stays, since gradients pass all of them. */
static void a_projector_alone_is_trained(void **state)
{
    (void)state;
    const uint64_t whole = UINT64_C(8767123696), projector = 160496896;
    const uint64_t body = 8767123696 - UINT64_C(8190735360) - projector;
    assert_int_equal(state_bytes(LANGUAGE_FROZEN "workload.encoder.train=projector"),
                     2 * whole + 12 * projector);
    assert_int_equal(state_bytes(LANGUAGE_FROZEN "workload.encoder.train=all"),
                     2 * whole + 12 * (projector + body));
    assert_int_equal(saved_in(SEGMENT_DENSE,
                              LANGUAGE_FROZEN "recompute.kind=full "
                                              "workload.encoder.patches=1024 "
                                              "workload.encoder.train=projector",
                              "layer_input"),
                     UINT64_C(36) * 4096 * 4096 * 2);
}

/* Rows and columns of the 2 x (128 + 1) x ... matrices of two layers. */
static void factors_of_what_is_trained(void **state)
{
    (void)state;
    const uint64_t attention = (2048 + 4096 + 2 * 512) + (4096 + 2048), router = 2048 + 128;
    const uint64_t each = (2048 + 2 * 768) + (768 + 2048);
    const uint64_t none = state_bytes("optimizer.kind=adafactor frozen.layers=46 "
                                      "frozen.modules=[lm_head,attention,router,experts]");
    const uint64_t some = state_bytes("optimizer.kind=adafactor frozen.layers=46 "
                                      "frozen.modules=[lm_head]");
    const uint64_t trained = 2 * (ATTENTION + ROUTER + experts);
    assert_int_equal(some - none, 4 * trained + 4 * 2 * (attention + router + 128 * each));
}

/* 4,096 tokens of 8 rows each, 2,048 wide: what the frozen layers below keep of them is
 * nothing, and frozen experts keep no input, nor a frozen router the norm's output. */
static void backward_keeps_what_it_reads(void **state)
{
    (void)state;
    const uint64_t rows = UINT64_C(4096) * 8 * 2048 * 2, norm = UINT64_C(4096) * 2048 * 2;
    assert_int_equal(saved("", "expert_input"), LAYERS * rows);
    assert_int_equal(saved("frozen.layers=46", "expert_input"), 2 * rows);
    assert_int_equal(saved("frozen.modules=[experts]", "expert_input"), 0);
    assert_int_equal(saved("frozen.modules=[router]", "mlp_norm_out"), 0);
    assert_int_equal(saved("frozen.modules=[attention]", "attention_norm_out"), 0);
    assert_int_equal(saved("", "mlp_norm_out"), LAYERS * norm);
    /* layers that run again keep their input; Megatron's run backward all the same */
    assert_int_equal(saved("frozen.layers=46 recompute.kind=full", "layer_input"), 2 * norm);
    assert_int_equal(
        saved("stack=megatron frozen.layers=46 recompute.kind=full", "layer_input"),
        LAYERS * norm);
}

/* FLOP of ops of this kernel, a micro-batch. */
static uint64_t flop_of(const char *set, enum kernel kernel)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++)
        if (b.work.ops[i].kernel == kernel)
            sum += b.values[b.work.ops[i].flop.node] * b.values[b.work.ops[i].layers.node];
    arena_release(&b.arena);
    return sum;
}

/* A token meets 18,874,368 + 262,144 + 8 x 4,718,592 weights in a layer, and the head's. */
static void gradients_of_weights_that_are_trained(void **state)
{
    (void)state;
    const uint64_t attention = 18874368, chosen = 8 * UINT64_C(4718592);
    const uint64_t one = attention + ROUTER + chosen, tokens = 4096;
    assert_int_equal(flop_of("", KERNEL_WGRAD), 2 * tokens * (LAYERS * one + table));
    assert_int_equal(flop_of("frozen.layers=46", KERNEL_WGRAD), 2 * tokens * (2 * one + table));
    assert_int_equal(flop_of("frozen.layers=46 frozen.modules=[lm_head]", KERNEL_WGRAD),
                     2 * tokens * 2 * one);
    assert_int_equal(flop_of("frozen.modules=[experts]", KERNEL_WGRAD),
                     2 * tokens * (LAYERS * (attention + ROUTER) + table));
    assert_int_equal(flop_of("frozen.modules=[embed_tokens]", KERNEL_EMBED_GRAD), 0);
    /* rows' gradients pass Megatron's frozen layers where all run again */
#define PASSES "stack=megatron frozen.layers=46 recompute.kind=full "
    assert_int_equal(flop_of(PASSES, KERNEL_WGRAD), 2 * tokens * (2 * one + table));
    assert_int_equal(flop_of(PASSES, KERNEL_GEMM),
                     flop_of("stack=megatron recompute.kind=full", KERNEL_GEMM));
}

/* 2 x 3,041,656,832 + 1,610,612,736 of forward, 2 x 424,935,424 + 134,217,728 of rows in the
 * two layers and the head, 2 x 113,770,496 of weights in the layers. */
static void useful_work(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    plan_set(base, "frozen.layers=46 frozen.modules=[lm_head]", &arena, &plan);
    assert_int_equal(params_useful_flop_per_token(&plan), UINT64_C(8905555968));
    plan_set(base, "frozen.modules=[]", &arena, &plan);
    assert_int_equal(params_useful_flop_per_token(&plan), 3 * UINT64_C(7693926400));
    arena_release(&arena);
}

/* What is reduced and gathered: of two layers in backward, of all in forward. */
static uint64_t moved(const char *set, const char *name)
{
    struct plan_built b;
    uint64_t sum = 0;
    plan_build(base, set, true, &b);
    for (size_t i = 0; i < b.work.n_ops; i++)
        if (text_equal(b.work.ops[i].name, name))
            sum +=
                b.values[b.work.ops[i].bytes_read.node] * b.values[b.work.ops[i].layers.node];
    arena_release(&b.arena);
    return sum;
}

static void only_gradients_that_are_there_are_reduced(void **state)
{
    (void)state;
#define SHARED "parallel.zero=3 frozen.layers=46 frozen.modules=[lm_head,router]"
    /* in bf16, as Accelerate reduces; the final norm with the ends */
    assert_int_equal(moved(SHARED, "reduce_gradients_of_weights"),
                     2 * (2 * (uint64_t)(ATTENTION + NORMS) + HIDDEN));
    assert_int_equal(moved(SHARED, "reduce_gradients_of_expert_weights"), 2 * 2 * experts);
    assert_int_equal(moved("stack=megatron parallel.zero=3 precision.gradients=bf16 "
                           "frozen.layers=46 recompute.kind=full",
                           "reduce_gradients_of_expert_weights"),
                     2 * 2 * experts);
}

/* FLOP of a device in a step of 32 sequences. */
static double executed(const char *set)
{
    struct arena arena = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    struct profile profile;
    struct stepper stepper = {.routing = NULL};
    struct step_time step;
    struct err err = {0};
    plan_set(base, set, &arena, plan);
    assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
    assert_int_equal(stepper_build(&stepper, plan, &profile, &arena, &err), STATUS_OK);
    assert_true(stepper_time(&stepper, NULL, &step));
    stepper_release(&stepper);
    arena_release(&arena);
    return step.executed_flop;
}

/* Twice the stages, half the layers and half the replicas: a device computes as much, whichever
 * stages the layers are in that run backward. */
static void stages_run_backward_what_is_theirs(void **state)
{
    (void)state;
#define STEP "stack=megatron workload.global_batch=32 frozen.layers=30 "
    const double one = executed(STEP);
    static const char *const pipelines[] = {STEP "parallel.pp=2", STEP "parallel.pp=4",
                                            STEP "parallel.pp=4 parallel.vpp=2",
                                            STEP "parallel.pp=2 frozen.modules=[experts]"};
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(executed(pipelines[i]) / one - 1) < 1e-9);
    assert_true(fabs(executed(pipelines[3]) / executed(STEP "frozen.modules=[experts]") - 1) <
                1e-9);
    assert_true(executed(STEP "frozen.layers=0") > 1.4 * one);
}

/* ---- optimizers that step whole weights ---- */

/* q of 4,096 x 2,048, k and v of 512 x 2,048, the output of 2,048 x 4,096: longer sides of
 * 12,288 in all, the others 5,120, times rank 128 in 48 layers. Experts are one parameter, no
 * linear layer: their moments are whole. */
static void projected_gradients(void **state)
{
    (void)state;
    const uint64_t linear = LAYERS * UINT64_C(18874368);
    const uint64_t longer = LAYERS * UINT64_C(12288) * 128,
                   shorter = LAYERS * UINT64_C(5120) * 128;
    assert_int_equal(state_bytes("optimizer.kind=galore"),
                     6 * all + 8 * (all - linear + longer) + 4 * shorter);
    assert_int_equal(state_bytes("optimizer.kind=apollo"),
                     6 * all + 8 * (all - linear + longer));
    assert_int_equal(state_bytes("optimizer.kind=apollo optimizer.rank=1"),
                     6 * all + 8 * (all - linear + longer / 128));
    assert_int_equal(state_bytes("optimizer.kind=apollo optimizer.projected=[experts]"),
                     14 * all);
    /* the embedding's table too: 151,936 x 2,048 */
    assert_int_equal(
        state_bytes("optimizer.kind=galore optimizer.projected=[attention,embed_tokens]") -
            state_bytes("optimizer.kind=galore optimizer.projected=[attention]"),
        8 * UINT64_C(151936) * 128 + 4 * 2048 * 128 - 8 * table);
    /* no more than a side has: 512 of k and v */
    assert_int_equal(
        state_bytes("optimizer.kind=apollo optimizer.rank=1024"),
        6 * all + 8 * (all - linear + LAYERS * (1024 * UINT64_C(8192) + 512 * UINT64_C(4096))));
}

/* LOMO keeps weights alone, and of the experts' first matrix, 128 x 1,536 x 2,048, two
 * gradients and two f32 copies; AdaLOMO sums per row and column as well, and four copies. */
static void gradients_that_go(void **state)
{
    (void)state;
    const uint64_t largest = UINT64_C(128) * 1536 * 2048;
#define ALONE "cluster=h200 "
    assert_int_equal(state_bytes(ALONE "optimizer.kind=lomo"), 2 * all);
    assert_int_equal(state_bytes(ALONE "optimizer.kind=adalomo") - 2 * all,
                     state_bytes(ALONE "optimizer.kind=adafactor") - 6 * all);
    struct plan_built b;
    plan_build(base, ALONE "optimizer.kind=adalomo precision.gradients=bf16", false, &b);
    const struct buffer *gradients = plan_buffer(&b.work, "passing_gradients"),
                        *copies = plan_buffer(&b.work, "f32_updates");
    assert_int_equal(b.values[gradients->all.node], 2 * 2 * largest);
    assert_int_equal(b.values[copies->all.node], 4 * 4 * largest);
    arena_release(&b.arena);
    /* hooks of one weight each */
#define HOOKS ALONE "optimizer.kind=galore optimizer.in_backward=true precision.gradients=bf16"
    assert_int_equal(state_bytes(ALONE "optimizer.kind=galore precision.gradients=bf16") -
                         state_bytes(HOOKS),
                     2 * all);
    plan_build(base, HOOKS, false, &b);
    assert_int_equal(b.values[plan_buffer(&b.work, "passing_gradients")->all.node],
                     2 * largest);
    arena_release(&b.arena);
}

/* BAdam: weights of 2 bytes, and of one layer's 623,120,640 parameters gradients, an f32 copy
 * and moments; on the device where all is, or an eighth under DeepSpeed's stage 3. Its step
 * makes f32 gradients of the layer. Gradients of weights are those of one layer of 48, the
 * head's is none. */
static void layers_take_turns(void **state)
{
    (void)state;
#define TURNS "optimizer.one_layer=true precision.gradients=bf16 precision.master=f32 "
    assert_int_equal(state_bytes(TURNS "cluster=h200"), 2 * all + 14 * layer);
    assert_int_equal(state_bytes(TURNS "stack=deepspeed parallel.zero=3"),
                     2 * all / 8 + 14 * layer / 8);
    struct plan_built b;
    plan_build(base, TURNS "cluster=h200", false, &b);
    assert_int_equal(b.values[plan_buffer(&b.work, "expert_f32_gradients")->all.node],
                     4 * experts);
    arena_release(&b.arena);
}

/* LISA: gradients of three layers of 48, of the ends and the last norm, moments of all. */
static void layers_are_drawn(void **state)
{
    (void)state;
    const uint64_t ends = 2 * table + HIDDEN;
#define DRAWN(n) "cluster=h200 optimizer.active_layers=" #n " "
    assert_int_equal(state_bytes(DRAWN(3)), 2 * all + 4 * (3 * layer + ends) + 8 * all);
    assert_int_equal(state_bytes(DRAWN(48)), 14 * all);
    assert_int_equal(state_bytes(DRAWN(3) "optimizer.kind=sgd precision.moments=none"),
                     2 * all + 4 * (3 * layer + ends));
}

/* Adam-mini: a moment of all, and of embedding and head, 151,936 x 2,048 each, another. */
static void squares_of_the_ends_alone(void **state)
{
    (void)state;
    assert_int_equal(state_bytes("optimizer.kind=adam_mini"), (2 + 4 + 4) * all + 8 * table);
    assert_int_equal(state_bytes("optimizer.kind=adam_mini frozen.modules=[lm_head]"),
                     10 * all - 8 * table + 4 * table);
    assert_int_equal(state_bytes("optimizer.kind=adam_mini parallel.zero=3"),
                     (10 * all + 8 * table) / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_trained_has_states),
        cmocka_unit_test(a_projector_alone_is_trained),
        cmocka_unit_test(factors_of_what_is_trained),
        cmocka_unit_test(backward_keeps_what_it_reads),
        cmocka_unit_test(gradients_of_weights_that_are_trained),
        cmocka_unit_test(useful_work),
        cmocka_unit_test(only_gradients_that_are_there_are_reduced),
        cmocka_unit_test(stages_run_backward_what_is_theirs),
        cmocka_unit_test(projected_gradients),
        cmocka_unit_test(gradients_that_go),
        cmocka_unit_test(layers_take_turns),
        cmocka_unit_test(layers_are_drawn),
        cmocka_unit_test(squares_of_the_ends_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
