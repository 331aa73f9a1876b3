/* The profiles of the seeds' runs, whose few constants were fitted to whole steps and layers:
 * each layout left out of a fit that is linear in the logarithm of every constant, and of pairs
 * of them. tests/data/widths.csv has what comes out, MOEPLAN_REWRITE=1 writes it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/fit.h"
#include "base/number.h"
#include "base/stat.h"
#include "base/text.h"
#include "calib/fit/left_out.h"
#include "calib/table/printed_unit.h"
#include "calib/table/quantity.h"
#include "plan/data/profile.h"
#include "support/published.h"
#include "support/widths.h"

enum { MOST = 32, FITTED = 4, SAMPLES = 20 };

static const double STEP = 0.01; /* of the logarithm of a constant, for slopes */

struct set {
    const char *profile, *table, *kind;
    double scale; /* of the robust cost of its fit; 10: least squares */
    struct {
        const char *row, *quantity;
    } rows[5]; /* how those begin that were fitted */
    struct {
        enum profile_item of;
        enum profile_quantity is;
        int path;
    } constants[FITTED + 1];
    size_t n_constants;
};

static const struct set sets[] = {
    {"maxtext-mi355x",
     "seed000_primus_turbo",
     "step",
     0.1,
     {{"", "time.tokens_per_s_per_device"}},
     {{PROFILE_PRODUCT, PROFILE_EFFICIENCY, PROFILE_ANY},
      {PROFILE_COLLECTIVE, PROFILE_EFFICIENCY, PROFILE_ANY},
      {PROFILE_MOVE, PROFILE_BANDWIDTH, PATH_RAGGED_A2A},
      {PROFILE_MOVE, PROFILE_BANDWIDTH, PATH_DEEPEP}},
     4},
    {"rdep-b200",
     "seed001_rdep",
     "step",
     10,
     {{"ceiling/", "time.layer.forward_p50_s"},
      {"ceiling/", "time.layer.forward_backward_tokens_per_s"},
      {"ceiling/", "time.layer.grouped_gemm_s"},
      {"skew/", "time.layer.forward_tokens_per_s"}},
     {{PROFILE_PRODUCT, PROFILE_EFFICIENCY, PROFILE_ANY},
      {PROFILE_MOVE, PROFILE_BANDWIDTH, PROFILE_ANY},
      {PROFILE_ACTIVATION, PROFILE_BANDWIDTH, PROFILE_ANY}},
     3},
};

struct runs {
    const struct set *set;
    struct arena arena;
    struct profile profile;
    double *values[FITTED]; /* of the profile's own rows */
    size_t n, groups;
    double measured[MOST], told[MOST], slope[MOST][FITTED];
    uint32_t group[MOST];
    const char *seen[MOST];
};

/* ---- the profile and its runs ---- */

static void own_constants(struct runs *r)
{
    struct constant *all = arena_alloc(&r->arena, r->profile.n, sizeof *all);
    memcpy(all, r->profile.constants, r->profile.n * sizeof *all);
    r->profile.constants = all;
    for (size_t k = 0; k < r->set->n_constants; k++) {
        r->values[k] = arena_alloc(&r->arena, 1, sizeof *r->values[k]);
        for (size_t i = 0; i < r->profile.n; i++)
            if (all[i].depth == 0 && all[i].of == r->set->constants[k].of &&
                all[i].is == r->set->constants[k].is &&
                all[i].path == r->set->constants[k].path) {
                *r->values[k] = all[i].y[0];
                all[i].y = r->values[k];
            }
        assert_true(*r->values[k] > 0);
    }
}

static bool is_fitted(const struct set *set, const struct csv *csv, size_t row)
{
    for (size_t i = 0; set->rows[i].row; i++)
        if (text_starts(csv_cell(csv, row, "row"), set->rows[i].row) &&
            text_equal(csv_cell(csv, row, "quantity"), set->rows[i].quantity))
            return true;
    return false;
}

static double tell(const struct runs *r, const struct plan *plan,
                   const struct quantity *quantity)
{
    struct prediction prediction;
    struct err err = {0};
    struct arena scratch = {0};
    const struct time_ask ask = {.profile = &r->profile};
    const struct predict_options options = {.memory_only = true, .time = &ask};
    if (predict(plan, &options, &scratch, &prediction, &err))
        fail_msg("%s", err.text);
    double value = quantity_of(quantity, &prediction);
    arena_release(&scratch);
    return value;
}

/* Of a layout that is the same as one before, the latter. */
static uint32_t group_of(struct runs *r, const char *set)
{
    uint32_t g = 0;
    while (g < r->groups && !text_equal(r->seen[g], set))
        g++;
    if (g == r->groups)
        r->seen[r->groups++] = set;
    return g;
}

static void read_row(struct runs *r, const struct csv *csv, size_t row)
{
    struct plan *plan = arena_alloc(&r->arena, 1, sizeof *plan);
    const struct quantity *quantity = quantity_find(csv_cell(csv, row, "quantity"));
    struct err err = {0};
    double value = 0;
    published_load(csv, row, &r->arena, plan);
    plan->moe.routing.samples = SAMPLES;
    /* C4 has constants of its own; without skew the last rank count is a ceiling's again */
    if (plan->workload.data == DATA_REAL ||
        text_equal(csv_cell(csv, row, "row"), "skew/alpha0"))
        return;
    if (!r->n) {
        assert_int_equal(profile_load(plan, &r->arena, &r->profile, &err), STATUS_OK);
        assert_string_equal(r->profile.name, r->set->profile);
        own_constants(r);
    }
    size_t i = r->n++;
    assert_true(r->n <= MOST && number_real(csv_cell(csv, row, "published"), &value));
    r->measured[i] = value * printed_unit(csv_cell(csv, row, "unit"));
    r->group[i] = group_of(r, csv_cell(csv, row, "set"));
    r->told[i] = tell(r, plan, quantity);
    for (size_t k = 0; k < r->set->n_constants; k++) {
        double kept = *r->values[k];
        *r->values[k] = kept * exp(STEP);
        r->slope[i][k] = log(tell(r, plan, quantity) / r->told[i]) / STEP;
        *r->values[k] = kept;
    }
}

static void open_runs(struct runs *r, const struct set *set)
{
    struct csv csv;
    *r = (struct runs){.set = set};
    published_read(set->table, &r->arena, &csv);
    for (size_t row = 0; row < csv.n_rows; row++)
        if (is_fitted(set, &csv, row))
            read_row(r, &csv, row);
}

/* ---- fits ---- */

static double linear(const void *context, const double *factors, size_t row)
{
    const struct runs *r = context;
    double sum = log(r->told[row]);
    for (size_t k = 0; k < r->set->n_constants; k++)
        sum += r->slope[row][k] * log(factors[k]);
    return exp(sum);
}

/* Errors of the runs of groups a and b by a fit without either. */
static void errors_without(struct runs *r, uint32_t a, uint32_t b, double *error, double *told)
{
    struct fit_bound bounds[FITTED];
    uint32_t rows[MOST];
    struct fit_result result;
    struct fit_problem problem = {.n_constants = r->set->n_constants,
                                  .bounds = bounds,
                                  .predict = linear,
                                  .context = r,
                                  .measured = r->measured,
                                  .rows = rows,
                                  .scale = r->set->scale};
    for (size_t k = 0; k < r->set->n_constants; k++)
        bounds[k] = (struct fit_bound){1, 0.5, fmin(2, 1 / *r->values[k])};
    for (size_t i = 0; i < r->n; i++)
        if (r->group[i] != a && r->group[i] != b)
            rows[problem.n_rows++] = (uint32_t)i;
    fit_run(&problem, NULL, &r->arena, &result);
    for (size_t i = 0; i < r->n; i++) {
        if (r->group[i] != a && r->group[i] != b)
            continue;
        told[i] = linear(r, result.constants, i);
        error[i] = left_out_error(told[i], r->measured[i]);
    }
}

static double held_of(struct runs *r, const double *error, struct left_out_rule rule)
{
    struct left_out_pairs pairs;
    double both[MOST], told[MOST];
    left_out_open(&pairs, r->group, r->n, r->groups, &r->arena);
    for (uint32_t a = 0; a < r->groups; a++)
        for (uint32_t b = a + 1; b < r->groups; b++) {
            errors_without(r, a, b, both, told);
            for (size_t i = 0; i < r->n; i++)
                if (r->group[i] == a || r->group[i] == b)
                    pairs.error[r->group[i] == a ? b : a][i] = both[i];
        }
    return left_out_held(&pairs, error, rule, &r->arena);
}

/* "leave one out 1.6 %" of what a profile says of itself beside every time. */
static void check_calibration(struct runs *r, const double *told)
{
    struct stat percent = {0};
    for (size_t i = 0; i < r->n; i++)
        stat_add(&percent, 100 * fabs(told[i] / r->measured[i] - 1));
    const char *says = arena_printf(&r->arena, "one out %.1f %%", percent.mean);
    if (!strstr(r->profile.calibration, says))
        fail_msg("%s: calibration does not say '%s'", r->set->profile, says);
}

static void widths_are_those_recorded(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct widths widths;
    widths_read(&widths, &arena);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        struct runs *r = arena_alloc(&arena, 1, sizeof *r);
        double error[MOST], told[MOST];
        open_runs(r, &sets[s]);
        for (uint32_t g = 0; g < r->groups; g++)
            errors_without(r, g, UINT32_MAX, error, told);
        struct left_out_rule rule = left_out_rule_of(r->groups, 0);
        struct width width = {
            .profile = sets[s].profile,
            .kind = sets[s].kind,
            .cut = "layout",
            .groups = r->groups,
            .width = left_out_width(error, r->group, r->n, UINT32_MAX, rule, &r->arena),
            .held = held_of(r, error, rule)};
        widths_errors(&width, told, r->measured, r->n, &r->arena);
        widths_told(&width, r->told, r->measured, r->n);
        assert_true(widths_say(&widths, &width, &arena));
        check_calibration(r, told);
        arena_release(&r->arena);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_those_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
