/* Memory evaluations per second of a sweep, on all CPUs and on one: at least a million on two
 * cores with static shapes and with routing's statistics cached. The floor is the arithmetic of
 * one evaluation: the nodes of the size list and two visits of each buffer. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "plan/read/load.h"
#include "plan/schema/schema.h"
#include "sim/search/sweep.h"

struct range {
    const char *key;
    uint64_t n; /* values 1 .. n */
};

static enum status apply(void *context, size_t value, struct plan *plan, struct err *err)
{
    const struct range *range = context;
    char text[32];
    snprintf(text, sizeof text, "%zu", value + 1);
    return schema_set(schema_find(range->key), plan, text, false, (struct mark){0}, err);
}

/* A row as short as can be: what is timed is the evaluation. */
static size_t count_row(const void *context, const size_t indices[SWEEP_AXES],
                        const struct plan *plan, const struct evaluation *result, char *out,
                        size_t room)
{
    (void)context, (void)indices, (void)plan, (void)room;
    out[0] = (char)('0' + result->valid);
    return 1;
}

static enum status drop(void *context, const char *bytes, size_t n, uint64_t done,
                        struct err *err)
{
    (void)bytes, (void)done, (void)err;
    *(uint64_t *)context += n;
    return STATUS_OK;
}

static double rate(const struct plan *base, struct range ranges[2], unsigned threads)
{
    struct arena arena = {0};
    struct err err = {0};
    struct sweep sweep = {.base = base, .n_axes = 2};
    uint64_t rows = 0;
    for (size_t i = 0; i < 2; i++)
        if (sweep_axis_init(&sweep.axes[i], base, ranges[i].n, evaluate_is_slot(ranges[i].key),
                            apply, &ranges[i], &arena, &err) != STATUS_OK)
            exit(1);
    const struct sweep_output output = {
        .row = count_row, .row_room = 8, .write = drop, .write_context = &rows};
    struct pool *pool = pool_create(threads);
    double start = bench_now_s();
    if (sweep_run(&sweep, pool, &output, &err) != STATUS_OK || rows != sweep_points(&sweep))
        exit(1);
    double taken = bench_now_s() - start;
    pool_free(pool);
    arena_release(&arena);
    return (double)rows / taken;
}

static double median_rate(const struct plan *base, struct range ranges[2], unsigned threads)
{
    double samples[5];
    for (size_t i = 0; i < 5; i++)
        samples[i] = rate(base, ranges, threads);
    return bench_median(samples, 5);
}

int main(void)
{
    struct arena arena = {0};
    struct err err = {0};
    struct bench bench = {0};
    struct plan fixed, routed, hybrid;
    const struct override generic[] = {{"stack", "generic", "stack=generic"}};
    const struct override mixed[] = {
        {"stack", "megatron", "stack=megatron"},
        {"model", "qwen3-next-80b-a3b", "model=qwen3-next-80b-a3b"},
        {"moe.path", "auto", "moe.path=auto"}};
    const char *file = "examples/seed000-primus-turbo.yaml";
    struct range grid[2] = {{"workload.sequence_length", 1000}, {"workload.micro_batch", 1000}};
    struct range cached[2] = {{"workload.micro_batch", 16}, {"moe.capacity_factor", 65536}};
    struct range rebuilt[2] = {{"moe.routing.seed", 4000}, {"workload.micro_batch", 1}};
    if (plan_load(file, NULL, 0, &arena, &fixed, NULL, &err) != STATUS_OK ||
        plan_load(file, mixed, 3, &arena, &hybrid, NULL, &err) != STATUS_OK ||
        plan_load(file, generic, 1, &arena, &routed, NULL, &err) != STATUS_OK) {
        err_print(&err, stderr);
        return 1;
    }
    bench_row(&bench, "static shapes, all CPUs", median_rate(&fixed, grid, 0), "points/s",
              BENCH_AT_LEAST, 1e6);
    bench_row(&bench, "static shapes, one CPU", median_rate(&fixed, grid, 1), "points/s",
              BENCH_SHOWN, 0);
    bench_row(&bench, "sampled routing, cached, all CPUs", median_rate(&routed, cached, 0),
              "points/s", BENCH_AT_LEAST, 1e6);
    /* any key that is no number of the list: a list of its own for every point */
    hybrid.moe.buffer = SIZING_BALANCED;
    bench_row(&bench, "list rebuilt, one CPU", median_rate(&fixed, rebuilt, 1), "points/s",
              BENCH_SHOWN, 0);
    bench_row(&bench, "list rebuilt, hybrid model, one CPU", median_rate(&hybrid, rebuilt, 1),
              "points/s", BENCH_SHOWN, 0);
    arena_release(&arena);
    return bench_status(&bench);
}
