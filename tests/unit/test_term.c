/* base/term: when there is colour and UTF-8, how wide, what a bar looks like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/term.h"

/* The value of NAME in a list of "NAME=value". */
static const char *look_up(const char *const *variables, const char *name)
{
    size_t length = strlen(name);
    for (; *variables; variables++)
        if (strncmp(*variables, name, length) == 0 && (*variables)[length] == '=')
            return *variables + length + 1;
    return NULL;
}

#define ENVIRONMENT(function, ...)                                                             \
    static const char *function(const char *name)                                              \
    {                                                                                          \
        static const char *const variables[] = {__VA_ARGS__, NULL};                            \
        return look_up(variables, name);                                                       \
    }

ENVIRONMENT(usual, "TERM=xterm", "LANG=en_US.UTF-8")
ENVIRONMENT(no_color, "TERM=xterm", "LANG=en_US.utf8", "NO_COLOR=1")
ENVIRONMENT(no_color_empty, "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=")
ENVIRONMENT(dumb, "TERM=dumb", "LANG=en_US.UTF-8")
ENVIRONMENT(no_term, "LANG=en_US.UTF-8")
ENVIRONMENT(lc_all_wins, "TERM=xterm", "LANG=en_US.UTF-8", "LC_ALL=C")
ENVIRONMENT(lc_ctype_wins, "TERM=xterm", "LC_CTYPE=C.UTF-8", "LANG=C")
ENVIRONMENT(empty_is_unset, "TERM=xterm", "LC_ALL=", "LANG=de_DE.UTF-8@euro")
ENVIRONMENT(columns, "COLUMNS=88")
ENVIRONMENT(launched, "TERM=xterm", "LANG=C.UTF-8", "OMPI_COMM_WORLD_RANK=0")
ENVIRONMENT(latin, "TERM=xterm", "LANG=de_DE.ISO-8859-1")

static void environment_decides(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *(*variable)(const char *name);
        bool tty, colour, utf8;
    } cases[] = {
        {"usual", usual, true, true, true},
        {"not a terminal", usual, false, false, true},
        {"NO_COLOR", no_color, true, false, true},
        {"NO_COLOR empty", no_color_empty, true, true, true},
        {"TERM=dumb", dumb, true, false, true},
        {"no TERM", no_term, true, false, true},
        {"LC_ALL first", lc_all_wins, true, true, false},
        {"LC_CTYPE next", lc_ctype_wins, true, true, true},
        {"empty is unset", empty_is_unset, true, true, true},
        {"under mpirun", launched, true, false, true},
        {"latin", latin, true, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct term term;
        term_decide(&term, cases[i].tty, 90, cases[i].variable);
        print_message("%s\n", cases[i].name);
        assert_int_equal(term.colour, cases[i].colour);
        assert_int_equal(term.utf8, cases[i].utf8);
        assert_string_equal(term_style(&term, STYLE_BOLD), cases[i].colour ? "\033[1m" : "");
    }
}

static void width_is_kept_between_limits(void **state)
{
    (void)state;
    static const unsigned cases[][2] = {{0, 96}, {40, 80}, {80, 80}, {93, 93}, {240, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct term term;
        term_decide(&term, true, cases[i][0], usual);
        assert_int_equal(term.width, cases[i][1]);
    }
    struct term term;
    term_decide(&term, false, 0, columns);
    assert_int_equal(term.width, 88);
    term_decide(&term, true, 90, columns);
    assert_int_equal(term.width, 90);
}

static void bars_have_their_width(void **state)
{
    (void)state;
    static const struct {
        bool utf8;
        double fraction;
        const char *expected;
    } cases[] = {
        {true, 0, "    "},
        {true, 1, "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"},
        {true, 2, "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"},
        {true, 0.5, "\xe2\x96\x88\xe2\x96\x88  "},
        {true, 0.40625, "\xe2\x96\x88\xe2\x96\x8b  "}, /* 13 eighths */
        {true, 1e-6, "\xe2\x96\x8f   "},
        {false, 0, "    "},
        {false, 0.5, "##  "},
        {false, 1, "####"},
        {false, 1e-6, "#   "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct text bar = {.arena = &arena};
        struct term term = {.utf8 = cases[i].utf8};
        term_bar(&term, &bar, cases[i].fraction, 4);
        assert_string_equal(text_string(&bar), cases[i].expected);
        assert_int_equal(term_columns(text_string(&bar)), 4);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_decides),
        cmocka_unit_test(width_is_kept_between_limits),
        cmocka_unit_test(bars_have_their_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
