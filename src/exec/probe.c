/* Rounds of measurements; see probe.h. */
#include "exec/probe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/stat.h"
#include "base/unit.h"
#include "exec/backend/backend.h"
#include "exec/gauge.h"
#include "exec/kernels/format.h"
#include "exec/kernels/kernel.h"
#include "exec/memory_left.h"
#include "exec/probe_product.h"
#include "exec/stopwatch.h"
#include "work/list/dtype.h"

enum { ALIGNMENT = 64, PURPOSE = 78 };

static const double LEAST_S = 2e-3;               /* that a sample lasts */
static const uint64_t SPACE = UINT64_C(48) << 20; /* of a worker: more than its own caches */

/* Weights that pass by a worker: those of a layer that takes some tens of milliseconds. A last
 * level of cache that serves few workers holds a part of them, as it does of the layer's. */
static const uint64_t WEIGHTS = UINT64_C(128) << 20, ALL_WEIGHTS = UINT64_C(2) << 30;

/* What a worker works on: two halves of its space, the first of which goes on where there are
 * more weights, and scratch. */
struct desk {
    char *from, *to;  /* [weights], [SPACE / 2] */
    char *gradients;  /* [weights]: of a layer's weights there are as many */
    uint64_t weights; /* bytes, at least SPACE / 2 */
    uint32_t *order;  /* rows of a gather */
    float *scratch;
    uint64_t turn; /* which weights come next */
    double sum;    /* so that reading is not left out */
};

struct probe {
    struct session *session;
    struct desk *desks;
    uint64_t n_desks, weights; /* weights: bytes of each desk's */
    struct parcel *parcels;
    uint64_t *sizes;           /* [n_local][2][n_ranks] of the parcels: bytes, places */
    struct probe_point *point; /* at hand */
    uint64_t repeats;
    struct arena *arena;
    struct kernels kernels;
    struct plan *plan; /* whose activation is measured: silu */
};

static const struct {
    const char *name, *unit;
} kinds[PROBE_KINDS] = {
#define PROBE_ROW(name, text, unit) [PROBE_##name] = {text, unit},
    PROBE_LIST(PROBE_ROW)
#undef PROBE_ROW
};

const char *probe_kind_name(enum probe_kind kind)
{
    return kinds[kind].name;
}

const char *probe_kind_unit(enum probe_kind kind)
{
    return kinds[kind].unit;
}

bool probe_is_product(enum probe_kind kind)
{
    return kind == PROBE_GEMM || kind == PROBE_DGRAD || kind == PROBE_WGRAD;
}

/* ---- products ---- */

/* Weights pass by one after the other, as those of experts do: what is copied and gathered,
 * too, is read for the first time in a while. */
static uint64_t places(const struct desk *desk, uint64_t bytes)
{
    uint64_t fit = desk->weights / bytes;
    return fit ? fit : 1;
}

static uint64_t next_place(struct desk *desk, uint64_t bytes)
{
    return desk->turn++ % places(desk, bytes) * bytes;
}

static const char *next_weights(struct desk *desk, uint64_t bytes)
{
    return desk->from + next_place(desk, bytes);
}

/* Rows pass by as well, and what becomes of them: those of a layer come from other ops, and no
 * cache holds its results of another time. */
static char *next_rows(const struct desk *desk, char *from, uint64_t room, uint64_t bytes)
{
    return from + desk->turn % (room / bytes) * bytes;
}

static void multiply(const struct probe *p, struct desk *desk)
{
    const struct probe_point *at = p->point;
    uint64_t in = dtype_matrix_bytes(at->dtype, at->rows, at->depth),
             out = dtype_matrix_bytes(at->dtype, at->rows, at->columns);
    struct probe_operands operands = {
        .rows = next_rows(desk, desk->to, SPACE / 4, in),
        .other = next_rows(desk, desk->to + SPACE / 4, SPACE / 4, out),
        .result = next_rows(desk, desk->gradients, desk->weights, out)};
    if (at->kind == PROBE_WGRAD)
        operands.gradient = desk->gradients + next_place(desk, probe_gradient_bytes(at));
    else
        operands.weight = next_weights(desk, probe_weight_bytes(at));
    probe_product(&p->kernels, &p->session->blas, at, &operands, desk->scratch);
}

/* ---- memory ---- */

static void copy_all(const struct probe *p, struct desk *desk)
{
    memcpy(desk->to, next_weights(desk, p->point->bytes), p->point->bytes);
}

static void read_all(const struct probe *p, struct desk *desk)
{
    const uint64_t *at = (const uint64_t *)(const void *)desk->from;
    uint64_t sums[4] = {0};
    for (uint64_t i = 0; i + 4 <= p->point->bytes / sizeof *at; i += 4)
        for (unsigned k = 0; k < 4; k++)
            sums[k] += at[i + k];
    desk->sum += (double)(sums[0] ^ sums[1] ^ sums[2] ^ sums[3]);
}

static void write_all(const struct probe *p, struct desk *desk)
{
    memset(desk->to, (int)(desk->turn++ & 63), p->point->bytes);
}

static void gather_rows(const struct probe *p, struct desk *desk)
{
    uint64_t row = p->point->columns * sizeof(float);
    const char *from = next_weights(desk, p->point->rows * row);
    for (uint64_t i = 0; i < p->point->rows; i++)
        memcpy(desk->to + i * row, from + desk->order[i] * row, row);
}

/* The layer's own kernel, a piece of a row at a time through buffers, as it takes them: what it
 * computes binds, not the memory. Gates and ups become their product; of the gradients of that,
 * too, those of both. */
static void activate_all(const struct probe *p, struct desk *desk)
{
    enum { PIECE = 256 };
    static const struct inputs inputs;
    const struct task task = {.plan = p->plan, .inputs = &inputs};
    const struct call call = {.task = &task};
    const float *from = (const float *)(const void *)desk->from;
    float *to = (float *)(void *)desk->to;
    bool back = p->point->kind == PROBE_ACTIVATE_BACK;
    size_t in = back ? 3 : 2, out = back ? 2 : 1; /* rows */
    for (uint64_t at = 0; at < p->point->bytes / sizeof *to; at += PIECE) {
        float rows[3][PIECE];
        memcpy(rows, from + in * at, in * sizeof *rows);
        if (back)
            kernel_activate_back(&call, rows[0], rows[1], rows[2], PIECE);
        else
            kernel_activate(&call, rows[0], rows[1], PIECE);
        memcpy(to + out * at, rows, out * sizeof *rows);
    }
}

/* ---- samples ---- */

static void nothing(const struct probe *p, struct desk *desk)
{
    (void)p;
    (void)desk;
}

static void (*const works[PROBE_KINDS])(const struct probe *p, struct desk *desk) = {
    [PROBE_GEMM] = multiply,
    [PROBE_DGRAD] = multiply,
    [PROBE_WGRAD] = multiply,
    [PROBE_COPY] = copy_all,
    [PROBE_READ] = read_all,
    [PROBE_WRITE] = write_all,
    [PROBE_GATHER] = gather_rows,
    [PROBE_ACTIVATE] = activate_all,
    [PROBE_ACTIVATE_BACK] = activate_all,
    [PROBE_LAUNCH] = nothing,
};

static void at_desk(void *arg, size_t task, unsigned worker)
{
    struct probe *p = arg;
    (void)worker;
    uint64_t repeats = p->point->kind == PROBE_LAUNCH ? 1 : p->repeats;
    for (uint64_t i = 0; i < repeats; i++)
        works[p->point->kind](p, &p->desks[task]);
}

/* All ranks send the point's bytes to every other. */
static void address(struct probe *p)
{
    const struct transport *t = p->session->transport;
    for (uint64_t i = 0; i < t->n_local; i++) {
        uint64_t *sizes = p->sizes + 2 * i * t->n_ranks, *at = sizes + t->n_ranks;
        for (uint64_t r = 0; r < t->n_ranks; r++) {
            sizes[r] = r == t->first + i ? 0 : p->point->bytes;
            at[r] = r * p->point->bytes;
        }
        struct parcel *parcel = &p->parcels[i];
        parcel->send_bytes = parcel->receive_bytes = sizes;
        parcel->send_at = parcel->receive_at = at;
    }
}

static enum status exchange(struct probe *p, struct err *err)
{
    struct transport *t = p->session->transport;
    for (uint64_t i = 0; i < p->repeats; i++)
        TRY(t->ops->exchange(t, p->parcels, err));
    return STATUS_OK;
}

/* What products of a sample read or write of weights is in no cache, as `run` measures a layer:
 * 32 rows are 6 % quicker by those that are in the last level. */
static void cool(void *arg, size_t task, unsigned worker)
{
    const struct probe *p = arg;
    const struct probe_point *at = p->point;
    const struct desk *desk = &p->desks[task];
    (void)worker;
    bool gradient = at->kind == PROBE_WGRAD;
    const char *from = gradient ? desk->gradients : desk->from;
    uint64_t each = gradient ? probe_gradient_bytes(at) : probe_weight_bytes(at),
             fit = places(desk, each), n = p->repeats < fit ? p->repeats : fit;
    for (uint64_t i = 0; i < n; i++)
        backend_cpu.flush(NULL, from + (desk->turn + i) % fit * each, each);
}

static enum status time_work(struct probe *p, double *seconds, struct err *err)
{
    if (probe_is_product(p->point->kind))
        pool_run(p->session->pool, p->n_desks, cool, p);
    double begin = stopwatch_now_s();
    if (p->point->kind == PROBE_EXCHANGE)
        TRY(exchange(p, err));
    else if (p->point->kind == PROBE_LAUNCH)
        for (uint64_t i = 0; i < p->repeats; i++)
            pool_run(p->session->pool, p->n_desks, at_desk, p);
    else
        pool_run(p->session->pool, p->n_desks, at_desk, p);
    *seconds = stopwatch_now_s() - begin;
    struct transport *t = p->session->transport;
    return t->ops->max(t, seconds, 1, err);
}

/* Seconds of one repetition; the number of them doubles until a sample lasts long enough. */
static enum status sample(struct probe *p, struct probe_point *point, uint64_t *repeats,
                          double *seconds, struct err *err)
{
    p->point = point;
    if (point->kind == PROBE_EXCHANGE)
        address(p);
    for (;;) {
        p->repeats = *repeats;
        TRY(time_work(p, seconds, err));
        if (*seconds >= LEAST_S || *repeats >= UINT64_C(1) << 20)
            break;
        *repeats *= 2;
    }
    *seconds /= (double)*repeats;
    return STATUS_OK;
}

/* What a point's value counts in one repetition; 0: seconds. */
static double probe_amount(const struct probe_point *p)
{
    switch (p->kind) {
    case PROBE_GEMM:
    case PROBE_DGRAD:
    case PROBE_WGRAD:
        return 2 * (double)(p->groups ? p->groups : 1) * (double)p->rows * (double)p->depth *
               (double)p->columns;
    case PROBE_COPY:
        return 2 * (double)p->bytes;
    case PROBE_ACTIVATE: /* gate and up, and their product */
        return 3 * (double)p->bytes;
    case PROBE_ACTIVATE_BACK: /* and what became of them; gradients of both */
        return 5 * (double)p->bytes;
    case PROBE_READ:
    case PROBE_WRITE:
        return (double)p->bytes;
    case PROBE_GATHER:
        return 2 * (double)p->rows * (double)p->columns * sizeof(float);
    case PROBE_LAUNCH:
    case PROBE_EXCHANGE:
    case PROBE_KINDS:
        break;
    }
    return 0;
}

void probe_settle(struct probe_point *point, double seconds[PROBE_ROUNDS])
{
    double all = probe_amount(point);
    for (unsigned r = 0; r < PROBE_ROUNDS; r++)
        seconds[r] = all > 0 ? all / seconds[r] : seconds[r];
    stat_sort(seconds, PROBE_ROUNDS);
    point->value = stat_percentile(seconds, PROBE_ROUNDS, 0.5);
    point->low = seconds[0];
    point->high = seconds[PROBE_ROUNDS - 1];
}

/* ---- the points ---- */

static const uint64_t gemm_rows[] = {1, 4, 8, 16, 32, 64, 128, GAUGE_ROWS, 512};
static const uint64_t gemm_sizes[][2] = {{GAUGE_NARROW, GAUGE_WIDE},
                                         {GAUGE_WIDE, GAUGE_NARROW}};
static const uint64_t exchange_bytes[] = {64, 4096, 65536, 1 << 20, 4 << 20};

#define N(list) (sizeof(list) / sizeof *(list))
enum { PRODUCTS = 3, FORMATS = 2 };
enum {
    MOST_POINTS = PRODUCTS * FORMATS * N(gemm_rows) * N(gemm_sizes) + 7 + N(exchange_bytes)
};

static size_t list_products(struct probe_point *points)
{
    static const enum probe_kind kinds_of[PRODUCTS] = {PROBE_GEMM, PROBE_DGRAD, PROBE_WGRAD};
    static const enum dtype formats[FORMATS] = {DTYPE_F32, DTYPE_BF16};
    size_t n = 0;
    for (size_t k = 0; k < PRODUCTS; k++)
        for (size_t f = 0; f < FORMATS; f++)
            for (size_t s = 0; s < N(gemm_sizes); s++)
                for (size_t r = 0; r < N(gemm_rows); r++)
                    points[n++] = (struct probe_point){.kind = kinds_of[k],
                                                       .dtype = formats[f],
                                                       .rows = gemm_rows[r],
                                                       .depth = gemm_sizes[s][0],
                                                       .columns = gemm_sizes[s][1]};
    return n;
}

static size_t list_points(const struct session *session, struct probe_point *points)
{
    enum { GATHERED = 1024 };
    size_t n = list_products(points);
    for (enum probe_kind k = PROBE_COPY; k <= PROBE_WRITE; k++)
        points[n++] = (struct probe_point){.kind = k, .bytes = SPACE / 2};
    points[n++] = (struct probe_point){.kind = PROBE_GATHER,
                                       .rows = SPACE / 2 / (GATHERED * sizeof(float)),
                                       .columns = GATHERED};
    points[n++] = (struct probe_point){.kind = PROBE_ACTIVATE, .bytes = SPACE / 8};
    points[n++] = (struct probe_point){.kind = PROBE_ACTIVATE_BACK, .bytes = SPACE / 8};
    points[n++] = (struct probe_point){.kind = PROBE_LAUNCH};
    for (size_t i = 0; session->transport->n_ranks > 1 && i < N(exchange_bytes); i++)
        points[n++] = (struct probe_point){.kind = PROBE_EXCHANGE, .bytes = exchange_bytes[i]};
    return n;
}

/* A random order of the rows of a gather. */
static void shuffle(uint32_t *order, uint32_t n)
{
    struct rng rng;
    rng_init(&rng, 1, PURPOSE, 0, 0, 0);
    rng_order(&rng, order, n);
}

/* Of a worker, in whole halves of its space: as many as leave memory for others. */
static uint64_t weights_of(uint64_t workers)
{
    uint64_t half = SPACE / 2, left = memory_left_bytes() / 16,
             all = left < ALL_WEIGHTS ? left : ALL_WEIGHTS, each = all / workers;
    each = each < WEIGHTS ? each : WEIGHTS;
    return each > half ? each / half * half : half;
}

static bool set_desk(struct desk *desk)
{
    desk->from = aligned_alloc(ALIGNMENT, desk->weights);
    desk->to = aligned_alloc(ALIGNMENT, SPACE / 2);
    desk->gradients = aligned_alloc(ALIGNMENT, desk->weights);
    desk->order = aligned_alloc(ALIGNMENT, SPACE / 512);
    desk->scratch = aligned_alloc(ALIGNMENT, KERNEL_SCRATCH_FLOATS * sizeof(float));
    if (!desk->from || !desk->to || !desk->gradients || !desk->order || !desk->scratch)
        return false;
    /* numbers near a third whether they are read as f32 or as bf16 */
    uint16_t *values = (uint16_t *)(void *)desk->from;
    for (uint64_t i = 0; i < SPACE / 2 / sizeof *values; i++)
        values[i] = format_to_bf16(0.25F + 0.2F * (float)(i % 251) / 251);
    for (uint64_t at = SPACE / 2; at < desk->weights; at += SPACE / 2)
        memcpy(desk->from + at, desk->from, SPACE / 2);
    memcpy(desk->to, desk->from, SPACE / 2);
    memset(desk->gradients, 0, desk->weights); /* pages that are there */
    shuffle(desk->order, SPACE / 2 / 4096);
    return true;
}

/* Asked for before it is taken: OpenBLAS waits without end for address space that is not there,
 * and a control group ends what takes too much. */
static enum status check_room(const struct probe *p, uint64_t exchanged, struct err *err)
{
    uint64_t space = 2 * p->weights + SPACE / 2,
             desks = p->n_desks * (space + SPACE / 512 + KERNEL_SCRATCH_FLOATS * sizeof(float)),
             own = desks + 2 * exchanged * p->session->transport->n_local,
             address = own + p->session->blas_bytes;
    uint64_t left = memory_left_bytes(), room = memory_left_address_bytes();
    if (own <= left && address <= room)
        return STATUS_OK;
    bool memory = own > left;
    char need[48], have[48];
    unit_print(need, UNIT_BYTES, (double)(memory ? own : address));
    unit_print(have, UNIT_BYTES, (double)(memory ? left : room));
    err_set(err, STATUS_SYSTEM, "a probe takes %s of %s, %s are left", need,
            memory ? "memory" : "address space", have);
    return err_hint(err, "--workers N takes fewer of them");
}

static enum status prepare(struct probe *p, struct err *err)
{
    struct transport *t = p->session->transport;
    uint64_t most = exchange_bytes[N(exchange_bytes) - 1] * t->n_ranks;
    p->n_desks = pool_size(p->session->pool);
    p->weights = weights_of(p->n_desks);
    TRY(check_room(p, most, err));
    kernels_cpu(&p->kernels);
    p->plan = arena_alloc(p->arena, 1, sizeof *p->plan);
    p->plan->model.moe.activation = ACTIVATION_SILU;
    p->desks = arena_alloc(p->arena, p->n_desks, sizeof *p->desks);
    p->parcels = arena_alloc(p->arena, t->n_local, sizeof *p->parcels);
    p->sizes = arena_alloc(p->arena, 2 * t->n_local * t->n_ranks, sizeof *p->sizes);
    bool whole = true;
    for (uint64_t i = 0; i < p->n_desks; i++) {
        p->desks[i].weights = p->weights;
        whole = set_desk(&p->desks[i]) && whole;
    }
    for (uint64_t i = 0; i < t->n_local && whole; i++) {
        char *memory = calloc(2, most);
        whole = memory != NULL;
        p->parcels[i].send = memory;
        p->parcels[i].receive = memory ? memory + most : NULL;
    }
    return whole ? STATUS_OK
                 : err_set(err, STATUS_SYSTEM, "no memory to probe with: %llu MiB a worker",
                           (unsigned long long)((2 * p->weights + SPACE / 2) >> 20));
}

static void clear(struct probe *p)
{
    for (uint64_t i = 0; p->desks && i < p->n_desks; i++) {
        free(p->desks[i].from);
        free(p->desks[i].to);
        free(p->desks[i].gradients);
        free(p->desks[i].order);
        free(p->desks[i].scratch);
    }
    for (uint64_t i = 0; p->parcels && i < p->session->transport->n_local; i++) {
        union {
            const char *given;
            void *memory;
        } send = {p->parcels[i].send};
        free(send.memory);
    }
}

static enum status rounds(struct probe *p, struct probe_point *points, size_t n,
                          struct err *err)
{
    double *samples = arena_alloc(p->arena, n * PROBE_ROUNDS, sizeof *samples);
    uint64_t *repeats = arena_alloc(p->arena, n, sizeof *repeats);
    for (size_t i = 0; i < n; i++)
        repeats[i] = 1;
    for (unsigned round = 0; round < PROBE_ROUNDS; round++)
        for (size_t i = 0; i < n; i++)
            TRY(sample(p, &points[i], &repeats[i], &samples[i * PROBE_ROUNDS + round], err));
    for (size_t i = 0; i < n; i++)
        probe_settle(&points[i], samples + i * PROBE_ROUNDS);
    return STATUS_OK;
}

enum status probe_run(struct session *session, struct arena *arena, struct probe_point **points,
                      size_t *n, struct err *err)
{
    struct probe p = {.session = session, .arena = arena};
    *points = arena_alloc(arena, MOST_POINTS, sizeof **points);
    *n = list_points(session, *points);
    enum status status = prepare(&p, err);
    if (status == STATUS_OK)
        status = rounds(&p, *points, *n, err);
    clear(&p);
    return status;
}
