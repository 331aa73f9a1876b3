/* cli/option: every way to write an option, and every way to write it wrongly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/number.h"
#include "cli/command/commands.h"
#include "cli/option/option.h"

struct values {
    bool buffers, dry;
    const char *output;
    uint64_t rank;
    double band;
    unsigned backend;
    struct option_list set;
    uint64_t best;
    double timeout;
};

static const char *const backends[] = {"cpu", "gpu", "null", NULL};

static const struct option options[] = {
    {"buffers", 'b', OPTION_FLAG, offsetof(struct values, buffers), NULL, NULL, "a flag"},
    {"dry-run", 'n', OPTION_FLAG, offsetof(struct values, dry), NULL, NULL, "another"},
    {"output", 'o', OPTION_TEXT, offsetof(struct values, output), "FILE", NULL, "a text"},
    {"rank", 0, OPTION_COUNT, offsetof(struct values, rank), "N", NULL, "a count"},
    {"band", 0, OPTION_REAL, offsetof(struct values, band), "PCT", NULL, "a real"},
    {"backend", 0, OPTION_CHOICE, offsetof(struct values, backend), "NAME", backends,
     "a choice"},
    {"set", 0, OPTION_LIST, offsetof(struct values, set), "KEY=VALUE", NULL, "a list"},
    {"best", 0, OPTION_COUNT, offsetof(struct values, best), "N 1..64", NULL, "a count"},
    {"timeout", 0, OPTION_REAL, offsetof(struct values, timeout), "SECONDS 0.5..1e6", NULL,
     "a real"},
};

enum { MAX_ARGUMENTS = 16 };

struct parsed {
    struct values values;
    struct option_list operands;
    struct arena arena;
    struct err err;
    char *line;
};

/* Splits at blanks; "_" stands for an empty argument. */
static void parse(struct parsed *parsed, const char *line)
{
    char *arguments[MAX_ARGUMENTS];
    static char empty[] = "";
    int n = 0;
    memset(parsed, 0, sizeof *parsed);
    parsed->line = strdup(line);
    for (char *rest = parsed->line, *word = strtok_r(rest, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(n < MAX_ARGUMENTS);
        arguments[n++] = strcmp(word, "_") == 0 ? empty : word;
    }
    const struct option_table tables[] = {
        {options, 3, &parsed->values},
        {options + 3, sizeof options / sizeof *options - 3, &parsed->values},
    };
    (void)option_parse(tables, 2, n, arguments, "test", &parsed->arena, &parsed->operands,
                       &parsed->err);
}

static void discard(struct parsed *parsed)
{
    arena_release(&parsed->arena);
    free(parsed->line);
}

static void every_type_is_read(void **state)
{
    (void)state;
    struct parsed parsed;
    parse(&parsed, "--buffers a.yaml --output=out --rank 7 --band 2.5 --backend null --set a=b "
                   "--set c=d");
    assert_string_equal(parsed.err.text, "");
    assert_true(parsed.values.buffers);
    assert_false(parsed.values.dry);
    assert_string_equal(parsed.values.output, "out");
    assert_int_equal(parsed.values.rank, 7);
    assert_true(parsed.values.band == 2.5);
    assert_int_equal(parsed.values.backend, 2);
    assert_int_equal(parsed.values.set.n, 2);
    assert_string_equal(parsed.values.set.items[1], "c=d");
    assert_int_equal(parsed.operands.n, 1);
    assert_string_equal(parsed.operands.items[0], "a.yaml");
    discard(&parsed);
}

static void letters_join_and_carry_values(void **state)
{
    (void)state;
    static const struct {
        const char *line, *output;
        bool buffers, dry;
    } cases[] = {
        {"-o x", "x", false, false},      {"-ox", "x", false, false},
        {"-bn -o x", "x", true, true},    {"-nox", "x", false, true},
        {"-o -", "-", false, false},      {"-o -b", "-b", false, false},
        {"-o x -o y", "y", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed parsed;
        parse(&parsed, cases[i].line);
        assert_string_equal(parsed.err.text, "");
        assert_string_equal(parsed.values.output, cases[i].output);
        assert_int_equal(parsed.values.buffers, cases[i].buffers);
        assert_int_equal(parsed.values.dry, cases[i].dry);
        discard(&parsed);
    }
}

static void operands_stand_anywhere(void **state)
{
    (void)state;
    struct parsed parsed;
    parse(&parsed, "a --rank 3 - c -- --rank -b");
    assert_string_equal(parsed.err.text, "");
    static const char *const expected[] = {"a", "-", "c", "--rank", "-b"};
    assert_int_equal(parsed.operands.n, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(parsed.operands.items[i], expected[i]);
    assert_int_equal(parsed.values.rank, 3);
    assert_false(parsed.values.buffers);
    discard(&parsed);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text, *hint;
    } cases[] = {
        {"--bufers", "unknown option '--bufers'",
         "did you mean '--buffers'? 'moeplan test -h' lists the options"},
        {"--ouput=x", "unknown option '--ouput'",
         "did you mean '--output'? 'moeplan test -h' lists the options"},
        {"--zzzzzz", "unknown option '--zzzzzz'", "'moeplan test -h' lists the options"},
        {"--=x", "unknown option '--'", "'moeplan test -h' lists the options"},
        {"-x", "unknown option '-x'", "'moeplan test -h' lists the options"},
        {"-bx", "unknown option '-x'", "'moeplan test -h' lists the options"},
        {"a _", "argument 2 is empty", "if it is a shell's variable, nothing has set it"},
        {"--output", "option '--output' needs a value: FILE", ""},
        {"-o", "option '--output' needs a value: FILE", ""},
        {"--buffers=yes", "option '--buffers' takes no value", ""},
        {"--rank -1", "option '--rank' takes a whole number, not '-1'", ""},
        {"--rank 1e3", "option '--rank' takes a whole number, not '1e3'", ""},
        {"--rank 18446744073709551616",
         "option '--rank' takes a whole number, not '18446744073709551616'", ""},
        {"--rank _", "option '--rank' takes a whole number, not ''", ""},
        {"--best 0", "option '--best' takes a whole number from 1 to 64, not '0'", ""},
        {"--best 65", "option '--best' takes a whole number from 1 to 64, not '65'", ""},
        {"--best", "option '--best' needs a value: N", ""},
        {"--timeout 0.4", "option '--timeout' takes a number from 0.5 to 1e6, not '0.4'", ""},
        {"--timeout inf", "option '--timeout' takes a number from 0.5 to 1e6, not 'inf'", ""},
        {"--band inf", "option '--band' takes a number, not 'inf'", ""},
        {"--band 0x10", "option '--band' takes a number, not '0x10'", ""},
        {"--band nan", "option '--band' takes a number, not 'nan'", ""},
        {"--band 5%", "option '--band' takes a number, not '5%'", ""},
        {"--backend nul", "option '--backend' does not know 'nul'",
         "did you mean 'null'? it takes one of: cpu, gpu, null"},
        {"--backend quantum", "option '--backend' does not know 'quantum'",
         "it takes one of: cpu, gpu, null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct parsed parsed;
        parse(&parsed, cases[i].line);
        assert_int_equal(parsed.err.status, STATUS_USAGE);
        assert_string_equal(parsed.err.text, cases[i].text);
        assert_string_equal(parsed.err.hint, cases[i].hint);
        discard(&parsed);
    }
}

static void usage_follows_the_table(void **state)
{
    (void)state;
    static const struct {
        size_t option;
        const char *expected;
    } cases[] = {{0, "-b, --buffers"},
                 {2, "-o, --output FILE"},
                 {3, "    --rank N"},
                 {7, "    --best N"},
                 {5, "    --backend cpu|gpu|null"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct text usage = {.arena = &arena};
        option_usage(&options[cases[i].option], &usage);
        assert_string_equal(text_string(&usage), cases[i].expected);
        arena_release(&arena);
    }
}

static void limits_are_part_of_the_help(void **state)
{
    (void)state;
    struct arena arena = {0};
    assert_string_equal(option_help(&options[7], &arena), "a count (1 to 64)");
    assert_string_equal(option_help(&options[3], &arena), "a count");
    assert_string_equal(option_argument(&options[8], &arena), "SECONDS");
    assert_null(option_argument(&options[0], &arena));
    arena_release(&arena);
}

/* What a command takes as a number, it takes within limits that its help says. */
static void every_number_of_every_command_has_limits(void **state)
{
    (void)state;
    size_t n, numbers = 0;
    const struct command *const *commands = commands_all(&n);
    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < commands[c]->n_options; i++) {
            const struct option *option = &commands[c]->options[i];
            double least, most;
            if (option->type != OPTION_COUNT && option->type != OPTION_REAL)
                continue;
            const char *blank = strchr(option->argument, ' ');
            print_message("%s --%s\n", commands[c]->name, option->name);
            assert_non_null(blank);
            assert_true(number_limits(blank + 1, &least, &most));
            assert_true(least < most);
            numbers++;
        }
    assert_true(numbers >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(letters_join_and_carry_values),
        cmocka_unit_test(operands_stand_anywhere),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(usage_follows_the_table),
        cmocka_unit_test(limits_are_part_of_the_help),
        cmocka_unit_test(every_number_of_every_command_has_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
