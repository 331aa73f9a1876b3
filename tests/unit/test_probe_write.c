/* calib/probe_write: made-up points become a cluster and a profile that read back. The points
 * themselves are measured by tests/bench, not here: nothing in this suite needs a clock. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "calib/run/probe_write.h"
#include "calib/run/run_probe.h"
#include "plan/read/load.h"
#include "plan/data/profile.h"
#include "sim/step/time.h"
#include "sim/time/step_time.h"
#include "support/plans.h"

/* 40 GFLOP/s at most, 10 GB/s of memory, exchanges of 20 us + bytes / 4 GB/s. */
static const struct probe_point points[] = {
    {PROBE_GEMM, DTYPE_F32, 1, 512, 1024, 0, 2e9, 1e9, 3e9, 0, 0},
    {PROBE_GEMM, DTYPE_F32, 256, 512, 1024, 0, 36e9, 30e9, 40e9, 0, 0},
    {PROBE_GEMM, DTYPE_BF16, 1, 512, 1024, 0, 1e9, 0.9e9, 1.1e9, 0, 0},
    {PROBE_GEMM, DTYPE_BF16, 256, 512, 1024, 0, 18e9, 17e9, 20e9, 0, 0},
    {PROBE_COPY, DTYPE_NONE, 0, 0, 0, 1 << 24, 8e9, 7e9, 9e9, 0, 0},
    {PROBE_READ, DTYPE_NONE, 0, 0, 0, 1 << 24, 9e9, 8e9, 10e9, 0, 0},
    {PROBE_WRITE, DTYPE_NONE, 0, 0, 0, 1 << 24, 5e9, 4e9, 6e9, 0, 0},
    {PROBE_GATHER, DTYPE_NONE, 4096, 0, 1024, 0, 4e9, 3e9, 5e9, 0, 0},
    {PROBE_ACTIVATE, DTYPE_NONE, 0, 0, 0, 1 << 22, 5e8, 4e8, 6e8, 0, 0},
    {PROBE_LAUNCH, DTYPE_NONE, 0, 0, 0, 0, 5e-6, 4e-6, 9e-6, 0, 0},
    {PROBE_EXCHANGE, DTYPE_NONE, 0, 0, 0, 64, 20e-6, 18e-6, 25e-6, 0, 0},
    {PROBE_EXCHANGE, DTYPE_NONE, 0, 0, 0, 4000000, 1020e-6, 1000e-6, 1200e-6, 0, 0},
};

static const struct machine machine = {"A CPU", "Linux", 4, UINT64_C(16) << 30};

static const struct probed probed = {.machine = &machine,
                                     .blas = "products: by \"no\" engine",
                                     .memory_bytes = UINT64_C(8) << 30,
                                     .transport = "local",
                                     .date = "2026-11-22",
                                     .ranks = 2,
                                     .workers = 4,
                                     .points = points,
                                     .n = sizeof points / sizeof *points};

static void write_to(const char *file, const struct probed *found,
                     void (*write)(FILE *out, const struct probed *probed))
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    write(out, found);
    fclose(out);
}

static void a_cluster(void **state)
{
    (void)state;
    static const char file[] = "test_probe_cluster.yaml";
    static const char text[] = "model: qwen3-30b-a3b\ncluster: ./test_probe_cluster.yaml\n";
    struct arena arena = {0};
    struct err err = {0};
    struct origins origins;
    struct plan plan;
    write_to(file, &probed, probe_write_cluster);
    if (plan_load_text("plan", text, sizeof text - 1, NULL, 0, &arena, &plan, &origins, &err))
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    const struct cluster *c = &plan.cluster;
    assert_int_equal(c->node.devices, 2);
    assert_true(fabs(c->device.peak_f32 / 40e9 - 1) < 1e-3);
    assert_true(fabs(c->device.peak_bf16 / 20e9 - 1) < 1e-3);
    assert_true(fabs(c->device.memory_bandwidth / 10e9 - 1) < 1e-3);
    assert_true(fabs(c->node.link_bandwidth / 4e9 - 1) < 1e-3);
    assert_true(fabs(c->node.link_latency / 20e-6 - 1) < 1e-3);
    remove(file);
    arena_release(&arena);
}

static double value(const struct profile *profile, enum profile_item of,
                    enum profile_quantity is, int compute, double at)
{
    const struct constant *c =
        profile_find(profile, of, is, PROFILE_ANY, compute, PROFILE_SCALE_UP);
    assert_non_null(c);
    return profile_value(c, at, NULL);
}

static void a_profile(void **state)
{
    (void)state;
    static const char file[] = "test_probe_profile.yaml";
    struct arena arena = {0};
    struct err err = {0};
    struct profile p;
    write_to(file, &probed, probe_write_profile);
    if (profile_read(file, &arena, &p, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", err.where, err.text, err.hint);
    /* shares of the cluster's rates give the measured ones again */
    double f32 = value(&p, PROFILE_GROUPED, PROFILE_EFFICIENCY, COMPUTE_F32, 256);
    double bf16 = value(&p, PROFILE_GROUPED, PROFILE_EFFICIENCY, COMPUTE_BF16, 1);
    assert_true(fabs(f32 * 40e9 / 36e9 - 1) < 1e-3 && fabs(bf16 * 20e9 / 1e9 - 1) < 1e-3);
    assert_true(fabs(value(&p, PROFILE_ELEMENTWISE, PROFILE_BANDWIDTH, COMPUTE_F32, 0) - 0.8) <
                1e-3);
    assert_true(fabs(value(&p, PROFILE_MOVE, PROFILE_BANDWIDTH, COMPUTE_F32, 0) - 0.4) < 1e-3);
    assert_true(fabs(value(&p, PROFILE_ACTIVATION, PROFILE_BANDWIDTH, COMPUTE_F32, 0) - 0.05) <
                1e-4);
    assert_true(fabs(value(&p, PROFILE_GEMM, PROFILE_OVERHEAD, COMPUTE_F32, 0) - 5e-6) < 1e-9);
    assert_true(fabs(value(&p, PROFILE_ALL_TO_ALL, PROFILE_EFFICIENCY, COMPUTE_F32, 0) - 1) <
                1e-3);
    assert_true(fabs(value(&p, PROFILE_ALL_TO_ALL, PROFILE_LATENCY, COMPUTE_F32, 0) - 20e-6) <
                1e-8);
    remove(file);
    arena_release(&arena);
}

/* Products of 10, gradients of inputs of 20, of weights of 5 GFLOP/s at any rows; memory and
 * launches take next to nothing. */
static const struct probe_point gradients[] = {
    {PROBE_GEMM, DTYPE_F32, 256, 512, 1024, 0, 10e9, 10e9, 10e9, 0, 0},
    {PROBE_GEMM, DTYPE_BF16, 256, 512, 1024, 0, 10e9, 10e9, 10e9, 0, 0},
    {PROBE_DGRAD, DTYPE_F32, 256, 512, 1024, 0, 20e9, 20e9, 20e9, 0, 0},
    {PROBE_DGRAD, DTYPE_BF16, 256, 512, 1024, 0, 20e9, 20e9, 20e9, 0, 0},
    {PROBE_WGRAD, DTYPE_F32, 256, 512, 1024, 0, 5e9, 5e9, 5e9, 0, 0},
    {PROBE_WGRAD, DTYPE_BF16, 256, 512, 1024, 0, 5e9, 5e9, 5e9, 0, 0},
    {PROBE_COPY, DTYPE_NONE, 0, 0, 0, 1 << 24, 1e15, 1e15, 1e15, 0, 0},
    {PROBE_GATHER, DTYPE_NONE, 4096, 0, 1024, 0, 1e15, 1e15, 1e15, 0, 0},
    {PROBE_LAUNCH, DTYPE_NONE, 0, 0, 0, 0, 1e-15, 1e-15, 1e-15, 0, 0},
};

static void gradients_at_rates_of_their_own(void **state)
{
    (void)state;
    static const char cluster[] = "test_gradient_cluster.yaml",
                      profile[] = "test_gradient_profile.yaml",
                      text[] = "model: qwen3-30b-a3b\ncluster: ./test_gradient_cluster.yaml\n"
                               "stack: {base: host, profile: ./test_gradient_profile.yaml}\n"
                               "workload: {mode: train, sequence_length: 512}\n"
                               "moe: {path: ragged_a2a}\n";
    static const struct {
        const char *op;
        double rate;
    } cases[] = {{"gate_up", 10e9}, {"dgrad_gate_up", 20e9}, {"wgrad_gate_up", 5e9}};
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct profile read;
    struct stepper s = {0};
    struct step_time step;
    struct probed found = probed;
    size_t compared = 0;
    found.points = gradients;
    found.n = sizeof gradients / sizeof *gradients;
    found.ranks = 1;
    write_to(cluster, &found, probe_write_cluster);
    write_to(profile, &found, probe_write_profile);
    plan_set(text, "", &arena, &plan);
    assert_int_equal(profile_load(&plan, &arena, &read, &err), STATUS_OK);
    assert_int_equal(stepper_build(&s, &plan, &read, &arena, &err), STATUS_OK);
    assert_true(stepper_time(&s, NULL, &step));
    for (size_t i = 0; i < s.work.n_ops; i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            if (strcmp(s.work.ops[i].name, cases[k].op) == 0) {
                double flop = (double)s.values[s.work.ops[i].flop.node];
                if (fabs(s.op_s[i] * cases[k].rate / flop - 1) > 1e-3)
                    fail_msg("%s: %g FLOP/s", cases[k].op, flop / s.op_s[i]);
                compared++;
            }
    assert_int_equal(compared, 3);
    stepper_release(&s);
    remove(cluster);
    remove(profile);
    arena_release(&arena);
}

static void cut(const char *file, long length)
{
    FILE *out = fopen(file, "r+");
    assert_non_null(out);
    assert_int_equal(ftruncate(fileno(out), length), 0);
    fclose(out);
}

static void remove_pair(const char *folder)
{
    static const char *const names[] = {"this-machine.yaml", "cluster.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%s", folder, names[i]);
        remove(name);
    }
    remove(folder);
}

/* A pair is kept, read, replaced; a torn one is none; without a folder it is read and gone. */
static void a_pair_is_kept(void **state)
{
    (void)state;
    static const char folder[] = "test_probe_kept";
    static const char profile[] = "test_probe_kept/this-machine.yaml";
    struct arena arena = {0};
    struct run_probe out = {0}, again = {0}, none = {0};
    remove_pair(folder);
    assert_false(run_probe_read(folder, &arena, &none));
    assert_true(run_probe_keep(&probed, folder, &arena, &out));
    assert_true(run_probe_keep(&probed, folder, &arena, &out)); /* in its place */
    assert_true(run_probe_read(folder, &arena, &again));
    assert_string_equal(again.profile->name, "this-machine");
    assert_true(again.cluster.device.peak_f32 == 40e9);
    assert_true(again.cluster.node.link_bandwidth == out.cluster.node.link_bandwidth);
    cut(profile, 100);
    assert_false(run_probe_read(folder, &arena, &none));
    assert_null(none.profile);
    assert_true(run_probe_keep(&probed, folder, &arena, &out));
    assert_true(run_probe_read(folder, &arena, &again));
    assert_false(run_probe_keep(&probed, NULL, &arena, &none));
    assert_non_null(none.profile);
    remove_pair(folder);
    arena_release(&arena);
}

/* Time's figures change, what bytes follow from does not. */
static void rates_alone_change(void **state)
{
    (void)state;
    struct plan plan = {0};
    struct run_probe found = {0};
    plan.cluster.node.devices = 8;
    plan.cluster.device.memory_bytes = 80;
    plan.cluster.device.peak_fp8 = 1;
    found.cluster.node.devices = 2;
    found.cluster.device.memory_bandwidth = 7;
    found.cluster.device.peak_bf16 = 5;
    found.cluster.node.link_bandwidth = 3;
    run_probe_rates(&found, &plan);
    assert_int_equal(plan.cluster.node.devices, 8);
    assert_int_equal(plan.cluster.device.memory_bytes, 80);
    assert_true(plan.cluster.device.memory_bandwidth == 7 &&
                plan.cluster.device.peak_bf16 == 5);
    assert_true(plan.cluster.device.peak_fp8 == 0 && plan.cluster.network.bandwidth == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_pair_is_kept),
                                       cmocka_unit_test(rates_alone_change),
                                       cmocka_unit_test(a_cluster), cmocka_unit_test(a_profile),
                                       cmocka_unit_test(gradients_at_rates_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
