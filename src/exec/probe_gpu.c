/* Rounds of measurements on a GPU; see probe_gpu.h. */
#include "exec/probe_gpu.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/rng.h"
#include "base/stat.h"
#include "exec/gpu/clock.h"
#include "exec/gpu/kernels.h"
#include "exec/gpu/view.h"
#include "exec/kernels/format.h"
#include "exec/probe_links.h"

enum {
    GROUPS = 32, /* of a product: experts, each with rows and a matrix of its own */
    DEPTH = 2048,
    COLUMNS = 4096,
    LEAST_DEPTH = 128,
    WIDTH = 1024, /* of rows that are moved */
    LONG = 8,     /* of them are one that is read */
    PURPOSE = 79,
    DRAWN = 1 << 20, /* numbers, then again */
    SPACE = 1 << 16
};

static const uint64_t product_rows[] = {1, 4, 16, 64, 256, 1024, 4096};
static const double MOST_S = 0.02;                 /* of one launch; more rows are left out */
static const double LEAST_S = 2e-3;                /* of a sample, which repeats launches */
static const uint64_t MOVED = UINT64_C(256) << 20; /* larger than caches */
static const uint64_t MOST_ROWS = 16384;           /* of a product, all groups together */

#define N(list) (sizeof(list) / sizeof *(list))
enum { PRODUCTS = 3, FORMATS = 2, MOST_POINTS = PRODUCTS * FORMATS * N(product_rows) + 7 };

enum place { ROWS, WEIGHTS, GRADIENTS, RESULT, ORDER, OFFSETS, WORKSPACE, PLACES };

struct probing {
    struct gpu *gpu;
    void *at[PLACES];
    uint64_t bytes[PLACES], moved; /* rows of WIDTH */
    uint64_t activated;            /* rows of an activation's result, of 2 WIDTH */
    uint64_t depth, columns;       /* of a product's matrix */
    uint64_t groups;               /* of a product at most */
};

/* ---- memory ---- */

/* Random numbers near a third, in the format that is read; zeros would be faster than data. */
static enum status write_random(struct probing *p, enum place place, struct err *err)
{
    uint64_t n = p->bytes[place] / 2;
    uint16_t *values = malloc(p->bytes[place]);
    struct rng rng;
    if (!values)
        return err_set(err, STATUS_SYSTEM, "no memory to probe with");
    rng_init(&rng, 1, PURPOSE, place, 0, 0);
    for (uint64_t i = 0; i < n; i++)
        values[i] = i < DRAWN
                        ? format_to_bf16(0.25F + 0.2F * (float)rng_below(&rng, 1024) / 1024)
                        : values[i - DRAWN];
    enum status status = gpu_write(p->gpu, p->at[place], values, p->bytes[place], err);
    free(values);
    return status;
}

static enum status write_order(struct probing *p, bool shuffled, struct err *err)
{
    uint32_t *order = malloc(p->bytes[ORDER]);
    struct rng rng;
    if (!order)
        return err_set(err, STATUS_SYSTEM, "no memory to probe with");
    rng_init(&rng, 1, PURPOSE, PLACES, 0, 0);
    if (shuffled)
        rng_order(&rng, order, (uint32_t)p->moved);
    for (uint32_t i = 0; i < p->moved && !shuffled; i++)
        order[i] = i;
    enum status status = gpu_write(p->gpu, p->at[ORDER], order, p->moved * sizeof *order, err);
    free(order);
    return status;
}

/* Groups of rows of one number behind each other. */
static enum status write_offsets(struct probing *p, uint64_t groups, uint64_t rows,
                                 struct err *err)
{
    int64_t offsets[GROUPS + 1];
    for (uint64_t g = 0; g <= groups; g++)
        offsets[g] = (int64_t)(g * rows);
    return gpu_write(p->gpu, p->at[OFFSETS], offsets, (groups + 1) * sizeof *offsets, err);
}

/* A sixteenth of the device for each of what is moved, or MOVED. */
static enum status take_memory(struct probing *p, struct err *err)
{
    uint64_t most = gpu_facts(p->gpu)->memory_bytes / 16,
             matrix = (uint64_t)DEPTH * COLUMNS * sizeof(float);
    uint64_t moved = most < MOVED ? most : MOVED;
    p->groups = lesser(GROUPS, most / matrix + 1);
    p->moved = moved / (WIDTH * sizeof(float));
    p->bytes[ROWS] = p->bytes[RESULT] = p->moved * WIDTH * sizeof(float);
    p->bytes[WEIGHTS] = p->bytes[GRADIENTS] = p->groups * matrix;
    p->bytes[ORDER] = p->moved * sizeof(int32_t);
    p->bytes[OFFSETS] = (GROUPS + 1) * sizeof(int64_t);
    p->bytes[WORKSPACE] = SPACE;
    for (unsigned i = 0; i < PLACES; i++) {
        p->at[i] = gpu_alloc(p->gpu, p->bytes[i]);
        if (!p->at[i])
            return err_set(err, STATUS_SYSTEM, "no memory on \"%s\" to probe with",
                           gpu_where(p->gpu));
    }
    TRY(write_random(p, ROWS, err));
    TRY(write_random(p, WEIGHTS, err));
    return gpu_fill(p->gpu, p->at[WORKSPACE], 0, SPACE, err);
}

/* ---- calls ---- */

struct order {
    struct gpu_call call;
    enum kernel kernel;
    enum place places[GPU_TENSORS];
    bool given[GPU_TENSORS];
    uint64_t groups;
};

static void give(struct order *work, unsigned i, enum place place, struct gpu_view view)
{
    work->call.view[i] = view;
    work->places[i] = place;
    work->given[i] = true;
}

/* Experts that a product's rows fit in: of one worker of a CPU one, of a GPU as many as keep
 * all of its units at work, as a layer's do. */
static uint64_t groups_of(const struct probing *p, uint64_t rows)
{
    uint64_t most = p->bytes[RESULT] / (p->columns * sizeof(float));
    return lesser(p->groups, lesser(most, MOST_ROWS) / rows);
}

/* Rows of every group by its own matrix. */
static struct order product(const struct probe_point *at)
{
    enum gpu_format format = at->dtype == DTYPE_BF16 ? FORMAT_BF16 : FORMAT_F32;
    uint64_t groups = at->groups, rows = groups * at->rows;
    struct order work = {.kernel = KERNEL_GEMM,
                         .groups = gpu_gemm_groups(rows, groups, at->columns)};
    bool back = at->kind == PROBE_DGRAD; /* by the transpose */
    work.call.args.gemm.transposed = back;
    give(&work, 0, ROWS, gpu_view_rows(rows, at->depth, format));
    give(&work, 1, WEIGHTS,
         gpu_view_matrices(groups, back ? at->columns : at->depth,
                           back ? at->depth : at->columns, format));
    give(&work, 2, OFFSETS, gpu_view_rows(groups + 1, 1, FORMAT_I64));
    give(&work, 6, RESULT, gpu_view_rows(rows, at->columns, format));
    return work;
}

/* Of every group's matrix, in f32: rows by gradients of rows, for which weights serve. */
static struct order weight_gradient(const struct probe_point *at)
{
    enum gpu_format format = at->dtype == DTYPE_BF16 ? FORMAT_BF16 : FORMAT_F32;
    uint64_t groups = at->groups, rows = groups * at->rows;
    struct order work = {.kernel = KERNEL_WGRAD,
                         .groups = gpu_wgrad_groups(at->depth, groups, at->columns)};
    give(&work, 0, ROWS, gpu_view_rows(rows, at->depth, format));
    give(&work, 1, WEIGHTS, gpu_view_rows(rows, at->columns, format));
    give(&work, 2, OFFSETS, gpu_view_rows(groups + 1, 1, FORMAT_I64));
    give(&work, 5, GRADIENTS, gpu_view_matrices(groups, at->depth, at->columns, FORMAT_F32));
    return work;
}

/* Two halves of what is read, row by row: a number of each pair is written, no more. Long rows,
 * or adding up would take longer than reading. */
static struct order read_all(const struct probing *p)
{
    uint64_t rows = p->moved / 2 / LONG;
    struct order work = {.kernel = KERNEL_GATE_GRAD, .groups = rows};
    work.call.args.combine.slots.n = 1;
    give(&work, 0, ROWS, gpu_view_rows(rows, LONG * WIDTH, FORMAT_F32));
    give(&work, 2, RESULT, gpu_view_rows(rows, LONG * WIDTH, FORMAT_F32));
    give(&work, 3, ORDER, gpu_view_rows(rows, 1, FORMAT_F32));
    return work;
}

/* Gates and ups side by side, in half of what is moved or less. */
static struct order activate(const struct probing *p)
{
    uint64_t rows = p->activated;
    struct order work = {.kernel = KERNEL_ACTIVATION, .groups = rows};
    give(&work, 0, ROWS, gpu_view_rows(rows, 4 * (uint64_t)WIDTH, FORMAT_BF16));
    give(&work, 3, RESULT, gpu_view_rows(rows, 2 * (uint64_t)WIDTH, FORMAT_BF16));
    return work;
}

static struct order activate_back(const struct probing *p)
{
    struct order work = activate(p);
    uint64_t rows = work.groups;
    work.kernel = KERNEL_ACTIVATION_GRAD;
    work.given[3] = false;
    give(&work, 1, WEIGHTS, gpu_view_rows(rows, 2 * (uint64_t)WIDTH, FORMAT_BF16));
    give(&work, 4, RESULT, gpu_view_rows(rows, 4 * (uint64_t)WIDTH, FORMAT_BF16));
    return work;
}

static struct order move(const struct probing *p, const struct probe_point *at)
{
    bool writes = at->kind == PROBE_WRITE, nothing = at->kind == PROBE_LAUNCH;
    uint64_t rows = nothing ? 1 : p->moved;
    struct order work = {.kernel = writes || nothing ? KERNEL_ZERO : KERNEL_GATHER,
                         .groups = rows};
    if (work.kernel == KERNEL_ZERO) {
        give(&work, 0, RESULT, gpu_view_rows(rows, WIDTH, FORMAT_F32));
        return work;
    }
    work.call.args.gather.divide.n = 1;
    give(&work, 0, ROWS, gpu_view_rows(rows, WIDTH, FORMAT_F32));
    give(&work, 1, ORDER, gpu_view_rows(rows, 1, FORMAT_I32));
    give(&work, 4, RESULT, gpu_view_rows(rows, WIDTH, FORMAT_F32));
    return work;
}

/* Seconds of one launch. */
static enum status launch(struct probing *p, const struct probe_point *at, double *seconds,
                          struct err *err)
{
    struct order work = at->kind == PROBE_WGRAD           ? weight_gradient(at)
                        : probe_is_product(at->kind)      ? product(at)
                        : at->kind == PROBE_READ          ? read_all(p)
                        : at->kind == PROBE_ACTIVATE      ? activate(p)
                        : at->kind == PROBE_ACTIVATE_BACK ? activate_back(p)
                                                          : move(p, at);
    uint64_t memory[GPU_TENSORS + 1] = {0}, offset;
    for (unsigned i = 0; i < GPU_TENSORS; i++)
        if (work.given[i])
            memory[i] = gpu_memory_of(p->gpu, p->at[work.places[i]], &offset);
    memory[GPU_TENSORS] = gpu_memory_of(p->gpu, p->at[WORKSPACE], &offset);
    work.call.space_bytes = SPACE;
    return gpu_perform(p->gpu, work.kernel, &work.call, memory, work.groups, seconds, err);
}

/* ---- samples ---- */

/* The mean of as many launches as last LEAST_S. */
static enum status sample(struct probing *p, const struct probe_point *at, double *mean_s,
                          struct err *err)
{
    double sum = 0, one;
    unsigned n = 0;
    while (n == 0 || (sum < LEAST_S && n < 1000)) {
        TRY(launch(p, at, &one, err));
        sum += one;
        n++;
    }
    *mean_s = sum / n;
    return STATUS_OK;
}

static enum status measure(struct probing *p, struct probe_point *at, double *once_s,
                           struct err *err)
{
    double samples[PROBE_ROUNDS];
    if (at->kind == PROBE_COPY || at->kind == PROBE_GATHER)
        TRY(write_order(p, at->kind == PROBE_GATHER, err));
    if (probe_is_product(at->kind))
        TRY(write_offsets(p, at->groups, at->rows, err));
    TRY(launch(p, at, once_s, err)); /* compiled, and on an engine if there is one */
    TRY(launch(p, at, once_s, err));
    for (unsigned r = 0; r < PROBE_ROUNDS; r++)
        TRY(sample(p, at, &samples[r], err));
    at->clock_mhz = clock_read(gpu_clock(p->gpu)).core_mhz;
    probe_settle(at, samples);
    return STATUS_OK;
}

/* By rows, until a launch takes too long. */
static enum status measure_products(struct probing *p, enum probe_kind kind, enum dtype dtype,
                                    struct probe_point *points, size_t *n, struct err *err)
{
    double once_s = 0;
    uint64_t most = p->bytes[RESULT] / (p->columns * sizeof(float));
    for (size_t i = 0;
         i < N(product_rows) && product_rows[i] <= lesser(most, MOST_ROWS) && once_s < MOST_S;
         i++) {
        struct probe_point *at = &points[*n];
        *at = (struct probe_point){.kind = kind,
                                   .dtype = dtype,
                                   .rows = product_rows[i],
                                   .depth = p->depth,
                                   .columns = p->columns,
                                   .groups = groups_of(p, product_rows[i])};
        TRY(measure(p, at, &once_s, err));
        ++*n;
    }
    return STATUS_OK;
}

/* The quicker of two launches: the first may be compiled. */
static enum status launch_twice(struct probing *p, const struct probe_point *at, double *once_s,
                                struct err *err)
{
    double first_s;
    TRY(launch(p, at, &first_s, err));
    TRY(launch(p, at, once_s, err));
    *once_s = first_s < *once_s ? first_s : *once_s;
    return STATUS_OK;
}

static enum status launch_product(struct probing *p, double *once_s, struct err *err)
{
    struct probe_point at = {.kind = PROBE_GEMM,
                             .dtype = DTYPE_F32,
                             .rows = 1,
                             .depth = p->depth,
                             .columns = p->columns,
                             .groups = p->groups};
    TRY(write_offsets(p, at.groups, at.rows, err));
    return launch_twice(p, &at, once_s, err);
}

/* Larger matrices, then more experts, up to the first that take too long: a device that is slow
 * (OpenCL on the CPU) would take ten seconds for the most of them. */
static enum status settle_products(struct probing *p, struct err *err)
{
    uint64_t most = p->groups;
    double once_s;
    p->groups = 1;
    p->depth = LEAST_DEPTH;
    p->columns = LEAST_DEPTH * COLUMNS / DEPTH;
    while (p->depth < DEPTH || p->groups < most) {
        struct probing larger = *p;
        if (p->depth < DEPTH) {
            larger.depth *= 2;
            larger.columns *= 2;
        } else {
            larger.groups = lesser(2 * p->groups, most);
        }
        TRY(launch_product(&larger, &once_s, err));
        if (once_s > MOST_S)
            break;
        *p = larger;
    }
    return STATUS_OK;
}

/* Fewer experts, smaller matrices and fewer rows for a device that is slow. It computes the
 * activation slower still than it moves rows: of these a share says how many it takes. */
static enum status settle(struct probing *p, struct err *err)
{
    enum { SHARE = 64 };
    static const struct probe_point rows = {.kind = PROBE_WRITE},
                                    activation = {.kind = PROBE_ACTIVATE_BACK};
    double once_s;
    TRY(settle_products(p, err));
    TRY(launch_twice(p, &rows, &once_s, err));
    if (once_s > MOST_S)
        p->moved = (uint64_t)((double)p->moved * MOST_S / once_s) + 1;
    uint64_t half = p->moved / 2;
    p->activated = half / SHARE + 1;
    TRY(launch_twice(p, &activation, &once_s, err));
    double fit = (double)p->activated * MOST_S / once_s;
    p->activated = fit < (double)half ? (uint64_t)fit + 1 : half;
    return STATUS_OK;
}

static uint64_t bytes_of(const struct probing *p, enum probe_kind kind)
{
    uint64_t rows = kind == PROBE_LAUNCH ? 0
                    : kind == PROBE_READ ? p->moved / 2 / LONG * 2 * LONG
                    : kind == PROBE_ACTIVATE || kind == PROBE_ACTIVATE_BACK ? p->activated
                                                                            : p->moved;
    return rows * WIDTH * sizeof(float);
}

static enum status measure_all(struct probing *p, struct probe_point *points, size_t *n,
                               struct err *err)
{
    static const enum probe_kind moves[] = {PROBE_COPY,   PROBE_READ,     PROBE_WRITE,
                                            PROBE_GATHER, PROBE_ACTIVATE, PROBE_ACTIVATE_BACK,
                                            PROBE_LAUNCH}; /* copied rows
                                         are read */
    double once_s;
    TRY(take_memory(p, err));
    TRY(settle(p, err));
    for (enum probe_kind kind = PROBE_GEMM; kind <= PROBE_WGRAD; kind++) {
        TRY(measure_products(p, kind, DTYPE_F32, points, n, err));
        TRY(measure_products(p, kind, DTYPE_BF16, points, n, err));
    }
    for (size_t i = 0; i < N(moves); i++) {
        struct probe_point *at = &points[*n];
        bool gathers = moves[i] == PROBE_GATHER;
        *at = (struct probe_point){.kind = moves[i],
                                   .rows = gathers ? p->moved : 0,
                                   .columns = gathers ? WIDTH : 0,
                                   .bytes = bytes_of(p, moves[i])};
        TRY(measure(p, at, &once_s, err));
        ++*n;
    }
    return STATUS_OK;
}

enum status probe_gpu_run(struct gpu_group *gpus, struct arena *arena,
                          struct probe_point **points, size_t *n, struct err *err)
{
    struct gpu *gpu = gpus->of[0];
    struct probing p = {.gpu = gpu};
    *points = arena_alloc(arena, MOST_POINTS + PROBE_LINKS_MOST, sizeof **points);
    *n = 0;
    enum status status = measure_all(&p, *points, n, err);
    for (unsigned i = 0; i < PLACES; i++)
        if (p.at[i])
            gpu_free(gpu, p.at[i]);
    return status == STATUS_OK ? probe_links(gpus, *points, n, err) : status;
}
