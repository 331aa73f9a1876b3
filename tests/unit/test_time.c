/* Step times against published runs, with the shipped profiles. */
#include "sim/time.h"

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
#include "support/published.h"

/* ---- seed 000 ---- */

struct cell {
    const char *path; /* "dense-cf1.25" of "dense-cf1.25/4" */
    uint64_t micro_batch;
    double published, predicted, low, high;
    bool real;
};

enum { CELLS = 64 };

static void predict_cell(const struct csv *csv, size_t row, struct arena *arena,
                         struct cell *cell)
{
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct profile profile;
    struct time_report time;
    struct err err = {0};
    published_load(csv, row, arena, plan);
    plan->moe.routing.samples = 20;
    assert_int_equal(profile_load(plan, arena, &profile, &err), STATUS_OK);
    const struct time_ask ask = {.profile = &profile};
    if (time_of(plan, &ask, arena, &time, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_string_equal(time.profile, "maxtext-mi355x");
    const char *name = csv_cell(csv, row, "row");
    double tokens = time.step.tokens / 64;
    *cell = (struct cell){.path = arena_strndup(arena, name, strcspn(name, "/")),
                          .micro_batch = plan->workload.micro_batch,
                          .published = strtod(csv_cell(csv, row, "published"), NULL),
                          .predicted = time.tokens_per_s_per_device,
                          .low = tokens / time.high_s,
                          .high = tokens / time.low_s,
                          .real = plan->workload.data == DATA_REAL};
}

static size_t read_cells(struct arena *arena, struct cell *cells)
{
    struct csv csv;
    size_t n = 0;
    published_read("seed000_primus_turbo", arena, &csv);
    for (size_t row = 0; row < csv.n_rows; row++)
        if (text_equal(csv_cell(&csv, row, "quantity"), "time.tokens_per_s_per_device")) {
            assert_true(n < CELLS);
            predict_cell(&csv, row, arena, &cells[n++]);
        }
    return n;
}

/* Issue: 19 rates with four constants within 1.5 % on average; C4 within 2.5 % with two more.
 */
static void rates_of_seed_000(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cell cells[CELLS];
    size_t n = read_cells(&arena, cells), rates = 0, inside = 0, real = 0;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const struct cell *c = &cells[i];
        double error = 100 * fabs(c->predicted / c->published - 1);
        if (c->real && error > 2.5)
            fail_msg("C4 %s: %.1f, published %.1f", c->path, c->predicted, c->published);
        real += c->real;
        if (c->real)
            continue;
        sum += error;
        inside += c->published >= c->low && c->published <= c->high;
        rates++;
    }
    assert_int_equal(rates, 19);
    assert_int_equal(real, 5);
    if (sum / (double)rates > 1.5)
        fail_msg("mean error %.2f %%", sum / (double)rates);
    assert_in_range(inside, 17, 19); /* 85 to 97 % of the intervals hold */
    arena_release(&arena);
}

static void order_of_paths_is_right_at_every_micro_batch(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct cell cells[CELLS];
    size_t n = read_cells(&arena, cells), pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const struct cell *a = &cells[i], *b = &cells[j];
            if (a->real || b->real || a->micro_batch != b->micro_batch ||
                a->published <= b->published)
                continue;
            pairs++;
            if (a->predicted <= b->predicted)
                fail_msg("micro-batch %d: %s %.1f above %s %.1f, predicted %.1f and %.1f",
                         (int)a->micro_batch, a->path, a->published, b->path, b->published,
                         a->predicted, b->predicted);
        }
    assert_in_range(pairs, 25, 60);
    arena_release(&arena);
}

/* ---- Megatron ---- */

enum { RUNS = 64 };

/* Runs of one model: the share of pairs whose order is predicted right (Kendall). */
static double order_of(const struct cell *cells, size_t n, const char *model)
{
    double right = 0, pairs = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const struct cell *a = &cells[i], *b = &cells[j];
            if (!strstr(a->path, model) || !strstr(b->path, model) ||
                a->published <= 1.02 * b->published)
                continue;
            pairs++;
            right += a->predicted > b->predicted;
        }
    return right / pairs;
}

/* 42 runs of ten releases with one set of twelve constants (models/profiles/megatron.yaml). */
static void rates_of_megatron(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct csv csv;
    struct cell cells[RUNS];
    double errors[RUNS];
    size_t n = 0, inside = 0;
    published_read("megatron_train_throughput", &arena, &csv);
    for (size_t row = 0; row < csv.n_rows; row++) {
        struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
        struct profile profile;
        struct time_report time;
        struct err err = {0};
        published_load(&csv, row, &arena, plan);
        assert_int_equal(profile_load(plan, &arena, &profile, &err), STATUS_OK);
        assert_string_equal(profile.name, "megatron");
        const struct time_ask ask = {.profile = &profile};
        assert_int_equal(time_of(plan, &ask, &arena, &time, &err), STATUS_OK);
        struct cell *c = &cells[n];
        *c = (struct cell){.path = csv_cell(&csv, row, "row"),
                           .published = strtod(csv_cell(&csv, row, "published"), NULL),
                           .predicted = time.tokens_per_s_per_device};
        double ratio = c->published / c->predicted;
        errors[n++] = fabs(1 / ratio - 1);
        inside += ratio >= time.step_s / time.high_s && ratio <= time.step_s / time.low_s;
    }
    assert_int_equal(n, 42);
    stat_sort(errors, n);
    if (stat_percentile(errors, n, 0.5) > 0.085)
        fail_msg("median error %.1f %%", 100 * stat_percentile(errors, n, 0.5));
    assert_in_range(inside, 36, 41); /* 85 to 97 % */
    assert_true(order_of(cells, n, "deepseek") > 0.85);
    assert_true(order_of(cells, n, "qwen") > 0.85);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_of_seed_000),
        cmocka_unit_test(rates_of_megatron),
        cmocka_unit_test(order_of_paths_is_right_at_every_micro_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
