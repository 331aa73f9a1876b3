/* Gradients that wait for a step's last micro-batch (precision.accumulated): they are reduced
 * once a step, beside its last backward, or behind it where stages of torch's reduce. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "sim/time/shards.h"
#include "work/layer/layer.h"
#include "support/timed.h"

static const char fsdp[] = "model: qwen3-30b-a3b\ncluster: h100-8x2\nstack: fsdp\n"
                           "parallel: {zero: 3}\nrecompute: full\n"
                           "workload: {sequence_length: 4096, micro_batch: 1}\n";

static void near(double got, double expected)
{
    if (fabs(got - expected) > 1e-9 * fabs(expected))
        fail_msg("%.15g is not %.15g", got, expected);
}

/* Seconds of all reductions of gradients of one micro-batch. */
static double reductions_s(const struct stepper *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->work.n_ops; i++) {
        const struct op *op = &s->work.ops[i];
        if (op->phase == PHASE_BACKWARD && process_group_is_data(op->group) &&
            op->kernel == KERNEL_COLLECTIVE && op->args.collective.how != ALL_GATHER)
            sum += s->op_s[i] * (double)s->values[op->layers.node];
    }
    return sum;
}

/* 64 sequences over 16 ranks are four micro-batches, of which three reduce nothing. */
static void they_are_reduced_once(void **state)
{
    (void)state;
    struct timed each, last;
    timed_open(&each, fsdp, "workload.global_batch=64 precision.accumulated=none");
    timed_open(&last, fsdp, "workload.global_batch=64");
    const double reduced = reductions_s(&each.s);
    near(each.step.micro_batches, 4);
    assert_true(reduced > 0);
    near(reductions_s(&last.s), reduced);
    near(each.step.comm_s - last.step.comm_s, 3 * reduced);
    assert_true(last.step.step_s <= each.step.step_s);
    assert_true(last.step.part_s[TIME_SHARDING] < each.step.part_s[TIME_SHARDING]);
    timed_close(&each);
    timed_close(&last);
}

/* Of one micro-batch nothing waits; where adapters alone have gradients theirs do. */
static void one_is_the_last(void **state)
{
    (void)state;
    static const char *const sets[] = {"workload.global_batch=16",
                                       "workload.global_batch=16 lora.rank=8"};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char set[128];
        struct timed each, last;
        snprintf(set, sizeof set, "%s precision.accumulated=none", sets[i]);
        timed_open(&each, fsdp, set);
        timed_open(&last, fsdp, sets[i]);
        near(last.step.step_s, each.step.step_s);
        near(last.step.comm_s, each.step.comm_s);
        timed_close(&each);
        timed_close(&last);
    }
    struct timed each, last;
    timed_open(&each, fsdp, "workload.global_batch=32 lora.rank=8 precision.accumulated=none");
    timed_open(&last, fsdp, "workload.global_batch=32 lora.rank=8");
    near(each.step.comm_s - last.step.comm_s, reductions_s(&each.s));
    timed_close(&each);
    timed_close(&last);
}

/* Stages of torch's pipelines reduce behind their last backward, whatever overlaps. */
static void stages_reduce_behind(void **state)
{
    (void)state;
    static const char titan[] = "model: qwen3-30b-a3b\ncluster: h100-8x2\nstack: torchtitan\n"
                                "parallel: {zero: 3, pp: 2}\nrecompute: full\n"
                                "workload: {sequence_length: 4096, micro_batch: 1, "
                                "global_batch: 64}\n";
    struct timed last;
    timed_open(&last, titan, "");
    const double reduced = reductions_s(&last.s);
    near(last.step.micro_batches, 8);
    assert_true(reduced > 0);
    assert_true(last.step.part_s[TIME_SHARDING] >= reduced);
    timed_close(&last);
}

/* DeepSpeed's stage 2 reduces with every micro-batch, its stage 1 with the last one. */
static void stage_2_reduces_each(void **state)
{
    (void)state;
    static const char zero[] = "model: qwen3-8b\ncluster: h100-8x2\nstack: deepspeed\n"
                               "workload: {sequence_length: 4096, micro_batch: 1}\n";
    static const char *const sets[] = {
        "parallel.zero=1 workload.global_batch=16", "parallel.zero=1 workload.global_batch=64",
        "parallel.zero=2 workload.global_batch=16", "parallel.zero=2 workload.global_batch=64"};
    double sharding_s[4], comm[4];
    for (size_t i = 0; i < 4; i++) {
        struct timed t;
        timed_open(&t, zero, sets[i]);
        sharding_s[i] = t.step.part_s[TIME_SHARDING];
        comm[i] = t.step.comm_s;
        timed_close(&t);
    }
    near(comm[1], comm[0]);
    near(comm[2], comm[0]);
    assert_true(comm[3] > 2 * comm[2]); /* gathers of weights stay one */
    assert_true(sharding_s[3] > sharding_s[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stage_2_reduces_each),
        cmocka_unit_test(they_are_reduced_once),
        cmocka_unit_test(one_is_the_last),
        cmocka_unit_test(stages_reduce_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
