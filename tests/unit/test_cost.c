/* Costs by FLOPs and bytes, against the reference's own sums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "sim/search/cost.h"
#include "support/catalogue.h"

static void assert_near(double got, double expected, double relative)
{
    if (fabs(got - expected) > relative * fabs(expected))
        fail_msg("%.6g instead of %.6g", got, expected);
}

/* The plan of seed 000: DeepSeek-V3 on 64 MI355X, ep 8, all sharded, all recomputed. */
static void seed_plan(struct arena *arena, struct plan *plan)
{
    catalogue_plan("deepseek-v3", "mi355x-8x8", "maxtext", arena, plan);
    plan->workload.micro_batch = 8;
    plan->parallel.ep = 8;
    plan->parallel.zero = 3;
    plan->moe.path = PATH_DEEPEP;
    plan->recompute.kind = RECOMPUTE_FULL;
    plan->precision.weights = plan->precision.gradients = plan->precision.moments = DTYPE_BF16;
}

/* training-model.md section 3: B = 440.4 GB per GPU and step over the network */
static void test_sharding(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct cost cost;
    seed_plan(&arena, &plan);
    plan.cluster.node.link_bandwidth = 0; /* what stays inside a node costs nothing */
    cost_of(&plan, &cost);
    double seconds = cost.part_s[COST_SHARDING] * 8 * 4096;
    assert_near(seconds * plan.cluster.network.bandwidth, 440.4e9, 0.005);
    arena_release(&arena);
}

/* A = 4096 p 4 (f_rest + f_attn + f_exp) = 4 x 83.48 GFLOP per token */
static void test_compute(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct cost cost;
    seed_plan(&arena, &plan);
    cost_of(&plan, &cost);
    assert_near(cost.flop_per_token, 4 * (32.38e9 + 10.23e9 + 40.87e9), 0.005);
    assert_near(cost.part_s[COST_COMPUTE], cost.flop_per_token / 2.5e15, 1e-12);
    assert_near(cost.part_s[COST_TENSOR] + cost.part_s[COST_PIPELINE] + 1, 1, 0);
    arena_release(&arena);
}

/* Half the devices in a copy of the model: as many device-seconds, and what tp adds. */
static void test_ranks(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct cost one, four;
    seed_plan(&arena, &plan);
    cost_of(&plan, &one);
    plan.parallel.tp = 4;
    cost_of(&plan, &four);
    assert_near(four.part_s[COST_COMPUTE], one.part_s[COST_COMPUTE], 1e-12);
    /* two all-reduces a layer, three passes: 12 gathers of [T, H] in bf16, 3/4 of it moved,
     * by each of four ranks */
    double bytes = 12 * 61 * 7168.0 * 2 * 0.75 * 4;
    assert_near(four.part_s[COST_TENSOR], bytes / 537.6e9, 1e-9);
    arena_release(&arena);
}

/* (pp - 1) / (m vpp) of the work */
static void test_bubble(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct cost cost;
    seed_plan(&arena, &plan);
    plan.parallel.pp = 8;
    plan.parallel.vpp = 2;
    plan.parallel.zero = 1;
    cost_of(&plan, &cost);
    double work = cost.part_s[COST_COMPUTE] + cost.part_s[COST_EXCHANGE];
    assert_near(cost.part_s[COST_PIPELINE], work * 7 / (32 * 2), 1e-12);
    arena_release(&arena);
}

/* One token a sequence: the weights have to be read all the same. */
static void test_decode(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct cost few, many;
    catalogue_plan("deepseek-v3", "h200-8x2", "generic", &arena, &plan);
    plan.workload.mode = MODE_DECODE;
    plan.parallel.ep = 16;
    plan.workload.micro_batch = 1;
    cost_of(&plan, &few);
    plan.workload.micro_batch = 64;
    cost_of(&plan, &many);
    assert_true(few.part_s[COST_COMPUTE] > 4 * many.part_s[COST_COMPUTE]);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sharding), cmocka_unit_test(test_compute),
        cmocka_unit_test(test_ranks),    cmocka_unit_test(test_bubble),
        cmocka_unit_test(test_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
