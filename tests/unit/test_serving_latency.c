/* Served deployments of models/published/serving_latency.csv beside mode serve: what the
 * shipped profiles reach, how honest their intervals are, and how few constants they have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/stat.h"
#include "base/text.h"
#include "calib/validate/validate.h"
#include "plan/read/catalog.h"
#include "plan/data/profile.h"
#include "support/published.h"

struct errors {
    double *percent;
    size_t n, within;
};

/* "..._c64_...": requests in flight of a run, as its name says. */
static long concurrency_of(const char *row)
{
    const char *at = strstr(row, "_c");
    while (at && !(at[2] >= '0' && at[2] <= '9'))
        at = strstr(at + 1, "_c");
    assert_non_null(at);
    return strtol(at + 2, NULL, 10);
}

static void collect(const struct validation *v, const char *quantity, long most,
                    struct arena *arena, struct errors *out)
{
    *out = (struct errors){.percent = arena_alloc(arena, v->n, sizeof *out->percent)};
    for (size_t i = 0; i < v->n; i++) {
        const struct validated *row = &v->rows[i];
        if (!row->has_error || !text_equal(row->quantity, quantity) ||
            concurrency_of(row->row) > most)
            continue;
        out->percent[out->n++] = fabs(row->error_percent);
        out->within += row->verdict == VALIDATE_AGREES;
    }
    stat_sort(out->percent, out->n);
}

static void check(const struct errors *errors, const char *what, size_t n, double most)
{
    double median = stat_percentile(errors->percent, errors->n, 0.5);
    double within = (double)errors->within / (double)errors->n;
    print_message("%s: %zu runs, median %.1f %%, p90 %.1f %%, %.1f %% within\n", what,
                  errors->n, median, stat_percentile(errors->percent, errors->n, 0.9),
                  100 * within);
    assert_int_equal(errors->n, n);
    assert_true(median <= most);
    assert_true(within >= 0.9 && within <= 0.99); /* widths are of layouts that no fit saw */
}

static void published_latencies_come_out(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct validation v = {0};
    struct errors errors;
    struct csv csv;
    struct err err = {0};
    published_read("serving_latency", &arena, &csv);
    if (validate_table(&csv, &arena, &v, &err))
        fail_msg("%s: %s", err.where, err.text);
    collect(&v, "time.serving.tpot_s", 100000, &arena, &errors);
    check(&errors, "a token", 341, 12);
    collect(&v, "time.serving.ttft_s", 64, &arena, &errors);
    check(&errors, "first token", 276, 30);
    for (size_t i = 0; i < v.n_summaries; i++) { /* of what a roofline without a fit is off */
        const struct validated_summary *s = &v.summaries[i];
        assert_string_equal(s->control_name, "generic roofline");
        assert_true(s->score.median <= 2.0 / 3 * s->control_median);
    }
    assert_int_equal(v.n_summaries, 2);
    arena_release(&arena);
}

/* Rows of one profile, not of its base, that were fitted: errors are measured, assumed rows and
 * the second row of one constant are none. */
static size_t fitted_constants(const char *name, struct arena *arena)
{
    struct profile profile;
    struct err err = {0};
    char *path;
    size_t n = 0;
    if (catalog_find(CATALOG_PROFILE, name, NULL, arena, &path, &err) ||
        profile_read(path, arena, &profile, &err))
        fail_msg("%s: %s", err.where, err.text);
    for (size_t i = 0; i < profile.n; i++) {
        const struct constant *c = &profile.constants[i];
        bool tied = c->of == PROFILE_MEMORY && c->is == PROFILE_OVERHEAD;
        n += c->depth == 0 && c->is != PROFILE_ERROR && c->is != PROFILE_OUTSIDE &&
             !text_starts(c->source, "assumed") && !tied;
        assert_true(c->low <= 1 && c->high >= 1);
    }
    return n;
}

static void constants_are_few(void **state)
{
    (void)state;
    static const char *const names[] = {"vllm-serve", "sglang-serve", "trtllm-serve-hopper",
                                        "trtllm-serve-blackwell"};
    struct arena arena = {0};
    size_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        n += fitted_constants(names[i], &arena);
    assert_int_equal(n, 23);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_latencies_come_out),
        cmocka_unit_test(constants_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
