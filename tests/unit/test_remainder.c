/* Experts that ep does not divide, worked out by hand: vLLM's first ranks hold one more
 * (determine_expert_map), and the fullest is what memory and a step's time are of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sim/answer/predict.h"
#include "support/plans.h"
#include "work/list/dtype.h"
#include "work/rows/placement.h"
#include "work/stack/stack.h"

/* 128 experts of 768 over 6 ranks, 8 of them for each of 64 tokens a rank. */
#define VLLM                                                                                   \
    "model: qwen3-30b-a3b\ncluster: {base: h200-8x1, node: {devices: 6}}\nstack: vllm\n"       \
    "workload: {mode: decode, micro_batch: 64, context_length: 4096}\n"                        \
    "parallel: {tp: 1, ep: 6}\n"

/* 128 = 6 x 21 + 2: ranks 0 and 1 have 22, experts 0 to 21 and 22 to 43. */
static void first_ranks_hold_one_more(void **state)
{
    (void)state;
    static const uint64_t held[] = {22, 22, 21, 21, 21, 21}, first[] = {0, 22, 44, 65, 86, 107};
    struct arena arena = {0};
    struct err err = {0};
    struct expert_map map;
    const struct placement_ask ask = {.kind = PLACEMENT_CONTIGUOUS, .experts = 128, .ranks = 6};
    assert_int_equal(placement_make(&ask, &arena, &map, &err), STATUS_OK);
    assert_int_equal(map.most_local, 22);
    for (unsigned r = 0; r < 6; r++) {
        assert_int_equal(map.held[r], held[r]);
        assert_int_equal(map.rank[first[r]], r);
        assert_int_equal(map.local[first[r]], 0);
    }
    assert_int_equal(map.rank[127], 5);
    arena_release(&arena);
}

/* 22 experts a layer of the fullest rank; 6 x 64 x 8 rows of the group, of which it computes
 * 22 / 128: 528. The tokens that are gathered are all 384. */
static void the_fullest_rank_counts(void **state)
{
    (void)state;
    struct plan_built b;
    struct slots slots;
    plan_build(VLLM, "moe.buffer=balanced", true, &b);
    const struct buffer *weights = plan_buffer(&b.work, "expert_weights");
    assert_int_equal(b.values[weights->bytes.node] * b.values[weights->count.node],
                     UINT64_C(48) * 22 * 3 * 768 * 2048 * 2);
    slots_from_plan(&b.plan, &slots);
    assert_int_equal(slots.value[SLOT_LOCAL_EXPERTS], 22);
    assert_int_equal(slots.value[SLOT_ROWS], 528);
    arena_release(&b.arena);
}

/* What routing makes of it: of uniform choices the fullest rank has 528 at least on average,
 * and less than what the worst may have, all 3,072. */
static void routing_fills_the_fullest(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct prediction p;
    struct predict_options options = {0};
    struct err err = {0};
    plan_set(VLLM, "", &arena, &plan);
    if (predict(&plan, &options, &arena, &p, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    double fullest = (double)p.moe.routing.rows / 6 * p.moe.routing.rank_imbalance;
    assert_true(p.moe.routing.rows == 3072 && fullest >= 528 && fullest < 600);
    arena_release(&arena);
}

/* Kernels without an expert map take an even split for granted, whoever chooses them. */
static void kernels_without_a_map_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *set, *kernel; /* NULL: it runs */
    } cases[] = {
        {"stack.experts=triton", NULL},
        {"stack.experts=flashinfer", "flashinfer"},
        {"precision.weights=fp8_block stack.experts=deepgemm", NULL},
        {"precision.weights=fp8_block stack.version=0.19.0", "flashinfer"},
        {"precision.weights=int4", NULL}, /* Marlin */
        {"cluster=b200-8x1 cluster.node.devices=6 precision.weights=nvfp4", "trtllm_gen"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct plan plan;
        struct work work;
        struct err err = {0};
        plan_set(VLLM, cases[i].set, &arena, &plan);
        enum status status = work_build(&plan, &arena, &work, &err);
        const char *kernel = cases[i].kernel;
        if (kernel ? !strstr(err.text, kernel) : status != STATUS_OK)
            fail_msg("%s: %s", cases[i].set, err.text);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_ranks_hold_one_more),
        cmocka_unit_test(the_fullest_rank_counts),
        cmocka_unit_test(routing_fills_the_fullest),
        cmocka_unit_test(kernels_without_a_map_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
