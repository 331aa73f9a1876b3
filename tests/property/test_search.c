/* The search lists exactly what trying everything would: on small clusters, on stacks with
 * static and with routed sizes, under limits that most layouts do not meet; and counts what is
 * marginal and as good. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/rule/rule.h"
#include "sim/answer/predict.h"
#include "sim/search/search.h"
#include "support/draws.h"
#include "support/random_plan.h"
#include "work/stack/stack.h"

enum { HITS = 32768, BEST = 6 };

static struct profile profile; /* generic */

struct brute {
    struct search_hit hits[HITS];
    size_t n;
    struct search_hit left[HITS]; /* marginal ones, where they are not asked for */
    size_t n_left;
};

static void small_plan(struct plan *plan, enum stack_kind stack)
{
    plan_tiny(plan);
    plan->stack.kind = stack;
    plan->stack.static_shapes = stack == STACK_MAXTEXT;
    plan->stack.fraction = 0.9;
    plan->stack.error = stack == STACK_MAXTEXT ? 0.05 : 0.1;
    plan->stack.relax = 1.1;
    plan->stack.grad_copies = 2;
    plan->workload.mode = MODE_TRAIN;
    plan->moe.path = PATH_RAGGED_A2A;
    plan->moe.routing.samples = 20;
    plan->parallel.dp = 0;
    plan->parallel.stages.n = 0;
}

static void small_space(const struct plan *plan, struct search_space *space)
{
    static const double paths[] = {PATH_CAPACITY, PATH_RAGGED_A2A, PATH_BLOCKWISE};
    search_space_default(plan, space);
    space->n[SEARCH_PATH] = 3;
    memcpy(space->value[SEARCH_PATH], paths, sizeof paths);
    space->n[SEARCH_CAPACITY] = space->n[SEARCH_BLOCK] = 2;
    space->n[SEARCH_MICRO_BATCH] = 3;
    space->n[SEARCH_VPP] = space->n[SEARCH_ETP] = 2;
    space->n[SEARCH_CP] = 3; /* lists of two and four are one */
    space->n[SEARCH_ZERO] = space->n[SEARCH_ZERO] > 2 ? 2 : space->n[SEARCH_ZERO];
}

/* The first value of a key stands for all where the path does not read it. */
static bool is_unread(const struct plan *plan, unsigned key, size_t index)
{
    bool reads = key == SEARCH_CAPACITY ? plan->moe.path == PATH_CAPACITY
                 : key == SEARCH_BLOCK  ? plan->moe.path == PATH_BLOCKWISE
                                        : true;
    return !reads && index > 0;
}

static bool make_plan(const struct plan *base, const struct search_space *space,
                      uint64_t number, struct plan *plan)
{
    size_t index[SEARCH_KEYS];
    *plan = *base;
    for (unsigned key = SEARCH_KEYS; key-- > 0;) {
        index[key] = number % space->n[key];
        number /= space->n[key];
        search_set(plan, (enum search_key)key, space->value[key][index[key]]);
    }
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        if (is_unread(plan, key, index[key]))
            return false;
    if (plan->moe.path != PATH_CAPACITY)
        plan->moe.capacity_factor = base->moe.capacity_factor;
    if (plan->moe.path != PATH_BLOCKWISE)
        plan->moe.block_size = base->moe.block_size;
    plan->parallel.sp = base->parallel.sp || base->parallel.tp == 1;
    return true;
}

/* Cheaper first, then less memory. */
static int by_cost(const void *a, const void *b)
{
    const struct search_hit *x = a, *y = b;
    if (x->seconds_per_token != y->seconds_per_token)
        return x->seconds_per_token < y->seconds_per_token ? -1 : 1;
    return x->total_bytes < y->total_bytes ? -1 : x->total_bytes > y->total_bytes;
}

/* What predict says of each point alone: memory and what is asked for only choose among them,
 * so one space is timed once. NAN: not yet. */
struct timed {
    enum stack_kind stack;
    uint64_t sequence, points;
    double *seconds;
};

static double *seconds_at(struct timed *timed, const struct plan *base, uint64_t points,
                          uint64_t number)
{
    uint64_t sequence = base->workload.sequence_length;
    if (!timed->seconds || timed->stack != base->stack.kind || timed->sequence != sequence ||
        timed->points != points) {
        free(timed->seconds);
        *timed =
            (struct timed){base->stack.kind, sequence, points, malloc(points * sizeof(double))};
        assert_non_null(timed->seconds);
        for (uint64_t i = 0; i < points; i++)
            timed->seconds[i] = (double)NAN;
    }
    return &timed->seconds[number];
}

static double seconds_of(const struct plan *plan)
{
    struct arena arena = {0};
    struct err err = {0};
    struct time_report time;
    const struct time_ask ask = {.profile = &profile};
    if (time_of(plan, &ask, &arena, &time, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    double seconds = 1 / time.tokens_per_s_per_device;
    arena_release(&arena);
    return seconds;
}

static void try_all(const struct search_ask *ask, struct brute *brute)
{
    static struct timed timed;
    const struct plan *base = ask->plan;
    const struct search_space *space = ask->space;
    uint64_t at_most = ask->at_most_bytes;
    struct evaluator evaluator = {0};
    uint64_t points = 1;
    for (unsigned key = 0; key < SEARCH_KEYS; key++)
        points *= space->n[key];
    for (uint64_t number = 0; number < points; number++) {
        struct plan plan;
        struct evaluation result;
        struct search_hit hit = {.wall = NULL};
        if (!make_plan(base, space, number, &plan) || !stack_offers(&plan))
            continue;
        evaluate(&evaluator, &plan, number, &result);
        if (!result.valid || result.verdict == VERDICT_OOM ||
            (at_most && result.peak.total_bytes > at_most))
            continue;
        double *seconds = seconds_at(&timed, base, points, number);
        *seconds = isnan(*seconds) ? seconds_of(&plan) : *seconds;
        hit.seconds_per_token = *seconds;
        hit.total_bytes = result.peak.total_bytes;
        assert_true(brute->n < HITS && brute->n_left < HITS);
        if (result.verdict == VERDICT_MARGINAL && !ask->marginal)
            brute->left[brute->n_left++] = hit;
        else
            brute->hits[brute->n++] = hit;
    }
    evaluator_release(&evaluator);
    if (brute->n_left)
        qsort(brute->left, brute->n_left, sizeof *brute->left, by_cost);
    if (brute->n)
        qsort(brute->hits, brute->n, sizeof *brute->hits, by_cost);
}

/* Whether it comes after the best of those that fit, and one that is as fast is as small. */
static bool is_beaten(const struct brute *brute, const struct search_hit *hit)
{
    double last = -1;
    size_t faster = 0;
    bool smaller = false;
    for (size_t i = 0; i < brute->n; i++) {
        const struct search_hit *other = &brute->hits[i];
        faster += other->seconds_per_token != last &&
                  other->seconds_per_token < hit->seconds_per_token;
        last = other->seconds_per_token;
        smaller = smaller || (other->seconds_per_token <= hit->seconds_per_token &&
                              other->total_bytes <= hit->total_bytes);
    }
    return faster >= BEST && smaller;
}

static size_t count_left(const struct brute *brute)
{
    size_t n = 0;
    for (size_t i = 0; i < brute->n_left; i++)
        n += (!i || brute->left[i].seconds_per_token != brute->left[i - 1].seconds_per_token) &&
             !is_beaten(brute, &brute->left[i]);
    return n;
}

static void assert_hit(const struct search_hit *got, const struct search_hit *expected,
                       const char *list, size_t i)
{
    if (got->total_bytes != expected->total_bytes ||
        got->seconds_per_token != expected->seconds_per_token)
        fail_msg("%s %zu: %llu bytes at %.17g instead of %llu at %.17g", list, i,
                 (unsigned long long)got->total_bytes, got->seconds_per_token,
                 (unsigned long long)expected->total_bytes, expected->seconds_per_token);
}

/* Of equal cost only the one with the least memory; in the Pareto set only what needs less. */
static void compare(const struct search_result *result, const struct brute *brute)
{
    size_t best = 0, pareto = 0;
    uint64_t least = UINT64_MAX;
    double last = -1;
    for (size_t i = 0; i < brute->n; i++) {
        const struct search_hit *hit = &brute->hits[i];
        if (hit->seconds_per_token == last)
            continue;
        last = hit->seconds_per_token;
        if (best < BEST) {
            assert_true(best < result->n_best);
            assert_hit(&result->best[best], hit, "best", best);
            best++;
        }
        if (hit->total_bytes >= least)
            continue;
        least = hit->total_bytes;
        assert_true(pareto < result->n_pareto);
        assert_hit(&result->pareto[pareto], hit, "pareto", pareto);
        pareto++;
    }
    assert_int_equal(result->n_best, best);
    assert_int_equal(result->n_pareto, pareto);
    assert_int_equal(result->missed, brute->n == 0);
    assert_int_equal(result->marginal, count_left(brute));
}

/* Every layout that fits, none twice, by number. */
static void compare_every(struct search_result *result, const struct brute *brute)
{
    assert_int_equal(result->n_best, brute->n);
    assert_int_equal(result->n_pareto, 0);
    for (size_t i = 1; i < result->n_best; i++)
        assert_true(result->best[i - 1].number < result->best[i].number);
    if (brute->n)
        qsort(result->best, result->n_best, sizeof *result->best, by_cost);
    for (size_t i = 0; i < brute->n; i++)
        assert_hit(&result->best[i], &brute->hits[i], "every", i);
}

/* The n asked plans ranked together, by one thread and by two. */
static void check_asks(struct search_ask *asks, size_t n)
{
    static struct brute brute;
    struct arena arena = {0};
    struct err err = {0};
    brute.n = brute.n_left = 0;
    for (size_t i = 0; draws_one_thread() && i < n; i++)
        try_all(&asks[i], &brute);
    if (draws_one_thread())
        printf("stack %d, %llu bytes: %zu fit, %zu marginal left out, %zu of them not beaten\n",
               (int)asks->plan->stack.kind,
               (unsigned long long)asks->plan->cluster.device.memory_bytes, brute.n,
               brute.n_left, count_left(&brute));
    for (unsigned threads = draws_one_thread() ? 1 : 2; threads <= 2; threads++) {
        struct pool *pool = pool_create(threads);
        struct search_result result;
        for (unsigned every = 0; every <= 1; every++) {
            for (size_t i = 0; i < n; i++) {
                asks[i].pool = pool;
                asks[i].every = every;
            }
            assert_int_equal(search_run(asks, n, &arena, &result, &err), STATUS_OK);
            if (draws_one_thread() && every)
                compare_every(&result, &brute);
            else if (draws_one_thread())
                compare(&result, &brute);
        }
        pool_free(pool);
    }
    arena_release(&arena);
}

static void check(enum stack_kind stack, uint64_t memory_bytes, uint64_t at_most, bool marginal)
{
    struct plan plan;
    struct search_space space;
    struct err err = {0};
    struct arena constants = {0};
    small_plan(&plan, stack);
    assert_int_equal(profile_load(&plan, &constants, &profile, &err), STATUS_OK);
    plan.cluster.device.memory_bytes = memory_bytes;
    small_space(&plan, &space);
    struct search_ask ask = {.plan = &plan,
                             .profile = &profile,
                             .space = &space,
                             .best = BEST,
                             .marginal = marginal,
                             .at_most_bytes = at_most};
    check_asks(&ask, 1);
    arena_release(&constants);
}

static void test_static(void **state)
{
    (void)state;
    check(STACK_MAXTEXT, 1500000, 0, false);
    check(STACK_MAXTEXT, 1500000, 0, true);
    check(STACK_MAXTEXT, 3000000, 0, false);
    check(STACK_MAXTEXT, UINT64_C(1) << 34, 2000000, true);
}

static void test_routed(void **state)
{
    (void)state;
    check(STACK_GENERIC, 1500000, 0, true);
    check(STACK_GENERIC, 1500000, 0, false);
    check(STACK_GENERIC, 3000000, 0, true);
}

/* Hits name the plan that they are a layout of: it says their tokens. */
static void check_named(const struct search_ask *asks, size_t n)
{
    struct arena arena = {0};
    struct err err = {0};
    struct search_result result;
    bool seen[2] = {false, false};
    assert_int_equal(search_run(asks, n, &arena, &result, &err), STATUS_OK);
    for (size_t i = 0; i < result.n_best; i++) {
        const struct search_hit *hit = &result.best[i];
        struct plan plan = *asks[hit->variant].plan;
        seen[hit->variant] = true;
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            search_set(&plan, (enum search_key)key, hit->value[key]);
        plan.parallel.sp = plan.parallel.sp || asks[hit->variant].plan->parallel.tp == 1;
        assert_true(seconds_of(&plan) == hit->seconds_per_token);
    }
    assert_true(seen[0] && seen[1]);
    arena_release(&arena);
}

/* What a listed layout drops is what predict says of it. */
static void check_drops(const struct search_ask *ask, const struct search_hit *hits, size_t n,
                        bool *drops, bool *keeps)
{
    for (size_t i = 0; i < n; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan plan;
        struct prediction said;
        const struct predict_options options = {.drops_mean = true};
        search_plan(ask, &hits[i], &plan);
        assert_int_equal(predict(&plan, &options, &arena, &said, &err), STATUS_OK);
        assert_true(said.moe.routing.drop_fraction == hits[i].drop_fraction);
        *drops = *drops || hits[i].drop_fraction > 0;
        *keeps = *keeps || (plan.moe.path != PATH_CAPACITY && hits[i].drop_fraction <= 0);
        arena_release(&arena);
    }
}

static void test_drops(void **state)
{
    (void)state;
    bool drops = false, keeps = false;
    for (unsigned alpha = 0; alpha < 2; alpha++) {
        struct arena arena = {0};
        struct plan plan;
        struct search_space space;
        struct search_result result;
        struct err err = {0};
        small_plan(&plan, STACK_GENERIC);
        plan.moe.routing.distribution = alpha ? DISTRIBUTION_ZIPF : DISTRIBUTION_UNIFORM;
        plan.moe.routing.alpha = alpha;
        plan.cluster.device.memory_bytes = UINT64_C(1) << 34;
        assert_int_equal(profile_load(&plan, &arena, &profile, &err), STATUS_OK);
        small_space(&plan, &space);
        const struct search_ask ask = {
            .plan = &plan, .profile = &profile, .space = &space, .best = BEST};
        assert_int_equal(search_run(&ask, 1, &arena, &result, &err), STATUS_OK);
        check_drops(&ask, result.best, result.n_best, &drops, &keeps);
        check_drops(&ask, result.pareto, result.n_pareto, &drops, &keeps);
        arena_release(&arena);
    }
    assert_true(drops && keeps);
}

/* Several plans in one search: none hides what another has, and each keeps what is its own. */
static void test_plans(void **state)
{
    struct plan plans[2];
    struct search_space space;
    struct search_ask asks[2];
    struct err err = {0};
    struct arena constants = {0};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        small_plan(&plans[i], STACK_GENERIC);
        assert_int_equal(profile_load(&plans[i], &constants, &profile, &err), STATUS_OK);
        plans[i].cluster.device.memory_bytes = 1500000;
    }
    plans[1].workload.sequence_length *= 2;
    plans[1].stack.fraction = 0.8;
    small_space(&plans[0], &space);
    for (size_t i = 0; i < 2; i++)
        asks[i] = (struct search_ask){
            .plan = &plans[i], .profile = &profile, .space = &space, .best = BEST};
    check_asks(asks, 2);
    asks[0].every = asks[1].every = true;
    asks[0].pool = asks[1].pool = NULL;
    check_named(asks, 2);
    arena_release(&constants);
}

static void test_nothing_fits(void **state)
{
    (void)state;
    check(STACK_MAXTEXT, UINT64_C(1) << 12, 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_static),       cmocka_unit_test(test_routed),
        cmocka_unit_test(test_drops),        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_nothing_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
