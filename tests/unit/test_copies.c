/* Copies of weights beside layers, by hand, and the laws of what they take. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "plan/plan.h"
#include "sim/time/copies.h"
#include "sim/time/timeline.h"

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12 * fabs(expected) + 1e-15)
        fail_msg("%.15g is not %.15g", got, expected);
}

static double pass_s(struct layers_ahead l, double copy_s)
{
    l.copy_s = copy_s;
    return timeline_layers(&l);
}

/* vLLM's groups: layers 2 and 4 of four come, of 1 s each. One ahead: 4's copy begins when 2
 * ends, at 2, and 3 s hides 1 of it; 2's of the next step when 4 ends, which the step waits
 * for. Two ahead: each is copied again as soon as it has run, 2's at 2, 4's at 4. */
static void groups_by_hand(void **state)
{
    (void)state;
    struct layers_ahead l = {
        .layers = 4, .group = 2, .in_group = 1, .ahead = 1, .layer_s = 1, .copy_s = 0};
    assert_int_equal(timeline_coming(&l), 2);
    near(pass_s(l, 0), 4);
    near(pass_s(l, 0.5), 4.5);
    near(pass_s(l, 1.5), 4 + 0.5 + 1.5);
    l.ahead = 2;
    near(pass_s(l, 1.5), 5.5);
    near(pass_s(l, 3), 8); /* 2 to 5, then 5 to 8 */
    l.layers = 5;          /* another one behind the last copy */
    near(pass_s(l, 1.5), 5.5);
    near(pass_s(l, 0.5), 5);
    l = (struct layers_ahead){
        .layers = 3, .group = 1, .in_group = 1, .ahead = 1, .layer_s = 1, .copy_s = 0};
    near(pass_s(l, 2), 3 + 3 * 2.0); /* no layer between: in turn */
}

/* axolotl's: all come, each while the one before runs, the first while nothing does. */
static void trainers_by_hand(void **state)
{
    (void)state;
    struct layers_ahead l = {.layers = 4,
                             .group = 1,
                             .in_group = 1,
                             .ahead = 1,
                             .early = true,
                             .layer_s = 2,
                             .copy_s = 0};
    near(pass_s(l, 0), 8);
    near(pass_s(l, 1), 9);
    near(pass_s(l, 3), 4 * 3 + 2.0);
    l.ahead = 2; /* two copies on their way before the first layer */
    near(pass_s(l, 3), 14);
    near(pass_s(l, 2), 10);
}

static void passes_keep_their_bounds(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 9, 0, 0, 0, 0);
    for (unsigned i = 0; i < 2000; i++) {
        struct layers_ahead l = {.layers = 1 + rng_below(&rng, 40),
                                 .group = 1 + rng_below(&rng, 8),
                                 .ahead = 1 + rng_below(&rng, 4),
                                 .early = rng_below(&rng, 2),
                                 .layer_s = rng_uniform(&rng),
                                 .copy_s = rng_uniform(&rng) * (double)rng_below(&rng, 5)};
        l.in_group = 1 + rng_below(&rng, l.group);
        uint64_t counted = 0;
        for (uint64_t k = 0; k < l.layers; k++)
            counted += k % l.group + l.in_group >= l.group;
        assert_int_equal(counted, timeline_coming(&l));
        double layers = (double)l.layers * l.layer_s, copies = (double)counted * l.copy_s;
        double s = timeline_layers(&l);
        if (s < fmax(layers, copies) - 1e-9 || s > layers + copies + 1e-9)
            fail_msg("draw %u: %.6g, layers %.6g, copies %.6g", i, s, layers, copies);
        near(pass_s(l, 0), layers); /* a link of no time */
        struct layers_ahead more = l;
        more.layer_s += 0.1;
        assert_true(timeline_layers(&more) >= s);
        assert_true(pass_s(l, l.copy_s + 0.1) >= s - 1e-12);
        more = l;
        more.ahead++;
        assert_true(l.early || timeline_layers(&more) <= s + 1e-9);
    }
}

/* What kernels read over the link is hidden by products alone, what waits for its pass by all
 * of it. */
static void ways_by_hand(void **state)
{
    (void)state;
    struct plan plan = {.stack.kind = STACK_VLLM, .workload.mode = MODE_DECODE};
    struct stretch b = {.products_s = 6, .layers = 2};
    b.copy_s[COPY_READS] = 8;
    near(copies_left_s(&plan, &b, 10), 2);
    b.copy_s[COPY_BESIDE] = 11;
    near(copies_left_s(&plan, &b, 10), 3);
    const struct op read = {.name = "read_offloaded_weights"};
    assert_int_equal(copies_way(&plan, &read), COPY_READS);
    plan.memory.offload_group = 2;
    assert_int_equal(copies_way(&plan, &read), COPY_AHEAD);
    plan.memory.offload_group = 0;
    const struct op shard = {.name = "load_shard"}, layer = {.name = "store_layer"};
    plan.stack.kind = STACK_FSDP;
    assert_int_equal(copies_way(&plan, &shard), COPY_AHEAD);
    assert_int_equal(copies_way(&plan, &layer), COPY_TURNS);
    assert_int_equal(copies_way(&plan, &read), COPY_BESIDE);
    plan.stack.kind = STACK_SGLANG;
    assert_int_equal(copies_way(&plan, &read), COPY_TURNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_by_hand),
        cmocka_unit_test(trainers_by_hand),
        cmocka_unit_test(passes_keep_their_bounds),
        cmocka_unit_test(ways_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
