/* Kernels that make or convert data: fill, zero, add, quantize, dequantize. */
#include "exec/kernels/kernel.h"

#include <string.h>

#include "exec/kernels/format.h"
#include "work/list/dtype.h"

enum { PIECE = 256 }; /* elements converted at a time */

/* ---- fill ---- */

static uint64_t logical_expert(const struct layer_sample *sample, uint64_t physical)
{
    for (uint64_t x = 0; x < sample->logical; x++)
        for (int32_t i = sample->start[x]; i < sample->start[x + 1]; i++)
            if ((uint64_t)sample->replica[i] == physical)
                return x;
    return 0;
}

/* What stands in (matrix, row) of a buffer: the coordinates that inputs know. */
struct place {
    const struct inputs *inputs;
    enum fill fill;
    uint64_t a;
};

static struct place place_of(const struct call *call, uint64_t matrix)
{
    enum fill fill = (enum fill)call->args.fill.fill;
    uint64_t a = 0;
    if (fill == FILL_W13 || fill == FILL_W2 || fill == FILL_B13 || fill == FILL_B2)
        a = logical_expert(call->task->sample, call->rank * call->task->sample->local + matrix);
    return (struct place){call->task->inputs, fill, a};
}

/* Row `row` of the buffer seen as rows of `width`; inputs know it as row b of its matrix. */
static void fill_row(const struct tensor *out, struct place place, uint64_t row, uint64_t width,
                     uint64_t b)
{
    float piece[PIECE];
    for (uint64_t c = 0; c < width; c += PIECE) {
        uint64_t n = width - c < PIECE ? width - c : PIECE;
        place.inputs->row(place.inputs, place.fill, place.a, b, c, n, piece);
        format_store(out->dtype, out->data, row * width + c, n, piece);
    }
}

static void fill_column(const void *context, uint64_t c, uint64_t r0, uint64_t n, float *out)
{
    const struct place *place = context;
    place->inputs->column(place->inputs, place->fill, place->a, c, r0, n, out);
}

static bool is_matrix(const struct call *call)
{
    return inputs_is_matrix((enum fill)call->args.fill.fill);
}

static bool is_index(enum fill fill)
{
    return fill == FILL_WANTED || fill == FILL_START || fill == FILL_REPLICA;
}

static void fill_index(const struct call *call)
{
    const struct layer_sample *s = call->task->sample;
    const int32_t *from[FILL_COUNT] = {[FILL_WANTED] = s->ids + call->rank * s->T * s->K,
                                       [FILL_START] = s->start,
                                       [FILL_REPLICA] = s->replica};
    memcpy(call->of[ROLE_DST].data, from[call->args.fill.fill], call->of[ROLE_DST].bytes);
}

/* Rows of all matrices; whole matrices when they are quantised; one unit for an index. */
static uint64_t fill_units(const struct call *call)
{
    const struct tensor *out = &call->of[ROLE_DST];
    if (is_index((enum fill)call->args.fill.fill))
        return 1;
    if (is_matrix(call))
        return dtype_is_plain(out->dtype) ? out->dims[0] * kernel_row_units(out->dims[1])
                                          : out->dims[0];
    return kernel_row_units(out->rows);
}

static void fill_matrix_rows(const struct call *call, uint64_t unit)
{
    const struct tensor *out = &call->of[ROLE_DST];
    uint64_t units = kernel_row_units(out->dims[1]), matrix = unit / units, begin, end;
    kernel_rows_of(unit % units, out->dims[1], &begin, &end);
    struct place place = place_of(call, matrix);
    for (uint64_t b = begin; b < end; b++)
        fill_row(out, place, matrix * out->dims[1] + b, out->dims[2], b);
}

/* Vectors of a plan are filled as one row of their length. */
static void fill_vector(const struct call *call, uint64_t begin, uint64_t end)
{
    struct place place = place_of(call, 0);
    float piece[CHUNK_ROWS];
    place.inputs->row(place.inputs, place.fill, place.a, 0, begin, end - begin, piece);
    format_store(call->of[ROLE_DST].dtype, call->of[ROLE_DST].data, begin, end - begin, piece);
}

static enum status fill_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)err;
    const struct tensor *out = &call->of[ROLE_DST];
    enum fill fill = (enum fill)call->args.fill.fill;
    uint64_t begin, end;
    if (is_index(fill)) {
        fill_index(call);
        return STATUS_OK;
    }
    if (is_matrix(call) && dtype_is_plain(out->dtype)) {
        fill_matrix_rows(call, unit);
        return STATUS_OK;
    }
    if (is_matrix(call)) {
        struct place place = place_of(call, unit);
        struct matrix_source source = {&place, fill_column};
        format_encode_matrix(out->dtype, out->dims[1], out->dims[2], &source, scratch,
                             tensor_row(out, unit));
        return STATUS_OK;
    }
    kernel_rows_of(unit, out->rows, &begin, &end);
    if (fill == FILL_BIAS) {
        fill_vector(call, begin, end);
        return STATUS_OK;
    }
    uint64_t first = 0; /* tokens are numbered through the group */
    if (fill == FILL_X || fill == FILL_DOUT)
        first = call->rank * call->task->sample->T;
    bool by_expert = fill == FILL_B13 || fill == FILL_B2;
    for (uint64_t row = begin; row < end; row++)
        fill_row(out, place_of(call, row), row, out->width, by_expert ? 0 : first + row);
    return STATUS_OK;
}

/* ---- zero, add ---- */

static uint64_t out_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_DST].rows);
}

static uint64_t zero_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_DST].rows - call->args.zero.first.n);
}

static enum status zero_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end, first = call->args.zero.first.n;
    kernel_rows_of(unit, call->of[ROLE_DST].rows - first, &begin, &end);
    memset(tensor_row(&call->of[ROLE_DST], first + begin), 0,
           (end - begin) * tensor_row_bytes(&call->of[ROLE_DST]));
    return STATUS_OK;
}

void kernel_add_row(const struct tensor *a, uint64_t row_a, const struct tensor *b,
                    uint64_t row_b, const struct tensor *sum)
{
    float x[PIECE], y[PIECE];
    for (uint64_t c = 0; c < sum->width; c += PIECE) {
        uint64_t n = sum->width - c < PIECE ? sum->width - c : PIECE;
        tensor_load(a, row_a, c, n, x);
        tensor_load(b, row_b, c, n, y);
        for (uint64_t i = 0; i < n; i++)
            x[i] += y[i];
        tensor_store(sum, row_b, c, n, x);
    }
}

static enum status add_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        kernel_add_row(&call->of[ROLE_SRC], row, &call->of[ROLE_OTHER], row,
                       &call->of[ROLE_DST]);
    return STATUS_OK;
}

/* ---- rows packed for the wire ---- */

struct row_source {
    const struct tensor *from;
    uint64_t row;
};

static void row_column(const void *context, uint64_t c, uint64_t r0, uint64_t n, float *out)
{
    const struct row_source *source = context;
    (void)c; /* a row is a matrix of one column */
    tensor_load(source->from, source->row, r0, n, out);
}

/* Between plain formats. */
static void round_row(const struct tensor *in, const struct tensor *out, uint64_t row)
{
    float piece[PIECE];
    for (uint64_t c = 0; c < in->width; c += PIECE) {
        uint64_t n = in->width - c < PIECE ? in->width - c : PIECE;
        tensor_load(in, row, c, n, piece);
        tensor_store(out, row, c, n, piece);
    }
}

static void pack_row(const struct tensor *in, const struct tensor *out, uint64_t row,
                     void *scratch)
{
    if (dtype_is_plain(out->dtype)) {
        round_row(in, out, row);
        return;
    }
    struct row_source from = {in, row};
    struct matrix_source source = {&from, row_column};
    memset(tensor_row(out, row), 0, tensor_row_bytes(out));
    format_encode_matrix(out->dtype, in->width, 1, &source, scratch, tensor_row(out, row));
}

static void unpack_row(const struct tensor *in, const struct tensor *out, uint64_t row,
                       void *scratch)
{
    if (dtype_is_plain(in->dtype)) {
        round_row(in, out, row);
        return;
    }
    format_decode_columns(in->dtype, tensor_row(in, row), out->width, 1, 0, out->width, 0, 1,
                          scratch);
    tensor_store(out, row, 0, out->width, scratch);
}

static enum status convert_rows(struct call *call, uint64_t unit, void *scratch,
                                void (*convert)(const struct tensor *in,
                                                const struct tensor *out, uint64_t row,
                                                void *scratch))
{
    uint64_t begin, end;
    kernel_rows_of(unit, call->of[ROLE_SRC].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        convert(&call->of[ROLE_SRC], &call->of[ROLE_DST], row, scratch);
    return STATUS_OK;
}

static enum status quantize_run(struct call *call, uint64_t unit, void *scratch,
                                struct err *err)
{
    (void)err;
    return convert_rows(call, unit, scratch, pack_row);
}

static enum status dequantize_run(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)err;
    return convert_rows(call, unit, scratch, unpack_row);
}

void kernels_add_data(struct kernels *kernels)
{
    kernels->table[KERNEL_FILL] = (struct kernel_ops){fill_units, fill_run, NULL};
    kernels->table[KERNEL_ZERO] = (struct kernel_ops){zero_units, zero_run, NULL};
    kernels->table[KERNEL_ADD] = (struct kernel_ops){out_units, add_run, NULL};
    kernels->table[KERNEL_QUANTIZE] = (struct kernel_ops){out_units, quantize_run, NULL};
    kernels->table[KERNEL_DEQUANTIZE] = (struct kernel_ops){out_units, dequantize_run, NULL};
}
