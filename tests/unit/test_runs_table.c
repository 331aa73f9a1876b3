/* calib/fit/runs_table: what is said of a user's table whose cells or columns are wrong, and
 * what calibrate makes of one that is right; calibrate_runs: what it writes can be read. */
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
#include "calib/fit/runs_table.h"
#include "plan/read/load.h"

#define HEAD "row,plan,set,quantity,published,unit\n"
#define PLAN "model=qwen3-30b-a3b cluster=h100-8x1 stack=megatron parallel.ep=8"

static void parse(const char *text, struct arena *arena, struct csv *csv)
{
    struct err err = {0};
    if (csv_parse("own.csv", text, strlen(text), arena, csv, &err))
        fail_msg("%s: %s", err.where, err.text);
}

static const struct bad {
    const char *text, *where, *why, *hint;
} bad[] = {
    /* cells */
    {HEAD "a,," PLAN ",time.step_s,,s\n", "own.csv:2:1", "run 'a' has no value",
     "leave out the lines"},
    {HEAD "a,," PLAN ",time.step_s,n/a,s\n", "own.csv:2:1", "'n/a' is no time or rate", ""},
    {HEAD "a,," PLAN ",time.step_s,\"7,3\",s\n", "own.csv:2:1", "'7,3' is no time or rate", ""},
    {HEAD "a,," PLAN ",time.step_s,-7.3,s\n", "own.csv:2:1", "'-7.3' is no time or rate", ""},
    {HEAD "a,," PLAN ",time.step_s,7300,\n", "own.csv:2:1", "time.step_s '7300' has no unit",
     "s, ms or us"},
    {HEAD "a,," PLAN ",time.step_s,7.3,sec\n", "own.csv:2:1", "has the unit 'sec'",
     "s, ms or us"},
    {HEAD "a,," PLAN ",time.step_s,9000,tokens/s\n", "own.csv:2:1", "has the unit 'tokens/s'",
     "s, ms or us"},
    {HEAD "a,," PLAN ",time.tokens_per_s,9000,tokens/s/GPU\n", "own.csv:2:1",
     "has the unit 'tokens/s/GPU'", "of one device or of all"},
    {"row,plan,set,quantity,published\na,," PLAN ",time.step_s,7.3\n", "own.csv:2:1",
     "has no unit", "s, ms or us"},
    {HEAD "a,," PLAN ",time.step_s,7.3,s\nb,," PLAN ",time.steps_s,7,s\n", "own.csv:3:1",
     "unknown quantity 'time.steps_s'", "did you mean 'time.step_s'?"},
    {HEAD "a,nowhere.yaml,,time.step_s,7.3,s\n", "own.csv:2:1",
     "the plan 'nowhere.yaml' is not there", "beside the table"},
    {HEAD "a,," PLAN " workload.microbatch=2,time.step_s,7.3,s\n", "own.csv:2",
     "unknown key 'workload.microbatch'", "workload.micro_batch"},
    /* columns */
    {"row;plan;set;quantity;published;unit\na;;x;time.step_s;7.3;s\n", "own.csv:1:1",
     "not separated by commas", "write the table as CSV"},
    {"name,plan,set,quantity,published,unit\na,," PLAN ",time.step_s,7.3,s\n", "own.csv:1:1",
     "no column 'row'", "row,plan,set,quantity,published,unit"},
    {"row,plan,set,quantity,measured,unit\na,," PLAN ",time.step_s,7.3,s\n", "own.csv:1:1",
     "no column 'published'", "row,plan,set,quantity,published,unit"},
    {HEAD "a,," PLAN ",step_time,7.3,s\n", "own.csv:1:1", "no line of the table has a time",
     "time.step_s"},
    {"a,b\n1,2\n", "own.csv:1:1", "not the columns of a table of runs", "row,plan,set"},
};

/* As `calibrate` asks: a table of runs is fitted, any other says what it lacks. */
static enum status calibrate(const char *text, struct arena *arena, struct run_calibration *c,
                             struct err *err)
{
    struct csv csv;
    parse(text, arena, &csv);
    if (!calibrate_is_runs(&csv))
        return runs_table_lacks(&csv, err);
    return calibrate_runs(&csv, &(struct run_choice){0}, arena, c, err);
}

static void wrong_tables_say_what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arena arena = {0};
        struct run_calibration c;
        struct err err = {0};
        assert_int_equal(calibrate(bad[i].text, &arena, &c, &err), STATUS_INPUT);
        if (!text_starts(err.where, bad[i].where) || !strstr(err.text, bad[i].why) ||
            !strstr(err.hint, bad[i].hint))
            fail_msg("%s: %s: %s (%s)", bad[i].text, err.where, err.text, err.hint);
        arena_release(&arena);
    }
}

/* Rates of one device, of all eight and times, of 4096 x 256 tokens a step. */
static void quantities_are_one_time(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct run_calibration c;
    struct err err = {0};
    const char *text = HEAD
        "a,," PLAN " workload.global_batch=256,time.step_s,8000,ms\n"
        "b,," PLAN " workload.global_batch=256,time.tokens_per_s,65536,tokens/s\n"
        "c,," PLAN " workload.global_batch=256,time.tokens_per_s,0.262144,Mtokens/s\n"
        "d,," PLAN " workload.global_batch=256,time.tokens_per_s_per_device,65536,tokens/s\n"
        "e,," PLAN ",tflops,400,\n";
    if (calibrate(text, &arena, &c, &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(c.n, 4);
    assert_int_equal(c.n_configurations, 1);
    static const double seconds[] = {8, 16, 4, 2};
    for (size_t i = 0; i < c.n; i++)
        assert_true(fabs(c.values[i].measured - seconds[i]) < 1e-9);
    arena_release(&arena);
}

/* A line that was copied, a run's rate beside its time, and both with the settings in another
 * order or a default said: one run. Another number is one more; the other layout its own. */
static void what_is_said_again_counts_once(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct run_calibration c;
    struct err err = {0};
    const char *text =
        HEAD "a,," PLAN " workload.global_batch=256,time.step_s,8,s\n"
             "a,," PLAN " workload.global_batch=256,time.tokens_per_s,131000,tokens/s\n"
             "b,,workload.global_batch=256 " PLAN " parallel.cp=1,time.step_s,8,s\n"
             "c,," PLAN " workload.global_batch=256,time.step_s,8.1,s\n"
             "c,," PLAN " workload.global_batch=512,time.step_s,8,s\n";
    if (calibrate(text, &arena, &c, &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(c.n, 3);
    assert_int_equal(c.n_configurations, 2);
    assert_int_equal(c.n_repeats, 2);
    arena_release(&arena);
}

/* One layout says nothing of another: plans like it are told as the profile said before. So do
 * two, but for what each says of the other. */
static void few_runs_are_no_surer(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct run_calibration one, two;
    struct err err = {0};
    const char *text = HEAD "a,," PLAN ",time.tokens_per_s_per_device,9000,tokens/s\n"
                            "b,," PLAN " workload.micro_batch=2,"
                            "time.tokens_per_s_per_device,10000,tokens/s\n";
    const char *first = arena_strndup(&arena, text, (size_t)(strstr(text, "b,,") - text));
    if (calibrate(first, &arena, &one, &err) || calibrate(text, &arena, &two, &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_true(one.known > 0);
    assert_true(fabs(one.error / one.known - 1) < 1e-12);
    double log_known = log1p(two.known) / 2.920, sum = 2 * log_known * log_known;
    for (size_t i = 0; i < 2; i++)
        sum += pow(log(two.values[i].left_out / two.values[i].measured), 2);
    assert_true(fabs(two.error / expm1(2.132 * sqrt(sum / 4)) - 1) < 1e-9);
    arena_release(&arena);
}

/* What is written has every constant once, tells the runs as they were fitted and has the error
 * that was found; a plan of another device has no narrower interval than before. */
static void what_is_written_is_told(void **state)
{
    (void)state;
    static const char file[] = "test_runs_table.yaml";
    struct arena arena = {0};
    struct run_calibration c, again;
    struct profile written;
    struct err err = {0};
    struct csv csv;
    const char *text = HEAD "a,," PLAN ",time.tokens_per_s_per_device,9000,tokens/s\n"
                            "b,," PLAN " workload.micro_batch=2,"
                            "time.tokens_per_s_per_device,10000,tokens/s\n"
                            "c,," PLAN " moe.path=ragged_a2a,"
                            "time.tokens_per_s_per_device,8000,tokens/s\n";
    if (calibrate(text, &arena, &c, &err))
        fail_msg("%s: %s", err.where, err.text);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    calibrate_runs_write(out, &c, "own.csv", "2026-11-27");
    fclose(out);
    assert_int_equal(profile_read(file, &arena, &written, &err), STATUS_OK);
    for (size_t i = 0; i < written.n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct constant *x = &written.constants[i], *y = &written.constants[k];
            assert_false(x->depth == 0 && y->depth == 0 && x->of == y->of && x->is == y->is &&
                         x->path == y->path && x->compute == y->compute &&
                         x->level == y->level);
        }
    const struct override set = {"stack.profile", file, "test"};
    const struct published_sets sets = {&set, 1};
    parse(text, &arena, &csv);
    if (calibrate_runs(&csv, &(struct run_choice){.sets = &sets, .depth = RUN_TOLD}, &arena,
                       &again, &err))
        fail_msg("%s: %s", err.where, err.text);
    for (size_t i = 0; i < c.n; i++)
        assert_true(fabs(again.values[i].before / c.values[i].after - 1) < 1e-4);
    const struct constant *error = profile_find(&written, PROFILE_STEP, PROFILE_ERROR,
                                                PROFILE_ANY, PROFILE_ANY, PROFILE_ANY),
                          *before = profile_find(c.profile, PROFILE_STEP, PROFILE_OUTSIDE,
                                                 PROFILE_ANY, PROFILE_ANY, PROFILE_ANY),
                          *outside = profile_find(&written, PROFILE_STEP, PROFILE_OUTSIDE,
                                                  PROFILE_ANY, PROFILE_ANY, PROFILE_ANY);
    assert_true(error->depth == 0 && fabs(error->y[0] / c.error - 1) < 0.01);
    assert_true(outside->y[0] == before->y[0]);
    remove(file);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_tables_say_what_is_wrong),
        cmocka_unit_test(quantities_are_one_time),
        cmocka_unit_test(what_is_said_again_counts_once),
        cmocka_unit_test(few_runs_are_no_surer),
        cmocka_unit_test(what_is_written_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
