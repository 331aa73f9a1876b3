/* calib/curve: the publisher's routing, the shipped tables, and what cannot be read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "calib/curve.h"
#include "support/published.h"

static void balanced_routing_by_hand(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct curve_routing *routing = curve_routing_create(&arena);
    struct curve_rows rows;
    /* one token of 8 choices, stride 16: rank 0 of 8 holds expert 0 alone */
    assert_true(curve_routing_rows(routing, "balanced", 1, 128, 8, 8, &rows));
    assert_true(fabs(rows.rows - 1) < 1e-12 && fabs(rows.hit - 1) < 1e-12);
    assert_true(fabs(rows.padded[0] - 16) < 1e-12 && fabs(rows.padded[4] - 256) < 1e-12);
    /* 128 tokens: each of 16 local experts gets 8 rows */
    assert_true(curve_routing_rows(routing, "uniform", 128, 128, 8, 8, &rows));
    assert_true(fabs(rows.rows - 128) < 1e-12 && fabs(rows.hit - 16) < 1e-12);
    arena_release(&arena);
}

static void power_laws_keep_their_rows(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct curve_routing *routing = curve_routing_create(&arena);
    struct curve_rows all, part, packed;
    for (uint64_t tokens = 1; tokens <= 4096; tokens *= 8) {
        assert_true(curve_routing_rows(routing, "power_law_1.2", tokens, 256, 8, 1, &all));
        assert_true(fabs(all.rows - 8.0 * (double)tokens) < 1e-6);
        assert_true(all.hit <= 256 && all.padded[0] >= all.rows);
        assert_true(curve_routing_rows(routing, "power_law_1.2", tokens, 256, 8, 16, &part));
        assert_true(
            curve_routing_rows(routing, "power_law_1.2_eplb", tokens, 256, 8, 16, &packed));
        /* the fullest of 16 has more than the mean, packing brings it nearer */
        assert_true(part.rows >= all.rows / 16 && packed.rows >= all.rows / 16 - 1e-9);
        assert_true(packed.rows <= part.rows);
    }
    assert_false(curve_routing_rows(routing, "zipf", 8, 256, 8, 16, &all));
    assert_false(curve_routing_rows(routing, "balanced", 8, 256, 8, 24, &all));
    arena_release(&arena);
}

static void shipped_tables(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t n, n_families;
    } tables[] = {{"moe_kernels_hopper", 21245, 10},
                  {"deepgemm_kernels", 56, 1},
                  {"ep_dispatch_combine", 20, 2},
                  {"collectives", 1512, 8}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct arena arena = {0};
        struct csv csv;
        struct curve_table table;
        struct err err = {0};
        size_t n = 0;
        published_read(tables[i].name, &arena, &csv);
        assert_true(curve_is_table(&csv));
        assert_int_equal(curve_read(&csv, &arena, &table, &err), STATUS_OK);
        assert_int_equal(table.n, tables[i].n);
        assert_int_equal(table.n_families, tables[i].n_families);
        for (size_t f = 0; f < table.n_families; f++)
            n += table.families[f].n;
        assert_int_equal(n, table.n);
        arena_release(&arena);
    }
}

static void bad_tables(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } cases[] = {
        {"a,b\n1,2\n", "t.csv:1:1", "not the columns"},
        {"profile,op,dtype,device,ranks,512\nx,gather,f16,h100,8,1\n", "t.csv:2:1",
         "no collective"},
        {"profile,op,dtype,device,ranks,512\nx,all_gather,f16,h100,1,1\n", "t.csv:2:1",
         "two ranks"},
        {"profile,op,dtype,device,ranks,512\nx,all_gather,f16,h100,8,1;-2\n", "t.csv:2:1",
         "no time"},
        {"profile,op,dtype,device,ranks,512\nx,all_gather,f16,nowhere,8,1\n", "table:2:10",
         "nowhere"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct csv csv;
        struct curve_table table;
        struct err err = {0};
        const char *text = cases[i].text;
        assert_int_equal(csv_parse("t.csv", text, strlen(text), &arena, &csv, &err), STATUS_OK);
        assert_int_equal(curve_read(&csv, &arena, &table, &err), STATUS_INPUT);
        if (strcmp(err.where, cases[i].where) != 0 || !strstr(err.text, cases[i].what))
            fail_msg("case %zu: %s: %s", i, err.where, err.text);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balanced_routing_by_hand),
        cmocka_unit_test(power_laws_keep_their_rows),
        cmocka_unit_test(shipped_tables),
        cmocka_unit_test(bad_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
