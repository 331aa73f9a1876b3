/* What a step asks of a rank where every layer is routed for itself: percentiles taken from 200
 * sampled layers hold for steps of layers that were never sampled. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/stat.h"
#include "plan/read/load.h"
#include "sim/moe/demand_step.h"
#include "work/piece/stage.h"

enum { STEPS = 1000, LAYERS = 14, TOKENS = 4096 };

#define PLAN                                                                                   \
    "model: olmoe-1b-7b\ncluster: h100-8x1\nstack: megatron\n"                                 \
    "workload: {mode: train, sequence_length: 4096, micro_batch: 1}\n"                         \
    "parallel: {ep: 8}\nmoe: {path: deepep}\n"

/* `law`: distribution, its parameter and where experts lie. `above`: how far the percentile of
 * the fullest of all layers may lie above what was seen: Gumbel's tail is longer than that of
 * counts, and of sums of few popularities. `apart`: most that a rank's mean over layers may be
 * of one layer's percentile. */
static const struct {
    const char *law[3][2];
    double above, apart;
} laws[] = {
    {{{"distribution", "uniform"}}, 1.01, 1},
    {{{"distribution", "zipf"}, {"alpha", "1"}, {"placement", "strided"}}, 1.01, 1},
    {{{"distribution", "zipf"}, {"alpha", "1"}, {"placement", "contiguous"}}, 1.01, 1},
    {{{"distribution", "lognormal"}, {"sigma", "0.5"}}, 1.15, 0.8},
    {{{"distribution", "lognormal"}, {"sigma", "1"}}, 1.15, 0.65},
    {{{"distribution", "dirichlet"}, {"concentration", "1"}}, 1.15, 0.7},
    {{{"distribution", "hot_rank"}, {"share", "0.3"}}, 1.02, 1},
};
enum { LAWS = sizeof laws / sizeof *laws };

/* Samples of one seed of a law. */
static void sample(size_t law, const char *seed, const char *samples, struct arena *arena,
                   struct demand_source *source, struct demand_spread *spread)
{
    struct err err = {0};
    struct origins origins;
    struct plan plan;
    struct override sets[5] = {{"moe.routing.seed", seed, "--set"},
                               {"moe.routing.samples", samples, "--set"}};
    char key[3][40];
    size_t n = 2;
    for (size_t i = 0; i < 3 && laws[law].law[i][0]; i++) {
        snprintf(key[i], sizeof key[i], "moe.routing.%s", laws[law].law[i][0]);
        sets[n++] = (struct override){key[i], laws[law].law[i][1], "--set"};
    }
    if (plan_load_text("step.yaml", PLAN, strlen(PLAN), sets, n, arena, &plan, &origins, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    if (demand_prepare(&plan, NULL, (struct demand_laws){0}, arena, source, &err))
        fail_msg("%s", err.text);
    demand_sample(source, TOKENS, false, spread);
}

/* Rows of the rank with most over all layers, per layer, and of the fullest of them, in steps
 * of layers with seeds of their own. */
static void see(size_t law, double *mean, double *fullest)
{
    static double sum[STEPS][8];
    memset(sum, 0, sizeof sum);
    memset(fullest, 0, STEPS * sizeof *fullest);
    for (int layer = 0; layer < LAYERS; layer++) {
        struct arena arena = {0};
        struct demand_source source;
        struct demand_spread spread;
        char seed[16];
        snprintf(seed, sizeof seed, "%d", 100 + layer);
        sample(law, seed, "1000", &arena, &source, &spread);
        for (size_t s = 0; s < STEPS; s++) {
            const float *rows = source.ranks + s * DEMAND_PER_RANK * source.stride;
            for (size_t r = 0; r < 8; r++)
                sum[s][r] += (double)rows[r];
            fullest[s] = fmax(fullest[s], (double)spread.samples[s].rows);
        }
        arena_release(&arena);
    }
    for (size_t s = 0; s < STEPS; s++) {
        mean[s] = 0;
        for (size_t r = 0; r < 8; r++)
            mean[s] = fmax(mean[s], sum[s][r] / LAYERS);
    }
    stat_sort(mean, STEPS);
    stat_sort(fullest, STEPS);
}

/* Two standard errors of the 99th percentile of what was seen. */
static double seen_error(const double *sorted)
{
    return stat_percentile(sorted, STEPS, 0.99 + 2 * sqrt(0.99 * 0.01 / STEPS)) -
           stat_percentile(sorted, STEPS, 0.99);
}

static void compare(size_t law, const char *seed, const double *mean, const double *fullest)
{
    const struct demand_stages stages = {.n = 1, .layers = {{LAYERS, LAYERS}}};
    struct arena arena = {0};
    struct demand_source source;
    struct demand_spread spread;
    struct demand_layers layers;
    struct slots at_p99, at_high;
    sample(law, seed, "200", &arena, &source, &spread);
    demand_layers_of(&source, &spread, LAYERS, &layers);
    demand_layers_to_slots(&layers, &stages, DEMAND_P99, &at_p99);
    demand_layers_to_slots(&layers, &stages, DEMAND_HIGH, &at_high);
    const struct slots_routed *p99 = &at_p99.routed[0], *high = &at_high.routed[0];
    double held = (double)p99->mean[0], most = (double)p99->fullest[0];
    double seen = stat_percentile(mean, STEPS, 0.99), error = seen_error(mean);
    double seen_most = stat_percentile(fullest, STEPS, 0.99);
    /* three standard errors: 56 comparisons are made */
    if (fabs(held - seen) > 1.5 * hypot((double)high->mean[0] - held, error))
        fail_msg("law %zu, seed %s: p99 of the mean %g, seen %g", law, seed, held, seen);
    if (most < 0.995 * seen_most || most > laws[law].above * seen_most)
        fail_msg("law %zu, seed %s: p99 of the fullest %g, seen %g", law, seed, most,
                 seen_most);
    if (held > laws[law].apart * (double)spread.p99.rows)
        fail_msg("law %zu, seed %s: p99 of the mean %g, of one layer %lu", law, seed, held,
                 spread.p99.rows);
    arena_release(&arena);
}

static void percentiles_hold(void **state)
{
    (void)state;
    static const char *const seeds[] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    for (size_t law = 0; law < LAWS; law++) {
        static double mean[STEPS], fullest[STEPS];
        see(law, mean, fullest);
        for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
            compare(law, seeds[i], mean, fullest);
    }
}

/* A stage of one layer is that layer, and no number of a step is above the certified worst. */
static void one_layer_is_itself(void **state)
{
    (void)state;
    const struct demand_stages stages = {.n = 2, .layers = {{1, 1}, {LAYERS, 2 * LAYERS}}};
    for (size_t law = 0; law < LAWS; law++) {
        struct arena arena = {0};
        struct demand_source source;
        struct demand_spread spread;
        struct demand_layers layers;
        struct slots p99, expected, high, step;
        sample(law, "1", "200", &arena, &source, &spread);
        demand_layers_of(&source, &spread, LAYERS, &layers);
        demand_layers_to_slots(&layers, &stages, DEMAND_P99, &p99);
        demand_layers_to_slots(&layers, &stages, DEMAND_EXPECTED, &expected);
        demand_layers_to_slots(&layers, &stages, DEMAND_HIGH, &high);
        assert_int_equal(p99.routed[0].mean[0], spread.p99.rows);
        assert_int_equal(p99.routed[0].fullest[0], spread.p99.rows);
        assert_int_equal(p99.routed[0].fullest[1], spread.p99.received);
        assert_int_equal(expected.routed[0].mean[2], spread.expected.padded);
        assert_int_equal(expected.routed[0].fullest[3], spread.expected.hot);
        for (unsigned i = 0; i < SLOTS_ROUTED; i++)
            assert_true(p99.routed[1].fullest[i] >= p99.routed[0].fullest[i]);
        assert_true(high.routed[1].fullest[0] <= spread.worst.rows);
        assert_true(high.routed[1].fullest[1] <= spread.worst.received);
        demand_step_to_slots(&source, &stages, 7, &step);
        assert_int_equal(step.n_routed, 2);
        assert_int_equal(step.routed[0].mean[0], spread.samples[7].rows);
        assert_int_equal(step.routed[0].fullest[3], spread.samples[7].hot);
        arena_release(&arena);
    }
}

/* What the slots of a stage take: its own entry, or that of fewer layers. */
static void stages_take_their_own(void **state)
{
    (void)state;
    struct slots slots = {.n_routed = 2,
                          .routed = {{3, {30, 31, 32, 33}, {20, 21, 22, 23}},
                                     {5, {50, 51, 52, 53}, {10, 11, 12, 13}}}};
    static const struct {
        uint64_t layers, rows, held;
    } cases[] = {{3, 30, 20}, {4, 30, 20}, {5, 50, 10}, {9, 50, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slots_take_stage(&(struct stage){.moe_layers = cases[i].layers}, &slots);
        assert_int_equal(slots.value[SLOT_ROWS], cases[i].rows);
        assert_int_equal(slots.value[SLOT_HOT_EXPERT], cases[i].rows + 3);
        assert_int_equal(slots.value[SLOT_HELD_ROWS], cases[i].held);
        assert_int_equal(slots.value[SLOT_HELD_HOT], cases[i].held + 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_hold),
        cmocka_unit_test(one_layer_is_itself),
        cmocka_unit_test(stages_take_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
