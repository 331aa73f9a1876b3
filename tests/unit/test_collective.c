/* work/piece/reduce and sim/moe/collective: the schedules and costs of seed-systems.md C3. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "sim/moe/collective.h"
#include "sim/answer/predict.h"
#include "work/piece/reduce.h"

enum { MOST = 16 };

#define assert_close(got, want, relative)                                                      \
    do {                                                                                       \
        double got_ = (got), want_ = (want);                                                   \
        if (fabs(got_ - want_) > (relative)*fabs(want_))                                       \
            fail_msg("%s = %g, expected %g", #got, got_, want_);                               \
    } while (0)

/* Values of every rank's chunks before: rank i holds 10 i + chunk. */
static void fill(uint64_t ranks, uint64_t value[MOST][MOST])
{
    for (uint64_t i = 0; i < ranks; i++)
        for (uint64_t c = 0; c < ranks; c++)
            value[i][c] = 10 * i + c;
}

static uint64_t sum_of(uint64_t ranks, uint64_t chunk)
{
    return 10 * (ranks * (ranks - 1) / 2) + ranks * chunk;
}

static void ring_reduces(void **state)
{
    (void)state;
    for (uint64_t ranks = 2; ranks <= MOST; ranks++) {
        uint64_t value[MOST][MOST], before[MOST][MOST];
        fill(ranks, value);
        for (uint64_t s = 0; s < reduce_ring_steps(ranks); s++) {
            memcpy(before, value, sizeof before);
            for (uint64_t i = 0; i < ranks; i++) {
                struct ring_step step = reduce_ring_step(i, s, ranks);
                struct ring_step left = reduce_ring_step(step.from, s, ranks);
                assert_int_equal(left.to, i);
                assert_int_equal(left.sent, step.received);
                value[i][step.received] += before[step.from][step.received];
            }
        }
        for (uint64_t i = 0; i < ranks; i++)
            assert_int_equal(value[i][i], sum_of(ranks, i));
    }
}

/* After the first step of p = 4: [20,22], [40,42], [24,26], [44,46]; at the end 60 64 68 72. */
static void halving_reduces(void **state)
{
    (void)state;
    static const uint64_t first[4][2] = {{20, 22}, {20, 22}, {24, 26}, {24, 26}};
    static const uint64_t last[4] = {60, 64, 68, 72};
    for (uint64_t ranks = 2; ranks <= MOST; ranks *= 2) {
        uint64_t value[MOST][MOST], before[MOST][MOST];
        fill(ranks, value);
        for (uint64_t s = 0; s < reduce_halving_steps(ranks); s++) {
            memcpy(before, value, sizeof before);
            for (uint64_t i = 0; i < ranks; i++) {
                struct halving_step step = reduce_halving_step(i, s, ranks);
                struct halving_step other = reduce_halving_step(step.partner, s, ranks);
                assert_int_equal(other.partner, i);
                assert_int_equal(other.sent, step.kept);
                for (uint64_t c = 0; c < step.chunks; c++)
                    value[i][step.kept + c] += before[step.partner][step.kept + c];
            }
            for (uint64_t i = 0; ranks == 4 && s == 0 && i < 4; i++)
                for (uint64_t c = 0; c < 2; c++)
                    assert_int_equal(value[i][reduce_halving_step(i, 0, 4).kept + c],
                                     first[i][c] + (i % 2 ? 20u : 0u));
        }
        for (uint64_t i = 0; i < ranks; i++)
            assert_int_equal(value[i][i], sum_of(ranks, i));
    }
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(last[i], sum_of(4, i));
}

static void closed_forms(void **state)
{
    (void)state;
    /* in units of V / w */
    static const struct {
        uint64_t ranks;
        double far;
    } lines[] = {{2, 0.5}, {4, 1.25}, {8, 2.625}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct fabric line = {FABRIC_LINE, lines[i].ranks, 1, 0};
        assert_close(collective_halving(&line, 1), lines[i].far, 1e-12);
        assert_close(collective_reduce_scatter(&line, 1), 1 - 1 / (double)lines[i].ranks,
                     1e-12);
    }
    struct fabric ring = {FABRIC_RING, 8, 1, 0}, one_way = {FABRIC_ONE_WAY, 8, 1, 0},
                  one = {FABRIC_RING, 1, 1, 1};
    assert_close(collective_all_gather(&one_way, 1), 2 * collective_all_gather(&ring, 1),
                 1e-12);
    assert_close(collective_all_reduce(&ring, 1), 2 * collective_reduce_scatter(&ring, 1),
                 1e-12);
    assert_true(collective_all_gather(&one, 1) <= 0);
}

/* TPU v5e figures of C1 to C3. */
static void tpu_numbers(void **state)
{
    (void)state;
    double w = 4.5e10;
    struct fabric eight = {FABRIC_ONE_WAY, 8, w, 0}, line = {FABRIC_LINE, 4, w, 0},
                  ring = {FABRIC_RING, 4, w, 0}, two = {FABRIC_LINE, 2, w, 0};
    assert_close(8 * collective_all_reduce(&eight, 4096.0 * 14336 * 4), 73.07e-3, 1e-4);
    assert_close(collective_all_to_all_cut(8, 4194304, 2, w), 93.2e-6, 1e-3);
    assert_close(collective_all_to_all_cut(8, 14680064, 2, w), 326.2e-6, 1e-3);
    assert_close(collective_reduce_scatter(&line, 33554432), 0.559e-3, 1e-3);
    assert_close(collective_halving(&line, 33554432), 0.932e-3, 1e-3);
    assert_close(collective_reduce_scatter(&ring, 33554432), 0.280e-3, 2e-3);
    assert_close(collective_all_reduce(&two, 58720256), 1.305e-3, 1e-3);
}

static void overlaps(void **state)
{
    (void)state;

    assert_close(collective_tiled(1, 1, 1), 2, 1e-12);
    assert_close(collective_tiled(1, 1, 4), 1.25, 1e-12);
    assert_close(collective_tiled(3, 1, 2), 3.5, 1e-12);
    assert_close(collective_gather_matmul(4, 3, 4), 4, 1e-12);
    assert_close(collective_gather_matmul(4, 6, 4), 7, 1e-12);
    for (uint64_t n = 1; n < 40; n++) {
        double t = collective_tiled(0.305, 1.305, n);
        assert_true(t <= 0.305 + 1.305 + 1e-12 && t >= 1.305);
    }
}

/* The blocks of seed 003's measurements, as plans. */
static void block_plan(struct arena *arena, struct plan *plan, const char *block,
                       const char *collective, uint64_t tp, uint64_t tokens)
{
    struct err err = {0};
    struct origins origins = {0};
    const char *text = arena_printf(
        arena,
        "model: {layers: 1, dense_layers: 1, hidden: 4096, dense_intermediate: 14336,\n"
        "  vocab: 32, attention: {kind: gqa, heads: 32, kv_heads: 8, head_dim: 128},\n"
        "  moe: {experts: 8, top_k: 1, intermediate: 14336}}\n"
        "cluster: tpu-v5e-4x2\nstack: generic\nblock: {kind: %s, collective: %s}\n"
        "parallel: {tp: %d}\nworkload: {mode: prefill, sequence_length: %d}\n"
        "precision: {activations: f32}\n",
        block, collective, (int)tp, (int)tokens);
    if (plan_load_text("block.yaml", text, strlen(text), NULL, 0, arena, plan, &origins,
                       &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
}

static void blocks(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct plan plan;
    struct collective_block b;
    block_plan(&arena, &plan, "reduce_scatter_matmul", "ring", 4, 2048);
    assert_true(collective_block_of(&plan, 4, &b));
    assert_close(b.flop, 60.1e9, 1e-3);
    assert_close(b.matmul_s, 0.305e-3, 2e-3);
    assert_close(b.reduce_bytes, 33554432, 1e-12);
    assert_close(b.serial_s, 0.86e-3, 1e-2);
    block_plan(&arena, &plan, "reduce_scatter_matmul", "halving", 4, 2048);
    assert_true(collective_block_of(&plan, 4, &b));
    assert_close(b.serial_s, 1.24e-3, 1e-2);
    block_plan(&arena, &plan, "mlp", "halving", 2, 1024);
    assert_true(collective_block_of(&plan, 4, &b));
    assert_close(b.serial_s, 0.983e-3, 1e-2);
    assert_close(b.overlapped_s, b.serial_s, 1e-12);
    block_plan(&arena, &plan, "allreduce_matmul", "builtin", 2, 1024);
    assert_true(collective_block_of(&plan, 4, &b));
    assert_close(b.reduce_s, 1.305e-3, 2e-3);
    assert_true(b.overlapped_s < b.serial_s && b.overlapped_s > b.reduce_s);
    struct prediction prediction;
    struct err err = {0};
    const struct predict_options options = {0};
    assert_int_equal(predict(&plan, &options, &arena, &prediction, &err), STATUS_OK);
    assert_true(prediction.has_collective);
    assert_close(prediction.collective.reduce_s, b.reduce_s, 1e-12);
    plan.block.kind = BLOCK_MOE;
    assert_false(collective_block_of(&plan, 4, &b));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_reduces), cmocka_unit_test(halving_reduces),
        cmocka_unit_test(closed_forms), cmocka_unit_test(tpu_numbers),
        cmocka_unit_test(overlaps),     cmocka_unit_test(blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
