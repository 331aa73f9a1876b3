/* Profiles: what a file may say, which row holds, and what is refused. */
#include "plan/data/profile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "plan/read/catalog.h"
#include "plan/read/load.h"
#include "support/plans.h"
#include "support/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define TOP "source: here\ndate: 2026-11\nrange: all\nset: none\n"

static char *written(struct arena *arena, const char *text)
{
    char path[] = "/tmp/moeplan_profile_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return arena_strdup(arena, path);
}

static void read_ok(struct arena *arena, const char *text, struct profile *profile)
{
    struct err err = {0};
    char *path = written(arena, text);
    enum status status = profile_read(path, arena, profile, &err);
    unlink(path);
    assert_string_equal(err.text, "");
    assert_int_equal(status, STATUS_OK);
}

static void row_of_the_file_before_its_base_item_before_class(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct profile p;
    read_ok(&arena,
            "base: generic\ncalibration: test\n" TOP "constants:\n"
            "- {of: product, is: efficiency, value: 0.3, interval: [0.2, 0.4]}\n"
            "- {of: gemm, is: efficiency, dtype: fp8, value: 0.2, interval: [0.1, 0.4]}\n"
            "- {of: move, is: bandwidth, path: deepep, value: 0.1, interval: [0.1, 0.1]}\n",
            &p);
    const struct {
        enum profile_item of;
        enum profile_quantity is;
        int path, compute;
        double value;
    } cases[] = {
        {PROFILE_ATTENTION, PROFILE_EFFICIENCY, PATH_DEEPEP, COMPUTE_BF16, 0.3},
        {PROFILE_GEMM, PROFILE_EFFICIENCY, PATH_DEEPEP, COMPUTE_BF16, 0.3},
        {PROFILE_GEMM, PROFILE_EFFICIENCY, PATH_DEEPEP, COMPUTE_FP8, 0.2},
        {PROFILE_MOVE, PROFILE_BANDWIDTH, PATH_DEEPEP, COMPUTE_BF16, 0.1},
        {PROFILE_MOVE, PROFILE_BANDWIDTH, PATH_RDEP, COMPUTE_BF16, 0.5}, /* the base's */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct constant *c = profile_find(&p, cases[i].of, cases[i].is, cases[i].path,
                                                cases[i].compute, PROFILE_ANY);
        assert_non_null(c);
        assert_true(profile_value(c, 0, NULL) == cases[i].value);
    }
    assert_true(p.calibrated);
    assert_string_equal(p.calibration, "test");
    assert_null(profile_find(&p, PROFILE_STEP, PROFILE_DATA, 0, 0, PROFILE_ANY));
    arena_release(&arena);
}

static void a_curve_is_linear_in_the_logarithm(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct profile p;
    bool outside;
    read_ok(&arena,
            TOP "constants:\n- {of: grouped_gemm, is: efficiency, by: rows,"
                " points: [[10, 0.1], [1000, 0.5]], interval: [0.9, 1.2]}\n",
            &p);
    const struct constant *c = &p.constants[0];
    assert_true(profile_value(c, 100, &outside) > 0.29999 && !outside);
    assert_true(profile_value(c, 100, &outside) < 0.30001);
    assert_true(profile_value(c, 1, &outside) == 0.1 && outside);
    assert_true(profile_value(c, 1e9, &outside) == 0.5 && outside);
    assert_true(c->low == 0.9 && c->high == 1.2);
    assert_string_equal(profile_constant_name(c, &arena), "grouped_gemm.efficiency");
    arena_release(&arena);
}

static void what_is_wrong_has_a_place_and_a_reason(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"- {of: gemm, is: efficiency, value: 1.2, interval: [1, 1.3]}", "it lies in"},
        {"- {of: gemm, is: efficiency, value: 0.5}", "has no interval"},
        {"- {of: gemm, is: latency, value: 1 us, interval: [0, 1]}", "has no constant"},
        {"- {of: gemmm, is: efficiency, value: 0.5, interval: [0, 1]}", "is no of"},
        {"- {of: gemm, is: overhead, value: 1 GiB, interval: [0, 1]}", "number of seconds"},
        {"- {of: gemm, is: efficiency, value: 0.5, interval: [0.6, 0.7]}", "does not hold"},
        {"- {of: gemm, is: efficiency, by: rows, value: 0.5, interval: [0, 1]}", "or a curve"},
        {"- {of: gemm, is: efficiency, by: rows, points: [[2, 0.5], [1, 0.6]], "
         "interval: [1, 1]}",
         "rise"},
        {"- {of: gemm, is: efficiency, vaule: 0.5, interval: [0, 1]}", "unknown key 'vaule'"},
        {"- [1, 2]", "is a mapping"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct profile p;
        struct err err = {0};
        char *path = written(&arena, arena_printf(&arena, TOP "constants:\n%s\n", cases[i][0]));
        assert_int_equal(profile_read(path, &arena, &p, &err), STATUS_INPUT);
        unlink(path);
        if (!strstr(err.text, cases[i][1]) || !strchr(err.where, ':'))
            fail_msg("%s: %s: %s", cases[i][0], err.where, err.text);
        arena_release(&arena);
    }
    struct arena arena = {0};
    struct profile p;
    struct err err = {0};
    char *path = written(&arena, "date: 2026\nconstants:\n- {of: gemm, is: efficiency, value: "
                                 "0.5, interval: [0, 1]}\n");
    assert_int_equal(profile_read(path, &arena, &p, &err), STATUS_INPUT);
    unlink(path);
    assert_non_null(strstr(err.text, "does not say its source"));
    arena_release(&arena);
}

/* Every profile of the catalogue reads, and with its base says all that a price needs. */
static void the_catalogue_reads(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct catalog_item *items;
    size_t n;
    catalog_list(CATALOG_PROFILE, &arena, &items, &n);
    assert_true(n >= 1);
    for (size_t i = 0; i < n; i++) {
        struct profile p;
        struct err err = {0};
        if (profile_read(items[i].path, &arena, &p, &err) != STATUS_OK)
            fail_msg("%s: %s: %s", items[i].path, err.where, err.text);
        assert_non_null(profile_find(&p, PROFILE_GEMM, PROFILE_EFFICIENCY, PROFILE_ANY,
                                     PROFILE_ANY, PROFILE_ANY));
        assert_non_null(profile_find(&p, PROFILE_STEP, PROFILE_ERROR, PROFILE_ANY, PROFILE_ANY,
                                     PROFILE_ANY));
        assert_true(items[i].summary[0] != '\0');
    }
    arena_release(&arena);
}

static void a_plan_finds_its_profile(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan = {.stack = {.kind = STACK_NXD}};
    struct profile p;
    struct err err = {0};
    char device[PLAN_NAME];
    static const char *const names[][2] = {{"mi355x-8x8", "mi355x"},
                                           {"tpu-v5e-4x2", "tpu-v5e"},
                                           {"tpu-v5p-4x4x4", "tpu-v5p"},
                                           {"h200 (changed)", "h200"},
                                           {"gb200-72x1 (changed)", "gb200"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(plan.cluster_name, PLAN_NAME, "%s", names[i][0]);
        profile_device(&plan, device);
        assert_string_equal(device, names[i][1]);
    }
    snprintf(plan.cluster_name, PLAN_NAME, "no-such-device");
    assert_int_equal(profile_load(&plan, &arena, &p, &err), STATUS_OK);
    assert_string_equal(p.name, "generic");
    assert_false(p.calibrated);
    snprintf(plan.stack.profile, PLAN_PATH, "no-such-profile");
    assert_int_equal(profile_load(&plan, &arena, &p, &err), STATUS_INPUT);
    assert_non_null(strstr(err.text, "no profile is called"));
    arena_release(&arena);
}

/* What the runs had of a plan's keys: words, numbers and ranges. */
static void plans_leave_the_runs(void **state)
{
    (void)state;
    static const struct {
        const char *sets[3];
        const char *left;
    } cases[] = {
        {{"moe.path=deepep", "parallel.ep=8"}, ""},
        {{"moe.path=allgather", "parallel.ep=2"}, "moe.path allgather, parallel.ep 2"},
        {{"moe.path=deepep", "workload.micro_batch=17"}, "workload.micro_batch 17"},
        {{"moe.path=capacity", "moe.capacity_factor=1.25"}, ""},
        {{"moe.path=capacity", "moe.capacity_factor=1"}, "moe.capacity_factor 1"},
        {{"moe.path=deepep", "moe.capacity_factor=1"}, ""}, /* not read */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct profile profile;
        struct text left = {.arena = &arena};
        struct override sets[2];
        for (size_t j = 0; j < 2; j++)
            sets[j] = setting_of(cases[i].sets[j], &arena);
        assert_int_equal(
            plan_load("examples/seed000-primus-turbo.yaml", sets, 2, &arena, plan, NULL, &err),
            STATUS_OK);
        assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
        profile_left_runs(&profile, plan, &left);
        assert_string_equal(text_string(&left), cases[i].left);
        assert_int_equal(profile_standing(&profile, plan) != RUNS_LIKE,
                         cases[i].left[0] != '\0');
        arena_release(&arena);
    }
}

static double constant_of(const struct profile *p, enum profile_item of,
                          enum profile_quantity is)
{
    const struct constant *c = profile_find(p, of, is, PATH_DEEPEP, COMPUTE_BF16, PROFILE_ANY);
    return c ? profile_value(c, 0, NULL) : 0;
}

/* A served step of SGLang is priced by what was measured on its own device: on Hopper as the
 * decode step that stands alone, its requests as Blackwell's were. */
static void served_steps_are_of_their_device(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *mode, *profile;
    } rows[] = {{"h200-8x1", "decode", "sglang-hopper"},
                {"h200-8x1", "serve", "sglang-serve-hopper"},
                {"b200-8x1", "serve", "sglang-serve"}};
    double share[3], steps[3];
    for (size_t i = 0; i < 3; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct profile p;
        const char *text = arena_printf(&arena,
                                        "model: deepseek-r1\ncluster: %s\nstack: sglang\n"
                                        "parallel: {tp: 8}\nworkload: {mode: %s}\n",
                                        rows[i].cluster, rows[i].mode);
        assert_int_equal(
            plan_load_text("plan.yaml", text, strlen(text), NULL, 0, &arena, plan, NULL, &err),
            STATUS_OK);
        assert_int_equal(profile_load(plan, &arena, &p, &err), STATUS_OK);
        assert_string_equal(p.name, rows[i].profile);
        share[i] = constant_of(&p, PROFILE_GEMM, PROFILE_EFFICIENCY);
        steps[i] = constant_of(&p, PROFILE_REQUEST, PROFILE_STEPS);
        arena_release(&arena);
    }
    assert_true(share[1] == share[0] && share[1] != share[2]);
    assert_true(steps[1] == steps[2] && steps[1] != steps[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(served_steps_are_of_their_device),
        cmocka_unit_test(plans_leave_the_runs),
        cmocka_unit_test(row_of_the_file_before_its_base_item_before_class),
        cmocka_unit_test(a_curve_is_linear_in_the_logarithm),
        cmocka_unit_test(what_is_wrong_has_a_place_and_a_reason),
        cmocka_unit_test(the_catalogue_reads),
        cmocka_unit_test(a_plan_finds_its_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
