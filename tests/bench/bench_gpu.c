/* Grouped products of a GPU beside its vendor's library, in one run: bf16, f32 sums, random
 * data, experts with equally many rows. A line a shape: the rate of `run`'s kernels, the bytes
 * they have to move a second, what the host takes to begin one, and the ratio to each
 * comparator that is there, opened at run time: cuBLAS one product an expert, strided, grouped,
 * and one dense product of as many FLOP; rocBLAS and hipBLASLt one an expert. All are timed
 * alike, by the host around many of them, and the others have to give what ours give, or this
 * fails (but for the dense one, which multiplies something else). Skipped (77) without a
 * device; `small` is for look-alikes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "exec/gpu/device.h"
#include "exec/gpu/kernels.h"
#include "exec/gpu/view.h"

enum { EXPERTS = 8, REPEATS = 7, ROW_COUNTS = 4 };
enum kind { FORWARD, GRAD_A, WGRAD, KINDS };

static const char *const kinds[KINDS] = {"forward", "grad_a", "wgrad"};

/* What is multiplied: as in a model, or so little that it is only checked. */
struct scale {
    int hidden, inter, repeats, many; /* many: launches that the host times as one */
    uint64_t rows[ROW_COUNTS];        /* of an expert, the most last; 0: not asked */
};

static const struct scale full = {2048, 4096, REPEATS, 40, {16, 128, 1024, 4096}},
                          little = {24, 40, 1, 1, {0, 0, 5, 16}};

/* Row-major [m, k] times [k, n] of an expert; `down`: a is stored [k, m]; `turned`: b [n, k].
 */
struct shape {
    enum kind kind;
    int m, n, k, down, turned;
};

static struct shape shape_of(const struct scale *scale, enum kind kind, uint64_t rows)
{
    int M = (int)rows, H = scale->hidden, I = scale->inter;
    const struct shape shapes[KINDS] = {[FORWARD] = {FORWARD, M, I, H, 0, 0},
                                        [GRAD_A] = {GRAD_A, M, H, I, 0, 1},
                                        [WGRAD] = {WGRAD, H, I, M, 1, 0}};
    return shapes[kind];
}

/* ---- memory: a, b and the result, each as large as any shape wants ---- */

enum place { A, B, OUT, OFFSETS, SPACE, LISTS, PLACES };

struct desk {
    struct gpu *gpu;
    const struct scale *scale;
    uint64_t bytes[PLACES];
    char *own, *other; /* results in the host's memory */
    void *at[PLACES];
    uint64_t number[PLACES]; /* of CUDA and HIP: the address */
};

static void size_desk(struct desk *d)
{
    uint64_t H = (uint64_t)d->scale->hidden, I = (uint64_t)d->scale->inter,
             rows = d->scale->rows[ROW_COUNTS - 1], most = rows > H ? rows : H;
    d->bytes[A] = d->bytes[B] = EXPERTS * most * I * 2;
    d->bytes[OUT] = EXPERTS * most * I * 4;
    d->bytes[OFFSETS] = (EXPERTS + 1) * 8;
    d->bytes[SPACE] = 1 << 16;
    d->bytes[LISTS] = 3 * EXPERTS * 8;
}

static enum status fill_random(const struct desk *d, enum place place, struct err *err)
{
    uint16_t *values = malloc(d->bytes[place]);
    uint64_t seed = 1;
    if (!values)
        return err_set(err, STATUS_SYSTEM, "out of memory");
    for (uint64_t i = 0; i < d->bytes[place] / 2; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        values[i] = (uint16_t)(0x3e80U | (seed >> 40 & 0x807fU)); /* about +-0.25 to 0.5 */
    }
    enum status status = gpu_write(d->gpu, d->at[place], values, d->bytes[place], err);
    free(values);
    return status;
}

static enum status set_desk(struct desk *d, struct err *err)
{
    size_desk(d);
    d->own = malloc(d->bytes[OUT]);
    d->other = malloc(d->bytes[OUT]);
    if (!d->own || !d->other)
        return err_set(err, STATUS_SYSTEM, "out of memory");
    for (unsigned i = 0; i < PLACES; i++) {
        uint64_t offset;
        d->at[i] = gpu_alloc(d->gpu, d->bytes[i]);
        if (!d->at[i])
            return err_set(err, STATUS_SYSTEM, "no memory on the device");
        d->number[i] = gpu_memory_of(d->gpu, d->at[i], &offset);
    }
    TRY(gpu_fill(d->gpu, d->at[SPACE], 0, d->bytes[SPACE], err));
    TRY(fill_random(d, A, err));
    return fill_random(d, B, err);
}

/* ---- results ---- */

static uint64_t result_bytes(const struct shape *s)
{
    return (uint64_t)EXPERTS * (uint64_t)s->m * (uint64_t)s->n * (s->kind == WGRAD ? 4 : 2);
}

static float result_at(const char *bytes, enum kind kind, uint64_t i)
{
    uint32_t bits = 0;
    float value;
    if (kind == WGRAD)
        memcpy(&bits, bytes + 4 * i, 4);
    else
        memcpy((char *)&bits + 2, bytes + 2 * i, 2);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Two sums of the same products, rounded once each. */
static bool agree(const struct desk *d, const struct shape *s)
{
    double difference = 0, whole = 0;
    const double most = s->kind == WGRAD ? 1e-4 : 1e-2;
    for (uint64_t i = 0; i < result_bytes(s) / (s->kind == WGRAD ? 4 : 2); i++) {
        double x = (double)result_at(d->own, s->kind, i),
               y = (double)result_at(d->other, s->kind, i);
        difference += (x - y) * (x - y);
        whole += x * x;
    }
    return whole > 0 && sqrt(difference / whole) <= most;
}

/* ---- ours ---- */

/* What one takes, and what of it the host takes to begin it. */
struct taken {
    double s, host_s;
};

static enum status ours(const struct desk *d, const struct shape *s, uint64_t rows,
                        struct taken *taken, struct err *err)
{
    bool wgrad = s->kind == WGRAD;
    uint64_t all = EXPERTS * rows, memory[GPU_TENSORS + 1] = {d->number[A], d->number[B]};
    struct gpu_call call = {.space_bytes = d->bytes[SPACE]};
    int64_t offsets[EXPERTS + 1];
    double samples[REPEATS], begun[REPEATS];
    for (unsigned e = 0; e <= EXPERTS; e++)
        offsets[e] = (int64_t)(e * rows);
    TRY(gpu_write(d->gpu, d->at[OFFSETS], offsets, sizeof offsets, err));
    call.args.gemm.transposed = (uint8_t)s->turned;
    call.view[0] = gpu_view_rows(all, (uint64_t)(wgrad ? s->m : s->k), FORMAT_BF16);
    call.view[1] = wgrad ? gpu_view_rows(all, (uint64_t)s->n, FORMAT_BF16)
                         : gpu_view_matrices(EXPERTS, (uint64_t)d->scale->hidden,
                                             (uint64_t)d->scale->inter, FORMAT_BF16);
    call.view[2] = gpu_view_rows(EXPERTS + 1, 1, FORMAT_I64);
    call.view[wgrad ? 5 : 6] = wgrad ? gpu_view_matrices(EXPERTS, (uint64_t)d->scale->hidden,
                                                         (uint64_t)d->scale->inter, FORMAT_F32)
                                     : gpu_view_rows(all, (uint64_t)s->n, FORMAT_BF16);
    memory[2] = d->number[OFFSETS];
    memory[wgrad ? 5 : 6] = d->number[OUT];
    memory[GPU_TENSORS] = d->number[SPACE];
    uint64_t groups = wgrad ? gpu_wgrad_groups((uint64_t)s->m, EXPERTS, (uint64_t)s->n)
                            : gpu_gemm_groups(all, EXPERTS, (uint64_t)s->n);
    enum kernel kernel = wgrad ? KERNEL_WGRAD : KERNEL_GEMM;
    TRY(gpu_perform(d->gpu, kernel, &call, memory, groups, &samples[0], err));
    TRY(gpu_read(d->gpu, d->at[OUT], d->own, result_bytes(s), err));
    for (int i = 0; i < d->scale->repeats; i++) {
        double begin_s = bench_now_s();
        TRY(gpu_start_many(d->gpu, kernel, &call, memory, groups, (unsigned)d->scale->many,
                           err));
        begun[i] = (bench_now_s() - begin_s) / d->scale->many;
        TRY(gpu_wait(d->gpu, &samples[i], err));
        samples[i] = (bench_now_s() - begin_s) / d->scale->many;
    }
    taken->s = bench_median(samples, (size_t)d->scale->repeats);
    taken->host_s = bench_median(begun, (size_t)d->scale->repeats);
    return STATUS_OK;
}

/* ---- comparators: column-major libraries see the operands turned round ---- */

struct expert {
    uint64_t a, b, c; /* addresses */
};

static struct expert expert_of(const struct desk *d, const struct shape *s, uint64_t e)
{
    uint64_t out = s->kind == WGRAD ? 4 : 2, m = (uint64_t)s->m, n = (uint64_t)s->n,
             k = (uint64_t)s->k;
    return (struct expert){d->number[A] + e * m * k * 2, d->number[B] + e * k * n * 2,
                           d->number[OUT] + e * m * n * out};
}

struct library {
    void *opened, *handle;
};

struct comparator {
    const char *name, *device; /* the driver's */
    const char *const *libraries;
    const char *create, *function;
    int (*call)(void *function, const struct library *library, const struct desk *d,
                const struct shape *s);
    int other; /* it multiplies something else */
};

static const float one = 1, zero = 0;
enum { BF16 = 14, F32 = 0, SUMS_F32 = 68, ANY = -1 }; /* of CUDA's library_types.h */

static int out_type(const struct shape *s)
{
    return s->kind == WGRAD ? F32 : BF16;
}

static int cublas_each(void *function, const struct library *l, const struct desk *d,
                       const struct shape *s)
{
    int (*gemm)(void *, int, int, int, int, int, const void *, uint64_t, int, int, uint64_t,
                int, int, const void *, uint64_t, int, int, int, int);
    memcpy(&gemm, &function, sizeof gemm);
    for (uint64_t e = 0; e < EXPERTS; e++) {
        struct expert x = expert_of(d, s, e);
        int code = gemm(l->handle, s->turned, s->down, s->n, s->m, s->k, &one, x.b, BF16,
                        s->turned ? s->k : s->n, x.a, BF16, s->down ? s->m : s->k, &zero, x.c,
                        out_type(s), s->n, SUMS_F32, ANY);
        if (code != 0)
            return code;
    }
    return 0;
}

/* All experts' rows by one matrix, or their gradient as one, of as many FLOP. */
static int cublas_dense(void *function, const struct library *l, const struct desk *d,
                        const struct shape *s)
{
    int (*gemm)(void *, int, int, int, int, int, const void *, uint64_t, int, int, uint64_t,
                int, int, const void *, uint64_t, int, int, int, int);
    int m = s->kind == WGRAD ? s->m : EXPERTS * s->m,
        k = s->kind == WGRAD ? EXPERTS * s->k : s->k;
    struct expert x = expert_of(d, s, 0);
    memcpy(&gemm, &function, sizeof gemm);
    return gemm(l->handle, s->turned, s->down, s->n, m, k, &one, x.b, BF16,
                s->turned ? k : s->n, x.a, BF16, s->down ? m : k, &zero, x.c, out_type(s), s->n,
                SUMS_F32, ANY);
}

static int cublas_strided(void *function, const struct library *l, const struct desk *d,
                          const struct shape *s)
{
    int (*gemm)(void *, int, int, int, int, int, const void *, uint64_t, int, int, long long,
                uint64_t, int, int, long long, const void *, uint64_t, int, int, long long, int,
                int, int);
    struct expert x = expert_of(d, s, 0);
    long long m = s->m, n = s->n, k = s->k;
    memcpy(&gemm, &function, sizeof gemm);
    return gemm(l->handle, s->turned, s->down, s->n, s->m, s->k, &one, x.b, BF16,
                s->turned ? s->k : s->n, k * n, x.a, BF16, s->down ? s->m : s->k, m * k, &zero,
                x.c, out_type(s), s->n, m * n, EXPERTS, SUMS_F32, ANY);
}

/* One group of all experts; the lists of matrices lie on the device. */
static int cublas_grouped(void *function, const struct library *l, const struct desk *d,
                          const struct shape *s)
{
    int (*gemm)(void *, const int *, const int *, const int *, const int *, const int *,
                const void *, uint64_t, int, const int *, uint64_t, int, const int *,
                const void *, uint64_t, int, const int *, int, const int *, int);
    int ldb = s->turned ? s->k : s->n, lda = s->down ? s->m : s->k, n = EXPERTS;
    uint64_t at = d->number[LISTS];
    memcpy(&gemm, &function, sizeof gemm);
    return gemm(l->handle, &s->turned, &s->down, &s->n, &s->m, &s->k, &one, at, BF16, &ldb,
                at + EXPERTS * 8, BF16, &lda, &zero, at + 2 * EXPERTS * 8, out_type(s), &s->n,
                1, &n, SUMS_F32);
}

static int rocblas_each(void *function, const struct library *l, const struct desk *d,
                        const struct shape *s)
{
    enum { PLAIN = 111, TURNED = 112, ROC_BF16 = 168, ROC_F32 = 151, STANDARD = 0 };
    int (*gemm)(void *, int, int, int, int, int, const void *, uint64_t, int, int, uint64_t,
                int, int, const void *, uint64_t, int, int, uint64_t, int, int, int, int,
                int32_t, uint32_t);
    int out = s->kind == WGRAD ? ROC_F32 : ROC_BF16;
    memcpy(&gemm, &function, sizeof gemm);
    for (uint64_t e = 0; e < EXPERTS; e++) {
        struct expert x = expert_of(d, s, e);
        int code = gemm(l->handle, s->turned ? TURNED : PLAIN, s->down ? TURNED : PLAIN, s->n,
                        s->m, s->k, &one, x.b, ROC_BF16, s->turned ? s->k : s->n, x.a, ROC_BF16,
                        s->down ? s->m : s->k, &zero, x.c, out, s->n, x.c, out, s->n, ROC_F32,
                        STANDARD, 0, 0);
        if (code != 0)
            return code;
    }
    return 0;
}

/* A problem of its own for each shape: layouts, what is turned, and the best way it knows. Its
 * records have changed from version to version: they are given more room than any has, and
 * looked at by nobody here but the library. */
static int hipblaslt_each(void *function, const struct library *l, const struct desk *d,
                          const struct shape *s)
{
    enum {
        PLAIN = 111,
        TURNED = 112,
        LT_BF16 = 14,
        LT_F32 = 0,
        SUMS = 2,
        TURN_A = 0,
        TURN_B = 1
    };
    static const char *const names[] = {
        "hipblasLtMatmulDescCreate",        "hipblasLtMatmulDescSetAttribute",
        "hipblasLtMatmulDescDestroy",       "hipblasLtMatrixLayoutCreate",
        "hipblasLtMatrixLayoutDestroy",     "hipblasLtMatmulPreferenceCreate",
        "hipblasLtMatmulPreferenceDestroy", "hipblasLtMatmulAlgoGetHeuristic"};
    struct {
        int (*describe)(void **desc, int sums, int scale);
        int (*set)(void *desc, int what, const void *value, size_t bytes);
        int (*forget)(void *desc);
        int (*layout)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t pitch);
        int (*forget_layout)(void *layout);
        int (*prefer)(void **preference);
        int (*forget_preference)(void *preference);
        int (*choose)(void *handle, void *desc, void *a, void *b, void *c, void *d,
                      void *preference, int n, void *results, int *found);
    } f;
    int (*multiply)(void *handle, void *desc, const void *alpha, uint64_t a, void *a_layout,
                    uint64_t b, void *b_layout, const void *beta, uint64_t c, void *c_layout,
                    uint64_t d, void *d_layout, const void *way, void *space, size_t bytes,
                    void *stream);
    _Alignas(16) char ways[4096] = {0};
    struct err err = {.status = STATUS_OK};
    void *desc = NULL, *a = NULL, *b = NULL, *c = NULL, *preference = NULL;
    int32_t turn_a = s->turned ? TURNED : PLAIN, turn_b = s->down ? TURNED : PLAIN;
    uint64_t m = (uint64_t)s->m, n = (uint64_t)s->n, k = (uint64_t)s->k;
    int found = 0;
    memcpy(&multiply, &function, sizeof multiply);
    if (gpu_library_bind(l->opened, "hipBLASLt", names, 8, &f, &err) != STATUS_OK)
        return -1;
    int code =
        f.describe(&desc, SUMS, LT_F32) | f.set(desc, TURN_A, &turn_a, sizeof turn_a) |
        f.set(desc, TURN_B, &turn_b, sizeof turn_b) |
        f.layout(&a, LT_BF16, s->turned ? k : n, s->turned ? n : k,
                 (int64_t)(s->turned ? k : n)) |
        f.layout(&b, LT_BF16, s->down ? m : k, s->down ? k : m, (int64_t)(s->down ? m : k)) |
        f.layout(&c, s->kind == WGRAD ? LT_F32 : LT_BF16, n, m, (int64_t)n) |
        f.prefer(&preference);
    if (code == 0)
        code = f.choose(l->handle, desc, a, b, c, c, preference, 1, ways, &found);
    for (uint64_t e = 0; code == 0 && e < EXPERTS; e++) {
        struct expert x = expert_of(d, s, e);
        code = found < 1 ? -1
                         : multiply(l->handle, desc, &one, x.b, a, x.a, b, &zero, x.c, c, x.c,
                                    c, ways, NULL, 0, NULL);
    }
    f.forget_preference(preference);
    f.forget_layout(a);
    f.forget_layout(b);
    f.forget_layout(c);
    f.forget(desc);
    return code;
}

static const char *const cublas[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                     NULL};
static const char *const rocblas[] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so",
                                      NULL};

static const char *const hipblaslt[] = {"libhipblaslt.so.1", "libhipblaslt.so.0",
                                        "libhipblaslt.so", NULL};

static const struct comparator comparators[] = {
    {"cublas", "cuda", cublas, "cublasCreate_v2", "cublasGemmEx", cublas_each, 0},
    {"strided", "cuda", cublas, "cublasCreate_v2", "cublasGemmStridedBatchedEx", cublas_strided,
     0},
    {"grouped", "cuda", cublas, "cublasCreate_v2", "cublasGemmGroupedBatchedEx", cublas_grouped,
     0},
    {"dense", "cuda", cublas, "cublasCreate_v2", "cublasGemmEx", cublas_dense, 1},
    {"hipblaslt", "hip", hipblaslt, "hipblasLtCreate", "hipblasLtMatmul", hipblaslt_each, 0},
    {"rocblas", "hip", rocblas, "rocblas_create_handle", "rocblas_gemm_ex", rocblas_each, 0},
};

enum { COMPARATORS = sizeof comparators / sizeof *comparators };

static void open_library(const struct comparator *c, struct library *l)
{
    int (*create)(void **handle);
    for (unsigned i = 0; !l->opened && c->libraries[i]; i++)
        l->opened = gpu_library_open(c->libraries[i]);
    void *symbol = l->opened ? gpu_library_find(l->opened, c->create) : NULL;
    memcpy(&create, &symbol, sizeof create);
    if (!symbol || create(&l->handle) != 0)
        l->handle = NULL;
}

static enum status write_lists(const struct desk *d, const struct shape *s, struct err *err)
{
    uint64_t lists[3][EXPERTS];
    for (uint64_t e = 0; e < EXPERTS; e++) {
        struct expert x = expert_of(d, s, e);
        lists[0][e] = x.b;
        lists[1][e] = x.a;
        lists[2][e] = x.c;
    }
    return gpu_write(d->gpu, d->at[LISTS], lists, sizeof lists, err);
}

/* Seconds of one product of all experts; 0: it is not there, or failed; below 0: its result is
 * another. Reading memory waits for what was begun before. */
static double theirs(const struct comparator *c, const struct library *l, const struct desk *d,
                     const struct shape *s)
{
    struct err err = {.status = STATUS_OK};
    void *function = l->handle ? gpu_library_find(l->opened, c->function) : NULL;
    double samples[REPEATS];
    char byte;
    if (!function || write_lists(d, s, &err) != STATUS_OK || c->call(function, l, d, s) != 0)
        return 0;
    if (gpu_read(d->gpu, d->at[OUT], d->other, result_bytes(s), &err) != STATUS_OK)
        return 0;
    if (!c->other && !agree(d, s))
        return -1;
    for (int i = 0; i < d->scale->repeats; i++) {
        if (gpu_read(d->gpu, d->at[OUT], &byte, 1, &err) != STATUS_OK)
            return 0;
        double begin_s = bench_now_s();
        for (int j = 0; j < d->scale->many; j++)
            if (c->call(function, l, d, s) != 0)
                return 0;
        if (gpu_read(d->gpu, d->at[OUT], &byte, 1, &err) != STATUS_OK)
            return 0;
        samples[i] = (bench_now_s() - begin_s) / d->scale->many;
    }
    return bench_median(samples, (size_t)d->scale->repeats);
}

/* ---- the table ---- */

/* Each operand read once, the result written once. */
static double moved_bytes(const struct shape *s)
{
    double m = s->m, n = s->n, k = s->k;
    return EXPERTS * (2 * (m * k + k * n) + (s->kind == WGRAD ? 4 : 2) * m * n);
}

static enum status print_shape(const struct desk *d, const struct library *libraries,
                               enum kind kind, uint64_t rows, struct err *err)
{
    struct shape s = shape_of(d->scale, kind, rows);
    struct taken own;
    double flop = 2.0 * EXPERTS * s.m * s.n * s.k;
    TRY(ours(d, &s, rows, &own, err));
    printf("%-8s %3d x %5d %5d %5d %9.4g %9.4g %9.3g", kinds[kind], EXPERTS, s.m, s.n, s.k,
           flop / own.s / 1e12, moved_bytes(&s) / own.s / 1e12, own.host_s * 1e6);
    for (unsigned i = 0; i < COMPARATORS; i++) {
        double other_s = theirs(&comparators[i], &libraries[i], d, &s);
        if (other_s < 0)
            return err_set(err, STATUS_MISMATCH, "%s gives other results than ours",
                           comparators[i].name);
        if (other_s > 0)
            printf(" %9.3f", other_s / own.s);
        else
            printf(" %9s", "-");
        TRY(gpu_fill(d->gpu, d->at[OUT], 0xff, result_bytes(&s), err)); /* of nobody */
    }
    puts("");
    return STATUS_OK;
}

static enum status print_table(struct desk *d, struct err *err)
{
    struct library libraries[COMPARATORS] = {{NULL, NULL}};
    TRY(set_desk(d, err));
    printf("%-8s %3s   %5s %5s %5s %9s %9s %9s", "product", "of", "m", "n", "k", "TFLOP/s",
           "TB/s", "host us");
    for (unsigned i = 0; i < COMPARATORS; i++) {
        size_t n = strlen(comparators[i].device);
        printf(" %9s", comparators[i].name);
        if (strncmp(gpu_where(d->gpu), comparators[i].device, n) == 0)
            open_library(&comparators[i], &libraries[i]);
    }
    puts("   (ratios: above 1 is faster than it)");
    for (unsigned k = 0; k < KINDS; k++)
        for (unsigned r = 0; r < ROW_COUNTS; r++)
            if (d->scale->rows[r])
                TRY(print_shape(d, libraries, (enum kind)k, d->scale->rows[r], err));
    return STATUS_OK;
}

int main(int n, char **arguments)
{
    struct desk desk = {.scale = n > 2 && strcmp(arguments[2], "small") == 0 ? &little : &full};
    struct err err = {.status = STATUS_OK};
    char kernels[400];
    const char *where = n > 1 ? arguments[1] : "cuda:0";
    if (gpu_open(where, 0, 0, &desk.gpu, &err) != STATUS_OK) {
        printf("%s: skipped\n", err.text);
        return 77;
    }
    enum status status = print_table(&desk, &err);
    gpu_kernels_text(desk.gpu, kernels, sizeof kernels);
    printf("%s, %s; %s\n", gpu_where(desk.gpu), gpu_facts(desk.gpu)->name, kernels);
    if (status != STATUS_OK)
        fprintf(stderr, "%s\n", err.text);
    for (unsigned i = 0; i < PLACES; i++)
        if (desk.at[i])
            gpu_free(desk.gpu, desk.at[i]);
    gpu_close(desk.gpu);
    free(desk.own);
    free(desk.other);
    return status == STATUS_OK ? 0 : 1;
}
