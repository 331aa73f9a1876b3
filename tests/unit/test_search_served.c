/* search of a served plan: every objective's first layout is the best of all that predict would
 * say, limits leave out what is later, and latencies are predict's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/search_wish.h"
#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "sim/search/search.h"

static const char served[] = "model: gpt-oss-120b\ncluster: h100-4x1\nstack: vllm\n"
                             "parallel: {tp: 4}\n"
                             "workload: {mode: serve, concurrency: 32, input_length: 1024, "
                             "output_length: 256}\n";

static struct plan *load(struct arena *arena, struct profile *profile)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct err err = {0};
    if (plan_load_text("plan.yaml", served, strlen(served), NULL, 0, arena, plan, NULL, &err) ||
        profile_load(plan, arena, profile, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    return plan;
}

static struct search_result search(const struct plan *plan, const struct profile *profile,
                                   enum search_objective objective, double most_tpot_s,
                                   struct arena *arena)
{
    struct search_space space;
    struct search_result result;
    struct err err = {0};
    struct search_ask ask = {.plan = plan,
                             .profile = profile,
                             .space = &space,
                             .best = 50,
                             .objective = objective,
                             .most_tpot_s = most_tpot_s};
    search_space_default(plan, &space);
    if (search_run(&ask, 1, arena, &result, &err))
        fail_msg("%s (%s)", err.text, err.hint);
    return result;
}

/* Ascending by what is asked for; the same best whatever is asked second. */
static void objectives_rank_layouts(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct profile profile;
    struct plan *plan = load(&arena, &profile);
    struct search_result all = search(plan, &profile, SEARCH_BY_TOKENS, 0, &arena);
    assert_true(all.n_best >= 3 && !all.missed);
    for (int by = 0; by < SEARCH_OBJECTIVES; by++) {
        struct search_result r = search(plan, &profile, (enum search_objective)by, 0, &arena);
        for (size_t i = 0; i + 1 < r.n_best; i++)
            assert_true(r.best[i].score < r.best[i + 1].score);
        for (size_t i = 0; i < all.n_best; i++) {
            const struct search_hit *hit = &all.best[i];
            const double values[] = {hit->seconds_per_token * (1 + hit->error),
                                     hit->serving.tpot_s, hit->serving.ttft_s,
                                     (double)hit->total_bytes};
            assert_true(r.best[0].score <= values[by]);
        }
    }
    arena_release(&arena);
}

static void limits_leave_out_what_is_later(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct profile profile;
    struct plan *plan = load(&arena, &profile);
    struct search_result all = search(plan, &profile, SEARCH_BY_TPOT, 0, &arena);
    double limit = all.best[all.n_best / 2].serving.tpot_s;
    struct search_result some = search(plan, &profile, SEARCH_BY_TOKENS, limit, &arena);
    assert_true(some.n_best > 0 && some.n_best <= all.n_best);
    for (size_t i = 0; i < some.n_best; i++)
        assert_true(some.best[i].serving.tpot_s <= limit);
    struct search_result none = search(plan, &profile, SEARCH_BY_TOKENS, 1e-6, &arena);
    assert_true(none.missed);
    assert_true(none.nearest.total_bytes > 0);
    arena_release(&arena);
}

/* What a hit says is what predict says of its layout. */
static void hits_are_what_predict_says(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct profile profile;
    struct plan *plan = load(&arena, &profile);
    struct search_result r = search(plan, &profile, SEARCH_BY_TPOT, 0, &arena);
    for (size_t i = 0; i < r.n_best && i < 4; i++) {
        struct plan found = *plan;
        struct prediction p;
        struct time_ask ask = {.profile = &profile};
        const struct predict_options options = {.time = &ask};
        struct err err = {0};
        for (unsigned key = 0; key < SEARCH_KEYS; key++)
            search_set(&found, (enum search_key)key, r.best[i].value[key]);
        found.parallel.sp = r.best[i].splits;
        assert_int_equal(predict(&found, &options, &arena, &p, &err), STATUS_OK);
        assert_int_equal(p.memory.total_bytes, r.best[i].total_bytes);
        assert_true(p.time.serving.tpot_s == r.best[i].serving.tpot_s);
        assert_true(p.time.serving.ttft_s == r.best[i].serving.ttft_s);
    }
    arena_release(&arena);
}

static void wishes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *limit;
        double tpot_s, ttft_s;
        bool wrong;
    } rows[] = {{"tpot=50ms", 0.05, 0, false},
                {"ttft=2s", 0, 2, false},
                {"tpot=0", 0, 0, true},
                {"tpot=fast", 0, 0, true},
                {"step=1s", 0, 0, true}};
    struct arena arena = {0};
    struct profile profile;
    struct plan *plan = load(&arena, &profile);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct search_wish wish = {.limits = &rows[i].limit, .n_limits = 1};
        struct search_ask ask = {.plan = plan};
        struct err err = {0};
        enum status status = search_wish_serving(&wish, plan, &ask, &err);
        assert_int_equal(status, rows[i].wrong ? STATUS_USAGE : STATUS_OK);
        assert_true(rows[i].wrong ||
                    (ask.most_tpot_s == rows[i].tpot_s && ask.most_ttft_s == rows[i].ttft_s));
    }
    struct search_ask ask = {.plan = plan, .objective = SEARCH_BY_TTFT};
    struct err err = {0};
    plan->workload.mode = MODE_DECODE;
    assert_int_equal(
        search_wish_serving(&(struct search_wish){.n_limits = 0}, plan, &ask, &err),
        STATUS_USAGE);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objectives_rank_layouts),
        cmocka_unit_test(limits_leave_out_what_is_later),
        cmocka_unit_test(hits_are_what_predict_says),
        cmocka_unit_test(wishes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
