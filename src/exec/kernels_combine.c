/* Sums of rows: combine, its gradients, accumulation expert by expert.
 *
 * A token's K rows are added in the order of a binary tree over physical experts that halves
 * the range of experts until one row is left. The experts of a rank are a whole subtree when R
 * is a power of two, so sums made on the owners and added at the source are the same bits as
 * sums made at the source, for every number of ranks. */
#include "exec/kernel.h"

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

/* Slots of output row i; without positions slot s is row s * rows + i. */
static void collect(const struct call *call, uint64_t i, struct parts *parts)
{
    const struct tensor *position = &call->in[1], *gates = &call->in[2], *keys = &call->in[3];
    uint64_t slots = call->groups, rows = call->out[0].rows;
    parts->y = &call->in[0];
    parts->n = 0;
    parts->gated = gates->present;
    for (uint64_t s = 0; s < slots; s++) {
        int64_t row =
            position->present ? tensor_i32(position)[i * slots + s] : (int64_t)(s * rows + i);
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
    return kernel_row_units(call->out[0].rows);
}

static void combine_row(const struct call *call, uint64_t row)
{
    struct parts parts;
    collect(call, row, &parts);
    const struct layer_sample *s = call->task->sample;
    uint64_t high = call->in[3].present ? s->R * s->local : call->groups;
    for (uint64_t c = 0; c < call->out[0].width; c += PIECE) {
        uint64_t n = call->out[0].width - c < PIECE ? call->out[0].width - c : PIECE;
        float sum[PIECE] = {0};
        if (parts.n > 0)
            sum_tree(&parts, 0, parts.n, 0, high, c, n, sum);
        tensor_store(&call->out[0], row, c, n, sum);
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
    TRY(check_handle(call, &call->in[5], err));
    if (call->groups > MOST_SLOTS)
        return err_set(err, STATUS_INPUT, "\"%s\" adds %llu rows, the limit is %d",
                       call->op->name, (unsigned long long)call->groups, MOST_SLOTS);
    uint64_t begin, end;
    kernel_rows_of(unit, call->out[0].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        combine_row(call, row);
    return STATUS_OK;
}

/* accumulate: (y, gates[n,K], phys[n,K], sum) -> (sum): rows of the expert of this iteration */
static void accumulate_row(const struct call *call, uint64_t row)
{
    uint64_t K = call->in[1].width;
    const struct layer_sample *s = call->task->sample;
    int32_t expert = (int32_t)(call->rank * s->local + call->iteration);
    for (uint64_t k = 0; k < K; k++) {
        if (tensor_i32(&call->in[2])[row * K + k] != expert)
            continue;
        float gate = tensor_f32(&call->in[1])[row * K + k], y[PIECE];
        float *sum = tensor_f32(&call->out[0]) + row * call->out[0].width;
        for (uint64_t c = 0; c < call->out[0].width; c += PIECE) {
            uint64_t n = call->out[0].width - c < PIECE ? call->out[0].width - c : PIECE;
            tensor_load(&call->in[0], row, c, n, y);
            for (uint64_t i = 0; i < n; i++)
                sum[c + i] += gate * y[i];
        }
    }
}

static enum status accumulate_run(struct call *call, uint64_t unit, void *scratch,
                                  struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    kernel_rows_of(unit, call->out[0].rows, &begin, &end);
    for (uint64_t row = begin; row < end; row++)
        accumulate_row(call, row);
    return STATUS_OK;
}

void kernels_add_combine(struct kernels *kernels)
{
    kernels->table[KERNEL_COMBINE] = (struct kernel_ops){out_units, combine_run, NULL};
    kernels->table[KERNEL_ACCUMULATE] = (struct kernel_ops){out_units, accumulate_run, NULL};
}
