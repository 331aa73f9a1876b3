/* sim/step/link_spread: tails by a stated jitter of links, by hand and by their laws. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/read/load.h"
#include "sim/step/link_spread.h"
#include "sim/step/time.h"

static void percentiles_by_hand(void **state)
{
    (void)state;
    const double one[] = {10}, two[] = {0, 100}, three[] = {1, 2, 3};
    /* the normal's 0.99 quantile is 2.3263 */
    assert_true(fabs(link_spread_percentile(one, 1, 1, 0.99) - 12.3263) < 1e-3);
    assert_true(fabs(link_spread_percentile(one, 1, 1, 0.5) - 10) < 1e-6);
    /* half of the mass lies at 0: of the other half 0.98, whose quantile is 2.0537 */
    assert_true(fabs(link_spread_percentile(two, 2, 1, 0.99) - 102.0537) < 1e-3);
    assert_true(fabs(link_spread_percentile(three, 3, 0, 0.5) - 2) < 1e-12);
}

/* One layer's exchanges: 4096 tokens x 8 choices x 2048 x 2 B, 7 of 8 to other ranks, over
 * 900 GB/s. */
static const char base[] = "model: qwen3-30b-a3b\ncluster: b200-8x1\nstack: megatron\n"
                           "parallel: {ep: 8}\nmoe: {path: ragged_a2a, buffer: balanced}\n"
                           "workload: {sequence_length: 4096, micro_batch: 1}\n";

static struct time_report timed(const char *jitter, const char *batch, struct arena *arena)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct profile *profile = arena_alloc(arena, 1, sizeof *profile);
    struct time_report time;
    struct err err = {0};
    const struct override sets[] = {{"cluster.node.link_jitter", jitter, "test"},
                                    {"workload.global_batch", batch, "test"}};
    if (plan_load_text("test", base, sizeof base - 1, sets, 2, arena, plan, NULL, &err) !=
            STATUS_OK ||
        profile_load(plan, arena, profile, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    const struct time_ask ask = {.profile = profile, .spread = true};
    if (time_of(plan, &ask, arena, &time, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return time;
}

static void a_layers_exchanges_by_hand(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct time_report time = timed("0.1", "8", &arena);
    double wire = 4096.0 * 8 * 2048 * 2 * 7 / 8 / 900e9, quantile = 2.3263;
    /* dispatch and return, as long as each other; the profile's rate is 0.945 of the link */
    double least = quantile * 0.1 * sqrt(2) * wire,
           late = time.layer.forward_p99_link_s - time.layer.at.forward_s;
    assert_true(time.jitter && time.layer.jitter);
    assert_true(late > least && late < 1.3 * least);
    /* backward has the same two */
    double both = time.layer.forward_backward_p99_link_s - time.layer.at.forward_backward_s;
    assert_true(fabs(both / late - sqrt(2)) < 1e-3);
    /* balance is asserted: routing alone has no tail */
    assert_true(fabs(time.step_p99_routing_s / time.step_s - 1) < 1e-12);
    assert_true(fabs(time.step_p99_s / time.step_p99_link_s - 1) < 1e-9);
    arena_release(&arena);
}

static void laws(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct time_report none = timed("0", "8", &arena), one = timed("0.1", "8", &arena),
                       two = timed("0.2", "8", &arena), more = timed("0.1", "32", &arena);
    assert_false(none.jitter);
    assert_true(fabs(none.step_p99_s / none.step_s - 1) < 1e-12);
    assert_true(fabs(one.step_s / none.step_s - 1) < 1e-12); /* the expected step stays */
    double late = one.step_p99_link_s - one.step_s;
    assert_true(fabs((two.step_p99_link_s - two.step_s) / late - 2) < 1e-6);
    /* four times the micro-batches spread up to twice as far: what is reduced once does not */
    double ratio = (more.step_p99_link_s - more.step_s) / late;
    assert_true(ratio > 1 && ratio < 2 + 1e-6);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_by_hand),
        cmocka_unit_test(a_layers_exchanges_by_hand),
        cmocka_unit_test(laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
