/* A sweep's CSV read back: axes, series and limits for the charts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cli/frontier/sweep_table.h"

static enum status parse(const char *text, struct arena *arena, struct sweep_table *table)
{
    struct err err = {0};
    return sweep_table_parse("rows", text, strlen(text), arena, table, &err);
}

static void test_axes(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct sweep_table table;
    const char *rows = "case,workload.micro_batch,verdict,total_bytes,limit_bytes\n"
                       "a,1,fits,1073741824,4294967296\n"
                       "a,2,fits,2147483648,4294967296\n"
                       "\"b, c\",1,oom,8589934592,5368709120\n"
                       "\"b, c\",2,invalid,,\n";
    assert_int_equal(parse(rows, &arena, &table), STATUS_OK);
    assert_int_equal(table.n_axes, 2);
    assert_string_equal(table.axes[0].name, "case");
    assert_int_equal(table.axes[0].n_values, 2);
    assert_string_equal(table.axes[0].values[1], "b, c");
    assert_null(table.axes[0].values[2]);
    assert_false(table.axes[0].numeric);
    assert_int_equal(table.axes[1].n_values, 2);
    assert_true(table.axes[1].numeric);
    arena_release(&arena);
}

static void test_limits(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct sweep_table table;
    double gib[2];
    bool more;
    const char *rows = "x,verdict,total_bytes,limit_bytes\n"
                       "1,fits,1,5368709120\n2,fits,1,4294967296\n"
                       "3,invalid,,\n4,fits,1,4294967296\n";
    assert_int_equal(parse(rows, &arena, &table), STATUS_OK);
    assert_int_equal(sweep_table_gib(&table, "limit_bytes", 2, gib, &more), 2);
    assert_true(gib[0] == 4 && gib[1] == 5 && !more);
    assert_int_equal(sweep_table_gib(&table, "limit_bytes", 1, gib, &more), 1);
    assert_true(more);
    arena_release(&arena);
}

static void test_many_values(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct text rows = {.arena = &arena};
    struct sweep_table table;
    text_append(&rows, "x,verdict,total_bytes\n");
    for (unsigned i = 0; i < 1000; i++)
        text_printf(&rows, "%u,fits,%u\n", i % 100, i);
    assert_int_equal(parse(text_string(&rows), &arena, &table), STATUS_OK);
    assert_int_equal(table.axes[0].n_values, 100);
    assert_string_equal(table.axes[0].values[99], "99");
    arena_release(&arena);
}

/* Comparing every value with all before it takes a minute here. */
static void test_values_that_never_repeat(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct text rows = {.arena = &arena};
    struct sweep_table table;
    text_append(&rows, "x,y,verdict,total_bytes\n");
    for (unsigned i = 0; i < 400000; i++)
        text_printf(&rows, "%u,v%u,fits,%u\n", i, i * 7, i);
    assert_int_equal(parse(text_string(&rows), &arena, &table), STATUS_OK);
    assert_int_equal(table.axes[0].n_values, 400000);
    assert_string_equal(table.axes[1].values[399999], "v2799993");
    assert_false(table.axes[1].numeric);
    arena_release(&arena);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "a,b\n1,2\n",                                        /* no verdict */
        "verdict,total_bytes\nfits,1\n",                     /* no axis */
        "x,verdict\n1,fits\n",                               /* no bytes */
        "x,verdict,total_bytes\n",                           /* no rows */
        "a,b,c,d,e,verdict,total_bytes\n1,1,1,1,1,fits,1\n", /* too many axes */
        "x,verdict,total_bytes\n1,fits,inf\n",
        "x,verdict,total_bytes\n1,fits,nan\n",
        "x,verdict,total_bytes\n1,fits,1e999\n",
        "x,verdict,total_bytes,limit_bytes\n1,fits,1,0x10\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arena arena = {0};
        struct sweep_table table = {.n_axes = 77};
        assert_int_equal(parse(bad[i], &arena, &table), STATUS_INPUT);
        assert_int_equal(table.n_axes, 77); /* untouched */
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many_values), cmocka_unit_test(test_values_that_never_repeat),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
