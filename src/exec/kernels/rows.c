/* Kernels that move whole rows: gather, scatter, swap, mask. */
#include "exec/kernels/kernel.h"

#include <string.h>

static uint64_t out_units(const struct call *call)
{
    return kernel_row_units(call->out[0].rows);
}

/* gather: (src, index, inverse?, keys?, offsets?, gates?) -> (dst): dst[i] = src[index[i] / k],
 * times gates[index[i]], zero for -1 */
static enum status gather_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    struct span_rows part = kernel_index_part(call, &call->in[1], &call->in[4]);
    const int32_t *index = tensor_i32(&call->in[1]) + part.begin;
    const struct tensor *gates = &call->in[5];
    uint64_t begin, end, n = part.end - part.begin, divide = call->k ? call->k : 1;
    size_t bytes = tensor_row_bytes(&call->out[0]);
    kernel_rows_of(unit, call->out[0].rows, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        char *to = tensor_row(&call->out[0], i);
        if (i >= n || index[i] < 0)
            memset(to, 0, bytes);
        else if (gates->present)
            tensor_scale_row(&call->in[0], (uint64_t)index[i] / divide,
                             tensor_f32(gates)[index[i]], &call->out[0], i);
        else
            memcpy(to, tensor_row(&call->in[0], (uint64_t)index[i] / divide), bytes);
    }
    return STATUS_OK;
}

static uint64_t in_units(const struct call *call)
{
    return kernel_row_units(call->in[0].rows);
}

/* scatter: (src, index, dst) -> (dst): dst[index[i]] = src[i]; no two i share a row */
static enum status scatter_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const int32_t *index = tensor_i32(&call->in[1]);
    uint64_t begin, end;
    kernel_rows_of(unit, call->in[0].rows, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        if (index[i] >= 0)
            memcpy(tensor_row(&call->out[0], (uint64_t)index[i]), tensor_row(&call->in[0], i),
                   tensor_row_bytes(&call->in[0]));
    return STATUS_OK;
}

/* The numbers of this iteration. */
static const int32_t *picked(const struct call *call)
{
    bool part = call->op->flags & KERNEL_INDEX_I;
    return tensor_i32(&call->in[1]) + (part ? call->iteration * call->out[0].rows : 0);
}

/* pick: (weights[e,...], hits[U]) -> (dst[U,...]) */
static enum status pick_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    int32_t from = picked(call)[unit];
    if (from >= 0)
        memcpy(tensor_row(&call->out[0], unit), tensor_row(&call->in[0], (uint64_t)from),
               tensor_row_bytes(&call->out[0]));
    return STATUS_OK;
}

static void pick_count(const struct call *call, struct counts *counts)
{
    for (uint64_t i = 0; i < call->out[0].rows; i++)
        counts->loads += picked(call)[i] >= 0;
    counts->fetched = counts->loads * tensor_row_bytes(&call->in[0]);
}

static uint64_t pick_units(const struct call *call)
{
    return call->out[0].rows;
}

/* swap: (src[m,n,k,...]) -> (dst[n,m,k,...]); dst may be seen as longer rows */
static enum status swap_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    uint64_t begin, end;
    size_t bytes = tensor_row_bytes(&call->in[0]);
    kernel_rows_of(unit, call->in[0].rows, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        uint64_t c = i % call->k, b = i / call->k % call->m, a = i / call->k / call->m;
        memcpy((char *)call->out[0].data + i * bytes,
               tensor_row(&call->in[0], (b * call->n + a) * call->k + c), bytes);
    }
    return STATUS_OK;
}

/* mask: rows behind the last group become zero */
static enum status mask_run(struct call *call, uint64_t unit, void *scratch, struct err *err)
{
    (void)scratch;
    (void)err;
    const struct tensor *offsets = &call->in[1];
    uint64_t begin, end, valid = (uint64_t)tensor_i64(offsets)[offsets->rows - 1];
    kernel_rows_of(unit, call->out[0].rows, &begin, &end);
    if (begin < valid)
        begin = valid;
    if (begin < end)
        memset(tensor_row(&call->out[0], begin), 0,
               (end - begin) * tensor_row_bytes(&call->out[0]));
    return STATUS_OK;
}

void kernels_add_rows(struct kernels *kernels)
{
    kernels->table[KERNEL_GATHER] = (struct kernel_ops){out_units, gather_run, NULL};
    kernels->table[KERNEL_SCATTER] = (struct kernel_ops){in_units, scatter_run, NULL};
    kernels->table[KERNEL_PICK] = (struct kernel_ops){pick_units, pick_run, pick_count};
    kernels->table[KERNEL_SWAP] = (struct kernel_ops){in_units, swap_run, NULL};
    kernels->table[KERNEL_MASK] = (struct kernel_ops){out_units, mask_run, NULL};
}
