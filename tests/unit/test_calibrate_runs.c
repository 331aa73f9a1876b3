/* calib/fit/calibrate_runs: whole steps through the predictor. Runs that are what the profile
 * says move nothing; six runs of one software calibrate the layout that was left out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "calib/fit/calibrate_runs.h"
#include "support/published.h"

static const char head[] = "row,plan,set,quantity,published,unit\n";
static const char plan[] = "model=qwen3-30b-a3b cluster=h100-8x1 stack=megatron parallel.ep=8 "
                           "workload.micro_batch=";

/* Times that the profile itself predicts leave it where it is. */
static void what_is_predicted_moves_nothing(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct run_calibration c;
    struct text table = {.arena = &arena};
    double seconds[3] = {1, 1, 1};
    for (unsigned pass = 0; pass < 2; pass++) {
        table.length = 0;
        text_append(&table, head);
        for (unsigned i = 0; i < 3; i++)
            text_printf(&table, "%u,,%s%u,time.step_s,%.17g,s\n", i, plan, 1u << i, seconds[i]);
        assert_int_equal(csv_parse("t.csv", table.data, table.length, &arena, &csv, &err),
                         STATUS_OK);
        assert_true(calibrate_is_runs(&csv));
        if (calibrate_runs(&csv, &(struct run_choice){0}, &arena, &c, &err) != STATUS_OK)
            fail_msg("%s: %s", err.where, err.text);
        for (unsigned i = 0; i < 3; i++)
            seconds[i] = c.values[i].before;
    }
    assert_int_equal(c.n, 3);
    assert_true(c.before.max < 1e-6 && c.after.max < 1e-3);
    for (size_t k = 0; k < c.n_constants; k++)
        assert_true(fabs(c.factors[k] - 1) < 1e-3);
    arena_release(&arena);
}

/* SimuMax's six runs on 8 B200 (one software): five of them predict the sixth. */
static void a_users_own_runs(void **state)
{
    (void)state;
    static const char file[] = "test_calibrate_runs.yaml";
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct run_calibration c;
    struct profile profile;
    struct plan first;
    published_read("megatron_moe_memory_b200", &arena, &csv);
    assert_int_equal(published_plan_with(&csv, 0, NULL, &arena, &first, &err), STATUS_OK);
    const struct run_choice choice = {.stack = "megatron", .device = "b200"};
    if (calibrate_runs(&csv, &choice, &arena, &c, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    print_message("before %.1f %%, fitted %.1f %%, left out %.1f %%\n", c.before.median,
                  c.after.median, c.left_out.median);
    assert_int_equal(c.n, 6);
    assert_true(c.left_out.median <= 5);
    assert_int_equal(c.model_out.n, 0);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    calibrate_runs_write(out, &c, "b200.csv", "2026-11-22");
    fclose(out);
    if (profile_read(file, &arena, &profile, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    assert_true(profile.constants[0].y[0] <= 1 && profile.calibrated);
    assert_string_equal(profile.device, "b200");
    assert_string_equal(profile.models[0], "deepseek-v2");
    assert_null(profile.models[1]);
    assert_int_equal(profile_standing(&profile, &first), RUNS_LIKE);
    first.parallel.zero = 3; /* none of the six */
    assert_int_equal(profile_standing(&profile, &first), RUNS_UNLIKE);
    for (size_t i = 0; i < profile.n; i++)
        if (profile.constants[i].is == PROFILE_ERROR && profile.constants[i].depth == 0)
            assert_true(fabs(profile.constants[i].y[0] / c.error - 1) < 0.01);
    remove(file);
    arena_release(&arena);
}

static void assert_same_runs(const struct profile *written, const struct profile *shipped)
{
    assert_int_equal(written->n_runs, shipped->n_runs);
    for (size_t i = 0; i < written->n_runs; i++) {
        const struct profile_run *w = &written->runs[i], *s = &shipped->runs[i];
        assert_string_equal(w->field->key, s->field->key);
        assert_int_equal(w->n, s->n);
        for (size_t j = 0; j < w->n; j++)
            assert_string_equal(w->held[j].text, s->held[j].text);
    }
    for (size_t i = 0; shipped->models[i]; i++)
        assert_string_equal(written->models[i], shipped->models[i]);
}

static void read_had(const struct runs_had *had, struct arena *arena, struct profile *profile)
{
    static const char file[] = "test_calibrate_runs_had.yaml";
    struct err err = {0};
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    runs_had_write(out, had);
    fputs("constants: []\n", out);
    fclose(out);
    if (profile_read(file, arena, profile, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    remove(file);
}

/* The table that a shipped profile was fitted to says what that says its runs had. */
static void a_table_says_what_its_runs_had(void **state)
{
    (void)state;
    static const char *const tables[] = {"megatron_train_throughput", "seed000_primus_turbo"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct csv csv;
        struct runs_had had;
        struct profile shipped, written;
        struct plan *run = arena_alloc(&arena, 1, sizeof *run);
        published_read(tables[i], &arena, &csv);
        runs_had_init(&had, &arena);
        for (size_t row = 0; row < csv.n_rows; row++) {
            const char *quantity = csv_cell(&csv, row, "quantity");
            if (!text_equal(quantity, "time.tokens_per_s_per_device"))
                continue;
            assert_int_equal(published_plan_with(&csv, row, NULL, &arena, run, &err),
                             STATUS_OK);
            runs_had_add(&had, run);
        }
        assert_int_equal(profile_load(run, &arena, &shipped, &err), STATUS_OK);
        read_had(&had, &arena, &written);
        assert_same_runs(&written, &shipped);
        arena_release(&arena);
    }
}

/* Layouts of one model on one device, from a profile that has seen none of these runs. */
static void layouts_of_one_model(void **state)
{
    (void)state;
    static const struct override assumed = {"stack.profile", "megatron-assumed", "test"};
    const struct published_sets sets = {&assumed, 1};
    const struct run_choice choice = {"megatron", "gb200", "deepseek-v3", &sets, RUN_JUDGED};
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct run_calibration c;
    published_read("megatron_train_throughput", &arena, &csv);
    if (calibrate_runs(&csv, &choice, &arena, &c, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    print_message("before %.1f %%, fitted %.1f %%, left out %.1f %%\n", c.before.median,
                  c.after.median, c.left_out.median);
    assert_string_equal(c.profile->name, "megatron-assumed");
    assert_int_equal(c.n, 11);
    assert_true(c.left_out.median <= 6 && c.left_out.median < c.before.median / 2);
    arena_release(&arena);
}

/* A profile that is written and read again says what was fitted, though rows of a file go
 * before all of its base: what held there in place of a row that moved still does (DeepEP's
 * moves). */
static void what_was_fitted_is_read_again(void **state)
{
    (void)state;
    static const char file[] = "test_calibrate_runs_again.yaml";
    struct override profile = {"stack.profile", "megatron", "test"};
    const struct published_sets sets = {&profile, 1};
    const struct run_choice choice = {"megatron", "b200", "qwen3-30b-a3b", &sets, RUN_JUDGED};
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct run_calibration fitted, again;
    published_read("megatron_train_throughput", &arena, &csv);
    if (calibrate_runs(&csv, &choice, &arena, &fitted, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    calibrate_runs_write(out, &fitted, "b200.csv", "2026-11-27");
    fclose(out);
    profile.value = file;
    if (calibrate_runs(&csv, &choice, &arena, &again, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    assert_int_equal(again.n, fitted.n);
    for (size_t i = 0; i < fitted.n; i++)
        if (!(fabs(again.values[i].before / fitted.values[i].after - 1) < 1e-4))
            fail_msg("%s: %g s written, %g s fitted", fitted.values[i].row,
                     again.values[i].before, fitted.values[i].after);
    remove(file);
    arena_release(&arena);
}

/* Two layouts that no constants explain together: the profile is held, so that a third is
 * predicted about as well as without them. */
static void runs_that_disagree_move_little(void **state)
{
    (void)state;
    static const double off[] = {1.0, 1.5, 0.67, 1.0};
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct run_calibration c;
    struct text table = {.arena = &arena};
    double seconds[] = {1, 1, 1, 1};
    for (unsigned pass = 0; pass < 2; pass++) {
        table.length = 0;
        text_append(&table, head);
        for (unsigned i = 0; i < 4; i++)
            text_printf(&table, "%u,,%s%u,time.step_s,%.17g,s\n", i, plan, 1u << i, seconds[i]);
        assert_int_equal(csv_parse("t.csv", table.data, table.length, &arena, &csv, &err),
                         STATUS_OK);
        if (calibrate_runs(&csv, &(struct run_choice){0}, &arena, &c, &err) != STATUS_OK)
            fail_msg("%s: %s", err.where, err.text);
        for (unsigned i = 0; i < 4; i++)
            seconds[i] = off[i] * c.values[i].before;
    }
    for (size_t i = 0; i < c.n; i++)
        assert_true(fabs(c.values[i].left_out / c.values[i].before - 1) < 0.25);
    arena_release(&arena);
}

static void nothing_chosen(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct csv csv;
    struct run_calibration c;
    published_read("megatron_moe_memory_b200", &arena, &csv);
    assert_int_equal(
        calibrate_runs(&csv, &(struct run_choice){.stack = "maxtext"}, &arena, &c, &err),
        STATUS_INPUT);
    assert_non_null(strstr(err.text, "no run of this table"));
    published_read("collectives", &arena, &csv);
    assert_false(calibrate_is_runs(&csv));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_predicted_moves_nothing),
        cmocka_unit_test(a_users_own_runs),
        cmocka_unit_test(a_table_says_what_its_runs_had),
        cmocka_unit_test(layouts_of_one_model),
        cmocka_unit_test(what_was_fitted_is_read_again),
        cmocka_unit_test(runs_that_disagree_move_little),
        cmocka_unit_test(nothing_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
