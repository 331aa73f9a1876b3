/* What eager PyTorch launches for one expert of transformers 4's loop, counted by hand in its
 * modules and in torch's sources, and what of it a step's host takes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/text.h"
#include "sim/time/launched.h"
#include "support/plans.h"
#include "support/timed.h"

static const char text[] = "model: qwen3-30b-a3b\ncluster: h100-8x1\nstack: fsdp\n"
                           "workload: {mode: train, sequence_length: 4096, micro_batch: 1}\n"
                           "moe: {path: expert_loop}\n";

static double seconds_of(const struct timed *t, enum phase phase)
{
    double sum = 0;
    for (size_t i = 0; i < t->s.work.n_ops; i++) {
        const struct op *op = &t->s.work.ops[i];
        if (op->loop && op->phase == phase)
            sum += launched_s(&t->s, GRAPHS_NONE, op, (enum profile_item)t->s.item[i]);
    }
    return sum;
}

/* Qwen3MoeSparseMoeBlock.forward (4.57), of one expert: item() of its number, its mask's row,
 * nonzero (reduce 2, copy, select 2, write_indices), rows: 9; gate, SiLU, up, product, down: 5;
 * scores, product, index_add_: 3. Backward: index_select, product twice, sum, zeros, index_put_
 * of two indices (9), sum of gradients: 15; down's two; product twice and SiLU: 3; up and gate
 * twice each and their sum: 5; of the rows zeros, index_put_ of one index (6), sum: 8. */
static void a_turn_launches_as_many_as_by_hand(void **state)
{
    (void)state;
    struct timed t;
    timed_open(&t, text, "recompute=full");
    const struct rates *r = &t.s.pricing.rates;
    assert_true(fabs(seconds_of(&t, PHASE_FORWARD) - 128 * 17 * r->eager_s) < 1e-9);
    assert_true(fabs(seconds_of(&t, PHASE_RECOMPUTE) - 128 * 17 * r->eager_s) < 1e-9);
    assert_true(fabs(seconds_of(&t, PHASE_BACKWARD) - 128 * 33 * r->launch_s) < 1e-9);
    /* 48 layers, forward and again: 256 waits each for a number and for a count */
    assert_true(fabs(t.step.host_sync_s - 48 * 2 * 256 * r->sync_s) < 1e-9);
    timed_close(&t);
}

/* A gradient of all tokens' rows is made for every expert and added to the others': zeros of
 * 4096 x 2048 in bf16, then two read and one written, 128 times. */
static void a_turn_sums_gradients_of_all_rows(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t times;
    } rows[] = {{"zero_whole", 1}, {"add_whole", 3}};
    struct timed t;
    timed_open(&t, text, "recompute=none");
    for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
        size_t i = 0;
        while (i < t.s.work.n_ops && !text_equal(t.s.work.ops[i].name, rows[j].name))
            i++;
        assert_true(i < t.s.work.n_ops);
        const struct op *op = &t.s.work.ops[i];
        uint64_t bytes = t.s.values[op->bytes_read.node] + t.s.values[op->bytes_written.node];
        assert_int_equal(bytes, 128 * rows[j].times * 4096 * 2048 * 2);
    }
    timed_close(&t);
}

/* What a loop that is performed here computes again, autograd saved. */
static void nothing_runs_again_that_was_saved(void **state)
{
    (void)state;
    struct timed t;
    timed_open(&t, text, "recompute=none");
    assert_true(seconds_of(&t, PHASE_RECOMPUTE) == 0);
    for (size_t i = 0; i < t.s.work.n_ops; i++)
        if (t.s.work.ops[i].phase == PHASE_RECOMPUTE)
            assert_true(t.s.op_s[i] == 0);
    assert_true(fabs(t.step.host_sync_s - 48 * 256 * t.s.pricing.rates.sync_s) < 1e-9);
    timed_close(&t);
}

/* One after another is the slower, the fewer rows an expert has; the host is what is slow. */
static void a_loop_is_bound_by_its_host(void **state)
{
    (void)state;
    double s[2][2];
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < 2; j++) {
            char set[96];
            struct timed t;
            snprintf(set, sizeof set, "moe.path=%s workload.micro_batch=%u",
                     i ? "ragged_a2a" : "expert_loop", j ? 8 : 1);
            timed_open(&t, text, set);
            s[i][j] = t.step.step_s;
            timed_close(&t);
        }
    print_message("loop %.2f, %.2f s; grouped %.2f, %.2f s\n", s[0][0], s[0][1], s[1][0],
                  s[1][1]);
    assert_true(s[0][0] > 3 * s[1][0]);
    assert_true(s[0][1] / s[1][1] < s[0][0] / s[1][0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_launches_as_many_as_by_hand),
        cmocka_unit_test(a_turn_sums_gradients_of_all_rows),
        cmocka_unit_test(nothing_runs_again_that_was_saved),
        cmocka_unit_test(a_loop_is_bound_by_its_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
