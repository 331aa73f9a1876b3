/* Step times per second of a sweep with its memory: where every point is a list of its own,
 * where only numbers change, and with an interleaved pipeline of 16 stages that is played for
 * 128 micro-batches. On all CPUs, routing's statistics cached; and what one takes of a CPU. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "sim/search/sweep.h"
#include "sim/step/time.h"

struct range {
    const char *key;
    uint64_t n; /* values 1 .. n, or */
    const char *values[4];
};

static enum status apply(void *context, size_t value, struct plan *plan, struct err *err)
{
    const struct range *range = context;
    char text[32];
    snprintf(text, sizeof text, "%zu", value + 1);
    return schema_set(schema_find(range->key), plan,
                      range->values[0] ? range->values[value] : text, false, (struct mark){0},
                      err);
}

static size_t time_row(const void *context, const size_t indices[SWEEP_AXES],
                       const struct plan *plan, const struct evaluation *result, char *out,
                       size_t room)
{
    struct step_time step;
    (void)indices, (void)room;
    out[0] = (char)('0' + (result->valid && time_evaluated(result->by, plan, context, &step)));
    return 1;
}

static enum status count(void *context, const char *bytes, size_t n, uint64_t done,
                         struct err *err)
{
    (void)done, (void)err;
    for (size_t i = 0; i < n; i++)
        *(uint64_t *)context += bytes[i] == '1';
    return STATUS_OK;
}

struct measured {
    double per_s, cpu_us; /* of the clock; microseconds of a CPU */
};

static struct measured rate(const struct plan *base, const struct profile *profile,
                            struct range ranges[2])
{
    struct arena arena = {0};
    struct err err = {0};
    struct sweep sweep = {.base = base, .n_axes = 2};
    uint64_t timed = 0;
    for (size_t i = 0; i < 2; i++)
        if (sweep_axis_init(&sweep.axes[i], base, ranges[i].n, evaluate_is_slot(ranges[i].key),
                            apply, &ranges[i], &arena, &err) != STATUS_OK)
            exit(1);
    const struct sweep_output output = {.row = time_row,
                                        .row_context = profile,
                                        .row_room = 8,
                                        .write = count,
                                        .write_context = &timed};
    struct pool *pool = pool_create(0);
    double start = bench_now_s(), user = bench_user_s();
    if (sweep_run(&sweep, pool, &output, &err) != STATUS_OK || timed != sweep_points(&sweep))
        exit(1);
    struct measured m = {.per_s = (double)timed / (bench_now_s() - start),
                         .cpu_us = 1e6 * (bench_user_s() - user) / (double)timed};
    pool_free(pool);
    arena_release(&arena);
    return m;
}

static void row(struct bench *bench, const char *name, const struct override *overrides,
                size_t n, struct range ranges[2], double goal)
{
    struct arena arena = {0};
    struct err err = {0};
    struct plan plan;
    struct profile profile;
    double samples[5], cpu[5];
    char text[64];
    if (plan_load("examples/megatron-qwen3-30b-h100.yaml", overrides, n, &arena, &plan, NULL,
                  &err) != STATUS_OK ||
        profile_load(&plan, &arena, &profile, &err) != STATUS_OK) {
        err_print(&err, stderr);
        exit(1);
    }
    for (size_t i = 0; i < 5; i++) {
        struct measured m = rate(&plan, &profile, ranges);
        samples[i] = m.per_s;
        cpu[i] = m.cpu_us;
    }
    bench_row(bench, name, bench_median(samples, 5), "steps/s", BENCH_AT_LEAST, goal);
    snprintf(text, sizeof text, "%s, of a CPU", name);
    bench_row(bench, text, bench_median(cpu, 5), "us/step", BENCH_SHOWN, 0);
    arena_release(&arena);
}

int main(void)
{
    struct bench bench = {0};
    const struct override stages[] = {
        {"cluster", "h100-8x8", "cluster=h100-8x8"},
        {"model.layers", "128", "model.layers=128"},
        {"parallel.pp", "16", "parallel.pp=16"},
        {"parallel.vpp", "4", "parallel.vpp=4"},
        {"parallel.ep", "4", "parallel.ep=4"},
        {"workload.global_batch", "512", "workload.global_batch=512"},
    };
    struct range built[2] = {{.key = "recompute.kind", 3, {"none", "selective", "full"}},
                             {.key = "stack.loss_chunks", 500}};
    struct range numbers[2] = {{.key = "memory.fraction", 1, {"0.9"}},
                               {.key = "moe.capacity_factor", 20000}};
    struct range played[2] = {{.key = "memory.fraction", 1, {"0.9"}},
                              {.key = "moe.capacity_factor", 2000}};
    row(&bench, "every point a list of its own", NULL, 0, built, 20e3);
    row(&bench, "numbers alone", NULL, 0, numbers, 100e3);
    row(&bench, "interleaved pipeline, played", stages, 6, played, 5e3);
    return bench_status(&bench);
}
