/* Fixes: each is what it says when it is applied to the plan, and several are proposed only
 * when none suffices alone, each of them needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "plan/load.h"
#include "sim/predict.h"

enum { SETTINGS_MAX = 8 };

/* Predicts the text with the settings of a fix ("a=1 b=2"; "" for none) but the one at `but`;
 * returns how many there were. */
static size_t predict_with(const char *text, const char *settings, size_t but, bool fixes,
                           struct arena *arena, struct prediction *prediction)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct predict_options options = {.threads = 1, .fixes = fixes};
    struct override sets[SETTINGS_MAX];
    struct err err = {0};
    size_t n = 0, used = 0;
    char *state = NULL;
    for (char *part = strtok_r(arena_strdup(arena, settings), " ", &state); part;
         part = strtok_r(NULL, " ", &state)) {
        char *equals = strchr(part, '=');
        assert_non_null(equals);
        *equals = '\0';
        if (n++ != but)
            sets[used++] = (struct override){part, equals + 1, "--set"};
        assert_in_range(used, 0, SETTINGS_MAX - 1);
    }
    if (plan_load_text("fix.yaml", text, strlen(text), sets, used, arena, plan, NULL, &err) ||
        predict(plan, &options, arena, prediction, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    return n;
}

/* The fixes are what they say; the largest number of settings that one has. */
static size_t check_fixes(const char *text, size_t *n)
{
    struct arena arena = {0};
    struct prediction plan, fixed;
    size_t most = 0;
    predict_with(text, "", SIZE_MAX, true, &arena, &plan);
    assert_string_equal(verdict_name(plan.memory.verdict), "oom");
    for (size_t i = 0; i < plan.memory.n_fixes; i++) {
        const struct fix *fix = &plan.memory.fixes[i];
        size_t settings = predict_with(text, fix->set, SIZE_MAX, false, &arena, &fixed);
        print_message("%s\n", fix->set);
        assert_int_equal(fixed.memory.verdict, fix->verdict);
        assert_true(fixed.memory.total_bytes == fix->total_bytes);
        assert_int_not_equal(fix->verdict, VERDICT_OOM);
        for (size_t but = 0; settings > 1 && but < settings; but++) {
            predict_with(text, fix->set, but, false, &arena, &fixed);
            assert_int_equal(fixed.memory.verdict, VERDICT_OOM);
        }
        most = settings > most ? settings : most;
    }
    *n = plan.memory.n_fixes;
    arena_release(&arena);
    return most;
}

static void one_change_where_one_suffices(void **state)
{
    (void)state;
    size_t n;
    assert_int_equal(check_fixes("model: qwen3-30b-a3b\n"
                                 "cluster: h200-8x1\n",
                                 &n),
                     1);
    assert_in_range(n, 2, 64);
}

static void several_changes_where_none_suffices(void **state)
{
    (void)state;
    size_t n;
    assert_in_range(check_fixes("model: deepseek-v3\n"
                                "cluster: h200-8x8\n",
                                &n),
                    2, 4);
    assert_int_equal(n, 1);
}

static void skewed_routing_is_sampled_before_a_fix_is_named(void **state)
{
    (void)state;
    size_t n;
    check_fixes("model: deepseek-v3\n"
                "cluster: h200-8x8\n"
                "stack: megatron\n"
                "parallel: {ep: 64, zero: 1}\n"
                "moe: {path: deepep, routing: {distribution: zipf, samples: 50}}\n",
                &n);
    assert_in_range(n, 1, 64);
}

static void nothing_where_nothing_helps(void **state)
{
    (void)state;
    size_t n;
    check_fixes("model: deepseek-v3\n"
                "cluster: h100\n",
                &n);
    assert_int_equal(n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_change_where_one_suffices),
        cmocka_unit_test(several_changes_where_none_suffices),
        cmocka_unit_test(skewed_routing_is_sampled_before_a_fix_is_named),
        cmocka_unit_test(nothing_where_nothing_helps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
