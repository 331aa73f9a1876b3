/* What the host of an engine takes for what no graph launches: kernels of a layer counted in
 * the engines' modules, and how steps with all, some and no graphs order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "sim/step/interval.h"
#include "sim/time/launched.h"
#include "support/plans.h"
#include "support/timed.h"

static const char decode[] = "model: qwen3-30b-a3b\ncluster: h100-2x1\nstack: vllm\n"
                             "workload: {mode: decode, micro_batch: 8, context_length: 2048}\n"
                             "parallel: {tp: 2}\n";

static double step_s(const char *set)
{
    struct timed t;
    timed_open(&t, decode, set);
    timed_close(&t);
    return t.step.step_s;
}

/* Of a layer with experts, where Python launches all of them. */
static double kernels_of(const char *set)
{
    struct timed t;
    double sum = 0;
    timed_open(&t, decode, set);
    for (size_t i = 0; i < t.s.work.n_ops; i++)
        if (t.s.work.ops[i].segment == SEGMENT_MOE)
            sum += launched_s(&t.s, GRAPHS_NONE, &t.s.work.ops[i],
                              (enum profile_item)t.s.item[i]) /
                   t.s.pricing.rates.eager_s;
    timed_close(&t);
    return sum;
}

/* Qwen3 in 16 bits: norm, qkv, norms of q and k, rotary embedding, cache, attention, output and
 * its sum; norm, gate, top-k; a fill, the layout's two, product, activation, product, sum, and
 * the ranks': 20 (vLLM qwen3_moe.py, fused_moe.py). gpt-oss has no norms of q and k.
 * DeepSeek-V3 in 8 bits, every product but the gate's with a quantisation before it: norm,
 * both latents down in one, two norms, q up, rotary embedding, cache, into latent, attention
 * and what joins its parts, out of latent, output and sum: 20; norm, gate, top-k in two: 4;
 * shared experts 6 with the sum; routed ones 9 with the ranks' sum: 39 (deepseek_v2.py,
 * mla/common.py). The list has fewer small ones. */
static void kernels_are_those_of_the_modules(void **state)
{
    (void)state;
    const struct {
        const char *set;
        double kernels;
    } rows[] = {
        {"stack.graphs=none", 20},
        {"stack=sglang stack.graphs=none", 20},
        {"model=gpt-oss-120b stack.graphs=none", 18},
        {"model=deepseek-v3 cluster=h200-8x1 parallel.tp=8 stack.graphs=none", 39},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double kernels = kernels_of(rows[i].set);
        print_message("%s: %.0f, by hand %.0f\n", rows[i].set, kernels, rows[i].kernels);
        if (fabs(kernels - rows[i].kernels) > 0.2 * rows[i].kernels)
            fail_msg("%s: %.1f kernels a layer, by hand %.0f", rows[i].set, kernels,
                     rows[i].kernels);
    }
}

/* The more is captured, the less the host has to do; a step by Python alone is bound by it
 * until the device is slower, and no slower then. */
static void graphs_order_steps(void **state)
{
    (void)state;
    static const char *const stacks[] = {"vllm", "sglang", "trtllm"};
    static const unsigned batches[] = {1, 8, 64, 256};
    for (size_t i = 0; i < 3; i++)
        for (size_t b = 0; b < 4; b++) {
            double s[3];
            static const char *const graphs[] = {"full", "partial", "none"};
            for (size_t g = 0; g < 3; g++) {
                char set[128];
                snprintf(set, sizeof set, "stack=%s stack.graphs=%s workload.micro_batch=%u",
                         stacks[i], graphs[g], batches[b]);
                s[g] = step_s(set);
            }
            print_message("%s, %u: %.2f, %.2f, %.2f ms\n", stacks[i], batches[b], 1e3 * s[0],
                          1e3 * s[1], 1e3 * s[2]);
            assert_true(s[0] <= s[1] + 1e-4 && s[1] <= s[2] + 1e-4);
            assert_true(batches[b] > 8 || s[2] > 1.8 * s[0]);
            assert_true(batches[b] < 256 || s[2] < 1.15 * s[0]);
        }
}

/* No run of vLLM without graphs was at hand: the interval has what a launch may take. */
static void intervals_have_what_a_launch_may_be(void **state)
{
    (void)state;
    static const char *const sets[] = {"stack.graphs=full", "stack.graphs=none",
                                       "stack.graphs=none workload.micro_batch=1024"};
    double more[3];
    for (size_t i = 0; i < 3; i++) {
        struct timed t;
        timed_open(&t, decode, sets[i]);
        more[i] = interval_of(&t.s, &t.profile, NULL, t.step.step_s, 0.4).more;
        timed_close(&t);
    }
    assert_true(fabs(more[0] - 1.4) < 1e-9);
    assert_true(more[1] > 3 && more[1] < 3.5); /* 63 us where 20 are assumed */
    assert_true(more[2] < 2);
}

/* vLLM's compiled code launches what no graph was captured for; SGLang's modules do. */
static void steps_beyond_graphs_are_compiled(void **state)
{
    (void)state;
    const char *large = "stack.graph_batch=4";
    double vllm = step_s(large), full = step_s("stack.graphs=full"),
           none = step_s("stack.graphs=none"),
           sglang = step_s("stack=sglang stack.graph_batch=4");
    assert_true(vllm < 1.05 * full);
    assert_true(sglang > 0.8 * none); /* its all-reduce has the norms in it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_those_of_the_modules),
        cmocka_unit_test(graphs_order_steps),
        cmocka_unit_test(intervals_have_what_a_launch_may_be),
        cmocka_unit_test(steps_beyond_graphs_are_compiled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
