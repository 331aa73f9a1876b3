/* A search over servers that prefill and that decode: what it lists is what predict says of the
 * same plan when it is read, pool by pool; no pair of layouts with any numbers of servers
 * answers more for its devices than the first that is listed; limits are kept, and devices not
 * passed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "plan/data/profile.h"
#include "plan/derive.h"
#include "plan/pools.h"
#include "plan/read/catalog.h"
#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "sim/search/search_pools.h"
#include "support/plans.h"

enum { BEST = 3, COUNTS = 3, PARETO = 8 };

static const char text[] =
    "model: qwen3-30b-a3b\ncluster: h200-4x1\n"
    "workload: {mode: serve, input_length: 2000, output_length: 500, concurrency: 256}\n"
    "prefill: {cluster: h200-2x1}\n";

static const char *const rows[] = {
    "stack=sglang",
    "stack=vllm workload.limit.tpot=9ms",
    "stack=trtllm workload.limit.ttft=300ms workload.concurrency=900",
    "stack=sglang workload.deployments.prefill=1 workload.deployments.decode=2",
    "stack=vllm workload.deployments.decode=1 workload.concurrency=64",
    ("stack=sglang workload.request_rate=30 workload.limit.ttft=400ms "
     "workload.concurrency=1 workload.limit.tpot=20ms"),
};

enum { ROWS = sizeof rows / sizeof *rows };

static struct plan *read_plan(const char *sets, struct arena *arena)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    plan_set(text, sets, arena, plan);
    return plan;
}

/* A search's question with what it points to. */
struct asked {
    struct pools_ask ask;
    struct profile profile;
    struct search_space space[2];
    struct plan pool;
};

/* Few values: all pairs are tried beside the search. */
static struct asked *ask_of(const struct plan *plan, struct arena *arena)
{
    static const enum duty duties[] = {DUTY_PROMPTS, DUTY_ANSWERS};
    struct err err = {0};
    struct asked *a = arena_alloc(arena, 1, sizeof *a);
    assert_int_equal(profile_load(plan, arena, &a->profile, &err), STATUS_OK);
    for (unsigned i = 0; i < 2; i++) {
        plan_pool(plan, duties[i], 1, &a->pool);
        search_space_default(&a->pool, &a->space[i]);
        a->space[i].n[SEARCH_PATH] = 1;
        a->space[i].value[SEARCH_PATH][0] = plan->moe.path;
        a->space[i].n[SEARCH_PP] = i ? 1 : 2;
    }
    a->ask = (struct pools_ask){.plan = plan,
                                .profile = &a->profile,
                                .space = {&a->space[0], &a->space[1]},
                                .best = BEST,
                                .pareto = true};
    return a;
}

/* ---- predict ---- */

static const char *value_of(enum search_key key, double value, struct arena *arena)
{
    if (key == SEARCH_PATH)
        return words_path[(unsigned)value];
    if (key == SEARCH_RECOMPUTE)
        return words_recompute[(unsigned)value];
    return arena_printf(arena, "%g", value);
}

static const char *sets_of(const char *row, const struct pools_hit *hit, struct arena *arena)
{
    struct text out = {.arena = arena};
    const struct serve_apart *a = &hit->serving.apart;
    text_printf(&out, "%s workload.deployments.prefill=%llu workload.deployments.decode=%llu",
                row, (unsigned long long)a->prefill, (unsigned long long)a->decode);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            if (key != SEARCH_MICRO_BATCH && key != SEARCH_BLOCK && key != SEARCH_CAPACITY)
                text_printf(&out, " %s%s=%s", i ? "" : "prefill.",
                            search_key_full((enum search_key)key),
                            value_of((enum search_key)key, hit->side[i].value[key], arena));
    for (unsigned i = 0; i < 2; i++)
        text_printf(&out, " %sparallel.sp=%s", i ? "" : "prefill.",
                    hit->side[i].splits ? "true" : "false");
    return text_string(&out);
}

static void assert_predicted(const char *row, const struct asked *asked,
                             const struct pools_hit *hit, struct arena *arena)
{
    struct err err = {0};
    const char *sets = sets_of(row, hit, arena);
    const struct plan *plan = read_plan(sets, arena);
    const struct time_ask time = {.profile = &asked->profile};
    const struct predict_options options = {.memory_only = true, .time = &time};
    struct prediction *p = arena_alloc(arena, 1, sizeof *p);
    print_message("  %s\n", sets);
    assert_int_equal(predict(plan, &options, arena, p, &err), STATUS_OK);
    const struct serve_times *said = &p->time.serving, *found = &hit->serving;
    assert_true(said->ttft_s == found->ttft_s);
    assert_true(said->tpot_s == found->tpot_s);
    assert_true(said->tokens_per_s == found->tokens_per_s);
    assert_true(said->apart.tokens_per_s_per_device == found->apart.tokens_per_s_per_device);
    assert_string_equal(said->apart.limited_by, found->apart.limited_by);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(p->pools[i].memory.total_bytes, hit->side[i].total_bytes);
        assert_int_equal(p->pools[i].memory.verdict, hit->side[i].verdict);
    }
    if (!said->queue) {
        const struct limit *limit = &plan->workload.limit;
        assert_true(limit->ttft_s <= 0 || said->ttft_s <= limit->ttft_s);
        assert_true(limit->tpot_s <= 0 || said->tpot_s <= limit->tpot_s);
    }
}

static bool is_as_good(const struct pools_hit *a, const struct pools_hit *b)
{
    return a->device_s_per_token <= b->device_s_per_token &&
           a->serving.ttft_s <= b->serving.ttft_s && a->serving.tpot_s <= b->serving.tpot_s;
}

/* None of them beats another, the first answers most, and what is best by one is no better than
 * one of them. */
static void assert_pareto(const struct pools_result *r)
{
    for (size_t i = 0; i < r->n_pareto; i++)
        for (size_t j = 0; j < r->n_pareto; j++)
            assert_true(i == j || !is_as_good(&r->pareto[i], &r->pareto[j]));
    for (size_t i = 0; i < r->n_best; i++) {
        bool any = false;
        for (size_t j = 0; j < r->n_pareto; j++)
            any = any || is_as_good(&r->pareto[j], &r->best[i]);
        assert_true(any);
    }
    assert_true(r->pareto[0].device_s_per_token <= r->best[0].device_s_per_token);
}

static void search_says_what_predict_says(void **state)
{
    (void)state;
    static const uint64_t devices[] = {0, 14};
    for (size_t i = 0; i < ROWS; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct pools_result results[2];
        const struct plan *plan = read_plan(rows[i], &arena);
        const struct asked *asked = ask_of(plan, &arena);
        print_message("%s\n", rows[i]);
        assert_int_equal(pools_search(&asked->ask, 1, devices, 2, &arena, results, &err),
                         STATUS_OK);
        assert_true(results[0].n_best > 0);
        for (size_t j = 0; j < 2; j++) {
            for (size_t k = 0; k < results[j].n_best; k++) {
                assert_true(!devices[j] || results[j].best[k].devices <= devices[j]);
                assert_predicted(rows[i], asked, &results[j].best[k], &arena);
            }
            assert_pareto(&results[j]);
            size_t every = results[j].n_pareto / PARETO + 1;
            for (size_t k = 0; k < results[j].n_pareto; k += every)
                assert_predicted(rows[i], asked, &results[j].pareto[k], &arena);
        }
        arena_release(&arena);
    }
}

/* ---- several plans ---- */

/* Two plans of which all but the profile is alike are two searches: together they find what
 * each finds alone, and the better of both comes first. */
static void profiles_are_kept_apart(void **state)
{
    (void)state;
    static const uint64_t devices = 14;
    struct arena arena = {0};
    struct err err = {0};
    struct pools_result alone[2], both;
    const struct plan *plan = read_plan(rows[0], &arena);
    struct asked *asked[] = {ask_of(plan, &arena), ask_of(plan, &arena)};
    char *path;
    assert_int_equal(catalog_find(CATALOG_PROFILE, "vllm-serve", NULL, &arena, &path, &err),
                     STATUS_OK);
    assert_int_equal(profile_read(path, &arena, &asked[1]->profile, &err), STATUS_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pools_search(&asked[i]->ask, 1, &devices, 1, &arena, &alone[i], &err),
                         STATUS_OK);
    assert_true(alone[0].best[0].score != alone[1].best[0].score);
    const struct pools_ask asks[] = {asked[0]->ask, asked[1]->ask};
    assert_int_equal(pools_search(asks, 2, &devices, 1, &arena, &both, &err), STATUS_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(both.front[i], alone[0].front[i] + alone[1].front[i]);
        assert_int_equal(both.side[i].exact, alone[0].side[i].exact + alone[1].side[i].exact);
    }
    assert_true(both.best[0].score == fmin(alone[0].best[0].score, alone[1].best[0].score));
    arena_release(&arena);
}

/* ---- every pair ---- */

/* All layouts of a pool that fit. */
static struct search_result every_of(const struct asked *asked, struct plan *pool,
                                     unsigned side, struct arena *arena)
{
    static const enum duty duties[] = {DUTY_PROMPTS, DUTY_ANSWERS};
    struct err err = {0};
    struct search_result r;
    plan_pool(asked->ask.plan, duties[side], 1, pool);
    const struct search_ask ask = {.plan = pool,
                                   .profile = &asked->profile,
                                   .space = &asked->space[side],
                                   .alone = true,
                                   .every = true};
    assert_int_equal(search_run(&ask, 1, arena, &r, &err), STATUS_OK);
    return r;
}

static bool is_wanted(const struct plan *plan, const struct serve_times *t)
{
    const struct limit *limit = &plan->workload.limit;
    return t->apart.present && (limit->ttft_s <= 0 || t->ttft_s <= limit->ttft_s) &&
           (limit->tpot_s <= 0 || t->tpot_s <= limit->tpot_s);
}

/* Better in all three, and by more than what is right at both ends of the load may be off in
 * its middle: a layout that neither is the fastest full nor the soonest empty is not looked at
 * (2.7 % at most in these rows). */
static bool beats_clearly(const struct pools_hit *a, const struct pools_hit *b)
{
    return is_as_good(a, b) && a->device_s_per_token < 0.95 * b->device_s_per_token;
}

/* The most tokens a second of a device, of requests in flight; no pair beats one that was found
 * not to be beaten. */
static double most_of(const struct asked *asked, const struct search_result sides[2],
                      const struct pools_result *found, struct arena *arena)
{
    const struct plan *own = asked->ask.plan;
    struct plan *plans = arena_alloc(arena, 2, sizeof *plans);
    struct evaluator e = {0};
    double most = 0;
    const uint64_t said[] = {plan_deployments(own, DUTY_PROMPTS),
                             plan_deployments(own, DUTY_ANSWERS)};
    for (size_t i = 0; i < sides[0].n_best * sides[1].n_best * COUNTS * COUNTS; i++) {
        const uint64_t n[] = {i % COUNTS + 1, i / COUNTS % COUNTS + 1};
        size_t pair = i / COUNTS / COUNTS;
        struct pools_hit hit = {.side = {sides[0].best[pair % sides[0].n_best],
                                         sides[1].best[pair / sides[0].n_best]}};
        struct serve_times t;
        struct step_time step;
        hit.serving.apart.prefill = n[0];
        hit.serving.apart.decode = n[1];
        if ((said[0] && said[0] != n[0]) || (said[1] && said[1] != n[1]))
            continue;
        pools_plan(&asked->ask, &hit, &plans[0], &plans[1]);
        if (!time_serve(&e, &plans[1], &asked->profile, &step, &t) || !is_wanted(own, &t))
            continue;
        most = fmax(most, t.apart.tokens_per_s_per_device);
        hit.serving = t;
        hit.device_s_per_token = (1 + 1e-9) / t.apart.tokens_per_s_per_device;
        for (size_t j = 0; j < found->n_pareto; j++)
            assert_true(!beats_clearly(&hit, &found->pareto[j]));
    }
    evaluator_release(&e);
    return most;
}

static void nothing_better_is_missed(void **state)
{
    (void)state;
    static const uint64_t any = 0;
    for (size_t i = 0; i < ROWS; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct pools_result result;
        const struct plan *plan = read_plan(rows[i], &arena);
        if (plan_arrives(plan)) {
            arena_release(&arena);
            continue;
        }
        struct asked *asked = ask_of(plan, &arena);
        assert_int_equal(pools_search(&asked->ask, 1, &any, 1, &arena, &result, &err),
                         STATUS_OK);
        struct plan *pools = arena_alloc(&arena, 2, sizeof *pools);
        const struct search_result sides[] = {every_of(asked, &pools[0], 0, &arena),
                                              every_of(asked, &pools[1], 1, &arena)};
        double most = most_of(asked, sides, &result, &arena);
        double found = result.best[0].serving.apart.tokens_per_s_per_device;
        print_message("%s: %zu x %zu layouts, %zu x %zu stay, %zu of %zu pairs: %.6g, all "
                      "%.6g\n",
                      rows[i], sides[0].n_best, sides[1].n_best, result.front[0],
                      result.front[1], result.exact, result.pairs, found, most);
        assert_true(found >= most * (1 - 1e-9));
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search_says_what_predict_says),
        cmocka_unit_test(profiles_are_kept_apart),
        cmocka_unit_test(nothing_better_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
