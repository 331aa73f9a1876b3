/* sim/moe/chunks: the rounds and padding table of seed-systems.md C2 and its tiny exact
 * case. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/checked.h"
#include "base/stat.h"
#include "sim/moe/chunks.h"
#include "work/rows/rows.h"

static struct chunks_ask ask_of(uint64_t chunk, uint64_t top_k)
{
    return (struct chunks_ask){
        .tokens = 256, .top_k = top_k, .experts = 8, .devices = 8, .chunk = chunk};
}

static const struct {
    uint64_t chunk;
    double rounds, padding;
} table[] = {
    {16, 3.097, 1.548}, {24, 2.097, 1.572}, {32, 2.000, 2.000},
    {40, 1.978, 2.472}, {48, 1.097, 1.645}, {52, 1.010, 1.641},
    {56, 1.001, 1.751}, {64, 1.000, 2.000}, {128, 1.000, 4.000},
};

static void published_rounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct chunks_ask ask = ask_of(table[i].chunk, 1);
        double rounds = chunks_expected_rounds(&ask), padding = chunks_padding(&ask, rounds);
        if (fabs(rounds - table[i].rounds) > 1e-3 || fabs(padding - table[i].padding) > 1e-3)
            fail_msg("C %u: %.4f rounds, padding %.4f; expected %.3f and %.3f",
                     (unsigned)ask.chunk, rounds, padding, table[i].rounds, table[i].padding);
    }
    static const double two[][3] = {{32, 3.001, 1.50}, {64, 2, 2}, {128, 1, 2}};
    for (int i = 0; i < 3; i++) {
        struct chunks_ask ask = ask_of((uint64_t)two[i][0], 2);
        double rounds = chunks_expected_rounds(&ask);
        assert_true(fabs(rounds - two[i][1]) < 1e-3);
        assert_true(fabs(chunks_padding(&ask, rounds) - two[i][2]) < 6e-3);
    }
}

/* Rounds of one sampled step: its fullest pair of a source and an expert decides. */
static uint64_t rounds_of(const struct rows *rows, const struct rows_step *step, uint64_t chunk)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < rows->spec.ranks * rows->map.replicas; i++)
        most = step->matrix[i] > most ? step->matrix[i] : most;
    return ceil_div(most, chunk);
}

static void sampled_rounds(void **state)
{
    (void)state;
    enum { STEPS = 3000 };
    struct arena arena = {0};
    struct err err = {0};
    struct rows rows;
    struct rows_scratch scratch;
    struct rows_step step;
    struct rows_spec spec = {
        .tokens = 256, .top_k = 1, .experts = 8, .ranks = 8, .routing = {.seed = 3}};
    assert_int_equal(rows_prepare(&spec, &arena, &rows, &err), STATUS_OK);
    rows_scratch_init(&rows, &arena, &scratch);
    rows_step_init(&rows, ROWS_WANT_MATRIX, &arena, &step);
    struct stat rounds[sizeof table / sizeof *table] = {0};
    for (uint64_t s = 0; s < STEPS; s++) {
        rows_sample_step(&rows, s, &scratch, &step);
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            stat_add(&rounds[i], (double)rounds_of(&rows, &step, table[i].chunk));
        }
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (fabs(rounds[i].mean / table[i].rounds - 1) > 0.01)
            fail_msg("C %u: %.4f sampled, expected %.3f", (unsigned)table[i].chunk,
                     rounds[i].mean, table[i].rounds);
    arena_release(&arena);
}

static void static_rounds(void **state)
{
    (void)state;
    struct chunks_ask ask = ask_of(32, 1);
    assert_int_equal(chunks_static_rounds(&ask), 2);
    assert_int_equal(chunks_worst_rounds(&ask), 8);
    assert_int_equal(chunks_rule_of_thumb(&ask), 64);
    ask.top_k = 2;
    assert_int_equal(chunks_static_rounds(&ask), 4);
    ask = ask_of(64, 1);
    assert_int_equal(chunks_static_rounds(&ask), 1);
    assert_int_equal(chunks_worst_rounds(&ask), 4);
}

/* N = E = 2, three tokens a device, C = 1: two rounds, 8 slots for 6 tokens. */
static void tiny_case(void **state)
{
    (void)state;
    static const int32_t ids[6] = {0, 0, 1, 1, 0, 1};
    struct trace trace = {.experts = 2, .tokens = 6, .top_k = 1, .ids = ids};
    struct arena arena = {0};
    struct err err = {0};
    struct rows rows;
    struct rows_scratch scratch;
    struct rows_step step;
    struct rows_spec spec = {.tokens = 3,
                             .top_k = 1,
                             .experts = 2,
                             .ranks = 2,
                             .routing = {.distribution = DISTRIBUTION_TRACE},
                             .data = {.trace = &trace}};
    assert_int_equal(rows_prepare(&spec, &arena, &rows, &err), STATUS_OK);
    rows_scratch_init(&rows, &arena, &scratch);
    rows_step_init(&rows, ROWS_WANT_MATRIX, &arena, &step);
    rows_sample_step(&rows, 0, &scratch, &step);
    static const uint64_t matrix[4] = {2, 1, 1, 2};
    assert_memory_equal(step.matrix, matrix, sizeof matrix);
    assert_int_equal(rounds_of(&rows, &step, 1), 2);
    struct chunks_ask ask = {.tokens = 3, .top_k = 1, .experts = 2, .devices = 2, .chunk = 1};
    assert_true(fabs(chunks_padding(&ask, 2) - 4.0 / 3) < 1e-12);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_rounds),
        cmocka_unit_test(sampled_rounds),
        cmocka_unit_test(static_rounds),
        cmocka_unit_test(tiny_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
