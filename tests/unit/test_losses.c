/* cli/chart/losses: curves that are lines in the logarithm of the step, whose crossing is
 * known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/chart/losses.h"

static enum status read_text(const char *text, struct arena *arena, struct losses *out,
                             struct err *err)
{
    struct csv csv;
    assert_int_equal(csv_parse("t.csv", text, strlen(text), arena, &csv, err), STATUS_OK);
    return losses_read(&csv, arena, out, err);
}

static void near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1e-6 * fabs(wanted)))
        fail_msg("%.9g, expected %.9g", value, wanted);
}

/* A: 10 - ln(step), a second a step; B: 10.5 - 1.2 ln(step), two seconds. At t seconds B has
 * lost 10.5 - 1.2 ln(t / 2), A 10 - ln t: they cross where 0.2 ln t = 0.5 + 1.2 ln 2. */
static void lines_cross_where_they_do(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct losses losses;
    struct text text = {.arena = &arena};
    text_append(&text, "name,step,loss,step_s\n");
    for (unsigned i = 0; i <= 10; i++) {
        double step = pow(2, i);
        text_printf(&text, "a,%.17g,%.17g,1\nb,%.17g,%.17g,2\n", step, 10 - log(step), step,
                    10.5 - 1.2 * log(step));
    }
    assert_int_equal(read_text(text_string(&text), &arena, &losses, &err), STATUS_OK);
    assert_int_equal(losses.n, 2);
    near(losses.runs[1].ahead_h, exp((0.5 + 1.2 * log(2)) / 0.2) / 3600);
    /* the first run's last loss, 10 - 10 ln 2: 1.2 ln(step) = 0.5 + 10 ln 2 */
    near(losses.runs[1].reaches_h, 2 * exp((0.5 + 10 * log(2)) / 1.2) / 3600);
    assert_true(isnan(losses.runs[0].ahead_h));
    arena_release(&arena);
}

/* Last values alone cross nowhere. */
static void one_point_says_its_hour(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct err err = {0};
    struct losses losses;
    assert_int_equal(read_text("name,step,loss,step_s\na,2000,5.163,28.4\nb,2000,5.003,35\n",
                               &arena, &losses, &err),
                     STATUS_OK);
    near(losses.runs[1].reaches_h, 2000 * 35.0 / 3600);
    assert_true(isnan(losses.runs[1].ahead_h));
    arena_release(&arena);
}

static void bad_tables_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"name,step,loss,step_s\na,2,5,1\na,2,4,1\n", "does not come after"},
        {"name,step,loss,step_s\na,0,5,1\n", "no number above 0"},
        {"name,step,loss,step_s\na,1,x,1\n", "no number above 0"},
        {"name,step,loss\na,1,5\n", "no row of 'a' says"},
        {"name,step,loss,plan,set\na,1,5,p.yaml,x\n", "is no key=value"},
        {"name,step,loss,plan\na,1,5,/nonexistent.yaml\n", "cannot be opened"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct losses losses;
        assert_int_equal(read_text(cases[i].text, &arena, &losses, &err), STATUS_INPUT);
        if (!strstr(err.text, cases[i].said))
            fail_msg("case %d: %s", (int)i, err.text);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_cross_where_they_do),
                                       cmocka_unit_test(one_point_says_its_hour),
                                       cmocka_unit_test(bad_tables_are_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
