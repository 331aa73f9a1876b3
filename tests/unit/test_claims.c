/* calib/claim/claims: how printed values compare, how arguments are read, and that the
 * documents' known errors come out as such. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "calib/claim/claim_quantity.h"
#include "calib/claim/claims.h"

static void printed_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double low, high;
    } cases[] = {
        {"1,091", 1090.5, 1091.5}, {"87.5", 87.45, 87.55},    {"~2.4", 2.35, 2.45},
        {"~40", 35, 45},           {"40", 39.5, 40.5},        {"~444", 443.5, 444.5},
        {"400-500", 399.5, 500.5}, {"-8", -8.5, -7.5},        {"1.20-1.33", 1.195, 1.335},
        {"3.0", 2.95, 3.05},       {"400+", 399.5, HUGE_VAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct claim_printed p = claim_read(cases[i].text);
        bool high = cases[i].high < HUGE_VAL ? fabs(p.high - cases[i].high) < 1e-9
                                             : !(p.high < HUGE_VAL);
        if (!p.number || fabs(p.low - cases[i].low) > 1e-9 || !high)
            fail_msg("\"%s\": %d, %g to %g", cases[i].text, p.number, p.low, p.high);
    }
    static const char *const words[] = {"fits", "0 2 5 -1", "", "-8 +8", "1.2.3", "~", "5x"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (claim_read(words[i]).number)
            fail_msg("\"%s\" is no number", words[i]);
}

static enum claim_verdict verdict_of(const char *published, double unit, double tolerance,
                                     struct claim_answer answer)
{
    return claim_compare(published, unit, tolerance, &answer).verdict;
}

static void comparisons(void **state)
{
    (void)state;
    const struct {
        const char *published;
        double unit, tolerance;
        struct claim_answer answer;
        enum claim_verdict verdict;
    } cases[] = {
        {"7.14", 0.01, 0, claim_is(0.0714286), CLAIM_AGREES},
        {"7.14", 0.01, 0, claim_is(0.07146), CLAIM_DIFFERS},
        {"1.09", 1, 0, claim_is(1.0833), CLAIM_DIFFERS},
        {"1.08", 1, 0, claim_is(1.0833), CLAIM_AGREES},
        {"212", 1, 0.05, claim_is(203), CLAIM_AGREES},
        {"212", 1, 0.05, claim_is(188), CLAIM_DIFFERS},
        {"400+", 1, 0, claim_is(2234), CLAIM_AGREES},
        {"400+", 1, 0, claim_is(230), CLAIM_DIFFERS},
        {"8.46", 1, 0, claim_at_most(8.23), CLAIM_DIFFERS},
        {"1.53", 1, 0, claim_at_most(4.24), CLAIM_NOT_REPRODUCIBLE},
        {"1.1", 1e-6, 0, claim_at_least(305e-6), CLAIM_DIFFERS},
        {"fits", 1, 0, claim_says("fits"), CLAIM_AGREES},
        {"fits", 1, 0, claim_says("oom"), CLAIM_DIFFERS},
        {"fits", 1, 0, claim_is(3), CLAIM_DIFFERS},
        {"3", 1, 0, {.kind = CLAIM_NOTHING}, CLAIM_NOT_REPRODUCIBLE},
        {"43.7", 1, 0, {.kind = CLAIM_NUMBER, .number = 43.64, .spread = 0.02}, CLAIM_AGREES},
        {"43.7", 1, 0, {.kind = CLAIM_NUMBER, .number = 43.62, .spread = 0.02}, CLAIM_DIFFERS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum claim_verdict got =
            verdict_of(cases[i].published, cases[i].unit, cases[i].tolerance, cases[i].answer);
        if (got != cases[i].verdict)
            fail_msg("case %zu, \"%s\": %s", i, cases[i].published, claim_verdict_name(got));
    }
    struct claim_answer answer = claim_is(230);
    struct claim_comparison c = claim_compare("400-500", 1, 0, &answer);
    assert_true(c.has_error && fabs(c.error_percent + 42.5) < 1e-9);
}

/* ---- the table ---- */

static void evaluate(struct arena *arena, const char *only, struct claims *claims)
{
    struct err err = {0};
    struct csv csv;
    if (claims_read(arena, &csv, &err) != STATUS_OK ||
        claims_evaluate(&csv, only, arena, claims, &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
}

/* The claim of this table, row and quantity. */
static const struct claim *find(const struct claims *claims, const char *table, const char *row,
                                const char *quantity)
{
    for (size_t i = 0; i < claims->n; i++)
        if (text_equal(claims->claims[i].table, table) &&
            text_equal(claims->claims[i].row, row) &&
            text_equal(claims->claims[i].quantity, quantity))
            return &claims->claims[i];
    fail_msg("no claim %s, %s, %s", table, row, quantity);
    return NULL;
}

/* Errors that seed-systems.md (A10, B10, C5) and training-model.md (8) name. */
static void known_errors(void **state)
{
    (void)state;
    static const struct {
        const char *table, *row, *quantity, *predicted;
    } cases[] = {
        {"seed000.walls", "sparse-gmm/7", "memory fraction that makes 7 sequences fit",
         "raised"},
        {"seed000.relations", "peak dropless", "tokens/s per device", "1189.4"},
        {"seed000.real-data", "imbalance", "exchange that tolerates it better", "ragged_a2a"},
        {"seed000.walls", "receive buffer", "bytes, num_ranks x tokens x hidden at 8 sequences",
         "28"},
        {"seed000.walls", "dense/16", "a dense path runs to 16 sequences (cf4)", "oom"},
        {"seed001.grouped-gemm", "dp4", "padding factor", "1.08333"},
        {"seed001.grouped-gemm", "dp1", "useful MFU, of a B200", "40.2222"},
        {"seed001.grouped-gemm", "gain", "what most of it comes from", "less padding"},
        {"seed001.training", "moonlight", "total throughput, from the shared point", "24871"},
        {"seed001.fabric", "nvl72-1024", "forward p99", "<= 8.23"},
        {"seed001.fabric", "nvl72-4096", "what grows beside one node of 8", "median and tail"},
        {"seed002.router", "gpt-oss-120b", "router weight per layer", "0.73728"},
        {"seed002.router", "gpt-oss-120b", "router weights of all layers", "26.5421"},
        {"seed002.models", "gpt-oss-120b", "top_k", "4"},
        {"seed002.models", "deepseek-v3", "topk_group", "4"},
        {"seed002.padding", "worst case", "rows of the hot expert", "<= 1000"},
        {"seed002.padding", "worst case", "most blocks any routing needs", "15"},
        {"seed002.mapping", "6 tokens", "blocks provisioned by the formula", "4"},
        {"seed002.intensity", "trn2", "ridge, bf16", "230"},
        {"seed002.intensity", "decode", "intensity of [32, 4096] x [4096, 12288]", "31.6701"},
        {"seed002.skipping", "weight",
         "loads with skipping, blocks even and odd over two cores", "5"},
        {"seed002.skipping", "dynamic", "block to expert allocation", "1 1 1 1 1 1 1 1 1 1"},
        {"seed002.decode", "deepseek", "unique experts loaded", "101.962"},
        {"seed002.decode", "gpt-oss", "unique experts loaded", "51.6199"},
        {"seed002.decode", "llama4", "unique experts loaded", "6.45249"},
        {"seed003.moe", "capacity", "rounds at C = 2 S / (E N)", "1"},
        {"seed003.moe", "pipelined", "padding of the local products", "50"},
        {"seed003.moe", "pipelined", "latency, exchange overlapped", "1.05893"},
        {"seed003.moe", "top 2", "latency", "2.93083"},
        {"seed003.moe", "naive", "latency, activations gathered", "0.652447"},
        {"seed003.shards", "arange(32) as 4 x 8", "rows of roll(x, 1) - x in a shard", "+8 -8"},
        {"seed003.collectives", "recursive halving", "latency", ">= 584.846"},
        {"seed003.collectives", "overlapped MLP", "schedule", "serial"},
    };
    struct arena arena = {0};
    struct claims claims;
    evaluate(&arena, NULL, &claims);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct claim *claim =
            find(&claims, cases[i].table, cases[i].row, cases[i].quantity);
        if (claim->verdict != CLAIM_DIFFERS ||
            !text_equal(claim->predicted, cases[i].predicted))
            fail_msg("%s, %s, %s: \"%s\" %s, expected \"%s\"", claim->table, claim->row,
                     claim->quantity, claim->predicted, claim_verdict_name(claim->verdict),
                     cases[i].predicted);
    }
    arena_release(&arena);
}

/* Correct arithmetic of the documents, as the references list it. */
static void sound_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *table, *row, *quantity;
    } cases[] = {
        {"seed000.throughput", "sparse-gmm/8", "memory.temp_bytes"},
        {"seed000.walls", "ragged_dot/1", "memory.temp_bytes"},
        {"seed001.grouped-gemm", "dp1", "padding factor"},
        {"seed001.grouped-gemm", "dp2", "useful MFU, of 2500 TFLOP/s"},
        {"seed001.skew", "alpha1", "p10 of rows per expert"},
        {"seed001.training", "moonlight", "realized scaling efficiency"},
        {"seed001.shared-point", "rdep", "lower memory"},
        {"seed002.padding", "provisioned", "blocks"},
        {"seed002.padding", "best case", "padding provisioned for the worst case"},
        {"seed002.padding", "best case", "padding within blocks"},
        {"seed002.padding", "worst case", "padding provisioned, printed counts"},
        {"seed002.padding", "worst case", "padding within blocks, printed counts"},
        {"seed002.mapping", "block 0", "tokens"},
        {"seed002.intensity", "trn2", "ridge, fp8"},
        {"seed003.shards", "arange(32) as 4 x 8", "mean of each shard"},
        {"seed003.moe", "naive", "latency, weights broadcast expert by expert"},
        {"seed003.moe", "pipelined", "speedup"},
    };
    struct arena arena = {0};
    struct claims claims;
    evaluate(&arena, NULL, &claims);
    assert_int_equal(claims.n, claims.count[CLAIM_AGREES] + claims.count[CLAIM_DIFFERS] +
                                   claims.count[CLAIM_NOT_REPRODUCIBLE]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct claim *claim =
            find(&claims, cases[i].table, cases[i].row, cases[i].quantity);
        if (claim->verdict != CLAIM_AGREES)
            fail_msg("%s, %s, %s: %s against %s", claim->table, claim->row, claim->quantity,
                     claim->predicted, claim->published);
    }
    for (size_t i = 0; i < claims.n; i++)
        if (!*claims.claims[i].why || !*claims.claims[i].place)
            fail_msg("%s, %s has no reason or no place", claims.claims[i].table,
                     claims.claims[i].row);
    arena_release(&arena);
}

/* ---- bad tables ---- */

static void bad_rows(void **state)
{
    (void)state;
    static const struct {
        const char *cells, *where, *text;
    } cases[] = {
        {"t,r,q,1,,p,blocks.provisoned,,,w", "bad.csv:2:1",
         "unknown quantity \"blocks.provisoned\""},
        {"t,r,q,1,stone,p,,,,w", "bad.csv:2:1", "unknown unit \"stone\""},
        {"t,r,q,1,,p,value,,,w", "bad.csv:2:1", "argument \"x\" is missing"},
        {"t,r,q,1,,p,value,x=a,,w", "bad.csv:2:1", "argument \"x=a\" is not a number"},
        {"t,r,q,1,,p,value,x=1 y=2,,w", "bad.csv:2:1",
         "argument \"y\" is not one of this quantity"},
        {"t,r,q,1,,p,value,x,,w", "bad.csv:2:1", "\"x\" is not name=value"},
        {"t,r,q,1,,p,plan.value,key=model.moe.expert,,w", "bad.csv:2:1",
         "unknown key \"model.moe.expert\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena = {0};
        struct err err = {0};
        struct csv csv;
        struct claims claims;
        const char *text = arena_printf(
            &arena,
            "table,row,quantity,published,unit,place,compute,arguments,tolerance_percent,why\n"
            "%s\n",
            cases[i].cells);
        assert_int_equal(csv_parse("bad.csv", text, strlen(text), &arena, &csv, &err),
                         STATUS_OK);
        assert_int_equal(claims_evaluate(&csv, NULL, &arena, &claims, &err), STATUS_INPUT);
        assert_string_equal(err.where, cases[i].where);
        assert_string_equal(err.text, cases[i].text);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_values), cmocka_unit_test(comparisons),
        cmocka_unit_test(known_errors),   cmocka_unit_test(sound_numbers),
        cmocka_unit_test(bad_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
