/* What Megatron's options hold, in the worked numbers of training-stacks.md 3 and 5: HybridEP,
 * CUDA graphs, the paged stash, two micro-batches at once, written-out pipeline layouts. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/text.h"
#include "base/unit.h"
#include "plan/layout.h"
#include "sim/answer/predict.h"
#include "support/plans.h"
#include "work/piece/stage.h"
#include "work/stack/stack.h"

static const char base[] = "model: deepseek-v3\ncluster: gb200-72x1\nstack: megatron\n"
                           "parallel: {zero: 1}\nmoe: {path: deepep, buffer: balanced}\n";

static void near(double got, double expected, double within)
{
    if (fabs(got - expected) > within)
        fail_msg("%.6f is not %.6f", got, expected);
}

/* All buffers whose name begins so, for a stage of the plan (from 0) in the last of its
 * moments: persistent ones whole, others one copy. */
static double held(const char *set, const char *name, uint64_t stage)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct work work;
    struct slots slots;
    double bytes = 0;
    plan_set(base, set, &arena, &plan);
    if (work_build(&plan, &arena, &work, &err))
        fail_msg("%s: %s", set, err.text);
    slots_from_plan(&plan, &slots);
    unsigned n = slots_set_stage(&plan, stage, 0, &slots);
    slots_set_stage(&plan, stage, n - 1, &slots);
    uint64_t *values = arena_alloc(&arena, work.sizes.n, sizeof *values);
    assert_true(sizes_eval(&work.sizes, &slots, values));
    for (size_t i = 0; i < work.n_buffers; i++)
        if (text_starts(work.buffers[i].name, name))
            bytes += (double)values[work.buffers[i].all.node];
    arena_release(&arena);
    return bytes / GIB;
}

static void hybrid_ep(void **state)
{
    (void)state;
#define HYBRID "moe.library=hybrid_ep "
    near(held(HYBRID "cluster=h200-8x1 parallel.ep=8", "hybrid_ep_nvl", 0), 0.4756, 5e-5);
    near(held(HYBRID "cluster=gb200-64x1 parallel.ep=64", "hybrid_ep_nvl", 0), 3.8047, 5e-5);
    near(held(HYBRID "cluster=gb200-64x1 parallel.ep=64", "hybrid_ep_rdma", 0), 0, 0);
    near(held(HYBRID "cluster=h200-8x8 parallel.ep=64", "hybrid_ep_nvl", 0), 3.5859, 5e-5);
    near(held(HYBRID "cluster=h200-8x8 parallel.ep=64", "hybrid_ep_rdma", 0), 1.2241, 5e-5);
    near(held(HYBRID "model=qwen3-30b-a3b cluster=h200-8x1 parallel.ep=8 "
                     "workload.sequence_length=8192",
              "hybrid_ep_nvl", 0),
         0.2852, 5e-5);
    near(held(HYBRID "cluster=h200-8x1 parallel.ep=8", "deepep", 0), 0, 0);
}

/* Eight micro-batches of four layers, of 58,720,256 bytes each. */
static void graphs_keep_their_inputs(void **state)
{
    (void)state;
#define FOUR                                                                                   \
    "moe.path=ragged_a2a model.layers=32 model.dense_layers=0 cluster=h200-8x1 parallel.pp=8 "
    near(held(FOUR "stack.graphs=partial", "graph_inputs", 0), 1.75, 0);
    near(held("moe.path=ragged_a2a model.layers=4 model.dense_layers=0 cluster=h200-8x1 "
              "stack.graphs=partial",
              "graph_inputs", 0),
         4 * 58720256 / (double)GIB, 0);
    near(held("parallel.ep=8 cluster=h200-8x1 workload.global_batch=64 stack.graphs=full",
              "graph_batches", 0),
         2 * 8 * 4096 * 28 / (double)GIB, 0);
    /* the update's copies stand beside the graph's memory */
    near(
        held("parallel.ep=8 cluster=h200-8x1 precision.gradients=bf16 stack.graphs=full",
             "f32_gradients", 0) -
            held("parallel.ep=8 cluster=h200-8x1 precision.gradients=bf16", "f32_gradients", 0),
        0, 0);
}

static void the_stash_packs_saved_rows(void **state)
{
    (void)state;
#define STASH "model.dense_layers=3 cluster=h200-8x1 parallel.ep=8 moe.buffer=1.5 "
    double stash = held(STASH "moe.paged_stash=true", "stash_", 0);
    double pages = held(STASH "moe.paged_stash=true", "stash_pages_", 0);
    near(stash - pages, 51.84, 5e-3);
    assert_true(pages > 0 && pages < 0.01);
    /* two layers' rows beside them */
    near(held(STASH "moe.paged_stash=true", "expert_input", 0) +
             held(STASH "moe.paged_stash=true", "expert_gate_up", 0) +
             held(STASH "moe.paged_stash=true", "expert_activated", 0),
         2 * 1.21875, 1e-9);
}

/* Layers of two kinds share the pages: qwen3-next has 12 with attention and 36 without, each
 * with 1,024 tokens x 10 experts, 1.1 times, in bf16. */

static void kinds_of_layers_share_a_stash(void **state)
{
    (void)state;
#define KINDS                                                                                  \
    "model=qwen3-next-80b-a3b model.mtp_enabled=false cluster=h200-8x1 parallel.ep=8 "         \
    "workload.sequence_length=1024 workload.micro_batch=1 moe.path=ragged_a2a "
    double rows = 48 * 1024 * 10 * 11 / 10;
    near(held(KINDS "moe.paged_stash=true", "stash_expert_input", 0), rows * 2048 * 2 / GIB,
         1e-9);
    near(held(KINDS "moe.paged_stash=true", "stash_pages_expert_input", 0),
         rows / 64 * 16 / GIB, 1e-9);
}

/* ---- pipelines ---- */

static struct stage stage_of(const char *set, uint64_t index, unsigned moment)
{
    struct arena arena = {0};
    struct plan plan;
    struct params params;
    struct stage stage;
    plan_set(base, set, &arena, &plan);
    params_count(&plan.model, &params);
    stage_at(&plan, index, moment, &params, &stage);
    arena_release(&arena);
    return stage;
}

/* PP 1: L + 1 layers' tensors; interleaved: one more forward in the warm-up. */
static void experts_overlap_with_another_micro_batch(void **state)
{
    (void)state;
#define OVERLAP " cluster=h200-8x8 parallel.ep=8 stack.overlap.ep=true"
    assert_int_equal(stage_of(OVERLAP, 0, 0).in_flight[KIND_MOE], (59 * 1000 + 57) / 58);
#define INTER                                                                                  \
    "model.layers=64 model.dense_layers=0 parallel.pp=4 parallel.vpp=4 "                       \
    "parallel.schedule=interleaved cluster=h200-8x8 parallel.ep=8"
    struct stage without = stage_of(INTER, 0, 0), with = stage_of(INTER OVERLAP, 0, 0);
    /* 4 layers a chunk of 16 */
    assert_int_equal(with.in_flight[KIND_MOE] - without.in_flight[KIND_MOE], 4 * 1000 / 16);
    assert_true(held(OVERLAP, "beside_", 0) > 0);
    near(held("cluster=h200-8x8 parallel.ep=8", "beside_", 0), 0, 0);
}

static void layouts_are_read(void **state)
{
    (void)state;
    struct layout layout;
    assert_true(layout_read("Et*3|(tt|)*29,m|L", &layout));
    assert_int_equal(layout.n, 32);
    assert_int_equal(layout.chunk[0].layers, 3);
    assert_true(layout.chunk[0].embedding && !layout.chunk[0].loss);
    assert_int_equal(layout.chunk[29].layers, 2);
    assert_int_equal(layout.chunk[30].modules, 1);
    assert_true(layout.chunk[31].loss && !layout.chunk[31].layers);
    assert_false(layout_is_plain(&layout));
    assert_true(layout_read("Et*13|t*14,L", &layout) && layout_is_plain(&layout));
    assert_true(layout_read("E||tL", &layout));
    assert_int_equal(layout.n, 3);
    static const char *const wrong[] = {"Etx", "E(t", "Et)", "E((t)*2)L"};
    for (size_t i = 0; i < 4; i++)
        assert_false(layout_read(wrong[i], &layout));
}

/* pp 16, vpp 2: rank 0 has Ettt and tt, rank 14 tt and m, rank 15 tt and L. */
static void ends_may_stand_alone(void **state)
{
    (void)state;
#define ALONE                                                                                  \
    "moe.path=ragged_a2a cluster=h200-8x16 parallel.pp=16 parallel.vpp=2 "                     \
    "parallel.schedule=interleaved model.mtp_enabled=true "                                    \
    "parallel.layout=Et*3|(tt|)*29,m|L"
    struct stage first = stage_of(ALONE, 0, 0), modules = stage_of(ALONE, 14, 0);
    struct stage last = stage_of(ALONE, 15, 0);
    assert_int_equal(first.dense_layers + first.moe_layers, 5);
    assert_true(first.embedding && !first.head);
    assert_int_equal(modules.moe_layers, 3);
    assert_int_equal(modules.mtp_layers, 1);
    assert_false(modules.head);
    assert_int_equal(last.moe_layers, 2);
    assert_true(last.head);
    /* the modules' rank has a table and a head of its own beside the head's rank */
    assert_true(modules.dense_parameters > 2 * UINT64_C(129280) * 7168);
    near(held(ALONE, "empty_chunk_input", 14), 0, 0);
}

/* A chunk of nothing passes its input on, and keeps it until backward. */
static void empty_chunks_keep_their_input(void **state)
{
    (void)state;
#define EMPTY                                                                                  \
    "moe.path=ragged_a2a model.layers=6 model.dense_layers=0 cluster=h200-8x4 parallel.pp=4 "  \
    "parallel.layout=Et*3||t*3|L"
    struct stage second = stage_of(EMPTY, 1, 0);
    assert_int_equal(second.dense_layers + second.moe_layers, 0);
    assert_int_equal(second.dense_parameters + second.expert_parameters, 0);
    assert_int_equal(second.empty_in_flight, 3);
    near(held(EMPTY, "empty_chunk_input", 1), 3 * 58720256 / (double)GIB, 0);
    near(held(EMPTY, "empty_chunk_input", 0), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid_ep),
        cmocka_unit_test(graphs_keep_their_inputs),
        cmocka_unit_test(the_stash_packs_saved_rows),
        cmocka_unit_test(kinds_of_layers_share_a_stash),
        cmocka_unit_test(experts_overlap_with_another_micro_batch),
        cmocka_unit_test(layouts_are_read),
        cmocka_unit_test(ends_may_stand_alone),
        cmocka_unit_test(empty_chunks_keep_their_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
