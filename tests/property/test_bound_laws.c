/* The certified worst case holds for every step of every law, and so does the analytic bound of
 * the chance of many rows: 10^5 sampled steps of each. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "work/rows/rows.h"

enum { STEPS = 100000, TOKENS = 3, RANKS = 4, EXPERTS = 16, TOP_K = 3 };

/* 12 tokens choose 3 of 16 experts, 4 on each rank: 36 rows, at most 36 of them on one. */
static const struct law {
    const char *name;
    struct routing routing;
    enum scenario scenario;
    uint64_t groups, redundant;
    bool balanced;
} laws[] = {
    {"uniform", .routing = {.distribution = DISTRIBUTION_UNIFORM}},
    {"zipf 1", .routing = {.distribution = DISTRIBUTION_ZIPF, .alpha = 1}},
    {"zipf 6", .routing = {.distribution = DISTRIBUTION_ZIPF, .alpha = 6}},
    {"zipf strided", .routing = {.distribution = DISTRIBUTION_ZIPF,
                                 .alpha = 1,
                                 .placement = PLACEMENT_STRIDED}},
    {"lognormal per step", .routing = {.distribution = DISTRIBUTION_LOGNORMAL, .sigma = 2}},
    {"lognormal fixed", .routing = {.distribution = DISTRIBUTION_LOGNORMAL,
                                    .sigma = 2,
                                    .popularity = POPULARITY_FIXED}},
    {"dirichlet", .routing = {.distribution = DISTRIBUTION_DIRICHLET, .concentration = 0.2}},
    {"hot rank", .routing = {.distribution = DISTRIBUTION_HOT_RANK, .share = 0.9}},
    {"cold", .scenario = SCENARIO_COLD},
    {"burst", .scenario = SCENARIO_BURST},
    {"profile run", .scenario = SCENARIO_PROFILE_RUN},
    {"grouped", .groups = 4},
    {"eplb",
     .routing = {.distribution = DISTRIBUTION_ZIPF, .alpha = 1, .placement = PLACEMENT_EPLB},
     .redundant = 4},
    {"balanced", .balanced = true},
};

static void prepare(const struct law *law, struct arena *arena, struct rows *rows)
{
    struct err err = {0};
    struct rows_spec spec = {.tokens = TOKENS,
                             .top_k = TOP_K,
                             .experts = EXPERTS,
                             .ranks = RANKS,
                             .redundant = law->redundant,
                             .routing = law->routing,
                             .scenario = law->scenario,
                             .balanced = law->balanced};
    spec.routing.seed = 7;
    spec.routing.samples = 512;
    if (law->groups)
        spec.router = (struct router){.groups = law->groups, .top_groups = 2};
    if (rows_prepare(&spec, arena, rows, &err) != STATUS_OK)
        fail_msg("%s: %s", law->name, err.text);
}

/* How often the fullest rank has each number of rows. */
static void count(const struct law *law, const struct rows *rows, struct arena *arena,
                  uint64_t *times)
{
    struct rows_scratch scratch;
    struct rows_step step;
    rows_scratch_init(rows, arena, &scratch);
    rows_step_init(rows, ROWS_WANT_RECEIVED, arena, &step);
    struct rows_ceilings most = rows_ceilings(TOKENS, RANKS, TOP_K, rows->map.most_local);
    for (uint64_t s = 0; s < STEPS; s++) {
        uint64_t fullest = 0;
        rows_sample_step(rows, s, &scratch, &step);
        for (uint64_t r = 0; r < RANKS; r++) {
            if (step.rank[r] > most.rows || step.received[r] > most.tokens)
                fail_msg("%s, step %lu: rank %lu has %lu rows of %lu tokens", law->name, s, r,
                         step.rank[r], step.received[r]);
            fullest = step.rank[r] > fullest ? step.rank[r] : fullest;
        }
        times[fullest]++;
    }
}

static void bounds_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        struct arena arena = {0};
        struct rows rows;
        uint64_t times[TOKENS * RANKS * TOP_K + 1] = {0}, above = 0;
        prepare(&laws[i], &arena, &rows);
        count(&laws[i], &rows, &arena, times);
        for (uint64_t room = TOKENS * RANKS * TOP_K; room > 0; room--) {
            double bound = rows_tail(&rows, room), share = (double)above / STEPS;
            /* four standard errors of what was sampled */
            if (share > bound + 4 * sqrt(fmax(bound, 1.0 / STEPS) / STEPS))
                fail_msg("%s: more than %lu rows in %g of the steps, bound %g", laws[i].name,
                         room, share, bound);
            above += times[room];
        }
        arena_release(&arena);
    }
}

/* The bound says something where samples say nothing: 5 % above the mean is seldom, 20 % all
 * but never, and only what cannot be has no chance at all. */
static void the_bound_is_of_use(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct rows rows;
    struct err err = {0};
    struct rows_spec spec = {.tokens = 4096,
                             .top_k = 8,
                             .experts = 64,
                             .ranks = 8,
                             .routing = {.distribution = DISTRIBUTION_UNIFORM, .seed = 1}};
    assert_int_equal(rows_prepare(&spec, &arena, &rows, &err), STATUS_OK);
    uint64_t mean = 4096 * 8;
    assert_true(rows_tail(&rows, mean) > 0.9);
    assert_true(rows_tail(&rows, mean + mean / 20) < 0.05);
    assert_true(rows_tail(&rows, mean + mean / 5) < 1e-12);
    assert_true(rows_tail(&rows, mean + mean / 5) > 0);
    assert_true(rows_tail(&rows, 8 * mean) <= 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(the_bound_is_of_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
