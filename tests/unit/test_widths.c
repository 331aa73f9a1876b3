/* The errors that profiles state are those of what was left out of fits
 * (tests/data/widths.csv), and the fits were of what is predicted today. MOEPLAN_REWRITE=1
 * writes the errors into the profiles; the file is written by those that fit
 * (support/widths.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/text.h"
#include "calib/fit/calibrate_runs.h"
#include "calib/validate/validate.h"
#include "plan/data/profile.h"
#include "plan/data/published.h"
#include "plan/read/catalog.h"
#include "plan/speculation.h"
#include "support/published.h"
#include "support/widths.h"

enum { MOST = 400, LIMIT = 1 << 20 };

static const double LAST_DIGIT = 0.0006; /* files have three digits behind the point */

/* A row of a profile is the widest of one or two lines: a plan whose device, model or key no
 * run had is not told to be surer than one of these. What no run judges has a line of another
 * profile's, and says so (`source`). */
static const struct stated {
    const char *profile;
    enum profile_item of;
    enum profile_quantity is;
    const char *from, *kind, *cut, *or_cut;
} stated[] = {
    {"vllm-serve", PROFILE_STEP, PROFILE_ERROR, "vllm-serve", "tpot", "layout", NULL},
    {"vllm-serve", PROFILE_REQUEST, PROFILE_ERROR, "vllm-serve", "ttft", "layout", NULL},
    {"vllm-serve", PROFILE_STEP, PROFILE_OUTSIDE, "trtllm-serve-blackwell", "tpot", "model",
     NULL},
    {"vllm-serve", PROFILE_REQUEST, PROFILE_OUTSIDE, "trtllm-serve-blackwell", "ttft", "model",
     NULL},
    {"sglang-serve", PROFILE_STEP, PROFILE_ERROR, "sglang-serve", "tpot", "layout", NULL},
    {"sglang-serve", PROFILE_REQUEST, PROFILE_ERROR, "sglang-serve", "ttft", "layout", NULL},
    {"sglang-serve", PROFILE_STEP, PROFILE_OUTSIDE, "trtllm-serve-blackwell", "tpot", "model",
     NULL},
    {"sglang-serve", PROFILE_REQUEST, PROFILE_OUTSIDE, "sglang-serve", "ttft", "device", NULL},
    {"sglang-serve-hopper", PROFILE_REQUEST, PROFILE_ERROR, "sglang-serve", "ttft", "device",
     NULL},
    {"trtllm-serve-hopper", PROFILE_STEP, PROFILE_ERROR, "trtllm-serve-hopper", "tpot",
     "layout", NULL},
    {"trtllm-serve-hopper", PROFILE_REQUEST, PROFILE_ERROR, "trtllm-serve-hopper", "ttft",
     "layout", NULL},
    {"trtllm-serve-hopper", PROFILE_STEP, PROFILE_OUTSIDE, "trtllm-serve-hopper", "tpot",
     "model", NULL},
    {"trtllm-serve-hopper", PROFILE_REQUEST, PROFILE_OUTSIDE, "trtllm-serve-hopper", "ttft",
     "model", NULL},
    {"trtllm-serve-blackwell", PROFILE_STEP, PROFILE_ERROR, "trtllm-serve-blackwell", "tpot",
     "layout", NULL},
    {"trtllm-serve-blackwell", PROFILE_REQUEST, PROFILE_ERROR, "trtllm-serve-blackwell", "ttft",
     "layout", NULL},
    {"trtllm-serve-blackwell", PROFILE_STEP, PROFILE_OUTSIDE, "trtllm-serve-blackwell", "tpot",
     "model", NULL},
    {"trtllm-serve-blackwell", PROFILE_REQUEST, PROFILE_OUTSIDE, "trtllm-serve-blackwell",
     "ttft", "model", NULL},
    {"megatron", PROFILE_STEP, PROFILE_ERROR, "megatron", "step", "layout", NULL},
    {"megatron", PROFILE_STEP, PROFILE_OUTSIDE, "megatron", "step", "model", "layout"},
    {"megatron", PROFILE_STEP, PROFILE_UNLIKE, "megatron", "step", "keys", "layout"},
    {"maxtext-mi355x", PROFILE_STEP, PROFILE_ERROR, "maxtext-mi355x", "step", "layout", NULL},
    {"rdep-b200", PROFILE_STEP, PROFILE_ERROR, "rdep-b200", "step", "layout", NULL},
};
enum { STATED = sizeof stated / sizeof *stated };

/* ---- profiles state what was found ---- */

static double found(const struct widths *widths, const struct stated *s)
{
    const struct width *one = widths_find(widths, s->from, s->kind, s->cut), *other = NULL;
    if (s->or_cut)
        other = widths_find(widths, s->from, s->kind, s->or_cut);
    if (!one || (s->or_cut && !other))
        fail_msg("tests/data/widths.csv has no %s of %s, %s left out", s->kind, s->from,
                 one ? s->or_cut : s->cut);
    return other ? fmax(one->width, other->width) : one->width;
}

/* Value and interval of the row "{of: .., is: .., value: V, interval: [V, V]". */
static void write_value(const char *path, const struct stated *s, double value,
                        struct arena *arena)
{
    struct err err = {0};
    char *text;
    size_t length;
    const char *row = arena_printf(arena, "{of: %s, is: %s, value: ", profile_item_name(s->of),
                                   profile_quantity_name(s->is));
    assert_int_equal(file_read(path, LIMIT, arena, &text, &length, &err), STATUS_OK);
    char *from = strstr(text, row), *to = from ? strchr(from, ']') : NULL;
    if (!to)
        fail_msg("%s has no row %s", path, row);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "%.*s%s%.4g, interval: [%.4g, %.4g%s", (int)(from - text), text, row, value,
            value, value, to);
    assert_int_equal(fclose(out), 0);
}

static void check_stated(const struct widths *widths, const struct stated *s,
                         struct arena *arena)
{
    struct profile profile;
    struct err err = {0};
    char *path;
    double value = found(widths, s);
    if (catalog_find(CATALOG_PROFILE, s->profile, NULL, arena, &path, &err) ||
        profile_read(path, arena, &profile, &err))
        fail_msg("%s: %s", err.where, err.text);
    const struct constant *c =
        profile_find(&profile, s->of, s->is, PROFILE_ANY, PROFILE_ANY, PROFILE_ANY);
    assert_true(c && c->depth == 0);
    if (fabs(c->y[0] - value) < LAST_DIGIT)
        return;
    if (getenv("MOEPLAN_REWRITE")) {
        write_value(path, s, value, arena);
        return;
    }
    fail_msg("%s: %s of %s is %g, by what was left out %.3f (MOEPLAN_REWRITE=1 takes it over)",
             path, profile_quantity_name(s->is), profile_item_name(s->of), c->y[0], value);
}

static void profiles_state_what_was_left_out(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct widths widths;
    widths_read(&widths, &arena);
    for (size_t i = 0; i < STATED; i++)
        check_stated(&widths, &stated[i], &arena);
    arena_release(&arena);
}

static bool is_stated(const char *profile, const struct constant *c)
{
    for (size_t i = 0; i < STATED; i++)
        if (text_equal(stated[i].profile, profile) && stated[i].of == c->of &&
            stated[i].is == c->is)
            return true;
    return false;
}

/* Errors of kernels and collectives are `calibrate`'s (docs/check_profiles). */
static void every_error_is_stated_or_assumed(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct catalog_item *items;
    size_t n;
    catalog_list(CATALOG_PROFILE, &arena, &items, &n);
    for (size_t i = 0; i < n; i++) {
        struct profile profile;
        struct err err = {0};
        assert_int_equal(profile_read(items[i].path, &arena, &profile, &err), STATUS_OK);
        for (size_t k = 0; k < profile.n; k++) {
            const struct constant *c = &profile.constants[k];
            bool error =
                c->is == PROFILE_ERROR || c->is == PROFILE_OUTSIDE || c->is == PROFILE_UNLIKE;
            if (error && c->depth == 0 && (c->of == PROFILE_STEP || c->of == PROFILE_REQUEST) &&
                !is_stated(items[i].name, c) && !strstr(c->source, "assumed"))
                fail_msg("%s: %s of %s is neither derived nor assumed", items[i].name,
                         profile_quantity_name(c->is), profile_item_name(c->of));
        }
    }
    arena_release(&arena);
}

/* ---- what was fitted is what is predicted ---- */

struct told {
    double told[MOST], measured[MOST];
    size_t n;
};

static void check_told(const struct widths *widths, const char *profile, const char *kind,
                       const struct told *t)
{
    struct width now = {.profile = profile};
    size_t lines = 0;
    widths_told(&now, t->told, t->measured, t->n);
    for (size_t i = 0; i < widths->n; i++) {
        const struct width *w = &widths->list[i];
        if (!text_equal(w->profile, profile) || !text_equal(w->kind, kind))
            continue;
        lines++;
        if (fabs(now.told_mean - w->told_mean) > 0.001 ||
            fabs(now.told_rms - w->told_rms) > 0.001)
            fail_msg("%s, %s: log(told / measured) is %.4f on average, rms %.4f; %.4f and %.4f "
                     "when layouts were left out: run tests/fit_%s of the build with "
                     "MOEPLAN_REWRITE=1",
                     profile, kind, now.told_mean, now.told_rms, w->told_mean, w->told_rms,
                     text_equal(profile, "megatron") ? "owned" : "served");
    }
    assert_true(lines > 0);
}

static void steps_are_told_as_then(void **state)
{
    (void)state;
    static const struct override set = {"stack.profile", "megatron", "test"};
    static const struct published_sets more = {&set, 1};
    static const struct run_choice choice = {.sets = &more, .depth = RUN_TOLD};
    static struct told t;
    struct arena arena = {0};
    struct run_calibration c;
    struct widths widths;
    struct csv csv;
    struct err err = {0};
    widths_read(&widths, &arena);
    published_read("megatron_train_throughput", &arena, &csv);
    if (calibrate_runs(&csv, &choice, &arena, &c, &err))
        fail_msg("%s: %s", err.where, err.text);
    for (t.n = 0; t.n < c.n; t.n++) {
        t.told[t.n] = c.values[t.n].before;
        t.measured[t.n] = c.values[t.n].measured;
    }
    check_told(&widths, "megatron", "step", &t);
    arena_release(&arena);
}

static const char *const served[] = {"vllm-serve", "sglang-serve", "trtllm-serve-hopper",
                                     "trtllm-serve-blackwell"};
enum { SERVED = sizeof served / sizeof *served };

/* Those that the fits count: none that drafts, first tokens to a concurrency of 64. */
static void add_served(const struct csv *csv, size_t row, const struct validated *v,
                       struct arena *arena, struct told told[SERVED][2])
{
    struct plan plan;
    struct profile profile;
    struct err err = {0};
    bool token = text_equal(v->quantity, "time.serving.tpot_s");
    published_load(csv, row, arena, &plan);
    assert_int_equal(profile_load(&plan, arena, &profile, &err), STATUS_OK);
    if (plan_speculates(&plan) || (!token && plan.workload.concurrency > 64))
        return;
    size_t p = 0;
    while (p < SERVED && !text_equal(profile.name, served[p]))
        p++;
    assert_true(p < SERVED);
    struct told *t = &told[p][token];
    assert_true(t->n < MOST);
    t->told[t->n] = v->value;
    t->measured[t->n++] = v->measured;
}

static void requests_are_told_as_then(void **state)
{
    (void)state;
    static struct told told[SERVED][2];
    struct arena arena = {0};
    struct validation v = {0};
    struct widths widths;
    struct csv csv;
    struct err err = {0};
    widths_read(&widths, &arena);
    published_read("serving_latency", &arena, &csv);
    if (validate_table(&csv, &arena, &v, &err))
        fail_msg("%s: %s", err.where, err.text);
    assert_int_equal(v.n, csv.n_rows);
    for (size_t row = 0; row < csv.n_rows; row++)
        add_served(&csv, row, &v.rows[row], &arena, told);
    for (size_t p = 0; p < SERVED; p++) {
        check_told(&widths, served[p], "ttft", &told[p][0]);
        check_told(&widths, served[p], "tpot", &told[p][1]);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_state_what_was_left_out),
        cmocka_unit_test(every_error_is_stated_or_assumed),
        cmocka_unit_test(steps_are_told_as_then),
        cmocka_unit_test(requests_are_told_as_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
