/* sim/moe/predict_moe: the record of the seeds' plans. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/read/load.h"
#include "sim/answer/predict.h"
#include "sim/moe/advice.h"
#include "sim/moe/predict_moe.h"
#include "support/settings.h"

static void report(const char *file, const char *const *sets, struct arena *arena,
                   struct moe_report *out)
{
    struct err err = {0};
    struct plan *plan = arena_alloc(arena, 1, sizeof *plan);
    struct override overrides[8];
    size_t n = 0;
    for (; sets && sets[n]; n++)
        overrides[n] = setting_of(sets[n], arena);
    if (plan_load(file, overrides, n, arena, plan, NULL, &err) != STATUS_OK)
        fail_msg("%s: %s: %s", file, err.where, err.text);
    const struct predict_moe_options options = {.free_bytes = 1ull << 34};
    if (predict_moe(plan, &options, arena, out, &err) != STATUS_OK)
        fail_msg("%s: %s", file, err.text);
}

static void near(const char *what, double got, double want, double relative)
{
    if (!(fabs(got / want - 1) <= relative))
        fail_msg("%s: %.5f, expected %.5f", what, got, want);
}

/* Seed 001: allocated padding of A4 at 1, 2, 4, 8 ranks, p10 and imbalance under skew. */
static void rdep(void **state)
{
    (void)state;
    static const char *const ranks[4] = {"parallel.ep=1", "parallel.ep=2", "parallel.ep=4",
                                         "parallel.ep=8"};
    static const double factor[4] = {4.0 / 3, 7.0 / 6, 13.0 / 12, 25.0 / 24};
    for (int i = 0; i < 4; i++) {
        struct arena arena = {0};
        struct moe_report out;
        const char *const sets[] = {ranks[i], NULL};
        report("examples/seed001-rdep.yaml", sets, &arena, &out);
        near("allocated factor", out.padding.allocated_factor, factor[i], 1e-12);
        near("rows", (double)out.routing.rows, (double)(24576 << i), 1e-12);
        assert_true(out.padding.exact_factor > 1 &&
                    out.padding.exact_factor < out.padding.allocated_factor);
        arena_release(&arena);
    }
    static const char *const alphas[] = {"moe.routing.alpha=0.5", "moe.routing.alpha=1",
                                         "moe.routing.alpha=1.5", "moe.routing.alpha=2"};
    static const double p10[] = {1878.4, 873.4, 358.1, 140.8},
                        strided[] = {1.25, 1.65, 1.76, 1.68};
    for (int i = 0; i < 4; i++) {
        struct arena arena = {0};
        struct moe_report out;
        const char *const sets[] = {"moe.routing.distribution=zipf", alphas[i], NULL};
        report("examples/seed001-rdep.yaml", sets, &arena, &out);
        near("p10", out.routing.rows_per_expert_p10, p10[i], 0.05);
        near("strided imbalance", out.routing.rank_imbalance, strided[i], 0.01);
        arena_release(&arena);
    }
}

static void blockwise(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct moe_report out;
    report("examples/seed002-neuron-prefill.yaml", NULL, &arena, &out);
    assert_int_equal(out.padding.blocks_provisioned, 191);
    assert_int_equal(out.padding.blocks_document, 191);
    assert_int_equal(out.padding.block_size, 512);
    assert_true(out.padding.blocks_expected >= 128 && out.padding.blocks_expected < 191);
    near("ridge", out.intensity.ridge_flop_per_byte, 230, 0.002);
    assert_true(out.intensity.has_blocks);
    arena_release(&arena);
}

static void decode(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct moe_report out;
    report("examples/seed002-neuron-decode.yaml", NULL, &arena, &out);
    assert_true(out.has_decode);
    near("experts", out.decode.expected_experts_loaded, 101.96, 1e-4);
    assert_int_equal(out.decode.switch_batch, 32);
    assert_string_equal(out.decode.algorithm, "selective");
    assert_true(out.decode.bytes_selective < out.decode.bytes_all);
    arena_release(&arena);
}

static void chunked(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct moe_report out;
    report("examples/seed003-tpu-v5e.yaml", NULL, &arena, &out);
    assert_int_equal(out.padding.rounds, 2);
    near("expected rounds", out.padding.rounds_expected, 2, 1e-3);
    near("padding", out.padding.allocated_factor, 2, 1e-12);
    arena_release(&arena);
}

static void advice_numbers(void **state)
{
    (void)state;
    /* seed-systems.md B1, T 8192, E 128, K 8: the share that a rank does not hold, times 16. */
    assert_int_equal(advice_router_gather(8192, 128, 2, 1u << 30), 2097152);
    assert_int_equal(advice_router_delayed(8192, 8, 2, 4, 1u << 30), 393216);
    assert_int_equal(advice_router_delayed(8192, 8, 2, 1, 1u << 30), 196608);
    near("E 128, K 4, 16 ranks", advice_gather_ratio(128, 4, 16), 4.35, 0.001);
    near("E 256, K 8, 64 ranks", advice_gather_ratio(256, 8, 64), 8.34, 0.001);
    near("E 64, K 6, 8 ranks", advice_gather_ratio(64, 6, 8), 1.76, 0.003);
    near("RDEP rows", advice_row_ratio(64, 6, 8), 1.3229, 1e-4);
    near("full lanes", advice_engine_use(1024, 8), 1, 1e-12);
    near("half lanes", advice_engine_use(1024, 16), 0.5, 1e-12);
    near("cost", advice_layout_cost(1024, 16, 1.2), 2.4, 1e-12);
}

/* The advice that starts like this; fails when there is none. */
static const char *advised(const struct moe_report *report, const char *start)
{
    for (size_t i = 0; i < report->n_advice; i++)
        if (strncmp(report->advice[i], start, strlen(start)) == 0)
            return report->advice[i];
    fail_msg("no advice starts with \"%s\"", start);
    return NULL;
}

static void advice_lines(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct moe_report out;
    report("examples/seed002-neuron-prefill.yaml", NULL, &arena, &out);
    assert_non_null(strstr(advised(&out, "drop tp 8 from the dense path"), "GiB are free"));
    advised(&out, "moe.shard: block");
    advised(&out, "experts as tp 1 x ep 8 (many experts: ep");
    arena_release(&arena);
}

/* What was told of a computation's progress. */
struct told {
    unsigned calls, begins; /* of them at 0 */
    double last;
};

static void tell(void *context, double share)
{
    struct told *told = context;
    assert_true(share >= 0 && share < 1 && (share <= 0 || share > told->last));
    told->calls++;
    told->begins += share <= 0;
    told->last = share;
}

/* Exact samples are counted as they are drawn: those of memory, then those of loads; and who
 * watches changes nothing. */
static void exact_samples_are_told(void **state)
{
    (void)state;
    struct prediction out[2];
    struct arena arena = {0};
    struct err err = {0};
    struct plan *plan = arena_alloc(&arena, 1, sizeof *plan);
    static const char *const sets[] = {"moe.routing.samples=8", "workload.sequence_length=256"};
    const struct override overrides[] = {setting_of(sets[0], &arena),
                                         setting_of(sets[1], &arena)};
    if (plan_load("examples/megatron-qwen3-30b-h100.yaml", overrides, 2, &arena, plan, NULL,
                  &err) != STATUS_OK)
        fail_msg("%s: %s", err.where, err.text);
    struct told told = {0};
    for (unsigned watched = 0; watched < 2; watched++) {
        const struct predict_options options = {
            .exact = true, .progress = {.tell = watched ? tell : NULL, .context = &told}};
        assert_int_equal(predict(plan, &options, &arena, &out[watched], &err), STATUS_OK);
        assert_int_equal(told.calls, watched ? 16 : 0);
    }
    assert_int_equal(told.begins, 2);
    near("last", told.last, 7.0 / 8, 1e-12);
    assert_int_equal(out[0].memory.total_bytes, out[1].memory.total_bytes);
    near("largest", out[0].moe.routing.rows_per_expert_max,
         out[1].moe.routing.rows_per_expert_max, 0);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rdep),
        cmocka_unit_test(blockwise),
        cmocka_unit_test(decode),
        cmocka_unit_test(chunked),
        cmocka_unit_test(advice_numbers),
        cmocka_unit_test(advice_lines),
        cmocka_unit_test(exact_samples_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
