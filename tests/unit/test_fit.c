/* base/fit: constants are found again, bounds hold, outliers do not rule. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fit.h"

enum { ROWS = 200 };

struct line {
    double x[ROWS], y[ROWS];
};

/* a + b x */
static double line_at(const void *context, const double *constants, size_t row)
{
    return constants[0] + constants[1] * ((const struct line *)context)->x[row];
}

/* a b x: only the product can be told */
static double product_at(const void *context, const double *constants, size_t row)
{
    return constants[0] * constants[1] * ((const struct line *)context)->x[row];
}

static struct fit_problem problem_of(struct line *line, fit_predict predict,
                                     const struct fit_bound *bounds, uint32_t *rows)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = i;
        line->x[i] = pow(1.1, i % 100);
        line->y[i] = 3 + 0.5 * line->x[i];
    }
    return (struct fit_problem){.n_constants = 2,
                                .bounds = bounds,
                                .predict = predict,
                                .context = line,
                                .measured = line->y,
                                .rows = rows,
                                .n_rows = ROWS,
                                .scale = 0.1};
}

static void constants_are_found_again(void **state)
{
    (void)state;
    static const struct fit_bound bounds[] = {{1, 1e-3, 1e3}, {1, 1e-3, 1e3}};
    struct arena arena = {0};
    struct line line;
    uint32_t rows[ROWS];
    struct fit_result result;
    const struct fit_problem problem = problem_of(&line, line_at, bounds, rows);
    fit_run(&problem, NULL, &arena, &result);
    assert_true(fabs(result.constants[0] / 3 - 1) < 1e-4);
    assert_true(fabs(result.constants[1] / 0.5 - 1) < 1e-4);
    assert_false(result.at_bound[0] || result.at_bound[1]);
    for (size_t i = 0; i < ROWS; i += 20)
        line.y[i] *= 10; /* one in twenty, far off */
    fit_run(&problem, NULL, &arena, &result);
    assert_true(fabs(result.constants[0] / 3 - 1) < 0.05);
    assert_true(fabs(result.constants[1] / 0.5 - 1) < 0.05);
    arena_release(&arena);
}

static void bounds_hold(void **state)
{
    (void)state;
    static const struct fit_bound bounds[] = {{1, 1e-3, 2}, {0.1, 1e-3, 1e3}};
    struct arena arena = {0};
    struct line line;
    uint32_t rows[ROWS];
    struct fit_result result;
    const struct fit_problem problem = problem_of(&line, line_at, bounds, rows);
    fit_run(&problem, NULL, &arena, &result);
    assert_true(result.constants[0] <= 2 && result.constants[0] > 1.999);
    assert_true(result.at_bound[0] && !result.at_bound[1]);
    arena_release(&arena);
}

static void a_product_cannot_be_told_apart(void **state)
{
    (void)state;
    static const struct fit_bound bounds[] = {{1, 1e-3, 1e3}, {1, 1e-3, 1e3}};
    struct arena arena = {0};
    struct line line;
    uint32_t rows[ROWS];
    struct fit_result result;
    const struct fit_problem problem = problem_of(&line, product_at, bounds, rows);
    fit_run(&problem, NULL, &arena, &result);
    assert_true(fabs(result.correlation[0][1]) > 0.95);
    arena_release(&arena);
}

static void nothing_to_fit_keeps_the_start(void **state)
{
    (void)state;
    static const struct fit_bound bounds[] = {{7, 1e-3, 1e3}, {1, 1e-3, 1e3}};
    struct arena arena = {0};
    struct line line;
    uint32_t rows[ROWS];
    struct fit_result result;
    struct fit_problem problem = problem_of(&line, line_at, bounds, rows);
    problem.n_rows = 0;
    fit_run(&problem, NULL, &arena, &result);
    assert_true(fabs(result.constants[0] - 7) < 1e-9);
    arena_release(&arena);
}

/* Twelve runs that take the longer of host and device, with noise of some 15 %. */
static double longer_at(const void *context, const double *constants, size_t row)
{
    (void)context;
    double launches = 10 + 3 * (double)(row % 4), flop = 5 + 4 * (double)(row % 6),
           bytes = 2 + 3 * (double)(row % 5);
    return fmax(launches * constants[0], flop * constants[1] + bytes * constants[2]);
}

/* A fit that goes by slopes at a point ends where host and device take equally long. */
static void kinks_do_not_end_a_fit(void **state)
{
    (void)state;
    static const double measured[] = {11.8, 19.1, 22.0, 19.6, 19.5, 14.5,
                                      19.3, 20.7, 13.1, 14.2, 25.3, 25.3};
    static const struct fit_bound bounds[] = {{1, 1e-2, 1e2}, {1, 1e-2, 1e2}, {1, 1e-2, 1e2}};
    enum { RUNS = sizeof measured / sizeof *measured };
    struct arena arena = {0};
    struct fit_result plain, kinked;
    uint32_t rows[RUNS];
    for (uint32_t i = 0; i < RUNS; i++)
        rows[i] = i;
    struct fit_problem problem = {.n_constants = 3,
                                  .bounds = bounds,
                                  .predict = longer_at,
                                  .measured = measured,
                                  .rows = rows,
                                  .n_rows = RUNS,
                                  .scale = 0.1};
    fit_run(&problem, NULL, &arena, &plain);
    problem.kinked = true;
    fit_run(&problem, NULL, &arena, &kinked);
    if (!(kinked.cost < 0.8 * plain.cost))
        fail_msg("cost %g, by slopes at points %g", kinked.cost, plain.cost);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_are_found_again),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(a_product_cannot_be_told_apart),
        cmocka_unit_test(nothing_to_fit_keeps_the_start),
        cmocka_unit_test(kinks_do_not_end_a_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
