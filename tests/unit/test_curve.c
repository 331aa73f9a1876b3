/* calib/table/curve: the publisher's routing, the shipped tables, and what cannot be read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "calib/table/curve.h"
#include "support/published.h"

static void balanced_routing_by_hand(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct curve_routing *routing = curve_routing_create(&arena);
    struct curve_rows rows;
    /* one token of 8 choices, stride 16: rank 0 of 8 holds expert 0 alone */
    assert_true(curve_routing_rows(routing, "balanced",
                                   &(struct curve_call){1, 128, 8, 8, 0, 0, false}, &rows));
    assert_true(fabs(rows.rows - 1) < 1e-12 && fabs(rows.hit - 1) < 1e-12);
    assert_true(fabs(rows.padded[0] - 16) < 1e-12 && fabs(rows.padded[4] - 256) < 1e-12);
    /* 128 tokens: each of 16 local experts gets 8 rows */
    assert_true(curve_routing_rows(routing, "uniform",
                                   &(struct curve_call){128, 128, 8, 8, 0, 0, false}, &rows));
    assert_true(fabs(rows.rows - 128) < 1e-12 && fabs(rows.hit - 16) < 1e-12);
    arena_release(&arena);
}

static struct curve_rows rows_of(const char *word, const struct curve_call *call)
{
    struct arena arena = {0};
    struct curve_routing *routing = curve_routing_create(&arena);
    struct curve_rows rows;
    assert_true(curve_routing_rows(routing, word, call, &rows));
    arena_release(&arena);
    return rows;
}

static void assert_rows(struct curve_rows got, double tokens, double rows, double hit)
{
    assert_true(fabs(got.tokens - tokens) < 1e-9 && fabs(got.rows - rows) < 1e-9 &&
                fabs(got.hit - hit) < 1e-9);
}

/* DeepSeek-V3: 256 experts in 8 groups of 32, 8 choices, stride 32: token t has one score of 1
 * in every group. All groups tie, so 0 to 3 are kept; four choices are left in them, and four
 * more tie at 0: the first experts. */
static void groups_choose_once_more(void **state)
{
    (void)state;
    struct curve_call call = {1, 256, 8, 1, 8, 4, false};
    assert_rows(rows_of("balanced", &call), 1, 8, 8); /* 0 32 64 96 and 1 2 3 4 */
    call.ranks = 64;                                  /* 0 to 3 */
    assert_rows(rows_of("balanced", &call), 1, 4, 4);
    /* 256 tokens: half of the experts is never hit; ranks 1 and 2 do the same work */
    call = (struct curve_call){256, 256, 8, 1, 8, 4, false};
    assert_rows(rows_of("balanced", &call), 256, 2048, 128);
    call.ranks = 2;
    assert_rows(rows_of("balanced", &call), 256, 2048, 128);
    /* 8 ranks: every token's choice in group 0, and its four ties */
    call.ranks = 8;
    assert_rows(rows_of("balanced", &call), 256, 256 * 5, 32);
    /* 64 ranks: four rows of every token: its own in 0 to 3 takes the place of a tie */
    call.ranks = 64;
    assert_rows(rows_of("balanced", &call), 256, 1024, 4);
    /* a power law keeps K rows a token, and at most one of an expert's */
    struct curve_rows power = rows_of("power_law_1.2", &call);
    assert_true(power.rows > 0 && power.rows <= 1024 && power.hit <= 4);
    call.ranks = 1;
    assert_true(fabs(rows_of("power_law_1.2", &call).rows - 2048) < 1e-9);
    call.kept = 0;
    struct arena arena = {0};
    assert_false(curve_routing_rows(curve_routing_create(&arena), "balanced", &call, &power));
    arena_release(&arena);
}

/* Mixtral: 8 experts, 2 choices 4 apart. Of two ranks each token reaches both: its other choice
 * runs on expert 0, so that half the experts do all the rows. Of 8 ranks a quarter of the
 * tokens reaches the first. */
static void choices_of_other_ranks_run_on_the_first(void **state)
{
    (void)state;
    struct curve_call call = {64, 8, 2, 2, 0, 0, true};
    assert_rows(rows_of("balanced", &call), 64, 128, 4);
    call.ranks = 8;
    assert_rows(rows_of("balanced", &call), 16, 32, 1);
    struct curve_rows power = rows_of("power_law_1.01", &call);
    assert_true(fabs(power.rows - 2 * power.tokens) < 1e-9);
}

static void power_laws_keep_their_rows(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct curve_routing *routing = curve_routing_create(&arena);
    struct curve_rows all, part, packed;
    for (uint64_t tokens = 1; tokens <= 4096; tokens *= 8) {
        assert_true(curve_routing_rows(routing, "power_law_1.2",
                                       &(struct curve_call){tokens, 256, 8, 1, 0, 0, false},
                                       &all));
        assert_true(fabs(all.rows - 8.0 * (double)tokens) < 1e-6);
        assert_true(all.hit <= 256 && all.padded[0] >= all.rows);
        assert_true(curve_routing_rows(routing, "power_law_1.2",
                                       &(struct curve_call){tokens, 256, 8, 16, 0, 0, false},
                                       &part));
        assert_true(curve_routing_rows(routing, "power_law_1.2_eplb",
                                       &(struct curve_call){tokens, 256, 8, 16, 0, 0, false},
                                       &packed));
        /* the fullest of 16 has more than the mean, packing brings it nearer */
        assert_true(part.rows >= all.rows / 16 && packed.rows >= all.rows / 16 - 1e-9);
        assert_true(packed.rows <= part.rows);
    }
    assert_false(curve_routing_rows(routing, "zipf",
                                    &(struct curve_call){8, 256, 8, 16, 0, 0, false}, &all));
    assert_false(curve_routing_rows(routing, "balanced",
                                    &(struct curve_call){8, 256, 8, 24, 0, 0, false}, &all));
    arena_release(&arena);
}

static void shipped_tables(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t n, n_families;
    } tables[] = {{"moe_kernels_hopper", 21245, 11},
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

#define EXPERTS "profile,path,dtype,device,model,hidden,intermediate,top_k,experts,ep,routing"

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
        {"profile,op,dtype,device,ranks,512\nx,all_gather,f16,h100,1e18,1\n", "t.csv:2:1",
         "'1e18' is no number of column 'ranks'"},
        {"profile,path,device,ep,tokens,hidden,top_k,experts,groups,direction,dtype,published,"
         "unit\nx,deepep,h800,64,4096,7168,9223372,256,4,combine,bf16,50,GB/s\n",
         "t.csv:2:1", "top_k 9.22337e+06 of 256 experts"},
        {"profile,path,device,ep,tokens,hidden,top_k,experts,groups,direction,dtype,published,"
         "unit\nx,deepep,h800,64,4096,7168,8,256,0,combine,bf16,50,GB/s\n",
         "t.csv:2:1", "in 0 of 8 groups"},
        {EXPERTS ",8\n", "t.csv:1:1", "no measurements"},
        {EXPERTS ",8\nx,,bf16,h100,m,64,64,2,8,1,balanced,\n", "t.csv:1:1",
         "no measurements of 'x"},
        {EXPERTS ",8\nx,,bf16,h100,m,64,64,0,8,1,balanced,9\n", "t.csv:2:1", "to top_k 0 of 8"},
        {EXPERTS ",8\nx,,bf16,h100,m,64,64,2,1000000000,1,balanced,9\n", "t.csv:2:1",
         "of 1000000000 experts"},
        {EXPERTS ",1000000000000\nx,,bf16,h100,m,64,64,2,8,1,balanced,9\n", "t.csv:2:1",
         "1000000000000 tokens"},
        {EXPERTS ",8\nx,,bf16,h100,m,64,64,2,8,0,balanced,9\n", "t.csv:2:1", "over ep 0"},
        {EXPERTS ",8\nx,,bf16,h100,m,64,64,2,8,1,power_law_1e300,9\n", "t.csv:2:1",
         "no routing of this table"},
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
        cmocka_unit_test(groups_choose_once_more),
        cmocka_unit_test(choices_of_other_ranks_run_on_the_first),
        cmocka_unit_test(power_laws_keep_their_rows),
        cmocka_unit_test(shipped_tables),
        cmocka_unit_test(bad_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
