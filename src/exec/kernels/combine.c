/* Sums of rows: combine, its gradients, accumulation expert by expert.
 *
 * A token's K rows are added in the order of a binary tree over physical experts that halves
 * the range of experts until one row is left. The experts of a rank are a whole subtree when R
 * is a power of two, so sums made on the owners and added at the source are the same bits as
 * sums made at the source, for every number of ranks. */
#include <string.h>

#include "exec/kernels/kernel.h"

enum { PIECE = 256, MOST_SLOTS = 512 };

/* A row to be added: tree key, gate, row of y. */
struct part {
    uint64_t key;
    uint64_t row;
    float gate;
};

/* What the parts of one output row are taken from. */
struct parts {
    const struct tensor *y;
    struct part part[MOST_SLOTS];
    uint64_t n;
    bool gated;
};

static void insert(struct parts *parts, struct part part)
{
    uint64_t at = parts->n++;
    for (; at > 0 && parts->part[at - 1].key > part.key; at--)
        parts->part[at] = parts->part[at - 1];
    parts->part[at] = part;
}

/* Slots of output row i; without positions slot s is row s * rows + i, or i * slots + s. */
static void collect(const struct call *call, uint64_t i, struct parts *parts)
{
    const struct tensor *position = &call->of[ROLE_POSITION], *gates = &call->of[ROLE_GATES],
                        *keys = &call->of[ROLE_KEYS];
    uint64_t slots = call->args.combine.slots.n, rows = call->of[ROLE_DST].rows;
    bool slot_major = call->args.combine.slot_major;
    parts->y = &call->of[ROLE_SRC];
    parts->n = 0;
    parts->gated = gates->present;
    for (uint64_t s = 0; s < slots; s++) {
        int64_t row = (int64_t)(slot_major ? i * slots + s : s * rows + i);
        if (position->present)
            row = tensor_i32(position)[i * slots + s];
        if (row < 0)
            continue;
        uint64_t key = keys->present ? (uint64_t)tensor_i32(keys)[i * slots + s] : s;
        float gate = gates->present ? tensor_f32(gates)[i * slots + s] : 1;
        insert(parts, (struct part){key, (uint64_t)row, gate});
    }
}

static void load_part(const struct parts *parts, uint64_t at, uint64_t column, uint64_t n,
                      float *out)
{
    const struct part *part = &parts->part[at];
    tensor_load(parts->y, part->row, column, n, out);
    for (uint64_t i = 0; parts->gated && i < n; i++)
        out[i] *= part->gate;
}

/* The sum of parts [begin, end), whose keys lie in [low, high). */
static void sum_tree(const struct parts *parts, uint64_t begin, uint64_t end, uint64_t low,
                     uint64_t high, uint64_t column, uint64_t n, float *out)
{
    if (end - begin == 1) {
        load_part(parts, begin, column, n, out);
        return;
    }
    uint64_t middle = low + (high - low) / 2, split = begin;
    while (split < end && parts->part[split].key < middle)
        split++;
    if (split == begin || split == end) {
        sum_tree(parts, begin, end, split == end ? low : middle, split == end ? middle : high,
                 column, n, out);
        return;
    }
    float right[PIECE];
    sum_tree(parts, begin, split, low, middle, column, n, out);
    sum_tree(parts, split, end, middle, high, column, n, right);
    for (uint64_t i = 0; i < n; i++)
        out[i] += right[i];
}

static uint64_t out_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_DST].rows);
}

static void combine_row(const struct call *call, uint64_t row)
{
    struct parts parts;
    collect(call, row, &parts);
    const struct layer_sample *s = call->task->sample;
    uint64_t high = call->of[ROLE_KEYS].present ? s->R * s->local : call->args.combine.slots.n;
    for (uint64_t c = 0; c < call->of[ROLE_DST].width; c += PIECE) {
        uint64_t n =
            call->of[ROLE_DST].width - c < PIECE ? call->of[ROLE_DST].width - c : PIECE;
        float sum[PIECE] = {0};
        if (parts.n > 0)
            sum_tree(&parts, 0, parts.n, 0, high, c, n, sum);
        tensor_store(&call->of[ROLE_DST], row, c, n, sum);
    }
}

static enum status check_handle(const struct call *call, const struct tensor *handle,
                                struct err *err)
{
    if (!handle->present || (uint64_t)tensor_i64(handle)[0] == call->task->step)
        return STATUS_OK;
    err_set(err, STATUS_MISMATCH,
            "stale handle in \"%s\": it is of dispatch %lld, the last one is %llu",
            call->op->name, (long long)tensor_i64(handle)[0],
            (unsigned long long)call->task->step);
    return err_hint(err, "a handle serves the combine and the backward of its own dispatch");
}

static enum status combine_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    TRY(check_handle(call, &call->of[ROLE_HANDLE], err));
    if (call->args.combine.slots.n > MOST_SLOTS)
        return err_set(err, STATUS_INPUT, "\"%s\" adds %llu rows, the limit is %d",
                       call->op->name, (unsigned long long)call->args.combine.slots.n,
                       MOST_SLOTS);
    uint64_t begin = call->iteration, end = begin + 1;
    if (!call->args.combine.by_iteration)
        kernel_rows_of(unit, call->of[ROLE_DST].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        combine_row(call, row);
    return STATUS_OK;
}

/* In a loop the row of this iteration alone. */
static uint64_t combine_units(const struct call *call)
{
    return call->args.combine.by_iteration ? 1 : out_units(call);
}

/* ---- gradients ---- */

/* The slot i * S + s that row `row` of y is; -1: none. */
static int64_t slot_of_row(const struct call *call, const struct tensor *inverse, uint64_t row,
                           uint64_t rows)
{
    if (inverse->present)
        return tensor_i32(inverse)[row];
    if (call->args.combine.slot_major)
        return (int64_t)row;
    return (int64_t)(row % rows * call->args.combine.slots.n + row / rows);
}

static enum status spread_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    TRY(check_handle(call, &call->of[ROLE_HANDLE], err));
    const struct tensor *dout = &call->of[ROLE_SRC], *gates = &call->of[ROLE_GATES],
                        *dy = &call->of[ROLE_DST];
    uint64_t begin, end;
    kernel_rows_of(unit, dy->rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++) {
        int64_t slot = slot_of_row(call, &call->of[ROLE_INVERSE], row, dout->rows);
        if (slot < 0)
            memset(tensor_row(dy, row), 0, tensor_row_bytes(dy));
        else
            tensor_scale_row(dout, (uint64_t)slot / call->args.combine.slots.n,
                             gates->present ? tensor_f32(gates)[slot] : 1, dy, row);
    }
    return STATUS_OK;
}

static float dot_rows(const struct tensor *a, uint64_t a_row, const struct tensor *b,
                      uint64_t b_row)
{
    float x[PIECE], y[PIECE];
    double sum = 0;
    for (uint64_t c = 0; c < b->width; c += PIECE) {
        uint64_t n = b->width - c < PIECE ? b->width - c : PIECE;
        tensor_load(a, a_row, c, n, x);
        tensor_load(b, b_row, c, n, y);
        for (uint64_t i = 0; i < n; i++)
            sum += (double)x[i] * (double)y[i];
    }
    return (float)sum;
}

static enum status gate_grad_run(struct call *call, uint64_t unit, void *scratch,
                                 struct err *err)
{
    (void)scratch;
    (void)err;
    const struct tensor *position = &call->of[ROLE_POSITION], *dout = &call->of[ROLE_D_DST];
    uint64_t begin, end, slots = call->args.combine.slots.n;
    kernel_rows_of(unit, dout->rows, &begin, &end);
    for (uint64_t i = begin * slots; i < end * slots; i++) {
        int64_t row = position->present ? tensor_i32(position)[i] : (int64_t)i;
        tensor_f32(&call->of[ROLE_D_GATES])[i] =
            row < 0 ? 0 : dot_rows(&call->of[ROLE_SRC], (uint64_t)row, dout, i / slots);
    }
    return STATUS_OK;
}

static uint64_t gate_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_D_DST].rows);
}

static void add_to_sum(const struct call *call, uint64_t from, uint64_t token, float gate)
{
    float y[PIECE], *sum = tensor_f32(&call->of[ROLE_DST]) + token * call->of[ROLE_DST].width;
    for (uint64_t c = 0; c < call->of[ROLE_DST].width; c += PIECE) {
        uint64_t n =
            call->of[ROLE_DST].width - c < PIECE ? call->of[ROLE_DST].width - c : PIECE;
        tensor_load(&call->of[ROLE_SRC], from, c, n, y);
        for (uint64_t i = 0; i < n; i++)
            sum[c + i] += gate * y[i];
    }
}

/* Row i of y is token i: it counts where the token chose this iteration's expert. */
static void accumulate_token(const struct call *call, uint64_t token)
{
    uint64_t K = call->of[ROLE_PHYS].width;
    const struct layer_sample *s = call->task->sample;
    const struct tensor *gates = &call->of[ROLE_GATES];
    int32_t expert = (int32_t)(call->rank * s->local + call->iteration);
    for (uint64_t k = 0; k < K; k++)
        if (tensor_i32(&call->of[ROLE_PHYS])[token * K + k] == expert)
            add_to_sum(call, token, token,
                       gates->present ? tensor_f32(gates)[token * K + k] : 1);
}

/* Row i of y is the slot that the index names; an expert has no token twice. */
static void accumulate_slot(const struct call *call, uint64_t row, struct span_rows part)
{
    if (part.begin + row >= part.end)
        return;
    int32_t slot = tensor_i32(&call->of[ROLE_INDEX])[part.begin + row];
    const struct tensor *gates = &call->of[ROLE_GATES];
    if (slot >= 0)
        add_to_sum(call, row, (uint64_t)slot / call->of[ROLE_PHYS].width,
                   gates->present ? tensor_f32(gates)[slot] : 1);
}

static enum status accumulate_run(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    struct span_rows part = {0, 0};
    if (call->of[ROLE_INDEX].present)
        part = kernel_index_part(call, &call->args.part, &call->of[ROLE_INDEX],
                                 &call->of[ROLE_OFFSETS]);
    kernel_rows_of(unit, call->of[ROLE_SRC].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++) {
        if (call->of[ROLE_INDEX].present)
            accumulate_slot(call, row, part);
        else
            accumulate_token(call, row);
    }
    return STATUS_OK;
}

/* The slot that row i of y has in this iteration, or -1. */
static int64_t slot_in_loop(const struct call *call, uint64_t row)
{
    const struct tensor *phys = &call->of[ROLE_PHYS], *index = &call->of[ROLE_INDEX];
    if (index->present) {
        struct span_rows part =
            kernel_index_part(call, &call->args.part, index, &call->of[ROLE_OFFSETS]);
        return part.begin + row < part.end ? tensor_i32(index)[part.begin + row] : -1;
    }
    const struct layer_sample *s = call->task->sample;
    int32_t expert = (int32_t)(call->rank * s->local + call->iteration);
    for (uint64_t k = 0; k < phys->width; k++)
        if (tensor_i32(phys)[row * phys->width + k] == expert)
            return (int64_t)(row * phys->width + k);
    return -1;
}

/* dy, or y where only the gates' gradient is asked for. */
static const struct tensor *gradient_rows(const struct call *call)
{
    return call->of[ROLE_DST].present ? &call->of[ROLE_DST] : &call->of[ROLE_SRC];
}

static void accumulate_grad_row(const struct call *call, uint64_t row)
{
    const struct tensor *dsum = &call->of[ROLE_D_DST], *gates = &call->of[ROLE_GATES],
                        *dy = &call->of[ROLE_DST];
    int64_t slot = slot_in_loop(call, row);
    if (slot < 0) {
        if (dy->present)
            memset(tensor_row(dy, row), 0, tensor_row_bytes(dy));
        return;
    }
    uint64_t token = (uint64_t)slot / call->of[ROLE_PHYS].width;
    if (dy->present)
        tensor_scale_row(dsum, token, gates->present ? tensor_f32(gates)[slot] : 1, dy, row);
    if (call->of[ROLE_D_GATES].present)
        tensor_f32(&call->of[ROLE_D_GATES])[slot] =
            dot_rows(&call->of[ROLE_SRC], row, dsum, token);
}

static enum status accumulate_grad_run(struct call *call, uint64_t unit, void *scratch,
                                       struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    kernel_rows_of(unit, gradient_rows(call)->rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        accumulate_grad_row(call, row);
    return STATUS_OK;
}

static uint64_t gradient_units(const struct call *call)
{
    return kernel_row_units(gradient_rows(call)->rows);
}

static uint64_t in_units(const struct call *call)
{
    return kernel_row_units(call->of[ROLE_SRC].rows);
}

void kernels_add_combine(struct kernels *kernels)
{
    kernels->table[KERNEL_COMBINE] = (struct kernel_ops){combine_units, combine_run, NULL};
    kernels->table[KERNEL_SPREAD] = (struct kernel_ops){out_units, spread_run, NULL};
    kernels->table[KERNEL_GATE_GRAD] = (struct kernel_ops){gate_units, gate_grad_run, NULL};
    kernels->table[KERNEL_ACCUMULATE_GRAD] =
        (struct kernel_ops){gradient_units, accumulate_grad_run, NULL};
    kernels->table[KERNEL_ACCUMULATE] = (struct kernel_ops){in_units, accumulate_run, NULL};
}
