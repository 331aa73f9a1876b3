/* The backward of fan-out: every token sums the gradients of its K copies. The executor gathers
 * them by the inverse map, in the order of a tree: the same bits every time. Beside it, over
 * the same rows and workers in the same run, the scatter that adds with C11 atomics instead, in
 * whatever order comes; it exists here only, as a contrast. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "exec/memory_left.h"
#include "support/layer_case.h"

enum {
    STEPS = 7,
    CHECKED = 15,
    EXPERTS = 64,
    TOP_K = 8,
    MOST_TOKENS = 8192,
    MOST_HIDDEN = 7168
};

struct fan {
    struct session *session;
    const struct kernel_ops *combine;
    struct call call;     /* (src[T K, H], position[T, K], keys[T, K]) -> dst[T, H] */
    const int32_t *index; /* [T K] slot of a row of y */
    uint32_t *sums;       /* [T, H] the bits of floats: what the atomics add to */
};

/* ---- the two ways ---- */

static void gather_unit(void *arg, size_t unit, unsigned worker)
{
    struct fan *fan = arg;
    struct err err = {0};
    (void)worker;
    fan->combine->run(&fan->call, unit, NULL, &err);
}

static void gather(struct fan *fan)
{
    pool_run(fan->session->pool, fan->combine->units(&fan->call), gather_unit, fan);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void add_atomically(uint32_t *place, float value)
{
    _Atomic uint32_t *to = (_Atomic uint32_t *)place;
    uint32_t before = atomic_load_explicit(to, memory_order_relaxed), after;
    do {
        float sum = float_of(before) + value;
        memcpy(&after, &sum, sizeof after);
    } while (!atomic_compare_exchange_weak_explicit(to, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
}

static void zero_unit(void *arg, size_t unit, unsigned worker)
{
    struct fan *fan = arg;
    uint64_t begin, end, width = fan->call.of[ROLE_DST].width;
    (void)worker;
    kernel_rows_of(unit, fan->call.of[ROLE_DST].rows, &begin, &end);
    memset(fan->sums + begin * width, 0, (end - begin) * width * sizeof(float));
}

static void scatter_unit(void *arg, size_t unit, unsigned worker)
{
    struct fan *fan = arg;
    const struct tensor *y = &fan->call.of[ROLE_SRC];
    uint64_t begin, end;
    (void)worker;
    kernel_rows_of(unit, y->rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++) {
        const float *from = tensor_f32(y) + row * y->width;
        uint32_t *to = fan->sums + (uint64_t)fan->index[row] / TOP_K * y->width;
        for (uint64_t i = 0; i < y->width; i++)
            add_atomically(to + i, from[i]);
    }
}

static void scatter(struct fan *fan)
{
    struct pool *pool = fan->session->pool;
    pool_run(pool, kernel_row_units(fan->call.of[ROLE_DST].rows), zero_unit, fan);
    pool_run(pool, kernel_row_units(fan->call.of[ROLE_SRC].rows), scatter_unit, fan);
}

/* ---- rows, and what they must sum to ---- */

static struct tensor tensor_of(void *data, enum dtype dtype, uint64_t rows, uint64_t width)
{
    return (struct tensor){.data = data,
                           .dtype = dtype,
                           .dims = {rows, width},
                           .n_dims = 2,
                           .rows = rows,
                           .width = width,
                           .bytes = rows * width * (dtype == DTYPE_I64 ? 8 : 4),
                           .copies = 1,
                           .present = true};
}

/* Rows of y in the order of experts, as a dispatch leaves them: the executor's own maps. */
static enum status make_maps(const struct kernels *kernels, struct fan *fan, uint64_t tokens,
                             struct arena *arena, struct err *err)
{
    uint64_t slots = tokens * TOP_K;
    const struct layer_sample *sample = fan->call.task->sample;
    struct call call = {.task = fan->call.task, .op = fan->call.op};
    call.of[ROLE_PHYS] = tensor_of(sample->phys, DTYPE_I32, tokens, TOP_K);
    call.of[ROLE_OFFSETS] =
        tensor_of(arena_alloc(arena, EXPERTS + 1, 8), DTYPE_I64, EXPERTS + 1, 1);
    call.of[ROLE_SIZES] = tensor_of(arena_alloc(arena, EXPERTS, 8), DTYPE_I64, EXPERTS, 1);
    call.of[ROLE_INDEX] = tensor_of(arena_alloc(arena, slots, 4), DTYPE_I32, slots, 1);
    call.of[ROLE_PLACE] = tensor_of(arena_alloc(arena, slots, 4), DTYPE_I32, slots, 1);
    TRY(kernels->table[KERNEL_FAN].run(&call, 0, NULL, err));
    fan->index = tensor_i32(&call.of[ROLE_INDEX]);
    fan->call.of[ROLE_POSITION] = tensor_of(call.of[ROLE_PLACE].data, DTYPE_I32, tokens, TOP_K);
    fan->call.of[ROLE_KEYS] = call.of[ROLE_PHYS];
    return STATUS_OK;
}

/* The worst difference of an element from its sum in f64; of every CHECKED-th token. */
static double worst_error(const struct fan *fan, bool atomic)
{
    const struct tensor *out = &fan->call.of[ROLE_DST];
    double worst = 0;
    for (uint64_t n = 0; n < out->rows / CHECKED * out->width; n++) {
        uint64_t token = n / out->width * CHECKED, column = n % out->width;
        uint64_t i = token * out->width + column;
        double sum = 0;
        for (unsigned k = 0; k < TOP_K; k++) {
            uint64_t row =
                (uint64_t)tensor_i32(&fan->call.of[ROLE_POSITION])[token * TOP_K + k];
            sum += (double)tensor_f32(&fan->call.of[ROLE_SRC])[row * out->width + column];
        }
        float got = atomic ? float_of(fan->sums[i]) : tensor_f32(out)[i];
        worst = fmax(worst, fabs((double)got - sum));
    }
    return worst;
}

/* ---- one size ---- */

static void fill(struct tensor *y)
{
    uint64_t state = 1;
    for (uint64_t i = 0; i < y->rows * y->width; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        tensor_f32(y)[i] = (float)(state >> 40) * 0x1p-23F - 1; /* [-1, 1) */
    }
}

static void print(struct bench *bench, struct fan *fan, double *gathered, double *scattered)
{
    char name[64];
    const struct tensor *y = &fan->call.of[ROLE_SRC], *out = &fan->call.of[ROLE_DST];
    double ratio = bench_ratio(scattered, gathered, STEPS);
    double bytes_per_s = (double)(y->bytes + out->bytes) / bench_median(gathered, STEPS);
    snprintf(name, sizeof name, "gather, %d tokens, H %d", (int)out->rows, (int)out->width);
    bench_row(bench, name, bytes_per_s * 1e-9, "GB/s", BENCH_SHOWN, 0);
    bench_row(bench, "  with atomics instead", ratio, "x its time", BENCH_AT_LEAST, 1);
    /* K - 1 roundings, each of at most half an ulp of a sum below K */
    double tolerance = (TOP_K - 1) * TOP_K * 0x1p-24;
    bench_row(bench, "  error of the gather", worst_error(fan, false), "", BENCH_AT_MOST,
              tolerance);
    bench_row(bench, "  error with atomics", worst_error(fan, true), "", BENCH_AT_MOST,
              tolerance);
}

static void compare(struct bench *bench, struct fan *fan)
{
    double gathered[STEPS], scattered[STEPS];
    gather(fan); /* warms pages and threads */
    scatter(fan);
    for (unsigned i = 0; i < STEPS; i++) {
        double begin = bench_now_s();
        gather(fan);
        double middle = bench_now_s();
        scatter(fan);
        gathered[i] = middle - begin;
        scattered[i] = bench_now_s() - middle;
    }
    print(bench, fan, gathered, scattered);
}

static enum status run_size(struct bench *bench, struct session *session, uint64_t tokens,
                            uint64_t hidden, struct err *err)
{
    struct arena arena = {0};
    struct plan plan;
    struct layer_sample sample;
    struct kernels kernels;
    struct task task = {.plan = &plan, .sample = &sample};
    struct op op = {.name = "fold_fan_out", .kernel = KERNEL_COMBINE};
    size_t n = tokens * hidden;
    kernels_cpu(&kernels);
    case_plan(&plan, PATH_RAGGED_A2A, 1);
    plan.model.moe.experts = EXPERTS;
    plan.model.moe.top_k = TOP_K;
    plan.workload.sequence_length = tokens;
    case_sample(&plan, CASE_UNIFORM, &arena, &sample);
    struct fan fan = {
        .session = session,
        .combine = &kernels.table[KERNEL_COMBINE],
        .call = {.task = &task, .op = &op, .args.combine = {.slots = {.n = TOP_K}}},
        .sums = malloc(n * sizeof *fan.sums)};
    float *y = malloc(n * TOP_K * sizeof *y), *out = malloc(n * sizeof *out);
    enum status status = STATUS_OK;
    if (y && out && fan.sums) {
        fan.call.of[ROLE_SRC] = tensor_of(y, DTYPE_F32, tokens * TOP_K, hidden);
        fan.call.of[ROLE_DST] = tensor_of(out, DTYPE_F32, tokens, hidden);
        fill(&fan.call.of[ROLE_SRC]);
        status = make_maps(&kernels, &fan, tokens, &arena, err);
        if (status == STATUS_OK)
            compare(bench, &fan);
    }
    free(y);
    free(out);
    free(fan.sums);
    arena_release(&arena);
    return status;
}

int main(void)
{
    static const uint64_t tokens[] = {2048, MOST_TOKENS}, hidden[] = {2048, 4096, MOST_HIDDEN};
    static const uint64_t most_bytes = sizeof(float) * MOST_TOKENS * MOST_HIDDEN * (TOP_K + 2);
    struct bench bench = {0};
    struct session session;
    struct session_options options = {.ranks = 1, .plain_c = true};
    struct err err = {0};
    if (memory_left_bytes() < most_bytes + most_bytes / 4) {
        printf("fan: needs %d MiB of memory: skipped\n", (int)(most_bytes >> 20));
        return 77;
    }
    enum status status = session_open(&session, &options, &err);
    for (unsigned t = 0; t < 2; t++)
        for (unsigned h = 0; status == STATUS_OK && h < 3; h++)
            status = run_size(&bench, &session, tokens[t], hidden[h], &err);
    session_close(&session);
    if (status != STATUS_OK)
        err_print(&err, stderr);
    return status == STATUS_OK ? bench_status(&bench) : 1;
}
