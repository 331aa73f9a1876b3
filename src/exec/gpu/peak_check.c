/* See peak_check.h. Integers of at most 4, so that every sum is exact whatever its order. */
#include "exec/gpu/peak_check.h"

#include <stdlib.h>
#include <string.h>

#include "exec/gpu/kernels.h"
#include "exec/gpu/view.h"

/* Rows of the groups: none, one, one less and one more than a tile.
 * Depth and columns end inside of every engine's steps and tiles; a tile is several steps deep.
 * The second time few units take all tiles, one after the other, so that what an engine fetches
 * ahead goes round its stages and from one tile into the next. */
static const uint64_t group_rows[] = {0, 1, 127, 0, 129};

enum {
    GROUPS = sizeof group_rows / sizeof *group_rows,
    ROWS = 257,
    DEPTH = 136,
    COLUMNS = 272,
    FEW_UNITS = 2,
    GUARD = 4096,
    ELEMENTS = GROUPS * DEPTH * COLUMNS,
    OUT_BYTES = ELEMENTS * 4 + GUARD,
    KEPT = ROWS * COLUMNS + GUARD, /* behind what is gated: rows that are kept */
    SPACE = 1 << 16
};

struct question {
    enum kernel kernel;
    bool turned, bias, sum;
    enum gpu_format format; /* of the result */
    bool kept;              /* gated: the product's rows, too */
};

static const struct question questions[] = {
    {KERNEL_GEMM, false, false, false, FORMAT_BF16, false},
    {KERNEL_GEMM, false, false, false, FORMAT_F32, false},
    {KERNEL_GEMM, true, false, false, FORMAT_BF16, false},
    {KERNEL_GEMM, true, true, false, FORMAT_BF16, false},
    {KERNEL_WGRAD, false, false, false, FORMAT_F32, false},
    {KERNEL_WGRAD, false, false, true, FORMAT_BF16, false},
    {KERNEL_GATED_GEMM, false, false, false, FORMAT_BF16, false},
    {KERNEL_GATED_GEMM, false, true, false, FORMAT_BF16, true},
};

enum place { SRC, OTHER, OFFSETS, BIAS, OUT, AGAIN, PORTABLE, WORKSPACE, PLACES };

static const uint64_t place_bytes[PLACES] = {[SRC] = (uint64_t)ROWS * DEPTH * 2,
                                             [OTHER] = (uint64_t)ELEMENTS * 2,
                                             [OFFSETS] = (GROUPS + 1) * 8,
                                             [BIAS] = (uint64_t)GROUPS * COLUMNS * 4,
                                             [OUT] = OUT_BYTES,
                                             [AGAIN] = OUT_BYTES,
                                             [PORTABLE] = OUT_BYTES,
                                             [WORKSPACE] = SPACE};

struct exam {
    struct peak *peak;
    struct gpu *gpu;
    double limit_s;
    void *at[PLACES]; /* on the device */
    char *host[2];    /* [OUT_BYTES] */
};

/* ---- what is asked ---- */

static int whole(uint64_t i)
{
    return (int)((i * 2654435761U >> 13) % 9) - 4;
}

/* As bf16: the upper half of an f32. */
static uint16_t half_of(int value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static enum status write_halves(struct exam *x, enum place place, struct err *err)
{
    uint16_t *values = malloc(place_bytes[place]);
    if (!values)
        return err_set(err, STATUS_SYSTEM, "out of memory for known answers");
    for (uint64_t i = 0; i < place_bytes[place] / 2; i++)
        values[i] = half_of(whole(i + 7919 * place));
    enum status status = gpu_write(x->gpu, x->at[place], values, place_bytes[place], err);
    free(values);
    return status;
}

static enum status write_all(struct exam *x, struct err *err)
{
    int64_t offsets[GROUPS + 1] = {0};
    float bias[GROUPS * COLUMNS];
    for (unsigned g = 0; g < GROUPS; g++)
        offsets[g + 1] = offsets[g] + (int64_t)group_rows[g];
    for (unsigned i = 0; i < GROUPS * COLUMNS; i++)
        bias[i] = (float)whole(i);
    TRY(write_halves(x, SRC, err));
    TRY(write_halves(x, OTHER, err));
    TRY(gpu_write(x->gpu, x->at[OFFSETS], offsets, sizeof offsets, err));
    return gpu_write(x->gpu, x->at[BIAS], bias, sizeof bias, err);
}

/* ---- the calls ---- */

static struct gpu_call call_of(const struct question *q)
{
    bool wgrad = q->kernel == KERNEL_WGRAD, gates = q->kernel == KERNEL_GATED_GEMM;
    struct gpu_call call = {.space_bytes = SPACE, .curve = GPU_RELU};
    call.args.gemm.transposed = q->turned;
    call.args.gemm.sum = q->sum;
    call.view[0] = gpu_view_rows(ROWS, DEPTH, FORMAT_BF16);
    call.view[1] = wgrad       ? gpu_view_rows(ROWS, COLUMNS, FORMAT_BF16)
                   : q->turned ? gpu_view_matrices(GROUPS, COLUMNS, DEPTH, FORMAT_BF16)
                               : gpu_view_matrices(GROUPS, DEPTH, COLUMNS, FORMAT_BF16);
    call.view[2] = gpu_view_rows(GROUPS + 1, 1, FORMAT_I64);
    if (q->bias)
        call.view[5] = gpu_view_rows(GROUPS, COLUMNS, FORMAT_F32);
    call.view[wgrad ? 5 : 6] =
        wgrad ? gpu_view_matrices(GROUPS, DEPTH, COLUMNS, q->format)
              : gpu_view_rows(ROWS, gates ? COLUMNS / 2 : COLUMNS, q->format);
    if (q->kept)
        call.view[7] = gpu_view_rows(ROWS, COLUMNS, q->format);
    call.view[7].offset = KEPT;
    return call;
}

/* Of the portable kernels. */
static uint64_t portable_groups(const struct question *q)
{
    return q->kernel == KERNEL_WGRAD ? gpu_wgrad_groups(DEPTH, GROUPS, COLUMNS)
                                     : gpu_gemm_groups(ROWS, GROUPS, COLUMNS);
}

static enum status answer(struct exam *x, const struct question *q, enum place out,
                          struct err *err)
{
    struct gpu_call call = call_of(q);
    uint64_t memory[GPU_TENSORS + 1] = {0}, offset;
    double seconds;
    bool wgrad = q->kernel == KERNEL_WGRAD;
    memory[0] = gpu_memory_of(x->gpu, x->at[SRC], &offset);
    memory[1] = gpu_memory_of(x->gpu, x->at[OTHER], &offset);
    memory[2] = gpu_memory_of(x->gpu, x->at[OFFSETS], &offset);
    if (q->bias)
        memory[5] = gpu_memory_of(x->gpu, x->at[BIAS], &offset);
    memory[wgrad ? 5 : 6] = gpu_memory_of(x->gpu, x->at[out], &offset);
    if (q->kept)
        memory[7] = gpu_memory_of(x->gpu, x->at[out], &offset);
    memory[GPU_TENSORS] = gpu_memory_of(x->gpu, x->at[WORKSPACE], &offset);
    /* what is there already is added to, or not a number */
    TRY(gpu_fill(x->gpu, x->at[out], q->sum ? 0x40 : 0xff, OUT_BYTES, err));
    TRY(gpu_fill(x->gpu, x->at[WORKSPACE], 0, GPU_SPACE_HEAD, err));
    if (out == PORTABLE)
        return gpu_perform(x->gpu, q->kernel, &call, memory, portable_groups(q), &seconds, err);
    return peak_try(x->peak, q->kernel, &call, memory, out == AGAIN ? FEW_UNITS : 0, x->limit_s,
                    &seconds, err);
}

static enum status ask_one(struct exam *x, const struct question *q, bool *agrees,
                           struct err *err)
{
    TRY(answer(x, q, PORTABLE, err));
    TRY(gpu_read(x->gpu, x->at[PORTABLE], x->host[0], OUT_BYTES, err));
    for (enum place out = OUT; *agrees && out <= AGAIN; out++) {
        TRY(answer(x, q, out, err));
        TRY(gpu_read(x->gpu, x->at[out], x->host[1], OUT_BYTES, err));
        *agrees = memcmp(x->host[0], x->host[1], OUT_BYTES) == 0;
    }
    return STATUS_OK;
}

static enum status ask_all(struct exam *x, bool *agrees, struct err *err)
{
    for (unsigned i = 0; i < PLACES; i++) {
        x->at[i] = gpu_alloc(x->gpu, place_bytes[i]);
        if (!x->at[i])
            return err_set(err, STATUS_NOFIT, "out of memory on the device for known answers");
    }
    for (unsigned i = 0; i < 2; i++) {
        x->host[i] = malloc(OUT_BYTES);
        if (!x->host[i])
            return err_set(err, STATUS_SYSTEM, "out of memory for known answers");
    }
    TRY(write_all(x, err));
    *agrees = true;
    for (unsigned i = 0; *agrees && i < sizeof questions / sizeof *questions; i++)
        TRY(ask_one(x, &questions[i], agrees, err));
    return STATUS_OK;
}

enum status peak_check(struct peak *peak, struct gpu *gpu, double limit_s, bool *agrees,
                       struct err *err)
{
    struct exam x = {.peak = peak, .gpu = gpu, .limit_s = limit_s};
    enum status status = ask_all(&x, agrees, err);
    for (unsigned i = 0; i < PLACES; i++)
        if (x.at[i])
            gpu_free(gpu, x.at[i]);
    free(x.host[0]);
    free(x.host[1]);
    *agrees = *agrees && status == STATUS_OK;
    return status;
}
