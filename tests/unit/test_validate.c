/* calib/table/score, calib/validate, calib/fit/calibrate: errors by hand, and the shipped
 * tables within what their profiles state. Leaving models out takes longer:
 * tests/docs/check_profiles.sh. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "calib/fit/calibrate.h"
#include "calib/validate/validate.h"
#include "plan/data/published.h"
#include "plan/data/profile.h"
#include "support/published.h"

static void scores_by_hand(void **state)
{
    (void)state;
    struct arena arena = {0};
    const double measured[] = {1, 2, 4, 8, 5}, predicted[] = {1.1, 1.8, 4, 16, (double)NAN};
    const struct score score = score_of(measured, predicted, 5, &arena);
    assert_int_equal(score.n, 4);
    assert_true(fabs(score.mean - 30) < 1e-9 && fabs(score.median - 10) < 1e-9);
    assert_true(fabs(score.max - 100) < 1e-9 && fabs(score.bias - 5) < 1e-9);
    assert_true(fabs(score.rank - 1) < 1e-12);
    const double turned[] = {4, 3, 2, 1};
    assert_true(fabs(score_of(measured, turned, 4, &arena).rank + 1) < 1e-12);
    assert_int_equal(score_of(measured, predicted, 0, &arena).n, 0);
    arena_release(&arena);
}

static void verdicts_by_hand(void **state)
{
    (void)state;
    struct confusion c = {0};
    confusion_add(&c, "fits", "fits");
    confusion_add(&c, "fits", "marginal");
    assert_true(isnan(confusion_balanced_accuracy(&c)));
    confusion_add(&c, "oom", "oom");
    confusion_add(&c, "oom", "fits");
    assert_int_equal(c.oom_as_fits, 1);
    assert_true(fabs(confusion_balanced_accuracy(&c) - 0.5) < 1e-12);
    /* a tool that always says "fits" scores one half */
    struct confusion always = {0};
    confusion_add(&always, "fits", "fits");
    confusion_add(&always, "oom", "fits");
    assert_true(fabs(confusion_balanced_accuracy(&always) - 0.5) < 1e-12);
}

/* Median and 90th percentile over all values of a table, with the shipped profiles. */
static void shipped_profiles_hold(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        double median, p90; /* percent, at most */
    } tables[] = {{"moe_kernels_hopper", 9, 30},
                  {"deepgemm_kernels", 8, 20},
                  {"ep_dispatch_combine", 8, 20},
                  {"collectives", 8, 22}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct arena arena = {0};
        struct csv csv;
        struct err err = {0};
        struct validation v = {0};
        published_read(tables[i].table, &arena, &csv);
        if (validate_table(&csv, &arena, &v, &err) != STATUS_OK)
            fail_msg("%s: %s", err.where, err.text);
        const struct validated_summary *all = &v.summaries[v.n_summaries - 1];
        print_message("%s: median %.1f, p90 %.1f\n", tables[i].table, all->score.median,
                      all->score.p90);
        assert_int_equal(all->values, v.n);
        assert_true(all->score.median <= tables[i].median && all->score.p90 <= tables[i].p90);
        assert_true(all->score.mean <= all->control_mean * 2 / 3);
        /* nine of ten values within the error that their profile states, give or take */
        assert_true((double)all->agree >= 0.85 * (double)all->values);
        arena_release(&arena);
    }
}

/* What calibrate writes reads back as the constants it fitted. */
static void a_written_profile_reads_back(void **state)
{
    (void)state;
    static const char file[] = "test_validate_profile.yaml";
    struct arena arena = {0};
    struct csv csv;
    struct err err = {0};
    struct curve_table table;
    struct calibration c;
    struct profile profile;
    published_read("collectives", &arena, &csv);
    assert_int_equal(curve_read(&csv, &arena, &table, &err), STATUS_OK);
    assert_int_equal(calibrate_curves(&table, "nccl-hopper", "h100", &arena, &c, &err),
                     STATUS_OK);
    assert_int_equal(c.n_families, 4);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    calibrate_write(out, &c, "nccl-hopper", "generic", "2026-11-22", &arena);
    fclose(out);
    if (profile_read(file, &arena, &profile, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    assert_string_equal(profile.device, "h100");
    for (size_t f = 0; f < c.n_families; f++) {
        double constants[CURVE_CONSTANTS];
        const struct curve_family *family = c.families[f].family;
        assert_int_equal(curve_constants(family, &profile, constants, &err), STATUS_OK);
        for (size_t k = 0; k < family->form->n_constants; k++)
            assert_true(fabs(constants[k] / c.families[f].constants[k] - 1) < 1e-3);
    }
    remove(file);
    assert_int_equal(calibrate_curves(&table, "none", NULL, &arena, &c, &err), STATUS_INPUT);
    arena_release(&arena);
}

/* One value of each kind of a table of runs. */
static void runs(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct csv csv;
    struct err err = {0};
    struct validation v = {0};
    published_read("megatron_moe_memory_b200", &arena, &csv);
    assert_true(published_is_runs(&csv));
    assert_int_equal(validate_table(&csv, &arena, &v, &err), STATUS_OK);
    assert_int_equal(v.n, 36);
    for (size_t i = 0; i < v.n; i++) {
        struct prediction prediction;
        if (strcmp(v.rows[i].quantity, "memory.allocated_bytes") != 0)
            continue;
        published_predict(&csv, i, &arena, &prediction);
        assert_true(v.rows[i].value >= (double)prediction.memory.allocated_bytes &&
                    v.rows[i].value <= (double)prediction.memory.allocated_bytes);
        assert_int_equal(v.rows[i].verdict, VALIDATE_AGREES);
    }
    arena_release(&arena);
}

/* Verdicts by stack: what fits, what does not, and what no plan can say. */
static void verdicts_of_a_table(void **state)
{
    (void)state;
    static const char table[] =
        "row,set,quantity,published\n"
        "a,model=olmoe-1b-7b cluster=h200-8x1 stack=megatron "
        "parallel.ep=8 parallel.zero=1,memory.verdict,fits\n"
        "b,model=deepseek-v3 cluster=h100-8x1 stack=megatron "
        "parallel.ep=8,memory.verdict,oom\n"
        "c,model=olmoe-1b-7b cluster=h200 stack=fsdp,memory.verdict,oom\n"
        "d,model=no-such-model cluster=h200,memory.verdict,fits\n";
    struct arena arena = {0};
    struct csv csv;
    struct err err = {0};
    struct validation v = {0};
    assert_int_equal(csv_parse("table.csv", table, strlen(table), &arena, &csv, &err),
                     STATUS_OK);
    if (validate_table(&csv, &arena, &v, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(v.n_verdicts, 4); /* megatron, fsdp, not said, all */
    assert_string_equal(v.verdicts[0].stack, "megatron");
    assert_true(v.verdicts[0].fits_told >= 1 && v.verdicts[0].oom_told >= 1);
    assert_string_equal(v.verdicts[1].stack, "fsdp");
    assert_int_equal(v.verdicts[1].runs, 1);
    const struct validated_verdicts *all = &v.verdicts[3];
    assert_string_equal(all->stack, "all");
    assert_int_equal(all->runs, 4);
    assert_int_equal(all->refused, 1);
    assert_true(fabs(all->expressible - 0.75) < 1e-12);
    assert_true(fabs(all->accuracy_of_fits - 1. / 3) < 1e-12);
    assert_non_null(strstr(v.rows[3].why, "no-such-model"));
    arena_release(&arena);
}

/* A quantity that is misspelt is none that nobody predicts. */
static void a_misspelt_quantity_is_refused(void **state)
{
    (void)state;
    static const char table[] = "row,set,quantity,published\n"
                                "a,model=olmoe-1b-7b cluster=h200,memory.alocated_bytes,5\n";
    struct arena arena = {0};
    struct csv csv;
    struct err err = {0};
    struct validation v = {0};
    assert_int_equal(csv_parse("table.csv", table, strlen(table), &arena, &csv, &err),
                     STATUS_OK);
    assert_int_equal(validate_table(&csv, &arena, &v, &err), STATUS_INPUT);
    assert_non_null(strstr(err.hint, "memory.allocated_bytes"));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_by_hand),
        cmocka_unit_test(verdicts_by_hand),
        cmocka_unit_test(shipped_profiles_hold),
        cmocka_unit_test(a_written_profile_reads_back),
        cmocka_unit_test(runs),
        cmocka_unit_test(verdicts_of_a_table),
        cmocka_unit_test(a_misspelt_quantity_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
